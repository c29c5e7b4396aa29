"""Other scripts: published tables, uroman's own output, round trips where they are promised, and all else untouched."""

import sys
import types
import unicodedata

import pytest
import uroman
from hypothesis import given, settings
from hypothesis import strategies as st

import interlingua as il
from interlingua.corpora.transliterate import (
    CYRILLIC,
    GEORGIAN,
    SCHEMES,
    UYGHUR,
    _made,
    scheme,
    suits,
    transliterate,
    transliterated,
)
from interlingua.errors import InputError, UnknownNameError
from interlingua.languages import Language

# language, scheme, text, as published tables have it (ISO 9, ISO 9984, Uyghur and Kurdish spelling, what uroman prints)
SAMPLES = [
    ("ru", "cyrillic-latin", "Съешь же ещё этих мягких французских булок", "Sʺešʹ že eŝë ètih mâgkih francuzskih bulok"),
    ("bg", "cyrillic-latin", "Жълтата дюля беше щастлива", "Žʺltata dûlâ beše ŝastliva"),
    ("uk", "cyrillic-latin", "їжак і ґава", "ïžak ì g̀ava"),
    ("bxr", "cyrillic-latin", "үнэн хүдэлмэри, һайн өөрөө", "ùnèn hùdèlmèri, ḥajn ôôrôô"),
    ("mhr", "cyrillic-latin", "шӱм-чон, йӱд, ӧрдыж, шеҥгелне", "šüm-čon, jüd, ördyž, šeṅgelne"),
    ("myv", "cyrillic-latin", "эрзянь кель", "èrzânʹ kelʹ"),
    ("ka", "georgian-latin", "საქართველო", "sak’art’velo"),
    ("xmf", "georgian-latin", "მარგალური ნინა", "margaluri nina"),
    ("ug", "uyghur-turkish", "ئۇيغۇرچە ياخشىمۇسىز", "uyğurçe yaxşimusiz"),
    ("ckb", "sorani-kurmanji", "ئێمە کوردین", "ême kurdîn"),
    ("el", "latin", "Ελλάδα", "Ellada"),
    ("ar", "latin", "كتاب", "ktab"),
    ("ja", "latin", "ひらがな", "hiragana"),
    ("ko", "latin", "한국어", "hangugeo"),
]  # fmt: skip


@pytest.mark.parametrize(("lang", "name", "text", "made"), SAMPLES, ids=[f"{s[0]}-{s[1]}" for s in SAMPLES])
def test_samples_are_written_as_published(lang, name, text, made):
    assert transliterate(text, name) == unicodedata.normalize("NFC", made)


REVERSIBLE = [each for each in SCHEMES if each.back]


@pytest.mark.parametrize("each", REVERSIBLE, ids=lambda s: s.name)
def test_what_is_promised_to_come_back_does(each):
    @settings(deadline=None, max_examples=100, derandomize=True)
    @given(st.text(alphabet=st.sampled_from([c for c in each.table if c != each.initial]), max_size=12), st.booleans())
    def comes_back(word, capital):
        # a word that begins with a vowel is spelt with the letter that holds it
        spelt = f"{each.initial}{word}" if each.initial and word[:1] in each.vowels and word else word
        spelt = spelt.capitalize() if capital and spelt[:1].upper() != spelt[:1] and spelt[:1] not in "ъьʼ" else spelt
        text = f"{spelt}, 12 {spelt}! ٣"
        text = unicodedata.normalize("NFC", text)
        assert each.inverse(each(text)) == text

    comes_back()


def test_tables_write_every_letter_differently():
    for table in (CYRILLIC, GEORGIAN, UYGHUR):
        assert len(set(table.values())) == len(table)


@pytest.mark.parametrize("each", [s for s in SCHEMES if s.name != "icu"], ids=lambda s: s.name)
def test_what_is_not_in_its_script_is_untouched(each):
    for text in ("Hello, naïve façade! 12.5 % (€)", "① ٣٤ १२ 。、؟ « » — …", "", "\t\n", "😀👍🏽", "Žluťoučký kůň"):
        assert each(text) == unicodedata.normalize("NFC", text)


def test_stress_marks_come_back():
    turn = scheme("cyrillic-latin")
    text = unicodedata.normalize("NFC", "бо\u0301льшее число\u0301")
    assert turn.inverse(turn(text)) == text


def test_latin_is_uromans_own():
    """Word by word the same as uroman prints, over trees in scripts that it romanises by rules."""
    theirs = uroman.Uroman()
    for text in (
        "русский язык",
        "ελληνική γλώσσα",
        "नमस्ते दुनिया",
        "ภาษาไทย",
        "ქართული ენა",
        "ሰላም ዓለም",
        "עברית",
        "বাংলা ভাষা",
    ):
        assert transliterate(text) == theirs.romanize_string(text)


def test_only_the_words_in_another_script_change():
    assert transliterate("Он сказал «OK» и ушёл в 5:30 pm.") == "On skazal «OK» i ushel v 5:30 pm."
    assert transliterate("Он сказал OK", "georgian-latin") == "Он сказал OK"


def test_records_keep_their_tags_and_trees():
    bank = il.treebank("everyday-trees", "fr")
    assert transliterated(bank, "cyrillic-latin").trees == bank.trees
    tagged = il.tagged("everyday-ner", "ru", split="test")
    turned = transliterated(tagged, "cyrillic-latin")
    assert turned.tags == tagged.tags
    assert turned.hash != tagged.hash
    assert turned.name.endswith("(cyrillic-latin)")
    assert all(word.isascii() or not any("а" <= c <= "я" for c in word) for row in turned.words for word in row)
    labelled = transliterated(il.labelled("everyday-nli", "ru"), "cyrillic-latin")
    assert labelled.labels == il.labelled("everyday-nli", "ru").labels
    with pytest.raises(InputError, match="neither tagged"):
        transliterated(il.parallel("everyday", "en", "ru"), "latin")


def test_icu_is_asked_for_runs_of_letters_and_told_where_it_is_missing(monkeypatch):
    """The library is optional: what is asked of it is looked at, and that it is not there is said."""

    class Transliterator:
        @staticmethod
        def createInstance(name):
            assert name == "Any-Latin"
            return Transliterator()

        def transliterate(self, run):
            return f"<{run}>"

    _made.cache_clear()
    monkeypatch.setitem(sys.modules, "icu", types.SimpleNamespace(Transliterator=Transliterator))
    assert transliterate("да, OK нет 5", "icu") == "<да>, OK <нет> 5"
    _made.cache_clear()
    monkeypatch.setitem(sys.modules, "icu", None)
    with pytest.raises(InputError, match="PyICU"):
        transliterate("да", "icu")
    _made.cache_clear()


def test_names_of_schemes():
    with pytest.raises(UnknownNameError, match="cyrillic-latin"):
        scheme("cyrilic-latin")
    with pytest.raises(InputError, match="taken back"):
        scheme("latin").inverse("privet")
    with pytest.raises(InputError, match="taken back"):
        scheme("sorani-kurmanji").inverse("ême")
    assert [suits(Language.parse(tag)) for tag in ("ug", "ckb", "xmf", "hi")] == [
        "uyghur-turkish", "sorani-kurmanji", "georgian-latin", "latin",
    ]  # fmt: skip
