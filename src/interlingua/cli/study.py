"""`interlingua study ls | show | run | again | claims`: the published experiments, run again."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlingua.cli.data import Formats, Json
from interlingua.cli.extract import Address, EngineName
from interlingua.cluster import RAY, Engine

if TYPE_CHECKING:
    from interlingua.studies.claims import Judgement
    from interlingua.studies.results import Results

app = typer.Typer(
    help="Published experiments, run again: what the papers claim, and what is found here.\n\n"
    "Example: interlingua study run normalisation --smoke --out smoke",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Size = Annotated[
    str,
    typer.Option(
        "--size",
        help="The dial: mini (minutes of a GPU a cell; the default), up to the paper's own and down to laptop (no "
        "GPU). `study ls` names them.",
    ),
]
Changes = Annotated[list[str] | None, typer.Option("--set", help="key=value, over the settings; may be repeated.")]
ROOT = Path("studies/results")
# The share of values that must lie in their intervals for a cell to have come out the same: 95 % intervals of one run,
# and both runs vary.
AGREE = 0.8


@app.command("ls")
def ls(as_json: Json = False) -> None:
    """List the studies.

    Example: interlingua study ls
    """
    from interlingua.studies.catalog import STUDIES, find
    from interlingua.studies.claims import claims
    from interlingua.studies.study import sizes

    rows: list[dict[str, Any]] = []
    for name in STUDIES:
        study = find(name)
        mine = [claim.id for claim in claims() if claim.study == name]
        rows.append({"name": name, "title": study.title, "source": study.source, "sizes": sizes(study), "claims": mine})
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        typer.echo(f"{row['name']}: {row['title']}")
        typer.echo(f"    {row['source']}; claims {', '.join(row['claims'])}; sizes {', '.join(row['sizes'])}")


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(help="A study.")],
    size: Size = "",
    changes: Changes = None,
    results: Annotated[Path, typer.Option("--results", help="Where results are, a folder a study.")] = ROOT,
    as_json: Json = False,
) -> None:
    """Show a study: its settings, its cells and which of them are done, and the rules that decide its claims.

    Example: interlingua study show normalisation
    """
    from interlingua.studies.catalog import find
    from interlingua.studies.claims import claims
    from interlingua.studies.study import settings_of

    study = find(name)
    _where(results)
    settings = settings_of(study, size, changes or ())
    every = {each.settings.size: each for each in _held(name, results)}
    held = every.pop(settings.size, None)
    if held and not changes:
        settings = held.settings
    cells = [cell.name for cell in study.cells(settings)]
    done = set(held.cells) if held and held.settings == settings else set()
    mine = [claim for claim in claims() if claim.study == name]
    if as_json:
        facts = {
            "name": name,
            "settings": settings.model_dump(mode="json"),
            "cells": {cell: cell in done for cell in cells},
            "claims": {claim.id: [str(rule) for rule in claim.rules] for claim in mine},
        }
        typer.echo(json.dumps(facts, indent=2))
        return
    typer.echo(f"{name}: {study.title}\n{study.source}\n\nsettings")
    for key, value in settings.model_dump(mode="json").items():
        typer.echo(f"    {key}: {value}")
    beside = "".join(f"; at another size: {each.scale} (--size {size})" for size, each in every.items())
    typer.echo(f"\ncells: {len(done)} of {len(cells)} done{beside}")
    for cell in cells:
        typer.echo(f"    {'done' if cell in done else '-   '} {cell}")
    typer.echo("\nclaims")
    for claim in mine:
        typer.echo(f"    {claim.id} ({claim.source}): {claim.text}. Published: {claim.published}")
        for rule in claim.rules:
            typer.echo(f"        {rule}")


@app.command("run")
def run(
    name: Annotated[str, typer.Argument(help="A study.")],
    size: Size = "",
    smoke: Annotated[bool, typer.Option("--smoke", help="The smallest size: see that it runs, in seconds.")] = False,
    cells: Annotated[str, typer.Option("--cells", help="Only these, separated by commas.")] = "",
    workers: Annotated[int, typer.Option(help="So many cells at once; three share a GPU well.", min=1)] = 1,
    changes: Changes = None,
    out: Annotated[Path | None, typer.Option("--out", help="By default studies/results/NAME, or NAME.SIZE.")] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep models and prepared text, which are large.")] = False,
    prepare: Annotated[bool, typer.Option("--prepare", help="Only prepare the text that cells share.")] = False,
    engine: EngineName = "local",
    address: Address = "",
    no_figures: Annotated[bool, typer.Option("--no-figures", help="Only tables.")] = False,
    formats: Formats = "svg,png",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say which cells would be run, and stop.")] = False,
    as_json: Json = False,
) -> None:
    """Run a study, cell by cell; what is done is not done again. A size of one's own hardware is one dial away.

    Example: interlingua study run normalisation --size mini --workers 3
    """
    from interlingua.cli.compare import formats_of
    from interlingua.cli.extract import needs_models
    from interlingua.errors import InputError

    needs_models()
    from interlingua.studies import frame
    from interlingua.studies.catalog import find
    from interlingua.studies.results import folder_of, held_by, is_done
    from interlingua.studies.study import SMOKE, settings_of

    study = find(name)
    if smoke and size:
        raise InputError("--smoke is a size: leave --size out")
    settings = settings_of(study, SMOKE if smoke else size, changes or ())
    folder = out or (Path(f"smoke-{name}") if smoke else folder_of(ROOT, name, size))
    chosen = [part.strip() for part in cells.split(",") if part.strip()]
    if dry_run:
        held_by(folder, study)
        every = {cell.name: cell for cell in study.cells(settings)}
        left = [cell.name for cell in frame.left_of(every, frame.named(study, settings, chosen), folder)]
        told = (f"{name} (again: its model is looked at)" if is_done(folder, name) else name for name in left)
        typer.echo(json.dumps(left) if as_json else "\n".join(told) or "all that is asked for is done")
        return
    figures = () if no_figures else formats_of(formats)  # asks for what draws them, before hours of work
    where = Engine(engine, address, workers if engine == RAY else 0)
    found, wrong = frame.run(
        study, settings, folder, only=chosen, workers=workers, engine=where, keep_work=keep, prepare_only=prepare,
        say=_say,
    )  # fmt: skip
    if prepare:
        typer.echo(f"what cells share is in {folder / frame.PREPARED}")
        return
    if not no_figures and len(found.table):
        from interlingua.report.figures import save
        from interlingua.studies.drawn import signed

        charts = study.figures(found.table)
        for chart in charts.values():
            signed(chart, found)
        save(charts, folder / "figures", figures)
    _tell(judged(found), as_json=as_json)
    if not as_json:
        typer.echo(f"\n{found.scale}; tables are in {folder}")
    if wrong:
        _say(f"{len(wrong)} failed, run it again to go on: {'; '.join(wrong)}")
        raise typer.Exit(1)


@app.command("claims")
def claims_(
    only: Annotated[str, typer.Argument(help="Claims or studies, separated by commas; all by default.")] = "",
    results: Annotated[Path, typer.Option("--results", help="Where results are, a folder a study.")] = ROOT,
    out: Annotated[Path | None, typer.Option("--out", help="Write all as a page, such as studies/CLAIMS.md.")] = None,
    as_json: Json = False,
) -> None:
    """Say of every claim whether it holds, by its rule and by what has been run.

    Example: interlingua study claims D1,D2
    """
    from interlingua.errors import DataNotFoundError, InputError, UnknownNameError
    from interlingua.folders import whole
    from interlingua.studies.claims import claims, judge_all, written

    every = claims()
    names = [part.strip() for part in only.split(",") if part.strip()]
    known = {claim.id for claim in every} | {claim.study for claim in every}
    if unknown := [each for each in names if each not in known]:
        raise UnknownNameError("claim or study", unknown[0], known)
    if out is not None and (names or as_json):
        raise InputError("the page is of all claims: leave out names and --json, or leave out --out")
    if results != ROOT and not results.is_dir():
        raise DataNotFoundError(f"{results} is not there: --results is the folder that holds a folder a study")
    _where(results)
    held = {study: _held(study, results) for study in dict.fromkeys(claim.study for claim in every)}
    asked = [claim for claim in every if not names or claim.id in names or claim.study in names]
    found = [judge_all(claim, held[claim.study]) for claim in asked]
    if out is not None:
        whole(out, written(found).encode())
        typer.echo(f"{len(found)} claims are in {out}")
        return
    _tell([each for some in found for each in some], as_json=as_json, scales=True)


@app.command("again")
def again(
    signature: Annotated[str, typer.Argument(help="Of a cell, as cells/NAME.json has it, in quotes.")],
    out: Annotated[Path, typer.Option("--out", help="A new folder.")],
    results: Annotated[Path, typer.Option("--results", help="Where results are, a folder a study.")] = ROOT,
    as_json: Json = False,
) -> None:
    """Run one cell again from its signature, and see whether its values lie in the intervals that are kept.

    Example: interlingua study again "study:scaling|cell:mlm.4x128.0|size:mini|settings:0123456789ab" --out again
    """
    from interlingua.cli.extract import needs_models
    from interlingua.errors import InputError

    needs_models()
    from interlingua.studies import frame
    from interlingua.studies.catalog import find
    from interlingua.studies.results import folder_of, places_in

    facts = dict(part.partition(":")[::2] for part in signature.split("|"))
    name = facts.get("study", "")
    if not name:
        raise InputError(f"{signature!r} is no signature of a cell: it has no study; they are in cells/*.json")
    size = facts.get("size", "")
    places = (place for held, place in places_in(results, find(name)) if held == size)
    kept = next(places, folder_of(results, name, size))
    found = frame.again(signature, kept, out, _say)
    bounded = found[found["inside"].notna()]
    share = float(bounded["inside"].astype(bool).mean()) if len(bounded) else 0.0
    if as_json:
        typer.echo(found.to_json(orient="records", indent=2))
    else:
        for measure, rows in bounded.groupby("measure", sort=False):
            off = (rows["value_again"] - rows["value"]).abs().max()
            inside = int(rows["inside"].astype(bool).sum())
            typer.echo(f"{measure}: {inside} of {len(rows)} inside their intervals; at most {off:.4f} off")
        without = len(found) - len(bounded)
        typer.echo(f"{share:.1%} of {len(bounded):,} values are inside; {without:,} others have no interval")
    if share < AGREE:
        raise typer.Exit(1)


def judged(found: Results) -> list[Judgement]:
    """Every claim of a study, by its results."""
    from interlingua.studies.claims import claims, judge

    return [judge(claim, found) for claim in claims() if claim.study == found.study.name]


def _where(results: Path) -> None:
    """Say so where there are no results to be read."""
    if not results.is_dir():
        _say(f"there are no results in {results}: name their folder with --results, or run a study")


def _say(words: str) -> None:
    sys.stderr.write(words + "\n")
    sys.stderr.flush()


def _held(name: str, root: Path) -> list[Results]:
    """What is there of a study, size by size; what is damaged is told of."""
    from interlingua.studies.catalog import STUDIES, find
    from interlingua.studies.results import held_in

    found = held_in(root, find(name)) if name in STUDIES else []
    for problem in (problem for each in found for problem in each.damaged):
        _say(f"warning: {problem}")
    return found


def _tell(found: list[Judgement], *, as_json: bool, scales: bool = False) -> None:
    from interlingua.studies.claims import as_row

    if as_json:
        typer.echo(json.dumps([as_row(each) for each in found], indent=2, ensure_ascii=False))
        return
    for each in found:
        at = f" ({each.scale})" if scales and each.scale else ""
        typer.echo(f"{each.claim.id}{at} {each.verdict}{f': {each.why}' if each.why else ''}")
        typer.echo(f"    {each.claim.text} (published: {each.claim.published})")
        if each.measured:
            typer.echo(f"    {each.measured}; {each.n}")
