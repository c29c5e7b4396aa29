r"""Bytes on disk become lines: strict UTF-8, line numbers in every error, gz, bz2, xz and zst opened in passing.

Lines end at `\n` alone (and lose a `\r` before it): the characters that `str.splitlines` also splits at,
such as U+2028 or the group separator, occur inside real sentences and would shift every row after them.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from interlingua.errors import DataNotFoundError, FormatError, InputError, MissingExtraError

SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
BOM = "\ufeff"

# A compressed file may not grow past these; a bomb is refused, a real corpus never comes near.
MAX_BYTES = 64 << 30
MAX_RATIO = 2000
RATIO_FROM = 256 << 20


def plain_suffix(path: Path) -> str:
    """The suffix in lower case, without that of the compression: `.tsv` for `a.tsv.xz`."""
    name = path.name.lower()
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return Path(name).suffix


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """The decompressed bytes of a file, with damaged archives and missing files as our errors."""
    try:
        with _opener(path)(path) as stream:
            yield cast("IO[bytes]", io.BufferedReader(_Capped(stream, path), 1 << 18))
    except FileNotFoundError as error:
        raise DataNotFoundError(f"{path} does not exist") from error
    except IsADirectoryError as error:
        raise InputError(f"{path} is a folder where a file was expected") from error
    except PermissionError as error:
        raise InputError(f"{path} cannot be read: permission denied") from error
    except (lzma.LZMAError, zlib.error, gzip.BadGzipFile, EOFError) as error:
        raise FormatError(path, None, f"damaged or cut-off compressed file ({error})") from error


def _opener(path: Path) -> Callable[[Path], IO[bytes]]:
    suffix = path.suffix.lower()
    if suffix == ".gz":
        return cast("Callable[[Path], IO[bytes]]", gzip.open)
    if suffix == ".bz2":
        return _open_bz2
    if suffix == ".xz":
        return cast("Callable[[Path], IO[bytes]]", lzma.open)
    if suffix == ".zst":
        return _open_zst
    return lambda p: p.open("rb")


def _open_bz2(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", _Translated(bz2.open(path), OSError, path, "bz2"))


def _open_zst(path: Path) -> IO[bytes]:
    try:
        import zstandard
    except ImportError as error:
        raise MissingExtraError("zstandard", "zstd", f"reading {path.name}") from error
    return cast("IO[bytes]", _Translated(_Zst(path, zstandard), zstandard.ZstdError, path, "zst"))


class _Zst:
    """Frames of a zst file one after the other; unlike the library's own reader it notices a frame that is cut off."""

    def __init__(self, path: Path, zstandard: Any) -> None:
        self._path, self._file, self._new = path, path.open("rb"), zstandard.ZstdDecompressor().decompressobj
        self._frame: Any = None
        self._ready = b""

    def read(self, size: int = -1) -> bytes:
        """Some bytes, at most `size`; none at the end."""
        while not self._ready:
            data = self._file.read(1 << 16)
            if not data:
                if self._frame is not None:
                    raise FormatError(self._path, None, "damaged or cut-off compressed file (a zst frame has no end)")
                return b""
            pieces = []
            while data:
                self._frame = self._frame or self._new()
                pieces.append(self._frame.decompress(data))
                data = b""
                if self._frame.eof:
                    data, self._frame = self._frame.unused_data, None
            self._ready = b"".join(pieces)
        size = len(self._ready) if size < 0 else size
        piece, self._ready = self._ready[:size], self._ready[size:]
        return piece

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class _Translated(io.RawIOBase):
    """A stream whose own kind of error becomes a FormatError."""

    def __init__(self, stream: Any, error: type[Exception], path: Path, kind: str) -> None:
        self._stream, self._error, self._path, self._kind = stream, error, path, kind

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        try:
            return cast("bytes", self._stream.read(size))
        except self._error as error:
            raise FormatError(self._path, None, f"damaged {self._kind} file ({error})") from error

    def close(self) -> None:
        self._stream.close()
        super().close()


class _Capped(io.RawIOBase):
    """A stream that refuses to grow past the caps above."""

    def __init__(self, stream: IO[bytes], path: Path) -> None:
        self._stream, self._path, self._seen = stream, path, 0
        on_disk = path.stat().st_size
        self._cap = max(RATIO_FROM, min(MAX_BYTES, MAX_RATIO * on_disk)) if path.suffix.lower() in SUFFIXES else None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        data = self._stream.read(len(buffer))
        self._seen += len(data)
        if self._cap is not None and self._seen > self._cap:
            raise FormatError(self._path, None, f"grows past {self._cap:,} bytes when decompressed: refused")
        buffer[: len(data)] = data
        return len(data)


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines from 1, without line ends; a byte order mark is dropped, bad bytes and NULs are errors."""
    with open_bytes(path) as stream:
        for number, raw in enumerate(stream, 1):
            yield number, decode(raw, path, number)


def decode(raw: bytes, path: Path, number: int) -> str:
    """One line as text, or the error that says what is wrong with it."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise FormatError(path, number, byte_problem(raw, number) or "not text")
    text = text.removesuffix("\n").removesuffix("\r")
    return text.removeprefix(BOM) if number == 1 else text


def byte_problem(raw: bytes, number: int) -> str | None:
    """Why these bytes are no line of text; None where they are one."""
    if number == 1 and raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "looks like UTF-16: save it as UTF-8"
    if b"\x00" in raw:
        return f"NUL byte at column {raw.index(0) + 1}: is this a text file?"
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"not UTF-8 (byte 0x{raw[error.start]:02x} at column {error.start + 1}): save it as UTF-8"
    return None


def read_all(path: Path) -> list[str]:
    """All lines of a file that must have some."""
    rows = [line for _, line in lines(path)]
    if not rows:
        raise FormatError(path, None, "the file is empty")
    return rows


@dataclass(frozen=True)
class FileLines:
    """The lines of several files one after the other, read anew at each iteration, a blank line between files."""

    paths: Sequence[Path]

    def __iter__(self) -> Iterator[str]:
        for i, path in enumerate(self.paths):
            if i:
                yield ""
            for _, line in lines(path):
                yield line
