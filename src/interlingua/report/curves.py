"""Figures with layers from left to right: curves of one pair, the spread over pairs, agreement of measures, geometry.

A figure takes a table and returns a chart; what it aggregates is said in its specification, so that the same
specification can be given other rows. The layer that is marked and the model in focus are parameters of the chart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlingua.report.rows import (
    Pair,
    beside_random,
    caption,
    chosen,
    distinct,
    of_baseline,
    of_model,
    of_pair,
    pair_name,
    records,
    with_series,
)
from interlingua.report.theme import MARKED, NULL, RANDOM, VALUE, Figure, Rows, alt, themed

if TYPE_CHECKING:
    import pandas as pd

# The columns that charts of values are drawn from. Orders are given as columns or domains, never as lists to sort by:
# Vega-Lite writes those into expressions, and names may hold what no expression does.
CURVE = ("series", "pair", "layer", "value", "low", "high", "null", "random", "n", "notes", "signature")
# More pairs than this are not drawn side by side.
PANELS = 12
# A measure without an interval is drawn among others only if it moves at least this far over layers.
MOVES = 0.05
# Scaled to 0..1 over layers, measures disagree at a layer where one is this high and another this low.
HIGH, LOW = 2 / 3, 1 / 3
GEOMETRY = {
    "anisotropy": "anisotropy (mean cosine)",
    "effective_rank": "effective rank",
    "outlier_share": "share of length in outlier neurons",
    "language_share": "share of variance between languages",
}
GEOMETRY_MEANS = {
    "anisotropy": "Mean cosine of two sentences of a language. Near 1 all vectors point one way: cosines tell little.",
    "effective_rank": "How many directions the variance is spread over: the exponential of the entropy of its shares.",
    "outlier_share": "Share of the squared length in neurons far larger than the rest: CKA and cosines follow them.",
    "language_share": "Share of all variance that lies between the means of languages. High: languages lie apart.",
}
LAYER_AXIS = {"tickMinStep": 1, "format": "d", "labelOverlap": True}


def layer_curves(
    values: pd.DataFrame, measure: str, pair: Pair | None = None, *, layer: int | None = None, focus: str = ""
) -> Figure:
    """A measure by layer for each model: its interval, what shuffled pairs give, what an untrained network gives.

    One pair, or a small panel for each. With a model in `focus`, only that one has its band and its two other lines.
    """
    all_rows = beside_random(values)
    found = of_pair(chosen(all_rows, measure=measure), pair)
    title = f"{measure} by layer" + (f", {pair_name(*pair)}" if pair else "")
    if not len(found):
        return nothing(title, f"{measure} was not measured for " + (pair_name(*pair) if pair else "any pair") + ".")
    pairs = distinct(found["pair"])
    shown = found[found["pair"].isin(pairs[:PANELS])] if pair is None else found
    explained = "Band: 95% interval. Dashed: pairs shuffled. Dotted: the network untrained, with random weights."
    notes = [caption(shown), explained] + (
        [f"The first {PANELS} of {len(pairs)} pairs."] if len(shown) < len(found) else []
    )
    ordered = shown.assign(order=[pairs.index(each) for each in shown["pair"]]).sort_values(["series", "layer"])
    data = Rows(records(ordered, (*CURVE, "order")))
    chart = _curve_layers(
        alt.Chart(data), measure, distinct(all_rows["series"]), panels=pair is None and len(pairs) > 1
    )
    marks = [alt.param("marked_layer", value=-1 if layer is None else layer), alt.param("focus", value=focus)]
    heading = alt.TitleParams(title, subtitle=notes)
    if pair is not None or len(pairs) == 1:
        return themed(chart.add_params(*marks).properties(title=heading))
    panels = (
        chart.properties(width=210, height=130)
        .facet(alt.Facet("pair:N", sort=alt.EncodingSortField("order", op="min")), columns=3)
        .resolve_axis(x="independent")
    )
    return themed(panels.add_params(*marks).properties(title=heading))


def _curve_layers(base: Any, measure: str, series: list[str], *, panels: bool) -> Any:
    x = alt.X("layer:Q", title="layer", axis=alt.Axis(**LAYER_AXIS), scale=alt.Scale(nice=False, padding=6))
    colour = alt.Color("series:N", title="model", scale=alt.Scale(domain=series), legend=_legend(series, panels=panels))
    focused = base.transform_filter("focus === '' || datum.series === focus")
    kinds = alt.Scale(domain=[VALUE, NULL, RANDOM], range=[[1, 0], [6, 4], [1.5, 3.5]])

    def line(where: Any, column: str, kind: str, **look: Any) -> Any:
        dash = alt.StrokeDash(
            "kind:N", scale=kinds, title=None, legend=alt.Legend(orient="bottom", symbolType="stroke")
        )
        drawn = where.transform_calculate(kind=f"'{kind}'").mark_line(**look)
        return drawn.encode(x, alt.Y(f"{column}:Q", title=measure, scale=alt.Scale(zero=True)), colour, dash)

    band = focused.mark_area(tooltip=None).encode(x, alt.Y("low:Q", title=measure), alt.Y2("high:Q"), colour)
    points = base.mark_point(size=16 if panels else 44).encode(
        x, alt.Y("value:Q", title=measure), colour, tooltip=_tooltips("value")
    )
    rule = _marked(base, x)
    return alt.layer(
        rule,
        band,
        line(focused, "null", NULL, strokeWidth=1.5, opacity=0.85),
        line(focused, "random", RANDOM, strokeWidth=1.5, opacity=0.85),
        line(base, "value", VALUE),
        points,
    )


def _tooltips(column: str) -> list[Any]:
    number = {"type": "quantitative", "format": ".4f"}
    return [
        alt.Tooltip("series:N", title="model"),
        alt.Tooltip("pair:N", title="pair"),
        alt.Tooltip("layer:Q", title="layer", format="d"),
        alt.Tooltip(field=column, title="value", **number),
        alt.Tooltip(field="low", title="95% interval from", **number),
        alt.Tooltip(field="high", title="95% interval to", **number),
        alt.Tooltip(field="null", title=NULL, **number),
        alt.Tooltip(field="random", title=RANDOM, **number),
        alt.Tooltip("n:Q", title="n", format=",d"),
        alt.Tooltip("notes:N", title="note"),
        alt.Tooltip("signature:N", title="signature"),
    ]


def _marked(base: Any, x: Any) -> Any:
    """A line at the marked layer, drawn once."""
    at = base.transform_filter("datum.layer === marked_layer").transform_aggregate(rows="count()", groupby=["layer"])
    return at.mark_rule(style=MARKED).encode(x)


def _legend(series: list[str], *, panels: bool = False) -> Any:
    """Above the chart, in as many columns as fit."""
    fit: Any = 3 if panels else alt.ExprRef("max(1, floor(width / 140))")
    limit: Any = 180 if panels else alt.ExprRef("max(120, width / max(1, floor(width / 140)) - 24)")
    return alt.Legend(orient="top", columns=fit, title=None, labelLimit=limit) if len(series) > 1 else None


def spread(values: pd.DataFrame, measure: str, *, layer: int | None = None, focus: str = "") -> Figure:
    """The mean of a measure over pairs by layer, and how far pairs lie apart: quartiles and extremes.

    With a model in `focus`, only that one has its bands and its two other lines.
    """
    all_rows = beside_random(values)
    found = chosen(all_rows, measure=measure)
    title = f"{measure} over all pairs"
    if not len(found):
        return nothing(title, f"{measure} was not measured.")
    series = distinct(all_rows["series"])
    explained = "Line: mean over pairs. Bands: middle half of the pairs, and all. Dashed: shuffled. Dotted: untrained."
    x = alt.X("layer:Q", title="layer", axis=alt.Axis(**LAYER_AXIS), scale=alt.Scale(nice=False, padding=6))
    colour = alt.Color("series:N", title="model", scale=alt.Scale(domain=series), legend=_legend(series))
    base = alt.Chart(Rows(records(found, CURVE)))
    lined = base.transform_aggregate(
        mean="mean(value)", least="min(value)", most="max(value)", low="q1(value)", high="q3(value)", pairs="count()",
        random="mean(random)", null="mean(null)", groupby=["series", "layer"],
    )  # fmt: skip
    focused = lined.transform_filter("focus === '' || datum.series === focus")
    tips = [
        alt.Tooltip("series:N", title="model"),
        alt.Tooltip("layer:Q", title="layer", format="d"),
        alt.Tooltip("mean:Q", title="mean over pairs", format=".4f"),
        alt.Tooltip("least:Q", title="lowest pair", format=".4f"),
        alt.Tooltip("most:Q", title="highest pair", format=".4f"),
        alt.Tooltip("null:Q", title=NULL, format=".4f"),
        alt.Tooltip("random:Q", title=RANDOM, format=".4f"),
        alt.Tooltip("pairs:Q", title="pairs", format="d"),
    ]
    y = alt.Y("mean:Q", title=measure, scale=alt.Scale(zero=True))
    chart = alt.layer(
        _marked(base, x),
        focused.mark_area(opacity=0.1).encode(x, alt.Y("least:Q", title=measure), alt.Y2("most:Q"), colour),
        focused.mark_area(opacity=0.2).encode(x, alt.Y("low:Q", title=measure), alt.Y2("high:Q"), colour),
        focused.mark_line(strokeDash=[6, 4], strokeWidth=1.3, opacity=0.8).encode(x, alt.Y("null:Q"), colour),
        focused.mark_line(strokeDash=[1.5, 3.5], strokeWidth=1.5, opacity=0.85).encode(x, alt.Y("random:Q"), colour),
        lined.mark_line().encode(x, y, colour),
        lined.mark_point(size=40).encode(x, y, colour, tooltip=tips),
    ).add_params(alt.param("marked_layer", value=-1 if layer is None else layer), alt.param("focus", value=focus))
    return themed(chart.properties(title=alt.TitleParams(title, subtitle=[caption(found), explained])))


def agreement(
    values: pd.DataFrame, model: str | None = None, pair: Pair | None = None, *, layer: int | None = None
) -> Figure:
    """Do measures rise and fall together? Each is scaled to 0..1 over layers; layers where they disagree are marked."""
    found = of_pair(of_model(beside_random(values), model), pair)
    title = "Do the measures agree?"
    if not len(found):
        return nothing(title, "Nothing was measured for this model and pair.")
    explained = [
        "Each measure is scaled to run from 0 (its lowest layer) to 1 (its highest). Left out: one that changes less",
        f"over layers than its interval is wide (without one, less than {MOVES}), or that needs more sentences.",
        "Shaded: layers where they disagree, one in its top third and another in its bottom third.",
    ]
    rows = records(found, ("measure", *CURVE))
    judged = (
        alt.Chart(Rows(rows))
        .transform_calculate(told="indexof(datum.notes, 'not interpretable') < 0 ? datum.value : null")
        .transform_aggregate(value="mean(told)", low="mean(low)", high="mean(high)", groupby=["measure", "layer"])
        .transform_calculate(width=f"isValid(datum.low) ? datum.high - datum.low : {MOVES}")
        .transform_joinaggregate(least="min(value)", most="max(value)", unsure="mean(width)", groupby=["measure"])
        .transform_calculate(moves="isValid(datum.value) && datum.most - datum.least > datum.unsure ? 1 : 0")
    )
    scaled = judged.transform_filter("datum.moves === 1").transform_calculate(
        scaled="(datum.value - datum.least) / (datum.most - datum.least)"
    )
    apart = (
        scaled.transform_aggregate(top="max(scaled)", bottom="min(scaled)", groupby=["layer"])
        .transform_filter(f"datum.top >= {HIGH:.6f} && datum.bottom <= {LOW:.6f}")
        .transform_calculate(start="datum.layer - 0.5", end="datum.layer + 0.5")
    )
    x = alt.X("layer:Q", title="layer", axis=alt.Axis(**LAYER_AXIS), scale=alt.Scale(nice=False, padding=6))
    y = alt.Y("scaled:Q", title="scaled to 0..1", scale=alt.Scale(domain=[0, 1]))
    measures = distinct(found["measure"])
    legend = _legend(measures)
    colour = alt.Color("measure:N", title="measure", scale=alt.Scale(domain=measures), legend=legend)
    shape = alt.Shape("measure:N", title="measure", scale=alt.Scale(domain=measures), legend=legend)
    tips = [
        alt.Tooltip("measure:N", title="measure"),
        alt.Tooltip("layer:Q", title="layer", format="d"),
        alt.Tooltip("value:Q", title="value", format=".4f"),
        alt.Tooltip("scaled:Q", title="scaled", format=".2f"),
    ]
    chart = alt.layer(
        apart.mark_rect(opacity=0.16, color="#E69F00").encode(alt.X("start:Q", title="layer"), alt.X2("end:Q")),
        _marked(scaled, x),
        scaled.mark_line().encode(x, y, colour),
        scaled.mark_point(size=36).encode(x, y, colour, shape, tooltip=tips),
        _none_left(judged, "No measure moves enough to be drawn."),
    ).add_params(alt.param("marked_layer", value=-1 if layer is None else layer))
    which = f"{model or 'all models'}, {pair_name(*pair) if pair else 'mean over pairs'}"
    said = [f"{which} · {caption(found.assign(notes=None))}", *explained]
    return themed(chart.properties(title=alt.TitleParams(title, subtitle=said)))


def _none_left(base: Any, why: str) -> Any:
    """Words in the middle of a chart none of whose measures moves."""
    said = (
        base.transform_aggregate(moving="sum(moves)")
        .transform_filter("datum.moving === 0")
        .transform_calculate(why=f"'{why}'")
    )
    middle = {"x": alt.value(alt.ExprRef("width / 2")), "y": alt.value(alt.ExprRef("height / 2"))}
    return said.mark_text(fontSize=12, tooltip=None).encode(text="why:N", **middle)


def geometry_curve(geometry: pd.DataFrame, quantity: str, model: str | None = None) -> Figure:
    """One property of the space by layer: a line for each language, the untrained network dotted."""
    title = GEOMETRY[quantity]
    rows = _geometry_rows(geometry, model)
    if not any(row[quantity] is not None for row in rows):
        return nothing(title, "It was not measured.")
    return themed(
        _geometry_chart(rows, quantity).properties(
            title=alt.TitleParams(title[:1].upper() + title[1:], subtitle=GEOMETRY_MEANS[quantity])
        )
    )


def geometry_panel(geometry: pd.DataFrame, model: str | None = None) -> Figure:
    """How the vectors lie in their space, by layer: four properties side by side."""
    rows = _geometry_rows(geometry, model)
    shown = [q for q in GEOMETRY if any(row[q] is not None for row in rows)]
    title = "Geometry of the vectors"
    if not shown:
        return nothing(title, "It was not measured.")
    panels = [_geometry_chart(rows, q, titled=True).properties(width=300, height=150) for q in shown]
    notes = [f"{model}. " if model else "", "A line for each language; dotted: untrained, mean over languages."]
    return themed(
        alt.concat(*panels, columns=2, spacing={"row": 36, "column": 30}).properties(
            title=alt.TitleParams(title, subtitle="".join(notes))
        )
    )


def _geometry_rows(geometry: pd.DataFrame, model: str | None) -> list[dict[str, Any]]:
    found = of_model(with_series(geometry), model)
    found = found.assign(baseline=[bool(b) for b in of_baseline(found)])
    return records(found, ("series", "lang", "layer", "baseline", *GEOMETRY))


def _geometry_chart(rows: list[dict[str, Any]], quantity: str, *, titled: bool = False) -> Any:
    base = alt.Chart(Rows(rows))
    x = alt.X("layer:Q", title="layer", axis=alt.Axis(**LAYER_AXIS), scale=alt.Scale(nice=False, padding=6))
    above = alt.Axis(titleAngle=0, titleAlign="left", titleAnchor="start", titleX=0, titleY=-16, titleFontWeight=600)
    title = GEOMETRY[quantity] if titled else None
    y = alt.Y(f"{quantity}:Q", title=title, scale=alt.Scale(zero=True), axis=above)
    # one number for the whole layer: a single line
    by = [] if quantity == "language_share" else [alt.Detail("lang:N")]
    tips = [
        alt.Tooltip("lang:N", title="language"),
        alt.Tooltip("layer:Q", title="layer", format="d"),
        alt.Tooltip(f"{quantity}:Q", title=GEOMETRY[quantity], format=".4g"),
    ]
    measured = base.transform_filter("!datum.baseline")
    untrained = base.transform_filter("datum.baseline").transform_aggregate(
        **{f"mean_{quantity}": f"mean({quantity})"}, groupby=["series", "layer"]
    )
    single = measured.transform_aggregate(**{quantity: f"mean({quantity})"}, groupby=["series", "layer"])
    lines = (measured if by else single).mark_line(strokeWidth=1.3, opacity=0.55)
    # the languages that end highest and lowest are named where they end, above and below
    last = measured.transform_joinaggregate(end="max(layer)", groupby=["series"]).transform_filter(
        f"datum.layer === datum.end && isValid(datum.{quantity})"
    )
    outer = last.transform_joinaggregate(most=f"max({quantity})", least=f"min({quantity})", groupby=["series"])
    ends = [
        outer.transform_filter(f"datum.most > datum.least && datum.{quantity} === datum.{which}")
        .mark_text(align="right", fontSize=10, tooltip=None, dy=dy)
        .encode(x, y, alt.Text("lang:N"))
        for which, dy in (("most", -8), ("least", 12))
    ]
    return alt.layer(
        _marked(base, x),
        lines.encode(x, y, *by, alt.Color("series:N", title="model")),
        (measured if by else single).mark_point(size=18).encode(x, y, alt.Color("series:N"), tooltip=tips),
        untrained.mark_line(strokeDash=[1.5, 3.5], strokeWidth=1.8).encode(
            x, alt.Y(f"mean_{quantity}:Q", title=title), alt.Color("series:N", title="model", legend=None)
        ),
        *(ends if by else []),
    ).add_params(alt.param("marked_layer", value=-1))


def nothing(title: str, why: str) -> Figure:
    """A chart that says why there is none."""
    said = alt.Chart(Rows([{"why": why}])).mark_text(align="left", x=0, y=16)
    return themed(said.encode(alt.Text("why:N")).properties(title=title, width=420, height=32))
