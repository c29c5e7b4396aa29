"""Heat maps: language by language, pair by layer, layer by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    symmetric,
)
from interlingua.report.theme import NULL, RANDOM, SEQUENTIAL, Figure, Rows, alt, themed

if TYPE_CHECKING:
    import pandas as pd

# The columns that maps of values are drawn from.
CELL = ("series", "pair", "source", "target", "layer", "value", "low", "high", "null", "random", "n", "signature")
# Cells are not written into when there are more rows than this.
WRITTEN = 12


def language_matrix(
    values: pd.DataFrame, measure: str, layer: int, model: str | None = None, *, mark: Pair | None = None
) -> Figure:
    """A measure for every pair of languages at one layer. Measures that are symmetric fill both halves."""
    found = of_model(chosen(beside_random(values), measure=measure, layer=layer), model)
    title = f"{measure} at layer {layer}"
    if not len(found):
        return nothing(title, f"{measure} was not measured at layer {layer}.")
    rows = records(found, CELL)
    # compared with one language only, a row of cells says all
    one_source = len({r["source"] for r in rows}) == 1 or len({r["target"] for r in rows}) == 1
    if symmetric(measure) and not one_source:
        rows += [{**row, "source": row["target"], "target": row["source"]} for row in rows]
    tags = distinct([*found["source"], *found["target"]])
    across, down = ([tag for tag in tags if tag in {r[side] for r in rows}] for side in ("target", "source"))
    encoded = _cells(rows, ("target:N", across), ("source:N", down), measure=measure)
    size = 34 * max(2, len(across)), 34 * len(down)
    marks = alt.param("marked_pair", value=pair_name(*mark) if mark else "")
    said = [f"{model} · {caption(found)}" if model else caption(found)]
    return themed(
        encoded.add_params(marks).properties(title=alt.TitleParams(title, subtitle=said), width=size[0], height=size[1])
    )


def pair_map(values: pd.DataFrame, measure: str, model: str | None = None, *, mark: Pair | None = None) -> Figure:
    """A measure for every pair at every layer: where each pair is aligned, and which pairs are weak."""
    found = of_model(chosen(beside_random(values), measure=measure), model)
    title = f"{measure} by pair and layer"
    if not len(found):
        return nothing(title, f"{measure} was not measured.")
    means = found.groupby("pair")["value"].mean().sort_values(ascending=False)
    tags = [*means.index, *(p for p in distinct(found["pair"]) if p not in means.index)]
    chart = _cells(records(found, CELL), ("layer:O", None), ("pair:N", tags), measure=measure, written=False)
    marks = alt.param("marked_pair", value=pair_name(*mark) if mark else "")
    said = [f"{model} · {caption(found)}" if model else caption(found), "Pairs from the highest mean to the lowest."]
    return themed(
        chart.add_params(marks).properties(
            title=alt.TitleParams(title, subtitle=said), width=420, height=max(60, min(22 * len(tags), 560))
        )
    )


def layer_matrix(
    layers: pd.DataFrame, measure: str | None = None, model: str | None = None, pair: Pair | None = None
) -> Figure:
    """Every layer of one language against every layer of another."""
    found = of_pair(of_model(chosen(layers, measure=measure), model), pair)
    title = "Layer by layer" + (f", {pair_name(*pair)}" if pair else "")
    if not len(found):
        return nothing(title, "Layers were not compared with one another.")
    source, target = pair or (distinct(found["source"])[0], distinct(found["target"])[0])
    found = chosen(found, source=source, target=target)
    base = alt.Chart(Rows(records(found, ("source_layer", "target_layer", "value"))))
    name = measure or str(distinct(found["measure"])[0])
    chart = base.mark_rect().encode(
        alt.X("target_layer:O", title="layer of the second language", axis=alt.Axis(labelAngle=0)),
        alt.Y("source_layer:O", title="layer of the first language", sort="descending"),
        _colour(name),
        tooltip=[
            alt.Tooltip("source_layer:O", title="layer of the first"),
            alt.Tooltip("target_layer:O", title="layer of the second"),
            alt.Tooltip("value:Q", title=name, format=".4f"),
        ],
    )
    said = " · ".join(filter(None, (model, name, pair_name(source, target))))
    return themed(chart.properties(title=alt.TitleParams(title, subtitle=[said]), width=320, height=320))


def _cells(
    rows: list[dict[str, Any]],
    across: tuple[str, list[str] | None],
    down: tuple[str, list[str]],
    *,
    measure: str,
    written: bool = True,
) -> Any:
    """Cells by two columns, each in the order given."""
    if across[1] is None:
        x = alt.X(across[0], title="layer", axis=alt.Axis(labelAngle=0))
    else:
        turned = alt.Axis(labelAngle=-45, labelOverlap=False)
        x = alt.X(across[0], title=None, axis=turned, scale=alt.Scale(domain=across[1]))
    position = [
        x,
        alt.Y(down[0], title=None, scale=alt.Scale(domain=down[1]), axis=alt.Axis(labelOverlap=len(down[1]) > 30)),
    ]
    base = (
        alt.Chart(Rows(rows))
        .transform_joinaggregate(least="min(value)", most="max(value)")
        .transform_calculate(bright="datum.most > datum.least && (datum.value - datum.least) / "
                             "(datum.most - datum.least) > 0.55")
    )  # fmt: skip
    tips = [
        alt.Tooltip("pair:N", title="pair"),
        alt.Tooltip("layer:Q", title="layer", format="d"),
        *(alt.Tooltip(f"{c}:Q", title=t, format=".4f") for c, t in _NUMBERS.items()),
        alt.Tooltip("n:Q", title="n", format=",d"),
        alt.Tooltip("signature:N", title="signature"),
    ]
    cells = base.mark_rect(cursor="pointer").encode(*position, _colour(measure), tooltip=tips)
    marked = base.transform_filter("datum.pair === marked_pair").mark_rect(
        fill=None, stroke="#E69F00", strokeWidth=2, tooltip=None
    )
    fitting = alt.ExprRef("bandwidth('x') > 25 ? 1 : 0")
    numbers = base.mark_text(fontSize=10.5, tooltip=None, opacity=fitting).encode(
        *position,
        alt.Text("value:Q", format=".2f"),
        color=alt.when("datum.bright").then(alt.value("#111111")).otherwise(alt.value("#ffffff")),
    )
    fits = written and len(across[1] or ()) <= WRITTEN
    return alt.layer(cells, *([numbers] if fits else []), marked.encode(*position))


_NUMBERS = {
    "value": "value",
    "low": "95% interval from",
    "high": "95% interval to",
    "null": NULL,
    "random": RANDOM,
}


def _colour(title: str) -> alt.Color:
    return alt.Color(
        "value:Q",
        title=title,
        scale=alt.Scale(scheme=SEQUENTIAL),
        legend=alt.Legend(orient="top", gradientLength=150, gradientThickness=8, titleAnchor="start"),
    )
