"""Figures of studies, in the form of the papers' own: a function takes a table and returns a chart."""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from interlingua.report.curves import LAYER_AXIS, nothing
from interlingua.report.rows import records
from interlingua.report.theme import Figure, Rows, alt, themed

if TYPE_CHECKING:
    import pandas as pd

OURS, THEIRS = "here", "published"


def by_layer(table: pd.DataFrame, series: str, title: str, note: str, *, random: pd.DataFrame | None = None) -> Figure:
    """A measure by layer: a colour a series, a panel a language, a line a seed with its interval.

    Dotted: networks with random weights.
    """
    if not len(table):
        return nothing(title, "Nothing of this has been run.")
    shown = table.assign(kind="trained")
    if random is not None and len(random):
        import pandas as pd

        shown = pd.concat([shown, random.assign(kind="untrained")])
    shown = shown.assign(line=shown[series].astype(str) + shown["seed"].astype(str) + shown["kind"])
    data = Rows(records(shown, (series, "kind", "line", "target", "layer", "value", "low", "high", "seed")))
    deepest = int(table["layer"].max())
    axis = alt.Axis(**LAYER_AXIS, **({"values": list(range(deepest + 1))} if deepest <= 12 else {}))
    x = alt.X("layer:Q", title="layer", axis=axis, scale=alt.Scale(nice=False, padding=6))
    names = list(dict.fromkeys(shown[series].astype(str)))
    colour = alt.Color(f"{series}:N", title=series, scale=alt.Scale(domain=names))
    base = alt.Chart(data)
    band = base.mark_area(opacity=0.15).encode(
        x=x, y=alt.Y("low:Q", title=str(table["measure"].iloc[0])), y2="high:Q", color=colour, detail="line:N"
    )
    lines = base.mark_line().encode(
        x=x,
        y=alt.Y("value:Q"),
        color=colour,
        detail="line:N",
        strokeDash=_kinds(),
        tooltip=[f"{series}:N", "kind:N", "target:N", "seed:Q", "layer:Q", alt.Tooltip("value:Q", format=".3f")],
    )
    panels = (
        (band + lines).properties(width=230, height=170).facet(alt.Facet("target:N", title="English with"), columns=3)
    )
    sentences = int(table["n"].max())
    notes = [note, f"Band: 95% interval over {sentences:,} sentences; a line a seed."]
    return themed(panels.properties(title=alt.TitleParams(title, subtitle=notes)))


def beside_published(table: pd.DataFrame, series: str, name: str, title: str) -> Figure:
    """Scores by series and language, ours with their intervals beside those that were published."""
    means = table.groupby([series, "target"], sort=False)[["value", "low", "high"]].mean().reset_index()
    mine = [
        {"series": str(row[series]), "language": row["target"], "whose": OURS, "value": row["value"],
         "low": row["low"], "high": row["high"]}
        for _, row in means.iterrows()
    ]  # fmt: skip
    theirs = [
        {"series": row["series"], "language": row["target"], "whose": THEIRS, "value": float(row["value"]),
         "low": None, "high": None}
        for row in published(name)
    ]  # fmt: skip
    if not mine:
        return nothing(title, "Nothing of this has been run.")
    base = alt.Chart(Rows([*mine, *theirs]))
    y = alt.Y("value:Q", title="score")
    where = {
        "x": alt.X("series:N", title="", sort=None, axis=alt.Axis(labelAngle=-30 if len(means) > 12 else 0)),
        "xOffset": alt.XOffset("whose:N", scale=alt.Scale(domain=[OURS, THEIRS])),
    }
    bars = base.mark_bar().encode(
        **where, y=y, color=alt.Color("whose:N", title="", scale=alt.Scale(domain=[OURS, THEIRS])),
        tooltip=["series:N", "language:N", "whose:N", alt.Tooltip("value:Q", format=".3f")],
    )  # fmt: skip
    ends = base.mark_rule().encode(**where, y="low:Q", y2="high:Q")
    panels = (bars + ends).properties(width=200, height=170).facet(alt.Facet("language:N", title=""), columns=4)
    return themed(panels.properties(title=alt.TitleParams(title, subtitle=["Rule: 95% interval, mean over seeds."])))


def published(name: str) -> list[dict[str, Any]]:
    """Published scores by the name of their table."""
    text = (files("interlingua.studies") / "published.tsv").read_text(encoding="utf-8")
    return [row for row in csv.DictReader(text.splitlines(), delimiter="\t") if row["table"] == name]


def spread_by_layer(table: pd.DataFrame, random: pd.DataFrame, series: str, title: str, note: str) -> Figure:
    """A measure by relative depth: the mean over languages, the lowest and highest as a band; dotted: untrained.

    Depth is the layer as a share of all, so that networks of unlike depth can be laid over each other.
    """
    if not len(table):
        return nothing(title, "Nothing of this has been run.")
    rows = []
    for kind, frame in (("trained", table), ("untrained", random)):
        for (name, layer), some in frame.groupby([series, "layer"], sort=False):
            deepest = frame[frame[series] == name]["layer"].max()
            values = some["value"].astype(float)
            rows.append({series: str(name), "kind": kind, "layer": int(layer), "depth": layer / max(deepest, 1),
                         "value": values.mean(), "low": values.min(), "high": values.max(),
                         "line": f"{name} {kind}"})  # fmt: skip
    base = alt.Chart(Rows(rows))
    colour = alt.Color(
        f"{series}:N", title=series, scale=alt.Scale(domain=list(dict.fromkeys(r[series] for r in rows)))
    )
    x = alt.X("depth:Q", title="layer, as a share of the depth", scale=alt.Scale(nice=False, padding=6))
    band = (
        base.transform_filter("datum.kind == 'trained'")
        .mark_area(opacity=0.12)
        .encode(x=x, y=alt.Y("low:Q", title=str(table["measure"].iloc[0])), y2="high:Q", color=colour, detail="line:N")
    )
    lines = base.mark_line(point=True).encode(
        x=x, y=alt.Y("value:Q"), color=colour, detail="line:N", strokeDash=_kinds(),
        tooltip=[f"{series}:N", "kind:N", "layer:Q", alt.Tooltip("value:Q", format=".3f")],
    )  # fmt: skip
    pairs = ", ".join(dict.fromkeys(table["target"]))
    notes = [
        note,
        f"Mean over English with {pairs}; band: lowest and highest. n = {int(table['n'].max()):,} sentences.",
    ]
    return themed((band + lines).properties(width=420, height=240, title=alt.TitleParams(title, subtitle=notes)))


def _kinds() -> Any:
    scale = alt.Scale(domain=["trained", "untrained"], range=[[1, 0], [2, 3]])
    return alt.StrokeDash("kind:N", title="", scale=scale)
