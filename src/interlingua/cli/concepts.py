"""`interlingua concepts`: a model and parallel text -> concepts, which correspond, which mix, and a page to browse."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlingua import BUILT_IN
from interlingua.cli.data import Formats, Json, Langs, Rows, Split, tags
from interlingua.cli.extract import needs_models

if TYPE_CHECKING:
    from interlingua.concepts.ask import Asker
    from interlingua.concepts.lexicon import Lexicon
    from interlingua.report.concept_tables import ConceptTables
    from interlingua.types import ParallelCorpus, TaggedCorpus


def concepts(
    model: Annotated[str, typer.Argument(help="A Hub id or a folder.")] = BUILT_IN,
    corpus: Annotated[str, typer.Option("--corpus", help="Parallel text: a data set or your own files.")] = "everyday",
    langs: Langs = "",
    split: Split = "",
    rows: Rows = 0,
    out: Annotated[Path | None, typer.Option("--out", help="The folder of results, new or of the same run.")] = None,
    compare: Annotated[str, typer.Option("--compare", help="A second model beside it, such as a tuned one.")] = "",
    layers: Annotated[str, typer.Option(help="Which, separated by commas; by default six of them.")] = "",
    k: Annotated[int, typer.Option("--k", help="Concepts a layer.", min=2)] = 600,
    reading: Annotated[str, typer.Option(help="cap: so many mentions of a word; minimum: words so frequent.")] = "cap",
    times: Annotated[int, typer.Option(help="How many that is.", min=1)] = 10,
    lexicon: Annotated[
        str, typer.Option(help="A dictionary (data set or file), or Moses tables DIR/SOURCE-TARGET.lex.")
    ] = "",
    tagged: Annotated[str, typer.Option("--tags", help="Tagged words or treebanks of the languages, for labels.")] = "",
    rules: Annotated[str, typer.Option(help="When concepts correspond: defined or published.")] = "defined",
    match: Annotated[float | None, typer.Option(help="Share of types with a translation (0.8).", min=0, max=1)] = None,
    best: Annotated[int | None, typer.Option(help="Translations of a word that count (10).", min=1)] = None,
    types: Annotated[int | None, typer.Option(help="Concepts need more types than this (5).", min=0)] = None,
    size: Annotated[float | None, typer.Option(help="Smaller by larger concept (0.6).", min=0, max=1)] = None,
    threshold: Annotated[float, typer.Option(help="Share of a concept that a language needs.", min=0, max=1)] = 0.3,
    languages_needed: Annotated[str, typer.Option(help="Languages that need it, or all.")] = "2",
    restarts: Annotated[int, typer.Option(help="Of k-means; the best is kept.", min=1)] = 1,
    seeds: Annotated[int, typer.Option(help="Cluster again with so many seeds: how stable is it?", min=0)] = 0,
    nulls: Annotated[int, typer.Option(help="Shuffles of words, for the value of chance.", min=0)] = 5,
    aligner: Annotated[str, typer.Option(help="Of words: eflomal (where it is installed), fast_align or ours.")] = "",
    baseline: Annotated[bool, typer.Option("--baseline/--no-baseline", help="An untrained network beside.")] = True,
    seed: Annotated[int, typer.Option(help="Of samples, clusters and random weights.", min=0)] = 0,
    ask: Annotated[str, typer.Option("--ask", help="Name concepts by a model at http://.../v1 (words are sent).")] = "",
    ask_model: Annotated[str, typer.Option(help="The name of the model to ask there.")] = "",
    ask_budget: Annotated[int, typer.Option(help="Questions at most.", min=0)] = 100,
    truncate: Annotated[bool, typer.Option("--truncate", help="Cut sentences longer than the model takes.")] = False,
    stack: Annotated[str, typer.Option(help="encoder, decoder or both, of a model that has two.")] = "",
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, mps; by default cuda where there is one.")] = "",
    dtype: Annotated[str, typer.Option(help="The network's: float32, bfloat16 or float16.")] = "float32",
    formats: Formats = "svg,png",
    force: Annotated[bool, typer.Option("--force", help="Replace another run in the folder.")] = False,
    as_json: Json = False,
) -> None:
    """Cluster words in context into concepts: which correspond across languages (CALIGN), and which mix (COLAP)?

    Run it again after an interruption and it goes on; nothing finished is computed twice.

    Example: interlingua concepts xlm-roberta-base --corpus ntrex --langs en,de --layers 0,6,12 --k 300 --out en-de
    """
    from dataclasses import replace

    from interlingua.errors import InputError, MissingExtraError

    if out is None:
        raise InputError("say where to write with --out FOLDER")
    needs_models()
    if find_spec("sklearn") is None:
        raise MissingExtraError("scikit-learn", "concepts", "clustering")
    from interlingua.analyses.concept_run import Inquiry
    from interlingua.analyses.concepts import find_concepts
    from interlingua.cli.compare import formats_of
    from interlingua.cli.progress import bar
    from interlingua.concepts import align
    from interlingua.concepts.ask import Asker
    from interlingua.report.concepts import publish_concepts
    from interlingua.report.tables import NAMES

    changed: dict[str, Any] = {"match": match, "best": best, "types": types, "size": size}
    figures = formats_of(formats)
    how = Inquiry(
        layers=_numbers(layers),
        k=k,
        reading=reading,
        times=times,
        rules=replace(align.rules(rules), **{key: value for key, value in changed.items() if value is not None}),
        threshold=threshold,
        languages_needed=int(languages_needed) if languages_needed.isdigit() else languages_needed,
        restarts=restarts,
        seeds=seeds,
        nulls=nulls,
        baseline=baseline,
        aligner=aligner,
        seed=seed,
        extraction={"truncate": truncate},
        stacks=("encoder", "decoder") if stack == "both" else (stack,),
        loading={"device": device, "dtype": dtype},
    )
    # an address that is none is told before anything is computed
    asker = Asker(ask, ask_model, out / NAMES, ask_budget) if ask else None
    text = _text(corpus, langs, split, rows)
    known = _lexicons(lexicon, text) if lexicon else None
    tags_of = _tags(tagged, text) if tagged else None
    tables = find_concepts(model, text, out, how, tuned=compare, lexicons=known, tags=tags_of, force=force, stage=bar)
    if asker is not None:
        tables = _named(tables, asker, out)
    with bar("writing the report"):
        place = publish_concepts(tables, out, formats=figures)
    show_concepts(tables, place, as_json=as_json)


def _named(tables: ConceptTables, asker: Asker, out: Path) -> ConceptTables:
    """With the names that a language model gives; where it stops answering, with those it gave."""
    from interlingua.cli.terminal import visible
    from interlingua.errors import InputError
    from interlingua.report.concept_tables import named, worth_naming, write_concepts

    names: dict[int, str] = {}
    try:
        for row, name in asker.names(worth_naming(tables)):
            names[row] = name
    except InputError as error:
        typer.echo(f"names: {visible(str(error))}", err=True)
    found = named(tables, names)
    write_concepts(found, out)
    return found


def _numbers(text: str) -> tuple[int, ...]:
    from interlingua.errors import InputError

    parts = [part.strip() for part in text.split(",") if part.strip()]
    if odd := [part for part in parts if not part.isdigit()]:
        raise InputError(f"{odd[0]!r} is no layer: write numbers separated by commas, such as --layers 0,4,8")
    return tuple(sorted({int(part) for part in parts}))


def _text(corpus: str, langs: str, split: str, rows: int) -> ParallelCorpus:
    from interlingua.corpora.loading import parallel
    from interlingua.errors import InputError

    spoken = tags(langs)
    if len(spoken) < 2:
        raise InputError("say which languages with --langs, such as --langs en,de; others are compared with the first")
    text = parallel(corpus, *spoken, **({"split": split} if split else {}))
    return text[:rows] if rows else text


def _lexicons(name: str, text: ParallelCorpus) -> dict[tuple[str, str], Lexicon]:
    """A lexicon for each direction: Moses tables of a folder, or a dictionary read both ways."""
    from interlingua.concepts.lexicon import from_dictionary, read_moses
    from interlingua.corpora.loading import dictionary
    from interlingua.errors import InputError

    source, *others = text.langs
    found = {}
    for other in others:
        both = ((source, other), (other, source))
        if Path(name).is_dir():
            for one, two in both:
                table = Path(name) / f"{one}-{two}.lex"
                if not table.exists():
                    raise InputError(f"there is no {table}: a folder of tables has one for each direction")
                found[str(one), str(two)] = read_moses(table, one, two)
            continue
        there = dictionary(name, source, other)
        # a file is of one direction; a data set may have both
        back = there.inverse() if Path(name).exists() else dictionary(name, other, source)
        for (one, two), entries in zip(both, (there, back), strict=True):
            found[str(one), str(two)] = from_dictionary(entries)
    return found


def _tags(name: str, text: ParallelCorpus) -> dict[str, TaggedCorpus]:
    """Tagged words of each language that has some there."""
    from interlingua.corpora.loading import own_path, tagged
    from interlingua.corpora.places import find
    from interlingua.errors import DataNotFoundError, InputError, LanguageError, UnknownNameError

    found, missing = {}, []
    if own_path(name) is None:
        find(name)  # a name that is none is told as such
    for lang in text.langs:
        try:
            found[str(lang)] = tagged(name, lang)
        except (LanguageError, UnknownNameError, DataNotFoundError) as error:
            missing.append(str(error))
    if not found:
        raise InputError(f"{name} has tags of none of the languages: {missing[0]}")
    return found


def show_concepts(tables: ConceptTables, place: Path, *, as_json: bool) -> None:
    """Scores by layer and what they say, on the terminal or as JSON."""
    from interlingua.cli.terminal import visible
    from interlingua.report.concepts import SPACES, told

    if as_json:
        found: dict[str, Any] = {
            "summary": [{"heading": heading, "text": text} for heading, text in told(tables)],
            "scores": json.loads(tables.scores.to_json(orient="records")),
            "sweeps": json.loads(tables.sweeps.to_json(orient="records")),
            "report": str(place),
        }
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    rows = tables.scores[tables.scores["measure"].isin(["calign", "colap"])]
    for (measure, stack, source, target), part in rows.groupby(["measure", "stack", "source", "target"], sort=False):
        between = "to" if measure == "calign" else "and"
        table = part.pivot_table(index="layer", columns="space", values="value", sort=False)
        null = part[part["space"] == "base"].set_index("layer")["null"]
        typer.echo(f"{str(measure).upper()}, {visible(source)} {between} {visible(target)}{stack and f', {stack}'}")
        names = [SPACES[space] for space in table.columns]
        typer.echo("".ljust(10) + "".join(f"{name:>20}" for name in [*names, "shuffled"]))
        for layer, values in table.iterrows():
            shown = "".join(f"{value:20.1%}" for value in [*values, null.get(layer, float("nan"))])
            typer.echo(f"layer {layer}".ljust(10) + shown)
        typer.echo("")
    for heading, sentence in told(tables):
        typer.echo(f"{visible(heading)}: {visible(sentence)}")
    typer.echo(f"report: {visible(str(place))}")
