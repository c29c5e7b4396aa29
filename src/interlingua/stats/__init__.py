"""Results -> intervals, nulls, comparisons."""

from interlingua.stats.correlation import Correlation, adjusted, pearson, spearman
from interlingua.stats.intervals import Interval, jackknife, share_interval, without_blocks
from interlingua.stats.nulls import Null, p_value, shuffled
from interlingua.stats.paired import Difference, difference
from interlingua.stats.pattern import Pattern, align_then_predict

__all__ = [
    "Correlation",
    "Difference",
    "Interval",
    "Null",
    "Pattern",
    "adjusted",
    "align_then_predict",
    "difference",
    "jackknife",
    "p_value",
    "pearson",
    "share_interval",
    "shuffled",
    "spearman",
    "without_blocks",
]
