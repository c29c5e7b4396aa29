"""`interlingua report`, `recommend`, `neurons`, `layers`: what can be asked of folders of results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlingua.cli.compare import formats_of, show
from interlingua.cli.data import Formats, Json

if TYPE_CHECKING:
    import pandas as pd

    from interlingua.report.tables import Tables
    from interlingua.types import Representations

Folders = Annotated[list[Path], typer.Argument(help="Folders that `interlingua compare` wrote.", metavar="DIR...")]
Folder = Annotated[Path, typer.Argument(help="A folder that `interlingua compare` wrote.", metavar="DIR")]
ModelName = Annotated[str, typer.Option("--model", help="Which model, where there are several.")]
PoolingName = Annotated[str, typer.Option("--pooling", help="Which pooling; by default the run's first.")]
# Maps whose values lie closer together than this have no nearest layers.
ALIKE = 0.01
PairOf = Annotated[str, typer.Option("--pair", help="Two languages: en,fr. By default the first pair.")]


def report(
    folders: Folders,
    out: Annotated[Path | None, typer.Option("--out", help="Where to write; by default the folder itself.")] = None,
    formats: Formats = "svg,png",
    title: Annotated[str, typer.Option(help="Of the report.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace another run or report there.")] = False,
    as_json: Json = False,
) -> None:
    """Draw the figures and write the report of a run again, or one report of several comparisons of the same sentences.

    Example: interlingua report results-a results-b --out both
    """
    from interlingua.errors import InputError
    from interlingua.folders import claimed
    from interlingua.report.publish import publish
    from interlingua.report.tables import DETAILS, kind_of, merge, read

    if len(folders) > 1 and out is None:
        raise InputError("say where the merged report goes with --out")
    kinds = [kind_of(folder) for folder in folders]
    if other := [kind for kind in kinds if kind]:
        if len(folders) > 1 or out is not None:
            raise InputError(f"a run of `interlingua {other[0]}` is drawn again alone and in its own folder")
        _drawn_again(other[0], folders[0], formats_of(formats), as_json=as_json)
        return
    tables = merge([read(folder) for folder in folders])
    for folder in folders:
        if not (folder / DETAILS).exists():
            typer.echo(f"{folder / DETAILS} is missing: no neurons, sentences or geometry of it are shown", err=True)
    place = out or folders[0]
    figures = formats_of(formats)
    with claimed(place):
        place = publish(tables, place, formats=figures, title=title, force=force)
    show(tables, place, as_json=as_json)


def _drawn_again(kind: str, folder: Path, formats: tuple[str, ...], *, as_json: bool) -> None:
    """The page of a run of another verb than `compare`."""
    from interlingua.cli.concepts import show_concepts
    from interlingua.cli.map import show_map
    from interlingua.cli.mapped_transfer import show_graft
    from interlingua.cli.transfer import show_transfer
    from interlingua.cli.unseen import show_unseen
    from interlingua.folders import claimed
    from interlingua.report.concept_tables import read_concept_tables
    from interlingua.report.concepts import publish_concepts
    from interlingua.report.graft_tables import read_graft
    from interlingua.report.grafted import publish_graft
    from interlingua.report.map_tables import read_map
    from interlingua.report.mapped import publish_map
    from interlingua.report.transfer_tables import read_transfer
    from interlingua.report.transferred import publish_transfer
    from interlingua.report.unseen import publish_unseen
    from interlingua.report.unseen_tables import read_unseen

    with claimed(folder):
        if kind == "map":
            mapped = read_map(folder)
            show_map(mapped, publish_map(mapped, folder, formats=formats), as_json=as_json)
        elif kind == "mapped-transfer":
            grafted = read_graft(folder)
            show_graft(grafted, publish_graft(grafted, folder, formats=formats), as_json=as_json)
        elif kind == "transfer":
            tuned = read_transfer(folder)
            show_transfer(tuned, publish_transfer(tuned, folder, formats=formats), as_json=as_json)
        elif kind == "unseen":
            tried = read_unseen(folder)
            show_unseen(tried, publish_unseen(tried, folder, formats=formats), as_json=as_json)
        else:
            found = read_concept_tables(folder)
            show_concepts(found, publish_concepts(found, folder, formats=formats), as_json=as_json)


def recommend(folders: Folders, as_json: Json = False) -> None:
    """Say which layer and pooling to use for retrieval, where little is to be expected, and what would help.

    Example: interlingua recommend results
    """
    from dataclasses import asdict

    from interlingua.cli.terminal import visible
    from interlingua.report.advice import advice
    from interlingua.report.tables import merge, read

    found = advice(merge([read(folder) for folder in folders]))
    if as_json:
        typer.echo(json.dumps([asdict(each) for each in found], indent=2, ensure_ascii=False))
        return
    for each in found:
        typer.echo(visible(f"{each.model}: {' '.join(each.sentences)}"))


def neurons(
    folder: Folder,
    layer: Annotated[int, typer.Option("--layer", help="By default the one where ANC is highest.", min=-1)] = -1,
    pair: PairOf = "",
    model: ModelName = "",
    pooling: PoolingName = "",
    count: Annotated[int, typer.Option("--count", "-n", help="How many to show at either end.", min=1)] = 10,
    as_json: Json = False,
) -> None:
    """Show the neurons that two languages share most and least; write all of them as a table.

    Example: interlingua neurons results --pair en,fr --layer 8
    """
    import numpy as np

    from interlingua.analyses.sweep import model_name
    from interlingua.errors import InputError, UndefinedError
    from interlingua.measures.anc import anc
    from interlingua.measures.prepare import Preparation
    from interlingua.report.figures import file_name
    from interlingua.report.tables import read

    config = read(folder).config
    prepared = config.get("preparation", {})
    reps = stored(folder, model, pooling)
    if not reps.signature.get("one_network", True) and not config.get("same_neurons"):
        raise InputError("neurons of two networks do not correspond: there are none to list")
    source, target = pair_of(reps, pair)
    step = Preparation(**{**prepared, "without_neurons": tuple(prepared.get("without_neurons", ()))})
    values = {}
    for at in range(reps.layers) if layer < 0 else [layer]:
        try:
            values[at] = anc(step(reps[source, at]), step(reps[target, at]))
        except UndefinedError:
            if layer >= 0:
                raise
    if not values:
        raise InputError(f"no layer has a correlation between {source} and {target}")
    at = max(values, key=lambda key: values[key].value)
    numbers = step.kept(reps.width(source))
    signed = np.asarray(values[at].signed)
    order = sorted(range(len(signed)), key=lambda i: (np.isnan(signed[i]), -abs(np.nan_to_num(signed[i]))))
    way = str(reps.signature.get("pooling", ""))
    own = file_name(f"neurons-{model_name(reps)}-{way}-{source}-{target}-layer{at}")
    place = folder / f"{own}.csv"
    lines = ["neuron,correlation", *(f"{numbers[i]},{signed[i]:.6g}" for i in order)]
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")
    figure = _draw_neurons(folder, own, at, (source, target), reps, signed)
    there = [i for i in order if not np.isnan(signed[i])]
    most, least = there[:count], there[-count:]
    if as_json:
        facts = {"layer": at, "source": source, "target": target, "anc": values[at].value, "table": str(place)}
        facts["figure"] = str(figure)
        ends = {name: {numbers[i]: float(signed[i]) for i in some} for name, some in (("most", most), ("least", least))}
        typer.echo(json.dumps({**facts, **ends}, indent=2))
        return
    typer.echo(f"{source}-{target}, layer {at}, {way} pooling: ANC {values[at].value:.3f} over {len(there)} neurons")
    for name, some in (("most shared", most), ("least shared", least)):
        typer.echo(f"{name:>12}: " + ", ".join(f"{numbers[i]} ({signed[i]:+.2f})" for i in some))
    typer.echo(f"all of them: {place}; how they are spread: {figure}")


def _draw_neurons(
    folder: Path, name: str, layer: int, pair: tuple[str, str], reps: Representations, signed: Any
) -> Path:
    """How all neurons of a layer correlate, as a figure."""
    from interlingua.analyses.details import counted
    from interlingua.analyses.sweep import model_name
    from interlingua.report.figures import neuron_histogram, save
    from interlingua.report.publish import FIGURES
    from interlingua.report.tables import Tables

    here = {"model": model_name(reps), "pooling": str(reps.signature.get("pooling", "")), "layer": layer}
    known = {**here, "source": pair[0], "target": pair[1]}
    rows = [{**known, **row} for row in counted(signed)]
    chart = neuron_histogram(Tables.of({}, histograms=rows).histograms, layer, pair, model_name(reps))
    save({name: chart}, folder / FIGURES)
    return folder / FIGURES / f"{name}.svg"


def layers(
    folder: Folder,
    pair: PairOf = "",
    measure: Annotated[str, typer.Option(help="Any but the neuron-wise ones.")] = "linear_cka",
    model: ModelName = "",
    pooling: PoolingName = "",
    other: Annotated[str, typer.Option(help="Another model of the folder, to read the second language.")] = "",
    as_json: Json = False,
) -> None:
    """Compare every layer of one language with every layer of another, and draw the map; the report gets it too.

    Example: interlingua layers results --pair en,fr
    """
    from interlingua.analyses.compare import compare_layers
    from interlingua.analyses.sweep import model_name
    from interlingua.cli.progress import bar
    from interlingua.cli.terminal import visible
    from interlingua.folders import claimed
    from interlingua.report.figures import file_name, layer_matrix, save
    from interlingua.report.publish import FIGURES, publish
    from interlingua.report.tables import Tables, read

    reps = stored(folder, model, pooling)
    beside = stored(folder, other, pooling) if other else None
    source, target = pair_of(reps, pair)
    with bar("comparing layers") as progress:
        grid = compare_layers(reps, source, target, measure, other=beside, progress=progress)
    name = model_name(reps) + (f" and {model_name(beside)}" if beside is not None else "")
    way = str(reps.signature.get("pooling", ""))
    known = {"model": name, "pooling": way, "source": source, "target": target}
    rows = [
        {**known, "measure": measure, "source_layer": int(i), "target_layer": int(j), "value": float(grid.loc[i, j])}
        for i in grid.index
        for j in grid.columns
    ]
    new = Tables.of({}, layers=rows)
    figure = file_name(f"layers-{name}-{way}-{source}-{target}-{measure}")
    save({figure: layer_matrix(new.layers, measure, name, (source, target))}, folder / FIGURES)
    with claimed(folder):
        publish(with_layers(read(folder), new.layers), folder, formats=())
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    typer.echo(f"{measure}, {source} by row and {target} by column, of {visible(name)} ({way} pooling)")
    typer.echo(grid.to_string(float_format=lambda v: f"{v:.2f}", na_rep="-"))
    there = [i for i in grid.index if grid.loc[i].notna().any()]
    if grid.max().max() - grid.min().min() < ALIKE:
        typer.echo(f"all are alike: they differ by less than {ALIKE}")
    elif there:
        typer.echo("nearest layer: " + ", ".join(f"{i}->{grid.loc[i].idxmax()}" for i in there))
    typer.echo(f"the map is {folder / FIGURES / figure}.svg")


def with_layers(tables: Tables, rows: pd.DataFrame) -> Tables:
    """The tables with a map of layers more, in place of one of the same."""
    from dataclasses import replace

    from interlingua.report.tables import pandas

    keys = ["model", "pooling", "source", "target", "measure"]
    new = rows[keys].drop_duplicates()
    kept = tables.layers.merge(new, on=keys, how="left", indicator=True)
    kept = kept[kept["_merge"] == "left_only"].drop(columns="_merge")
    return replace(tables, layers=pandas().concat([kept, rows], ignore_index=True) if len(kept) else rows)


def stored(folder: Path, model: str, pooling: str) -> Representations:
    """The representations of a model in a folder of results; by default with the pooling that the run named first."""
    from interlingua.analyses.sweep import model_name
    from interlingua.errors import InputError, UnknownNameError
    from interlingua.extract import open_store
    from interlingua.report.tables import REPRESENTATIONS, read
    from interlingua.types import Representations

    found: dict[tuple[str, str], Representations] = {}
    for path in sorted((folder / REPRESENTATIONS).glob("*.zarr")):
        reps = open_store(path)
        if isinstance(reps, Representations) and ".random." not in path.name:
            found[model_name(reps), str(reps.signature.get("pooling", ""))] = reps
    if not found:
        raise InputError(f"{folder} holds no representations: run interlingua compare with --out {folder}")
    names = list(dict.fromkeys(name for name, _ in found))
    if model and model not in names:
        raise UnknownNameError("model in this folder", model, names)
    if not model and len(names) > 1:
        raise InputError(f"there are several models, choose one with --model: {', '.join(names)}")
    mine = {way: reps for (name, way), reps in found.items() if name == (model or names[0])}
    if pooling and pooling not in mine:
        raise UnknownNameError("pooling in this folder", pooling, mine)
    usual = [way for way in read(folder).config.get("poolings", []) if way in mine]
    return mine[pooling or next(iter([*usual, *mine]))]


def pair_of(reps: Representations, text: str) -> tuple[str, str]:
    """Two languages as the user named them, or the first two."""
    from interlingua.cli.data import tags
    from interlingua.errors import InputError, UnknownNameError

    langs = tags(text) if text else reps.langs[:2]
    if len(langs) != 2:
        raise InputError(f"a pair is two languages like en,fr, not {text!r}")
    for lang in langs:
        if lang not in reps.langs:
            raise UnknownNameError("language", str(lang), map(str, reps.langs))
    return str(langs[0]), str(langs[1])
