"""Iterative normalisation: rows of unit length whose mean is zero, so that a rotation can bring two spaces together.

    x ← x/‖x‖, then, until nothing changes by more than 1e-6:  x ← x − mean(x),  x ← x/‖x‖

The means of all rounds are kept and applied, in their order, to rows that had no part in them. Zhang et al. 2019.
"""

from __future__ import annotations

from dataclasses import dataclass

from interlingua.errors import InputError
from interlingua.measures.arrays import Array, matrix, namespace
from interlingua.measures.shape import unit_rows

TOLERANCE, MOST = 1e-6, 1000


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
    x: Array, *, tolerance: float = TOLERANCE, rounds: int | None = None, dtype: str = "float64"
) -> Normalisation:
    """Normalise rows until they stay as they are, or for a fixed number of `rounds`."""
    rows = unit_rows(matrix(x, dtype=dtype), "x")
    if int(rows.shape[0]) < 2:
        raise InputError("one row less its mean is nothing: give at least 2")
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
    if rounds is None and change > tolerance:
        raise InputError(f"after {MOST} rounds rows still change by {change:.2g}: give a tolerance above that")
    return Normalisation(tuple(means), change)
