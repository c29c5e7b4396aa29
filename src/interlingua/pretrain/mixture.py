"""Streams of tokens, and which blocks of which stream make up the batch of each update.

Everything follows from the seed and the number of the update alone: a run can stop anywhere and go on with the batches
it would have seen, without keeping the state of any generator.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from interlingua.errors import InputError

# Updates whose streams are drawn together.
CHUNK = 4096
Array = np.ndarray[Any, Any]


def generator(seed: int, *place: int) -> np.random.Generator:
    """The random numbers of one place (an update, an epoch) under a seed; other places are independent of it."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=place))


@dataclass(frozen=True)
class Stream:
    """All tokens of one language (or of one pair, translation after translation), sentences ending in `</s>`.

    `language` is empty where a batch holds more than one.
    """

    name: str
    language: str
    tokens: Array
    sentences: int
    characters: int

    def __len__(self) -> int:
        return len(self.tokens)


def in_order(tokens: Array, length: int, start: int, most: int) -> Array:
    """The first blocks of a stream as they come, at most so many, each behind the token `start`."""
    rows = min(len(tokens) // (length - 1), most)
    blocks = tokens[: rows * (length - 1)].reshape(rows, length - 1).astype(np.int64)
    found: Array = np.concatenate([np.full((rows, 1), start), blocks], axis=1)
    return found


@dataclass(frozen=True)
class Mixture:
    """Which stream serves an update, and with which blocks.

    A batch is of one stream, or with `mixed` each of its rows is. Streams are drawn with probability ∝ size^`exponent`
    (1: as they are; 0.7: the papers'; 0: uniform), size being sentences or tokens; streams of translations have the
    share `tlm` of all draws, and divide it likewise. Rows begin with the token `start`, as all that a model reads does.
    """

    streams: Sequence[Stream]
    length: int
    rows: int
    start: int
    seed: int = 0
    exponent: float = 0.7
    by: str = "sentences"
    tlm: float = 0.0
    mixed: bool = False
    _orders: dict[tuple[int, int], Array] = field(default_factory=dict, repr=False, compare=False)
    _served: dict[int, Array] = field(default_factory=dict, repr=False, compare=False)
    _counts: list[Array] = field(default_factory=list, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.streams:
            raise InputError("there is nothing to draw from: no stream of text was given")
        for stream in self.streams:
            if len(stream) < 2 * self.length:
                raise InputError(
                    f"{stream.name} has {len(stream)} tokens: at least two sequences of {self.length} are needed"
                )

    def probabilities(self) -> Array:
        """How often each stream serves."""
        sizes = np.array([s.sentences if self.by == "sentences" else len(s) for s in self.streams], np.float64)
        weights = np.where(sizes > 0, sizes, 1) ** self.exponent
        pairs = np.array([not s.language for s in self.streams])
        if pairs.any() and not pairs.all():
            # all of one kind: they divide everything
            for kind, share in ((pairs, self.tlm), (~pairs, 1 - self.tlm)):
                weights[kind] *= share / weights[kind].sum()
        found: Array = weights / weights.sum()
        return found

    def serving(self, chunk: int) -> Array:
        """The stream of every update of a chunk; the last one asked for is kept."""
        if chunk not in self._served:
            self._served.clear()
            drawn = generator(self.seed, 0, chunk).choice(len(self.streams), CHUNK, p=self.probabilities())
            self._served[chunk] = drawn
        return self._served[chunk]

    def at(self, update: int) -> tuple[int, int]:
        """The stream of an update (of a row, where batches are mixed), and how many that stream gave before."""
        chunk, place = divmod(update, CHUNK)
        while len(self._counts) <= chunk:
            before = self._counts[-1] if self._counts else np.zeros(len(self.streams), np.int64)
            drawn = self.serving(len(self._counts) - 1) if self._counts else np.zeros(0, np.int64)
            self._counts.append(before + np.bincount(drawn, minlength=len(self.streams)))
        served = self.serving(chunk)
        stream = int(served[place])
        return stream, int(self._counts[chunk][stream] + np.count_nonzero(served[:place] == stream))

    def block(self, stream: int, number: int) -> Array:
        """The batch of a number that a stream gives, (rows, length)."""
        found = np.full((self.rows, self.length), self.start)
        for row in range(self.rows):
            found[row, 1:] = self._row(stream, number * self.rows + row)
        return found

    def blend(self, update: int) -> Array:
        """The batch of an update whose rows are drawn one by one, (rows, length)."""
        found = np.full((self.rows, self.length), self.start)
        for row in range(self.rows):
            found[row, 1:] = self._row(*self.at(update * self.rows + row))
        return found

    def _row(self, stream: int, number: int) -> Array:
        """The block of a number that a stream gives: all its blocks in a new order every epoch."""
        tokens = self.streams[stream].tokens
        # Blocks of an epoch start at a place of their own, so that they do not always end in the same words.
        step = self.length - 1
        blocks = len(tokens) // step - 1
        epoch, place = divmod(number, blocks)
        order = self._order(stream, epoch, blocks)
        first = order[-1] + order[place] * step
        return tokens[first : first + step]

    def _order(self, stream: int, epoch: int, blocks: int) -> Array:
        """The order of the blocks of an epoch; behind it, where the first starts."""
        if (stream, epoch) not in self._orders:
            self._orders.pop((stream, epoch - 2), None)
            rng = generator(self.seed, 1, stream, epoch)
            self._orders[stream, epoch] = np.append(rng.permutation(blocks), rng.integers(self.length - 1))
        return self._orders[stream, epoch]

    def batches(self, first: int, last: int) -> Iterator[tuple[int, int, Array]]:
        """(update, stream, tokens) for every update from `first` up to `last`; stream -1 is a mixture of all."""
        for update in range(first, last):
            if self.mixed:
                yield update, -1, self.blend(update)
                continue
            stream, number = self.at(update)
            yield update, stream, self.block(stream, number)
