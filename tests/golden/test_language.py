"""Which tags are the same language, worked out by hand from ISO 639, CLDR and what data sets write."""

import pickle

import pytest

from interlingua.errors import LanguageError
from interlingua.types import Language

SAME = [
    ("en", "Latn", "en", "eng", "eng_Latn", "en-US", "EN", "en_GB", " en "),
    ("zh", "Hans", "zh-Hans", "zh", "zh-CN", "zho-CN", "cmn", "zho_Hans", "zho", "zh-SG"),
    ("zh", "Hant", "zh-Hant", "zh-TW", "zho_Hant", "cmn_Hant", "zh-HK"),
    ("ar", "Arab", "ar", "arb", "ara", "arb_Arab", "ar-EG"),
    ("de", "Latn", "de", "deu", "ger", "deu_Latn", "de-AT"),
    ("sw", "Latn", "sw", "swa", "swh", "swh_Latn"),
    ("et", "Latn", "et", "est", "ekk"),
    ("sr", "Cyrl", "sr", "srp", "srp_Cyrl"),
    ("sr", "Latn", "sr-Latn", "srp_Latn", "sr-ME"),
    ("he", "Hebr", "he", "iw", "heb"),
    ("uz", "Latn", "uz", "uzn", "uzn_Latn"),
    ("uz", "Cyrl", "uz-Cyrl", "uzn_Cyrl"),
    ("ja", "Jpan", "ja", "jpn", "jpn_Jpan"),
    ("arq", "Latn", "arq-Latn", "arq_Latn"),
    ("bua", "Cyrl", "bua", "bxr"),
    ("ku", "Latn", "ku", "kmr", "kmr_Latn"),
    ("olo", "Latn", "olo", "olo-Latn"),
    ("quy", "Latn", "quy", "quy_Latn"),
    ("gsw", "Latn", "gsw", "gsw-BE", "gsw-ZH"),
    ("pa", "Guru", "pa", "pan", "pan_Guru"),
    ("pa", "Arab", "pa-Arab", "pa-PK"),
    ("yue", "Hant", "yue", "yue_Hant"),
    ("ckb", "Arab", "ckb", "ckb_Arab"),
]


@pytest.mark.parametrize("row", SAME, ids=lambda row: row[2])
def test_spellings_of_one_language(row):
    language, script, code, *others = row
    first = Language.parse(code)
    assert (first.language, first.script, str(first)) == (language, script, code)
    for tag in others:
        other = Language.parse(tag)
        assert other == first
        assert hash(other) == hash(first)
        assert str(other) == code
        assert other.tag == tag.strip()


def test_different_languages_differ():
    parsed = [Language.parse(row[2]) for row in SAME]
    assert len(set(parsed)) == len(SAME)


def test_region_is_kept_but_tells_nothing_apart():
    brazil, portugal = Language.parse("pt-BR"), Language.parse("pt-PT")
    assert brazil == portugal
    assert (brazil.region, portugal.region) == ("BR", "PT")


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        ("cz", "did you mean cs"),
        ("sp", "did you mean es"),
        ("po", "pt or pl"),
        ("French", "did you mean fr"),
        ("", "not a language code"),
        ("english text", "not a language code"),
        ("en.txt", "not a language code"),
        ("xx", "not a registered language code"),
        ("und", "names no single language"),
        ("mul", "names no single language"),
        ("e" * 99, "not a language code"),
        ("12", "not a registered language code"),
        ("en-Abcd", "not a registered script"),
        (None, "not a language code"),
        (3, "not a language code"),
    ],
)
def test_what_names_no_language_is_an_error_that_helps(tag, message):
    with pytest.raises(LanguageError, match=message):
        Language.parse(tag)


def test_an_unknown_script_is_none_not_latin():
    assert Language.parse("abc").script is None


def test_a_language_prints_as_it_was_given():
    assert repr(Language.parse("zho-CN")) == "Language('zho-CN')"


def test_right_to_left():
    assert [Language.parse(t).right_to_left for t in ("ar", "he", "ur", "ug", "en", "zh")] == [True] * 4 + [False] * 2


def test_a_language_survives_pickling():
    lang = Language.parse("zh-TW")
    copy = pickle.loads(pickle.dumps(lang))
    assert (copy, copy.region, copy.tag) == (lang, "TW", "zh-TW")
