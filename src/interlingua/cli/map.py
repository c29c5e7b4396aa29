"""`interlingua map`: two models, or two languages of one -> one space, and the dictionary that falls out of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlingua import BUILT_IN
from interlingua.cli.data import Formats, Json, Langs, Rows, tags
from interlingua.cli.extract import needs_models

if TYPE_CHECKING:
    from interlingua.analyses.map_run import Plan
    from interlingua.languages import Language
    from interlingua.report.map_tables import MapTables
    from interlingua.types import ParallelCorpus, TextCorpus

LEVELS = ("word", "context", "sentence")


def map_(
    models: Annotated[
        list[str] | None,
        typer.Argument(help="One (or the built-in), or that of the first language and the second.", metavar="MODEL..."),
    ] = None,
    langs: Langs = "",
    level: Annotated[str, typer.Option(help="word, context (words in context) or sentence.")] = "word",
    corpus: Annotated[str, typer.Option(help="Text: of any kind for words, parallel for the others.")] = "everyday",
    test: Annotated[str, typer.Option(help="Sentences: parallel text to judge by. Words: a second dictionary.")] = "",
    dictionary: Annotated[str, typer.Option(help="Words: a data set or a file.")] = "everyday-words",
    rows: Rows = 0,
    out: Annotated[Path | None, typer.Option("--out", help="The folder of results, new or of the same run.")] = None,
    ways: Annotated[
        str, typer.Option(help="identity, shift, normalised, rotation, refined, ridge, least_squares.")
    ] = "",
    by: Annotated[str, typer.Option(help="How neighbours are found: csls, cosine.")] = "csls",
    sizes: Annotated[
        str, typer.Option(help="For the learning curve: dictionary words, or pairs of sentences.")
    ] = "100,300,1000,3000,10000",
    min_count: Annotated[int, typer.Option(help="Words: only those that occur so often.", min=1)] = 5,
    static: Annotated[bool, typer.Option("--static", help="Words: fastText vectors of the same text beside.")] = False,
    reduce: Annotated[
        bool, typer.Option("--reduce", help="Bring the wider model to the other's width by PCA.")
    ] = False,
    aligner: Annotated[str, typer.Option(help="Context: eflomal (where it is installed) or ours.")] = "",
    baseline: Annotated[bool, typer.Option("--baseline/--no-baseline", help="Untrained networks beside.")] = True,
    seed: Annotated[int, typer.Option(help="Of samples, static vectors and random weights.", min=0)] = 0,
    truncate: Annotated[bool, typer.Option("--truncate", help="Cut sentences longer than the model takes.")] = False,
    stack: Annotated[str, typer.Option(help="encoder or decoder, of a model that has both.")] = "",
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, mps; by default cuda where there is one.")] = "",
    dtype: Annotated[str, typer.Option(help="The network's: float32, bfloat16 or float16.")] = "float32",
    formats: Formats = "svg,png",
    force: Annotated[bool, typer.Option("--force", help="Replace another run in the folder.")] = False,
    as_json: Json = False,
) -> None:
    """Align two spaces after the fact, layer by layer, and see how many translations are found.

    Inside one model: is a rotation still needed? Between two: how alike did they become without knowing each other?

    Example: interlingua map bert-en bert-fr --langs en,fr --dictionary muse --corpus mono --rows 20000 --out en-fr
    """
    from interlingua.errors import InputError, UnknownNameError

    if out is None:
        raise InputError("say where to write with --out FOLDER")
    if level not in LEVELS:
        raise UnknownNameError("level", level, LEVELS)
    spoken = tags(langs)
    if len(spoken) != 2:
        raise InputError("say which two languages with --langs, such as --langs en,fr")
    _fitting(level, test=test, aligner=aligner, static=static, dictionary=dictionary)
    models = models or [BUILT_IN]
    if len(models) > 2:
        raise InputError(f"{len(models)} models: a map is inside one, or from one to another")
    needs_models()
    from interlingua.analyses.map_run import Plan
    from interlingua.cli.compare import formats_of
    from interlingua.cli.progress import bar
    from interlingua.report.mapped import publish_map

    figures = formats_of(formats)
    plan = Plan(
        ways=_ways(ways, level),
        by=_names(by, ("csls", "cosine"), "way of finding neighbours"),
        sizes=_numbers(sizes),
        reduce=reduce,
        baseline=baseline,
        static=static,
        min_count=min_count,
        seed=seed,
        extraction={"truncate": truncate},
        loading={"stack": stack, "device": device, "dtype": dtype},
    )
    tables = _map(level, models, (spoken[0], spoken[1]), corpus, test, dictionary, rows, aligner, out, plan, force)
    with bar("writing the report"):
        place = publish_map(tables, out, formats=figures)
    show_map(tables, place, as_json=as_json)


def _fitting(level: str, *, test: str, aligner: str, static: bool, dictionary: str) -> None:
    """An error where an option is for another level: it would be ignored without a word."""
    from interlingua.errors import InputError, UnknownNameError

    if aligner and aligner not in ("eflomal", "ours"):
        raise UnknownNameError("aligner", aligner, ("eflomal", "ours"))
    others = {
        "--aligner": bool(aligner) and level != "context",
        "--test": bool(test) and level == "context",
        "--static": static and level != "word",
        "--dictionary": dictionary != "everyday-words" and level != "word",
    }
    if wrong := [name for name, here in others.items() if here]:
        raise InputError(f"{wrong[0]} means nothing at level {level}: leave it out")


def _map(
    level: str,
    models: list[str],
    langs: tuple[Language, Language],
    corpus: str,
    test: str,
    dictionary: str,
    rows: int,
    aligner: str,
    out: Path,
    plan: Plan,
    force: bool,
) -> MapTables:
    from interlingua.analyses.mapping import map_contexts, map_sentences, map_words
    from interlingua.cli.progress import bar
    from interlingua.corpora.loading import dictionaries, parallel
    from interlingua.errors import InputError

    if level == "word":
        learn, judge = dictionaries(dictionary, *langs, test=test)
        return map_words(models, _text(corpus, langs, rows), learn, judge, out, plan, force=force, stage=bar)
    text = parallel(corpus, *langs)
    text = text[:rows] if rows else text
    if level == "context":
        return map_contexts(models, text, out, plan, aligner=aligner, force=force, stage=bar)
    if not test:
        raise InputError("say what to judge by with --test, parallel text that is not the corpus: --test tatoeba")
    return map_sentences(models, text, parallel(test, *langs), out, plan, force=force, stage=bar)


def _text(corpus: str, langs: tuple[Language, Language], rows: int) -> ParallelCorpus | list[TextCorpus]:
    """Text of both languages: two sides of parallel text, or plain text of each."""
    from interlingua.corpora.dataset import Kind
    from interlingua.corpora.loading import own_path, parallel, text
    from interlingua.corpora.places import find

    if own_path(corpus) is None and find(corpus)[0].kind == Kind.TEXT:
        return [text(corpus, lang)[: rows or None] for lang in langs]
    both = parallel(corpus, *langs)
    return both[:rows] if rows else both


def _ways(text: str, level: str) -> tuple[str, ...]:
    from interlingua.errors import InputError
    from interlingua.mapping.alignment import WAYS
    from interlingua.mapping.levels import REFINED

    found = _names(text, (*WAYS, REFINED), "way of aligning") if text else ()
    if REFINED in found and level != "word":
        raise InputError(f"{REFINED} is for words: a {level} has no vocabulary to find more pairs in")
    return found


def _names(text: str, known: tuple[str, ...], what: str) -> tuple[str, ...]:
    from interlingua.errors import InputError, UnknownNameError

    found = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not found:
        raise InputError(f"name a {what}: {', '.join(known)}")
    for name in found:
        if name not in known:
            raise UnknownNameError(what, name, known)
    return found


def _numbers(text: str) -> tuple[int, ...]:
    from interlingua.errors import InputError

    try:
        found = tuple(sorted({int(part) for part in text.split(",") if part.strip()}))
    except ValueError as error:
        raise InputError(f"{text!r} are no numbers of pairs: write --sizes 100,1000") from error
    if any(n < 2 for n in found):
        raise InputError("a map is fitted on at least 2 pairs: leave smaller numbers out of --sizes")
    return found


def show_map(tables: MapTables, place: Path, *, as_json: bool) -> None:
    """Scores by layer and what they say, on the terminal or as JSON."""
    from interlingua.cli.terminal import visible
    from interlingua.report.map_tables import full
    from interlingua.report.mapped import told

    rows = full(tables)
    if as_json:
        found: dict[str, Any] = {
            "summary": [{"heading": heading, "text": text} for heading, text in told(tables)],
            "scores": json.loads(tables.scores.to_json(orient="records")),
            "report": str(place),
        }
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    mine = rows[rows["space"] == "model"].pivot_table(index="layer", columns="way", values="p1", sort=False)
    typer.echo("precision at 1".ljust(16) + "".join(f"{visible(str(way)):>14}" for way in mine.columns))
    for layer, values in mine.iterrows():
        typer.echo(f"layer {layer}".ljust(16) + "".join(f"{value:14.3f}" for value in values))
    typer.echo("")
    for heading, sentence in told(tables):
        typer.echo(f"{visible(heading)}: {visible(sentence)}")
    typer.echo(f"report: {visible(str(place))}")
