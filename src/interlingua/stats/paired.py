"""Two models, or two layers, on the same sentences: is one better, or is it noise?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from interlingua.errors import InputError
from interlingua.stats.intervals import Array, Interval, jackknife, two_sided


@dataclass(frozen=True, slots=True)
class Difference:
    """First less second, its interval and a two-sided p-value."""

    value: float
    interval: Interval
    p: float


def difference(
    first: float, second: float, first_left_out: Sequence[float] | Array, second_left_out: Sequence[float] | Array
) -> Difference:
    """The difference of two values from the same blocks of rows, by the jackknife of the difference.

    Both must have left out the same blocks: what makes one block easy for both cancels, which is why the interval is
    narrower than those of the two values suggest.
    """
    first, second = float(first), float(second)
    a, b = np.asarray(first_left_out, np.float64), np.asarray(second_left_out, np.float64)
    if a.shape != b.shape:
        raise InputError(f"{len(a)} blocks and {len(b)}: both values must leave out the same blocks")
    interval = jackknife(first - second, a - b)
    if interval.error == 0:
        return Difference(first - second, interval, 1.0 if first == second else 0.0)
    return Difference(first - second, interval, two_sided(abs(first - second) / interval.error, len(a) - 1))
