"""Do models have concepts in common for several languages, and what does tuning do to them?

Mousi et al. 2024, figures 2 to 9, 24 and 30. Cells look into an encoder (`encoder`), into the same tuned on entities
or sentiment in two languages at once (`ner`, `sentiment`), into an encoder-decoder (`span`), and into what is tuned
from it to translate (`translation`: from one language, or `many` ways); scores stand beside.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from filelock import FileLock
from pydantic import Field

from interlingua.analyses.concept_run import Inquiry
from interlingua.analyses.concepts import find_concepts
from interlingua.analyses.transfer import Attempt, transfer
from interlingua.concepts.lexicon import Lexicon, lexicon, read_moses, write_moses
from interlingua.corpora.aligner import align
from interlingua.corpora.loading import parallel
from interlingua.extract.words import sentences
from interlingua.models.load import DECODER, ENCODER
from interlingua.pretrain.config import Config
from interlingua.pretrain.prepare import Never
from interlingua.report.concept_tables import ConceptTables
from interlingua.studies.concept_claims import (
    BASE,
    ESTIMATES,
    MANY,
    MEASURES,
    NEEDS,
    NER,
    SECOND,
    SENTIMENT,
    SPAN,
    TRANSLATION,
)
from interlingua.studies.concept_figures import figures
from interlingua.studies.measured import (
    AFTER,
    BEFORE,
    RANDOM,
    config_of,
    cut,
    leave,
    prepared,
    scored,
    trained,
    tuned_model,
    untouched,
)
from interlingua.studies.records import Records, entities, sentiment, shortened
from interlingua.studies.study import MODELS, Cell, Row, Say, Settings, Size, Study
from interlingua.transfer.finetune import Tuning
from interlingua.types import ParallelCorpus

STATES = {"base": BEFORE, "untrained": RANDOM}
# Sentences with labels that are asked about, and that choose the epoch, where settings do not say fewer.
ASKED, CHOOSING = 2_000, 1_000


class ConceptStudy(Settings):
    """What is looked into, tuned and judged. `translated`: text to translate from, by language, without the judged.

    `writer`: an encoder-decoder at hand; one is pretrained on `text` where none is named, on so many `characters` of a
    language (0 for all). `rows` and `translations`: what is tuned on, of labels and of pairs of sentences; `asked` and
    `choosing`: sentences with labels that are asked about in each language, and that choose the epoch. `looked` and
    `judged`: pairs of `parallel`, drawn once. `layers` and `writer_layers` (the same where there are none): those of
    the encoder and of both stacks of the other.
    """

    axes: ClassVar[tuple[str, ...]] = ("seeds",)
    later: ClassVar[Mapping[str, Any]] = {"characters": 0}
    langs: tuple[str, ...]
    encoder: str
    writer: str = ""
    model: Size
    updates: int = Field(ge=0)
    recipe: dict[str, Any] = Field(default_factory=dict)
    text: str
    characters: int = Field(default=0, ge=0)
    held_out: int = 400
    parallel: str
    looked: int = Field(ge=1)
    judged: int = Field(ge=1)
    translated: dict[str, str]
    entities: str
    sentiment: str = ""
    rows: int = Field(ge=0)
    translations: int = Field(ge=0)
    epochs: dict[str, int]
    k: int = Field(ge=2)
    layers: tuple[int, ...]
    writer_layers: tuple[int, ...] = ()
    asked: int = Field(default=ASKED, ge=1)
    choosing: int = Field(default=CHOOSING, ge=1)
    bf16: bool = False


def cells(how: ConceptStudy) -> list[Cell]:
    """Base models first. What translates starts from the encoder-decoder of its seed."""
    found = []
    for seed in range(how.seeds):
        for kind in (BASE, NER, *([SENTIMENT] if how.sentiment else []), SPAN):
            found.append(Cell(f"{kind}.{seed}", {"kind": kind, "pair": "", "seed": seed}))
        for pair in (*(f"{lang}-en" for lang in how.translated), MANY):
            about = {"kind": TRANSLATION, "pair": pair, "seed": seed}
            found.append(Cell(f"{TRANSLATION}.{pair}.{seed}", about, (f"{SPAN}.{seed}",)))
    return found


def _corpus(how: ConceptStudy, lang: str) -> ParallelCorpus:
    return _shuffled(parallel(how.parallel, "en", lang))


def _shuffled(corpus: ParallelCorpus) -> ParallelCorpus:
    """Files are sorted, by length or by letter: their first rows are not like their last."""
    return corpus.take(np.random.default_rng(0).permutation(len(corpus)).tolist())


def _looked(how: ConceptStudy, lang: str) -> ParallelCorpus:
    return _corpus(how, lang)[: how.looked]


def _judged(how: ConceptStudy, pair: str) -> ParallelCorpus:
    return _corpus(how, _other(pair)).languages(*pair.split("-"))[-how.judged :]


def _other(pair: str) -> str:
    """The language of a pair that is not English."""
    return next(lang for lang in pair.split("-") if lang != "en")


def _pairs(how: ConceptStudy, pair: str) -> list[str]:
    """What a cell is tuned on."""
    if pair != MANY:
        return [pair]
    return [f"{one}-{other}" for lang in how.translated for one, other in ((lang, "en"), ("en", lang))]


def _training(how: ConceptStudy, lang: str) -> ParallelCorpus:
    """English and a language, without any sentence of what is looked at and judged by."""
    small = how.translated[lang] == how.parallel  # one small corpus is all there is
    seen = [_judged(how, f"en-{lang}")] if small else [_corpus(how, each) for each in how.langs]
    found = _shuffled(parallel(how.translated[lang], "en", lang))
    return _without(found, _never(seen), "without what is looked at")


def _never(seen: Iterable[ParallelCorpus]) -> Never:
    return Never(text for each in seen for column in each.columns for text in column)


def _without(corpus: ParallelCorpus, never: Never, note: str) -> ParallelCorpus:
    """The pairs of which neither side was seen, by its letters and digits."""
    return corpus.where([not any(map(never.holds, row)) for row in zip(*corpus.columns, strict=True)], note=note)


def _config(cell: Cell, how: ConceptStudy, shared: Path) -> Config:
    return config_of(
        preset="span",
        size=how.model,
        seed=cell.settings["seed"],
        text={lang: [_text(how, lang, shared)] for lang in ("en", *how.langs)},
        held_out=how.held_out,
        without=untouched(shared, (_corpus(how, lang) for lang in how.langs)) if how.sentiment else "",
        updates=how.updates or None,
        **how.recipe,
    )


def _text(how: ConceptStudy, lang: str, shared: Path) -> str:
    return cut([how.text], lang, how.characters, shared / f"{lang}.txt") if how.characters else how.text


def prepare(left: Sequence[Cell], how: ConceptStudy, shared: Path, say: Say) -> None:
    """Text to pretrain on, and which words translate which."""
    if not how.writer:
        prepared(_config(left[0], how, shared), shared, say)
    for lang in how.langs:
        _lexicons(how, lang, shared, say)


def _lexicons(how: ConceptStudy, lang: str, shared: Path, say: Say) -> dict[tuple[str, str], Lexicon]:
    """Of the text that is looked at, aligned once for all cells; the others wait."""
    folder = shared / "lexicons"
    folder.mkdir(parents=True, exist_ok=True)
    places = {ways: folder / f"{'-'.join(ways)}.lex" for ways in (("en", lang), (lang, "en"))}
    with FileLock(folder / f"{lang}.lock"):
        if not all(place.exists() for place in places.values()):
            say(f"aligning words, en and {lang}")
            words = [[s.words for s in column] for column in sentences(_looked(how, lang)).values()]
            links = [tuple(row) for row in align(words[0], words[1])]
            turned = [tuple((j, i) for i, j in row) for row in links]
            write_moses(lexicon("en", lang, zip(*words, strict=True), links), places["en", lang])
            write_moses(lexicon(lang, "en", zip(*words[::-1], strict=True), turned), places[lang, "en"])
    return {ways: read_moses(place, *ways) for ways, place in places.items()}


def _records(how: ConceptStudy, kind: str) -> Records:
    """Two languages to tune on, English first, and all of them to be judged by."""
    langs = ("en", *how.langs)
    if kind == SENTIMENT:
        train, development, tests = sentiment(how.sentiment, ("en", SECOND), langs)
        return train, [each[: how.choosing] for each in development], [each[: how.asked] for each in tests]
    few = {"asked": how.asked, "choosing": how.choosing}
    both = [entities(how.entities, source, langs, **few) for source in ("en", SECOND)]
    return [each[0][0] for each in both], [each[1][0] for each in both], both[0][2]


def run(cell: Cell, how: ConceptStudy, place: Path, shared: Path, say: Say) -> Iterator[Row]:
    """A model at hand, pretrained or tuned, and its concepts."""
    kind, pair, langs = cell.settings["kind"], cell.settings["pair"], how.langs
    rows: Iterable[Row] = ()
    if kind == BASE:
        model = how.encoder
    elif kind == SPAN and how.writer:
        model = how.writer
    elif kind == SPAN:
        model, rows = trained(_config(cell, how, shared), place / "model", shared, say)
        leave(model, cell.name, shared)
    elif kind == TRANSLATION:
        base = how.writer or str(shared / MODELS / cell.after[0])
        model, rows = _tuned(cell, how, base, _texts(how, pair), place, say)
        if pair not in (MANY, f"{SECOND}-en"):
            langs = (pair.split("-")[0],)
    else:
        model, rows = _tuned(cell, how, how.encoder, _records(how, kind), place, say)
    yield from rows
    yield from _look(cell, how, model, langs, place, shared, say)


def _texts(how: ConceptStudy, pair: str) -> Records:
    """What is translated: what a cell is tuned on, the ends of it that choose the epoch, and every language's test."""
    pairs = _pairs(how, pair)
    texts = {lang: _training(how, lang) for lang in dict.fromkeys(map(_other, pairs))}
    few = min(how.judged, *(len(text) // 4 for text in texts.values()))
    ends = {lang: text[-few:] for lang, text in texts.items()}
    # as many in all as of one pair: every epoch translates all of them
    share = -(-few // len(pairs))
    # a sentence has several translations, and they are far apart by now
    never = _never(ends.values())
    learnt = {lang: _without(text[:-few], never, "without what chooses the epoch") for lang, text in texts.items()}
    chosen = {lang: text[:share] for lang, text in ends.items()}
    train, development = (
        [some[_other(each)].languages(*each.split("-")) for each in pairs] for some in (learnt, chosen)
    )  # fmt: skip
    others = [f"{lang}-en" for lang in how.langs if f"{lang}-en" not in pairs]
    return train, development, [_judged(how, each) for each in (*pairs, *others)]


def _tuned(
    cell: Cell, how: ConceptStudy, base: str, records: Records, place: Path, say: Say
) -> tuple[str, Iterator[Row]]:
    kind = cell.settings["kind"]
    say(f"tuning: {kind} {cell.settings['pair']}".rstrip())
    train, development, tests = records
    attempt = Attempt(task=kind, tuning=Tuning(epochs=how.epochs[kind], bf16=how.bf16, seed=cell.settings["seed"]))
    rows = how.translations if kind == TRANSLATION else how.rows
    made = transfer(base, shortened(train, rows), development, tests, place / kind, attempt)
    return tuned_model(place / kind), scored(made)


def _look(
    cell: Cell, how: ConceptStudy, model: str, langs: Sequence[str], place: Path, shared: Path, say: Say
) -> Iterator[Row]:
    """Concepts of English with each language; a base model has its untrained twin beside it."""
    kind, seed = cell.settings["kind"], cell.settings["seed"]
    two = kind in (SPAN, TRANSLATION)
    layers = (how.writer_layers if two else ()) or how.layers
    inquiry = Inquiry(
        layers=layers, k=how.k, seed=seed, baseline=kind in (BASE, SPAN), nulls=1,
        stacks=(ENCODER, DECODER) if two else ("",), extraction={"truncate": True},
    )  # fmt: skip
    for lang in langs:
        say(f"looking into it: en and {lang}")
        known = _lexicons(how, lang, shared, say)
        made = find_concepts(model, _looked(how, lang), place / f"concepts-{lang}", inquiry, lexicons=known)
        yield from _rows(made, kind)
        shutil.rmtree(place / f"concepts-{lang}" / "representations", ignore_errors=True)


def _rows(made: ConceptTables, kind: str) -> Iterator[Row]:
    """Stacks stand in the column of poolings; what other thresholds give are measures of their own."""
    states = STATES if kind in (BASE, SPAN) else {"base": AFTER}
    corpus = made.config["corpus"]["name"]
    for row in made.scores[made.scores["measure"].isin(MEASURES)].itertuples():
        yield {"state": states[row.space], "corpus": corpus, "pooling": row.stack, "layer": row.layer,
               "source": row.source, "target": row.target, "measure": row.measure, "value": row.value, "low": row.low,
               "high": row.high, "null": row.null, "n": row.n}  # fmt: skip
    for row in made.sweeps.itertuples():
        yield {"state": states[row.space], "corpus": corpus, "pooling": row.stack, "layer": row.layer,
               "source": row.source, "target": row.target,
               "measure": f"{row.measure}, {row.parameter} {row.setting:g}", "value": row.value}  # fmt: skip


STUDY = Study(
    name="concepts",
    title="Concepts of several languages: do they correspond, do they mix, and what does tuning do?",
    source="Mousi et al. 2024, figures 2 to 9, 24, 30",
    settings=ConceptStudy,
    cells=cells,
    run=run,
    prepare=prepare,
    estimates=ESTIMATES,
    figures=figures,
    needs=NEEDS,
)
