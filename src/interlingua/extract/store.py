"""Representations on disk: a Zarr group with one array a language, written block by block, resumable after a kill.

A block of rows counts as done when its line is in `commits.jsonl`, which is appended to only after the chunks of all
its layers are written; whatever else is there after a kill is written again. Every chunk carries a CRC-32C, so a
flipped bit, a cut file or what a power cut took is found when it is read, and `verify`, before a run goes on, takes
such blocks out of the log so that only they are redone.

    reps.zarr/
      zarr.json          the signature; and the plan: rows in a block, tokens in a batch, from which the batches follow
      commits.jsonl      which blocks are done
      en/, fr/, ...      arrays (layer, row, neuron)
      labels/            what the rows are: ids; or words, places, counts
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from interlingua.errors import DataNotFoundError, FormatError, InputError, MissingExtraError
from interlingua.languages import Language
from interlingua.types import Labels, Representations, WordRepresentations

VERSION = 1
LOG = "commits.jsonl"
# differences between two signatures that an error shows
SHOWN = 4
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What a store is to hold: arrays of these shapes, with rows that are these ids or labels."""

    signature: Mapping[str, Any]
    environment: Mapping[str, Any]
    # layers, rows, neurons
    shapes: Mapping[Language, tuple[int, ...]]
    dtype: str
    # rows in a block
    block: int
    budget: int
    ids: Sequence[str] = ()
    labels: Mapping[Language, Labels] | None = None


class Store:
    """An open store."""

    def __init__(self, path: Path, group: Any) -> None:
        self.path = path
        self.group = group
        self.done = self._read_log()

    @classmethod
    def create(cls, path: Path, contents: Contents) -> Store:
        """Open the store at `path` if it was made with this signature, else make it; another signature is an error."""
        if path.exists() and not path.is_dir():
            raise InputError(f"{path} is a file: choose another place")
        if (path / "zarr.json").exists():
            store = cls(path, _opened(path, "r+"))
            if store.holds_anything():
                return store._gone_on_with(contents)
            # Nothing has been computed for it yet: nothing is lost, whatever it was meant for.
            store._remove()
        if path.exists() and any(path.iterdir()):
            raise InputError(f"{path} is there and is no store of representations: choose another place")
        return cls(path, _make(path, contents))

    def _gone_on_with(self, contents: Contents) -> Store:
        self.require(contents.signature)
        if self.plan != {"block": contents.block, "budget": contents.budget}:
            raise InputError(f"{self.path} was planned otherwise ({self.plan}): run it again")
        for partial in self.path.rglob("*.partial"):
            partial.unlink()
        log = self.path / LOG
        if log.exists():
            # A last line without its end, which a kill cut short, never was a commit.
            os.truncate(log, log.read_bytes().rfind(b"\n") + 1)
        _write_labels(self.group, contents)
        if self._environment() != json.loads(json.dumps(contents.environment)):
            self._append({"environment": dict(contents.environment)})
        return self

    def _environment(self) -> Any:
        """What the last run was made with."""
        log = self.path / LOG
        lines = log.read_bytes().splitlines() if log.exists() else []
        later = [entry["environment"] for entry in map(json.loads, lines) if "environment" in entry]
        return later[-1] if later else dict(self.group.attrs)["environment"]

    def _remove(self) -> None:
        """Take away what `_make` made, and nothing else that may be there."""
        for name in (*self.group.attrs["languages"], "labels"):
            shutil.rmtree(self.path / name, ignore_errors=True)
        (self.path / "zarr.json").unlink()

    def holds_anything(self) -> bool:
        """Whether something has been computed and kept."""
        return (self.path / LOG).exists() or any(self.path.glob("tally.*.npy"))

    @property
    def plan(self) -> dict[str, int]:
        """Rows in a block and tokens in a batch, as the work was planned."""
        return {key: int(self.group.attrs[key]) for key in ("block", "budget")}

    def require(self, signature: Mapping[str, Any]) -> None:
        """An error that shows the difference, unless the store was made with this signature."""
        found = dict(self.group.attrs)["signature"]
        wanted = json.loads(json.dumps(signature))
        if found != wanted:
            # Hashes last: they say least.
            differences = [
                f"{key}: {there} there, {asked} asked for"
                for key, there, asked in sorted(_differences(found, wanted), key=lambda d: len(d[1]) + len(d[2]))
            ]
            more = [f"and {len(differences) - SHOWN} differences more"] if len(differences) > SHOWN else []
            shown = "; ".join(differences[:SHOWN] + more)
            raise InputError(f"{self.path} holds other representations ({shown}): choose another place or delete it")

    def _read_log(self) -> dict[tuple[str, int], dict[str, Any]]:
        path = self.path / LOG
        if not path.exists():
            return {}
        done: dict[tuple[str, int], dict[str, Any]] = {}
        # A last line without its end, which a kill cut short, never was a commit.
        whole, _, _ = path.read_bytes().rpartition(b"\n")
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                entry = json.loads(line)
                if "environment" in entry:
                    continue
                key = entry["language"], int(entry["block"])
                if key[0] not in self.group.attrs["languages"]:
                    raise ValueError(f"{key[0]!r} is not in the store")
            except (ValueError, KeyError, TypeError, OverflowError) as error:
                raise FormatError(path, number, "is no line of a commit log: delete the store and run again") from error
            if entry.get("redo"):
                done.pop(key, None)
            else:
                done[key] = entry
        return done

    def _append(self, entry: dict[str, Any]) -> None:
        with (self.path / LOG).open("ab") as stream:
            stream.write(json.dumps(entry).encode() + b"\n")
            stream.flush()
            os.fsync(stream.fileno())

    def write(self, lang: Language, block: int, vectors: Array, **facts: Any) -> None:
        """Write all layers of a block (layers, rows, neurons), then commit it."""
        start = block * self.plan["block"]
        self.group[str(lang)][:, start : start + vectors.shape[1]] = vectors
        entry = {"language": str(lang), "block": block, **facts}
        self._append(entry)
        self.done[str(lang), block] = entry

    def _blocks(self, lang: Language | str) -> range:
        return range(-(-int(self.group[str(lang)].shape[1]) // self.plan["block"]))

    def full(self, lang: Language) -> bool:
        """Whether every block of a language is there."""
        return all((str(lang), block) in self.done for block in self._blocks(lang))

    def fill(self, lang: Language, vectors: Array, **facts: Any) -> None:
        """Write the blocks of a whole array that are not there."""
        size = self.plan["block"]
        for block in self._blocks(lang):
            if (str(lang), block) not in self.done:
                self.write(lang, block, vectors[:, block * size : (block + 1) * size], **facts)

    def verify(self) -> list[tuple[str, int]]:
        """Read every committed block; those whose bytes are damaged are taken out of the log and named."""
        damaged = []
        size = self.plan["block"]
        for lang, block in sorted(self.done):
            array = self.group[lang]
            try:
                for layer in range(array.shape[0]):
                    if np.isnan(array[layer, block * size : (block + 1) * size]).any():
                        raise ValueError("a chunk is missing")
            except (ValueError, OSError):
                damaged.append((lang, block))
        for lang, block in damaged:
            self._append({"language": lang, "block": block, "redo": True})
            del self.done[lang, block]
        return damaged

    def representations(self) -> Representations | WordRepresentations:
        """What is in the store, read where it is asked for; an error where blocks are missing."""
        attributes = dict(self.group.attrs)
        arrays = {Language.parse(lang): _Stored(self.path, lang, self.group[lang]) for lang in attributes["languages"]}
        missing = [
            f"{lang} block {b}" for lang in arrays for b in self._blocks(lang) if (str(lang), b) not in self.done
        ]
        if missing:
            raise FormatError(
                self.path, None, f"{len(missing)} blocks are missing ({missing[0]}, ...): run the extraction again"
            )
        try:
            labels = self.group["labels"]
            if "ids" in labels:
                return Representations(arrays, attributes["signature"], _unpack(labels["ids"]))
            found = {lang: _labels(labels[str(lang)]) for lang in arrays}
        except (ValueError, KeyError, OSError) as error:
            raise FormatError(
                self.path, None, f"damaged labels ({error}): delete it and run the extraction again"
            ) from error
        return WordRepresentations(arrays, attributes["signature"], found)


class _Stored:
    """An array on disk whose damaged chunks are an error that says what to do."""

    def __init__(self, path: Path, lang: str, array: Any) -> None:
        self._path, self._lang, self._array = path, lang, array
        self.shape: tuple[int, ...] = array.shape

    def __getitem__(self, key: Any) -> Array:
        try:
            found = np.asarray(self._array[key])
            if np.isnan(found).any():
                raise ValueError("a chunk is missing")
            return found
        except (ValueError, OSError) as error:
            raise FormatError(
                self._path,
                None,
                f"{self._lang} has a damaged chunk ({error}): run the extraction again, only it is redone",
            ) from error


def _make(path: Path, contents: Contents) -> Any:
    """A new store with nothing done yet: made beside its place and moved there whole."""
    beside = path.with_name(path.name + ".new")
    shutil.rmtree(beside, ignore_errors=True)
    attributes = {
        "interlingua": VERSION,
        "environment": dict(contents.environment),
        "languages": [str(lang) for lang in contents.shapes],
        "block": contents.block,
        "budget": contents.budget,
        "signature": dict(contents.signature),
    }
    group = _zarr().open_group(beside, mode="w", zarr_format=3, attributes=attributes)
    for lang, shape in contents.shapes.items():
        _array(group, str(lang), shape, (1, min(contents.block, shape[1]), shape[2]), contents.dtype, float("nan"))
    _write_labels(group, contents)
    if path.exists():
        path.rmdir()
    beside.rename(path)
    return _opened(path, "r+")


def _write_labels(group: Any, contents: Contents) -> None:
    """What the rows are; written where it is not there, or damaged."""
    if contents.labels is None:
        _save(group, "labels/ids", _pack(contents.ids))
    for lang, labels in (contents.labels or {}).items():
        _save(group, f"labels/{lang}/words", _pack(labels.words))
        for name in ("places", "counts", "dropped"):
            if (values := getattr(labels, name)) is not None:
                _save(group, f"labels/{lang}/{name}", values)


def _array(group: Any, name: str, shape: Sequence[int], chunks: Sequence[int], dtype: Any, fill: float) -> Any:
    return group.create_array(
        name,
        shape=tuple(shape),
        chunks=tuple(max(1, c) for c in chunks),
        dtype=dtype,
        fill_value=fill,
        compressors=[_zarr().codecs.Crc32cCodec()],
        config={"write_empty_chunks": True},
    )


def _save(group: Any, name: str, values: Array) -> None:
    if name in group:
        try:
            if np.array_equal(np.asarray(group[name][:]), values):
                return
        except (ValueError, OSError):
            pass  # damaged: written again below
        del group[name]
    array = _array(group, name, values.shape, values.shape, values.dtype, 0)
    if values.size:
        array[:] = values


def _pack(words: Sequence[str]) -> Array:
    """Strings as bytes: Zarr has no settled format for them."""
    return np.frombuffer(json.dumps(list(words), ensure_ascii=True).encode(), np.uint8)


def _unpack(array: Any) -> tuple[str, ...]:
    return tuple(json.loads(np.asarray(array[:]).tobytes()))


def _labels(group: Any) -> Labels:
    places, counts = (np.asarray(group[name][:]) if name in group else None for name in ("places", "counts"))
    return Labels(_unpack(group["words"]), places, counts, np.asarray(group["dropped"][:]))


def _opened(path: Path, mode: str) -> Any:
    """The group at a place, if it is a store of ours in a version that this reads."""
    try:
        group = _zarr().open_group(path, mode=mode)
        ours = "interlingua" in group.attrs and "signature" in group.attrs
        wrong = _wrong(group) if ours else ""
    except (ValueError, KeyError, TypeError, OverflowError, OSError) as error:
        raise FormatError(path, None, f"cannot be opened ({error}): delete it and run the extraction again") from error
    if not ours:
        raise InputError(f"{path} is a Zarr group of something else: choose another place")
    if wrong:
        raise FormatError(path, None, f"{wrong}: delete it and run the extraction again")
    if group.attrs["interlingua"] != VERSION:
        raise FormatError(
            path, None, f"was written in version {group.attrs['interlingua']} of the format, this reads {VERSION}"
        )
    return group


def _wrong(group: Any) -> str:
    """What is amiss in what a store says of itself. Its languages are paths inside it: nothing else may be one."""
    names = list(group.attrs["languages"])
    if odd := [name for name in names if str(Language.parse(name)) != name]:
        return f"{odd[0]!r} in it is no language"
    if min(int(group.attrs[key]) for key in ("block", "budget")) < 1:
        return "its plan has blocks of nothing"
    lost = [name for name in names if name not in group]
    return f"{lost[0]} is gone from it" if lost else ""


def open_store(path: str | Path) -> Representations | WordRepresentations:
    """The representations of a finished store."""
    place = Path(path)
    if not (place / "zarr.json").exists():
        raise DataNotFoundError(f"{path} is no store of representations")
    return Store(place, _opened(place, "r")).representations()


def plan_of(path: Path) -> dict[str, int] | None:
    """How the work for the store at `path` was planned; None where there is no store, or nothing in it."""
    if not (path / "zarr.json").exists():
        return None
    store = Store(path, _opened(path, "r"))
    return store.plan if store.holds_anything() else None


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


def _differences(found: Any, wanted: Any, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Where two signatures differ, down to the single value."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for key in sorted({*found, *wanted}):
            yield from _differences(found.get(key), wanted.get(key), f"{path}.{key}" if path else key)
    elif found != wanted:
        yield path, _short(found), _short(wanted)


def _short(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _zarr() -> Any:
    try:
        import zarr
    except ImportError as error:
        raise MissingExtraError("zarr", "models", "storing representations") from error
    return zarr
