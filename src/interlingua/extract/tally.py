"""Type level: the mean of every word over its contexts, added up block by block and never held one by one.

Sums are kept in float64 on the model's device, (types, layers, neurons) a language. Where there is a store, they are
saved now and then, so that a killed run goes on from the last saving, and added up in the same order: the result is the
same to the byte.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from interlingua.extract.column import Column, Rows
from interlingua.extract.plan import Array
from interlingua.languages import Language
from interlingua.types import Labels

# Seconds between two savings.
SAVE_EVERY = 60.0


class Tally:
    """Sums of the vectors of every word type; a sink for blocks of words."""

    def __init__(
        self,
        columns: dict[Language, Column],
        rows: dict[Language, Rows],
        block: int,
        blame: Callable[[Language, int, Array], Exception],
    ) -> None:
        self._block = block
        self._blame = blame
        self._folder: Path | None = None
        self._saved_at = time.monotonic()
        self._last = {lang: -(-len(r) // block) - 1 for lang, r in rows.items()}
        self._types: dict[Language, Array] = {}
        self.labels: dict[Language, Labels] = {}
        self._shapes: dict[Language, tuple[int, int, int]] = {}
        self._devices = {lang: column.model.device for lang, column in columns.items()}
        self._sums: dict[Language, torch.Tensor] = {}
        self._next = dict.fromkeys(rows, 0)
        self.finished: Callable[[Language, Array], None] = lambda _lang, _means: None
        for lang, found in rows.items():
            words, types, counts = types_of(found)
            self._types[lang] = types
            dropped = np.zeros((0, 2), np.int64) if found.labels is None else found.labels.dropped
            self.labels[lang] = Labels(words, None, counts, dropped)
            layers = columns[lang].model.layers
            self._shapes[lang] = (len(words), len(layers), layers.width)

    def shape(self, lang: Language) -> tuple[int, int, int]:
        """(layers, types, neurons)."""
        types, layers, width = self._shapes[lang]
        return layers, types, width

    def resume(self, folder: Path, finished: Callable[[Language], bool]) -> None:
        """Save in a folder, and take up what was saved there; languages that are finished need nothing more."""
        self._folder = folder
        for lang in self._shapes:
            self._next[lang] = self._last[lang] + 1 if finished(lang) else 0
            saved = [] if finished(lang) else sorted(folder.glob(f"tally.{lang}.*.npy"))
            if saved:
                self._next[lang] = int(saved[-1].name.split(".")[-2])
                self._sums[lang] = torch.from_numpy(np.load(saved[-1])).to(self._devices[lang])

    def done(self, lang: Language, block: int) -> bool:
        """Whether a block has been added."""
        return block < self._next[lang]

    def take(self, lang: Language, block: int, vectors: torch.Tensor, **_facts: Any) -> Callable[[], None]:
        """Add a block to the sums; save them when it is time, and hand on the means after the last block."""
        sums = self._sums.get(lang)
        if sums is None:
            sums = torch.zeros(self._shapes[lang], dtype=torch.float64, device=vectors.device)
            self._sums[lang] = sums
        start = block * self._block
        if not bool(torch.isfinite(vectors).all()):
            raise self._blame(lang, start, vectors.cpu().numpy())
        types = torch.from_numpy(self._types[lang][start : start + vectors.shape[1]]).to(vectors.device)
        added = vectors.permute(1, 0, 2).to(torch.float64)
        # Each adds in a fixed order where it is used: index_add_ not on a GPU, index_put_ not on a CPU.
        if sums.device.type == "cuda":
            sums.index_put_((types,), added, accumulate=True)
        else:
            sums.index_add_(0, types, added)
        self._next[lang] = block + 1
        if block == self._last[lang]:
            counts = torch.from_numpy(self.labels[lang].counts).to(sums.device)
            means = (self._sums.pop(lang) / counts[:, None, None]).permute(1, 0, 2)
            host = means.to(torch.float32).contiguous().cpu().numpy()
            return lambda: self._finish(lang, host)
        if self._folder is not None and time.monotonic() - self._saved_at > SAVE_EVERY:
            self._save(lang, sums)
        return lambda: None

    def _save(self, lang: Language, sums: torch.Tensor) -> None:
        if self._folder is None:
            return
        place = self._folder / f"tally.{lang}.{self._next[lang]:09d}.npy"
        partial = place.with_suffix(".partial")
        with partial.open("wb") as stream:
            np.save(stream, sums.cpu().numpy())
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(place)
        for old in sorted(self._folder.glob(f"tally.{lang}.*.npy"))[:-1]:
            old.unlink()
        self._saved_at = time.monotonic()

    def _finish(self, lang: Language, means: Array) -> None:
        self.finished(lang, means)
        for saved in self._folder.glob(f"tally.{lang}.*.npy") if self._folder else ():
            saved.unlink()


def types_of(rows: Rows) -> tuple[tuple[str, ...], Array, Array]:
    """The word types of the rows in order of first occurrence, the type of every row, and their counts."""
    words = () if rows.labels is None else rows.labels.words
    numbers: dict[str, int] = {}
    types = np.fromiter((numbers.setdefault(word, len(numbers)) for word in words), np.int64, len(words))
    return tuple(numbers), types, np.bincount(types, minlength=len(numbers))
