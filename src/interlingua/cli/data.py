"""`interlingua data ls | show | check | fetch`."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from interlingua.corpora.dataset import Dataset
    from interlingua.languages import Language

HELP = """List, show, check and fetch data.

Example: interlingua data show everyday --langs en,fr"""
app = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode=None)

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Corpus = Annotated[str, typer.Option("--corpus", help="A data set (see: interlingua data ls) or your own files.")]
Formats = Annotated[str, typer.Option(help="Figures as svg, png, pdf; none for no files.")]
Langs = Annotated[str, typer.Option("--langs", help="Language tags, separated by commas: en,fr,zh-Hant.")]
Rows = Annotated[int, typer.Option("--rows", "-n", help="Only the first rows of the corpus.", min=0)]
Split = Annotated[str, typer.Option("--split", help="train, dev, test, or what the data set has.")]


def tags(text: str) -> tuple[Language, ...]:
    """The languages of a comma-separated option."""
    from interlingua.languages import Language

    return tuple(Language.parse(tag) for tag in text.split(",") if tag.strip())


@app.command("ls")
def ls(
    as_json: Json = False,
    found_only: Annotated[bool, typer.Option("--found", help="Only what is on this machine.")] = False,
) -> None:
    """List the data sets of the catalogue: what they are, where they are, languages, sizes, licences.

    Example: interlingua data ls --found
    """
    from interlingua.corpora.catalog import CATALOG

    everything = [describe(dataset) for dataset in CATALOG]
    rows = [row for row in everything if row["found"] or not found_only]
    if as_json:
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    for line in _listing(rows):
        typer.echo(line)
    here = sum(bool(row["found"]) for row in everything)
    typer.echo(
        f"{here} of {len(everything)} data sets are on this machine. interlingua data show NAME shows a few rows."
    )


def describe(dataset: Dataset) -> dict[str, Any]:
    """What is known about a data set, with sizes where it is at hand."""
    from interlingua.corpora.choice import label
    from interlingua.corpora.places import locate
    from interlingua.errors import InputError

    try:
        place = locate(dataset)
    except InputError as error:
        typer.echo(f"warning: {error}", err=True) if dataset is _first_public() else None
        place = None
    files = dataset.scan(place[1]) if place else []
    return {
        "name": dataset.name,
        "folder": dataset.directory,
        "kind": str(dataset.kind),
        "found": place[0] if place and files else "",
        "get": "fetch" if dataset.origin.url else "Hub" if dataset.hub else "" if dataset.built_in else "by hand",
        "languages": sorted({str(lang) for f in files for lang in ((f.side,) if f.side else f.languages)}),
        "splits": sorted({f.split for f in files} - {""}),
        "parts": sorted({label(f) for f in files if f.part}),
        "files": len(files),
        "bytes": sum(f.bytes for f in files),
        "licence": dataset.licence,
        "citation": dataset.citation,
        "origin": dataset.origin.page,
        "origin_verified": dataset.origin.verified,
        "hub": dataset.hub.id if dataset.hub else "",
        "note": dataset.note,
    }


def _first_public() -> Dataset:
    from interlingua.corpora.catalog import CATALOG

    return next(dataset for dataset in CATALOG if not dataset.built_in)


def _listing(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """A line a data set with what it is, where it is and how large; indented below it, what it holds."""
    import textwrap

    window = shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 10_000
    names = [r["name"] if r["name"] == r["folder"] else f"{r['name']} ({r['folder']})" for r in rows]
    for name, row in zip(names, rows, strict=True):
        where = row["found"] or f"not here ({row['get']})"
        size = human(row["bytes"]) if row["files"] else ""
        yield f"{name:<36} {row['kind']:<19} {where:<19} {size}".rstrip()
        details = [row["note"], f"licence: {row['licence']}"]
        for what in ("languages", "splits", "parts"):
            if row[what]:
                details.append(f"{what} ({len(row[what])}): {' '.join(row[what])}")
        for detail in details:
            yield from textwrap.wrap(detail, max(40, window - 1), initial_indent="    ", subsequent_indent="      ")


def human(size: int) -> str:
    """A number of bytes as people say it."""
    value = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:,.1f} TB"


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(help="A data set (everyday, ntrex, ud/en_ewt) or a path to your own files.")],
    langs: Langs = "",
    split: Split = "",
    n: Annotated[int, typer.Option("--rows", "-n", help="How many rows.", min=1)] = 5,
    as_json: Json = False,
) -> None:
    """Show a few rows, side by side where the text is parallel.

    Example: interlingua data show everyday --langs en,fr,zh,ar --rows 3
    """
    from interlingua.cli.rows import render
    from interlingua.corpora.loading import load, own, own_path, parallel
    from interlingua.corpora.places import find

    wanted = tags(langs)
    if own_path(name) is not None:
        record: Any = own(Path(name), *wanted)
    else:
        dataset, _, named = find(name)
        several = dataset.row_aligned and len(wanted) > 1
        _announce(dataset)
        chosen = wanted if several else _default(dataset, wanted)
        record = (parallel if several else load)(name, *chosen, split=split or named)
        if len(chosen) > len(wanted) and not as_json:
            typer.echo(f"showing {', '.join(map(str, chosen))}: --langs chooses others")
    for line in render(record, n, as_json=as_json):
        typer.echo(line)


def _announce(dataset: Dataset) -> None:
    """Before a data set comes from afar: that it does, and under which licence."""
    from interlingua.corpora.places import locate

    if not locate(dataset) and (dataset.origin.url or dataset.hub):
        typer.echo(f"{dataset.name} is not here: downloading it (licence: {dataset.licence})", err=True)


def _default(dataset: Dataset, wanted: tuple[Language, ...]) -> tuple[Language, ...]:
    """The languages to show where none were named: the first that will do."""
    from interlingua.corpora.dataset import Kind
    from interlingua.corpora.places import locate
    from interlingua.languages import Language

    place = locate(dataset)
    if wanted or place is None:
        return wanted
    files = dataset.scan(place[1])
    known = sorted({f.side or f.languages[0] for f in files}, key=lambda lang: (lang != Language.parse("en"), lang))
    pairs = [f.languages for f in files if len(f.languages) == 2]
    if pairs:
        return pairs[0]
    if dataset.kind is Kind.PARALLEL:
        return tuple(known[:3])
    return tuple(known[:2] if dataset.kind is Kind.DICTIONARY else known[:1])


@app.command("check")
def check(
    paths: Annotated[list[Path], typer.Argument(help="A folder of files named by language, the files, or one table.")],
    langs: Langs = "",
    as_json: Json = False,
    limit: Annotated[int, typer.Option("--limit", help="Print at most this many problems (0: all).", min=0)] = 200,
) -> None:
    """Check your own parallel text: every problem with file and line. Exit code 1 if there are errors.

    Example: interlingua data check my_corpus/en.txt my_corpus/fr.txt
    """
    from dataclasses import asdict

    from interlingua.cli.progress import bar
    from interlingua.corpora.check import check as run

    with bar("checking") as progress:
        report = run(paths, tags(langs), progress)
    if as_json:
        found = {**asdict(report), "errors": report.errors, "warnings": report.warnings}
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        from interlingua.cli.terminal import visible

        shown = report.problems[: limit or None]
        for problem in shown:
            typer.echo(visible(str(problem)))
        if len(shown) < len(report.problems):
            typer.echo(f"... and {len(report.problems) - len(shown)} more (--limit 0 shows all)")
        what = f"{report.rows} rows in {', '.join(report.languages)}" if report.languages else f"{report.rows} rows"
        typer.echo(f"{what}: {_count(report.errors, 'error')}, {_count(report.warnings, 'warning')}")
    if report.errors:
        raise typer.Exit(1)


def _count(n: int, noun: str) -> str:
    return f"{n or 'no'} {noun}{'' if n == 1 else 's'}"


@app.command("fetch")
def fetch(
    name: Annotated[str, typer.Argument(help="A data set of the catalogue.")],
    langs: Langs = "",
    split: Split = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be fetched, and fetch nothing.")] = False,
) -> None:
    """Download a data set into the cache: with its licence, resumed, verified.

    Example: interlingua data fetch ntrex --langs en,fr
    """
    from interlingua.corpora.fetch import fetch_dataset, requests
    from interlingua.corpora.places import cache_root, find

    dataset, part, _ = find(name)
    typer.echo(f"licence of {dataset.name}: {dataset.licence}")
    typer.echo(f"cite: {dataset.citation}")
    if dataset.built_in:
        typer.echo(f"{dataset.name} is built in: nothing to fetch")
        return
    if not dataset.origin.verified:
        typer.echo(f"origin: {dataset.origin.page} (unverified: its bytes have not been compared with a known hash)")
    if dry_run:
        for url, path in requests(dataset, tags(langs), split, part):
            typer.echo(f"{url} -> {cache_root() / dataset.directory / path}")
        return
    if not dataset.origin.url and dataset.hub:
        from interlingua.corpora.hub import load_from_hub

        record = load_from_hub(dataset, tags(langs), split=split, part=part)
        typer.echo(f"{record!r} is in the cache of the datasets library")
        return
    with _bars() as progress:
        folder = fetch_dataset(dataset, tags(langs), split=split, part=part, progress=progress)
    files = dataset.scan(folder)
    typer.echo(f"{len(files)} files, {human(sum(f.bytes for f in files))}, in {folder}")


@contextmanager
def _bars() -> Iterator[Callable[[str], Callable[[int, int | None], None]]]:
    """A progress bar a file, on the terminal's standard error; nothing where it is no terminal."""
    if not sys.stderr.isatty():
        yield lambda _name: lambda _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(file=sys.stderr)) as bars:

        def start(name: str) -> Callable[[int, int | None], None]:
            task = bars.add_task(name, total=None)
            return lambda done, total: bars.update(task, completed=done, total=total)

        yield start
