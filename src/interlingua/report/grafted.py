"""What `interlingua mapped-transfer` found: scores by the layer that was mapped, in words and a curve."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from interlingua.report.framed import Framed, table_of
from interlingua.report.graft_tables import COLUMNS, GraftTables
from interlingua.report.rows import printable
from interlingua.report.theme import Figure, Rows, alt, themed

if TYPE_CHECKING:
    pass

PAGE = "mapped-transfer.html"


def told(tables: GraftTables) -> Iterator[tuple[str, str]]:
    """What was found, in words."""
    source, target = tables.langs
    there, own = tables.curve(target), tables.curve(source).set_index(["setup", "layer"])["value"]
    for setup, rows in there.groupby("setup", sort=False):
        best = rows.loc[rows["development"].idxmax()]
        layer = int(best["layer"])
        yield (
            f"{setup}: {best['value']:.1%} in {target} at layer {layer}",
            f"The layer that is best on development sentences of {source}; 95% interval {best['low']:.1%} to "
            f"{best['high']:.1%}. In {source}, where it was trained, {own[setup, layer]:.1%}.",
        )


def curve(tables: GraftTables) -> Figure:
    """The score of the language without labels by the layer that is mapped, and dashed that of the source."""
    source, target = tables.langs
    made = [
        {"setup": str(r.setup), "layer": int(r.layer), "value": float(r.value), "low": float(r.low),
         "high": float(r.high), "language": lang}
        for lang in (target, source)
        for r in tables.curve(lang).itertuples()
    ]  # fmt: skip
    base = alt.Chart(Rows(printable(made))).encode(
        alt.X("layer:Q", title="layer below the fresh ones", axis=alt.Axis(tickMinStep=1, format="d")),
        color=alt.Color("setup:N", title=None, sort=None),
    )
    y = alt.Y("value:Q", title=str(tables.scores["metric"].iloc[0]), scale=alt.Scale(domainMin=0))
    dash = alt.StrokeDash("language:N", title=None, sort=None)
    band = base.mark_errorbar().encode(alt.Y("low:Q", title=""), alt.Y2("high:Q"))
    lines = alt.layer(base.mark_line(point=True).encode(y, dash), band)
    said = f"Trained in {source} above frozen layers, run in {target}; dashed: {source} itself. Bars: 95% interval."
    return themed(lines.properties(title={"text": _title(tables), "subtitle": [said]}, width=460, height=280))


def _title(tables: GraftTables) -> str:
    return f"{tables.config['task']}: {tables.config['models'][0]} onto {tables.config['models'][1]}"


def publish_graft(tables: GraftTables, folder: Path, *, formats: Sequence[str] = ("svg", "png")) -> Path:
    """The figure and the page into the folder; where the page is."""
    made = Framed(
        name="",
        brand="Interlingua mapped transfer",
        title=_title(tables),
        over="Over layers",
        told=list(told(tables)),
        figures={"curve": curve(tables)},
        data={},
        table=table_of(tables.scores, COLUMNS),
        methods=methods(tables),
        config=tables.config,
    )
    return made.publish(folder / PAGE, formats)


def methods(tables: GraftTables) -> str:
    """A paragraph for a paper."""
    config, (source, target) = tables.config, tables.langs
    beside = (
        f" Controls: the first layers of {config['control']}, as they are and mapped the same way."
        if config["control"]
        else ""
    )
    return (
        f"Layer i of {config['models'][0]} was frozen; {config['fresh']} transformer layers and a head for "
        f"{config['task']} were trained on it in {source} and run on layer i of {config['models'][1]} in {target}, "
        f"brought to the source's space by iterative normalisation and an orthogonal Procrustes rotation fitted on "
        f"words that a word aligner links in {config['corpus'][1]:,} rows of {config['corpus'][0]} (Wu et al. 2020)."
        f"{beside} Intervals (95%) are of sentences drawn again."
    )
