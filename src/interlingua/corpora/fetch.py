"""Downloads that can be trusted: resumed, verified, atomic, capped.

A file is written under its name plus `.part` and renamed only when its length and hash are right, so a cache never
holds half a file. A cut connection is taken up again where it broke, here and in a later run, as long as the file can
be shown to be the same one (by its entity tag, or in the end by its hash). Two processes do not write one file.
Archives are unpacked into a folder beside them and moved into place when all of it was found whole; members that would
leave that folder, links and devices are refused, and so is one that grows past the caps.
"""

from __future__ import annotations

import bz2
import getpass
import gzip
import hashlib
import lzma
import os
import re
import socket
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import IO, cast

from filelock import FileLock

from interlingua import __version__
from interlingua.corpora.dataset import Dataset, Origin
from interlingua.corpora.places import cache_root
from interlingua.errors import DownloadError, FormatError, InputError, IntegrityError
from interlingua.languages import Language

CHUNK = 1 << 16
TRIES = 4
TIMEOUT = 30.0
BACKOFF = 0.5
MAX_DOWNLOAD = 32 << 30
MAX_UNPACKED = 64 << 30
MAX_RATIO = 200
RATIO_FROM = 64 << 20

# Called with (bytes so far, bytes in all or None).
Progress = Callable[[int, int | None], None]


def _silent(_done: int, _total: int | None) -> None:
    """No progress."""


def download(
    url: str, target: Path, *, sha256: str | None = None, progress: Progress = _silent, max_bytes: int = MAX_DOWNLOAD
) -> Path:
    """Fetch `url` to `target`; a file that is there already and has the right hash is left alone."""
    if not url.startswith(("https://", "http://")):
        raise InputError(f"{url} is not an http address")
    if target.exists():
        if sha256 is None or file_sha256(target) == sha256:
            return target
        target.unlink()
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    # One process at a time writes a file; another waits, and then finds it there.
    with FileLock(_lock(target)):
        if not target.exists():
            _receive(url, target, part, sha256, progress, max_bytes)
    return target


def _lock(target: Path) -> Path:
    """Where the lock of a file is kept: apart from the cache, which holds data alone."""
    folder = Path(tempfile.gettempdir()) / f"interlingua-locks-{getpass.getuser()}"
    folder.mkdir(exist_ok=True)
    return folder / hashlib.sha256(str(target.resolve()).encode()).hexdigest()[:32]


def _receive(url: str, target: Path, part: Path, sha256: str | None, progress: Progress, max_bytes: int) -> None:
    _transfer(url, part, progress, max_bytes, known=sha256 is not None)
    _tag(part).unlink(missing_ok=True)
    if sha256 is not None and (found := file_sha256(part)) != sha256:
        part.unlink()
        raise IntegrityError(
            f"{url} gave bytes with SHA-256 {found[:12]}... where {sha256[:12]}... was promised: not kept"
        )
    part.replace(target)


def _tag(part: Path) -> Path:
    """Where the entity tag of a file in transfer is kept."""
    return part.with_name(part.name + ".etag")


def _transfer(url: str, part: Path, progress: Progress, max_bytes: int, *, known: bool) -> None:
    """Fill `part`, taking up again where the connection broke; gives up after TRIES tries without a new byte."""
    tries = best = 0
    while True:
        try:
            if _continue(url, part, progress, max_bytes, known=known):
                return
            problem = "the connection was cut"
        except urllib.error.HTTPError as error:
            error.close()  # it is a response too, and holds a socket
            if error.code < 500 and error.code not in (408, 429):
                raise DownloadError(f"{url}: the server answered {error.code} {error.reason}") from error
            problem = f"the server answered {error.code}"
        except (urllib.error.URLError, HTTPException, ConnectionError, TimeoutError) as error:
            problem = str(getattr(error, "reason", error)) or type(error).__name__
            if isinstance(getattr(error, "reason", None), socket.gaierror):
                tries = TRIES  # no such host, or no network: asking again does not help
        size = part.stat().st_size if part.exists() else 0
        # A server that makes us start over again and again must not keep us for ever: only a new best counts.
        grown, best = size > best, max(size, best)
        tries = 0 if grown else tries + 1
        if tries >= TRIES:
            kept = "; what arrived is kept, run it again to go on" if best else ""
            raise DownloadError(f"{url}: {problem}{kept}")
        time.sleep(0 if grown else BACKOFF * 2**tries)


def _continue(url: str, part: Path, progress: Progress, max_bytes: int, *, known: bool) -> bool:
    """One request for what is missing; True when the file is complete. `known`: its hash will be checked."""
    have = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": f"interlingua/{__version__}", "Accept-Encoding": "identity"}
    tag = _tag(part).read_text() if _tag(part).exists() else ""
    if have and (tag or known):
        headers["Range"] = f"bytes={have}-"
        if tag:
            headers["If-Range"] = tag
    try:
        # The scheme was checked in `download`, and urllib follows redirects to web addresses only.
        request = urllib.request.Request(url, headers=headers)  # noqa: S310
        response = cast("HTTPResponse", urllib.request.urlopen(request, timeout=TIMEOUT))  # noqa: S310
    except urllib.error.HTTPError as error:
        if error.code == 416 and have:
            # Nothing is left to send, or the file has changed and is shorter now: judge by the length it states.
            stated = error.headers.get("Content-Range", "").rpartition("/")[2]
            error.close()
            if stated == str(have):
                return True
            part.unlink()
            return False
        raise
    with response:
        start, total = _range(response, have)
        if total is None and not known and response.headers.get("Transfer-Encoding", "") != "chunked":
            raise DownloadError(
                f"{url} says neither how long it is nor when it ends: whether all arrived cannot be known"
            )
        if total is not None and total > max_bytes:
            raise DownloadError(f"{url} is {total:,} bytes: more than the {max_bytes:,} allowed")
        if (etag := response.headers.get("ETag", "")) and not etag.startswith("W/"):
            _tag(part).write_text(etag)
        with part.open("r+b" if start else "wb") as out:
            out.truncate(start)
            out.seek(start)
            done = start
            while chunk := response.read(CHUNK):
                done += len(chunk)
                if done > max_bytes:
                    raise DownloadError(f"{url} sends more than the {max_bytes:,} bytes allowed")
                out.write(chunk)
                progress(done, total)
    if total is None:
        return True
    if done > total:
        part.unlink()
        raise IntegrityError(f"{url} sent {done:,} bytes where it promised {total:,}: not kept")
    return done == total


def _range(response: HTTPResponse, have: int) -> tuple[int, int | None]:
    """Where the answer starts, and how long the whole file is."""
    length = response.headers.get("Content-Length")
    size = int(length) if length and length.isdecimal() else None
    if response.status != 206:
        return 0, size
    span, _, total = response.headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
    start = span.partition("-")[0]
    if start != str(have):
        raise DownloadError(f"the server answered with bytes from {start or 'nowhere'} where {have} were asked for")
    return have, int(total) if total.isdecimal() else None if size is None else have + size


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


DAMAGE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    gzip.BadGzipFile,
    RuntimeError,  # an encrypted zip
    NotImplementedError,  # a compression nobody has
)


def unpack(archive: Path, target: Path, *, max_bytes: int = MAX_UNPACKED, max_ratio: int = MAX_RATIO) -> Path:
    """Unpack a zip or tar file into `target`; nothing is moved there before everything was read and found whole."""
    cap = min(max_bytes, max(RATIO_FROM, max_ratio * archive.stat().st_size))
    with tempfile.TemporaryDirectory(dir=archive.parent, prefix=".unpacking-") as folder:
        work = Path(folder)
        left = cap
        try:
            for name, stream in _members(archive):
                left = _write_member(archive, work, name, stream, left, cap)
        except DAMAGE as error:
            raise IntegrityError(f"{archive} is damaged: {error}") from error
        except FormatError as error:
            raise IntegrityError(f"{archive} is damaged: {error.problem}") from error
        _merge(work, target)
    return target


def _members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as bundle:
            for info in bundle.infolist():
                if (info.external_attr >> 16) & 0o170000 == 0o120000:
                    raise IntegrityError(f"{archive} holds the link {info.filename!r}: refused")
                if not info.is_dir():
                    with bundle.open(info) as stream:
                        yield info.filename, stream
        return
    with _decompressed(archive) as whole:
        with tarfile.open(fileobj=whole, mode="r|") as bundle:
            for member in bundle:
                if member.isdir():
                    continue
                plain = bundle.extractfile(member) if member.isfile() else None
                if plain is None:
                    raise IntegrityError(f"{archive} holds {member.name!r}, which is no plain file: refused")
                yield member.name, plain
        # What follows the last member is read too: the checksum of the whole comes at its end.
        while whole.read(CHUNK):
            pass


def _decompressed(archive: Path) -> IO[bytes]:
    with archive.open("rb") as stream:
        start = stream.read(6)
    for magic, opener in ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ", lzma.open)):
        if start.startswith(magic):
            return cast("IO[bytes]", opener(archive))
    return archive.open("rb")


def _write_member(archive: Path, work: Path, name: str, stream: IO[bytes], left: int, cap: int) -> int:
    path = (work / name).resolve()
    if Path(name).is_absolute() or "\\" in name or not path.is_relative_to(work.resolve()):
        raise IntegrityError(f"{archive} holds {name!r}, which would land outside its folder: refused")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as out:
        while chunk := stream.read(CHUNK):
            left -= len(chunk)
            if left < 0:
                raise IntegrityError(f"{archive} grows past {cap:,} bytes when unpacked: refused")
            out.write(chunk)
    return left


def _merge(work: Path, target: Path) -> None:
    """Move what was unpacked into place, file by file where the folder is there already."""
    for path in sorted(p for p in work.rglob("*") if p.is_file()):
        final = target / path.relative_to(work)
        final.parent.mkdir(parents=True, exist_ok=True)
        path.replace(final)


@contextmanager
def _explained(dataset: Dataset, folder: Path) -> Iterator[None]:
    """Errors of the disk, in words."""
    try:
        yield
    except OSError as error:
        if isinstance(error, DownloadError) or error.errno is None:
            raise
        raise DownloadError(f"cannot write {dataset.name} to {folder}: {os.strerror(error.errno)}") from error
    finally:
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def fetch_dataset(
    dataset: Dataset,
    languages: Iterable[Language] = (),
    *,
    split: str = "",
    part: str = "",
    progress: Callable[[str], Progress] = lambda _name: _silent,
) -> Path:
    """Download a data set of the catalogue into the cache; returns its folder there."""
    origin = dataset.origin
    folder = cache_root() / dataset.directory
    with _explained(dataset, folder):
        for url, name in requests(dataset, languages, split, part):
            download(url, folder / name, sha256=origin.sha256.get(name), progress=progress(name))
            if origin.archive:
                try:
                    unpack(folder / name, folder)
                finally:
                    (folder / name).unlink(missing_ok=True)
    return folder


def requests(dataset: Dataset, languages: Iterable[Language], split: str, part: str) -> Iterator[tuple[str, str]]:
    """What to ask for: each address, and the name in the data set's folder under which its answer is kept."""
    if not dataset.origin.url:
        raise _no_address(dataset)
    for fields in _fields(dataset, tuple(languages), split, part):
        if unfit := [value for value in fields.values() if not re.fullmatch(r"[A-Za-z0-9_-]*", value)]:
            raise InputError(f"{unfit[0]!r} is no split, part or language of {dataset.name}")
        name = dataset.origin.path.format(**fields)
        yield dataset.origin.exceptions.get(name, dataset.origin.url.format(**fields)), name


def _no_address(dataset: Dataset) -> DownloadError:
    hub = f" or read it from the Hub ({dataset.hub.id}) by loading it" if dataset.hub else ""
    return DownloadError(
        f"{dataset.name} has no address to download from: see {dataset.origin.page}, put it in a folder "
        f"{dataset.directory} and set INTERLINGUA_DATA to the folder above that{hub}"
    )


def _code(origin: Origin, lang: Language) -> str:
    """The tag an origin uses for a language."""
    if str(lang) in origin.codes:
        return origin.codes[str(lang)]
    if not origin.alpha3:
        return lang.language
    import langcodes

    return langcodes.Language.make(language=lang.language).to_alpha3()


def _fields(dataset: Dataset, languages: tuple[Language, ...], split: str, part: str) -> Iterator[dict[str, str]]:
    """The values to put into the address, one dictionary a file."""
    origin = dataset.origin
    if origin.english_last:
        languages = tuple(sorted(languages, key=lambda lang: lang.language == "en"))
    codes = [_code(origin, lang) for lang in languages]
    needs = [f for f in ("lang", "source", "target", "split", "part") if "{" + f + "}" in origin.url]
    native = {ours: theirs for theirs, ours in dataset.aliases.items()}
    fixed = {"split": native.get(split, split) if split else dataset.split, "part": part or dataset.part}
    if "source" in needs and len(codes) != 2:
        raise InputError(f"{dataset.name} comes in pairs: say which two languages to fetch")
    if not codes and needs and needs != ["split"]:
        raise InputError(f"say which languages of {dataset.name} to fetch")
    if "split" in needs and not fixed["split"]:
        raise InputError(f"{dataset.name} has no address for the split {split!r}")
    if "source" not in needs:
        yield from ({**fixed, "lang": code} for code in codes or [""])
        return
    pair = {"source": codes[0], "target": codes[1]}
    yield from ({**fixed, **pair, "lang": code} for code in (codes if "lang" in needs else codes[:1]))
