"""Extra anchors: running text in which some words are put in another language, by a dictionary.

Wu, Conneau et al. (2020) make languages share more than their vocabularies do by code-switching: a word with an entry
is kept with 70 % and replaced with 30 % by one of its translations, and at most 15 % of the words are replaced.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate

import numpy as np
import regex

from interlingua.errors import InputError
from interlingua.types import Dictionary

# Scripts that put no space between words: what stands between two spaces is no word there.
_DENSE = regex.compile(r"([\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]+)")
# Characters of the longest word that is looked for where there are no spaces.
_LONGEST = 8

_PART = regex.compile(r"[\p{L}\p{M}\p{N}\u200c\u200d]+")
_WORD = regex.compile(rf"{_PART.pattern}(?:['’-]{_PART.pattern})*")

# A word's translations, and their weights added up.
_Entry = tuple[tuple[str, ...], tuple[float, ...]]


def code_switch(
    sentences: Iterable[str],
    dictionary: Dictionary,
    *,
    replace: float = 0.3,
    limit: float = 0.15,
    seed: int = 0,
) -> Iterator[str]:
    """The sentences one by one, with words replaced by translations; those without an entry come as they were.

    A word with an entry is replaced with probability `replace`, by a translation drawn by its probability, or evenly
    where an entry lacks some. `limit` caps the share of replaced words among all words so far, at every word. Words are
    looked up in lower case, and a capitalised word gives a capitalised translation. `don't` is one word where
    it has an entry and two where it has none, so that `l'eau` finds `eau`; entries of several words are not looked for.
    Where a script puts no spaces, words are the longest entries of two characters or more from left to right, and
    single characters between them; a translation gets spaces around it there, so that it is the word it is elsewhere.
    """
    for name, share in (("replace", replace), ("limit", limit)):
        if not 0 <= share <= 1:
            raise InputError(f"{name} is {share}: a share from 0 to 1 is needed")
    entries = _entries(dictionary)
    if not entries:
        raise InputError(f"{dictionary.name} has no entries: there is nothing to switch to")
    return _switched(sentences, entries, replace, limit, np.random.default_rng(seed))


def _switched(
    sentences: Iterable[str], entries: dict[str, _Entry], replace: float, limit: float, generator: np.random.Generator
) -> Iterator[str]:
    seen = replaced = 0
    for sentence in sentences:
        pieces, done = [], 0
        for start, end, entry in _words(sentence, entries):
            seen += 1
            if entry is None:
                continue
            # Both are drawn for every word with an entry: the limit then only takes replacements away, and moves none.
            chance, place = generator.random(), generator.random()
            if chance >= replace or replaced + 1 > limit * seen:
                continue
            replaced += 1
            translations, sums = entry
            drawn = bisect_right(sums, place * sums[-1], hi=len(sums) - 1)
            before, after = (
                " " * bool(_PART.match(each)) for each in (sentence[done:start][-1:], sentence[end : end + 1])
            )
            pieces += [sentence[done:start], before, _cased(translations[drawn], sentence[start:end]), after]
            done = end
        yield "".join((*pieces, sentence[done:])) if pieces else sentence


def _words(sentence: str, entries: dict[str, _Entry]) -> Iterator[tuple[int, int, _Entry | None]]:
    """Where the words are, and their entries: those joined by ' or - are one where they have an entry together."""
    for word in _WORD.finditer(sentence):
        if entry := entries.get(_key(word.group())):
            yield *word.span(), entry
            continue
        for part in _PART.finditer(sentence, word.start(), word.end()):
            at = part.start()
            for run in filter(None, _DENSE.split(part.group())):
                if _DENSE.match(run):
                    yield from _longest(run, at, entries)
                else:
                    yield at, at + len(run), entries.get(_key(run))
                at += len(run)


def _longest(run: str, at: int, entries: dict[str, _Entry]) -> Iterator[tuple[int, int, _Entry | None]]:
    """Words of a run without spaces: the longest with an entry at each place, or one character.

    A single character is looked up where it stands alone: in a run it may be part of a word that has no entry.
    """
    place = 0
    while place < len(run):
        sizes = range(min(_LONGEST, len(run) - place), 1 if len(run) > 1 else 0, -1)
        size = next((n for n in sizes if _key(run[place : place + n]) in entries), 0)
        yield at + place, at + place + (size or 1), entries[_key(run[place : place + size])] if size else None
        place += size or 1


def _entries(dictionary: Dictionary) -> dict[str, _Entry]:
    table: dict[str, list[tuple[str, float | None]]] = {}
    for word, translation, probability in dictionary.pairs():
        if probability is not None and not 0 <= probability < float("inf"):
            raise InputError(f"{word} -> {translation} has the weight {probability}: 0 or more is needed")
        table.setdefault(_key(word), []).append((translation, probability))
    return {word: _weighed(found) for word, found in table.items()}


def _weighed(found: list[tuple[str, float | None]]) -> _Entry:
    weights = [weight for _, weight in found if weight is not None]
    if len(weights) < len(found) or not sum(weights):
        weights = [1.0] * len(found)
    return tuple(translation for translation, _ in found), tuple(accumulate(weights))


def _key(word: str) -> str:
    return unicodedata.normalize("NFC", word).lower().replace("’", "'")


def _cased(translation: str, word: str) -> str:
    """The translation with the capitals of the word: none added, the first, or all of a word of two letters or more."""
    if len(word) > 1 and word.isupper():
        return translation.upper()
    return translation[:1].upper() + translation[1:] if word[:1].isupper() else translation
