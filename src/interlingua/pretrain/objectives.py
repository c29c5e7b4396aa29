"""What a network is asked about a batch of tokens: masked words, the next word, or spans that were taken out.

Shapes never change from batch to batch, so that a network is compiled once: where fewer places are asked about than
there is room for, the rest have the target -100, which counts for nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from interlingua.errors import InputError

Array = np.ndarray[Any, Any]
NONE = -100


@dataclass(frozen=True)
class Asked:
    """What goes into the network, where it is asked (None: everywhere), what is right, and how many answers count."""

    ids: Array
    places: Array | None
    targets: Array
    count: int
    decoder_ids: Array | None = None


@dataclass(frozen=True)
class Masked:
    """Masked language modelling: 15 % of tokens; of these 80 % become <mask>, 10 % a random word, 10 % stay.

    `words` are the tokens that random words are drawn from; `never` says of each token whether it is left alone.
    """

    mask: int
    words: Array
    never: Array
    share: float = 0.15

    def room(self, tokens: int) -> int:
        """Places kept for a batch: the expected number and six standard deviations."""
        return min(tokens, math.ceil(tokens * self.share + 6 * math.sqrt(tokens * self.share * (1 - self.share))))

    def __call__(self, ids_bl: Array, rng: np.random.Generator) -> Asked:
        """Ask about a batch."""
        flat = ids_bl.reshape(-1)
        u = rng.random(flat.size)
        places = np.flatnonzero((u < self.share) & ~self.never[flat])[: self.room(flat.size)]
        # the same draw says what becomes of a token: it is uniform below the share
        fate = u[places] / self.share
        changed = flat.copy()
        changed[places[fate < 0.8]] = self.mask
        random = places[(fate >= 0.8) & (fate < 0.9)]
        changed[random] = rng.choice(self.words, random.size)
        spare = self.room(flat.size) - len(places)
        return Asked(
            changed.reshape(ids_bl.shape),
            np.concatenate([places, np.zeros(spare, np.int64)]),
            np.concatenate([flat[places], np.full(spare, NONE)]),
            len(places),
        )


@dataclass(frozen=True)
class Next:
    """Causal language modelling: every token from those before it."""

    def __call__(self, ids_bl: Array, _rng: np.random.Generator) -> Asked:
        """Ask about a batch."""
        targets = np.full_like(ids_bl, NONE)
        targets[:, :-1] = ids_bl[:, 1:]
        return Asked(ids_bl, None, targets.reshape(-1), ids_bl.size - len(ids_bl))


@dataclass(frozen=True)
class Spans:
    """Span corruption (Raffel et al. 2020): 15 % of tokens in spans of 3 on average, each replaced by one sentinel.

    The decoder writes sentinel, span, sentinel, span, ..., `end`. Numbers of tokens and spans are fixed by the length.
    """

    sentinels: Array
    end: int
    start: int
    share: float = 0.15
    mean: float = 3.0

    def counts(self, length: int) -> tuple[int, int]:
        """Tokens taken out of a sequence, and spans they make."""
        taken = min(max(round(length * self.share), 1), length - 1)
        spans = min(max(round(taken / self.mean), 1), taken, length - taken)
        if spans > len(self.sentinels):
            raise InputError(f"{spans} spans a sequence, and there are {len(self.sentinels)} sentinels")
        return taken, spans

    def __call__(self, ids_bl: Array, rng: np.random.Generator) -> Asked:
        """Ask about a batch."""
        rows, length = ids_bl.shape
        taken, spans = self.counts(length)
        # how long spans are, and what stays before each of them, row by row
        inside, outside = _cut(rows, taken, spans, rng), _cut(rows, length - taken, spans, rng)
        runs = np.stack([outside, inside], axis=2).reshape(-1)
        gone = np.repeat(np.tile([False, True], rows * spans), runs).reshape(rows, length)
        words = np.tile(self.sentinels[:spans], (rows, 1))
        number = np.arange(spans)
        read = _with(words, outside.cumsum(1) + number, ids_bl[~gone])
        ends = np.full((rows, 1), self.end)
        before = inside.cumsum(1) + number + 1
        wrote = _with(np.concatenate([words, ends], axis=1), np.concatenate([0 * ends, before], axis=1), ids_bl[gone])
        shifted = np.concatenate([np.full((rows, 1), self.start), wrote[:, :-1]], axis=1)
        return Asked(read, None, wrote.reshape(-1), wrote.size, shifted)


def _with(marks: Array, places: Array, between: Array) -> Array:
    """Rows that have their marks at some places, and between them what is given, row after row."""
    there = np.zeros((len(marks), marks.shape[1] + len(between) // len(marks)), bool)
    np.put_along_axis(there, places, values=True, axis=1)
    found = np.empty(there.shape, np.int64)
    found[there], found[~there] = marks.reshape(-1), between
    return found


def _cut(rows: int, total: int, parts: int, rng: np.random.Generator) -> Array:
    """`total` as a sum of `parts` positive numbers, every way equally likely, a row each."""
    if parts == 1:
        return np.full((rows, 1), total)
    drawn = rng.random((rows, total - 1)).argpartition(parts - 2, axis=1)[:, : parts - 1] + 1
    found: Array = np.diff(np.sort(drawn, axis=1), axis=1, prepend=0, append=total)
    return found


Objective = Masked | Next | Spans
