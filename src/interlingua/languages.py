"""What a language is here: a language and a script, however the tag was spelled."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from interlingua.errors import LanguageError

# What people write although it is no language code, and the code they mean.
SLIPS = {
    "cz": "cs", "jp": "ja", "cn": "zh", "gr": "el", "dk": "da", "ua": "uk", "sp": "es",
    "po": "pt or pl", "vn": "vi", "ge": "de or ka", "al": "sq", "rs": "sr", "by": "be", "ir": "fa",
    "us": "en", "english": "en", "french": "fr", "german": "de", "spanish": "es", "russian": "ru",
    "chinese": "zh", "arabic": "ar", "bulgarian": "bg", "estonian": "et", "turkish": "tr",
}  # fmt: skip

# Scripts of languages for which CLDR's likely subtags (as langcodes carries them) say nothing.
SCRIPTS = {
    "acm": "Arab", "acq": "Arab", "ajp": "Arab", "arr": "Latn", "azb": "Arab", "cjk": "Latn",
    "din": "Latn", "gun": "Latn", "lus": "Latn", "nyq": "Arab", "olo": "Latn", "orv": "Cyrl",
    "pbt": "Arab", "qaf": "Latn", "qtd": "Latn", "quy": "Latn",
}  # fmt: skip

# Languages whose code always shows the script, because two scripts are in everyday use.
TWO_SCRIPTS = frozenset({"zh"})

RIGHT_TO_LEFT = frozenset({"Arab", "Hebr", "Syrc", "Thaa", "Nkoo", "Adlm", "Rohg", "Mand", "Samr"})


@dataclass(frozen=True, order=True, repr=False)
class Language:
    """A language and the script it is written in. Two tags are the same language when both agree.

    `Language.parse` understands BCP-47 (`zh-CN`), ISO 639-3 (`deu`), FLORES and NLLB style
    (`eng_Latn`) and mixtures (`zho-CN`). Macro-languages are merged with the individual language
    that stands for them in practice (`arb` is `ar`, `cmn` is `zh`, `swh` is `sw`). The script is the one
    given, else the one the region implies (`zh-TW` is `zh-Hant`), else the most likely one. The
    region and the tag as given are kept, but do not tell two languages apart: `pt-BR` equals `pt-PT`.
    """

    language: str
    script: str | None
    region: str | None = field(default=None, compare=False)
    tag: str = field(default="", compare=False)

    @classmethod
    def parse(cls, tag: str | Language) -> Language:
        """The language a tag names; `LanguageError`, with what is close, where it names none."""
        if not isinstance(tag, str | Language):
            raise LanguageError(f"{tag!r} is not a language code: give one such as en, deu or zh-Hans")
        return tag if isinstance(tag, Language) else _parse(tag)

    def __repr__(self) -> str:
        return f"Language({(self.tag or str(self))!r})"

    def __str__(self) -> str:
        if self.script and (self.language in TWO_SCRIPTS or self.script != _likely_script(self.language, None)):
            return f"{self.language}-{self.script}"
        return self.language

    @property
    def right_to_left(self) -> bool:
        """Whether the script runs from right to left."""
        return self.script in RIGHT_TO_LEFT


@lru_cache(maxsize=4096)
def _parse(tag: str) -> Language:
    import langcodes
    from langcodes.tag_parser import LanguageTagError

    given = tag.strip()
    if given.lower() in SLIPS:
        raise LanguageError(f"{tag!r} is not a language code: did you mean {SLIPS[given.lower()]}?")
    # A tag is at most 35 characters long in practice: anything longer is a file name or a sentence.
    if not given or len(given) > 35:
        raise LanguageError(f"{tag[:40]!r} is not a language code: give one such as en, deu or zh-Hans")
    try:
        parsed = langcodes.Language.get(langcodes.standardize_tag(given, macro=True))
    except (LanguageTagError, ValueError) as error:
        raise LanguageError(f"{tag!r} is not a language code: give one such as en, deu or zh-Hans") from error
    language = parsed.language
    if language in (None, "und", "mul", "mis", "zxx"):
        raise LanguageError(f"{tag!r} names no single language: give one such as en, deu or zh-Hans")
    if not langcodes.Language.make(language=language).is_valid():
        raise LanguageError(f"{tag!r} is not a registered language code: see iso639-3.sil.org")
    if parsed.script and not langcodes.Language.make(script=parsed.script).is_valid():
        raise LanguageError(f"{tag!r}: {parsed.script} is not a registered script, such as Latn, Cyrl or Hant")
    region = parsed.territory
    script = parsed.script or _likely_script(language, region)
    return Language(language, script, region, given)


@lru_cache(maxsize=4096)
def _likely_script(language: str, region: str | None) -> str | None:
    """The script CLDR thinks likely; None where it knows nothing (`maximize` would answer Latin)."""
    import langcodes
    from langcodes.data_dicts import LIKELY_SUBTAGS

    if language in SCRIPTS:
        return SCRIPTS[language]
    if language not in LIKELY_SUBTAGS:
        return None
    return langcodes.Language.make(language=language, territory=region).maximize().script
