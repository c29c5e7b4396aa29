"""Do models that never saw each other's language have one shape, and how far is that from a bilingual model?

Wu, Conneau et al. 2020, figures 4 to 8. Cells train monolingual models (`mono`), bilingual ones (`bi`) and English
twice with embeddings apart (`twin`); others look at what these left: a `pair` compares both kinds by CKA and maps
words and sentences from one model to the other, `ner` and `parsing` run taggers through such maps; a `ceiling` is how
alike two models of English are. `static` maps words by fastText vectors of the text that models are trained on.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from filelock import FileLock
from pydantic import Field

from interlingua.analyses.compare import compare_layers
from interlingua.analyses.map_run import Plan
from interlingua.analyses.mapped_transfer import mapped_transfer
from interlingua.analyses.mapping import map_contexts, map_sentences, map_words
from interlingua.analyses.transfer_run import Attempt
from interlingua.corpora.loading import dictionary, labelled, parallel, text
from interlingua.extract import extract
from interlingua.extract.words import sentences
from interlingua.folders import whole
from interlingua.languages import Language
from interlingua.mapping.induce import Words
from interlingua.mapping.levels import folded, word_scores
from interlingua.mapping.static import static_words
from interlingua.models import Model, PerLanguage, load_model
from interlingua.pretrain.config import Config
from interlingua.pretrain.prepare import Lines, never_read, prepared_key
from interlingua.report.map_tables import MapTables, full
from interlingua.studies.measured import (
    config_of,
    cut,
    leave,
    looked_into,
    prepared,
    sample_of,
    sentences_of,
    trained,
    untouched,
)
from interlingua.studies.monolingual_claims import (
    ALL_RANDOM,
    BI,
    BILINGUAL,
    CEILING,
    CKA,
    ESTIMATES,
    MONO,
    MONOLINGUAL,
    NEEDS,
    ONE_RANDOM,
    PAIR,
    PARAPHRASES,
    SEEDS,
    STATIC,
    TASKS,
    TWIN,
    VOICES,
    figures,
)
from interlingua.studies.records import Records, entities, shortened, trees
from interlingua.studies.results import SAMPLE, WITHOUT
from interlingua.studies.study import MODELS, Cell, Row, Say, Settings, Size, Study
from interlingua.transfer.finetune import Tuning
from interlingua.types import Dictionary, ParallelCorpus, TextCorpus
from interlingua.types.corpus import digest

# English a second time, with parts of its own.
SECOND = "en@2"
# Words that are asked about occur so often in the text that models average them over, and in that of static vectors.
OFTEN = 5


class Monolingual(Settings):
    """What is trained, mapped and compared. `recipe`: further settings of pretraining.

    `characters`: as much of a language's text is read. `rows`, `epochs`, `layers` and `bf16` are of taggers that run
    through a map, `tagged` sentences of each language are asked of them, and `choosing` choose their epoch.
    """

    axes: ClassVar[tuple[str, ...]] = ("seeds", "langs")
    later: ClassVar[Mapping[str, Any]] = {"bf16": False, "tagged": 1_000, "choosing": 500}
    langs: tuple[str, ...]
    model: Size
    updates: dict[str, int]
    recipe: dict[str, Any] = Field(default_factory=dict)
    text: str
    characters: int = Field(default=0, ge=0)
    held_out: int = 400
    lines: int = Field(ge=1)
    dictionary: str
    sentences: str = ""
    asked: str = ""
    compared: str
    paraphrases: str = ""
    entities: str
    treebanks: dict[str, str] = Field(default_factory=dict)
    rows: int = Field(ge=0)
    epochs: int = Field(ge=1)
    layers: tuple[int, ...]
    bf16: bool = False
    tagged: int = Field(default=1_000, ge=1)
    choosing: int = Field(default=500, ge=1)
    blocks: int = Field(default=20, ge=8)


def cells(how: Monolingual) -> list[Cell]:
    """Models before what looks at them. English has one seed more: two models of one language are the ceiling."""

    def cell(kind: str, lang: str, seed: int, *after: str) -> Cell:
        return Cell(f"{kind}.{lang}.{seed}", {"kind": kind, "language": lang, "seed": seed}, after)

    found = [cell(STATIC, lang, seed) for seed in range(how.seeds) for lang in how.langs]
    found += [cell(MONO, "en", seed) for seed in range(how.seeds + 1)]
    for seed in range(how.seeds):
        found += [cell(MONO, lang, seed) for lang in how.langs]
        found += [cell(BI, lang, seed) for lang in how.langs]
        found.append(cell(TWIN, "en", seed))
        for lang, kind in product(how.langs, (PAIR, *_tasks(how))):
            found.append(cell(kind, lang, seed, f"{MONO}.en.{seed}", f"{MONO}.{lang}.{seed}", f"{BI}.{lang}.{seed}"))
        found.append(cell(CEILING, "en", seed, f"{MONO}.en.{seed}", f"{MONO}.en.{seed + 1}", f"{TWIN}.en.{seed}"))
    return found


def _tasks(how: Monolingual) -> Sequence[str]:
    return list(TASKS) if how.treebanks else ["ner"]


def _config(cell: Cell, how: Monolingual, shared: Path, without: str) -> Config:
    kind, lang = cell.settings["kind"], cell.settings["language"]
    preset, langs = {
        MONO: ("monolingual", (lang,)),
        BI: ("default", ("en", lang)),
        TWIN: ("sep-emb", ("en", SECOND)),
    }[kind]
    return config_of(
        preset=preset,
        size=how.model,
        seed=cell.settings["seed"],
        text={each: [_text(how, each, shared)] for each in langs},
        held_out=how.held_out,
        without=without,
        updates=how.updates.get(lang),
        **how.recipe,
    )


def _text(how: Monolingual, lang: str, shared: Path) -> str:
    name = lang.partition("@")[0]
    return cut([how.text], name, how.characters, shared / f"{name}.all.txt") if how.characters else how.text


def _read(how: Monolingual, lang: str, shared: Path) -> TextCorpus:
    """Lines from all over a language's text: its first are of one domain, and another one than other languages'."""
    found = text(_text(how, lang, shared), lang)
    return found.sample(min(how.lines, sum(1 for _ in found)), 0)


def _judged_by(how: Monolingual) -> Iterator[Any]:
    yield parallel(how.compared, "en", *how.langs)
    yield from (sentences_of(how.sentences, ("en", lang)) for lang in how.langs)
    yield from (parallel(how.asked, "en", lang) for lang in how.langs)
    for name, lang in product(TASKS, how.langs):
        yield from _records(how, name, lang)[2]


def _without(how: Monolingual, shared: Path) -> str:
    return untouched(shared, _judged_by(how)) if how.treebanks else ""


def prepare(left: Sequence[Cell], how: Monolingual, shared: Path, say: Say) -> None:
    """The text of every language and pair."""
    without = _without(how, shared)
    for cell in left:
        if cell.settings["kind"] in (MONO, BI, TWIN):
            prepared(_config(cell, how, shared, without), shared, say)


def _records(how: Monolingual, name: str, lang: str) -> Records:
    if name == "ner":
        return entities(how.entities, "en", ("en", lang), asked=how.tagged, choosing=how.choosing)
    train, development, tests = trees(name, how.treebanks, "en", ("en", lang))
    return train, [each[: how.choosing] for each in development], [each[: how.tagged] for each in tests]


def run(cell: Cell, how: Monolingual, place: Path, shared: Path, say: Say) -> Iterator[Row]:
    """A model that is left for others, or what is found in those that were left."""
    kind = cell.settings["kind"]
    if kind == PAIR:
        yield from _pair(cell, how, place, shared, say)
    elif kind in TASKS:
        yield from _through_a_map(cell, how, place, shared, say)
    elif kind == CEILING:
        yield from _ceiling(cell, how, shared)
    elif kind == STATIC:
        yield from _static(cell, how, shared, say)
    else:
        model, rows = trained(_config(cell, how, shared, _without(how, shared)), place / "model", shared, say)
        leave(model, cell.name, shared)
        yield from rows


def _pair(cell: Cell, how: Monolingual, place: Path, shared: Path, say: Say) -> Iterator[Row]:
    lang = cell.settings["language"]
    english, other, both = (str(shared / MODELS / name) for name in cell.after)
    corpus = parallel(how.compared, "en", lang)
    say("comparing by CKA")
    apart = PerLanguage.by_tag({"en": english, lang: other})
    seed = cell.settings["seed"]
    encoders: dict[str, Model | PerLanguage] = {
        BILINGUAL: load_model(both),
        MONOLINGUAL: apart,
        ONE_RANDOM: PerLanguage.by_tag({"en": english, lang: load_model(other, random=True, seed=seed)}),
        ALL_RANDOM: load_model(both, random=True, seed=seed),
    }
    for state, model in encoders.items():
        yield from looked_into(model, corpus, state, (CKA, "debiased_cka"), blocks=how.blocks)
    plan = Plan(
        ways=("identity", "rotation"), sizes=(), min_count=OFTEN, extraction={"truncate": True},
        seed=cell.settings["seed"],
    )  # fmt: skip
    say("mapping words")
    texts, (learnt, asked_for) = _averaged_over(how, lang, shared), _dictionaries(how, lang)
    yield from _mapped(map_words([english, other], texts, learnt, asked_for, place / "words", plan), lang)
    say("mapping words in context")
    yield from _mapped(map_contexts([english, other], corpus, place / "contexts", plan), lang)
    if how.sentences:
        say("mapping sentences")
        fit, asked = sentences_of(how.sentences, ("en", lang)), parallel(how.asked, "en", lang)
        yield from _mapped(map_sentences([english, other], fit, asked, place / "sentences", plan), lang)


def _averaged_over(how: Monolingual, lang: str, shared: Path) -> list[TextCorpus] | ParallelCorpus:
    """Text in which words have the vectors that are averaged."""
    if not how.sentences:
        return parallel(how.compared, "en", lang)
    return [_read(how, each, shared) for each in ("en", lang)]


def _dictionaries(how: Monolingual, lang: str) -> tuple[Dictionary, Dictionary]:
    """To fit maps on, and to judge them by."""
    if not how.sentences:  # one small dictionary is all there is
        every = dictionary(how.dictionary, "en", lang)
        return every[::2], every[1::2]
    learnt, asked = (dictionary(f"{how.dictionary}:{split}", "en", lang) for split in ("train", "test"))
    return learnt, asked


def _static(cell: Cell, how: Monolingual, shared: Path, say: Say) -> Iterator[Row]:
    """Words by vectors that know no contexts: all that are frequent in the lines of which models, too, read words.

    Models cut long lines and see some of these words less often, so `_pair` asks about somewhat fewer.
    """
    lang, seed = cell.settings["language"], cell.settings["seed"]
    columns = sentences(_averaged_over(how, lang, shared))

    without = _without(how, shared)

    def space(tag: str) -> Words:
        say(f"training static vectors, {tag}")
        counts = Counter(word for one in columns[Language.parse(tag)] for word in one.words)
        words = {word.lower() for word, n in counts.items() if n >= OFTEN}
        model = Cell(f"{MONO}.{tag}.{seed}", {"kind": MONO, "language": tag, "seed": seed})
        return _vectors(_config(model, how, shared, without), words, shared)

    learnt, judged = map(folded, _dictionaries(how, lang))
    for _, score in word_scores(
        space("en"), space(lang), learnt, judged, layer=0, space=STATIC, ways=("rotation",)
    ):  # fmt: skip
        yield _precision(score.row(), "word", judged.name, judged.hash, lang)


def _vectors(config: Config, words: set[str], shared: Path) -> Words:
    """Static vectors of some words, from the lines that a model is trained on; made once."""
    ((lang, sources),) = config.text.items()
    made_from = digest([prepared_key(config.resolved()), *sorted(words)])
    place = shared / f"{STATIC}.{lang}.{config.seed}.{made_from[:12]}.npz"
    with FileLock(f"{place}.lock"):
        if not place.exists():
            lines = Lines(lang, sources, config, never_read(config)).training()
            found, content = static_words(lines, min_count=OFTEN, only=words, seed=config.seed), io.BytesIO()
            np.savez(content, words=np.array(found.words), vectors=found.vectors)
            whole(place, content.getvalue())
        with np.load(place) as kept:
            return Words(tuple(kept["words"].tolist()), kept["vectors"])


def _through_a_map(cell: Cell, how: Monolingual, place: Path, shared: Path, say: Say) -> Iterator[Row]:
    """A tagger above one model, run above the other through a map; and above a bilingual model."""
    name, lang = cell.settings["kind"], cell.settings["language"]
    english, other, both = (str(shared / MODELS / each) for each in cell.after)
    train, development, tests = _records(how, name, lang)

    def stage(step: str) -> AbstractContextManager[Callable[[int, int], None]]:
        say(step)
        return nullcontext(lambda _done, _total: None)

    made = mapped_transfer(
        (english, other), shortened(train, how.rows), development, (tests[0], tests[1]),
        parallel(how.compared, "en", lang), place / name,
        Attempt(task=name, tuning=Tuning(epochs=how.epochs, bf16=how.bf16, seed=cell.settings["seed"])),
        control=both, layers=how.layers, stage=stage,
    )  # fmt: skip
    for row in made.scores.itertuples():
        yield {"state": row.setup, "corpus": row.set, "layer": row.layer, "source": "en", "target": row.language,
               "measure": f"through a map, {name} {row.metric}", "value": row.value, "low": row.low,
               "high": row.high, "n": row.sentences}  # fmt: skip


def _mapped(tables: MapTables, lang: str) -> Iterator[Row]:
    config = tables.config
    asked = config["dictionaries"]["test"] if "dictionaries" in config else config.get("test") or config["corpus"]
    for row in full(tables).to_dict("records"):
        yield _precision(row, str(config["level"]), asked["name"], asked["hash"], lang)


def _precision(row: Mapping[str, Any], level: str, asked: str, known_by: str, lang: str) -> Row:
    n = round(row["n"])
    return {"state": row["space"], "pooling": row["way"], "layer": row["layer"], "source": "en", "target": lang,
            "measure": f"{level} p1", "value": row["p1"], "low": row["low"], "high": row["high"],
            "null": row["chance"], "n": n, SAMPLE: sample_of(asked, n, known_by), WITHOUT: row[WITHOUT]}  # fmt: skip


def _ceiling(cell: Cell, how: Monolingual, shared: Path) -> Iterator[Row]:
    """CKA of English with English, of two seeds and of two voices of one model: the same sentences, and paraphrases."""
    first, second, twin = (load_model(str(shared / MODELS / name)) for name in cell.after)
    voices = [replace(twin, pinned=tag) for tag in ("en", SECOND)]
    same = parallel(how.compared, "en")
    texts = {"same sentences": (same, same)}
    if how.paraphrases:
        texts[PARAPHRASES] = _paraphrases(how.paraphrases)
    for name, (one, other) in texts.items():
        for state, (left, right) in {SEEDS: (first, second), VOICES: tuple(voices)}.items():
            reps = [extract(model, corpus, truncate=True) for model, corpus in ((left, one), (right, other))]
            values = np.diag(compare_layers(reps[0], "en", "en", CKA, other=reps[1]).to_numpy())
            for layer, value in enumerate(values.tolist()):
                yield {"state": state, "corpus": name, "pooling": "mean", "layer": layer, "source": "en",
                       "target": "en", "measure": CKA, "value": value, "n": len(one)}  # fmt: skip


def _paraphrases(name: str) -> tuple[ParallelCorpus, ParallelCorpus]:
    """Pairs of English sentences that say the same, as two texts."""
    pairs = labelled(name, "en")
    kept = [row for row, label in zip(pairs.texts, pairs.labels or (), strict=True) if label == "paraphrase"]
    one, other = (ParallelCorpus.from_texts({"en": list(column)}, name=name) for column in zip(*kept, strict=True))
    return one, other


STUDY = Study(
    name="monolingual",
    title="Models that never saw each other's language, and bilingual ones",
    source="Wu, Conneau et al. 2020, figures 4 to 8",
    settings=Monolingual,
    cells=cells,
    run=run,
    prepare=prepare,
    estimates=ESTIMATES,
    figures=figures,
    needs=NEEDS,
)
