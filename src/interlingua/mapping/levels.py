"""How well an alignment finds translations, at three levels: words, words in context, sentences.

Each gives a score for every layer and way of aligning. Everything is judged on pairs that no map was fitted on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from interlingua.errors import InputError
from interlingua.languages import Language
from interlingua.mapping.alignment import WAYS, Alignment, Spaces
from interlingua.mapping.induce import (
    RANKS,
    Words,
    check_apart,
    induce,
    nearest_right,
    neighbourhoods,
    neighbours,
    pairs_of,
    precision,
    refine,
)
from interlingua.stats.intervals import share_interval, without_blocks
from interlingua.types import Dictionary, Representations, WordRepresentations

Array = np.ndarray[Any, Any]
# Ways at word level: the rotation can be refined there, on words that nobody has translated.
REFINED = "refined"
# Neighbours that CSLS looks at; fewer words than this are no test.
K, LEAST = 10, 10


@dataclass(frozen=True)
class Score:
    """How many queries find their translation among the nearest, at one layer, after one way of aligning.

    `pairs` is what the map was fitted on, `n` the number of queries, `candidates` what they were to be found among;
    `chance` is what a guess gives at rank 1. `coverage`: of the dictionary's words, those that could be asked about.
    """

    level: str
    space: str
    layer: int
    way: str
    by: str
    direction: str
    pairs: int
    precision: dict[int, float]
    n: int
    candidates: int
    chance: float
    coverage: float = 1.0
    # of each query, whether its nearest is right
    hits: tuple[bool, ...] = field(default=(), repr=False, compare=False)
    # word level: each query, its nearest words and the right ones; context level: the share whose nearest is an
    # occurrence of the right word
    found: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False, compare=False)
    gold: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False, compare=False)
    same_type: float = float("nan")

    def row(self) -> dict[str, Any]:
        """As a row of a table; `without` is precision at 1 without each twentieth of the queries, for differences."""
        facts = {k: getattr(self, k) for k in ("level", "space", "layer", "way", "by", "direction", "pairs")}
        ranks: dict[str, Any] = {f"p{rank}": self.precision[rank] for rank in RANKS}
        found = share_interval(self.hits)
        ranks |= {"low": found.low, "high": found.high}
        more = {k: getattr(self, k) for k in ("same_type", "n", "candidates", "chance", "coverage")}
        return {**facts, **ranks, **more, "without": without_blocks(self.hits)}


def folded(dictionary: Dictionary) -> Dictionary:
    """A dictionary in lower case, as `vocabulary` has its words."""
    pairs = ((word.lower(), translation.lower(), p) for word, translation, p in dictionary.pairs())
    return Dictionary.from_pairs(dictionary.source, dictionary.target, pairs, name=dictionary.name)


def vocabulary(reps: WordRepresentations, tag: str | Language, layer: int, *, fold: bool = True) -> Words:
    """The words of one language at one layer, the most frequent first.

    With `fold`, words that differ in case alone are one, the mean over all their contexts: dictionaries are lower-case.
    """
    words, counts = reps.words(tag), np.asarray(reps.counts(tag), np.float64)
    vectors = reps[tag, layer].astype(np.float64)
    names = [word.lower() for word in words] if fold else list(words)
    known = {name: i for i, name in enumerate(dict.fromkeys(names))}
    place = np.array([known[name] for name in names])
    totals = np.bincount(place, counts)
    sums = np.zeros((len(known), vectors.shape[1]))
    np.add.at(sums, place, vectors * counts[:, None])
    order = np.argsort(-totals, kind="stable")
    listed = list(known)
    return Words(tuple(listed[i] for i in order), (sums / totals[:, None])[order])


def word_scores(
    source: Words,
    target: Words,
    training: Dictionary,
    test: Dictionary,
    *,
    layer: int,
    space: str = "model",
    ways: Sequence[str] = ("identity", "shift", "rotation", REFINED),
    by: Sequence[str] = ("csls",),
    sizes: Sequence[int] = (),
    reduce: bool = False,
    sides: tuple[dict[str, Any], dict[str, Any]] = ({}, {}),
) -> Iterator[tuple[Alignment, Score]]:
    """Words translated by their nearest neighbours, from source to target, over all words of both.

    Rotations are also fitted on the first `sizes` words of the training dictionary: the learning curve. Sizes with
    fewer than two pairs that have vectors are left out.
    """
    check_apart(training, test)
    direction = f"{training.source}>{training.target}"
    jobs = [(way, training) for way in ways]
    if "rotation" in ways:
        jobs += [("rotation", training[:size]) for size in sizes if size < len(training.words)]
    spaces = Spaces(source.vectors, target.vectors, reduce=reduce, source=sides[0], target=sides[1])
    for way, entries in jobs:
        if entries is not training and _pairs(source, target, entries) < 2:
            continue
        pairs = pairs_of(source, target, entries)
        aligned = spaces.align("rotation" if way == REFINED else way, pairs)
        if way == REFINED:
            aligned = refine(aligned, source.vectors, target.vectors)
        both = (
            Words(source.words, aligned.of_source(source.vectors).astype(np.float32)),
            Words(target.words, aligned.of_target(target.vectors).astype(np.float32)),
        )
        for how in by:
            got = induce(*both, test, by=how, k=min(K, len(source.words)))
            if got.n < LEAST:
                raise InputError(
                    f"only {got.n} of the {len(test.words)} words of the test dictionary have a vector and a "
                    "translation with one: give more text, or lower min_count (--min-count)"
                )
            fitted = 0 if aligned.map is None else len(pairs[0])
            yield (
                aligned,
                Score("word", space, layer, way, how, direction, fitted, got.precision, got.n, len(target.words),
                      got.chance, got.coverage, got.hits, got.found, got.gold),
            )  # fmt: skip


def _pairs(source: Words, target: Words, entries: Dictionary) -> int:
    return sum(word in source.places and t in target.places for word, t, _ in entries.pairs())


@dataclass(frozen=True)
class Occurrences:
    """Words of parallel sentences that translate each other: rows of either side, and the sentence each is in."""

    source: Array
    target: Array
    sentence: Array

    def __len__(self) -> int:
        return len(self.source)


def occurrences(
    reps: WordRepresentations, langs: tuple[Language, Language], links: Sequence[Sequence[tuple[int, int]]]
) -> Occurrences:
    """The rows of every linked pair of words; words without a vector (dropped, cut off) are left out."""
    rows = [{(int(s), int(w)): i for i, (s, w) in enumerate(reps.places(lang))} for lang in langs]
    found = [
        (rows[0][k, i], rows[1][k, j], k)
        for k, pairs in enumerate(links)
        for i, j in pairs
        if (k, i) in rows[0] and (k, j) in rows[1]
    ]
    if not found:
        raise InputError("no word is linked to one that has a vector: are these translations, and tokenised alike?")
    return Occurrences(*np.array(found).T)


def context_scores(
    reps: WordRepresentations,
    langs: tuple[Language, Language],
    linked: Occurrences,
    *,
    layer: int,
    space: str = "model",
    ways: Sequence[str] = ("identity", "shift", "rotation"),
    by: Sequence[str] = ("csls",),
    held: float = 0.2,
    most: int = 5000,
    seed: int = 0,
    reduce: bool = False,
    sides: tuple[dict[str, Any], dict[str, Any]] = ({}, {}),
) -> Iterator[tuple[Alignment, Score]]:
    """Words of the target in their contexts, each to find the word that translates it there.

    Fitted on some sentences, judged on the others (`held`), among at most `most` occurrences.
    """
    test = _held(linked.sentence, held, seed)
    asked = np.flatnonzero(test)
    if len(asked) > most:
        asked = np.sort(np.random.default_rng(seed).choice(asked, most, replace=False))
    fit = np.flatnonzero(~test)
    if len(asked) < 2 or len(fit) < 2:
        raise InputError(f"{len(linked)} pairs of words are too few to fit a map and to judge it: give more sentences")
    x, y = reps[langs[0], layer], reps[langs[1], layer]
    words = [reps.words(langs[0])[i] for i in linked.source[asked]]
    left, right = x[linked.source[fit]], y[linked.target[fit]]
    wanted = [{i} for i in range(len(asked))]
    spaces = Spaces(left, right, reduce=reduce, source=sides[0], target=sides[1])
    for way in ways:
        aligned = spaces.align(way, (range(len(fit)), range(len(fit))))
        candidates, queries = aligned.of_source(x[linked.source[asked]]), aligned.of_target(y[linked.target[asked]])
        for how in by:
            nearest = _nearest(queries, candidates, how)
            kinds = float(np.mean([words[row[0]] == words[i] for i, row in enumerate(nearest)]))
            yield (
                aligned,
                Score("context", space, layer, way, how, f"{langs[1]}>{langs[0]}",
                      0 if aligned.map is None else len(fit), precision(nearest, wanted), len(asked), len(asked),
                      1 / len(asked), hits=nearest_right(nearest, wanted), same_type=kinds),
            )  # fmt: skip


def sentence_scores(
    fit: Representations,
    test: Representations,
    langs: tuple[Language, Language],
    *,
    layer: int,
    sizes: Sequence[int],
    space: str = "model",
    ways: Sequence[str] = ("identity", "shift", "rotation"),
    by: Sequence[str] = ("csls",),
    seed: int = 0,
    reduce: bool = False,
    sides: tuple[dict[str, Any], dict[str, Any]] = ({}, {}),
) -> Iterator[tuple[Alignment, Score]]:
    """Sentences that find their translation in another corpus, both ways, after maps fitted on so many pairs."""
    order = np.random.default_rng(seed).permutation(len(fit))
    x, y = fit[langs[0], layer], fit[langs[1], layer]
    asked = test[langs[0], layer], test[langs[1], layer]
    right = [{i} for i in range(len(test))]
    if len(right) < 2:
        raise InputError("one sentence finds itself: give more to judge by")
    turning = [way for way in ways if WAYS[way].fit is not None]
    jobs = [(len(fit), [way for way in ways if way not in turning]), *((size, turning) for size in sizes)]
    for size, some in jobs:
        chosen = order[:size]
        spaces = Spaces(x[chosen], y[chosen], reduce=reduce, source=sides[0], target=sides[1])
        for way, how in product(some, by):
            aligned = spaces.align(way, (range(size), range(size)))
            both = aligned.of_source(asked[0]), aligned.of_target(asked[1])
            for one, other in ((0, 1), (1, 0)):
                nearest = _nearest(both[one], both[other], how)
                yield (
                    aligned,
                    Score("sentence", space, layer, way, how, f"{langs[one]}>{langs[other]}",
                          size if way in turning else 0, precision(nearest, right), len(right), len(right),
                          1 / len(right), hits=nearest_right(nearest, right)),
                )  # fmt: skip


def _nearest(queries: Array, candidates: Array, by: str) -> list[list[int]]:
    scale = neighbourhoods(queries, candidates, min(K, len(queries))) if by == "csls" else None
    return neighbours(queries, candidates, max(RANKS), by=by, scale=scale)


def _held(sentence: Array, share: float, seed: int) -> Array:
    """Which occurrences are in sentences that are held out to judge by."""
    if not 0 < share < 1:
        raise InputError(f"{share} of the sentences to judge by: a share between 0 and 1 is needed")
    numbers = np.unique(sentence)
    out = np.random.default_rng(seed).permutation(numbers)[: max(1, round(share * len(numbers)))]
    found: Array = np.isin(sentence, out)
    return found
