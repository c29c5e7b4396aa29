"""`interlingua compare`: model names and a corpus -> a report."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlingua import BUILT_IN
from interlingua.cli.data import Corpus, Formats, Json, Langs, Rows, Split, tags
from interlingua.cli.extract import blueprints, models_of, needs_models
from interlingua.cli.price import plan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from interlingua.report.tables import Tables
    from interlingua.report.words import Verdict
    from interlingua.types import ParallelCorpus

DEFAULT = "anc,linear_cka,debiased_cka,matching"


def compare(
    models: Annotated[
        list[str] | None,
        typer.Argument(help="Hub ids or folders, or en=bert-en,fr=bert-fr; else the built-in one.", metavar="MODEL..."),
    ] = None,
    corpus: Corpus = "everyday",
    out: Annotated[Path | None, typer.Option("--out", help="The folder of results, new or of the same run.")] = None,
    langs: Langs = "",
    split: Split = "",
    rows: Rows = 0,
    source: Annotated[str, typer.Option(help="Compare with this one (English); all: every pair.")] = "",
    measures: Annotated[str, typer.Option(help="Names, or all. See: interlingua explain.")] = DEFAULT,
    pooling: Annotated[
        str, typer.Option(help="One or more of mean, mean_all, first, last, max, weighted, mixed.")
    ] = "mean",
    baseline: Annotated[bool, typer.Option("--baseline/--no-baseline", help="A random network beside.")] = True,
    as_published: Annotated[str, typer.Option(help="del2022, muller2021, wu2020: their numbers beside.")] = "",
    leave_out: Annotated[str, typer.Option(help="Sentences that share digits, names or digits,names.")] = "",
    remove_mean: Annotated[bool, typer.Option("--remove-mean", help="Centre every language first.")] = False,
    drop_components: Annotated[int, typer.Option(help="Drop so many top directions first.", min=0)] = 0,
    standardise: Annotated[bool, typer.Option("--standardise", help="Scale every neuron first.")] = False,
    nulls: Annotated[int, typer.Option(help="Shuffles of the pairing; 199 give p-values.", min=0)] = 5,
    blocks: Annotated[int, typer.Option(help="Blocks of sentences, for intervals.", min=2)] = 20,
    cca_intervals: Annotated[bool, typer.Option("--cca-intervals", help="Intervals for CCA too (slow).")] = False,
    same_neurons: Annotated[bool, typer.Option("--same-neurons", help="Two networks whose neurons agree.")] = False,
    seed: Annotated[int, typer.Option(help="Of shuffles and random weights.", min=0)] = 0,
    truncate: Annotated[bool, typer.Option("--truncate", help="Cut sentences longer than the model takes.")] = False,
    stack: Annotated[str, typer.Option(help="encoder or decoder, of a model that has both.")] = "",
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, mps; by default cuda where there is one.")] = "",
    dtype: Annotated[str, typer.Option(help="The network's: float32, bfloat16 or float16.")] = "float32",
    autocast: Annotated[str, typer.Option(help="Compute in bfloat16 or float16 where that is safe.")] = "",
    attention: Annotated[str, typer.Option(help="eager, sdpa, flash_attention_2.")] = "",
    revision: Annotated[str, typer.Option(help="A branch, tag or commit on the Hub.")] = "",
    adapter: Annotated[str, typer.Option(help="A folder or Hub id of a PEFT adapter.")] = "",
    trust_remote_code: Annotated[bool, typer.Option("--trust-remote-code", help="Run the repository's code.")] = False,
    trust_pickle: Annotated[bool, typer.Option("--trust-pickle", help="Unpickle weights in full.")] = False,
    formats: Formats = "svg,png",
    title: Annotated[str, typer.Option(help="Of the report.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace another run in the folder.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what extraction would cost.")] = False,
    as_json: Json = False,
) -> None:
    """Compare the languages inside one model or several, layer by layer, and write a report.

    Run it again after an interruption and it goes on; nothing finished is computed twice.

    Example: interlingua compare xlm-roberta-base --corpus everyday --langs en,fr,de,ru,zh --out results
    """
    from interlingua.errors import InputError

    if out is None and not dry_run:
        raise InputError("say where to write with --out results, or ask for the cost with --dry-run")
    needs_models()
    from interlingua.measures.papers import paper

    if as_published:
        paper(as_published)
    models = models or [BUILT_IN]
    names, poolings = _measures(measures), _poolings(pooling)
    text = _text(corpus, langs, split, rows, source, leave_out)
    if dry_run:
        how = {"level": "sentence", "truncate": truncate, "autocast": autocast}
        # the pooling that a paper used is stored too, of the model alone
        extra = [paper(as_published).pooling] if as_published and paper(as_published).pooling not in poolings else []
        times = len(poolings) * (2 if baseline else 1) + len(extra)
        _cost(
            models, text, how, times, device, lambda name: blueprints(name, stack, revision, trust_remote_code), as_json
        )
        return
    from dataclasses import replace

    from interlingua.analyses.survey import Survey, survey
    from interlingua.cli.progress import bar
    from interlingua.measures.prepare import Preparation
    from interlingua.report.publish import publish
    from interlingua.report.tables import read

    asked = Survey(
        source="" if source == "all" else source or _usual(text),
        measures=names,
        poolings=poolings,
        baseline=baseline,
        preparation=Preparation(remove_mean=remove_mean, drop_components=drop_components, standardise=standardise),
        as_published=as_published,
        same_neurons=same_neurons,
        blocks=blocks,
        cca_intervals=cca_intervals,
        nulls=nulls,
        seed=seed,
        extraction={"truncate": truncate, "autocast": autocast},
        loading={
            "stack": stack,
            "device": device,
            "dtype": dtype,
            "attention": attention,
            "revision": revision,
            "adapter": adapter,
            "trust_remote_code": trust_remote_code,
            "trust_pickle": trust_pickle,
        },
    )
    folder = out or Path()
    figures = formats_of(formats)
    tables = survey(models, text, folder, asked, force=force, load=_load, stage=bar)
    if (folder / "results.parquet").exists():
        from interlingua.cli.terminal import visible
        from interlingua.errors import FormatError

        # Maps of layers that were asked for since.
        try:
            tables = replace(tables, layers=read(folder).layers)
        except FormatError as error:
            typer.echo(f"maps of layers are left out: {visible(str(error))}", err=True)
    with bar("writing the report"):
        place = publish(tables, folder, formats=figures, title=title)
    show(tables, place, as_json=as_json)


def _cost(
    models: list[str],
    text: ParallelCorpus,
    how: dict[str, Any],
    times: int,
    device: str,
    draw: Callable[[str], Any],
    as_json: bool,
) -> None:
    """What extraction would cost, model by model and in all."""
    from interlingua.cli.price import told
    from interlingua.cli.terminal import visible

    found, total = {}, dict.fromkeys(("rows", "flops", "bytes"), 0)
    for name in models:
        if not as_json:
            typer.echo(f"{visible(name)}, once:")
        found[name] = {**plan(draw(name), text, how, device, as_json=as_json), "times": times}
        for key in total:
            total[key] += times * found[name]["total"][key]
    if as_json:
        typer.echo(json.dumps({"models": found, "total": total}, indent=2))
    else:
        typer.echo(f"{len(models)} x {times} extractions (models; poolings, random baseline): {told(total)}")


def _load(name: str, **loading: Any) -> Any:
    return models_of(name, "", {"random": False, "seed": 0, **loading})


def _measures(text: str) -> tuple[str, ...]:
    from interlingua.measures.catalog import CATALOG, find

    if text == "all":
        return tuple(m.name for m in CATALOG)
    return tuple(dict.fromkeys(find(part.strip()).name for part in text.split(",") if part.strip()))


def _usual(text: ParallelCorpus) -> str:
    """The language others are compared with where none is named: English where it is there, else the first."""
    langs = [str(lang) for lang in text.langs]
    return "en" if "en" in langs else langs[0]


def formats_of(text: str) -> tuple[str, ...]:
    """The formats of figures; none for `none`."""
    from interlingua.errors import InputError
    from interlingua.report.publish import FORMATS

    asked = () if text == "none" else tuple(part.strip() for part in text.split(",") if part.strip())
    if unknown := [name for name in asked if name not in FORMATS]:
        raise InputError(f"figures are written as {', '.join(FORMATS)}, not {unknown[0]!r}")
    return asked


def _poolings(text: str) -> tuple[str, ...]:
    from interlingua.extract import Extraction

    return tuple(dict.fromkeys(Extraction(pooling=part.strip()).pooling for part in text.split(",") if part.strip()))


def _text(corpus: str, langs: str, split: str, rows: int, source: str, leave_out: str) -> ParallelCorpus:
    from dataclasses import replace
    from itertools import combinations

    from interlingua.corpora.loading import parallel
    from interlingua.corpora.shared import without_shared
    from interlingua.errors import UnknownNameError
    from interlingua.languages import Language

    text = parallel(corpus, *tags(langs), split=split)
    if split:
        text = replace(text, notes=(*text.notes, f"split {split}"))
    text = text[:rows] if rows else text
    kinds = [part.strip() for part in leave_out.split(",") if part.strip()]
    if not kinds:
        return text
    if unknown := [kind for kind in kinds if kind not in ("digits", "names")]:
        raise UnknownNameError("thing that sentences share", unknown[0], ("digits", "names"))
    if source == "all":
        pairs = list(combinations(text.langs, 2))
    else:
        first = Language.parse(source or _usual(text))
        pairs = [(first, lang) for lang in text.langs if lang != first]
    return without_shared(text, pairs, digits="digits" in kinds, names="names" in kinds)


def show(tables: Tables, place: Path, *, as_json: bool = False) -> None:
    """What was found: a line a pair, a sentence a model, and where the report is."""
    from dataclasses import asdict

    from interlingua.cli.terminal import visible
    from interlingua.report.words import cautions, summary, verdicts

    found = verdicts(tables)
    if not found and not as_json:
        typer.echo("No value can be summed up: see the notes in the table.")
    if as_json:
        told = {
            "report": str(place),
            "pairs": [{k: _plain(v) for k, v in asdict(verdict).items()} for verdict in found],
            "summary": dict(summary(tables)),
            "cautions": list(cautions(tables)),
        }
        typer.echo(json.dumps(told, indent=2, ensure_ascii=False))
        return
    _pairs(found)
    for heading, sentence in summary(tables):
        typer.echo(f"\n{visible(heading)}: {visible(sentence)}")
    for caution in cautions(tables):
        typer.echo(f"\nBe careful: {visible(caution)}")
    typer.echo(f"\nThe report is {place}")


# The verdicts in a word, for a narrow column.
SHORT = {
    "strongly aligned": "strong",
    "weakly aligned": "weak",
    "no more than an untrained network": "as random",
    "not above chance": "chance",
}
HEADER = "layer 0  peak  interval  at  null  random  last  found  verdict"


def _pairs(found: Sequence[Verdict]) -> None:
    """A line for every pair, under its model."""
    from rich.cells import cell_len

    from interlingua.cli.terminal import visible

    several = len({v.pooling for v in found}) > 1
    for model, pooling in dict.fromkeys((v.model, v.pooling) for v in found):
        own = [v for v in found if (v.model, v.pooling) == (model, pooling)]
        typer.echo(f"{visible(model)}{f' ({pooling})' if several else ''}: {own[0].measure} by pair")
        names = [visible(f"{v.source}-{v.target}") for v in own]
        width = max(4, *map(cell_len, names))
        typer.echo(f"{'pair':<{width}}  {HEADER}")
        for name, v in zip(names, own, strict=True):
            interval = f"{_two(v.low)}-{_two(v.high)}" if math.isfinite(v.low) else ""
            share = f"{v.matched:.0%}" if math.isfinite(v.matched) else ""
            typer.echo(
                f"{name}{' ' * (width - cell_len(name))}  {_two(v.first):>7}  {_two(v.peak):>4}  {interval:>8}  "
                f"{v.peak_layer:>2}  {_two(v.null):>4}  {_two(v.untrained):>6}  {_two(v.last):>4}  {share:>5}  "
                f"{SHORT.get(v.verdict, v.verdict)}"
            )
        typer.echo("")
    if not found:
        return
    typer.echo(
        "null: shuffled pairs; random: an untrained network at that layer; found: sentences whose nearest is their "
        "translation, at the best layer (weak: fewer than 30%, strong: 80% and more)."
    )


def _two(value: float) -> str:
    """Two digits, without the zero before them."""
    return f"{value:.2f}".replace("0.", ".", 1) if math.isfinite(value) else ""


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
