"""What measures give back: frozen, with the value first and everything that qualifies it beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Array = Any


@dataclass(frozen=True, slots=True)
class Similarity:
    """A number, how many rows it comes from, and what to know before believing it."""

    value: float
    n: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NeuronSimilarity(Similarity):
    """Correlation neuron by neuron: `signed` is NaN for those constant on either side, `constant` their number."""

    signed: Array = None
    constant: int = 0

    @property
    def absolute(self) -> Array:
        """The size of each correlation, whatever its sign."""
        return abs(self.signed)


@dataclass(frozen=True, slots=True)
class CanonicalSimilarity(Similarity):
    """Canonical correlations `rho`, largest first, and how many directions of either side took part."""

    rho: Array = None
    rank_x: int = 0
    rank_y: int = 0


@dataclass(frozen=True, slots=True)
class Retrieval(Similarity):
    """How often the nearest row of the other side is the right one: from x to y, from y to x, and the mean of both.

    `mrr` is the mean reciprocal rank and `recall5` the share among the five nearest, both averaged over directions;
    `hits` holds a row of zeros and ones a direction.
    """

    forward: float = float("nan")
    backward: float = float("nan")
    mrr: float = float("nan")
    recall5: float = float("nan")
    hits: Array = None
