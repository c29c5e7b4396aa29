"""Running text -> words, where nobody has said what the words are.

Words are what Unicode's default rule calls so (UAX #29): `don't` and `3.14` are one word, punctuation marks are words
of their own, an emoji of several code points is one. The rule knows no dictionary: it makes every Chinese or Japanese
ideograph and every hiragana a word, and Thai, Lao, Khmer and Burmese, which put no mark between words, are left in the
runs they are written in. Bring your own segmentation for these (a treebank, a file of words) where it matters.
"""

from __future__ import annotations

from itertools import pairwise

import regex

_BOUNDARY = regex.compile(r"(?V1w)\b")
_UNDIVIDED = regex.compile(r"[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}][\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{M}]*")

Spans = tuple[tuple[int, int], ...]


def segment(text: str) -> Spans:
    """Where the words of a text are: (start, end) in characters, in order; white space belongs to none."""
    runs = [m.span() for m in _UNDIVIDED.finditer(text)]
    inside = {i for start, end in runs for i in range(start + 1, end)}
    marks = {m.start() for m in _BOUNDARY.finditer(text)} - inside
    cuts = sorted({0, len(text), *marks, *(i for run in runs for i in run)})
    return tuple((start, end) for start, end in pairwise(cuts) if text[start:end].strip())


# Scripts that put no space between words.
_SPACELESS = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")


def join(words: tuple[str, ...]) -> tuple[str, Spans]:
    """A sentence from its words, and where each is: with a space between two, unless either side is written without."""
    text, spans = "", []
    for word in words:
        if text and word and not (_SPACELESS.match(text[-1]) or _SPACELESS.match(word[0])):
            text += " "
        spans.append((len(text), len(text) + len(word)))
        text += word
    return text, tuple(spans)


def locate(words: tuple[str, ...], text: str) -> Spans | None:
    """Where words are in the text they were taken from; None where the text is not these words and white space."""
    spans, at = [], 0
    for word in words:
        start = None
        for letter in "".join(word.split()):
            while text[at : at + 1].isspace():
                at += 1
            if text[at : at + 1] != letter:
                return None
            start = at if start is None else start
            at += 1
        spans.append((at if start is None else start, at))
    return None if text[at:].strip() else tuple(spans)
