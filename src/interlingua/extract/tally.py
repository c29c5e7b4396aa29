"""Type level: the mean of every word over its contexts, added up block by block and never held one by one.

Sums are kept in float64, (types, layers, neurons) a language, on a GPU that has room for them or else on the CPU. Where
there is a store they are saved now and then, so that a killed run goes on from the last saving and adds up in the same
order: the result is the same to the byte.
"""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from interlingua.extract.column import Column, Rows
from interlingua.extract.plan import Array
from interlingua.folders import writing
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
        self._budget = 0
        self.finished: Callable[[Language, Array, dict[str, Any]], None] = lambda _lang, _means, _facts: None
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

    def resume(self, folder: Path, finished: Callable[[Language], bool]) -> int | None:
        """Save in a folder, and take up what was saved there; the smallest budget of tokens that was found then."""
        self._folder = folder
        budgets = []
        for lang in self._shapes:
            if finished(lang):
                self._next[lang] = self._last[lang] + 1
                self._forget(lang)
                continue
            for path in sorted(folder.glob(f"tally.{lang}.*.npy"), reverse=True):
                block, budget, checksum = path.name.split(".")[-4:-1]
                sums = _loaded(path, checksum)
                if sums is not None and sums.shape == self._shapes[lang]:
                    self._next[lang], self._sums[lang] = int(block), torch.from_numpy(sums).to(self._home(lang))
                    budgets.append(int(budget))
                    break
                # Damaged: the sums are added up anew.
                path.unlink()
        self._budget = min(budgets, default=0)
        return self._budget or None

    def _home(self, lang: Language) -> torch.device:
        """Where the sums are: on the model's device, if that has room and float64."""
        device = self._devices[lang]
        if device.type == "cuda" and 8 * math.prod(self._shapes[lang]) < torch.cuda.mem_get_info(device)[0] / 2:
            return device
        return torch.device("cpu")

    def done(self, lang: Language, block: int) -> bool:
        """Whether a block has been added."""
        return block < self._next[lang]

    def take(self, lang: Language, block: int, vectors: torch.Tensor, **facts: Any) -> Callable[[], None]:
        """Add a block to the sums; save them when it is time, and hand on the means after the last block."""
        self._budget = facts.get("budget", self._budget)
        start = block * self._block
        if not bool(torch.isfinite(vectors).all()):
            raise self._blame(lang, start, vectors.cpu().numpy())
        self._add(lang, self._types[lang][start : start + vectors.shape[1]], vectors)
        self._next[lang] = block + 1
        if block == self._last[lang]:
            return self._finished(lang, dict(facts))
        if self._folder is not None and time.monotonic() - self._saved_at > SAVE_EVERY:
            self._save(lang, self._folder)
        return lambda: None

    def _add(self, lang: Language, types: Array, vectors: torch.Tensor) -> None:
        if lang not in self._sums:
            self._sums[lang] = torch.zeros(self._shapes[lang], dtype=torch.float64, device=self._home(lang))
        sums = self._sums[lang]
        where = torch.from_numpy(types).to(sums.device)
        added = vectors.permute(1, 0, 2).to(sums.device).to(torch.float64)
        # Each adds in a fixed order where it is used: index_add_ not on a GPU, index_put_ not on a CPU.
        if sums.device.type == "cuda":
            sums.index_put_((where,), added, accumulate=True)
        else:
            sums.index_add_(0, where, added)

    def _finished(self, lang: Language, facts: dict[str, Any]) -> Callable[[], None]:
        sums = self._sums.pop(lang)
        sums /= torch.from_numpy(self.labels[lang].counts).to(sums.device)[:, None, None]
        means = sums.to(torch.float32).permute(1, 0, 2).contiguous().cpu().numpy()

        def finish() -> None:
            self.finished(lang, means, facts)
            self._forget(lang)

        return finish

    def _save(self, lang: Language, folder: Path) -> None:
        sums = self._sums[lang].cpu().numpy()
        name = f"tally.{lang}.{self._next[lang]:09d}.{self._budget}.{zlib.crc32(sums.tobytes()):08x}"
        with writing(folder / f"{name}.npy") as file:
            np.save(file, sums)
        self._forget(lang, but=f"{name}.npy")
        self._saved_at = time.monotonic()

    def _forget(self, lang: Language, but: str = "") -> None:
        for saved in self._folder.glob(f"tally.{lang}.*.npy") if self._folder else ():
            if saved.name != but:
                saved.unlink()


def _loaded(path: Path, checksum: str) -> Array | None:
    """What was saved, or None where its bytes are not those that were saved."""
    try:
        sums: Array = np.load(path)
    except (ValueError, OSError, EOFError):
        return None
    return sums if f"{zlib.crc32(sums.tobytes()):08x}" == checksum else None


def types_of(rows: Rows) -> tuple[tuple[str, ...], Array, Array]:
    """The word types of the rows in order of first occurrence, the type of every row, and their counts."""
    words = () if rows.labels is None else rows.labels.words
    numbers: dict[str, int] = {}
    types = np.fromiter((numbers.setdefault(word, len(numbers)) for word in words), np.int64, len(words))
    return tuple(numbers), types, np.bincount(types, minlength=len(numbers))
