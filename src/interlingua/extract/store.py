"""Representations on disk: a Zarr group with one array a language, written block by block, resumable after a kill.

A block of rows counts as done when its line is in `commits.jsonl`, which is appended to only after the chunks of all
its layers are on disk; whatever else is there after a kill is written again. Every chunk carries a CRC-32C, so a
flipped bit or a cut file is found when it is read, and `verify` takes such blocks out of the log so that only they are
redone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from interlingua.errors import DataNotFoundError, FormatError, InputError, MissingExtraError
from interlingua.languages import Language
from interlingua.types import Representations

VERSION = 1
LOG = "commits.jsonl"


class Store:
    """An open store. `layout` says, for each language, how many layers and neurons its model has."""

    def __init__(self, path: Path, group: Any) -> None:
        self.path = path
        self.group = group
        self.done = self._read_log()

    @classmethod
    def create(
        cls,
        path: Path,
        *,
        signature: Mapping[str, Any],
        layout: Mapping[Language, tuple[int, int]],
        ids: Sequence[str],
        block: int,
        dtype: str,
        environment: Mapping[str, Any],
    ) -> Store:
        """Open the store at `path` if it was made with this signature, else make it; another signature is an error."""
        zarr = _zarr()
        if (path / "zarr.json").exists():
            store = cls(path, zarr.open_group(path, mode="r+"))
            store.require(signature)
            store.sweep()
            return store
        if path.exists() and any(path.iterdir()):
            raise InputError(f"{path} is there and is no store of representations: choose another place")
        group = zarr.open_group(path, mode="w", zarr_format=3)
        for lang, (layers, width) in layout.items():
            group.create_array(
                str(lang),
                shape=(layers, len(ids), width),
                chunks=(1, block, width),
                dtype=dtype,
                fill_value=float("nan"),
                compressors=[zarr.codecs.Crc32cCodec()],
                config={"write_empty_chunks": True},
            )
        # The attributes last: a store without them is one whose making was interrupted, and is made anew.
        group.attrs.update(
            {
                "interlingua": VERSION,
                "signature": dict(signature),
                "environment": dict(environment),
                "languages": [str(lang) for lang in layout],
                "ids": list(ids),
                "block": block,
            }
        )
        return cls(path, group)

    def require(self, signature: Mapping[str, Any]) -> None:
        """An error that shows the difference, unless the store was made with this signature."""
        found = dict(self.group.attrs).get("signature")
        if found is None:
            raise InputError(f"{self.path} was never finished being made: delete it and run again")
        wanted = json.loads(json.dumps(signature))
        if found != wanted:
            keys = [key for key in sorted({*found, *wanted}) if found.get(key) != wanted.get(key)]
            shown = "; ".join(
                f"{key}: {_short(found.get(key))} there, {_short(wanted.get(key))} asked for" for key in keys
            )
            raise InputError(f"{self.path} holds other representations ({shown}): choose another place or delete it")

    def sweep(self) -> None:
        """Remove what an interrupted write left behind."""
        for partial in self.path.rglob("*.partial"):
            partial.unlink()

    def _read_log(self) -> dict[tuple[str, int], dict[str, Any]]:
        path = self.path / LOG
        if not path.exists():
            return {}
        done: dict[tuple[str, int], dict[str, Any]] = {}
        whole, _, rest = path.read_bytes().rpartition(b"\n")
        if rest:
            # A line that a kill cut short never was a commit.
            path.write_bytes(whole + b"\n" if whole else b"")
        for line in whole.splitlines():
            entry = json.loads(line)
            if entry.get("redo"):
                done.pop((entry["language"], entry["block"]), None)
            else:
                done[entry["language"], entry["block"]] = entry
        return done

    def _append(self, entry: dict[str, Any]) -> None:
        with (self.path / LOG).open("ab") as stream:
            stream.write(json.dumps(entry).encode() + b"\n")
            stream.flush()
            os.fsync(stream.fileno())

    def write(self, lang: Language, block: int, start: int, vectors: np.ndarray[Any, Any], **facts: Any) -> None:
        """Write all layers of a block (layers, rows, neurons), then commit it."""
        self.group[str(lang)][:, start : start + vectors.shape[1]] = vectors
        entry = {"language": str(lang), "block": block, **facts}
        self._append(entry)
        self.done[str(lang), block] = entry

    def verify(self) -> list[tuple[str, int]]:
        """Read every committed block; those whose bytes are damaged are taken out of the log and named."""
        damaged = []
        size = int(self.group.attrs["block"])
        for lang, block in sorted(self.done):
            array = self.group[lang]
            try:
                for layer in range(array.shape[0]):
                    rows = array[layer, block * size : (block + 1) * size]
                    if np.isnan(rows).any():
                        raise ValueError("a chunk is missing")
            except (ValueError, OSError):
                damaged.append((lang, block))
        for lang, block in damaged:
            self._append({"language": lang, "block": block, "redo": True})
            del self.done[lang, block]
        return damaged

    def representations(self) -> Representations:
        """What is in the store, read where it is asked for; an error where blocks are missing."""
        attributes = dict(self.group.attrs)
        ids = tuple(str(i) for i in attributes["ids"])
        blocks = -(-len(ids) // int(attributes["block"]))
        missing = [
            f"{lang} block {b}" for lang in attributes["languages"] for b in range(blocks) if (lang, b) not in self.done
        ]
        if missing:
            raise FormatError(
                self.path, None, f"{len(missing)} blocks are missing ({missing[0]}, ...): run the extraction again"
            )
        arrays = {Language.parse(lang): self.group[lang] for lang in attributes["languages"]}
        return Representations(arrays, ids, attributes["signature"])


def open_store(path: str | Path) -> Representations:
    """The representations of a finished store."""
    place = Path(path)
    if not (place / "zarr.json").exists():
        raise DataNotFoundError(f"{path} is no store of representations")
    return Store(place, _zarr().open_group(place, mode="r")).representations()


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Hold the store's lock: one writer at a time, and the second is told so."""
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path.with_name(path.name + ".lock"), timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise InputError(f"{path} is being written by another process: wait for it or choose another place") from error
    try:
        yield
    finally:
        lock.release()


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _zarr() -> Any:
    try:
        import zarr
    except ImportError as error:
        raise MissingExtraError("zarr", "models", "storing representations") from error
    return zarr
