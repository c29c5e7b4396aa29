"""Confidence intervals: the jackknife over blocks of rows, and the normal interval of a mean.

An interval is for the expectation of the measure at that number of rows, not for its limit: CKA and CCA move with n,
and no interval knows that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from interlingua.errors import InputError, MissingExtraError

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Interval:
    """A range that covers the expectation with this confidence, and the standard error it comes from."""

    low: float
    high: float
    error: float
    confidence: float = 0.95

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def jackknife(whole: float, left_out: Sequence[float] | Array, *, confidence: float = 0.95) -> Interval:
    """From the value of all blocks and the values with each block left out in turn.

        error² = (B−1)/B Σ (θ₍ᵦ₎ − θ̄)²;  whole ± t_{B−1} · error

    Right for smooth functions of means (ANC, CKA), blocks of equal size that are independent of one another, and twenty
    of them or more; sentences of one document in several blocks make it too narrow. Not for maxima or medians.

    Quenouille 1956; Tukey 1958; Busing et al. 1999 for blocks.
    """
    values = np.asarray(left_out, np.float64)
    blocks = len(values)
    if blocks < 2:
        raise InputError(f"{blocks} blocks give no interval: it takes at least two, and twenty to be of use")
    spread = values - values.mean()
    error = math.sqrt((blocks - 1) / blocks * float(spread @ spread))
    return _around(whole, error, blocks - 1, confidence)


def mean_interval(values: Sequence[float] | Array, *, confidence: float = 0.95) -> Interval:
    """Of the mean of independent values, such as the hits of sentences against a fixed pool."""
    sample = np.asarray(values, np.float64)
    if len(sample) < 2:
        raise InputError(f"{len(sample)} values give no interval: it takes at least two")
    return _around(
        float(sample.mean()), float(sample.std(ddof=1)) / math.sqrt(len(sample)), len(sample) - 1, confidence
    )


def _around(centre: float, error: float, freedom: int, confidence: float) -> Interval:
    if not 0 < confidence < 1:
        raise InputError(f"a confidence is between 0 and 1, not {confidence}")
    reach = student_quantile(0.5 + confidence / 2, freedom) * error
    return Interval(centre - reach, centre + reach, error, confidence)


def student_quantile(probability: float, freedom: int) -> float:
    """The quantile of Student's t."""
    try:
        from scipy.special import stdtrit
    except ImportError as error:
        raise MissingExtraError("scipy", "compare", "computing intervals") from error
    return float(stdtrit(freedom, probability))
