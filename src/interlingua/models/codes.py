"""The codes by which the tokenizers of translation models (mBART, NLLB, M2M-100) are told a sentence's language."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from interlingua.errors import LanguageError
from interlingua.languages import Language

# fr_XX, fra_Latn, __fr__
_CODE = re.compile(r"_{0,2}([a-z]{2,3}(?:_[A-Za-z]{2,4})?)_{0,2}")


def has_codes(tokenizer: Any) -> bool:
    """Whether the tokenizer marks every sentence with its language."""
    return hasattr(tokenizer, "src_lang")


def code_of(tokenizer: Any, lang: Language) -> str | None:
    """The tokenizer's code for a language; None where it has none for it."""
    return _codes(tuple(str(token) for token in tokenizer.added_tokens_decoder.values())).get(lang)


def code_number(tokenizer: Any, lang: Language) -> int | None:
    """The number of the token that stands for a language; None where there is none."""
    code = code_of(tokenizer, lang)
    for number, token in tokenizer.added_tokens_decoder.items():
        if code is not None and (match := _CODE.fullmatch(str(token))) and match[1] == code:
            return int(number)
    return None


@lru_cache(maxsize=64)
def _codes(tokens: tuple[str, ...]) -> dict[Language, str]:
    known: dict[Language, str] = {}
    for token in tokens:
        if match := _CODE.fullmatch(token):
            try:
                known.setdefault(Language.parse(match[1]), match[1])
            except LanguageError:
                continue
    return known


def code_used(tokenizer: Any, lang: Language) -> str:
    """The code a sentence of the language is marked with: its own, or the one the tokenizer came with."""
    return code_of(tokenizer, lang) or f"{_defaults(tokenizer)['src_lang']} (no code for {lang})"


def speak(tokenizer: Any, lang: Language, *, target: bool = False) -> None:
    """Tell the tokenizer the language of what comes next, where it wants to know."""
    if has_codes(tokenizer):
        side = "tgt_lang" if target else "src_lang"
        usual = _defaults(tokenizer)
        setattr(tokenizer, side, code_of(tokenizer, lang) or usual[side] or usual["src_lang"])


def _defaults(tokenizer: Any) -> dict[str, str | None]:
    """What the tokenizer was told before anybody told it something else."""
    found: dict[str, str | None] | None = getattr(tokenizer, "_codes_at_first", None)
    if found is None:
        found = {side: getattr(tokenizer, side, None) for side in ("src_lang", "tgt_lang")}
        tokenizer._codes_at_first = found
    return found
