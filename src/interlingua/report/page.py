"""The report as one HTML file that opens from disk: words, linked charts, sentences, a table, and a methods section.

Nothing in it comes from a network or may ask for one. Whatever came from a corpus or a model is data: it stands in JSON
or is escaped, and the page puts it in place as text.
"""

from __future__ import annotations

import base64
import hashlib
import html
import math
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from interlingua import __version__
from interlingua.errors import InputError
from interlingua.report import words
from interlingua.report.bars import RETRIEVAL, matching_bars, neuron_histogram, prepared_bars
from interlingua.report.curves import GEOMETRY, agreement, geometry_curve, layer_curves, spread
from interlingua.report.embed import as_json, embedded
from interlingua.report.figures import vl_convert
from interlingua.report.maps import language_matrix, layer_matrix, pair_map
from interlingua.report.methods import bibtex, methods
from interlingua.report.rows import distinct, of_baseline, of_model, peak, printable, with_series
from interlingua.report.tables import COLUMNS, Tables
from interlingua.report.theme import Figure, config

# In the order in which they are put together: each uses what stands before it.
SCRIPTS = ("data.js", "charts.js", "panels.js", "table.js", "page.js")
# The columns of the table of verdicts.
VERDICT = (
    "model",
    "pair",
    "layer 0",
    "peak",
    "interval",
    "at layer",
    "shuffled",
    "untrained",
    "last",
    "found",
    "verdict",
)
# The name of the rows in every specification of the page.
ROWS = "rows"


def page(tables: Tables, *, title: str) -> str:
    """The whole page."""
    vega = _vega()
    script = "(() => {\n'use strict';\n" + "\n".join(template(name) for name in SCRIPTS) + "\n})();"
    parts = {
        "policy": policy(vega, script),
        "title": shown(title),
        "css": template("page.css"),
        "facts": _facts(tables),
        "summary": _summary(tables),
        "methods": shown(methods(tables)),
        "bibtex": shown(bibtex(tables)),
        "versions": versions(tables.config),
        "data": as_json(embedded(tables)),
        "charts": as_json(charts(tables)),
        "vega": vega,
        "script": script,
    }
    # in one pass: what is put in is not searched again
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template("page.html"))


@cache
def _vega() -> str:
    return str(vl_convert().javascript_bundle("window.vegaEmbed = vegaEmbed;"))


def template(name: str) -> str:
    """A file of the page."""
    return (files("interlingua.report") / "page" / name).read_text(encoding="utf-8")


def policy(*scripts: str) -> str:
    """Only these scripts run, none is made from text, and nothing is asked of any network."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def charts(tables: Tables) -> dict[str, Any]:
    """Every chart the page draws, in both looks, and what is chosen at first."""
    values = with_series(tables.values)
    measured = values[~of_baseline(values)]
    chosen = _chosen(tables)
    known = {"chosen": printable(chosen), "columns": COLUMNS["values"], "retrieval": RETRIEVAL}
    if chosen is None:
        return {**known, "charts": {}}
    model, pair, measure, layer = chosen["series"], tuple(chosen["pair"]), chosen["measure"], chosen["layer"]
    drawn: dict[str, Figure] = {"curves": layer_curves(tables.values, measure, pair)}
    if len(measured[["source", "target"]].drop_duplicates()) > 1:
        drawn["spread"] = spread(tables.values, measure)
        drawn["map"] = pair_map(tables.values, measure)
        drawn["matrix"] = language_matrix(tables.values, measure, layer)
    if measured["measure"].nunique() > 1:
        drawn["agreement"] = agreement(tables.values, model, pair)
    if measured["measure"].isin(RETRIEVAL).any():
        drawn["matching"] = matching_bars(tables.values, layer)
    drawn |= _details(tables)
    return {**known, "charts": {name: _compiled(chart, untitled=measure) for name, chart in drawn.items()}}


def _details(tables: Tables) -> dict[str, Figure]:
    """Charts of the tables that are there; drawn from whichever rows come first, for the page gives them their own."""
    found: dict[str, Figure] = {}
    for name, draw in (("histograms", neuron_histogram), ("prepared", prepared_bars)):
        frame = getattr(tables, name)
        if len(frame):
            row = frame.iloc[0]
            chart = draw(frame, int(row["layer"]), pair=(row["source"], row["target"]), model=row["model"])
            found[name] = chart
    if len(tables.layers):
        row = tables.layers.iloc[0]
        found["layers"] = layer_matrix(tables.layers, row["measure"], row["model"], (row["source"], row["target"]))
    for quantity in GEOMETRY:
        if len(tables.geometry) and tables.geometry[quantity].notna().any():
            found[quantity] = geometry_curve(tables.geometry, quantity)
    return found


def _chosen(tables: Tables) -> dict[str, Any] | None:
    """What is shown at first: the first model and pair, the measure that the summary goes by, at its highest layer."""
    values = with_series(tables.values)
    measured = values[~of_baseline(values)]
    if not len(measured):
        return None
    try:
        measure = words.judge(tables)
    except InputError:
        measure = str(measured["measure"].iloc[0])
    series = str(distinct(measured["series"])[0])
    rows = of_model(measured[measured["measure"] == measure], series)
    row = (rows if len(rows) else measured).iloc[0]
    top = peak(tables.values, measure, series)
    return {
        "series": series,
        "pair": [str(row["source"]), str(row["target"])],
        "measure": measure,
        "layer": int(row["layer"]) if top is None else top,
    }


def _compiled(chart: Figure, *, untitled: str = "") -> dict[str, Any]:
    """A chart as Vega draws it, light and dark, and the part of its caption that holds whatever is chosen."""
    spec = printable(specification(chart, untitled=untitled))
    title = chart.to_dict().get("title")
    told = title.get("subtitle", []) if isinstance(title, Mapping) else []
    found: dict[str, Any] = {"caption": " ".join([told] if isinstance(told, str) else list(told)[1:])}
    for look, dark in (("light", False), ("dark", True)):
        config_ = {**config(dark=dark), "background": None, "padding": 2}
        found[look] = vl_convert().vegalite_to_vega({**spec, "config": config_})
    return found


def specification(chart: Figure, *, untitled: str = "") -> dict[str, Any]:
    """A chart's specification with the page's rows for its own, as wide as its place, its title left to the page."""
    spec = chart.to_dict()
    for key in ("title", "datasets", "config", "width"):
        spec.pop(key, None)
    spec |= {"data": {"name": ROWS}, "width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}
    found: dict[str, Any] = _without(spec, untitled)
    return found


def _without(spec: Any, title: str) -> Any:
    """Without the titles that name the measure: the page names the one that is chosen."""
    if isinstance(spec, list):
        return [_without(each, title) for each in spec]
    if not isinstance(spec, dict):
        return spec
    return {k: None if title and k == "title" and v == title else _without(v, title) for k, v in spec.items()}


def shown(words_: str) -> str:
    """Text as HTML shows it; characters that stand for nothing are replaced."""
    return html.escape(printable(words_))


def _summary(tables: Tables) -> str:
    try:
        told, careful = words.summary(tables), words.cautions(tables)
    except InputError as error:
        return f"<p>{shown(str(error))}</p>"
    cards = "".join(
        f'<div class="finding"><h3 dir="auto">{shown(heading)}</h3><p dir="auto">{shown(sentence)}</p></div>'
        for heading, sentence in told
    )
    items = "".join(f'<li dir="auto">{shown(each)}</li>' for each in careful)
    caution = f'<div class="caution"><h3>Be careful</h3><ul>{items}</ul></div>' if items else ""
    none = "" if cards else "<p>There are no values that can be summed up.</p>"
    return f'{none}<div class="findings">{cards}</div>{_verdicts(tables)}{caution}'


def _verdicts(tables: Tables) -> str:
    """A line for every model and pair: the curve in numbers, and what to make of it."""
    found = words.verdicts(tables)
    if not found:
        return ""
    rows = []
    for v in found:
        cells = (
            words.label(tables, v.model, v.pooling),
            f"{v.source} – {v.target}",
            _two(v.first),
            _two(v.peak),
            f"{_two(v.low)} to {_two(v.high)}" if math.isfinite(v.low) else "",
            str(v.peak_layer),
            _two(v.null),
            _two(v.untrained),
            _two(v.last),
            f"{v.matched:.0%}" if math.isfinite(v.matched) else "",
            v.verdict,
        )
        rows.append("<tr>" + "".join(f'<td dir="auto">{shown(cell)}</td>' for cell in cells) + "</tr>")
    titles = "".join(f'<th scope="col">{name}</th>' for name in VERDICT)
    return (
        f"<details{' open' if len(found) <= 30 else ''}><summary>Every pair, by {shown(found[0].measure)}</summary>"
        '<div class="scroll" tabindex="0" role="region" aria-label="Verdicts"><table id="verdicts">'
        f"<thead><tr>{titles}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        '<p class="caption">Shuffled: the value of pairs put together at random. Untrained: a network of random '
        "weights at the same layer. Found: sentences whose nearest is their translation, at the best layer for that."
        "</p></details>"
    )


def _two(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else ""


def _facts(tables: Tables) -> str:
    values = tables.values
    measured = values[~of_baseline(values)]
    corpus = tables.config.get("corpus")
    corpus = corpus if isinstance(corpus, Mapping) else {}
    langs = distinct(map(str, [*measured["source"], *measured["target"]]))
    counts = [
        (measured["model"].nunique(), "model"),
        (len(langs), "language"),
        (measured[["source", "target"]].drop_duplicates().shape[0], "pair"),
        (measured["layer"].nunique(), "layer"),
        (measured["measure"].nunique(), "measure"),
        (int(corpus.get("rows") or (measured["n"].max() if measured["n"].notna().any() else 0)), "sentence"),
    ]
    told = [f"<b>{count:,}</b> {what}{'s' * (count != 1)}" for count, what in counts if count]
    if corpus.get("name"):
        told.append(f"corpus <b><bdi>{shown(str(corpus['name']))}</bdi></b>")
    return "".join(f"<li>{each}</li>" for each in told)


def versions(asked: Mapping[str, Any]) -> str:
    """What a run was made with, as HTML."""
    given = asked.get("versions")
    known = dict(given) if isinstance(given, Mapping) else {}
    known.setdefault("interlingua", __version__)
    return " · ".join(shown(f"{name} {version}") for name, version in known.items())
