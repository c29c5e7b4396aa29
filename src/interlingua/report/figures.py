"""Every figure of a report by name, and files of them: SVG and PNG (or PDF) with no browser and no network.

The figures themselves are functions from a table to a chart: curves by layer, heat maps, and bars of one layer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from interlingua.errors import InputError, MissingExtraError
from interlingua.folders import whole
from interlingua.report.bars import RETRIEVAL, matching_bars, neuron_histogram, neuron_ranking, prepared_bars
from interlingua.report.curves import agreement, geometry_curve, geometry_panel, layer_curves, spread
from interlingua.report.maps import language_matrix, layer_matrix, pair_map
from interlingua.report.rows import distinct, of_baseline, of_model, peak, printable, with_series
from interlingua.report.tables import Tables
from interlingua.report.theme import Figure, themed

__all__ = [
    "agreement", "all_figures", "geometry_curve", "geometry_panel", "language_matrix", "layer_curves", "layer_matrix",
    "matching_bars", "neuron_histogram", "neuron_ranking", "notebook_html", "pair_map", "prepared_bars", "save",
    "spread", "themed",
]  # fmt: skip

# Models that get figures of their own; the page shows all of them.
MODELS = 8
# Dots a point: about 220 dots an inch.
SCALE = 3.0


def all_figures(tables: Tables) -> dict[str, Figure]:
    """The figures that are worth a file, by names that are safe as file names. What was not measured has none."""
    values = with_series(tables.values)
    measured = values[~of_baseline(values)]
    measures = distinct(measured["measure"])
    found: dict[str, Figure] = {}
    for measure in measures:
        found[f"curves-{measure}"] = layer_curves(tables.values, measure)
        found[f"spread-{measure}"] = spread(tables.values, measure)
    for model in distinct(measured["series"])[:MODELS]:
        found |= {f"{kind}-{model}": chart for kind, chart in _of_model(tables, model, measures).items()}
    named: dict[str, Figure] = {}
    for name, chart in found.items():
        stem = file_name(name)
        while stem in named:
            stem += "-2"
        named[stem] = chart
    return named


def _of_model(tables: Tables, model: str, measures: Sequence[str]) -> dict[str, Figure]:
    values = tables.values
    found: dict[str, Figure] = {}
    lead = measures[0]
    layer = peak(values, lead, model)
    if layer is not None:
        found[f"matrix-{lead}"] = language_matrix(values, lead, layer, model)
        found[f"pairs-{lead}"] = pair_map(values, lead, model)
    if len(measures) > 1:
        found["agreement"] = agreement(values, model)
    retrieval = [m for m in RETRIEVAL if m in measures]
    best = peak(values, retrieval[0], model) if retrieval else None
    if best is not None:
        found["matching"] = matching_bars(values, best, model)
        if len(of_model(tables.prepared, model)):
            found["prepared"] = prepared_bars(tables.prepared, best, model)
    if len(of_model(tables.geometry, model)):
        found["geometry"] = geometry_panel(tables.geometry, model)
    counted = of_model(tables.histograms, model)
    if layer is not None and len(counted):
        pair = (str(counted["source"].iloc[0]), str(counted["target"].iloc[0]))
        found["neurons"] = neuron_histogram(tables.histograms, layer, pair, model)
        found["extremes"] = neuron_ranking(tables.neurons, layer, pair, model)
    if len(of_model(tables.layers, model)):
        found["layers"] = layer_matrix(tables.layers, None, model)
    return found


def file_name(name: str) -> str:
    """A name that every file system takes, in any script."""
    kept = re.sub(r"[^\w.-]+", "-", name).strip("-.")
    return kept.encode()[:200].decode(errors="ignore") or "figure"


def save(figures: Mapping[str, Figure], folder: Path, formats: Sequence[str] = ("svg", "png")) -> tuple[Path, ...]:
    """Write each figure in each format, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, chart in figures.items():
        drawn = drawing(chart)
        for kind in formats:
            path = folder / f"{file_name(name)}.{kind}"
            whole(path, _converted(drawn, kind))
            written.append(path)
    return tuple(written)


def drawing(chart: Figure) -> str:
    """A chart as SVG."""
    return str(vl_convert().vegalite_to_svg(json.dumps(printable(chart.to_dict()))))


def _converted(drawing: str, kind: str) -> bytes:
    convert = vl_convert()
    ways: dict[str, Callable[[], bytes]] = {
        "svg": drawing.encode,
        "png": lambda: bytes(convert.svg_to_png(drawing, scale=SCALE)),
        "pdf": lambda: bytes(convert.svg_to_pdf(drawing)),
    }
    if kind not in ways:
        raise InputError(f"figures are written as {', '.join(ways)}, not {kind!r}")
    return ways[kind]()


def notebook_html(chart: Figure) -> str:
    """A chart as HTML for a notebook: a drawing, with no script and no network."""
    return f'<div class="interlingua-figure">{drawing(chart)}</div>'


def vl_convert() -> Any:
    """The library that draws without a browser, or an error that says how to install it."""
    try:
        import vl_convert as convert
    except ImportError as error:
        raise MissingExtraError("vl-convert-python", "report", "drawing figures") from error
    return convert
