"""Confidence intervals: the jackknife over blocks of rows, and that of a share.

An interval is for the expectation of the measure at that number of rows, not for its limit: CKA and CCA move with n,
and no interval knows that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from interlingua.errors import InputError, MissingExtraError
from interlingua.measures.arrays import cut

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
    if not np.isfinite(values).all() or not math.isfinite(whole):
        raise InputError("an interval takes finite values")
    if blocks < 2:
        raise InputError(f"{blocks} blocks give no interval: it takes at least two, and twenty to be of use")
    spread = values - values.mean()
    error = math.sqrt((blocks - 1) / blocks * float(spread @ spread))
    return _around(whole, error, blocks - 1, confidence)


def without_blocks(values: Sequence[float] | Array, blocks: int = 20) -> tuple[float, ...]:
    """The mean of all values but those of one block, for each of so many blocks in their order: for `jackknife`.

    Fewer values than blocks are left out one by one.
    """
    sample = np.asarray(values, np.float64)
    if len(sample) < 2 or blocks < 2:
        raise InputError(f"{len(sample)} values in {blocks} blocks: it takes at least two of each")
    whole, parts = sample.sum(), [sample[rows] for rows in cut(len(sample), min(blocks, len(sample)))]
    return tuple(float((whole - part.sum()) / (len(sample) - len(part))) for part in parts)


def share_interval(hits: Sequence[float] | Array, *, confidence: float = 0.95) -> Interval:
    """Of a share, from a value from 0 to 1 for each of independent sentences, such as its mean hit in two directions.

        (p + z²/2n ± z √(p(1−p)/n + z²/4n²)) / (1 + z²/n),  n = rows · p(1−p) / variance of the values

    It stays inside 0 to 1, and is not empty where all hits are alike. With two directions, n says how much they tell
    beyond one.

    Wilson 1927; Kish 1965 for the effective number.
    """
    sample = np.asarray(hits, np.float64)
    if len(sample) < 2 or not np.isfinite(sample).all():
        raise InputError(f"{len(sample)} values give no interval: it takes at least two, all of them numbers")
    share, spread = float(sample.mean()), float(sample.var(ddof=1))
    # Where all are alike, the values say nothing of directions: they count once.
    n = len(sample) * share * (1 - share) / spread if spread > 0 else float(len(sample))
    n = min(max(n, float(len(sample))), 2.0 * len(sample))
    z = student_quantile(0.5 + _checked(confidence) / 2, len(sample) - 1)
    middle = (share + z * z / 2 / n) / (1 + z * z / n)
    reach = z * math.sqrt(share * (1 - share) / n + z * z / 4 / n / n) / (1 + z * z / n)
    # at 0 and 1 an end is the share itself, which rounding may miss
    return Interval(min(max(middle - reach, 0.0), share), max(min(middle + reach, 1.0), share), reach / z, confidence)


def two_sided(statistic: float, freedom: int) -> float:
    """The two-sided p-value of Student's t."""
    try:
        from scipy.special import stdtr
    except ImportError as error:
        raise MissingExtraError("scipy", "compare", "computing p-values") from error
    return float(2 * stdtr(freedom, -abs(statistic)))


def _checked(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise InputError(f"a confidence is between 0 and 1, not {confidence}")
    return confidence


def _around(centre: float, error: float, freedom: int, confidence: float) -> Interval:
    reach = student_quantile(0.5 + _checked(confidence) / 2, freedom) * error
    return Interval(centre - reach, centre + reach, error, confidence)


def student_quantile(probability: float, freedom: int) -> float:
    """The quantile of Student's t."""
    try:
        from scipy.special import stdtrit
    except ImportError as error:
        raise MissingExtraError("scipy", "compare", "computing intervals") from error
    return float(stdtrit(freedom, probability))
