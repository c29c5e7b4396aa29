"""Dictionaries from mapped spaces: the nearest words of the other language, by cosine or CSLS, over all of both.

Words near to everything (hubs) are everybody's nearest by cosine; CSLS takes from each score how near a word is to its
neighbours on the other side. Products are computed in blocks: nothing of the size of both vocabularies is ever held.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from interlingua.errors import InputError, UnknownNameError
from interlingua.mapping.alignment import Alignment
from interlingua.mapping.maps import fit_procrustes
from interlingua.measures.arrays import Array, as_numpy, matrix, namespace
from interlingua.measures.retrieval import BLOCK, largest, nearness
from interlingua.measures.shape import unit_rows
from interlingua.types import Dictionary

BY = ("csls", "cosine")
RANKS = (1, 5, 10)
# Scores held at a time.
HELD = 2**24


@dataclass(frozen=True, eq=False)
class Words:
    """A vocabulary and a vector for each word; the most frequent first, if any order is known."""

    words: tuple[str, ...]
    vectors: Array

    def __post_init__(self) -> None:
        if len(self.words) != int(self.vectors.shape[0]):
            raise InputError(
                f"{len(self.words)} words and {self.vectors.shape[0]} vectors: one vector a word is needed"
            )
        if len(self.places) != len(self.words):
            raise InputError(f"{len(self.words) - len(self.places)} words have more than one vector")

    @cached_property
    def places(self) -> dict[str, int]:
        """Where each word stands."""
        return {word: i for i, word in enumerate(self.words)}


@dataclass(frozen=True, slots=True)
class Induction:
    """How many words find a translation among their nearest: `precision[k]`, of the `n` that could.

    `coverage` is the share of the dictionary's words that have a vector and a translation with one; `chance` is what
    guessing one word of the vocabulary gives, at rank 1; `hits` are the words whose nearest is right.
    """

    precision: dict[int, float]
    n: int
    coverage: float
    chance: float
    by: str
    found: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    gold: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    hits: tuple[bool, ...] = field(default=(), repr=False)


def induce(source: Words, target: Words, dictionary: Dictionary, *, by: str = "csls", k: int = 10) -> Induction:
    """Translate every word of a dictionary by its nearest neighbours in one space, and see whether they are in it."""
    gold = _gold(source, target, dictionary)
    if not gold:
        raise InputError(
            f"none of the {len(dictionary.words)} words of the dictionary has a vector and a translation with one: are "
            "vocabulary and dictionary of the same languages, and tokenised and cased alike? More text, or a lower "
            "min_count (--min-count), gives more words vectors"
        )
    xp = namespace(source.vectors)
    queries = xp.asarray([source.places[word] for word in gold], device=source.vectors.device)
    scale = neighbourhoods(source.vectors, target.vectors, k) if by == "csls" else None
    nearest = neighbours(xp.take(source.vectors, queries, axis=0), target.vectors, max(RANKS), by=by, scale=scale)
    found = {word: tuple(target.words[i] for i in row) for word, row in zip(gold, nearest, strict=True)}
    chance = sum(len(right) for right in gold.values()) / len(gold) / len(target.words)
    share = len(gold) / len(dictionary.words)
    right = {word: tuple(target.words[i] for i in sorted(places)) for word, places in gold.items()}
    wanted = list(gold.values())
    return Induction(
        precision(nearest, wanted), len(gold), share, chance, by, found, right, nearest_right(nearest, wanted)
    )


def precision(nearest: Sequence[Sequence[int]], right: Sequence[Collection[int]]) -> dict[int, float]:
    """The share of queries that have something right among their nearest, at every rank."""
    hits = dict.fromkeys(RANKS, 0)
    for row, wanted in zip(nearest, right, strict=True):
        first = next((rank for rank, i in enumerate(row, start=1) if i in wanted), max(RANKS) + 1)
        for rank in RANKS:
            hits[rank] += first <= rank
    return {rank: n / max(len(nearest), 1) for rank, n in hits.items()}


def nearest_right(nearest: Sequence[Sequence[int]], right: Sequence[Collection[int]]) -> tuple[bool, ...]:
    """Whether the nearest of each query is right: what precision at 1 is the share of."""
    return tuple(row[0] in wanted for row, wanted in zip(nearest, right, strict=True))


def pairs_of(source: Words, target: Words, dictionary: Dictionary) -> tuple[list[int], list[int]]:
    """The places of every pair of a dictionary that has both: what an alignment is fitted on."""
    both = [
        (source.places[word], i) for word, right in _gold(source, target, dictionary).items() for i in sorted(right)
    ]
    if not both:
        raise InputError(
            "dictionary and vocabularies have no pair in common: nothing to fit a map on; are they of the same "
            "languages, and tokenised and cased alike? More text, or a lower min_count (--min-count), gives more words "
            "vectors"
        )
    return [pair[0] for pair in both], [pair[1] for pair in both]


def check_apart(training: Dictionary, test: Dictionary) -> None:
    """An error where a word is in both: what was learnt by heart proves nothing."""
    if both := sorted({word.lower() for word in training.words} & {word.lower() for word in test.words}):
        raise InputError(
            f"{len(both)} words are in both dictionaries ({', '.join(both[:3])}, ...): leave them out of one"
        )


def refine(aligned: Alignment, x: Array, y: Array, *, rounds: int = 5, most: int = 10_000, k: int = 10) -> Alignment:
    """A rotation fitted again and again on the pairs that are each other's nearest by CSLS, among the first rows."""
    if aligned.way != "rotation" or aligned.map is None:
        raise InputError(f"a rotation is refined, and this is {aligned.way}")
    fixed, before = aligned.of_source(x[:most, :]), replace(aligned, map=None).of_target(y[:most, :])
    xp = namespace(fixed, before)
    fitted = aligned.map
    for _ in range(rounds):
        pairs = _each_others(fixed, fitted(before), k)
        if len(pairs) < 2:
            raise InputError("no two words are each other's nearest: the first map is too bad to be refined")
        left, right = (xp.asarray([pair[side] for pair in pairs], device=fixed.device) for side in (0, 1))
        fitted = fit_procrustes(xp.take(before, right, axis=0), xp.take(fixed, left, axis=0))
    return replace(aligned, way="refined", map=fitted)


def neighbourhoods(x: Array, y: Array, k: int = 10) -> Array:
    """The mean cosine of each row of y with its k nearest rows of x."""
    a, b = _units(x, "x"), _units(y, "y")
    if not 1 <= k <= int(a.shape[0]):
        raise InputError(f"{a.shape[0]} rows have no {k} nearest")
    return nearness(a, b, k)


def neighbours(
    queries: Array, candidates: Array, most: int, *, by: str = "csls", scale: Array | None = None
) -> list[list[int]]:
    """The nearest candidates of every query, the nearest first.

        cosine: cos(q, c);  csls: 2 cos(q, c) − r(c), where `scale` is r of the candidates (`neighbourhoods`)

    r of the query is the same for all its candidates and changes no order.
    """
    if by not in BY:
        raise UnknownNameError("way of finding neighbours", by, BY)
    if by == "csls" and scale is None:
        raise InputError(
            "CSLS needs the neighbourhoods of the candidates: scale=neighbourhoods(vocabulary, candidates)"
        )
    a, b = _units(queries, "queries"), _units(candidates, "candidates")
    xp = namespace(a, b)
    kept = min(most, int(b.shape[0]))
    found: list[list[int]] = []
    step = max(1, min(BLOCK, HELD // int(b.shape[0])))
    for i in range(0, int(a.shape[0]), step):
        scores = a[i : i + step, :] @ b.T
        if by == "csls":
            scores = 2 * scores - scale
        # few are wanted of many: those above the best of some of them are cut out, and sorted; of equals the first
        some = scores[:, : max(BLOCK, int(scores.shape[1]) // 16)]
        least = xp.min(largest(some, kept), axis=1)
        rows, places = (as_numpy(each) for each in xp.nonzero(scores >= least[:, None]))
        order = np.lexsort((places, -as_numpy(scores[rows, places]), rows))
        for near in np.split(places[order], np.cumsum(np.bincount(rows))[:-1]):
            found.append(near[:kept].tolist())
    return found


def _units(x: Array, name: str) -> Array:
    """Rows of unit length; float32 stays so, for whole vocabularies are multiplied."""
    kept = "float32" if str(getattr(x, "dtype", "")).endswith("float32") else "float64"
    return unit_rows(matrix(x, name, dtype=kept), name)


def mutual(source: Words, target: Words, k: int = 10) -> list[tuple[int, int, float]]:
    """Words of one space that are each other's nearest by CSLS, with their cosine: the surest first."""
    pairs = _each_others(source.vectors, target.vectors, k)
    x, y = _units(source.vectors, "x"), _units(target.vectors, "y")
    found = [(i, j, float(x[i] @ y[j])) for i, j in pairs]
    return sorted(found, key=lambda each: -each[2])


def _each_others(x: Array, y: Array, k: int) -> list[tuple[int, int]]:
    k = min(k, int(x.shape[0]), int(y.shape[0]))
    forth = [row[0] for row in neighbours(x, y, 1, scale=neighbourhoods(x, y, k))]
    back = [row[0] for row in neighbours(y, x, 1, scale=neighbourhoods(y, x, k))]
    return [(i, j) for i, j in enumerate(forth) if back[j] == i]


def _gold(source: Words, target: Words, dictionary: Dictionary) -> dict[str, set[int]]:
    """Words that have a vector -> the places of their translations that have one."""
    found = {}
    for word, translations in zip(dictionary.words, dictionary.translations, strict=True):
        right = {target.places[t.word] for t in translations if t.word in target.places}
        if right and word in source.places:
            found[word] = right
    return found
