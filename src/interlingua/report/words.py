"""What the tables say, in plain words: a verdict for every pair, a few sentences for every model, and cautions.

A pair is judged at the layer where its similarity is highest, by an interval widened for having chosen among layers. If
that reaches down to the value of shuffled pairs, nothing was found; if it reaches down to an untrained network, it is
what tokens in common give; so it is where no more sentences find their translation, at the best layer for that, than in
an untrained network. Beyond that it is called by how many do: strong from 80 %, weak below 30 %. Without an interval,
or without both shuffles and an untrained network, nothing is said.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from interlingua.errors import InputError
from interlingua.report.tables import Tables

if TYPE_CHECKING:
    import pandas as pd

# Asked in this order for a measure to judge by: those that have intervals.
JUDGES = ("anc", "debiased_cka", "linear_cka", "matching", "csls", "margin")
RETRIEVAL = ("matching", "csls", "margin")
STRONG, WEAK = 0.8, 0.3
NOTHING, UNTRAINED = "not above chance", "no more than an untrained network"
UNJUDGED = "not judged"
# Above these, cosines and CKA are about something else than meaning.
ANISOTROPIC, OUTLYING = 0.5, 0.3
# Average cosine above which cosines are all alike.
ALIKE = 0.8
# A curve that moves less than this over layers is called flat.
FLAT = 0.01
# Pairs that a summary names at most.
LISTED = 12
NAMES = {
    "anc": "ANC",
    "linear_cka": "linear CKA",
    "debiased_cka": "debiased CKA",
    "matching": "matching",
    "csls": "CSLS matching",
    "margin": "margin matching",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """One pair in one model: the curve's first, highest and last value, and what to make of it."""

    model: str
    pooling: str
    source: str
    target: str
    measure: str
    first: float
    peak_layer: int
    peak: float
    low: float
    high: float
    null: float
    untrained: float
    last_layer: int
    last: float
    matched: float
    matched_untrained: float
    verdict: str


def interpretable(values: pd.DataFrame) -> pd.DataFrame:
    """Numbers that can be summed up: finite, and not of a CCA with too few rows."""
    return values[values["value"].notna() & ~values["notes"].fillna("").str.contains("not interpretable")]


def judge(tables: Tables, measure: str = "") -> str:
    """The measure that verdicts go by: as asked, or the first of `JUDGES` that was computed; empty if there is none."""
    there = list(dict.fromkeys(interpretable(tables.values)["measure"]))
    chosen = measure or next((name for name in JUDGES if name in there), there[0] if there else "")
    if chosen and chosen not in there:
        raise InputError(f"there are no values of {chosen}: there are {', '.join(there) or 'none'}")
    return chosen


def verdicts(tables: Tables, measure: str = "") -> tuple[Verdict, ...]:
    """One for every model, pooling and pair."""
    by = judge(tables, measure)
    values = interpretable(tables.values)
    found = []
    for key, rows in _groups(_own(values[values["measure"] == by]), _PAIR):
        model, pooling, source, target = key
        curve, everything = rows.sort_values("layer"), _where(values, _PAIR, key)
        peak = curve.loc[curve["value"].idxmax()]
        random = everything[(everything["measure"] == by) & everything["baseline"].astype(bool)]
        untrained = random[random["layer"] == peak["layer"]]
        best, at_random = _matched(_own(everything)), _matched(everything[everything["baseline"].astype(bool)])
        found.append(
            Verdict(
                model=model,
                pooling=pooling,
                source=source,
                target=target,
                measure=by,
                first=float(curve["value"].iloc[0]) if int(curve["layer"].iloc[0]) == 0 else math.nan,
                peak_layer=int(peak["layer"]),
                peak=float(peak["value"]),
                low=_number(peak["low"]),
                high=_number(peak["high"]),
                null=_number(peak["null"]),
                untrained=_number(untrained["value"].iloc[0]) if len(untrained) else math.nan,
                last_layer=int(curve["layer"].iloc[-1]),
                last=float(curve["value"].iloc[-1]),
                matched=_number(best["value"]) if best is not None else math.nan,
                matched_untrained=_number(at_random["value"]) if at_random is not None else math.nan,
                verdict=_verdict(peak, len(curve), untrained, best, at_random),
            )
        )
    return tuple(found)


_PAIR = ("model", "pooling", "source", "target")


def _verdict(
    peak: pd.Series[Any],
    layers: int,
    untrained: pd.DataFrame,
    best: pd.Series[Any] | None,
    at_random: pd.Series[Any] | None,
) -> str:
    reach = (float(peak["value"]) - _number(peak["low"])) * _widened(layers)
    if not math.isfinite(reach) or not (math.isfinite(_number(peak["null"])) or len(untrained)):
        return UNJUDGED
    floor = float(peak["value"]) - reach
    if floor <= _number(peak["null"]):
        return NOTHING
    if len(untrained) and floor <= _upper(untrained.iloc[0]):
        return UNTRAINED
    if best is None:
        return "aligned"
    if at_random is not None and _number(best["low"]) <= _upper(at_random):
        return UNTRAINED
    matched = float(best["value"])
    return "strongly aligned" if matched >= STRONG else "weakly aligned" if matched < WEAK else "aligned"


def _upper(row: pd.Series[Any]) -> float:
    """The upper end of an interval, or the value where there is none."""
    high = _number(row["high"])
    return high if math.isfinite(high) else float(row["value"])


def _widened(layers: int) -> float:
    """How much wider a 95 % interval is when it must hold for the best of so many layers (Bonferroni)."""
    normal = NormalDist()
    return normal.inv_cdf(1 - 0.025 / layers) / normal.inv_cdf(0.975)


def _matched(rows: pd.DataFrame) -> pd.Series[Any] | None:
    """Retrieval at the layer where most sentences find their translation."""
    for name in RETRIEVAL:
        if len(found := rows[rows["measure"] == name]):
            return found.loc[found["value"].idxmax()]
    return None


def summary(tables: Tables) -> tuple[tuple[str, str], ...]:
    """A heading and a few sentences for every model."""
    found = verdicts(tables)
    result = []
    for (model, pooling), own in _by_model(found):
        parts = [_how_many(own), _curve(tables, model, pooling, own), _retrieval(tables, own), _ranked(own)]
        result.append((label(tables, model, pooling), " ".join(filter(None, parts))))
    return tuple(result)


def label(tables: Tables, model: str, pooling: str) -> str:
    """A model, with its pooling where there are several."""
    several = len(set(tables.values["pooling"])) > 1
    return f"{model} ({pooling})" if several else model


def _by_model(found: Sequence[Verdict]) -> Iterator[tuple[tuple[str, str], list[Verdict]]]:
    for key in dict.fromkeys((v.model, v.pooling) for v in found):
        yield key, [v for v in found if (v.model, v.pooling) == key]


def _how_many(own: Sequence[Verdict]) -> str:
    beyond = _aligned(own)
    n = len(own)
    if all(v.verdict == UNJUDGED for v in own):
        return f"{NAMES.get(own[0].measure, own[0].measure)} has no interval or nothing to be held against: not judged."
    pairs = f"{n} pair{'s' if n > 1 else ''}"
    against = "an untrained network" if any(math.isfinite(v.untrained) for v in own) else "shuffled pairs"
    if not beyond:
        return f"{f'None of {pairs} is' if n > 1 else 'The pair is not'} aligned beyond {against}."
    if len(beyond) < n:
        return f"{len(beyond)} of {pairs} {'are' if len(beyond) > 1 else 'is'} aligned beyond {against}."
    return f"All {pairs} are aligned beyond {against}." if n > 1 else f"The pair is aligned beyond {against}."


def _curve(tables: Tables, model: str, pooling: str, own: Sequence[Verdict]) -> str:
    measure = own[0].measure
    values = _where(_own(interpretable(tables.values)), ("model", "pooling", "measure"), (model, pooling, measure))
    aligned = _aligned(own)
    some = 0 < len(aligned) < len(own)
    mean = _of_pairs(values, aligned if some else own).groupby("layer")["value"].mean()
    peak, first, last = int(mean.idxmax()), int(mean.index[0]), int(mean.index[-1])
    start = f"{mean[first]:.2f} at {'the embeddings' if first == 0 else f'layer {first}'}"
    end = f"{mean[last]:.2f} at the last layer"
    name = NAMES.get(measure, measure) + (", mean of the aligned pairs" if some else "")
    if mean.max() - mean.min() < FLAT:
        return f"Similarity ({name}) is much the same, {mean.mean():.2f}, at every layer."
    if peak == first:
        line = f"Similarity ({name}) is highest, {start}, and {end}."
    elif peak == last and mean[last] - mean[first] < FLAT:
        low = int(mean.idxmin())
        line = f"Similarity ({name}) is {start} and {end}, and lowest, {mean[low]:.2f}, at layer {low}."
    elif peak == last:
        line = f"Similarity ({name}) rises from {start} to {end}."
    else:
        line = f"Similarity ({name}) goes from {start} to {mean[peak]:.2f} at layer {peak} and {end}."
    patterns = tables.patterns
    tested = _where(patterns, ("model", "pooling", "measure", "source"), (model, pooling, measure, ""))
    if len(tested):
        holds = bool(tested["holds"].iloc[0])
        line += (
            " The rise and the fall both hold on sentences that did not choose the peak: first align, then predict."
            if holds
            else " A rise and a fall (first align, then predict) do not hold on sentences that did not choose the peak."
        )
    return line


def _retrieval(tables: Tables, own: Sequence[Verdict]) -> str:
    """The layer at which most sentences find their translation, if a pair is aligned at all."""
    values = _where(_own(interpretable(tables.values)), ("model", "pooling"), (own[0].model, own[0].pooling))
    measure = next((name for name in RETRIEVAL if name in set(values["measure"])), "")
    aligned = _aligned(own)
    if not measure or not aligned:
        return ""
    mean = _of_pairs(values[values["measure"] == measure], aligned).groupby("layer")["value"].mean()
    layer = int(mean.idxmax())
    which = " of the aligned pairs" if len(aligned) < len(own) else ""
    return (
        f"For retrieval take layer {layer}, where {mean.max():.0%} of sentences{which} find their translation by "
        f"{measure}."
    )


def _aligned(own: Sequence[Verdict]) -> list[Verdict]:
    return [v for v in own if v.verdict not in (NOTHING, UNTRAINED, UNJUDGED)]


def _of_pairs(values: pd.DataFrame, wanted: Sequence[Verdict]) -> pd.DataFrame:
    pairs = {(v.source, v.target) for v in wanted}
    return values[[pair in pairs for pair in zip(values["source"], values["target"], strict=True)]]


def _ranked(own: Sequence[Verdict]) -> str:
    """Pairs from best to worst, each with what an untrained network finds; the middle of a long list is left out."""
    if len(own) < 2:
        return ""
    known = sorted((v for v in own if math.isfinite(v.matched)), key=lambda v: -v.matched)
    if not known:
        least = min(own, key=lambda v: v.peak)
        return f"Weakest: {least.source}-{least.target}, {least.peak:.2f} at best."
    beside = any(math.isfinite(v.matched_untrained) for v in known)
    told = [
        f"{_name(v, own)} {v.matched:.0%}"
        + (f" ({v.matched_untrained:.0%})" if math.isfinite(v.matched_untrained) else "")
        for v in known
    ]
    listed = told if len(told) <= LISTED else [*told[: LISTED // 2], "...", *told[-(LISTED // 2) :]]
    untrained = (
        " (in brackets an untrained network's, which knows only what both share in writing: names, numbers, loan words)"
    )
    return f"Sentences that find their translation at best{untrained if beside else ''}: {', '.join(listed)}."


def _name(verdict: Verdict, own: Sequence[Verdict]) -> str:
    """A pair, by its second language where all have the first in common."""
    alone = len({v.source for v in own}) == 1
    return verdict.target if alone else f"{verdict.source}-{verdict.target}"


def cautions(tables: Tables) -> tuple[str, ...]:
    """What to be careful about, each in a sentence."""
    values = tables.values
    own = _own(values)
    found = []
    few = own[own["notes"].fillna("").str.contains("not interpretable")]
    if len(few):
        names = ", ".join(dict.fromkeys(few["measure"]))
        found.append(
            f"{int(few['n'].iloc[0]):,} sentences are too few for {names} at this width: noise alone gives high values "
            "there, so they are drawn but left out of the summary."
        )
    missing = own[own["value"].isna()]
    if len(missing):
        what = "; ".join(
            f"{measure} {len(rows)} times ({_at(tables, rows)}: {rows['notes'].iloc[0]})"
            for measure, rows in missing.groupby("measure", sort=False)
        )
        found.append(f"Some values do not exist: {what}.")
    found += _disagreements(tables)
    centred = _preparation(tables).get("remove_mean")
    for (model, pooling), rows in _groups(_own(tables.geometry), ("model", "pooling")):
        found += _geometry(label(tables, model, pooling), rows, centred=bool(centred))
    differ = tables.config.get("differ")
    if isinstance(differ, Mapping) and (keys := [k for k in differ if k != "runs"]):
        found.append(
            f"These runs were not made alike: they differ in {', '.join(k.replace('_', ' ') for k in keys)} (see "
            "Methods). Numbers of different runs may not be comparable."
        )
    if len(own) and not values["baseline"].astype(bool).any():
        found.append("No untrained network stands beside: names and numbers alone make some sentences similar.")
    return tuple(found)


def _disagreements(tables: Tables) -> Iterator[str]:
    """Similarity indexes that have another shape over layers than the one that verdicts go by."""
    values, by = _own(interpretable(tables.values)), judge(tables)
    for (model, pooling), rows in _groups(values, ("model", "pooling")):
        shapes = {name: part.groupby("layer")["value"].mean() for name, part in _groups(rows, ("measure",))}
        shapes = {name[0]: curve for name, curve in shapes.items() if name[0] not in RETRIEVAL}
        if by not in shapes or shapes[by].idxmax() == shapes[by].index[0]:
            continue
        other = [
            f"{NAMES.get(name, name)} is highest at the embeddings ({curve.iloc[0]:.2f}; last {curve.iloc[-1]:.2f})"
            for name, curve in shapes.items()
            if curve.idxmax() == curve.index[0] == 0 and curve.max() - curve.min() >= FLAT
        ]
        if other:
            yield (
                f"{label(tables, model, pooling)}: not all measures agree with {NAMES.get(by, by)}: "
                f"{'; '.join(other)}. They ask other questions: see interlingua explain."
            )


def _preparation(tables: Tables) -> Mapping[str, Any]:
    found = tables.config.get("preparation")
    return found if isinstance(found, Mapping) else {}


def _at(tables: Tables, rows: pd.DataFrame) -> str:
    """Which models and layers some rows are of."""
    names = dict.fromkeys(label(tables, m, p) for m, p in zip(rows["model"], rows["pooling"], strict=True))
    return f"{', '.join(names)}, layer {_runs([int(v) for v in sorted(set(rows['layer']))])}"


def _own(frame: pd.DataFrame) -> pd.DataFrame:
    """Without the untrained networks."""
    return frame[~frame["baseline"].astype(bool)]


def _geometry(name: str, rows: pd.DataFrame, *, centred: bool) -> Iterator[str]:
    by_layer = rows.groupby("layer")
    narrow = by_layer["anisotropy"].mean()
    if len(high := narrow[narrow > ANISOTROPIC]):
        layers = f"layer{'s' if len(high) > 1 else ''} {_runs([int(v) for v in high.index])}"
        then = "the mean was removed before measuring" if centred else "look at matching after the mean is removed"
        alike = "are all alike" if high.max() > ALIKE else "differ less than they seem to"
        yield (
            f"{name}: vectors of {layers} point much the same way (average cosine up to {high.max():.2f}), so cosines "
            f"there {alike}; {then}."
        )
    heavy = by_layer["outlier_share"].mean()
    if len(high := heavy[heavy > OUTLYING]):
        layer = int(high.idxmax())
        cells = rows[rows["layer"] == layer]["outliers"]
        names = list(dict.fromkeys(n for text in cells for n in str(text).split()))
        which = f"neuron{'s' if len(names) > 1 else ''} {', '.join(names)}"
        yield (
            f"{name}: {'a few outlier neurons carry' if len(names) > 1 else 'an outlier neuron carries'} up to "
            f"{high.max():.0%} of the squared length of vectors (layer {layer}: {which}); CKA and cosines follow "
            f"{'them' if len(names) > 1 else 'it'}."
        )


def _runs(numbers: Sequence[int]) -> str:
    """1, 2, 3, 7 as 1-3, 7."""
    parts: list[list[int]] = []
    for n in sorted(numbers):
        if parts and n == parts[-1][-1] + 1:
            parts[-1].append(n)
        else:
            parts.append([n])
    return ", ".join(str(p[0]) if len(p) == 1 else f"{p[0]}-{p[-1]}" for p in parts)


def _groups(frame: pd.DataFrame, columns: Sequence[str]) -> Iterator[tuple[Any, pd.DataFrame]]:
    yield from frame.groupby(list(columns), sort=False)


def _where(frame: pd.DataFrame, columns: Sequence[str], key: Sequence[Any]) -> pd.DataFrame:
    for column, value in zip(columns, key, strict=True):
        frame = frame[frame[column] == value]
    return frame


def _number(value: Any) -> float:
    """A cell as a number; NaN where it is empty."""
    return math.nan if value is None else float(value)
