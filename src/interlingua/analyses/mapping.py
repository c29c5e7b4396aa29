"""`map_words`, `map_contexts`, `map_sentences`: two models, or two languages of one, made one space, layer by layer.

A folder holds `config.json`, `scores.parquet` and `.csv` (every number), `alignments/` (to load and use),
`neighbours.parquet` and `dictionary.tsv` (word level), and what a run that was killed goes on from.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from interlingua.analyses.survey import made_with, same_run
from interlingua.corpora.aligner import align
from interlingua.errors import InputError, UnknownNameError
from interlingua.extract import extract
from interlingua.extract.words import Sentence, sentences
from interlingua.folders import claimed
from interlingua.languages import Language
from interlingua.mapping.alignment import Alignment, open_alignment, save_alignment
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
from interlingua.models.load import Model, PerLanguage, load_model, shown
from interlingua.report.mapped import MapTables, full, write_map
from interlingua.report.tables import ALIGNMENTS, CACHE, INDUCED, REPRESENTATIONS, whole
from interlingua.types import Dictionary, ParallelCorpus, Representations, TextCorpus, WordRepresentations
from interlingua.types.corpus import digest

Stage = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]
Pair = tuple[Language, Language]
# The way whose alignments are kept for use, and what the rest is judged beside.
KEPT = "rotation"
WAYS_OF = {
    "word": ("identity", "shift", "rotation", "refined"),
    "context": ("identity", "shift", "rotation"),
    "sentence": ("identity", "shift", "rotation"),
}


@dataclass(frozen=True)
class Plan:
    """How spaces are made one and judged."""

    ways: tuple[str, ...] = ()
    by: tuple[str, ...] = ("csls",)
    sizes: tuple[int, ...] = (100, 300, 1000, 3000, 10_000)
    reduce: bool = False
    # beside the models: their untrained twins; word level: the embedding table, and static vectors of the same text
    baseline: bool = True
    static: bool = False
    min_count: int = 5
    seed: int = 0
    extraction: Mapping[str, Any] = field(default_factory=dict)
    loading: Mapping[str, Any] = field(default_factory=dict)


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
        run = _Run(Path(out), "word", langs, plan, stage)
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
        run = _Run(Path(out), "context", langs, plan, stage)
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
        run = _Run(Path(out), "sentence", langs, plan, stage)
        for space in run.spaces():
            reps = [
                run.extracted(models, each, "sentence", space, name=name)
                for each, name in ((fit, "fit"), (test, "test"))
            ]
            judge = partial(sentence_scores, reps[0], reps[1], langs, sizes=sizes, **run.options(space))
            run.layers(space, reps[0].layers, judge, reps[0])
        return run.tables(config)


# (layer=..., sides=...) -> alignments and their scores
Judge = Callable[..., Iterator[tuple[Alignment, Score]]]


class _Run:
    """A run under way in its folder: layers that are done are not done again."""

    def __init__(self, folder: Path, level: str, langs: Pair, plan: Plan, stage: Stage) -> None:
        self.folder, self.level, self.langs, self.plan, self.stage = folder, level, langs, plan, stage
        self.rows: list[dict[str, Any]] = []
        self.found: list[dict[str, Any]] = []
        self.reps: Any = None
        self.left_out: dict[str, str] = {}
        for name in (CACHE, REPRESENTATIONS, ALIGNMENTS):
            (folder / name).mkdir(exist_ok=True)

    def spaces(self) -> tuple[str, ...]:
        return ("model", "untrained") if self.plan.baseline else ("model",)

    def ways(self, space: str) -> tuple[str, ...]:
        """Everything for the models; for what they are judged beside, the rotation."""
        asked = self.plan.ways or WAYS_OF[self.level]
        return asked if space == "model" else tuple(way for way in asked if way == KEPT) or asked[:1]

    def options(self, space: str) -> dict[str, Any]:
        """What contexts and sentences are judged with."""
        plan = self.plan
        return {"space": space, "ways": self.ways(space), "by": plan.by, "seed": plan.seed, "reduce": plan.reduce}

    def extracted(
        self, models: Sequence[str], corpus: Any, level: str, space: str, *, name: str = "", **more: Any
    ) -> Any:
        how = {**self.plan.loading, **({"random": True, "seed": self.plan.seed} if space == "untrained" else {})}
        loaded = _loaded(models, self.langs, how)
        place = self.folder / REPRESENTATIONS / ".".join(filter(None, [space, level, name, "zarr"]))
        chosen = corpus.languages(*self.langs) if isinstance(corpus, ParallelCorpus) else corpus
        with self.stage(f"extracting {level} vectors{', random weights' if space == 'untrained' else ''}") as progress:
            options: dict[str, Any] = {**self.plan.extraction, **more, "level": level}
            reps: Any = extract(loaded, chosen, out=place, progress=progress, **options)
        if space == "model" and level != "table":
            self.reps = reps
        return reps

    def links(self, columns: Mapping[Language, Sequence[Sentence]], aligner: str) -> list[list[tuple[int, int]]]:
        """Words that translate each other; kept, for an aligner may draw others the next time."""
        place = self.folder / CACHE / "links.json"
        if not place.exists():
            with self.stage("aligning words"):
                words = [[s.words for s in columns[lang]] for lang in self.langs]
                found = align(words[0], words[1], method=aligner, symmetrise="intersection")
            whole(place, json.dumps([[list(map(int, pair)) for pair in each] for each in found]).encode())
        return [[(i, j) for i, j in each] for each in json.loads(place.read_text(encoding="utf-8"))]

    def layers(self, space: str, count: int, judge: Judge, reps: Any = None) -> None:
        with self.stage(f"aligning {space}") as progress:
            for layer in range(count):
                place = self.folder / CACHE / f"{space}.{layer}.json"
                kept = self._kept(place, space, layer)
                if kept is None:
                    try:
                        kept = self._judged(space, layer, judge, reps)
                    except InputError as error:
                        if space == "model":
                            raise
                        # what stands beside the models must not cost their own numbers
                        self.left_out[space] = str(error)
                        return
                    whole(place, json.dumps(kept).encode())
                self.rows += kept["rows"]
                self.found += kept["found"]
                progress(layer + 1, count)

    def _kept(self, place: Path, space: str, layer: int) -> dict[str, Any] | None:
        """What an earlier run found at a layer, if all of it is still there."""
        try:
            found: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        aligned = space == "model" and any(row["way"] == KEPT for row in found["rows"])
        return None if aligned and not self.alignment(layer).exists() else found

    def alignment(self, layer: int) -> Path:
        """Where the alignment of a layer is kept."""
        return self.folder / ALIGNMENTS / f"layer-{layer}.npz"

    def _judged(self, space: str, layer: int, judge: Judge, reps: Any) -> dict[str, Any]:
        rows, found = [], []
        sides = ({}, {}) if reps is None else tuple(_facts(reps, lang, layer) for lang in self.langs)
        largest = 0
        for aligned, score in judge(layer=layer, sides=sides):
            rows.append(score.row())
            if space == "model" and score.way == KEPT and score.pairs >= largest:
                largest = score.pairs
                save_alignment(aligned, self.alignment(layer))
            if score.pairs == max(r["pairs"] for r in rows if r["way"] == score.way):
                which = {"space": space, "layer": layer, "way": score.way, "by": score.by}
                found += [
                    {**which, "query": word, "nearest": list(near), "gold": list(score.gold[word])}
                    for word, near in score.found.items()
                ]
        last = {(f["way"], f["by"], f["query"]): f for f in found}
        return {"rows": rows, "found": list(last.values())}

    def tables(self, config: dict[str, Any]) -> MapTables:
        tables = MapTables.of({**config, "left_out": self.left_out}, self.rows, self.found)
        write_map(tables, self.folder)
        return tables


def _of_types(run: _Run, space: str, reps: WordRepresentations, training: Dictionary, test: Dictionary) -> Judge:
    def judge(layer: int, sides: Any) -> Iterator[tuple[Alignment, Score]]:
        source, target = (vocabulary(reps, lang, layer) for lang in run.langs)
        return _judged_words(run, space, source, target, training, test, layer, sides)

    return judge


def _static(run: _Run, columns: Mapping[Language, Sequence[Sentence]], training: Dictionary, test: Dictionary) -> Judge:
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
    run: _Run,
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


def _induced(run: _Run, tables: MapTables) -> None:
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


def _loaded(models: Sequence[str], langs: Pair, how: Mapping[str, Any]) -> Model | PerLanguage:
    if len(models) == 1:
        return load_model(models[0], **how)
    # two untrained networks are two: each draws weights of its own
    seeds = [{**how, "seed": how.get("seed", 0) + i} if how.get("random") else how for i in range(2)]
    return PerLanguage({lang: load_model(name, **each) for lang, name, each in zip(langs, models, seeds, strict=True)})


def _facts(reps: Representations | WordRepresentations, lang: Language, layer: int) -> dict[str, Any]:
    """What an alignment is to remember of the vectors of a side."""
    signed = reps.signature.get("model", {})
    known = signed.get(str(lang), signed)
    facts = {key: known[key] for key in ("model", "weights") if isinstance(known.get(key), str)}
    if pooling := reps.signature.get("pooling"):
        facts["pooling"] = pooling
    return {**facts, "layer": layer, "language": str(lang)}


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
