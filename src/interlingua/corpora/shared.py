"""Sentences that share something with their translation that needs no understanding: numbers, names, sub-words.

An untrained encoder gives equal tokens equal vectors, so it matches such sentences without knowing any language: of
1,997 English and French news sentences one of random weights found 17 %, and 5 % of those that share nothing here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from interlingua.errors import InputError
from interlingua.languages import Language
from interlingua.types import ParallelCorpus

if TYPE_CHECKING:
    import numpy as np

# text -> tokens, each with the characters it covers
Tokenise = Callable[[str], Iterable[tuple[str, str]]]

_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[^\W\d_]{2,}")


def shared_rows(
    corpus: ParallelCorpus,
    pairs: Sequence[tuple[str | Language, str | Language]],
    *,
    digits: bool = True,
    names: bool = True,
    subwords: Tokenise | None = None,
    letters: int = 3,
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which rows share something between the two languages of any of the pairs.

    `digits`: the same run of digits, in whatever script's digits. `names`: a word of two letters or more that is
    written alike in both, with a capital. `subwords`: a function from text to tokens, each with the characters it
    covers; a token of at least `letters` letters or digits that is in both.
    """
    import numpy as np

    marks = {
        lang: [_marks(text, digits=digits, names=names, subwords=subwords, letters=letters) for text in corpus[lang]]
        for lang in dict.fromkeys(Language.parse(tag) for pair in pairs for tag in pair)
    }
    found = np.zeros(len(corpus), bool)
    for pair in pairs:
        left, right = (marks[Language.parse(tag)] for tag in pair)
        found |= np.fromiter((not a.isdisjoint(b) for a, b in zip(left, right, strict=True)), bool, len(corpus))
    return found


def without_shared(
    corpus: ParallelCorpus,
    pairs: Sequence[tuple[str | Language, str | Language]],
    *,
    digits: bool = True,
    names: bool = True,
) -> ParallelCorpus:
    """The corpus without the rows that share something; the number left out is in its notes."""
    shared = shared_rows(corpus, pairs, digits=digits, names=names)
    if shared.all():
        raise InputError(f"all {len(corpus)} sentences of {corpus.name} share something: none would be left")
    what = " or ".join(name for name, asked in (("digits", digits), ("names", names)) if asked)
    return corpus.where(~shared, note=f"{int(shared.sum())} rows left out that share {what}")


def _marks(text: str, *, digits: bool, names: bool, subwords: Tokenise | None, letters: int) -> frozenset[str]:
    """What a sentence can be recognised by; each kind keeps to itself by its first character."""
    found: set[str] = set()
    if digits:
        found.update("#" + "".join(str(unicodedata.digit(c)) for c in run) for run in _NUMBER.findall(text))
    if names:
        words = _WORD.findall(unicodedata.normalize("NFC", text))
        found.update("^" + word for word in words if word[0].isupper())
    if subwords is not None:
        found.update("~" + token for token, covered in subwords(text) if sum(map(str.isalnum, covered)) >= letters)
    return frozenset(found)
