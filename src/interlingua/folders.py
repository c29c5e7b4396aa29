"""Folders that one run writes to at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
