"""`extract`: corpus x model -> Representations."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Literal, overload

from interlingua.cluster import HERE, Engine, workers
from interlingua.errors import InputError, UnknownNameError
from interlingua.extract.column import Column, Rows, rows_of
from interlingua.extract.forward import Computing, here
from interlingua.extract.job import Job
from interlingua.extract.options import BLOCKS, BUDGETS, SENTENCE, TABLE, Extraction, Progress
from interlingua.extract.store import plan_of, writing
from interlingua.extract.words import Record, Sentence, how_mapped, sentences
from interlingua.languages import Language
from interlingua.models import Model, PerLanguage, load_model
from interlingua.models.codes import code_used, has_codes
from interlingua.types import ParallelCorpus, Representations, WordRepresentations
from interlingua.types.corpus import digest, strings


@overload
def extract(
    model: Model | PerLanguage | str | Path,
    corpus: ParallelCorpus,
    *,
    level: Literal["sentence"] = ...,
    out: str | Path | None = None,
    engine: Engine = ...,
    progress: Progress = ...,
    **options: Any,
) -> Representations: ...
@overload
def extract(
    model: Model | PerLanguage | str | Path,
    corpus: Record | Sequence[Record],
    *,
    level: Literal["word", "type", "table"],
    out: str | Path | None = None,
    engine: Engine = ...,
    progress: Progress = ...,
    **options: Any,
) -> WordRepresentations: ...
def extract(
    model: Model | PerLanguage | str | Path,
    corpus: Record | Sequence[Record],
    *,
    level: str = SENTENCE,
    out: str | Path | None = None,
    engine: Engine = HERE,
    progress: Progress = lambda _done, _total: None,
    **options: Any,
) -> Representations | WordRepresentations:
    """Vectors at every layer, for every language of a corpus, of the examples that `level` names.

    sentence: one a sentence; rows of different languages translate each other.
    word: one for every occurrence of a word, in its context.
    type: one for every word, the mean over its contexts.
    table: one for every word, from the embedding table alone (a single layer).

    `model` is a loaded one, or the name or folder of one. With `out`, vectors are stored there block by block and a run
    that was killed goes on where it stopped; without, they are held in memory. `engine` says where it is computed:
    here, or by a Ray cluster, `Engine("ray", workers=4)`; the numbers are the same.

    Options:
        pooling: sentence level: mean (the default), mean_all, first, last, max, weighted or mixed.
        join: word and type level: mean (the default), first or last of the tokens of a word.
        min_count, max_count: only words that occur so often in the corpus.
        keep, seed: word level: at most so many occurrences of every word, drawn from the seed.
        single: table level: only words that are one token.
        source: for a decoder that has an encoder: the language whose sentence the encoder reads while the decoder reads
            its translation; by default both read the same sentence.
        truncate: cut sentences that are longer than the model takes, which are an error otherwise.
        autocast: bfloat16 or float16 inside the network; pooling is in float32 always.
        dtype: float32 (the default) or float16, of the vectors that are kept.
        block, budget: rows in a block, tokens in a batch.
    """
    known = {field.name for field in fields(Extraction)}
    if unknown := [name for name in options if name not in known]:
        hint = "stack, device, random and the like are options of load_model"
        raise UnknownNameError("option of extract", unknown[0], known, hint)
    how = Extraction(level=level, **options)
    loaded = load_model(model) if isinstance(model, str | Path) else model
    columns = columns_of(loaded, corpus, how)
    if engine.spread and level == TABLE:
        raise InputError("an embedding table is only looked up: leave out engine (--engine)")
    place = None if out is None else Path(out).resolve()
    try:
        with writing(place) if place else nullcontext(), _computing(engine, columns) as (computing, device):
            job = _job(columns, corpus, how, device, plan_of(place) if place else None, computing)
            return job.stored(place, progress) if place else job.held(progress)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
            raise InputError(f"no space left for {out}: free some and run again, it goes on from here") from error
        raise


@contextmanager
def _computing(engine: Engine, columns: dict[Language, Column]) -> Iterator[tuple[Computing, str]]:
    """What computes, and on which kind of device."""
    if not engine.spread:
        yield here, next(iter(columns.values())).model.device.type
        return
    from interlingua.extract.spread import Spread

    with workers(engine) as there:
        yield Spread(there), there.device


def _job(
    columns: dict[Language, Column],
    corpus: Record | Sequence[Record],
    how: Extraction,
    device: str,
    planned: dict[str, int] | None,
    computing: Computing,
) -> Job:
    how = settled(how, device, planned)
    rows = {} if how.level == TABLE else look_at(columns, how)
    # Rows of several records have no ids in common.
    ids = corpus.ids if isinstance(corpus, ParallelCorpus) else ()
    return Job(columns, rows, how, ids, signature(columns, how), computing)


def columns_of(
    model: Model | PerLanguage, corpus: Record | Sequence[Record], how: Extraction
) -> dict[Language, Column]:
    """Every language of a corpus, with the model that reads it."""
    words: dict[Language, tuple[Sentence, ...]] | None = None
    if how.level == SENTENCE:
        if not isinstance(corpus, ParallelCorpus):
            raise InputError(
                f"sentences of {corpus!r} are no parallel text: use ParallelCorpus.from_texts, or level='word'"
            )
        texts: dict[Language, Sequence[str]] = {lang: corpus[lang] for lang in corpus.langs}
    else:
        words = sentences(corpus)
        texts = {lang: [s.text for s in rows] for lang, rows in words.items()}
    if isinstance(model, PerLanguage) and (others := [str(lang) for lang in model.models if lang not in texts]):
        there = ", ".join(map(str, texts))
        raise InputError(f"a model is named for {', '.join(others)}, which is not in the corpus: there are {there}")
    result = {}
    for lang, column in texts.items():
        reads = model.of(lang)
        if how.source and not reads.feeds_decoder:
            raise InputError(f"{reads.name} is read at its {reads.stack}: a source is for the decoder of two stacks")
        source = Language.parse(how.source) if how.source else lang
        if source not in texts:
            raise UnknownNameError("source language in the corpus", str(source), map(str, texts))
        if len(texts[source]) != len(column):
            raise InputError(f"{source} has {len(texts[source])} sentences and {lang} {len(column)}: no translations")
        result[lang] = Column(
            lang,
            reads,
            column,
            None if words is None else words[lang],
            texts[source] if reads.feeds_decoder else None,
            source if reads.feeds_decoder else None,
            how.join,
            how.truncate,
        )
    return result


def settled(how: Extraction, device: str, planned: dict[str, int] | None = None) -> Extraction:
    """Blocks and batches as asked for, as a store was planned (the same batches give the same bytes), or by default."""
    usual = {"block": BLOCKS[how.level], "budget": BUDGETS.get(device, BUDGETS["cuda"])}
    for name, value in (planned or {}).items():
        if getattr(how, name) not in (0, value):
            raise InputError(
                f"the store was planned with a {name} of {value}: leave {name} out, or choose another place"
            )
    chosen = planned or usual
    return replace(how, block=how.block or chosen["block"], budget=how.budget or chosen["budget"])


def look_at(columns: dict[Language, Column], how: Extraction) -> dict[Language, Rows]:
    """The rows of every language."""
    wanted: dict[str, Any] = {"least": how.min_count, "most": how.max_count, "keep": how.keep, "seed": how.seed}
    rows = {lang: rows_of(column, **wanted) for lang, column in columns.items()}
    for lang, found in rows.items():
        if not len(found):
            if how.level != SENTENCE and how.min_count > 1:
                raise InputError(f"{lang}: no word occurs {how.min_count} times: lower min_count (--min-count)")
            none = "no word has a vector" if how.level != SENTENCE else "there are no sentences"
            raise InputError(f"{lang}: {none}: nothing to extract")
    return rows


def _network(signed: dict[str, Any]) -> dict[str, Any]:
    """What is left of a model's signature when it is read with another tokenizer: the network."""
    return {name: value for name, value in signed.items() if name != "tokenizer"}


def signature(columns: dict[Language, Column], how: Extraction) -> dict[str, Any]:
    """Everything that the numbers depend on: the key under which they are cached."""
    distinct = {id(c.model): c.model for c in columns.values()}
    signed = {key: model.signature() for key, model in distinct.items()}
    models = {str(lang): signed[id(c.model)] for lang, c in columns.items()}
    first = models[str(next(iter(columns)))]
    one = all(_network(found) == _network(first) for found in models.values())
    codes = {
        str(lang): code_used(c.model.tokenizer, lang) for lang, c in columns.items() if has_codes(c.model.tokenizer)
    }
    result: dict[str, Any] = {
        "level": how.level,
        "truncate": how.truncate,
        "autocast": how.autocast,
        "dtype": how.dtype,
        "source": str(Language.parse(how.source)) if how.source else "",
        "corpus": {str(lang): _digest(c) for lang, c in columns.items()},
        "sentences": {str(lang): len(c) for lang, c in columns.items()},
        "one_network": one,
        "language_codes": codes,
        "model": first if all(found == first for found in models.values()) else models,
    }
    if how.level == SENTENCE:
        return {**result, "pooling": how.pooling}
    mapped = {str(lang): how_mapped(c.model) for lang, c in columns.items()}
    counts = {"min_count": how.min_count, "max_count": how.max_count, "single": how.single}
    kept = {} if how.keep is None else {"keep": how.keep, "seed": how.seed}
    return {**result, "join": how.join, "word_map": mapped, **counts, **kept}


def _digest(column: Column) -> str:
    if column.words is None:
        return digest(strings(tuple(column.texts)))
    return digest(strings(tuple((s.text, s.words, s.spans) for s in column.words)))
