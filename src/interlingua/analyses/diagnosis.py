"""What can be said of a new language before anything is tuned, and what is to be expected of that.

Needs sentences and no labels: how the tokenizer reads them, which seen languages they lie among, and, where a parallel
text has the language, how many find their translation. The thresholds were set before any arm was run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import numpy as np

from interlingua.corpora.transliterate import suits, transliterate, transliterated
from interlingua.errors import InputError, MissingExtraError
from interlingua.extract import extract
from interlingua.extract.coverage import Coverage, coverage
from interlingua.extract.words import sentences
from interlingua.languages import Language
from interlingua.measures.retrieval import matching
from interlingua.models import Model
from interlingua.transfer.verdicts import EASY, HARD, INTERMEDIATE
from interlingua.types import ParallelCorpus, TaggedCorpus, Treebank

Array = np.ndarray[Any, Any]
Annotated = TypeVar("Annotated", TaggedCorpus, Treebank)
LATIN = "Latin"
# Above: a script, or many of its letters, has no names in the vocabulary; some of its letters have none.
UNCOVERED, SOME = 0.15, 0.03
# A script with a smaller share of the tokens than this is not in the vocabulary.
SCRIPT = 0.001
# Sub-words a word over those of the nearest seen language, above which words are spelt and not read.
FINELY = 1.5
UNSPACED = ("Cjk", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan")
# Sentences of each language that are looked at, and neighbours of each.
ROWS, NEIGHBOURS = 200, 10
# Sentences that are looked at to see how they are cut, and rows of parallel text that are to find each other.
CUT, ASKED = 1000, 500
# What is advised, by the arm it stands for.
DIRECTLY, TRANSLITERATE, ADAPT, BOTH, SCRATCH = (
    "fine-tune directly",
    "transliterate first",
    "adapt first",
    "transliterate and adapt first",
    "train from scratch",
)


@dataclass(frozen=True)
class Diagnosis:
    """What was seen. `nearest`: the share of the nearest sentences that each seen language has.

    `written` is the coverage of the text in the other script that `scheme` names. `matching` is the share of sentences
    that find their translation, by seen language. `example` is a sentence, what the tokenizer makes of it, and both
    in the other script.
    """

    language: str
    own: Coverage
    scheme: str
    written: Coverage | None
    seen: tuple[Coverage, ...]
    layer: int
    nearest: tuple[tuple[str, float], ...]
    nearest_written: tuple[tuple[str, float], ...]
    matching: tuple[tuple[str, float], ...]
    example: tuple[str, ...]


@dataclass(frozen=True)
class Expectation:
    """What is expected: easy, intermediate or hard; what to do; and why."""

    kind: str
    advice: str
    scheme: str
    reasons: tuple[str, ...]

    def facts(self) -> dict[str, Any]:
        """For a file, with the thresholds."""
        bounds = {"uncovered": UNCOVERED, "some_unknown": SOME, "script": SCRIPT, "finely": FINELY}
        return {**asdict(self), "thresholds": bounds}


def diagnose(
    model: Model,
    record: Annotated,
    beside: ParallelCorpus,
    *,
    scheme: str = "",
    parallel: ParallelCorpus | None = None,
) -> Diagnosis:
    """Look at a language: `record` has its sentences, `beside` those of languages that the model has seen.

    `scheme` names another script; without one, that which suits the language is looked at, unless it is in Latin.
    """
    ((language, rows),) = sentences(record).items()
    if not rows:
        raise InputError(f"{record.name} has no sentences: there is nothing to look at")
    part = record[:CUT]
    own = coverage(model, part)
    named = scheme or (suits(language) if own.script not in ("", LATIN) else "")
    try:
        turned = transliterated(part, named) if named else None
    except MissingExtraError:
        if scheme:
            raise
        named, turned = "", None
    langs = [lang for lang in beside.langs if lang != language]
    if not langs:
        raise InputError(f"{language} is the only language to set it beside: name others that the model has seen")
    layer = round(0.75 * model.layers.blocks)
    texts = [row.text for row in rows[:ROWS]]
    around = _Seen(model, beside.languages(*langs)[:ROWS], layer)
    return Diagnosis(
        language=str(language),
        own=own,
        scheme=named,
        written=None if turned is None else coverage(model, turned),
        seen=tuple(coverage(model, beside.languages(lang)) for lang in langs),
        layer=layer,
        nearest=around.nearest(language, texts),
        nearest_written=()
        if turned is None
        else around.nearest(language, [transliterate(text, named) for text in texts]),
        matching=_matching(model, language, langs, parallel, layer) if parallel is not None else (),
        example=_example(model, language, texts, named),
    )


def expected(found: Diagnosis) -> Expectation:
    """What a diagnosis makes one expect, by fixed thresholds."""
    own = found.own
    # a word of a script without spaces is a character or two: nothing to set a language with words beside
    fertility = {each.language: each.fertility for each in found.seen if each.script not in UNSPACED}
    near = next((lang for lang, _ in found.nearest if lang in fertility), found.nearest[0][0])
    usual = fertility.get(near, own.fertility)
    reasons = []
    no_script = own.vocabulary < SCRIPT
    if no_script:
        reasons.append(f"{own.script} is not in the vocabulary: {own.vocabulary:.2%} of its tokens are in it")
    if own.unknown > SOME:
        reasons.append(f"{own.unknown:.0%} of its sub-words are unknown: letters of it have no name in the vocabulary")
    if own.fertility > FINELY * usual:
        reasons.append(f"{own.fertility:.1f} sub-words a word, where {near}, the nearest, has {usual:.1f}: it is spelt")
    kind = HARD if no_script or own.unknown > UNCOVERED else INTERMEDIATE if reasons else EASY
    if kind == EASY:
        reasons.append(f"it is read as well as {near}, the nearest language that the model has seen")
        return Expectation(kind, DIRECTLY, "", tuple(reasons))
    other = found.written
    helps = other is not None and (
        other.unknown < own.unknown / 2 if own.unknown > SOME else other.fertility < own.fertility / FINELY
    )
    if helps and other is not None:
        reasons.append(
            f"in {other.script} ({found.scheme}) {other.unknown:.0%} are unknown, and a word is {other.fertility:.1f} "
            "sub-words"
        )
    advice = (TRANSLITERATE if kind == HARD else BOTH) if helps else ADAPT
    return Expectation(kind, advice, found.scheme if helps else "", tuple(reasons))


class _Seen:
    """Sentences of languages that a model has seen, as it has them."""

    def __init__(self, model: Model, corpus: ParallelCorpus, layer: int) -> None:
        self.model, self.langs, self.layer = model, corpus.langs, layer
        found = extract(model, corpus, truncate=True)
        vectors = np.concatenate([np.asarray(found[lang, layer], np.float64) for lang in self.langs])
        self.whose = np.repeat(np.arange(len(self.langs)), len(corpus))
        self.centre = vectors.mean(0)
        self.units = _units(vectors - self.centre)

    def nearest(self, language: Language, texts: Sequence[str]) -> tuple[tuple[str, float], ...]:
        """The share that each language has of the sentences nearest to these, the greatest first."""
        found = extract(self.model, ParallelCorpus.from_texts({language: texts}), truncate=True)
        own = _units(np.asarray(found[language, self.layer], np.float64) - self.centre)
        many = min(NEIGHBOURS, len(self.units))
        near = np.argpartition(-(own @ self.units.T), many - 1, axis=1)[:, :many]
        shares = np.bincount(self.whose[near].ravel(), minlength=len(self.langs)) / near.size
        return tuple((str(self.langs[i]), float(shares[i])) for i in np.argsort(-shares, kind="stable"))


def _matching(
    model: Model, language: Language, langs: Sequence[Language], parallel: ParallelCorpus, layer: int
) -> tuple[tuple[str, float], ...]:
    """The share of sentences that find their translation in each seen language, the greatest first."""
    there = [lang for lang in langs if lang in parallel.langs]
    if language not in parallel.langs or not there:
        raise InputError(f"{parallel.name} has no {language}, or none of the languages that the model has seen")
    reps = extract(model, parallel.languages(language, *there)[:ASKED], truncate=True)
    centred = {lang: (each := np.asarray(reps[lang, layer], np.float64)) - each.mean(0) for lang in reps.langs}
    found = [(str(lang), float(matching(centred[language], centred[lang]).value)) for lang in there]
    return tuple(sorted(found, key=lambda pair: -pair[1]))


def _units(x: Array) -> Array:
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    if not np.all(lengths > 0):
        raise InputError("a sentence has no direction: the model gives the same vector for everything")
    return np.asarray(x / lengths)


def _example(model: Model, language: Language, texts: Sequence[str], scheme: str) -> tuple[str, ...]:
    """A sentence of middling length, and its sub-words; then both in the other script."""
    text = sorted(texts[:50], key=len)[min(len(texts), 50) // 2]
    written = (text, *([transliterate(text, scheme)] if scheme else []))
    return tuple(part for each in written for part in (each, _pieces(model.of(language), each)))


def _pieces(model: Model, text: str) -> str:
    tokenizer: Any = model.tokenizer
    tokens = tokenizer.convert_ids_to_tokens(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])
    unknown = tokenizer.unk_token
    shown = ("?" if token == unknown else tokenizer.convert_tokens_to_string([token]).strip(" Ġ▁") for token in tokens)
    return " · ".join(piece for piece in shown if piece)
