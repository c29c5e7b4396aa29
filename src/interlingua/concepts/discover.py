"""Concepts: clusters of words in context that a layer treats alike (Mousi et al. 2024).

A mention is one occurrence of a word; its type is the word, in lower case unless asked otherwise. Concepts are k-means
clusters of the vectors of mentions: of one language (for CALIGN), or of several together (for COLAP).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from interlingua.concepts.kmeans import Rows, kmeans, picked
from interlingua.errors import InputError, MissingExtraError
from interlingua.languages import Language
from interlingua.types import WordRepresentations

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Array = np.ndarray[Any, Any]
K = 600
# What "representations that appear at least 10 times" may mean: at most ten mentions of a type are kept, or only types
# with ten are. As options of `extract`.
READINGS: dict[str, dict[str, int]] = {"cap": {"keep": 10}, "minimum": {"min_count": 10}}
# Mentions that a silhouette is computed on: its cost grows with their square.
SAMPLED = 4000


@dataclass(frozen=True, eq=False)
class Mentions:
    """Words in context, row by row: each word as it is written, its language, and its row among that language's."""

    words: tuple[str, ...]
    languages: tuple[Language, ...]
    language: Array
    rows: Array
    fold: bool = True

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def types(self) -> tuple[str, ...]:
        """Every type once, in the order in which they come. Words of two languages are two types."""
        return tuple(word for _, word in self._numbered)

    @cached_property
    def type_language(self) -> Array:
        """The language of every type."""
        return np.array([lang for lang, _ in self._numbered], np.int64)

    @cached_property
    def type_of(self) -> Array:
        """The type of every mention."""
        return np.array([self._numbered[key] for key in self._keys], np.int64)

    @cached_property
    def _keys(self) -> list[tuple[int, str]]:
        folded = (word.lower() for word in self.words) if self.fold else self.words
        return list(zip(self.language.tolist(), folded, strict=True))

    @cached_property
    def _numbered(self) -> dict[tuple[int, str], int]:
        return {key: i for i, key in enumerate(dict.fromkeys(self._keys))}


def mentions(reps: WordRepresentations, *langs: str | Language, fold: bool = True) -> Mentions:
    """The words of some languages of extracted vectors, one language after the other."""
    chosen = tuple(Language.parse(lang) for lang in langs) or reps.langs
    if missing := [str(lang) for lang in chosen if lang not in reps.langs]:
        raise InputError(f"there are no vectors of {missing[0]}: there are {', '.join(map(str, reps.langs))}")
    sizes = [len(reps.words(lang)) for lang in chosen]
    if empty := [str(lang) for lang, n in zip(chosen, sizes, strict=True) if not n]:
        raise InputError(f"no word of {empty[0]} is left: lower the frequency that words must have")
    return Mentions(
        tuple(word for lang in chosen for word in reps.words(lang)),
        chosen,
        np.repeat(np.arange(len(chosen)), sizes),
        np.concatenate([np.arange(n) for n in sizes]),
        fold,
    )


@dataclass(frozen=True, eq=False)
class Concepts:
    """The concept of every mention. Concepts are numbered from 0; some may have no mention."""

    mentions: Mentions
    labels: Array
    k: int
    inertia: float = float("nan")

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.mentions):
            raise InputError(f"{len(self.labels)} labels of {len(self.mentions)} mentions: one each is needed")

    @cached_property
    def counts(self) -> csr_matrix:
        """Mentions by concept and type, (k, types)."""
        from scipy.sparse import coo_matrix

        shape = (self.k, len(self.mentions.types))
        ones = np.ones(len(self.labels), np.int64)
        found = coo_matrix((ones, (self.labels, self.mentions.type_of)), shape=shape).tocsr()
        found.sum_duplicates()
        return found

    @cached_property
    def sizes(self) -> Array:
        """Types of every concept."""
        found: Array = np.diff(self.counts.indptr)
        return found

    def types(self, concept: int) -> tuple[str, ...]:
        """The types of a concept, the most frequent in it first."""
        row = self.counts[concept]
        order = np.argsort(-row.data, kind="stable")
        return tuple(self.mentions.types[i] for i in row.indices[order])


def discover(
    reps: WordRepresentations,
    layer: int,
    *langs: str | Language,
    k: int = K,
    seed: int = 0,
    restarts: int = 1,
    fold: bool = True,
    device: str = "",
    memory: float = 2.0,
) -> Concepts:
    """Concepts of a layer: of one language, or of all that are named together.

    Vectors are read from their store in blocks where they would take more than `memory` GiB.
    """
    found = mentions(reps, *langs, fold=fold)
    if k > len(found):
        raise InputError(
            f"{k} concepts of {len(found):,} mentions of words in {' and '.join(map(str, found.languages))}: give more "
            "text, or take fewer concepts (--k)"
        )
    rows = concept_rows(reps, layer, found.languages, memory=memory)
    clusters = kmeans(rows, k, seed=seed, restarts=restarts, device=device)
    return Concepts(found, clusters.labels, k, clusters.inertia)


def concept_rows(reps: WordRepresentations, layer: int, langs: Sequence[Language], *, memory: float = 2.0) -> Rows:
    """The vectors of mentions of some languages: an array, or read when asked for if they take over `memory` GiB."""
    rows = _Stacked(reps, langs, layer)
    small = rows.shape[0] * rows.shape[1] * 4 <= memory * 2**30
    return rows[:] if small else rows


class _Stacked:
    """The vectors of several languages at a layer, one under the other, read when asked for."""

    def __init__(self, reps: WordRepresentations, langs: Sequence[Language], layer: int) -> None:
        self.reps, self.langs, self.layer = reps, langs, layer
        self.ends = np.cumsum([len(reps.words(lang)) for lang in langs])
        widths = {reps.width(lang) for lang in langs}
        if len(widths) > 1:
            raise InputError(f"vectors are {' and '.join(map(str, sorted(widths)))} wide: they are of two networks")
        self.shape = (int(self.ends[-1]), widths.pop())

    def __getitem__(self, key: slice) -> Array:
        first, stop, _ = key.indices(self.shape[0])
        parts = []
        for lang, end, size in zip(self.langs, self.ends, np.diff(self.ends, prepend=0), strict=True):
            low, high = max(first, end - size), min(stop, end)
            if low < high:
                parts.append(self.reps.part(lang, self.layer, slice(int(low - end + size), int(high - end + size))))
        found: Array = np.concatenate(parts) if parts else np.zeros((0, self.shape[1]), np.float32)
        return found


def silhouette(rows: Rows, labels: Array, *, seed: int = 0, sample: int = SAMPLED) -> float:
    """Mean silhouette (Rousseeuw 1987) on a sample: near 1 where clusters are apart, 0 where they touch."""
    try:
        from sklearn.metrics import silhouette_score
    except ImportError as error:
        raise MissingExtraError("scikit-learn", "concepts", "judging clusters") from error
    if len(np.unique(labels)) < 2:
        return float("nan")
    chosen = np.sort(np.random.default_rng(seed).permutation(len(labels))[:sample])
    kinds = len(np.unique(labels[chosen]))
    if not 2 <= kinds < len(chosen):
        return float("nan")
    return float(silhouette_score(picked(rows, chosen), labels[chosen]))


def stability(one: Concepts, other: Concepts) -> float:
    """Adjusted mutual information of two clusterings of the same mentions: 1 the same, 0 what chance gives."""
    try:
        from sklearn.metrics import adjusted_mutual_info_score
    except ImportError as error:
        raise MissingExtraError("scikit-learn", "concepts", "judging clusters") from error
    if len(one.labels) != len(other.labels):
        raise InputError(f"{len(one.labels)} and {len(other.labels)} mentions: cluster the same ones twice")
    return float(adjusted_mutual_info_score(one.labels, other.labels))
