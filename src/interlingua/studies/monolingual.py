"""Do models that never saw each other's language have one shape, and how far is that from a bilingual model?

Wu, Conneau et al. 2020, figures 4 to 8. Cells train monolingual models (`mono`), bilingual ones (`bi`) and English
twice with embeddings apart (`twin`); others look at what these left: a `pair` maps words, sentences and taggers from
one model to the other and compares both kinds by CKA; a `ceiling` is how alike two models of English are.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from interlingua.analyses.compare import compare_layers
from interlingua.analyses.map_run import Plan
from interlingua.analyses.mapped_transfer import mapped_transfer
from interlingua.analyses.mapping import map_sentences, map_words
from interlingua.analyses.transfer_run import Attempt
from interlingua.corpora.loading import dictionary, labelled, parallel, text
from interlingua.extract import extract
from interlingua.models import Model, PerLanguage, load_model
from interlingua.pretrain.config import Config
from interlingua.report.grafted import MAPPED, SHARED
from interlingua.report.mapped import MapTables, full
from interlingua.report.tables import pandas
from interlingua.studies.claims import Part
from interlingua.studies.estimates import Estimate, chosen, curve, each, fisher, mean
from interlingua.studies.measured import config_of, cut, looked_into, prepared, sentences_of, trained, untouched
from interlingua.studies.records import Records, entities, shortened, trees
from interlingua.studies.study import MODELS, Cell, Row, Say, Settings, Size, Study
from interlingua.transfer.finetune import Tuning
from interlingua.types import ParallelCorpus, TextCorpus

if TYPE_CHECKING:
    import pandas as pd

MONO, BI, TWIN, PAIR, CEILING = "mono", "bi", "twin", "pair", "ceiling"
BILINGUAL, MONOLINGUAL, ONE_RANDOM, ALL_RANDOM = "bilingual", "monolingual", "random", "both sides random"
# Two models of English, on the same sentences and on others that say the same.
SEEDS, VOICES, PARAPHRASES = "two seeds", "one model, two voices", "paraphrases"
# English a second time, with parts of its own.
SECOND = "en@2"
CKA = "linear_cka"
TASKS = {"ner": "f1", "parsing": "las"}
# Sentences that taggers behind a map are asked about, and that choose their epoch.
ASKED, CHOOSING = 1_000, 500


class Monolingual(Settings):
    """What is trained, mapped and compared. `rows`, `epochs` and `layers` are of taggers that run through a map.

    `recipe`: further settings of pretraining. `characters`: as much of a language's text is read.
    """

    axes: ClassVar[tuple[str, ...]] = ("seeds", "langs")
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
    blocks: int = Field(default=20, ge=8)


def cells(how: Monolingual) -> list[Cell]:
    """Models first. English has one seed more than the others: two models of one language are the ceiling."""

    def cell(kind: str, lang: str, seed: int, *after: str) -> Cell:
        return Cell(f"{kind}.{lang}.{seed}", {"kind": kind, "language": lang, "seed": seed}, after)

    found = [cell(MONO, "en", seed) for seed in range(how.seeds + 1)]
    for seed in range(how.seeds):
        found += [cell(MONO, lang, seed) for lang in how.langs]
        found += [cell(BI, lang, seed) for lang in how.langs]
        found.append(cell(TWIN, "en", seed))
        for lang in how.langs:
            found.append(cell(PAIR, lang, seed, f"{MONO}.en.{seed}", f"{MONO}.{lang}.{seed}", f"{BI}.{lang}.{seed}"))
        found.append(cell(CEILING, "en", seed, f"{MONO}.en.{seed}", f"{MONO}.en.{seed + 1}", f"{TWIN}.en.{seed}"))
    return found


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
        if not cell.after:
            prepared(_config(cell, how, shared, without), shared, say)


def _records(how: Monolingual, name: str, lang: str) -> Records:
    if name == "ner":
        return entities(how.entities, "en", ("en", lang), asked=ASKED, choosing=CHOOSING)
    train, development, tests = trees(name, how.treebanks, "en", ("en", lang))
    return train, [each[:CHOOSING] for each in development], [each[:ASKED] for each in tests]


def run(cell: Cell, how: Monolingual, place: Path, shared: Path, say: Say) -> Iterator[Row]:
    """A model that is left for others, or what is found in those that were left."""
    kind = cell.settings["kind"]
    if kind == PAIR:
        yield from _pair(cell, how, place, shared, say)
    elif kind == CEILING:
        yield from _ceiling(cell, how, shared)
    else:
        model, rows = trained(_config(cell, how, shared, _without(how, shared)), place / "model", shared, say)
        shutil.copytree(model, shared / MODELS / cell.name, dirs_exist_ok=True)
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
    plan = Plan(ways=("identity", "rotation"), sizes=(), extraction={"truncate": True}, seed=cell.settings["seed"])
    say("mapping words")
    texts = [_read(how, each, shared) for each in ("en", lang)] if how.sentences else corpus
    if how.sentences:
        learnt, asked_for = (dictionary(f"{how.dictionary}:{split}", "en", lang) for split in ("train", "test"))
    else:  # one small dictionary is all there is
        every = dictionary(how.dictionary, "en", lang)
        learnt, asked_for = every[::2], every[1::2]
    yield from _mapped(map_words([english, other], texts, learnt, asked_for, place / "words", plan), lang)
    if how.sentences:
        say("mapping sentences")
        fit, asked = sentences_of(how.sentences, ("en", lang)), parallel(how.asked, "en", lang)
        yield from _mapped(map_sentences([english, other], fit, asked, place / "sentences", plan), lang)
    for name in TASKS if how.treebanks else ("ner",):
        say(f"running a tagger through a map: {name}")
        train, development, tests = _records(how, name, lang)
        attempt = Attempt(task=name, tuning=Tuning(epochs=how.epochs, seed=cell.settings["seed"]))
        made = mapped_transfer(
            (english, other), shortened(train, how.rows), development, (tests[0], tests[1]), corpus, place / name,
            attempt, control=both, layers=how.layers,
        )  # fmt: skip
        for row in made.scores.itertuples():
            yield {"state": row.setup, "corpus": row.set, "layer": row.layer, "source": "en", "target": row.language,
                   "measure": f"through a map, {name} {row.metric}", "value": row.value, "low": row.low,
                   "high": row.high, "n": row.sentences}  # fmt: skip


def _mapped(tables: MapTables, lang: str) -> Iterator[Row]:
    for row in full(tables).itertuples():
        yield {"state": row.space, "pooling": row.way, "layer": row.layer, "source": "en", "target": lang,
               "measure": f"{tables.config['level']} p1", "value": row.p1, "low": row.low, "high": row.high,
               "null": row.chance, "n": round(row.n)}  # fmt: skip


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


def _values(rows: pd.DataFrame, lang: str, state: str, measure: str, pooling: str = "mean") -> list[Estimate]:
    """By layer, of the other language: as it is asked for, however its rows spell it (zh, zh-Hans)."""
    mine = chosen(rows, kind=PAIR, language=lang, state=state, measure=measure, pooling=pooling)
    return curve(mine[mine["target"] != "en"])


def _langs(table: pd.DataFrame) -> list[str]:
    return list(dict.fromkeys(chosen(table, kind=PAIR)["language"]))


def _words(rows: pd.DataFrame, lang: str, state: str = "model", level: str = "word") -> list[Estimate]:
    return _values(rows, lang, state, f"{level} p1", "rotation")


def _by_pair(made: Callable[[pd.DataFrame, str], Estimate]) -> Callable[[pd.DataFrame], Iterator[Part]]:
    return lambda table: each(table, _langs(table), made)


def _upper(rows: pd.DataFrame, lang: str) -> Estimate:
    found = _words(rows, lang)
    half = len(found) // 2 + 1
    return mean(found[half:]) - mean(found[:half])


def _lower(rows: pd.DataFrame, lang: str) -> Estimate:
    found = _words(rows, lang, level="sentence")
    third = (len(found) - 1) // 3 + 1
    return mean(found[1 : 1 + third]) - mean(found[-third:])


def _over(rows: pd.DataFrame, langs: Sequence[str], state: str, layers: slice = slice(None)) -> Estimate:
    """Mean CKA over pairs and layers."""
    return mean([one for lang in langs for one in _values(rows, lang, state, CKA)[layers]])


def _order(table: pd.DataFrame, one: str, other: str) -> Iterator[Part]:
    langs = _langs(table)
    return each(table, ["all pairs"], lambda rows, _: _over(rows, langs, one) - _over(rows, langs, other))


def _low_layers(table: pd.DataFrame) -> Iterator[Part]:
    langs = _langs(table)

    def made(rows: pd.DataFrame, state: str) -> Estimate:
        return _over(rows, langs, state, slice(3)) - _over(rows, langs, state, slice(3, None))

    return each(table, [BILINGUAL, MONOLINGUAL], made)


def _together(rows: pd.DataFrame, lang: str) -> Estimate:
    """Pearson over layers of CKA and the accuracy of sentences, with Fisher's interval."""
    both = [[one.value for one in some] for some in (
        _values(rows, lang, MONOLINGUAL, CKA), _words(rows, lang, level="sentence"))]  # fmt: skip
    return fisher(float(np.asarray(np.corrcoef(both))[0, 1]), len(both[0]))


def _shrinks(table: pd.DataFrame) -> Iterator[Part]:
    near, far = ([lang for lang in _langs(table) if lang in some] for some in (("fr", "de"), ("ru", "zh")))

    def gap(rows: pd.DataFrame, langs: Sequence[str]) -> Estimate:
        return _over(rows, langs, BILINGUAL) - _over(rows, langs, MONOLINGUAL)

    return each(table, ["near less far"], lambda rows, _: gap(rows, near) - gap(rows, far))


def _tagged(rows: pd.DataFrame, name: str, lang: str, state: str) -> list[Estimate]:
    """By layer, in the language without labels."""
    return _values(rows, lang, state, f"through a map, {name} {TASKS[name]}", "")


def _middle(table: pd.DataFrame) -> Iterator[Part]:
    """The layers between, less the first and the last; the mean over pairs."""
    langs = _langs(table)

    def made(rows: pd.DataFrame, name: str) -> Estimate:
        curves = [_tagged(rows, name, lang, MAPPED) for lang in langs]
        inner = mean([one for some in curves for one in some[1:-1] or some])
        return inner - mean([one for some in curves for one in (some[0], some[-1])])

    return each(table, TASKS, made)


def _lost(rows: pd.DataFrame, name: str, langs: Sequence[str]) -> Estimate:
    """What a map loses against a bilingual model, the mean over layers and pairs."""
    both = [mean([one for lang in langs for one in _tagged(rows, name, lang, state)]) for state in (SHARED, MAPPED)]
    return both[0] - both[1]


def _worse(table: pd.DataFrame) -> Iterator[Part]:
    langs = _langs(table)
    some = {"ner": langs, "parsing": [lang for lang in langs if lang != "fr"]}
    return each(table, [name for name in TASKS if some[name]], lambda rows, name: _lost(rows, name, some[name]))


def _more(table: pd.DataFrame) -> Iterator[Part]:
    langs = _langs(table)
    return each(table, ["ner less parsing"], lambda rows, _: _lost(rows, "ner", langs) - _lost(rows, "parsing", langs))


def figures(table: pd.DataFrame) -> dict[str, Any]:
    """As in the paper: precision at 1 by layer, taggers through a map, and CKA of three kinds of encoders."""
    from interlingua.studies.drawn import by_layer, published

    pairs = table[(table["kind"] == PAIR) & (table["target"] != "en")]
    shown = pairs.assign(encoder=pairs["state"], target=pairs["language"])
    turned = chosen(shown, pooling="rotation")
    made = {
        "figure-4": (chosen(turned, measure="word p1"), "Figure 4: words", "Published: higher layers are better."),
        "figure-6": (chosen(turned, measure="sentence p1"), "Figure 6: sentences", "Published: lower layers are best."),
    }
    for name, metric in TASKS.items():
        rows = chosen(shown, measure=f"through a map, {name} {metric}")
        made[f"figure-5-{name}"] = (rows, f"Figure 5: {name}", "Published: middle layers are best.")
    drawn = {name: by_layer(rows, "encoder", title, note) for name, (rows, title, note) in made.items()}
    theirs = pandas().DataFrame(
        {"encoder": row["series"], "target": row["target"], "layer": int(row["layer"]), "value": float(row["value"])}
        for row in published("monolingual cka")
    )
    drawn["figure-7"] = by_layer(
        chosen(shown, measure=CKA), "encoder", "Figure 7: linear CKA",
        "Random: the other language's side alone, as published, or both.", printed=theirs,
    )  # fmt: skip
    ceiling = table[table["kind"] == CEILING]
    same = ceiling.assign(target=ceiling["corpus"], encoder=ceiling["state"])
    voices = {"monolingual": SEEDS, "bilingual": VOICES}
    drawn["ceiling"] = by_layer(
        same, "encoder", "English with English: linear CKA",
        "What two models of one language have. Published: of back-translations.",
        printed=theirs[theirs["encoder"].isin(voices) & (theirs["target"] == "en'")].replace(
            {"encoder": voices, "target": {"en'": PARAPHRASES}}
        ),
    )  # fmt: skip
    return drawn


def _paired(cell: Cell) -> bool:
    return bool(cell.settings["kind"] == PAIR)


STUDY = Study(
    name="monolingual",
    title="Models that never saw each other's language, and bilingual ones",
    source="Wu, Conneau et al. 2020, figures 4 to 8",
    settings=Monolingual,
    cells=cells,
    run=run,
    prepare=prepare,
    estimates={
        "W5.table": _by_pair(lambda rows, lang: _words(rows, lang, "table")[0]),
        "W6.higher": _by_pair(_upper),
        "W7.middle": _middle,
        "W8.lower": _by_pair(_lower),
        "W9.bilingual": partial(_order, one=BILINGUAL, other=MONOLINGUAL),
        "W9.random": partial(_order, one=MONOLINGUAL, other=ONE_RANDOM),
        "W9.low": _low_layers,
        "W10.together": _by_pair(_together),
        "W11.shrinks": _shrinks,
        "W15.worse": _worse,
        "W15.more": _more,
    },
    figures=figures,
    needs=dict.fromkeys(("W5", "W6", "W7", "W8", "W9", "W10", "W11", "W15"), _paired),
)
