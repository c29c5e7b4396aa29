"""What the words of a concept have in common, as far as their form tells: an offline label for every concept.

A label needs `cover` of a concept's types (0.8). A concept is lexical if what its types share is form (an affix,
digits, punctuation, capitals, or being one word), and semantic otherwise: a residue, not a proof of meaning. Given tags
of mentions (parts of speech, entities), the tag that `cover` of them have is told too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import regex

from interlingua.concepts.discover import Concepts
from interlingua.concepts.shares import reaches
from interlingua.errors import InputError
from interlingua.types import TaggedCorpus

COVER = 0.8
# Letters that an affix has at least, and types that a concept has for one to mean anything.
SUFFIX, PREFIX, INFIX, TYPES = 2, 3, 3, 3
LEXICAL = ("one word", "number", "punctuation", "suffix", "prefix", "infix", "capitals")
SEMANTIC = "semantic"
SCRIPTS = (
    "Latin", "Cyrillic", "Greek", "Arabic", "Hebrew", "Han", "Hiragana", "Katakana", "Hangul", "Devanagari", "Bengali",
    "Thai", "Georgian", "Armenian", "Ethiopic", "Tamil", "Telugu",
)  # fmt: skip
_SCRIPT = {name: regex.compile(rf"\p{{Script={name}}}") for name in SCRIPTS}
_LETTER, _DIGIT, _WORD = regex.compile(r"\p{L}"), regex.compile(r"\p{N}"), regex.compile(r"[\p{L}\p{N}]")


@dataclass(frozen=True, slots=True)
class Label:
    """What a concept is: its kind (one of LEXICAL, or semantic), the affix if it is one, script, tag and size."""

    concept: int
    kind: str
    value: str
    script: str
    tag: str
    types: int

    @property
    def lexical(self) -> bool:
        """Whether its types share their form."""
        return self.kind != SEMANTIC


def label(found: Concepts, *, cover: float = COVER, tags: Sequence[str] = ()) -> tuple[Label, ...]:
    """A label for every concept that has a mention; `tags` has one (or "") for each mention, or is empty."""
    if tags and len(tags) != len(found.mentions):
        raise InputError(f"{len(tags)} tags of {len(found.mentions)} mentions: one each is needed")
    if not 0.5 < cover <= 1:
        raise InputError(f"cover is {cover}: more than half of the types, up to 1, must have a thing in common")
    written: dict[int, list[int]] = {}
    for i, concept in enumerate(found.labels.tolist()):
        written.setdefault(concept, []).append(i)
    made = []
    for concept, rows in sorted(written.items()):
        types = found.types(concept)
        kind, value = _kind(types, [found.mentions.words[i] for i in rows], cover)
        # mentions whose tag nobody knows say nothing
        known = [tags[i] for i in rows if tags[i]] if tags else []
        tag = _most(known, cover) if known else ""
        made.append(Label(concept, kind, value, _most(map(script_of, types), cover) or "mixed", tag, len(types)))
    return tuple(made)


def usual_tags(corpus: TaggedCorpus, *, fold: bool = True) -> dict[str, str]:
    """The tag that each word most often has in a tagged corpus; an entity's without its B- or I-."""
    if corpus.tags is None:
        raise InputError(f"{corpus.name} has no tags: give tagged words or a treebank")
    counts: dict[str, Counter[str]] = {}
    for words, tags in zip(corpus.words, corpus.tags, strict=True):
        for word, tag in zip(words, tags, strict=True):
            plain = tag[2:] if corpus.entities and tag[:2] in ("B-", "I-") else tag
            counts.setdefault(word.lower() if fold else word, Counter())[plain] += 1
    return {word: found.most_common(1)[0][0] for word, found in counts.items()}


def _kind(types: Sequence[str], words: Sequence[str], cover: float) -> tuple[str, str]:
    n = len(types)
    if n == 1:
        return "one word", types[0]
    if _covers(sum(not _WORD.search(word) for word in types), n, cover):
        return "punctuation", ""
    if _covers(sum(bool(_DIGIT.search(word)) and not _LETTER.search(word) for word in types), n, cover):
        return "number", ""
    if n >= TYPES:
        for kind, pieces, least in (
            ("suffix", _suffixes, SUFFIX),
            ("prefix", _prefixes, PREFIX),
            ("infix", _infixes, INFIX),
        ):
            counts = Counter(piece for word in types for piece in pieces(word, least))
            often = reaches(np.fromiter(counts.values(), np.int64, len(counts)), n, cover)
            held = [piece for piece, enough in zip(counts, often.tolist(), strict=True) if enough]
            if held:
                return kind, min(held, key=lambda piece: (-len(piece), piece))
    # single letters are capitals at the start of a sentence; two and more are meant
    if _covers(sum(len(word) > 1 and word.isupper() for word in words), len(words), cover):
        return "capitals", ""
    return SEMANTIC, ""


def _covers(part: int, whole: int, cover: float) -> bool:
    return bool(reaches(part, whole, cover))


def _suffixes(word: str, least: int) -> set[str]:
    return {word[-n:] for n in range(least, len(word))}


def _prefixes(word: str, least: int) -> set[str]:
    return {word[:n] for n in range(least, len(word))}


def _infixes(word: str, least: int) -> set[str]:
    """Pieces inside: neither the first nor the last letter is in them."""
    inner = word[1:-1]
    return {inner[i:j] for i in range(len(inner)) for j in range(i + least, len(inner) + 1)}


def _most(values: Iterable[str], cover: float) -> str:
    """What enough of them are; empty where nothing is."""
    counts = Counter(values)
    value, count = counts.most_common(1)[0]
    return value if _covers(count, counts.total(), cover) else ""


def script_of(word: str) -> str:
    """The script of a word's letters: one of SCRIPTS, `other`, or `none` where it has no letter."""
    if not _LETTER.search(word):
        return "none"
    found = [name for name, pattern in _SCRIPT.items() if pattern.search(word)]
    return found[0] if len(found) == 1 else "mixed" if found else "other"
