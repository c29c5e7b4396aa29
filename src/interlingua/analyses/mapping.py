"""`map_words`, `map_contexts`, `map_sentences`: two models, or two languages of one, made one space, layer by layer.

A folder holds `config.json`, `scores.parquet` and `.csv` (every number), `alignments/` (to load and use),
`neighbours.parquet` and `dictionary.tsv` (word level), and what a run that was killed goes on from.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from interlingua.analyses.map_run import KEPT, WAYS_OF, Judge, MapRun, Pair, Plan, Stage
from interlingua.analyses.survey import made_with, same_run
from interlingua.errors import InputError, UnknownNameError
from interlingua.extract.words import Sentence, sentences
from interlingua.folders import claimed, whole
from interlingua.languages import Language
from interlingua.mapping.alignment import Alignment, open_alignment
from interlingua.mapping.induce import Words, check_apart, mutual
from interlingua.mapping.levels import (
    Score,
    context_scores,
    folded,
    occurrences,
    sentence_scores,
    vocabulary,
    word_scores,
)
from interlingua.mapping.static import static_words
from interlingua.models.load import shown
from interlingua.report.map_tables import MapTables, full
from interlingua.report.tables import INDUCED
from interlingua.types import Dictionary, ParallelCorpus, TextCorpus, WordRepresentations
from interlingua.types.corpus import digest


def map_words(
    models: Sequence[str],
    texts: Sequence[TextCorpus] | ParallelCorpus,
    training: Dictionary,
    test: Dictionary,
    out: str | Path,
    plan: Plan | None = None,
    *,
    force: bool = False,
    stage: Stage = lambda _name: nullcontext(lambda _done, _total: None),
) -> MapTables:
    """Dictionaries induced from the vectors of words: averaged over contexts at every layer, and of the table alone."""
    plan, langs = plan or Plan(), (training.source, training.target)
    check_apart(training, test)
    training, test = folded(training), folded(test)
    columns = sentences(texts)
    if missing := [str(lang) for lang in langs if lang not in columns]:
        raise UnknownNameError("language of the text", missing[0], map(str, columns))
    config = _config("word", models, langs, plan) | {
        "dictionaries": {"training": _described(training), "test": _described(test)},
        "text": {str(lang): [len(columns[lang]), digest(s.text for s in columns[lang])] for lang in langs},
    }
    with claimed(Path(out)):
        same_run(Path(out), config, force=force)
        run = MapRun(Path(out), "word", langs, plan, stage)
        for space in run.spaces():
            reps = run.extracted(models, texts, "type", space, min_count=plan.min_count)
            run.layers(space, reps.layers, _of_types(run, space, reps, training, test), reps)
        table = run.extracted(models, texts, "table", "model", single=True)
        run.layers("table", 1, _of_types(run, "table", table, training, test), table)
        if plan.static:
            run.layers("static", 1, _static(run, columns, training, test))
        tables = run.tables(config)
        _induced(run, tables)
    return tables


def map_contexts(
    models: Sequence[str],
    corpus: ParallelCorpus,
    out: str | Path,
    plan: Plan | None = None,
    *,
    aligner: str = "",
    force: bool = False,
    stage: Stage = lambda _name: nullcontext(lambda _done, _total: None),
) -> MapTables:
    """Words in their contexts: linked by a word aligner, mapped from the second language's space to the first's."""
    plan, langs = plan or Plan(), _two(corpus)
    corpus = _distinct(corpus)
    config = _config("context", models, langs, plan) | {"corpus": _described(corpus), "aligner": aligner}
    with claimed(Path(out)):
        same_run(Path(out), config, force=force)
        run = MapRun(Path(out), "context", langs, plan, stage)
        links = run.links(sentences(corpus), aligner)
        for space in run.spaces():
            reps = run.extracted(models, corpus, "word", space)
            linked = occurrences(reps, langs, links)
            run.layers(space, reps.layers, partial(context_scores, reps, langs, linked, **run.options(space)), reps)
        return run.tables(config)


def map_sentences(
    models: Sequence[str],
    fit: ParallelCorpus,
    test: ParallelCorpus,
    out: str | Path,
    plan: Plan | None = None,
    *,
    force: bool = False,
    stage: Stage = lambda _name: nullcontext(lambda _done, _total: None),
) -> MapTables:
    """Sentences: maps fitted on some pairs of one corpus, judged on another."""
    plan, langs = plan or Plan(), _two(fit)
    test = test.languages(*langs)
    test = _distinct(test)
    seen = [set(column) for column in test.columns]
    kept = [i for i, row in enumerate(zip(*fit.columns, strict=True)) if not any(map(set.__contains__, seen, row))]
    if len(kept) < 2:
        raise InputError(
            f"all but {len(kept)} of the {len(fit)} rows of {fit.name} have a sentence that {test.name} has too: what "
            "was fitted on proves nothing, judge by other text (--test)"
        )
    fit = fit.take(kept)
    config = _config("sentence", models, langs, plan) | {"corpus": _described(fit), "test": _described(test)}
    sizes = [n for n in plan.sizes if n < len(fit)] + [len(fit)]
    with claimed(Path(out)):
        same_run(Path(out), config, force=force)
        run = MapRun(Path(out), "sentence", langs, plan, stage)
        for space in run.spaces():
            reps = [
                run.extracted(models, each, "sentence", space, name=name)
                for each, name in ((fit, "fit"), (test, "test"))
            ]
            judge = partial(sentence_scores, reps[0], reps[1], langs, sizes=sizes, **run.options(space))
            run.layers(space, reps[0].layers, judge, reps[0])
        return run.tables(config)


def _of_types(run: MapRun, space: str, reps: WordRepresentations, training: Dictionary, test: Dictionary) -> Judge:
    def judge(layer: int, sides: Any) -> Iterator[tuple[Alignment, Score]]:
        source, target = (vocabulary(reps, lang, layer) for lang in run.langs)
        return _judged_words(run, space, source, target, training, test, layer, sides)

    return judge


def _static(
    run: MapRun, columns: Mapping[Language, Sequence[Sentence]], training: Dictionary, test: Dictionary
) -> Judge:
    """Static vectors of the same text, over the words that the models were judged on."""

    def judge(layer: int, sides: Any) -> Iterator[tuple[Alignment, Score]]:
        source, target = (
            static_words(
                (s.text for s in columns[lang]),
                only=set(vocabulary(run.reps, lang, 0).words),
                min_count=run.plan.min_count,
                seed=run.plan.seed,
            )
            for lang in run.langs
        )
        return _judged_words(run, "static", source, target, training, test, layer, sides)

    return judge


def _judged_words(
    run: MapRun,
    space: str,
    source: Words,
    target: Words,
    training: Dictionary,
    test: Dictionary,
    layer: int,
    sides: Any,
) -> Iterator[tuple[Alignment, Score]]:
    plan = run.plan
    sizes = plan.sizes if space in ("model", "static") else ()
    return word_scores(
        source, target, training, test, layer=layer, space=space, ways=run.ways(space), by=plan.by, sizes=sizes,
        reduce=plan.reduce, sides=sides,
    )  # fmt: skip


def _induced(run: MapRun, tables: MapTables) -> None:
    """The dictionary of words that are each other's nearest at the best layer, the nearest first."""
    scores = full(tables)
    mine = scores[(scores["space"] == "model") & (scores["way"] == KEPT)]
    if not len(mine):
        return
    layer = int(mine.loc[mine["p1"].idxmax(), "layer"])
    aligned = open_alignment(run.alignment(layer))
    source, target = (vocabulary(run.reps, lang, layer) for lang in run.langs)
    x, y = aligned.of_source(source.vectors).astype(np.float32), aligned.of_target(target.vectors).astype(np.float32)
    lines = [
        f"{source.words[i]}\t{target.words[j]}\t{score:.4f}\n"
        for i, j, score in mutual(Words(source.words, x), Words(target.words, y))
    ]
    whole(run.folder / INDUCED, "".join(lines).encode())


def _two(corpus: ParallelCorpus) -> Pair:
    if len(corpus.langs) != 2:
        raise InputError(f"{corpus.name} has {len(corpus.langs)} languages: a map is between two, name them (--langs)")
    return corpus.langs[0], corpus.langs[1]


def _distinct(corpus: ParallelCorpus) -> ParallelCorpus:
    """Without rows that repeat a sentence of either language: they would be on both sides, or have two answers."""
    seen: list[set[str]] = [set() for _ in corpus.columns]
    kept = []
    for i, row in enumerate(zip(*corpus.columns, strict=True)):
        if not any(map(set.__contains__, seen, row)):
            kept.append(i)
        for known, sentence in zip(seen, row, strict=True):
            known.add(sentence)
    return corpus if len(kept) == len(corpus) else corpus.take(kept)


def _described(record: Any) -> dict[str, Any]:
    rows = len(record.words if isinstance(record, Dictionary) else record)
    return {"name": record.name, "rows": rows, "hash": record.hash}


def _config(level: str, models: Sequence[str], langs: Pair, plan: Plan) -> dict[str, Any]:
    if len(models) not in (1, 2):
        raise InputError(f"{len(models)} models: a map is inside one, or from one to another")
    loading = {k: v for k, v in plan.loading.items() if v and k != "device"}
    asked = {**asdict(plan), "loading": loading, "ways": list(plan.ways or WAYS_OF[level])}
    config = {
        "kind": "map",
        "level": level,
        "models": [shown(name) for name in models],
        "languages": [str(lang) for lang in langs],
        **asked,
        "versions": made_with(),
    }
    plain: dict[str, Any] = json.loads(json.dumps(config))
    return plain
