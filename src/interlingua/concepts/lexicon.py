"""Which words translate which, and how probably: p(t|s) by relative frequency of the links of a word aligner.

    p(t|s) = links of s with t / links of s

Words are the same as those that vectors are of: segmented by the same rule, in lower case unless asked otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from interlingua.corpora.files import lines
from interlingua.errors import FormatError, InputError
from interlingua.languages import Language
from interlingua.types import Dictionary

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class Entry(NamedTuple):
    """A translation: p(word | source word), and how many links say so (0: not known)."""

    word: str
    probability: float
    links: int = 0


@dataclass(frozen=True)
class Lexicon:
    """Translations of the words of a language, the most probable first."""

    source: Language
    target: Language
    entries: Mapping[str, tuple[Entry, ...]] = field(repr=False)

    def __post_init__(self) -> None:
        if not self.entries:
            raise InputError(f"the lexicon from {self.source} to {self.target} has no entry: nothing can correspond")

    def __len__(self) -> int:
        return len(self.entries)

    def best(self, word: str, n: int | None = None) -> tuple[str, ...]:
        """The `n` most probable translations of a word (all by default); none where it has no entry."""
        return tuple(entry.word for entry in self.entries.get(word, ())[:n])

    def matrix(self, source: Sequence[str], target: Sequence[str], n: int) -> csr_matrix:
        """(source words, target words): 1 where the second is among the `n` best translations of the first."""
        from scipy.sparse import coo_matrix

        place = {word: i for i, word in enumerate(target)}
        pairs = [(i, place[t]) for i, word in enumerate(source) for t in self.best(word, n) if t in place]
        at = np.array(pairs, np.int64).reshape(-1, 2)
        return coo_matrix((np.ones(len(at), np.int8), tuple(at.T)), shape=(len(source), len(target))).tocsr()

    def dictionary(self) -> Dictionary:
        """As a dictionary, without counts."""
        pairs = ((word, entry.word, entry.probability) for word, row in self.entries.items() for entry in row)
        return Dictionary.from_pairs(self.source, self.target, pairs, name=f"{self.source}-{self.target}")


def lexicon(
    source: str | Language,
    target: str | Language,
    sentences: Iterable[tuple[Sequence[str], Sequence[str]]],
    links: Iterable[Iterable[tuple[int, int]]],
    *,
    fold: bool = True,
) -> Lexicon:
    """From sentence pairs as words and the links between them, as `corpora.aligner.align` gives them."""
    counts: dict[str, Counter[str]] = {}
    for (left, right), pairs in zip(sentences, links, strict=True):
        for i, j in pairs:
            if not (0 <= i < len(left) and 0 <= j < len(right)):
                raise InputError(
                    f"a link {i}-{j} in a pair of {len(left)} and {len(right)} words: sentences do not line up"
                )
            s, t = (left[i].lower(), right[j].lower()) if fold else (left[i], right[j])
            counts.setdefault(s, Counter())[t] += 1
    return Lexicon(
        Language.parse(source), Language.parse(target), {word: _ranked(found) for word, found in counts.items()}
    )


def _ranked(found: Counter[str]) -> tuple[Entry, ...]:
    """By probability; equals in the order of their letters, so that it is the same in every run."""
    total = sum(found.values())
    ordered = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
    return tuple(Entry(word, n / total, n) for word, n in ordered)


def from_dictionary(dictionary: Dictionary, *, fold: bool = True) -> Lexicon:
    """A dictionary's translations in its own order; those without a probability share what is left, equally."""
    entries: dict[str, dict[str, float]] = {}
    for word, row in zip(dictionary.words, dictionary.translations, strict=True):
        own = entries.setdefault(word.lower() if fold else word, {})
        known = [t.probability for t in row if t.probability is not None]
        without = len(row) - len(known)
        rest = max(0.0, 1 - sum(known)) / without if without else 0.0
        for each in row:
            own.setdefault(
                each.word.lower() if fold else each.word, rest if each.probability is None else each.probability
            )
    found = {word: tuple(Entry(t, p) for t, p in own.items()) for word, own in entries.items()}
    return Lexicon(dictionary.source, dictionary.target, found)


def read_moses(path: Path, source: str | Language, target: str | Language) -> Lexicon:
    """A lexical table as Moses writes it: `target source p(target|source)` a line; NULL is no word."""
    entries: dict[str, list[Entry]] = {}
    for number, line in lines(path):
        cells = line.split()
        if not cells:
            continue
        if len(cells) != 3:
            raise FormatError(path, number, f"{len(cells)} columns where target, source and probability were expected")
        try:
            probability = float(cells[2])
        except ValueError:
            probability = float("nan")
        if not 0 <= probability <= 1:
            raise FormatError(path, number, f"{cells[2]!r} is no probability: it must lie between 0 and 1")
        if "NULL" not in cells[:2]:
            entries.setdefault(cells[1], []).append(Entry(cells[0], probability))
    if not entries:
        raise FormatError(path, None, "it holds no pair of words")
    ranked = {word: tuple(sorted(row, key=lambda e: (-e.probability, e.word))) for word, row in entries.items()}
    return Lexicon(Language.parse(source), Language.parse(target), ranked)


def write_moses(found: Lexicon, path: Path) -> int:
    """The same table, for other tools; how many pairs were left out because a word has a space in it."""
    rows, left = [], 0
    for word, row in found.entries.items():
        for entry in row:
            if len(word.split()) != 1 or len(entry.word.split()) != 1:
                left += 1
            else:
                rows.append(f"{entry.word} {word} {entry.probability:.7f}\n")
    path.write_text("".join(rows), encoding="utf-8")
    return left
