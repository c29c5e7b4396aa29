"""Figures of `interlingua transfer`: scores, what is lost without layers, similarity before and after, and neurons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from interlingua.report.rows import printable
from interlingua.report.theme import MARKED, Figure, Rows, alt, themed
from interlingua.report.transfer_tables import BILSTM, FREQUENT, TransferTables

LAYER = {"tickMinStep": 1, "format": "d"}
STATES = ("before", "after")


def figures(tables: TransferTables, title: str) -> dict[str, Figure]:
    """The figures that are worth a file."""
    made = {
        "scores": bars(tables, title),
        "drops": heat(tables),
        "similarity": before_and_after(tables),
        "relations": strengths(tables),
        "gaps": scatter(tables),
        "foretold": prophecies(tables),
        "neurons": silences(tables),
    }
    return {name: figure for name, figure in made.items() if figure is not None}


def bars(tables: TransferTables, title: str) -> Figure:
    """The score of every language with its interval, the source first; a tick for the most frequent tag."""
    rows, usual, scratch = tables.by_language(), tables.beside(FREQUENT), tables.beside(BILSTM)
    made: list[dict[str, Any]] = [
        {
            "language": str(r.language),
            "what": "source" if r.language == tables.source else "no labels",
            "value": float(r.value),
            "low": float(r.low),
            "high": float(r.high),
            "usual": usual.get(str(r.language)),
            "scratch": scratch.get(str(r.language)),
        }
        for r in rows.sort_values("value", ascending=False).itertuples()
    ]
    made.sort(key=lambda row: row["what"] != "source")
    x = alt.X("language:N", sort=None, title=None, axis=alt.Axis(labelAngle=0))
    scale = alt.Scale(domainMin=0)
    base = alt.Chart(Rows(printable(made))).encode(x)
    layers = [
        base.mark_bar().encode(
            alt.Y("value:Q", title=tables.metric, scale=scale),
            color=alt.Color("what:N", title=None, sort=["source", "no labels"]),
        ),
        base.mark_rule().encode(alt.Y("low:Q"), alt.Y2("high:Q")),
    ]
    said = ["Line: 95% interval."]
    if scratch:
        layers.append(base.mark_point(style=MARKED, shape="diamond", size=60, filled=True).encode(alt.Y("scratch:Q")))
        said[0] += " Diamond: a BiLSTM without pretraining."
    if usual:
        layers.append(base.mark_tick(style=MARKED, thickness=2, width=24).encode(alt.Y("usual:Q")))
        said.append("Tick: the most frequent tag of each word.")
    about = printable({"text": title, "subtitle": said})
    return themed(alt.layer(*layers).properties(title=about, width=alt.Step(44), height=260))


def heat(tables: TransferTables) -> Figure | None:
    """What every language loses where blocks are drawn anew."""
    if not len(tables.drops):
        return None
    made = [
        {
            "blocks": str(r.init),
            "language": str(r.language),
            "points": 100 * float(r.drop),
            "told": f"{100 * r.drop:+.1f}",
        }
        for r in tables.drops.itertuples()
    ]
    base = alt.Chart(Rows(printable(made))).encode(
        alt.X("blocks:N", sort=None, title="blocks drawn anew", axis=alt.Axis(labelAngle=0)),
        alt.Y("language:N", sort=None, title=None),
    )
    most = 100 * float(tables.drops["drop"].abs().max()) or 1.0
    colour = alt.Color("points:Q", title="points", scale=alt.Scale(scheme="redblue", domain=[-most, most]))
    text = base.mark_text().encode(text="told:N")
    title = printable(
        {"text": "What is lost without layers", "subtitle": ["Points of the score, less those of the whole model."]}
    )
    return themed(
        alt.layer(base.mark_rect().encode(colour), text).properties(
            title=title, width=alt.Step(54), height=alt.Step(26)
        )
    )


def before_and_after(tables: TransferTables) -> Figure | None:
    """Similarity to the source by layer, before and after tuning; a thin line a language, a thick one for the mean."""
    if not len(tables.similarities):
        return None
    mean = tables.similarities.groupby(["state", "measure", "layer"], sort=False)["value"].mean().reset_index()
    columns = ["state", "measure", "layer", "language", "value"]
    made = [{**row, "line": f"{row['state']} {row['language']}"} for row in _records(tables.similarities[columns])]
    made += [{**row, "line": f"{row['state']} mean", "mean": row["value"]} for row in _records(mean)]
    base = alt.Chart(Rows(printable(made))).encode(
        alt.X("layer:Q", title="layer", axis=alt.Axis(**LAYER)), color=_state(), detail="line:N"
    )
    thin = base.transform_filter("!isValid(datum.mean)").mark_line(strokeWidth=1, opacity=0.3)
    thick = base.transform_filter("isValid(datum.mean)").mark_line(strokeWidth=3, point=True)
    y = alt.Y("value:Q", title="similarity to the source")
    chart = alt.layer(thin.encode(y), thick.encode(y)).properties(width=200, height=200)
    said = f"Of every language to {tables.source} (thin), and their mean (thick)."
    panels = chart.facet(alt.Column("measure:N", sort=None, title=None)).resolve_scale(y="independent")
    return themed(panels.properties(title={"text": "Similarity before and after tuning", "subtitle": [said]}))


def strengths(tables: TransferTables) -> Figure | None:
    """How similarity goes with the gap, by layer."""
    if not len(tables.relations):
        return None
    made = _records(tables.relations[["state", "measure", "layer", "rho", "n"]])
    base = alt.Chart().encode(
        alt.X("layer:Q", title="layer", axis=alt.Axis(**LAYER)),
        alt.Y("rho:Q", title="Spearman's rho", scale=alt.Scale(domain=[-1, 1])),
        color=_state(),
    )
    zero = alt.Chart().mark_rule(strokeWidth=0.5).encode(alt.Y(datum=0))
    chart = alt.layer(zero, base.mark_line(point=True), data=Rows(printable(made))).properties(width=200, height=200)
    said = f"Over {made[0]['n']} languages; above 0: the more similar, the smaller the loss."
    panels = chart.facet(alt.Column("measure:N", sort=None, title=None))
    return themed(panels.properties(title={"text": "Similarity and the gap", "subtitle": [said]}))


def scatter(tables: TransferTables) -> Figure | None:
    """The gap of every language against its similarity, at the layer where they go together most."""
    rows = tables.by_language().set_index("language")
    parts = []
    for state in STATES:
        found = tables.strongest(state)
        if found is None:
            continue
        near = tables.similarities.query("state == @state and measure == @found.measure and layer == @found.layer")
        made: list[dict[str, Any]] = [
            {"language": str(r.language), "similarity": float(r.value), "points": 100 * float(rows["gap"][r.language])}
            for r in near.itertuples()
            if r.language in rows.index
        ]
        base = alt.Chart(Rows(printable(made))).encode(
            alt.X("similarity:Q", title=f"{found.measure}, layer {int(found.layer)}", scale=alt.Scale(zero=False)),
            alt.Y("points:Q", title="gap, points", scale=alt.Scale(zero=False)),
        )
        said = f"{state} tuning: rho {found.rho:.2f}" + (f", p {found.p:.3f}" if found.p == found.p else "")
        text = base.mark_text(dx=8, align="left").encode(text="language:N")
        parts.append(
            alt.layer(base.mark_point(filled=True, size=60), text).properties(width=260, height=240, title=said)
        )
    if not parts:
        return None
    said = "Each at the layer where it is highest, which flatters it."
    title = {"text": "Gap against similarity", "subtitle": [said]}
    return themed(alt.hconcat(*parts).properties(title=title))


def prophecies(tables: TransferTables) -> Figure | None:
    """Scores foretold from similarity, with intervals, beside those that were found."""
    if not len(tables.foretold):
        return None
    mine = tables.foretold[tables.foretold["measure"] == tables.foretold["measure"].iloc[0]]
    made: Sequence[dict[str, Any]] = [
        {
            "language": str(r.language), "foretold": float(r.foretold), "low": float(r.low), "high": float(r.high),
            "score": None if r.score != r.score else float(r.score),
        }
        for r in mine.sort_values("foretold", ascending=False).itertuples()
    ]  # fmt: skip
    base = alt.Chart(Rows(printable(list(made)))).encode(
        alt.X("language:N", sort=None, title=None, axis=alt.Axis(labelAngle=0))
    )
    layers = [
        base.mark_rule().encode(alt.Y("low:Q", title=tables.metric, scale=alt.Scale(zero=False)), alt.Y2("high:Q")),
        base.mark_point(filled=True, size=60).encode(alt.Y("foretold:Q")),
        base.mark_tick(style=MARKED, thickness=2, width=20).encode(alt.Y("score:Q")),
    ]
    said = [
        "Point: foretold from the other languages; line: 80% interval.",
        "Tick: what was found, where there are labels.",
    ]
    title = {"text": f"Scores foretold from {mine['measure'].iloc[0]} before tuning", "subtitle": said}
    return themed(alt.layer(*layers).properties(title=title, width=alt.Step(44), height=240))


def silences(tables: TransferTables) -> Figure | None:
    """What other languages lose where neurons of a layer are held at their means."""
    if not len(tables.neurons):
        return None
    others = tables.neurons[tables.neurons["language"] != tables.source]
    mean = others.groupby(["layer", "kind"], sort=False)[["change", "low", "high"]].mean().reset_index()
    made = [
        {"layer": int(r.layer), "kind": str(r.kind), "points": 100 * float(r.change),
         **({} if r.low != r.low else {"low": 100 * float(r.low), "high": 100 * float(r.high)})}
        for r in mean.itertuples()
    ]  # fmt: skip
    base = alt.Chart(Rows(printable(made))).encode(alt.X("layer:Q", title="layer", axis=alt.Axis(**LAYER)))
    colour = alt.Color("kind:N", title="neurons", sort=None)
    band = (
        base.transform_filter("isValid(datum.low)")
        .mark_area(opacity=0.2)
        .encode(alt.Y("low:Q", title="points"), alt.Y2("high:Q"), colour)
    )
    line = base.mark_line(point=True).encode(alt.Y("points:Q"), colour)
    many = int(tables.neurons["neurons"].iloc[0])
    said = f"{many} neurons a layer held at their means; mean over languages without labels. Band: random sets."
    title = {"text": "Neurons put to silence", "subtitle": [said]}
    return themed(alt.layer(band, line).properties(title=title, width=420, height=240))


def _state() -> Any:
    return alt.Color("state:N", title=None, sort=None, scale=alt.Scale(domain=list(STATES)))


def _records(frame: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = frame.to_dict(orient="records")
    return found
