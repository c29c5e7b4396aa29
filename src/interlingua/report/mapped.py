"""The report of `interlingua map`: what it says in words, curves over layers and over pairs, and a browser of words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlingua.report.framed import Framed, table_of
from interlingua.report.map_tables import COLUMNS, MapTables, best, full
from interlingua.report.rows import distinct, printable
from interlingua.report.tables import MAPPED
from interlingua.report.theme import Figure, Rows, alt, themed

if TYPE_CHECKING:
    import pandas as pd

# Words to browse that a page carries: layers are left out, the middle ones first, where there are more.
MOST = 30_000
# Fewer translations found than this say nothing about what is needed to find them.
HITS = 10
WHAT = {"word": "words", "context": "words in context", "sentence": "sentences"}
# What was done, for a methods section.
DONE = {
    "identity": "vectors as they are",
    "shift": "the mean of one side put on that of the other",
    "normalised": "iterative normalisation of each side (Zhang et al. 2019)",
    "rotation": "iterative normalisation (Zhang et al. 2019) and an orthogonal Procrustes rotation (Schönemann 1966)",
    "refined": "the rotation fitted again, five times, on pairs that are each other's nearest by CSLS",
    "ridge": "iterative normalisation and ridge regression (α = 1)",
    "least_squares": "iterative normalisation and least squares",
}
# What the spaces beside the models' own are called.
BESIDE = {"untrained": "untrained networks", "table": "embedding table", "static": "static vectors (fastText)"}


def told(tables: MapTables) -> list[tuple[str, str]]:
    """What was found, in words: a heading and a sentence each."""
    rows, top = full(tables), best(tables)
    level = str(tables.config.get("level", "word"))
    share = f"{top['p1']:.1%} of {int(top['n']):,} {WHAT[level]}"
    found = [
        (
            f"{top['p1']:.0%} at layer {int(top['layer'])} ({top['low']:.0%} to {top['high']:.0%})",
            f"{share} find their translation nearest among {int(top['candidates']):,}, after: {top['way']}. A guess "
            f"would find {top['chance']:.2%}; among the nearest ten it is {top['p10']:.1%}.",
        )
    ]
    here = rows[(rows["space"] == "model") & (rows["layer"] == top["layer"])].set_index("way")["p1"]
    ways = ", ".join(f"{way} {value:.1%}" for way, value in here.items())
    few = top["p1"] * top["n"] < HITS
    untrained = rows.loc[rows["space"] == "untrained", "p1"].max()
    heading = "Too little is found to tell ways apart" if few else _needed(here)
    if not few and untrained >= top["p1"]:
        heading = "No better than untrained networks"
    found.append((heading, f"At that layer: {ways}."))
    beside = rows[rows["space"] != "model"].sort_values("p1").groupby("space").tail(1)
    if len(beside):
        each = ", ".join(f"{BESIDE[r.space]} {r.p1:.1%} ({r.way})" for r in beside.itertuples())
        found.append(("Beside it", f"At their own best: {each}."))
    for space, why in tables.config.get("left_out", {}).items():
        found.append((f"Left out: {BESIDE.get(space, space)}", f"{why}."))
    if level == "word":
        found.append(
            (
                f"{top['coverage']:.0%} of the dictionary",
                f"{int(top['n']):,} words of the test dictionary have a vector and a translation with one; nothing is "
                "said of the others.",
            )
        )
    return found


def _needed(here: pd.Series[float]) -> str:
    """Whether the two spaces have to be turned."""
    if "rotation" not in here or "identity" not in here:
        return "How the spaces were aligned"
    still = max(float(here[way]) for way in ("identity", "shift", "normalised") if way in here)
    bent = max((float(here[way]) for way in ("ridge", "least_squares") if way in here), default=0.0)
    if bent > 1.5 * max(still, float(here["rotation"])) + 0.01:
        return "More than a rotation is needed"
    if here["rotation"] > still * 1.1 + 0.01:
        return "A rotation is needed" if still < 0.5 * here["rotation"] else "A rotation helps"
    return "No rotation is needed"


def curves(tables: MapTables) -> Figure:
    """Precision at 1 by layer: a line for each way of aligning, and what stands beside."""
    rows = full(tables)
    layered = rows[rows["space"].isin(["model", "untrained"])]
    shown_ = [
        {
            "what": str(r.way) if r.space == "model" else f"{BESIDE['untrained']} ({r.way})",
            "layer": int(r.layer),
            "p1": float(r.p1),
            "beside": bool(r.space != "model"),
        }
        for r in layered.itertuples()
    ]
    rules = [
        {"what": BESIDE[r.space], "p1": float(r.p1)}
        for r in rows[~rows["space"].isin(["model", "untrained"])].itertuples()
    ]
    y = alt.Y("p1:Q", title="precision at 1", axis=alt.Axis(format="%"), scale=alt.Scale(zero=True))
    colour = _coloured([*shown_, *rules, {"what": "chance"}])
    steps = sorted(map(int, layered["layer"].unique()))
    axis = alt.Axis(values=steps, format="d", labelOverlap=True)
    base = alt.Chart(Rows(shown_)).encode(x=alt.X("layer:Q", axis=axis), y=y, color=colour)
    dash = alt.StrokeDash("beside:N", legend=None, scale=alt.Scale(domain=[False, True], range=[[1, 0], [2, 3]]))
    layers = [base.mark_line().encode(strokeDash=dash), base.mark_point()]
    rules.append({"what": "chance", "p1": float(rows.loc[rows["space"] == "model", "chance"].mean())})
    layers.append(alt.Chart(Rows(rules)).mark_rule(strokeDash=[6, 4]).encode(y=y, color=colour))
    return themed(alt.layer(*layers).properties(title=_title(tables, "by layer"), width=520, height=280))


def learning(tables: MapTables) -> Figure | None:
    """Precision at 1 by the number of pairs that a rotation was fitted on, at three layers."""
    scores = tables.scores[(tables.scores["by"] == tables.scores["by"].iloc[0]) & (tables.scores["way"] == "rotation")]
    scores = scores[scores["space"].isin(["model", "static"]) & (scores["pairs"] > 0)]
    last = int(scores.loc[scores["space"] == "model", "layer"].max()) if (scores["space"] == "model").any() else 0
    wanted = {0, int(best(tables)["layer"]), last}
    rows = scores[(scores["space"] == "static") | scores["layer"].isin(wanted)]
    rows = rows.groupby(["space", "layer", "pairs"])["p1"].mean().reset_index()
    if not len(rows) or rows.groupby(["space", "layer"])["pairs"].nunique().max() < 2:
        return None
    shown_ = [
        {
            "what": BESIDE["static"] if r.space == "static" else f"layer {int(r.layer)}",
            "pairs": int(r.pairs),
            "p1": float(r.p1),
        }
        for r in rows.itertuples()
    ]
    base = alt.Chart(Rows(shown_)).encode(
        x=alt.X("pairs:Q", title="pairs the rotation was fitted on", scale=alt.Scale(type="log", nice=False)),
        y=alt.Y("p1:Q", title="precision at 1", axis=alt.Axis(format="%"), scale=alt.Scale(zero=True)),
        color=_coloured(shown_),
    )
    chart = alt.layer(base.mark_line(), base.mark_point())
    return themed(chart.properties(title=_title(tables, "by what it was fitted on"), width=520, height=280))


def _coloured(rows: Sequence[Mapping[str, Any]]) -> Any:
    """A colour for each line, named below."""
    scale = alt.Scale(domain=distinct(r["what"] for r in rows))
    return alt.Color("what:N", title=None, scale=scale, legend=alt.Legend(orient="bottom", columns=3))


def _title(tables: MapTables, what: str) -> dict[str, Any]:
    config = tables.config
    level = WHAT.get(str(config.get("level")), "")
    models = " and ".join(map(str, config.get("models", [])))
    langs = " – ".join(map(str, config.get("languages", [])))
    return printable({"text": f"Translations found, {level}, {what}", "subtitle": [f"{langs} · {models}"]})  # type: ignore[no-any-return]


def figures(tables: MapTables) -> dict[str, Figure]:
    """The figures that are worth a file."""
    found = {"layers": curves(tables)}
    more = learning(tables)
    return found if more is None else {**found, "learning": more}


def publish_map(tables: MapTables, folder: Path, *, formats: Sequence[str] = ("svg", "png")) -> Path:
    """The figures and the page of a map into its folder; where the page is."""
    return framed(tables).publish(folder / MAPPED, formats)


def framed(tables: MapTables) -> Framed:
    """The page."""
    config = tables.config
    langs = " – ".join(map(str, config.get("languages", [])))
    models = " and ".join(map(str, config.get("models", [])))
    return Framed(
        name="mapping",
        brand="Interlingua map",
        title=f"{models}, {langs}",
        over="Over layers, and over pairs",
        told=told(tables),
        figures=figures(tables),
        data=_browsed(tables),
        table=_table(tables),
        methods=methods(tables),
        config=config,
    )


def _browsed(tables: MapTables) -> dict[str, Any]:
    """Queries and their nearest, by layer and way: each word once."""
    rows = tables.neighbours
    if not len(rows):
        return {}
    rows = rows[(rows["by"] == rows["by"].iloc[0]) & (rows["space"] == "model")]
    layers = sorted(map(int, rows["layer"].unique()))
    top = int(best(tables)["layer"])
    order = sorted(layers, key=lambda n: (n != top, n not in (0, layers[-1]), n))
    each = max(1, len(rows) // max(1, len(layers)))
    kept = sorted(order[: max(1, MOST // each)])
    words: dict[str, int] = {}
    found: dict[str, dict[str, list[list[int]]]] = {}
    gold: dict[int, list[int]] = {}
    for r in rows[rows["layer"].isin(kept)].itertuples():
        query = words.setdefault(str(r.query), len(words))
        gold[query] = [words.setdefault(str(w), len(words)) for w in r.gold]
        near = [words.setdefault(str(w), len(words)) for w in r.nearest]
        found.setdefault(f"{int(r.layer)}", {}).setdefault(str(r.way), []).append([query, *near])
    start = {"layer": str(top), "way": str(best(tables)["way"])}
    return printable({"words": list(words), "gold": gold, "found": found, "start": start})  # type: ignore[no-any-return]


def _table(tables: MapTables) -> str:
    """Every score as a table."""
    percent = ("p1", "p5", "p10", "same_type", "coverage")

    def cell(column: str, v: Any) -> str:
        if column in percent:
            return f"{v:.1%}"
        return f"{v:.2%}" if column == "chance" else f"{v:,}" if isinstance(v, int) else str(v)

    return table_of(tables.scores, [c for c in COLUMNS if c != "level"], cell)


def methods(tables: MapTables) -> str:
    """A paragraph for a paper."""
    config, level = tables.config, str(tables.config.get("level", "word"))
    models = config.get("models", [])
    who = f"the {config.get('languages', ['', ''])[0]} and {config.get('languages', ['', ''])[1]} vectors of " + (
        f"{models[0]}" if len(models) == 1 else " and ".join(map(str, models))
    )
    names = {"csls": "cross-domain similarity local scaling (CSLS, k = 10; Conneau et al. 2018)", "cosine": "cosine"}
    by = names.get(str(next(iter(config.get("by", [])), "csls")), "cosine")
    ways = "; ".join(f"{way}: {DONE[way]}" for way in config.get("ways", []) if way in DONE)
    reduced = " The wider side was first brought to its main directions." if config.get("reduce") else ""
    how = {
        "word": "Vectors of words are means over their contexts; precision is over all words of both vocabularies, on "
        "a test dictionary that shares no source word with the one the maps were fitted on.",
        "context": "Words in context were linked by a word aligner (intersection of both directions); maps were fitted "
        "on four fifths of the sentences and judged on the others.",
        "sentence": "Maps were fitted on sentence pairs of one corpus and judged on another, in both directions.",
    }
    return (
        f"We aligned {who} layer by layer ({ways}).{reduced} Translations were retrieved by {by}. {how.get(level, '')} "
        "Intervals of precision are 95% (Wilson 1927)."
    )
