"""Figures of studies, in the form of the papers' own: a function takes a table and returns a chart."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.resources import files
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from interlingua import __version__
from interlingua.report.curves import LAYER_AXIS, nothing
from interlingua.report.rows import records
from interlingua.report.theme import Figure, Rows, alt, themed

if TYPE_CHECKING:
    import pandas as pd

    from interlingua.studies.results import Results

OURS, THEIRS = "here", "published"
TRAINED, UNTRAINED = "trained", "untrained"
# What measures are called on an axis.
CALLED = {
    "linear_cka": "linear CKA",
    "rbf_cka": "CKA (Gaussian kernel)",
    "anc": "ANC",
    "svcca": "SVCCA",
    "pwcca": "PWCCA",
    "matching": "share that find their translation",
    "word p1": "precision at 1",
    "context p1": "precision at 1",
    "sentence p1": "precision at 1",
    "through a map, ner f1": "F1",
    "through a map, parsing las": "LAS",
    "calign": "CALIGN",
    "colap": "COLAP",
    "lexical": "share of concepts",
    "suffix": "share of concepts",
    "drop": "change of the score",
}
# How wide a panel is, and a letter below a title; how many letters the legend beside panels has room for.
PANEL, LETTER, LEGEND = 230, 6, 20
GREY = "#8a8a8a"


def by_layer(
    table: pd.DataFrame,
    series: str,
    title: str,
    note: str,
    *,
    random: pd.DataFrame | None = None,
    published: Mapping[str, tuple[float, float]] | None = None,
    printed: pd.DataFrame | None = None,
    head: str = "English with",
) -> Figure:
    """A measure by layer: a colour a series, a panel a language; the mean over seeds, what their intervals span.

    A series with one value in a panel, which makes no line, is a dot and its interval. Dotted: networks with random
    weights. Grey: what was published, where a paper prints numbers, by language; dashed: where it prints them by layer
    (`printed`: the series, `target`, `layer`, `value`). `head`: what stands above panels.
    """
    if not len(table):
        return nothing(title, "Nothing of this has been run.")
    shown = [_over_seeds(table, series).assign(kind=TRAINED if printed is None else OURS)]
    if printed is not None:
        shown.append(printed[printed["target"].isin(set(table["target"]))].assign(kind=THEIRS))
    if random is not None and len(random):
        shown.append(_over_seeds(random, series).assign(kind=UNTRAINED))
    rows = [row for frame in shown for row in records(frame, (*frame.columns,))]
    places = list(dict.fromkeys(row["target"] for row in rows))
    marks = [
        {"target": target, "from": low, "to": high, "place": places.index(target)}
        for target, (low, high) in (published or {}).items()
        if target in places
    ]
    data = [{**row, "place": places.index(row["target"]), "line": f"{row[series]} {row['kind']}"} for row in rows]
    many = Counter((row["target"], row["line"]) for row in data)
    data = [{**row, "alone": many[row["target"], row["line"]] == 1} for row in data]
    deepest = int(table["layer"].max())
    axis = alt.Axis(**LAYER_AXIS, **({"values": list(range(deepest + 1))} if deepest <= 12 else {}))
    x = alt.X("layer:Q", title="layer", axis=axis, scale=alt.Scale(nice=False, padding=6))
    y = {"title": CALLED.get(name := str(table["measure"].iloc[0]), name)}
    names = list(dict.fromkeys(str(row[series]) for row in rows))
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    colour = alt.Color(f"{series}:N", title=series, scale=alt.Scale(domain=names))
    base = alt.Chart(Rows([*data, *marks]))
    tooltip = [f"{series}:N", "kind:N", "target:N", "layer:Q", alt.Tooltip("value:Q", format=".3f")]
    drawn = [
        base.transform_filter("isValid(datum.from)").mark_rect(
            color=GREY, opacity=0.5, stroke=GREY, strokeWidth=2, strokeDash=[4, 3]
        ).encode(
            y=alt.Y("from:Q", **y), y2="to:Q"
        ),
        base.transform_filter("isValid(datum.low)").mark_area(opacity=0.15).encode(
            x=x, y=alt.Y("low:Q", **y), y2="high:Q", color=colour, detail="line:N"
        ),
        base.transform_filter("isValid(datum.value)").mark_line().encode(
            x=x,
            y=alt.Y("value:Q", **y),
            color=colour,
            detail="line:N",
            **({"strokeDash": _kinds(kinds)} if len(kinds) > 1 else {}),
            tooltip=tooltip,
        ),
    ]  # fmt: skip
    if any(row["alone"] for row in data):
        alone = base.transform_filter("datum.alone")
        drawn += [
            alone.transform_filter("isValid(datum.low)")
            .mark_rule(strokeWidth=2, opacity=0.6)
            .encode(x=x, y=alt.Y("low:Q", **y), y2="high:Q", color=colour),
            alone.mark_point(filled=True, size=40, opacity=1).encode(
                x=x, y=alt.Y("value:Q", **y), color=colour, tooltip=tooltip
            ),
        ]
    panel = alt.layer(*(drawn if marks else drawn[1:])).properties(width=PANEL, height=170)
    others = set(table["source"]) - {"en"}
    facet = alt.Facet(
        "target:N",
        title="The language that was tuned on with" if others else head,
        sort=alt.EncodingSortField("place", op="min"),
    )
    columns = 2 if len(places) == 4 else min(3, len(places))
    told = _lines(columns * PANEL, note, *_told(table, series))
    return themed(panel.facet(facet, columns=columns).properties(title=alt.TitleParams(title, subtitle=told)))


def _over_seeds(table: pd.DataFrame, series: str) -> pd.DataFrame:
    """The mean over seeds, and what their intervals span."""
    grouped = table.groupby([series, "target", "layer"], sort=False)
    found = grouped.agg(value=("value", "mean"), low=("low", "min"), high=("high", "max")).reset_index()
    return found.astype({"value": float, "low": float, "high": float})


def _told(table: pd.DataFrame, series: str) -> list[str]:
    """How many sentences and seeds, from the fewest to the most, and what the band is."""
    many: dict[tuple[str, str], list[str]] = {}
    for target, some in table.groupby("target", sort=False):
        n, corpora = some["n"].dropna(), ", ".join(name for name in dict.fromkeys(some["corpus"]) if name)
        many.setdefault((_span(n.min(), n.max()) if n.any() else "", corpora), []).append(str(target))
    examples = (
        f"{', '.join(langs)}: {n}{f' ({corpora})' if corpora else ''}" for (n, corpora), langs in many.items() if n
    )
    sentences = "; ".join(examples)
    seeds = table.groupby([series, "target"])["seed"].nunique()
    band = "Band: what their 95% intervals span. " if table["low"].notna().any() else ""
    what = "seed" if seeds.max() == 1 else "seeds"
    counted = f"Examples: {sentences}." if sentences else ""
    return [f"Mean over {_span(seeds.min(), seeds.max())} {what}. {band}{counted}".rstrip()]


def _lines(width: int, *said: str) -> list[str]:
    """What stands below a title, about as wide as panels and legend."""
    return [line for each in said for line in wrap(each, width // LETTER + LEGEND)]


def _span(low: float, high: float) -> str:
    return f"{low:,.0f}" if low == high else f"{low:,.0f} to {high:,.0f}"


_DASHES = {TRAINED: [1, 0], OURS: [1, 0], UNTRAINED: [2, 3], THEIRS: [6, 4]}


def _kinds(kinds: Sequence[str] = (TRAINED, UNTRAINED)) -> Any:
    scale = alt.Scale(domain=list(kinds), range=[_DASHES[kind] for kind in kinds])
    return alt.StrokeDash("kind:N", title="", scale=scale)


def beside_published(
    table: pd.DataFrame,
    series: str,
    name: str,
    title: str,
    *,
    note: str = "",
    chance: float | None = None,
    langs: Sequence[str] = (),
    columns: int = 0,
) -> Figure:
    """Scores by series and language, ours with their intervals beside those that were published; dashed: chance.

    `langs`: only these panels of what was published, in this order.
    """
    if not len(table):
        return nothing(title, "Nothing of this has been run.")
    by_seed = table.groupby([series, "target", "seed"], sort=False)[["value", "low", "high"]].mean()
    grouped = by_seed.groupby([series, "target"], sort=False)
    means = grouped.agg(value=("value", "mean"), low=("low", "min"), high=("high", "max")).reset_index()
    mine = [
        {"series": str(row[series]), "language": row["target"], "whose": OURS, "value": row["value"],
         "low": row["low"], "high": row["high"]}
        for _, row in means.iterrows()
    ]  # fmt: skip
    theirs = [
        {"series": row["series"], "language": row["target"], "whose": THEIRS, "value": float(row["value"]),
         "low": None, "high": None}
        for row in published(name)
        if not langs or row["target"] in langs
    ]  # fmt: skip
    whose = list(dict.fromkeys(row["whose"] for row in (*mine, *theirs)))
    order = list(dict.fromkeys(row["series"] for row in (*theirs, *mine)))
    places = list(dict.fromkeys([*langs, *(row["language"] for row in (*mine, *theirs))]))
    rows = [{**row, "order": order.index(row["series"]), "place": places.index(row["language"])}
            for row in (*mine, *theirs)]  # fmt: skip
    base = alt.Chart(Rows(rows))
    many = len(order) > 4
    width = 270 if many else 200
    tilted = 6 * max(map(len, order)) > width / len(order)  # about six pixels a letter
    where = {
        "x": alt.X("series:N", title="", sort=alt.EncodingSortField("order", op="min"),
                   axis=alt.Axis(labelAngle=-40 if tilted else 0, labelOverlap=False)),
        "xOffset": alt.XOffset("whose:N", scale=alt.Scale(domain=whose)),
    }  # fmt: skip
    bars = base.mark_bar().encode(
        **where, y=alt.Y("value:Q", title=CALLED.get(what := str(table["measure"].iloc[0]), what)),
        color=alt.Color("whose:N", title="", scale=alt.Scale(domain=whose), legend=alt.Legend() if theirs else None),
        tooltip=["series:N", "language:N", "whose:N", alt.Tooltip("value:Q", format=".3f")],
    )  # fmt: skip
    layers = [bars, base.transform_filter("isValid(datum.low)").mark_rule().encode(**where, y="low:Q", y2="high:Q")]
    if chance is not None:
        layers.append(base.mark_rule(strokeDash=[4, 3], color=GREY).encode(y=alt.datum(chance)))
    panel = alt.layer(*layers).properties(width=width, height=170)
    facet = alt.Facet("language:N", title="", sort=alt.EncodingSortField("place", op="min"))
    seeds = table.groupby([series, "target"])["seed"].nunique()
    what = "seed" if seeds.max() == 1 else "seeds"
    seen = f"Mean over {_span(seeds.min(), seeds.max())} {what}; rule: what their 95% intervals span."
    side = min(columns or (3 if many else 4), len(places))
    told = _lines(side * width, note, seen + (" Dashed: chance." if chance is not None else ""))
    return themed(panel.facet(facet, columns=side).properties(title=alt.TitleParams(title, subtitle=told)))


def signed(chart: Figure, found: Results) -> None:
    """With what it was made from, below what it says."""
    told = f"study:{found.study.name}|size:{found.settings.size}|cells:{len(found.cells)}|version:{__version__}"
    title = getattr(chart, "title", None)
    if isinstance(title, alt.TitleParams):
        title.subtitle = [*title.subtitle, told]


def dots(table: pd.DataFrame, where: str, series: str, title: str, note: str, *, order: Sequence[str]) -> Figure:
    """A dot a series in every row, with its interval."""
    if not len(table):
        return nothing(title, "Nothing of this has been run.")
    rows = records(table, (where, series, "value", "low", "high"))
    base = alt.Chart(Rows(rows)).encode(
        y=alt.Y(f"{where}:N", title="", sort=None, axis=alt.Axis(grid=True, tickBand="extent")),
        yOffset=alt.YOffset(f"{series}:N", sort=list(order)),
        color=alt.Color(f"{series}:N", title=series, sort=list(order)),
    )
    x = alt.X("value:Q", title=str(table["measure"].iloc[0]), scale=alt.Scale(zero=False))
    drawn = alt.layer(
        base.mark_rule(strokeWidth=2, opacity=0.6).encode(x="low:Q", x2="high:Q"),
        base.mark_point(filled=True, size=40, opacity=1).encode(
            x, tooltip=[f"{where}:N", f"{series}:N", alt.Tooltip("value:Q", format=".3f")]
        ),
    )
    width = 420
    chart = drawn.properties(width=width, height=alt.Step(7))
    return themed(chart.properties(title=alt.TitleParams(title, subtitle=_lines(width, note))))


def published(name: str) -> list[dict[str, Any]]:
    """Published scores by the name of their table."""
    text = (files("interlingua.studies") / "published.tsv").read_text(encoding="utf-8")
    return [row for row in csv.DictReader(text.splitlines(), delimiter="\t") if row["table"] == name]


def spread_by_layer(
    table: pd.DataFrame, random: pd.DataFrame, series: str, title: str, note: str, *, peak: float | None = None
) -> Figure:
    """A measure by relative depth: the mean over languages, the lowest and highest as a band; dotted: untrained.

    Depth is the layer as a share of all, so that networks of unlike depth can be laid over each other. Grey: the peak
    that was published.
    """
    if not len(table):
        return nothing(title, "Nothing of this has been run.")
    rows = []
    for kind, frame in ((TRAINED, table), (UNTRAINED, random)):
        over_seeds = frame.groupby([series, "target", "layer"], sort=False)["value"].mean().reset_index()
        for (name, layer), some in over_seeds.groupby([series, "layer"], sort=False):
            deepest = frame[frame[series] == name]["layer"].max()
            values = some["value"].astype(float)
            rows.append({series: str(name), "kind": kind, "layer": int(layer), "depth": layer / max(deepest, 1),
                         "value": values.mean(), "low": values.min(), "high": values.max(),
                         "line": f"{name} {kind}"})  # fmt: skip
    base = alt.Chart(Rows(rows))
    names = list(dict.fromkeys(row[series] for row in rows))
    colour = alt.Color(f"{series}:N", title=series, scale=alt.Scale(domain=names))
    x = alt.X("depth:Q", title="layer, as a share of the depth", scale=alt.Scale(nice=False, padding=6))
    y = {"title": CALLED.get(name := str(table["measure"].iloc[0]), name)}
    band = (
        base.transform_filter(f"datum.kind == '{TRAINED}'")
        .mark_area(opacity=0.12)
        .encode(x=x, y=alt.Y("low:Q", **y), y2="high:Q", color=colour, detail="line:N")
    )
    lines = base.mark_line().encode(
        x=x, y=alt.Y("value:Q", **y), color=colour, detail="line:N", strokeDash=_kinds(),
        tooltip=[f"{series}:N", "kind:N", "layer:Q", alt.Tooltip("value:Q", format=".3f")],
    )  # fmt: skip
    layers = [band, lines]
    if peak is not None:
        layers.append(base.mark_rule(strokeDash=[4, 3], color=GREY).encode(y=alt.datum(peak)))
    pairs = ", ".join(dict.fromkeys(table["target"]))
    many = int(table["n"].max())
    seeds = table["seed"].nunique()
    notes = [
        note,
        f"Mean over English with {pairs}; band: lowest and highest of them (no interval over sentences).",
        f"{many:,} sentences, {seeds} seed{'s' * (seeds != 1)}.",
    ]
    chart = alt.layer(*layers).properties(width=420, height=240, title=alt.TitleParams(title, subtitle=notes))
    return themed(chart)
