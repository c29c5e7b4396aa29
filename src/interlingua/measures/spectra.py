"""One side's directions: principal axes, numerical rank, truncation by variance, whitening.

This is the expensive step (one eigendecomposition a side), done once for a language and layer and shared by all pairs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from interlingua.errors import InputError, UndefinedError
from interlingua.measures.arrays import Array, namespace
from interlingua.measures.moments import Side

# Directions whose variance is below this share of the largest do not count.
RANK = 1e-10
# Above this condition number, whitening from moments alone loses digits that a second look at the rows gives back.
WELL_CONDITIONED = 1e2


@dataclass(frozen=True, slots=True)
class Spectrum:
    """Principal axes of one side, largest variance first, as many as its numerical rank.

    `whiten` takes centred rows to coordinates that are uncorrelated and of unit length: `axes` / √`values`, or what is
    better than that.
    """

    n: int
    values: Array
    axes: Array
    whiten: Array

    @property
    def rank(self) -> int:
        """How many directions there are."""
        return int(self.values.shape[0])

    @property
    def condition(self) -> float:
        """The largest spread over the smallest."""
        return math.sqrt(float(self.values[0] / self.values[-1]))


def spectrum(side: Side) -> Spectrum:
    """The eigendecomposition of a side's scatter."""
    xp = namespace(side.scatter)
    values, axes = xp.linalg.eigh(side.scatter)
    values, axes = xp.flip(values), xp.flip(axes, axis=1)
    if not float(values[0]) > 0:
        raise UndefinedError("no neuron ever changes: nothing can be compared")
    rank = int(xp.sum(xp.astype(values > RANK * values[0], xp.int64)))
    values, axes = values[:rank], axes[:, :rank]
    return Spectrum(side.n, values, axes, axes / xp.sqrt(values))


def refined(found: Spectrum, centred: Array) -> Spectrum:
    """The same, whitened to full precision by a second look at the rows.

    Moments square the condition number of a matrix; whitening the whitened rows once more (the idea of CholeskyQR2,
    Yamamoto et al. 2015) gives back what that lost.
    """
    if found.condition < WELL_CONDITIONED:
        return found
    xp = namespace(centred)
    z = centred @ found.whiten
    values, axes = xp.linalg.eigh(z.T @ z)
    return replace(found, whiten=(found.whiten @ axes / xp.sqrt(values)) @ axes.T)


def directions_for(found: Spectrum, variance: float) -> int:
    """The fewest leading directions that hold this share of the variance, the one that crosses it included."""
    if not 0 < variance <= 1:
        raise InputError(f"a share of the variance is above 0 and at most 1, not {variance}")
    xp = namespace(found.values)
    shares = xp.cumulative_sum(found.values) / xp.sum(found.values)
    # The last share is 1 but for rounding.
    return min(int(xp.sum(xp.astype(shares < variance * (1 - 1e-12), xp.int64))) + 1, found.rank)
