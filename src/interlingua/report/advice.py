"""What to do with a model, from what was measured: its layer, its pooling, which languages to be wary of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from interlingua.errors import InputError
from interlingua.report.tables import Tables
from interlingua.report.words import NOTHING, RETRIEVAL, UNJUDGED, UNTRAINED, WEAK, interpretable, verdicts

if TYPE_CHECKING:
    import pandas as pd

PLAIN = "as they are"


@dataclass(frozen=True, slots=True)
class Advice:
    """For one model: each sentence says what to do, and the numbers behind it."""

    model: str
    pooling: str
    layer: int
    measure: str
    value: float
    low: float
    high: float
    as_good: tuple[int, ...]
    weakest: tuple[tuple[str, str, float], ...]
    preparation: str
    gain: float
    sentences: tuple[str, ...]


def advice(tables: Tables) -> tuple[Advice, ...]:
    """One for every model, with its best pooling."""
    values = interpretable(tables.values)
    values = values[~values["baseline"].astype(bool)]
    measure = next((name for name in RETRIEVAL if name in set(values["measure"])), "")
    if not measure:
        raise InputError("advice on retrieval takes matching, csls or margin: compare with --measures matching too")
    values = values[values["measure"] == measure]
    return tuple(_for_model(tables, rows, measure) for _, rows in values.groupby("model", sort=False))


def _for_model(tables: Tables, rows: pd.DataFrame, measure: str) -> Advice:
    model = str(rows["model"].iloc[0])
    means = rows.groupby(["pooling", "layer"])[["value", "low", "high"]].mean()
    pooling, layer = means["value"].idxmax()
    best = means.loc[(pooling, layer)]
    curve = means.loc[pooling]
    as_good = tuple(int(at) for at in curve.index[curve["value"] >= best["low"]] if at != layer)
    pairs = rows[(rows["pooling"] == pooling) & (rows["layer"] == layer)].sort_values("value")
    weakest = tuple((str(r.source), str(r.target), float(r.value)) for r in pairs.head(3).itertuples())
    step, gain = _helping(tables.prepared, model, str(pooling), int(layer))
    over = f", the mean of {len(pairs)} pairs" if len(pairs) > 1 else ""
    sentences = [
        f"For retrieval take layer {layer} with {pooling} pooling: {best['value']:.1%} of sentences find their "
        f"translation by {measure} ({best['low']:.1%} to {best['high']:.1%}{over})."
    ]
    if as_good:
        several = f"Layers {', '.join(map(str, as_good))} are" if len(as_good) > 1 else f"Layer {as_good[0]} is"
        sentences.append(f"{several} not worse within that interval.")
    sentences += _on_poolings(means, str(pooling))
    if len(pairs) > 1:
        told = ", ".join(f"{source}-{target} {value:.1%}" for source, target, value in weakest)
        sentences.append(f"Expect least of {told}.")
        if any(value < WEAK for _, _, value in weakest):
            sentences.append(f"Below {WEAK:.0%} little will be found.")
    if _beyond(tables, model, str(pooling)) == 0:
        sentences = [
            "No pair is aligned beyond chance or an untrained network: not a model for retrieval. Its best would be "
            f"layer {layer} with {pooling} pooling, where {best['value']:.1%} of sentences find their translation by "
            f"{measure}."
        ]
    sentences.append(_as_run(tables))
    sentences.append(_on_preparation(step, gain, bool(len(tables.prepared))))
    return Advice(
        model, str(pooling), int(layer), measure, float(best["value"]), float(best["low"]), float(best["high"]),
        as_good, weakest, step, gain, tuple(filter(None, sentences)),
    )  # fmt: skip


def _beyond(tables: Tables, model: str, pooling: str) -> int:
    """How many pairs are aligned beyond chance and an untrained network; -1 where that was not judged."""
    own = [v for v in verdicts(tables) if (v.model, v.pooling) == (model, pooling)]
    if all(v.verdict == UNJUDGED for v in own):
        return -1
    return sum(v.verdict not in (NOTHING, UNTRAINED, UNJUDGED) for v in own)


def _on_poolings(means: pd.DataFrame, best: str) -> list[str]:
    others = {str(name): rows["value"].max() for name, rows in means.groupby(level="pooling") if name != best}
    told = ", ".join(f"{name} {value:.1%}" for name, value in others.items())
    return [f"Other poolings at their best layer: {told}."] if others else []


def _helping(prepared: pd.DataFrame, model: str, pooling: str, layer: int) -> tuple[str, float]:
    """The preparation that raises matching most at a layer, over pairs; and by how much."""
    here = prepared[(prepared["model"] == model) & (prepared["pooling"] == pooling) & (prepared["layer"] == layer)]
    means = here.groupby("preparation", sort=False)[["value", "low", "high"]].mean()
    if PLAIN not in means.index:
        return "", 0.0
    plain, best = means.loc[PLAIN], str(means["value"].idxmax())
    # A gain inside the interval is none.
    gain = float(means.loc[best, "value"] - plain["value"])
    return (best, gain) if means.loc[best, "value"] > plain["high"] else (PLAIN, 0.0)


def _as_run(tables: Tables) -> str:
    """What the run itself did to the vectors, which its numbers presuppose."""
    asked = tables.config.get("preparation")
    done = [name for name, value in asked.items() if value] if isinstance(asked, Mapping) else []
    shown = ", ".join(name.replace("_", " ") for name in done)
    return f"These numbers are of vectors prepared as the run was asked to ({shown}): do the same." if done else ""


def _on_preparation(step: str, gain: float, tried: bool) -> str:
    if not tried or not step:
        return ""
    if step == PLAIN:
        return "Removing the mean or top directions of each language, or standardising neurons, does not help there."
    return f"With {step}, {100 * gain:.1f} more of a hundred sentences find their translation there: do that first."
