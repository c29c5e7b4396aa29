"""Text in another script: to Latin, or to the spelling of a language that a model has seen.

Only letters of the script that a scheme is for are changed: digits, punctuation, and words that stand in another script
already (code-switching) stay as they are. A scheme is one entry of `SCHEMES`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeVar

import regex

from interlingua.errors import InputError, MissingExtraError, UnknownNameError
from interlingua.languages import Language
from interlingua.types import LabelledCorpus, TaggedCorpus, Treebank

Words = TypeVar("Words", TaggedCorpus, Treebank, LabelledCorpus)


@dataclass(frozen=True)
class Scheme:
    """A way to write one script in another.

    `table` maps letters, longer ones first; `initial` are the letters that stand for a vowel at the beginning of a word
    and are not written there (the hamza of Uyghur). `back` promises that text without Latin letters comes back, but for
    capitals of letters that have none in Latin (the soft sign).
    """

    name: str
    about: str
    table: Mapping[str, str]
    back: bool
    initial: str = ""
    vowels: str = ""

    def __call__(self, text: str) -> str:
        """Text in the other script."""
        there = _letters(self.table)
        start = re.compile(f"(?<![^\\W\\d_]){re.escape(self.initial)}(?=[{self.vowels}])") if self.initial else None
        composed = unicodedata.normalize("NFC", text)
        plain = start.sub("", composed) if start else composed
        return there.sub(lambda found: _cased(found[0], self.table), plain)

    def inverse(self, text: str) -> str:
        """Text back in its own script; an error where that is not promised."""
        if not self.back:
            raise InputError(f"{self.name} cannot be taken back: several letters are written alike")
        table = {other: own for own, other in self.table.items()}
        # a mark that was on a letter (stress) may have been drawn into it, unless the letter is one of the table's
        known = {letter for other in table for letter in (*other, *other.upper())}
        apart = (c if c in known else unicodedata.normalize("NFD", c) for c in unicodedata.normalize("NFC", text))
        found = _letters(table).sub(lambda one: _cased(one[0], table), "".join(apart))
        found = unicodedata.normalize("NFC", found)
        if not self.initial:
            return found
        return re.sub(f"(?<![^\\W\\d_])(?=[{self.vowels}])", self.initial, found)


@dataclass(frozen=True)
class Engine:
    """A way to write any script in Latin, by a library: `make` gives a function of a run of letters, once."""

    name: str
    about: str
    make: Callable[[], Callable[[str], str]]
    back: bool = False

    def __call__(self, text: str) -> str:
        """Text in Latin: every run of letters of another script by itself."""
        return _FOREIGN.sub(lambda found: _made(self.make)(found[0]), unicodedata.normalize("NFC", text))

    def inverse(self, text: str) -> str:
        """Never."""
        raise InputError(f"{self.name} cannot be taken back: several letters are written alike")


@cache
def _made(make: Callable[[], Callable[[str], str]]) -> Callable[[str], str]:
    return cache(make())


# Letters of any script but Latin, with the marks and joiners on them.
_FOREIGN = regex.compile(r"(?:[^\P{L}\p{Latin}][\p{M}\u200c\u200d]*)+")


@cache
def _pattern(letters: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(letters, key=len, reverse=True))))


def _letters(table: Mapping[str, str]) -> re.Pattern[str]:
    capital = {letter.capitalize() for letter in table} | {letter.upper() for letter in table}
    return _pattern(tuple(sorted({*table, *capital} - {""})))


def _cased(found: str, table: Mapping[str, str]) -> str:
    """What a letter is written as, with a capital for a capital."""
    if found in table:
        return table[found]
    made = table[found.lower()]
    return made[:1].upper() + made[1:]


# Uyghur in the letters of Turkish where they sound alike, those of the Common Turkic Alphabet elsewhere.
UYGHUR = dict(zip(
    "ا ە ې ى و ۇ ۆ ۈ ب پ ت ج چ خ د ر ز ژ س ش غ ف ق ك گ ڭ ل م ن ھ ۋ ي ئ".split(),
    "a e é i o u ö ü b p t c ç x d r z j s ş ğ f q k g ñ l m n h v y ’".split(), strict=True,
))  # fmt: skip
# ISO 9:1995, one Latin letter a Cyrillic one; letters of Mari, Erzya and Buryat among them.
CYRILLIC = dict(zip(
    ("а б в г д е ё ж з и й к л м н о п р с т у ф х ц ч ш щ ъ ы ь э ю я "
     "і ї є ґ ў ј љ њ џ ћ ђ ө ү һ ӓ ӧ ӱ ӹ ҥ қ ғ ҳ ҷ ӣ ӯ").split(),
    ("a b v g d e ë ž z i j k l m n o p r s t u f h c č š ŝ ʺ y ʹ è û â "
     "ì ï ê g̀ ŭ ǰ l̂ n̂ d̂ ć đ ô ù ḥ ä ö ü ÿ ṅ ķ ġ ḩ ç ī ū").split(),
    strict=True,
))  # fmt: skip
# ISO 9984:1996; the two letters of Mingrelian as linguists write them.
GEORGIAN = dict(zip(
    "ა ბ გ დ ე ვ ზ თ ი კ ლ მ ნ ო პ ჟ რ ს ტ უ ფ ქ ღ ყ შ ჩ ც ძ წ ჭ ხ ჯ ჰ ჷ ჸ".split(),
    "a b g d e v z t’ i k l m n o p ž r s t u p’ k’ ḡ q š č’ c’ j c č x ǰ h ə ʾ".split(), strict=True,
))  # fmt: skip
# Sorani in the letters of Kurmanji (Hawar); those that Kurmanji lacks as Kurdish academies write them.
SORANI = dict(zip(
    "ا ە ێ ی وو و ۆ ب پ ت ج چ ح خ د ر ڕ ز ژ س ش ع غ ف ڤ ق ک ك گ ل ڵ م ن ه ھ ي ى ئ".split(),
    "a e ê î û u o b p t c ç ḧ x d r ř z j s ş ʿ ẍ f v q k k g l ł m n h h î î ’".split(), strict=True,
))  # fmt: skip


def _uroman() -> Callable[[str], str]:
    try:
        import uroman
    except ImportError as error:
        raise MissingExtraError("uroman", "unseen", "writing any script in Latin") from error
    engine: Any = uroman.Uroman()
    return lambda run: str(engine.romanize_string(run))


def _icu() -> Callable[[str], str]:
    try:
        import icu
    except ImportError as error:
        raise InputError("the scheme icu needs PyICU, which needs ICU itself: install both, or take latin") from error
    engine: Any = icu.Transliterator.createInstance("Any-Latin")
    return lambda run: str(engine.transliterate(run))


SCHEMES: tuple[Scheme | Engine, ...] = (
    Engine("latin", "any script in Latin letters, as uroman writes it", _uroman),
    Engine("icu", "any script in Latin letters, as ICU writes it (Any-Latin)", _icu),
    Scheme("uyghur-turkish", "Uyghur in Arabic letters, as Turkish would spell it", UYGHUR, True, "ئ", "اەېىوۇۆۈ"),
    Scheme("cyrillic-latin", "Cyrillic in Latin, letter by letter (ISO 9)", CYRILLIC, True),
    Scheme("georgian-latin", "Georgian in Latin, letter by letter (ISO 9984)", GEORGIAN, True),
    Scheme("sorani-kurmanji", "Sorani in Arabic letters, as Kurmanji would spell it", SORANI, False, "ئ", "اەێیۆو"),
)


def scheme(name: str) -> Scheme | Engine:
    """A scheme by its name."""
    for each in SCHEMES:
        if each.name == name:
            return each
    raise UnknownNameError("scheme of transliteration", name, (each.name for each in SCHEMES))


def transliterate(text: str, name: str = "latin") -> str:
    """Text in another script."""
    return scheme(name)(text)


def transliterated(record: Words, name: str) -> Words:
    """The same record in another script: words, texts and multiword tokens; tags, trees and labels stay."""
    turn = cache(scheme(name))

    def all_of(rows: Iterable[Iterable[str]]) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(map(turn, row)) for row in rows)

    told: dict[str, Any]
    if isinstance(record, TaggedCorpus):
        told = {"words": all_of(record.words)}
    elif isinstance(record, Treebank):
        told = {
            "trees": tuple(
                replace(
                    tree,
                    words=tuple(map(turn, tree.words)),
                    multiwords=tuple(m._replace(form=turn(m.form)) for m in tree.multiwords),
                    text=None if tree.text is None else turn(tree.text),
                )
                for tree in record.trees
            )
        }
    elif isinstance(record, LabelledCorpus):
        told = {"texts": all_of(record.texts)}
    else:
        raise InputError(f"{record!r} is neither tagged, parsed nor labelled: transliterate its sentences one by one")
    return replace(record, **told, name=f"{record.name} ({name})")


def suits(language: Language) -> str:
    """The scheme made for a language, where there is one; else `latin`."""
    own = {"ug": "uyghur-turkish", "ckb": "sorani-kurmanji", "ka": "georgian-latin", "xmf": "georgian-latin"}
    return own.get(language.language, "latin")
