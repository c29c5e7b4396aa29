"""Shares of whole numbers: compared without rounding, and with an interval."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from interlingua.stats.intervals import share_interval

Array = np.ndarray[Any, Any]


def reaches(part: Array | int, whole: Array | int, threshold: float, *, strict: bool = False) -> Array:
    """Whether part / whole is at least a threshold (or more than it): 4 of 5 is 0.8, and not a little less."""
    exact = Fraction(str(threshold)).limit_denominator(10**6)
    left, right = np.asarray(part, np.int64) * exact.denominator, np.asarray(whole, np.int64) * exact.numerator
    found: Array = np.asarray(left > right if strict else left >= right)
    return found


def share(hits: int, n: int) -> tuple[float, float, float]:
    """A share of concepts and its 95 % interval (Wilson); NaN where there is nothing to share."""
    if not n:
        return (float("nan"),) * 3
    if n < 2:
        return hits / n, float("nan"), float("nan")
    found = share_interval(np.repeat([1.0, 0.0], [hits, n - hits]))
    return hits / n, found.low, found.high
