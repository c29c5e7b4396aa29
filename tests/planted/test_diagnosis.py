"""What is said of a language before anything is tuned: planted nearness, planted coverage, every kind of expectation."""

from dataclasses import replace

import pytest

import interlingua as il
from interlingua.analyses.diagnosis import ADAPT, BOTH, DIRECTLY, TRANSLITERATE, Diagnosis, diagnose, expected
from interlingua.errors import InputError, UnknownNameError
from interlingua.extract.coverage import Coverage
from interlingua.languages import Language
from interlingua.types import ParallelCorpus, TaggedCorpus


def cover(lang, fertility=1.5, unknown=0.0, vocabulary=0.3, script="Latin"):
    return Coverage(lang, 1000, fertility, unknown, 0.1, 1.0, script, vocabulary)


def found(own, written=None):
    return Diagnosis(
        language=own.language,
        own=own,
        scheme="latin" if written else "",
        written=written,
        seen=(cover("en", 1.4), cover("tr", 2.0)),
        layer=6,
        nearest=(("tr", 0.8), ("en", 0.2)),
        nearest_written=(),
        matching=(),
        example=(),
    )


@pytest.mark.parametrize(
    ("own", "written", "kind", "advice"),
    [
        (cover("xx", 2.1), None, "easy", DIRECTLY),
        (cover("xx", 2.1, unknown=0.07), None, "intermediate", ADAPT),
        (cover("xx", 3.5), None, "intermediate", ADAPT),
        (cover("xx", 3.5), cover("xx", 2.0), "intermediate", BOTH),
        (cover("xx", 3.5), cover("xx", 3.4), "intermediate", ADAPT),
        (cover("xx", 3.5, unknown=0.3), cover("xx", 2.0, unknown=0.01), "hard", TRANSLITERATE),
        (cover("xx", 3.5, unknown=0.3), cover("xx", 2.0, unknown=0.29), "hard", ADAPT),
        (cover("xx", 1.1, vocabulary=0.0), None, "hard", ADAPT),
    ],
)
def test_every_kind_of_expectation(own, written, kind, advice):
    hoped = expected(found(own, written))
    assert (hoped.kind, hoped.advice) == (kind, advice)
    assert hoped.reasons
    assert bool(hoped.scheme) == (advice in (TRANSLITERATE, BOTH))
    assert hoped.facts()["thresholds"]["uncovered"] == 0.15


@pytest.fixture(scope="module")
def everyday():
    return il.parallel("everyday", "en", "fr", "de", "tr")


@pytest.fixture(scope="module")
def model():
    return il.load_model("built-in")


def as_words(texts, lang):
    rows = tuple(tuple(text.split()) for text in texts)
    return TaggedCorpus(
        language=Language.parse(lang), words=rows, tags=tuple(("X",) * len(r) for r in rows), entities=False
    )


def test_planted_kin_is_the_nearest(model, everyday):
    """French under another name lies among French sentences, and finds itself in parallel text."""
    record = as_words(everyday["fr"][:60], "oc")
    both = ParallelCorpus.from_texts({"oc": everyday["fr"][:80], "fr": everyday["fr"][:80], "en": everyday["en"][:80]})
    seen = diagnose(model, record, everyday[200:], parallel=both)
    assert seen.nearest[0][0] == "fr"
    assert sum(share for _, share in seen.nearest) == pytest.approx(1)
    assert seen.matching[0] == ("fr", 1.0)
    assert seen.matching[1][1] < 1
    assert (seen.scheme, seen.written, seen.nearest_written) == ("", None, ())
    assert expected(seen).kind == "easy"


def test_another_script_is_looked_at_without_being_asked_for(model, everyday):
    record = as_words(["ქართული ენა არის ლამაზი", "დღეს კარგი ამინდია და მზე ანათებს"] * 3, "ka")
    seen = diagnose(model, record, everyday[:50])
    assert seen.scheme == "georgian-latin"
    assert seen.own.unknown > 0.5
    assert seen.written is not None
    assert seen.written.unknown < 0.05
    hoped = expected(seen)
    assert (hoped.kind, hoped.advice, hoped.scheme) == ("hard", TRANSLITERATE, "georgian-latin")
    text, pieces, latin, more = seen.example
    assert text in ("ქართული ენა არის ლამაზი", "დღეს კარგი ამინდია და მზე ანათებს")
    assert "?" in pieces
    assert latin.isascii() or "’" in latin or "ḡ" in latin
    assert more.count("?") < pieces.count("?")


def test_what_cannot_be_looked_at_is_told(model, everyday):
    french = as_words(everyday["fr"][:5], "fr")
    with pytest.raises(InputError, match="only language to set it beside"):
        diagnose(model, french, everyday.languages("fr"))
    with pytest.raises(InputError, match="has no oc"):
        diagnose(model, as_words(everyday["fr"][:5], "oc"), everyday[:30], parallel=everyday[:30])
    with pytest.raises(InputError, match="no sentences"):
        diagnose(model, replace(french, words=(), tags=(), ids=()), everyday)
    with pytest.raises(UnknownNameError, match="latin"):
        diagnose(model, french, everyday, scheme="latinn")
