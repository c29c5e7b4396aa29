"""Figures of one layer: how single neurons correlate, and how well sentences find their translations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlingua.report.curves import nothing
from interlingua.report.rows import (
    Pair,
    beside_random,
    caption,
    chosen,
    distinct,
    of_model,
    of_pair,
    pair_name,
    records,
    with_series,
)
from interlingua.report.theme import MARKED, Figure, Rows, alt, themed

if TYPE_CHECKING:
    import pandas as pd

# Measures of retrieval: the share of sentences that find their translation.
RETRIEVAL = ("matching", "csls", "margin")


def neuron_histogram(histograms: pd.DataFrame, layer: int, pair: Pair, model: str | None = None) -> Figure:
    """How many neurons correlate how much between two languages, at one layer."""
    found = of_pair(of_model(chosen(histograms, layer=layer), model), pair)
    title = f"Neurons at layer {layer}, {pair_name(*pair)}"
    if not len(found):
        return nothing(title, f"Neurons were not counted at layer {layer}.")
    total = int(found["neurons"].sum())
    base = alt.Chart(Rows(records(found, ("from", "to", "neurons"))))
    x = alt.X("from:Q", title="correlation between the two languages", scale=alt.Scale(nice=False))
    bars = base.mark_bar(binSpacing=1).encode(
        x.bin("binned"),
        alt.X2("to:Q"),
        alt.Y("neurons:Q", title="neurons", axis=alt.Axis(tickMinStep=1)),
        tooltip=[
            alt.Tooltip("from:Q", title="correlation from", format=".2f"),
            alt.Tooltip("to:Q", title="to", format=".2f"),
            alt.Tooltip("neurons:Q", title="neurons", format=",d"),
        ],
    )
    zero = base.transform_aggregate(least="min(from)").transform_calculate(zero="0").mark_rule(style=MARKED)
    said = [f"{model} · {total:,} neurons" if model else f"{total:,} neurons", "Line: no correlation."]
    chart = alt.layer(bars, zero.encode(alt.X("zero:Q")))
    return themed(chart.properties(title=alt.TitleParams(title, subtitle=said)))


def neuron_ranking(
    neurons: pd.DataFrame, layer: int, pair: Pair, model: str | None = None, *, most: int = 40
) -> Figure:
    """The neurons that correlate most and least between two languages, whatever the sign, at one layer."""
    found = of_pair(of_model(chosen(neurons, layer=layer), model), pair)
    title = f"Extreme neurons at layer {layer}, {pair_name(*pair)}"
    if not len(found):
        return nothing(title, f"Neurons were not ranked at layer {layer}.")
    ordered = found.sort_values("correlation", ascending=False, key=abs)
    ends = ordered if len(ordered) <= most else ordered.iloc[[*range(most // 2), *range(-(most // 2), 0)]]
    chart = (
        alt.Chart(Rows(records(ends, ("neuron", "correlation"))))
        .mark_bar()
        .encode(
            alt.X("neuron:N", title="neuron", sort=None, axis=alt.Axis(labelAngle=-90)),
            alt.Y("correlation:Q", title="correlation"),
            tooltip=[alt.Tooltip("neuron:N"), alt.Tooltip("correlation:Q", format=".4f")],
        )
    )
    said = [f"{model} · the {len(ends)} most extreme" if model else f"The {len(ends)} most extreme"]
    return themed(chart.properties(title=alt.TitleParams(title, subtitle=said), width=alt.Step(13), height=180))


def matching_bars(values: pd.DataFrame, layer: int, model: str | None = None) -> Figure:
    """The share of sentences that find their translation, pair by pair at one layer, the best first."""
    all_rows = of_model(chosen(beside_random(values), layer=layer), model)
    found = all_rows[all_rows["measure"].isin(RETRIEVAL)]
    title = f"Matching at layer {layer}"
    if not len(found):
        return nothing(title, f"No retrieval was measured at layer {layer}.")
    columns = ("series", "pair", "measure", "layer", "value", "low", "high", "null", "random", "n", "signature")
    ordered = found.sort_values("value", ascending=False)
    base = alt.Chart(Rows(records(ordered, columns)))
    y = alt.Y("pair:N", title=None, scale=alt.Scale(domain=distinct(ordered["pair"])))
    by = alt.YOffset("measure:N", sort=list(RETRIEVAL))
    colour = alt.Color("measure:N", title=None, sort=list(RETRIEVAL), legend=alt.Legend(orient="top"))
    tips = [
        alt.Tooltip("measure:N"),
        *(alt.Tooltip(f"{c}:Q", format=".4f") for c in ("value", "low", "high", "null", "random")),
        alt.Tooltip("n:Q", format=",d"),
        alt.Tooltip("signature:N"),
    ]
    chart = alt.layer(
        base.mark_bar(opacity=0.85).encode(
            alt.X("value:Q", title="share matched", axis=alt.Axis(format="%", tickCount=5)), y, by, colour, tooltip=tips
        ),
        base.mark_rule(strokeWidth=1.5).encode(alt.X("low:Q", title="share matched"), alt.X2("high:Q"), y, by),
        base.mark_tick(thickness=2, style=MARKED).encode(alt.X("null:Q", title="share matched"), y, by),
    )
    explained = "Line on a bar: 95% interval. Tick: pairs shuffled (chance)."
    said = [f"{model} · {caption(found)}" if model else caption(found), explained]
    height = 14 * len(distinct(found["pair"])) * max(1, len(distinct(found["measure"]))) + 20
    return themed(chart.properties(title=alt.TitleParams(title, subtitle=said), height=min(height, 640)))


def prepared_bars(prepared: pd.DataFrame, layer: int, model: str | None = None, pair: Pair | None = None) -> Figure:
    """Matching after preparations of the vectors: what would help retrieval."""
    found = of_pair(of_model(chosen(with_series(prepared), layer=layer), model), pair)
    title = f"What would help retrieval at layer {layer}" + (f", {pair_name(*pair)}" if pair else "")
    if not len(found):
        return nothing(title, f"No preparation was tried at layer {layer}.")
    rows = records(found, ("series", "layer", "preparation", "value", "low", "high"))
    base = alt.Chart(Rows(rows)).transform_aggregate(
        value="mean(value)", low="mean(low)", high="mean(high)", groupby=["preparation"]
    )
    steps = alt.Scale(domain=distinct(found["preparation"]))
    y = alt.Y("preparation:N", title=None, scale=steps, axis=alt.Axis(labelLimit=220))
    tips = [alt.Tooltip("preparation:N"), *(alt.Tooltip(f"{c}:Q", format=".4f") for c in ("value", "low", "high"))]
    chart = alt.layer(
        base.mark_bar(opacity=0.85).encode(
            alt.X("value:Q", title="share matched", axis=alt.Axis(format="%", tickCount=5)), y, tooltip=tips
        ),
        base.mark_rule(strokeWidth=1.5).encode(alt.X("low:Q", title="share matched"), alt.X2("high:Q"), y),
    )
    said = [*([model] if model else []), "Line on a bar: 95% interval" + ("." if pair else ", mean over pairs.")]
    height = 26 * len(distinct(found["preparation"])) + 10
    return themed(chart.properties(title=alt.TitleParams(title, subtitle=said), height=height))
