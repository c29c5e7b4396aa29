"""Folders that one run writes to at a time, and files that are there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from interlingua.errors import InputError


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """The folder, made if need be, for one writer; an error where there is another."""
    from filelock import FileLock, Timeout

    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file: name a folder for the results")
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise InputError(f"another run is writing to {folder}: wait for it, or choose another folder") from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """A file to be written, whole or not at all: it is on the disk before it gets its name.

    Renamed before, it could be there and empty after a power cut.
    """
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    with writing(path) as file:
        file.write(content)
