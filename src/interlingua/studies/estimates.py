"""From the table of a study to numbers with intervals: curves over layers, their means, differences and slopes.

Intervals of means over layers are means of intervals, which is too wide rather than too narrow: layers are measured on
the same sentences. Those of differences and slopes add half-widths by their squares, as if both sides were apart; of
the same sentences they are too wide again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interlingua.studies.claims import Part

if TYPE_CHECKING:
    import pandas as pd


class MissingRowsError(Exception):
    """A cell that an estimate needs has not been run: there is no estimate, and that is no error."""


@dataclass(frozen=True)
class Estimate:
    """A value, its interval, and how many sentences it is of."""

    value: float
    low: float
    high: float
    n: int = 0

    @property
    def half(self) -> float:
        """Half of the width of its interval."""
        return (self.high - self.low) / 2

    def __sub__(self, other: Estimate) -> Estimate:
        value, half = self.value - other.value, math.hypot(self.half, other.half)
        return Estimate(value, value - half, value + half, self.n or other.n)

    def __truediv__(self, other: Estimate) -> Estimate:
        low, high = (end / other.value for end in (self.low, self.high))
        return Estimate(self.value / other.value, low, high, self.n or other.n)

    def part(self, of: str, seed: int) -> Part:
        """As rules take it."""
        return Part(of, seed, self.value, self.low, self.high, self.n)


def chosen(table: pd.DataFrame, **wanted: Any) -> pd.DataFrame:
    """The rows with these values, ordered by layer."""
    found = table
    for column, value in wanted.items():
        found = found[found[column] == value]
    return found.sort_values("layer", kind="stable")


def curve(rows: pd.DataFrame, *, published: bool = False) -> list[Estimate]:
    """Values by layer; those that a paper's own code gives have no interval."""
    if not len(rows):
        raise MissingRowsError
    value = rows["published" if published else "value"].astype(float).to_numpy()
    bare = published or rows["low"].isna().all()
    low, high = (value, value) if bare else (rows[name].astype(float).to_numpy() for name in ("low", "high"))
    n = rows["n"].fillna(0).astype(int).to_numpy()
    return [Estimate(float(v), float(a), float(b), int(k)) for v, a, b, k in zip(value, low, high, n, strict=True)]


def deeper(curve_: list[Estimate]) -> list[Estimate]:
    """The deeper half of the blocks: layers 5 to 8 of 8. Layer 0 is the embeddings."""
    depth = len(curve_) - 1
    return curve_[depth // 2 + 1 :]


def mean(some: list[Estimate]) -> Estimate:
    """Of all of them."""
    if not some:
        raise MissingRowsError
    value, low, high = (float(np.mean([getattr(one, end) for one in some])) for end in ("value", "low", "high"))
    return Estimate(value, low, high, some[0].n)


def best(some: list[Estimate]) -> Estimate:
    """The highest."""
    return max(some, key=lambda each: each.value)


def slope(some: list[Estimate]) -> Estimate:
    """Of a straight line over layers, by least squares: change a layer."""
    x = np.arange(len(some)) - (len(some) - 1) / 2
    weights = x / (x @ x)
    value = float(weights @ [each.value for each in some])
    half = float(np.sqrt(np.sum((weights * [each.half for each in some]) ** 2)))
    return Estimate(value, value - half, value + half, some[0].n)


def each(table: pd.DataFrame, keys: Iterable[str | tuple[str, ...]], made: Callable[..., Estimate]) -> Iterator[Part]:
    """An estimate for every key and seed that has what it takes; `made` is given rows, and what the key says."""
    for key in keys:
        names = (key,) if isinstance(key, str) else key
        for seed, rows in table.groupby("seed"):
            try:
                yield made(rows, *names).part(", ".join(names), int(seed))
            except MissingRowsError:
                continue


def pattern(rows: pd.DataFrame, measure: str = "anc", target: str = "") -> Estimate:
    """First align, then predict: the smaller of rise and fall, on sentences that did not choose the peak."""
    ends = []
    for what in ("rise", "fall"):
        found = chosen(rows, measure=f"{measure}.{what}", target=target)
        if not len(found):
            raise MissingRowsError
        row = found.iloc[0]
        ends.append(Estimate(float(row["value"]), float(row["low"]), float(row["high"]), int(row["n"])))
    return min(ends, key=lambda each: each.low)
