"""First align, then predict: does similarity rise from the embeddings to a middle layer, and fall towards the last?

The peak is a maximum, so on the data that chose it rise and fall are never negative, even in noise. The peak is chosen
on one half of the sentences and tested on the other, both ways.

Muller et al. 2021.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from interlingua.errors import InputError
from interlingua.stats.intervals import student_quantile


@dataclass(frozen=True, slots=True)
class Pattern:
    """Whether the pattern is there; the peak layer of either half; and the rise and fall found, with bounds.

    `rise` and `fall` are means over both ways of choosing and testing; `rise_low` and `fall_low` the lower of both
    lower confidence bounds, `rise_high` and `fall_high` the higher of both upper ones.
    """

    holds: bool
    peaks: tuple[int, int]
    rise: float
    fall: float
    rise_low: float
    fall_low: float
    rise_high: float
    fall_high: float


def align_then_predict(
    blocks: np.ndarray[tuple[int, int], np.dtype[np.float64]], *, confidence: float = 0.95, inner: bool = False
) -> Pattern:
    """From values (block of sentences, layer): the measure on each of an even number of disjoint blocks.

    Half of the blocks choose the peak; on the others, rise (peak − layer 0) and fall (peak − last) are tested by a
    one-sided t test over blocks; then the other way round. The pattern holds when both exceed zero both ways, each at
    half of the level that is left after `confidence`.

    A peak at the first or last layer has a rise or fall of exactly 0, which says nothing of how sure that is. `inner`
    looks for it between them, so that a curve which only falls has a negative rise with an interval.
    """
    if not 0 < confidence < 1:
        raise InputError(f"a confidence is between 0 and 1, not {confidence}")
    values = np.asarray(blocks, np.float64)
    if values.ndim != 2 or len(values) < 8 or values.shape[1] < 3:
        raise InputError("the pattern takes values of at least 8 blocks at 3 layers or more")
    if not np.isfinite(values).all():
        raise InputError("the pattern takes finite values")
    halves = values[0::2], values[1::2]
    rises: list[float] = []
    falls: list[float] = []
    peaks, lows, highs = [], [], []
    for choosing, testing in (halves, halves[::-1]):
        means = choosing.mean(0)
        peak = 1 + int(np.argmax(means[1:-1])) if inner else int(np.argmax(means))
        peaks.append(peak)
        for kept, edge in ((rises, 0), (falls, values.shape[1] - 1)):
            gap = testing[:, peak] - testing[:, edge]
            kept.append(float(gap.mean()))
            reach = (
                student_quantile(1 - (1 - confidence) / 2, len(gap) - 1) * float(gap.std(ddof=1)) / np.sqrt(len(gap))
            )
            lows.append(float(gap.mean() - reach))
            highs.append(float(gap.mean() + reach))
    rise_low, fall_low = min(lows[0], lows[2]), min(lows[1], lows[3])
    return Pattern(
        holds=rise_low > 0 and fall_low > 0,
        peaks=(peaks[0], peaks[1]),
        rise=sum(rises) / 2,
        fall=sum(falls) / 2,
        rise_low=rise_low,
        fall_low=fall_low,
        rise_high=max(highs[0], highs[2]),
        fall_high=max(highs[1], highs[3]),
    )
