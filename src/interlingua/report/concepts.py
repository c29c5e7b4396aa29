"""The report of `interlingua concepts`: what it says in words, curves over layers, sweeps, a browser of concepts."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlingua.report.concept_tables import COLUMNS, ConceptTables, of_measure
from interlingua.report.framed import Framed, table_of
from interlingua.report.rows import distinct, printable
from interlingua.report.tables import BROWSED
from interlingua.report.theme import Figure, Rows, alt, themed

if TYPE_CHECKING:
    import pandas as pd

# Concepts that a page carries: layers are left out, the middle ones first, where there are more.
MOST = 9000
SPACES = {"base": "model", "tuned": "tuned model", "untrained": "untrained network"}
MEASURES = {
    "calign": "CALIGN",
    "colap": "COLAP, by tokens",
    "colap_types": "COLAP, by types",
    "lexical": "lexical concepts",
    "suffix": "suffix concepts",
    "tagged": "concepts of one tag",
}
# Translations that are known to too few of the words make CALIGN say little.
COVERED = 0.5


def told(tables: ConceptTables) -> list[tuple[str, str]]:
    """What was found, in words: a heading and a sentence or two each."""
    found = []
    source = str(tables.config["languages"][0])
    for target in map(str, tables.config["languages"][1:]):
        rows = of_measure(tables, "calign")
        rows = rows[(rows["source"] == source) & (rows["target"] == target)]
        if len(rows):
            found.append(_aligned(tables, rows, source, target))
        mixed = of_measure(tables, "colap")
        mixed = mixed[mixed["target"] == target]
        if len(mixed):
            found.append(_overlapping(tables, mixed, source, target))
    lexical = of_measure(tables, "lexical")
    lexical = lexical[lexical["source"] == source]
    if len(lexical) > 1:
        first, last = lexical.iloc[0], lexical.iloc[-1]
        way = "fewer" if last["value"] < first["value"] else "more"
        found.append(
            (
                f"Concepts of form: {way} towards the end",
                f"{first['value']:.0%} of the {source} concepts at layer {int(first['layer'])} and {last['value']:.0%} "
                f"at layer {int(last['layer'])} share an affix, digits, punctuation or capitals, or are one word; what "
                "the others share is not in their letters.",
            )
        )
    return found


def _aligned(tables: ConceptTables, rows: pd.DataFrame, source: str, target: str) -> tuple[str, str]:
    top = rows.loc[rows["value"].idxmax()]
    back = of_measure(tables, "calign")
    back = back[(back["source"] == target) & (back["target"] == source) & (back["layer"] == top["layer"])]
    other = f"; the other way {back['value'].iloc[0]:.0%}" if len(back) else ""
    beside = [_beside(tables, "calign", space, source, target) for space in ("tuned", "untrained")]
    cover = ""
    if top["covered"] < COVERED:
        cover = (
            f" Only {top['covered']:.0%} of the words have a translation among those of {target}: read it as a floor."
        )
    return (
        f"{source} to {target}: {top['value']:.0%} of concepts correspond at layer {int(top['layer'])}",
        f"{round(top['value'] * top['n']):,} of {int(top['n']):,} concepts with enough types ({int(top['all']):,} in "
        f"all), 95% interval {top['low']:.0%} to {top['high']:.0%}{other}. With words shuffled it is {top['null']:.1%}."
        f"{''.join(beside)}{cover}",
    )


def _overlapping(tables: ConceptTables, rows: pd.DataFrame, source: str, target: str) -> tuple[str, str]:
    top, last = rows.loc[rows["value"].idxmax()], rows.iloc[-1]
    beside = [_beside(tables, "colap", space, source, target) for space in ("tuned", "untrained")]
    return (
        f"{source} and {target} mix in {top['value']:.0%} of concepts at layer {int(top['layer'])}",
        f"95% interval {top['low']:.0%} to {top['high']:.0%}; {last['value']:.0%} at the last layer looked at. If "
        f"words were mixed at random it would be {top['null']:.0%}: more is not better, for a network that tells words "
        f"apart by nothing mixes them too.{''.join(beside)}",
    )


def _beside(tables: ConceptTables, measure: str, space: str, source: str, target: str) -> str:
    rows = of_measure(tables, measure, space)
    rows = rows[(rows["source"] == source) & (rows["target"] == target)]
    if not len(rows):
        return ""
    top = rows.loc[rows["value"].idxmax()]
    return f" The {SPACES[space]} has {top['value']:.0%} at its best layer ({int(top['layer'])})."


def figures(tables: ConceptTables) -> dict[str, Figure]:
    """The figures that are worth a file."""
    found = {
        "calign": curves(tables, ("calign",), "Concepts that correspond"),
        "colap": curves(tables, ("colap",), "Concepts in which languages mix"),
        "labels": curves(tables, ("lexical", "suffix", "tagged"), "Concepts of form"),
        "sweeps": sweeps(tables),
    }
    return {name: chart for name, chart in found.items() if chart is not None}


def curves(tables: ConceptTables, measures: Sequence[str], title: str) -> Figure | None:
    """Shares by layer, a line for each pair and model."""
    rows = tables.scores[tables.scores["measure"].isin(measures) & tables.scores["value"].notna()]
    if not len(rows):
        return None
    several = len(measures) > 1

    def name(r: Any) -> str:
        pair = (
            f"{r.source} to {r.target}"
            if r.measure == "calign"
            else f"{r.source} and {r.target}"
            if r.target
            else r.source
        )
        return ", ".join(filter(None, [pair, MEASURES[r.measure] if several else "", r.stack]))

    drawn: list[dict[str, Any]] = [
        {
            "what": name(r),
            "model": SPACES[r.space],
            "layer": int(r.layer),
            "value": float(r.value),
            "low": _finite(r.low, r.value),
            "high": _finite(r.high, r.value),
        }
        for r in rows.itertuples()
    ]
    models = distinct(r["model"] for r in drawn)
    dash = alt.StrokeDash(
        "model:N", title=None, scale=alt.Scale(domain=models, range=[[1, 0], [6, 3], [2, 3]][: len(models)]),
        legend=alt.Legend(orient="top"),
    )  # fmt: skip
    steps = sorted({r["layer"] for r in drawn})
    y = alt.Y("value:Q", title="share of concepts", axis=alt.Axis(format="%"), scale=alt.Scale(zero=True))
    colour = alt.Color(
        "what:N", title=None, scale=alt.Scale(domain=distinct(r["what"] for r in drawn)),
        legend=alt.Legend(orient="bottom", columns=2),
    )  # fmt: skip
    x = alt.X("layer:Q", axis=alt.Axis(values=steps, format="d", labelOverlap=True))
    base = alt.Chart(Rows(drawn)).encode(x=x, y=y, color=colour)
    layers = [
        base.mark_rule(opacity=0.5).encode(alt.Y("low:Q", title="share of concepts"), alt.Y2("high:Q")),
        base.mark_line().encode(strokeDash=dash),
        base.mark_point(),
    ]
    return themed(alt.layer(*layers).properties(title=_title(tables, title), width=420, height=260))


def sweeps(tables: ConceptTables) -> Figure | None:
    """CALIGN and COLAP under other thresholds: does the order of layers stay?"""
    rows = tables.sweeps[(tables.sweeps["space"] == "base") & tables.sweeps["value"].notna()]
    rows = rows[rows["stack"] == rows["stack"].iloc[0]] if len(rows) else rows
    rows = rows[rows["parameter"].isin(["match", "best", "types", "threshold"])]
    rows = rows[rows["source"] == tables.config["languages"][0]]
    rows = rows[rows["target"] == tables.config["languages"][1]]
    if not len(rows):
        return None
    names = {
        "match": "CALIGN: share matched",
        "best": "CALIGN: best translations",
        "types": "CALIGN: types, more than",
        "threshold": "COLAP: share of a language",
    }
    drawn: list[dict[str, Any]] = [
        {"of": names[r.parameter], "layer": int(r.layer), "value": float(r.value), "setting": float(r.setting)}
        for r in rows.itertuples()
    ]
    base = alt.Chart(Rows(drawn)).encode(
        x=alt.X("layer:Q", axis=alt.Axis(values=sorted({r["layer"] for r in drawn}), format="d", labelOverlap=True)),
        y=alt.Y("value:Q", title="share of concepts", axis=alt.Axis(format="%"), scale=alt.Scale(zero=True)),
        color=alt.Color("setting:N", title="set to", sort="ascending", legend=alt.Legend(orient="bottom", columns=8)),
    )
    chart = alt.layer(base.mark_line(), base.mark_point()).properties(width=200, height=150)
    return themed(
        chart.facet(facet=alt.Facet("of:N", title=None, sort=list(names.values())), columns=2)
        .resolve_scale(color="independent", x="independent", y="independent")
        .properties(title=_title(tables, "Other thresholds"))
    )


def _finite(value: Any, instead: Any) -> float:
    return float(value) if value is not None and math.isfinite(value) else float(instead)


def _title(tables: ConceptTables, what: str) -> dict[str, Any]:
    config = tables.config
    models = " and ".join(map(str, config.get("models", [])))
    under = f"{', '.join(map(str, config['languages']))} · {models} · {config['k']} concepts"
    return printable({"text": what, "subtitle": [under]})  # type: ignore[no-any-return]


def publish_concepts(tables: ConceptTables, folder: Path, *, formats: Sequence[str] = ("svg", "png")) -> Path:
    """The figures and the page of a run into its folder; where the page is."""
    return framed(tables).publish(folder / BROWSED, formats)


def framed(tables: ConceptTables) -> Framed:
    """The page."""
    config = tables.config
    models = " and ".join(map(str, config.get("models", [])))
    return Framed(
        name="concepts",
        brand="Interlingua concepts",
        title=f"{models}, {', '.join(map(str, config['languages']))}",
        over="Over layers",
        told=told(tables),
        figures=figures(tables),
        data=_browsed(tables),
        table=_table(tables),
        methods=methods(tables),
        config=config,
    )


def _browsed(tables: ConceptTables) -> dict[str, Any]:
    """Concepts by model and layer; each word and sentence once."""
    rows = tables.concepts
    layers = sorted(map(int, rows["layer"].unique()))
    if not layers:
        return {}
    scores = of_measure(tables, "calign")
    top = int(scores.loc[scores["value"].idxmax(), "layer"]) if len(scores) else layers[-1]
    order = sorted(layers, key=lambda n: (n != top, n not in (layers[0], layers[-1]), n))
    kept = set(order[: max(1, MOST // max(1, len(rows) // len(layers)))])
    words: dict[str, int] = {}
    texts: dict[str, int] = {}
    found: dict[str, dict[str, dict[str, list[Any]]]] = {}
    for r in rows[rows["layer"].isin(kept)].itertuples():
        said = [[lang, texts.setdefault(text, len(texts)), a, b] for lang, text, a, b in json.loads(r.examples)]
        cell = [
            int(r.concept), r.kind, r.value, int(r.types), int(bool(r.overlaps)),
            [words.setdefault(str(w), len(words)) for w in r.words], [int(n) for n in r.counts], list(r.languages),
            [_partner(partner, words) for partner in json.loads(r.partners)], said,
            r.name if isinstance(r.name, str) else "", r.tag if isinstance(r.tag, str) else "",
        ]  # fmt: skip
        found.setdefault(str(r.space), {}).setdefault(str(int(r.layer)), {}).setdefault(str(r.group), []).append(cell)
    langs = list(map(str, tables.config["languages"]))
    start = {"space": "base", "layer": str(top)}
    return printable(  # type: ignore[no-any-return]
        {"words": list(words), "texts": list(texts), "found": found, "languages": langs, "start": start}
    )


def _partner(partner: list[Any], words: dict[str, int]) -> list[Any]:
    """A concept that corresponds, with the translations that make it so."""
    *which, why = partner
    return [*which, [[words.setdefault(w, len(words)) for w in pair] for pair in why]]


def _table(tables: ConceptTables) -> str:
    """Every number as a table."""
    shares = ("value", "low", "high", "null", "covered")
    ordered = tables.scores.sort_values(["space", "measure", "source", "target", "layer"])
    return table_of(ordered, COLUMNS, lambda column, value: _cell(value, share=column in shares))


def _cell(value: Any, *, share: bool) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return f"{value:.3f}" if share else f"{value:,.0f}" if isinstance(value, float) else str(value)


def methods(tables: ConceptTables) -> str:
    """A paragraph for a paper."""
    config = tables.config
    rules, corpus = config["rules"], config["corpus"]
    kept = (
        f"at most {config['times']} occurrences of each word form"
        if config["reading"] == "cap"
        else f"words that occur at least {config['times']} times"
    )
    strict = "more than" if rules["strict"] else "at least"
    return (
        f"Words in context of {corpus['rows']:,} sentence pairs of {corpus['name']} ({kept}) were clustered into "
        f"{config['k']} concepts a layer by k-means, separately for each language (CALIGN) and for each pair together "
        f"(COLAP). A concept of more than {rules['types']} types is aligned if {strict} {rules['match']:.0%} of its "
        f"types have one of their {rules['best']} best translations (by relative frequency of word alignment links) in "
        f"one concept of the other language, and sizes agree ({rules['size']:g}). A concept overlaps if "
        f"{config['languages_needed']} languages each make up at least {config['threshold']:.0%} of it (Mousi et al. "
        "2024). Intervals are 95% over concepts (Wilson 1927); the null of CALIGN puts the words of the other language "
        "in one another's place."
    )
