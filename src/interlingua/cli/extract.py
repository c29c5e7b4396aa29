"""`interlingua extract`: a model and a corpus -> a store of representations."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlingua import BUILT_IN
from interlingua.cli.data import Corpus, Json, Langs, Rows, Split, human, tags
from interlingua.cli.price import plan, scaled, size_of, tell_scale, unit_of
from interlingua.cluster import Engine

if TYPE_CHECKING:
    from interlingua.extract.words import Record
    from interlingua.languages import Language
    from interlingua.models import Model, PerLanguage
    from interlingua.types import ParallelCorpus, Representations, WordRepresentations


EngineName = Annotated[str, typer.Option("--engine", help="local, or ray: a cluster, or several workers here.")]
Address = Annotated[str, typer.Option("--address", help="Of a Ray cluster: auto, HOST:6379, ray://HOST:10001.")]
Workers = Annotated[
    int, typer.Option("--workers", help="Of a Ray cluster; 0: as many as it has GPUs, or processors.", min=0)
]


def extract(
    model: Annotated[
        str, typer.Argument(help="A Hub id, a folder, or one for each language: en=bert-en,fr=bert-fr.")
    ] = BUILT_IN,
    corpus: Corpus = "everyday",
    out: Annotated[Path | None, typer.Option("--out", help="The store to write, or to go on with.")] = None,
    langs: Langs = "",
    split: Split = "",
    rows: Rows = 0,
    level: Annotated[
        str, typer.Option(help="sentence, word, type (mean over contexts) or table (embeddings).")
    ] = "sentence",
    pooling: Annotated[
        str, typer.Option(help="mean, mean_all (special tokens too), first, last, max, weighted or mixed.")
    ] = "mean",
    join: Annotated[str, typer.Option(help="Tokens of a word: mean, first or last.")] = "mean",
    min_count: Annotated[int, typer.Option(help="Only words that occur at least so often.", min=1)] = 1,
    max_count: Annotated[int | None, typer.Option(help="Only words that occur at most so often.")] = None,
    single: Annotated[bool, typer.Option("--single", help="Level table: only words of one token.")] = False,
    truncate: Annotated[bool, typer.Option("--truncate", help="Cut sentences longer than the model takes.")] = False,
    stack: Annotated[str, typer.Option(help="encoder or decoder, of a model that has both.")] = "",
    source: Annotated[str, typer.Option(help="Decoders: the language that the encoder reads.")] = "",
    random: Annotated[bool, typer.Option("--random", help="Draw all weights anew: a baseline.")] = False,
    random_except: Annotated[str, typer.Option(help="Random weights for all languages but this one.")] = "",
    seed: Annotated[int, typer.Option(help="The seed of random weights.", min=0)] = 0,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, mps; by default cuda where there is one.")] = "",
    dtype: Annotated[str, typer.Option(help="The network's: float32, bfloat16 or float16.")] = "float32",
    autocast: Annotated[str, typer.Option(help="Compute in bfloat16 or float16 where that is safe.")] = "",
    attention: Annotated[str, typer.Option(help="eager, sdpa, flash_attention_2.")] = "",
    store_dtype: Annotated[str, typer.Option(help="The vectors': float32 or float16.")] = "float32",
    budget: Annotated[int, typer.Option(help="Tokens in a batch, with padding; 0: by device.", min=0)] = 0,
    block: Annotated[int, typer.Option(help="Rows written at once; 0: by level.", min=0)] = 0,
    revision: Annotated[str, typer.Option(help="A branch, tag or commit on the Hub.")] = "",
    adapter: Annotated[str, typer.Option(help="A folder or Hub id of a PEFT adapter.")] = "",
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run code from the model's repository.")
    ] = False,
    trust_pickle: Annotated[
        bool, typer.Option("--trust-pickle", help="Unpickle weights in full, which can run anything.")
    ] = False,
    moments: Annotated[
        bool, typer.Option("--moments", help="Compare languages and keep no vectors: --out is a folder.")
    ] = False,
    layers: Annotated[str, typer.Option(help="With --moments: only these layers, 0,4,8.")] = "",
    pivot: Annotated[str, typer.Option(help="With --moments: this language with every other, not all pairs.")] = "",
    memory: Annotated[
        float | None, typer.Option(help="With --moments: GiB that a worker holds, about; 8 by default.", min=0.001)
    ] = None,
    engine: EngineName = "local",
    address: Address = "",
    workers: Workers = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would cost, and compute nothing.")] = False,
    as_if: Annotated[
        str, typer.Option(help="With --dry-run: as if it were so much, languages x sentences: 200x1000000.")
    ] = "",
    tflops: Annotated[
        float, typer.Option(help="With --dry-run: what a worker computes, TFLOP a second.", min=0.0)
    ] = 0.0,
    as_json: Json = False,
) -> None:
    """Extract every layer of a model for a corpus; run it again after an interruption and it goes on.

    Example: interlingua extract xlm-roberta-base --corpus everyday --langs en,fr,zh --out reps.zarr
    """
    from interlingua.errors import InputError

    if out is None and not dry_run:
        raise InputError("say where to write with --out reps.zarr, or ask for the cost with --dry-run")
    how = {
        "level": level,
        "pooling": pooling,
        "join": join,
        "source": source,
        "min_count": min_count,
        "max_count": max_count,
        "single": single,
        "truncate": truncate,
        "autocast": autocast,
        "dtype": store_dtype,
        "block": block,
        "budget": budget,
    }
    _check(how)
    where = Engine(engine, address, workers, device)
    only = tuple(int(part) for part in layers.split(",") if part.strip().isdecimal())
    if layers and (not moments or len(only) < len(layers.split(","))):
        raise InputError(f"--layers {layers!r} is for --moments, which compares some of them: 0,4,8")
    if pivot and not moments:
        raise InputError(f"--pivot {pivot} is for --moments, which compares languages")
    if memory is not None and not (moments and memory < 1e9):
        raise InputError(f"--memory {memory:g} is for --moments, in GiB: 8, 64")
    if (as_if or tflops) and not dry_run:
        raise InputError(f"{'--as-if' if as_if else '--tflops'} is for --dry-run, which says what it would cost")
    size = size_of(as_if, level) if as_if else None
    records = _records(corpus, tags(langs), split, rows, level)
    if dry_run:
        drawn = blueprints(model, stack, revision, trust_remote_code)
        if moments:
            from interlingua.analyses.streamed import layers_of, pairs_of

            spoken = parallel_text(records)
            pairs_of([str(lang) for lang in spoken.langs], pivot)
            only = layers_of(drawn, spoken, only)
            size = size or (len(spoken.langs), len(spoken))
        facts = plan(drawn, records, how, device, as_json=as_json)
        if size:
            facts["as_if"] = scaled(
                facts["total"], size, drawn, len(only), _bytes(memory), all_pairs=not pivot, source=bool(source)
            )
            if moments:
                facts["as_if"]["flops"] = round(facts["as_if"]["flops"] * facts["as_if"]["read"])
        if tflops:
            price = facts.get("as_if") or facts["total"]
            price["seconds"] = price["flops"] / (tflops * 1e12 * max(1, workers))
        if not as_json:
            tell_scale(facts, tflops, max(1, workers), as_if=bool(as_if), moments=moments)
        if as_json:
            typer.echo(json.dumps(facts, indent=2))
        return
    loading = {
        "stack": stack,
        # this process need not have what workers compute on
        "device": "" if where.spread and device == "cuda" else device,
        "dtype": dtype,
        "attention": attention,
        "revision": revision,
        "adapter": adapter,
        "random": random,
        "seed": seed,
        "trust_remote_code": trust_remote_code,
        "trust_pickle": trust_pickle,
    }
    if moments:
        loaded = models_of(model, random_except, loading)
        _stream(
            loaded,
            records,
            {**how, "layers": only, "pivot": pivot, "memory": _bytes(memory)},
            out or Path(),
            where,
            as_json=as_json,
        )
        return
    _run(models_of(model, random_except, loading), records, how, out or Path(), where, as_json=as_json)


def _check(how: dict[str, Any]) -> None:
    """Options that make no sense are told before a model is loaded."""
    needs_models()
    from interlingua.extract import Extraction

    Extraction(**how)


def needs_models() -> None:
    """Torch and transformers, or one line on how to get them; quiet but for errors."""
    from interlingua.errors import MissingExtraError

    try:
        import torch  # noqa: F401
        import transformers
    except ImportError as error:
        raise MissingExtraError(str(error.name), "models", "extracting representations") from error
    said: Any = transformers.utils.logging
    said.set_verbosity_error()
    said.disable_progress_bar()


def _records(corpus: str, langs: tuple[Language, ...], split: str, rows: int, level: str) -> Record | list[Record]:
    """The corpus as the level needs it: parallel text, or for words whatever has words in each language."""
    from interlingua.corpora.dataset import Kind
    from interlingua.corpora.loading import load, own, own_path, parallel
    from interlingua.corpora.places import find

    if level == "sentence":
        text = parallel(corpus, *langs, split=split)
        return text[:rows] if rows else text
    path = own_path(corpus)
    if path is not None:
        found: list[Any] = [own(path, *langs)]
    elif find(corpus)[0].kind in (Kind.PARALLEL, Kind.DICTIONARY, Kind.BITEXT):
        found = [load(corpus, *langs, split=split)]
    else:
        found = [load(corpus, lang, split=split) for lang in langs] or [load(corpus, split=split)]
    return [record[:rows] if rows else record for record in found]


def models_of(text: str, random_except: str, loading: dict[str, Any]) -> Model | PerLanguage:
    """What a user names on the command line: a model, or one for each language."""
    from interlingua.errors import InputError
    from interlingua.models import PerLanguage, load_model, random_others

    if random_except and (loading["random"] or by_language(text)):
        raise InputError(
            "--random-except is for one model with its own weights: leave out --random, and name one model"
        )
    if named := by_language(text):
        # Random weights of their own for each network.
        loaded = {
            name: load_model(name, **{**loading, "seed": loading["seed"] + i})
            for i, name in enumerate(dict.fromkeys(named.values()))
        }
        return PerLanguage.by_tag({tag: loaded[name] for tag, name in named.items()})
    model = load_model(text, **loading)
    return random_others(model, random_except, seed=loading["seed"]) if random_except else model


def blueprints(text: str, stack: str, revision: str, trust: bool) -> Model | PerLanguage:
    """The same without weights."""
    from interlingua.models import PerLanguage
    from interlingua.models.load import blueprint

    def draw(name: str) -> Model:
        return blueprint(name, stack=stack, revision=revision, trust_remote_code=trust)

    named = by_language(text)
    return PerLanguage.by_tag({tag: draw(name) for tag, name in named.items()}) if named else draw(text)


def by_language(text: str) -> dict[str, str]:
    """`en=model,fr=model` as a mapping; empty where it is the name of one model."""
    from interlingua.errors import InputError

    if "=" not in text or Path(text).exists():
        return {}
    parts = [part.partition("=") for part in text.split(",")]
    if not all(tag and name for tag, _, name in parts):
        raise InputError(f"{text!r}: name one model a language like en=bert-en,fr=bert-fr")
    return {tag.strip(): name.strip() for tag, _, name in parts}


def _run(
    model: Model | PerLanguage,
    records: Record | list[Record],
    how: dict[str, Any],
    out: Path,
    where: Engine,
    *,
    as_json: bool,
) -> None:
    from interlingua.cli.progress import bar
    from interlingua.extract import extract as run

    start = time.monotonic()
    there: list[bool] = []
    with bar("extracting", "sentences" if how["level"] == "sentence" else "words") as show:

        def progress(done: int, total: int) -> None:
            there.append(done == total)
            show(done, total)

        reps = run(model, records, out=out, engine=where, progress=progress, **how)
    seconds = time.monotonic() - start
    facts = _facts(reps, out, seconds)
    if as_json:
        typer.echo(json.dumps({**facts, "signature": dict(reps.signature)}, indent=2))
        return
    unit = unit_of(how["level"])
    for lang, found in facts["languages"].items():
        dropped = f" ({found['dropped']:,} words without a token, or cut off, have none)" if found["dropped"] else ""
        layers = f"{found['layers']} layer{'s' if found['layers'] > 1 else ''}"
        typer.echo(f"{lang}: {layers} x {found['rows']:,} {unit} x {found['neurons']} neurons{dropped}")
    complete = " (it was complete already)" if there[:1] == [True] else ""
    typer.echo(f"{out}: {human(facts['bytes'])} in {seconds:,.1f} s{complete}")
    lang, found = next(iter(facts["languages"].items()))
    typer.echo(f"in Python: reps = interlingua.open_store({str(out)!r}); reps[{lang!r}, {found['layers'] // 2}]")


def _stream(
    model: Model | PerLanguage,
    records: Record | list[Record],
    how: dict[str, Any],
    out: Path,
    where: Engine,
    *,
    as_json: bool,
) -> None:
    """Compared without vectors: the best layer of every pair, and where all of it is."""
    from interlingua.analyses.streamed import stream
    from interlingua.cli.progress import bar

    text = parallel_text(records)
    with bar("extracting", "sentences") as show:
        table = stream(model, text, out, engine=where, progress=show, **how)
    if as_json:
        typer.echo(table.to_json(orient="records", indent=2))
        return
    best = table.loc[table.dropna(subset=["value"]).groupby(["source", "target", "measure"])["value"].idxmax()]
    for row in best.sort_index().itertuples():
        typer.echo(
            f"{row.source}-{row.target} {row.measure}: {row.value:.3f} ({row.low:.3f} to {row.high:.3f}) at layer "
            f"{row.layer}, its highest; {row.n:,} sentences"
        )
    typer.echo(f"all layers are in {out / 'results.csv'}; run it again after an interruption and it goes on")


def _bytes(memory: float | None) -> int:
    """What `--memory` says, or the usual."""
    from interlingua.analyses.streamed import MEMORY

    return MEMORY if memory is None else round(memory * 2**30)


def parallel_text(records: Record | list[Record]) -> ParallelCorpus:
    """What `--moments` compares; an error where it is something else."""
    from interlingua.errors import InputError
    from interlingua.types import ParallelCorpus

    if not isinstance(records, ParallelCorpus):
        raise InputError("--moments compares sentences with their translations: leave out --level")
    return records


def _facts(reps: Representations | WordRepresentations, out: Path, seconds: float) -> dict[str, Any]:
    from interlingua.types import WordRepresentations

    languages = {
        str(lang): {
            "layers": int(reps.arrays[lang].shape[0]),
            "rows": int(reps.arrays[lang].shape[1]),
            "neurons": reps.width(lang),
            "dropped": len(reps.dropped(lang)) if isinstance(reps, WordRepresentations) else 0,
        }
        for lang in reps.langs
    }
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    return {"out": str(out), "languages": languages, "bytes": size, "seconds": round(seconds, 3)}
