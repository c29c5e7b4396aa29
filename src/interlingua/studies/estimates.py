"""From the table of a study to numbers with intervals: curves over layers, their means, differences and slopes.

A value may know what it is without each block of the sample that it is of. Then whatever is made of such values has its
interval by the jackknife: what errs together on one sample (two models on the same sentences, layers of one model)
cancels in differences and adds up in means, and samples are independent of each other:

    error² = Σ over samples (B−1)/B Σ_b (θ₍ᵦ₎ − θ̄)²;  θ ± t_{B−1} · error

Where a value does not, intervals are approximate. That of a mean over layers or languages is the mean of theirs, which
is right where they err together and too wide where they do not. Those of differences, ratios and slopes add half-widths
by their squares, as if both sides were apart: too wide for two models on the same sentences, and too narrow for a slope
over layers that err together. A value without an interval has none here either, and no rule is met by it.

The highest of several is a maximum: it leans upwards, and the jackknife is not right for it, so `best` forgets blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from interlingua.stats.intervals import jackknife, student_quantile
from interlingua.studies.claims import Part
from interlingua.studies.results import SAMPLE, WITHOUT

if TYPE_CHECKING:
    import pandas as pd


# A difference smaller than this share of what it is of is rounding.
EXACT = 1e-9


class MissingRowsError(Exception):
    """A cell that an estimate needs has not been run: there is no estimate, and that is no error."""


@dataclass(frozen=True)
class Estimate:
    """A value, its interval, and of how many examples it is (sentences, or what else is counted).

    `without`, where it is known: by the name of a sample, the value without each of its blocks.
    """

    value: float
    low: float
    high: float
    n: int = 0
    without: Mapping[str, tuple[float, ...]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def half(self) -> float:
        """Half of the width of its interval."""
        return (self.high - self.low) / 2

    def __sub__(self, other: Estimate) -> Estimate:
        value, half = self.value - other.value, math.hypot(self.half, other.half)
        apart = Estimate(value, value - half, value + half, _fewest((self, other)))
        return combined(lambda both: both[0] - both[1], [self, other]) or apart

    def __truediv__(self, other: Estimate) -> Estimate:
        if not other.value:
            raise MissingRowsError
        value = self.value / other.value
        half = math.hypot(self.half, value * other.half) / abs(other.value)
        apart = Estimate(value, value - half, value + half, _fewest((self, other)))
        return combined(lambda both: both[0] / both[1], [self, other]) or apart

    def __mul__(self, factor: float) -> Estimate:
        low, high = sorted((self.low * factor, self.high * factor))
        without = {sample: tuple(v * factor for v in some) for sample, some in self.without.items()}
        return Estimate(self.value * factor, low, high, self.n, without)

    def part(self, of: str, seed: int) -> Part:
        """As rules take it."""
        return Part(of, seed, self.value, self.low, self.high, self.n)


def combined(made: Callable[[Sequence[float]], float], some: Sequence[Estimate]) -> Estimate | None:
    """A smooth function of several values, by the jackknife over the blocks of all samples that they are of.

    None where one of them does not know its blocks, where two cut one sample otherwise, or where one does not vary:
    that tells nothing of how sure it is.
    """
    blocks: dict[str, set[int]] = {}
    for one in some:
        for sample, values in one.without.items():
            blocks.setdefault(sample, set()).add(len(values))
    if any(len(sizes) > 1 for sizes in blocks.values()) or not all(map(_varies, some)):
        return None

    def left_out(sample: str, block: int) -> float:
        return made([one.without[sample][block] if sample in one.without else one.value for one in some])

    sizes = {sample: min(each) for sample, each in blocks.items()}
    try:
        value = made([one.value for one in some])
        without = {sample: tuple(left_out(sample, b) for b in range(size)) for sample, size in sizes.items()}
    except ZeroDivisionError:
        return None
    if not all(map(math.isfinite, (value, *(v for each in without.values() for v in each)))):
        return None
    error = math.hypot(*(jackknife(value, each).error for each in without.values()))
    if error <= EXACT * max(abs(one.value) for one in some):  # they cancel, but for rounding
        return None
    half = student_quantile(0.975, min(sizes.values()) - 1) * error
    return Estimate(value, value - half, value + half, _fewest(some), without)


def _fewest(some: Iterable[Estimate]) -> int:
    """Of how many examples something is that is made of several: as many as the least, of those that say."""
    return min((one.n for one in some if one.n), default=0)


def _varies(one: Estimate) -> bool:
    return bool(one.without) and all(max(some) > min(some) for some in one.without.values())


def chosen(table: pd.DataFrame, **wanted: Any) -> pd.DataFrame:
    """The rows with these values, ordered by layer."""
    found = table
    for column, value in wanted.items():
        found = found[found[column] == value]
    return found.sort_values("layer", kind="stable")


def curve(rows: pd.DataFrame, *, published: bool = False) -> list[Estimate]:
    """Values by layer. What a paper's own code gives has no interval of its own: it is lent that of the exact value."""
    if not len(rows):
        raise MissingRowsError
    exact, low, high = (rows[name].astype(float).to_numpy() for name in ("value", "low", "high"))
    value = rows["published"].astype(float).to_numpy() if published else exact
    n = rows["n"].fillna(0).astype(int).to_numpy()
    without = [{}] * len(rows) if published or WITHOUT not in rows else map(_without, rows[SAMPLE], rows[WITHOUT])
    return [
        Estimate(float(v), float(v + a - e), float(v + b - e), int(k), known)
        for v, e, a, b, k, known in zip(value, exact, low, high, n, without, strict=True)
    ]


def _without(sample: str, told: str) -> dict[str, tuple[float, ...]]:
    return {sample: tuple(map(float, told.split()))} if told else {}


def deeper(curve_: list[Estimate]) -> list[Estimate]:
    """The deeper half, as the paper has it: layers 6 to 12 of 12, 4 to 8 of 8. Layer 0 is the embeddings."""
    depth = len(curve_) - 1
    return curve_[depth // 2 :]


def mean(some: list[Estimate]) -> Estimate:
    """Of all of them; of as many sentences as the least."""
    if not some:
        raise MissingRowsError
    if len(some) == 1:
        return some[0]
    value, low, high = (float(np.mean([getattr(one, end) for one in some])) for end in ("value", "low", "high"))
    apart = Estimate(value, low, high, min(one.n for one in some))
    return combined(lambda values: float(np.mean(values)), some) or apart


def best(some: list[Estimate]) -> Estimate:
    """The highest, with its own interval."""
    return replace(max(some, key=lambda each: each.value), without={})


def slope(some: list[Estimate]) -> Estimate:
    """Of a straight line over layers, by least squares: change a layer."""
    x = np.arange(len(some)) - (len(some) - 1) / 2
    weights = x / (x @ x)
    value = float(weights @ [each.value for each in some])
    half = float(np.sqrt(np.sum((weights * [each.half for each in some]) ** 2)))
    apart = Estimate(value, value - half, value + half, some[0].n)
    return combined(lambda values: float(weights @ values), some) or apart


def together(some: list[Estimate], others: list[Estimate]) -> Estimate:
    """Pearson's correlation of two curves over layers, by Fisher's z.

    Leans to 0 where curves move little more than they err. Without blocks of what they are of its interval is over
    layers, as if these were drawn.
    """
    if len(some) != len(others) or len(some) < 3:
        raise MissingRowsError

    def z(values: Sequence[float]) -> float:
        x, y = (np.asarray(part) - np.mean(part) for part in (values[: len(some)], values[len(some) :]))
        size = math.sqrt(float(x @ x) * float(y @ y))
        return math.atanh(max(-0.999999, min(0.999999, float(x @ y) / size))) if size else math.nan

    both = [*some, *others]
    value = z([one.value for one in both])
    if not math.isfinite(value):
        raise MissingRowsError
    found = combined(z, both)
    if found is None:
        return fisher(math.tanh(value), len(some))
    return Estimate(math.tanh(found.value), math.tanh(found.low), math.tanh(found.high), found.n)


def fisher(r: float, n: int, variance: float = 1.0) -> Estimate:
    """A correlation over `n` layers or languages with Fisher's interval.

    Of ranks, `variance` is 1.06 (Fieller et al. 1957).
    """
    if n < 4 or not abs(r) <= 1:
        raise MissingRowsError
    z, half = math.atanh(max(-0.999, min(0.999, r))), 1.96 * math.sqrt(variance / (n - 3))
    return Estimate(r, math.tanh(z - half), math.tanh(z + half), n)


def each(table: pd.DataFrame, keys: Iterable[str | tuple[str, ...]], made: Callable[..., Estimate]) -> Iterator[Part]:
    """An estimate for every key and seed that has what it takes; `made` is given rows, and what the key says."""
    for key in keys:
        names = (key,) if isinstance(key, str) else key
        for seed, rows in table.groupby("seed"):
            try:
                yield made(rows, *names).part(", ".join(names), int(seed))
            except MissingRowsError:
                continue


def pattern(rows: pd.DataFrame, measure: str = "anc", target: str = "") -> Estimate:
    """First align, then predict: the smaller of rise and fall, on sentences that did not choose the peak.

    Both must be positive, so each end of the interval is the lower of the two.
    """
    ends = []
    for what in ("rise", "fall"):
        found = chosen(rows, measure=f"{measure}.{what}", target=target)
        if not len(found):
            raise MissingRowsError
        ends.append(found.iloc[0])
    value, low, high = (min(float(end[name]) for end in ends) for name in ("value", "low", "high"))
    return Estimate(value, low, high, int(ends[0]["n"]))
