"""Iterative normalisation: rows of unit length whose mean is zero, so that a rotation can bring two spaces together.

    x ← x/‖x‖, then, until nothing changes by more than 1e-6:  x ← x − mean(x),  x ← x/‖x‖

The means of all rounds are kept and applied, in their order, to rows that had no part in them. Zhang et al. 2019.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from interlingua.errors import InputError
from interlingua.measures.arrays import Array, matrix, namespace
from interlingua.measures.shape import unit_rows

TOLERANCE, MOST = 1e-6, 1000
TOO_FEW = "one row less its mean is nothing: give at least 2"


@dataclass(frozen=True, eq=False)
class Normalisation:
    """A fitted normalisation: callable on rows of the same space. `change` is the largest of the last round."""

    means: tuple[Array, ...]
    change: float

    @property
    def width(self) -> int:
        """Neurons a row has."""
        return int(self.means[0].shape[0])

    def __call__(self, x: Array) -> Array:
        """Rows as this normalisation leaves them."""
        rows = unit_rows(matrix(x), "x")
        if int(rows.shape[1]) != self.width:
            raise InputError(f"rows have {rows.shape[1]} neurons, and this was fitted on {self.width}")
        for mean in self.means:
            rows = unit_rows(rows - mean, "x less its mean")
        return rows


def fit_normalisation(
    x: Array | Callable[[], Iterable[Array]],
    *,
    tolerance: float = TOLERANCE,
    rounds: int | None = None,
    dtype: str = "float64",
) -> Normalisation:
    """Normalise rows until they stay as they are, or for a fixed number of `rounds`.

    Rows that do not fit in memory are given as a function that goes through them in blocks, once a round and once more.
    """
    if callable(x):
        return _streamed(x, tolerance, rounds, dtype)
    rows = unit_rows(matrix(x, dtype=dtype), "x")
    if int(rows.shape[0]) < 2:
        raise InputError(TOO_FEW)
    xp = namespace(rows)
    means: list[Array] = []
    change = float("inf")
    while len(means) < (MOST if rounds is None else rounds):
        mean = xp.mean(rows, axis=0)
        after = unit_rows(rows - mean, "x less its mean")
        change = float(xp.max(xp.abs(after - rows)))
        means.append(mean)
        rows = after
        if rounds is None and change <= tolerance:
            break
    return _settled(means, change, tolerance, rounds)


def _streamed(blocks: Callable[[], Iterable[Array]], tolerance: float, rounds: int | None, dtype: str) -> Normalisation:
    """As in memory; how far rows moved in a round is known one pass later."""
    means: list[Array] = []
    while True:
        total: Array = None
        n, change = 0, float("inf") if not means else 0.0
        for block in blocks():
            rows = unit_rows(matrix(block, dtype=dtype), "x")
            xp = namespace(rows)
            before = rows
            for mean in means:
                before, rows = rows, unit_rows(rows - mean, "x less its mean")
            if means:
                change = max(change, float(xp.max(xp.abs(rows - before))))
            total = xp.sum(rows, axis=0) if total is None else total + xp.sum(rows, axis=0)
            n += int(rows.shape[0])
        if n < 2:
            raise InputError(TOO_FEW)
        if len(means) >= (MOST if rounds is None else rounds) or (rounds is None and change <= tolerance):
            return _settled(means, change, tolerance, rounds)
        means.append(total / n)


def _settled(means: list[Array], change: float, tolerance: float, rounds: int | None) -> Normalisation:
    if rounds is None and change > tolerance:
        raise InputError(f"after {MOST} rounds rows still change by {change:.2g}: give a tolerance above that")
    return Normalisation(tuple(means), change)
