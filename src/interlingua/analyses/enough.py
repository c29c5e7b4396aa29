"""How many sentences does a measure need? Its value, interval and null, as sentences are added."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from interlingua.analyses.comparison import DEFAULT
from interlingua.analyses.sweep import uncertainties
from interlingua.errors import InputError
from interlingua.measures.arrays import check_pair
from interlingua.measures.catalog import find
from interlingua.measures.joined import Joined, View
from interlingua.report.tables import pandas

if TYPE_CHECKING:
    import pandas as pd

Array = np.ndarray[Any, Any]


def planted(n: int, width: int, *, similarity: float = 0.5, seed: int = 0) -> tuple[Array, Array]:
    """Two matrices whose neurons correlate one to one by `similarity`; variances fall off as those of encoders do."""
    if n < 2 or width < 1:
        raise InputError(f"{n} rows of {width} neurons are no pair of matrices")
    if not 0 <= similarity <= 1:
        raise InputError(f"a similarity is from 0 to 1, not {similarity}")
    rng = np.random.default_rng(seed)
    scale = np.geomspace(1.0, 0.1, width)
    shared, *own = (rng.standard_normal((n, width)) for _ in range(3))
    left, right = (math.sqrt(similarity) * shared + math.sqrt(1 - similarity) * noise for noise in own)
    return left * scale, right * scale


def enough(
    x: Array,
    y: Array,
    *,
    measures: Sequence[str] = DEFAULT,
    sizes: Sequence[int] = (),
    blocks: int = 20,
    nulls: int = 5,
    cca_intervals: bool = False,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> pd.DataFrame:
    """Value, interval and null at growing numbers of rows: columns n, measure, value, low, high, null, notes.

    `x` and `y` are vectors of two languages at one layer (`reps["en", 8]`), or `planted(n, width)` where there are none
    yet. Rows are added in a random order, each size holding the one before it. Where the value still moves from one
    size to the next by more than its interval, it is not the value of the model but of that many sentences; where the
    interval reaches down to the null, nothing was found.
    """
    names = [find(name).name for name in measures]
    check_pair(x, y)
    for what, value, least in (("blocks", blocks, 2), ("nulls", nulls, 0), ("seed", seed, 0)):
        if not isinstance(value, int) or value < least:
            raise InputError(f"{what} is a whole number from {least} up, not {value!r}")
    if any(not isinstance(n, int) for n in sizes):
        raise InputError(f"sizes are whole numbers, not {list(sizes)}")
    x, y = np.asarray(x), np.asarray(y)
    total = len(x)
    chosen = sorted(set(sizes)) or _doubling(2 * blocks, total)
    if not names or not chosen:
        raise InputError("no measure was asked for" if not names else f"{total} rows are too few for {blocks} blocks")
    if chosen[0] < 2 * blocks or chosen[-1] > total:
        raise InputError(f"sizes are from {2 * blocks} (two rows a block) to {total}, the rows there are")
    order, *streams = np.random.SeedSequence(seed).spawn(1 + nulls)
    shuffled = np.random.default_rng(order).permutation(total)
    rows = []
    for done, n in enumerate(chosen):
        some = shuffled[:n]
        joined = Joined(View(x[some], blocks), View(y[some], blocks))
        sure = uncertainties(joined, names, cca=cca_intervals)
        null = [joined.shuffled(names, np.random.default_rng(stream).permutation(n)) for stream in streams]
        for name in names:
            interval = sure[name].interval
            beside = [values[name] for values in null if math.isfinite(values[name])]
            rows.append(
                {
                    "n": n,
                    "measure": name,
                    "value": joined.measure_or_why(name).value,
                    "low": None if interval is None else interval.low,
                    "high": None if interval is None else interval.high,
                    "null": float(np.mean(beside)) if beside else None,
                    "notes": "; ".join(joined.measure_or_why(name).notes),
                }
            )
        progress(done + 1, len(chosen))
    return pandas().DataFrame(rows)


def _doubling(least: int, most: int) -> list[int]:
    """From the smallest size up by doubling, and all rows at the end."""
    return [n for n in (least * 2**i for i in range(40)) if n < most] + ([most] if most >= least else [])
