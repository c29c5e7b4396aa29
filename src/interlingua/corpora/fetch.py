"""Downloads that can be trusted: resumed, verified, atomic, capped.

A file is written under its name plus `.part` and renamed only when its length and hash are right, so a cache never
holds half a file. A cut connection is taken up again where it broke, here and in a later run, as long as the file can
be shown to be the same one (by its entity tag, or in the end by its hash). Archives are unpacked into a folder beside
their target and moved into place at the end; members that would leave it, links and devices are refused, and
so is one that grows past the caps.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import IO, cast

from interlingua import __version__
from interlingua.corpora.dataset import Dataset
from interlingua.corpora.places import cache_root
from interlingua.errors import DownloadError, InputError, IntegrityError
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
    _transfer(url, part, progress, max_bytes, known=sha256 is not None)
    _tag(part).unlink(missing_ok=True)
    if sha256 is not None and (found := file_sha256(part)) != sha256:
        part.unlink()
        raise IntegrityError(
            f"{url} gave bytes with SHA-256 {found[:12]}... where {sha256[:12]}... was promised: not kept"
        )
    part.replace(target)
    return target


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
            if error.code < 500:
                raise DownloadError(f"{url}: the server answered {error.code} {error.reason}") from error
            problem = f"the server answered {error.code}"
        except (urllib.error.URLError, HTTPException, ConnectionError, TimeoutError) as error:
            problem = str(getattr(error, "reason", error)) or type(error).__name__
        size = part.stat().st_size if part.exists() else 0
        # A server that makes us start over again and again must not keep us for ever: only a new best counts.
        grown, best = size > best, max(size, best)
        tries = 0 if grown else tries + 1
        if tries >= TRIES:
            raise DownloadError(f"{url}: {problem}; what arrived is kept, run it again to go on")
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


def unpack(archive: Path, target: Path, *, max_bytes: int = MAX_UNPACKED, max_ratio: int = MAX_RATIO) -> Path:
    """Unpack a zip or tar file into `target`, all or nothing."""
    cap = min(max_bytes, max(RATIO_FROM, max_ratio * archive.stat().st_size))
    work = target.with_name(target.name + ".unpacking")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        left = cap
        for name, stream in _members(archive):
            left = _write_member(archive, work, name, stream, left, cap)
        _merge(work, target)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise IntegrityError(f"{archive} is damaged: {error}") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
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
    with tarfile.open(archive) as bundle:
        for member in bundle:
            if member.isdir():
                continue
            plain = bundle.extractfile(member) if member.isfile() else None
            if plain is None:
                raise IntegrityError(f"{archive} holds {member.name!r}, which is no plain file: refused")
            yield member.name, plain


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
    if not origin.url:
        raise DownloadError(
            f"{dataset.name} has no address to download from: see {origin.page}, put it in a folder "
            f"{dataset.directory} and set INTERLINGUA_DATA to the folder above that"
        )
    folder = cache_root() / dataset.directory
    with _explained(dataset, folder):
        for url, name in requests(dataset, languages, split, part):
            download(url, folder / name, sha256=origin.sha256.get(name), progress=progress(name))
            if origin.archive:
                unpack(folder / name, folder)
    return folder


def requests(dataset: Dataset, languages: Iterable[Language], split: str, part: str) -> Iterator[tuple[str, str]]:
    """What to ask for: each address, and the name in the data set's folder under which its answer is kept."""
    for fields in _fields(dataset, tuple(languages), split, part):
        yield dataset.origin.url.format(**fields), dataset.origin.path.format(**fields)


def _fields(dataset: Dataset, languages: tuple[Language, ...], split: str, part: str) -> Iterator[dict[str, str]]:
    """The values to put into the address, one dictionary a file."""
    origin = dataset.origin
    codes = [origin.codes.get(str(lang), lang.language) for lang in languages]
    needs = [f for f in ("lang", "source", "target", "split", "part") if "{" + f + "}" in origin.url]
    native = {ours: theirs for theirs, ours in dataset.aliases.items()}
    fixed = {"split": native.get(split, split) or dataset.split, "part": part or dataset.part}
    if "source" in needs and len(codes) != 2:
        raise InputError(f"{dataset.name} comes in pairs: say which two languages to fetch")
    if not codes and needs and needs != ["split"]:
        raise InputError(f"say which languages of {dataset.name} to fetch")
    if "source" not in needs:
        yield from ({**fixed, "lang": code} for code in codes or [""])
        return
    pair = {"source": codes[0], "target": codes[1]}
    yield from ({**fixed, **pair, "lang": code} for code in (codes if "lang" in needs else codes[:1]))
