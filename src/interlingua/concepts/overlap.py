"""COLAP: in how many concepts languages mix (Mousi et al. 2024).

    share(c, l) = mentions of language l in concept c / mentions in c
    c overlaps if at least `languages_needed` languages have share(c, l) >= θ
    COLAP = overlapping concepts / concepts

Concepts are of all languages together, from equal numbers of sentences. By tokens (mentions) or by types; a type is a
word of a language. Where it misleads: two languages that share most of their words overlap by writing alone, and mixing
at random makes every large concept overlap, so the null is a ceiling and not a floor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from interlingua.concepts.discover import Concepts
from interlingua.concepts.shares import reaches, share
from interlingua.errors import InputError

Array = np.ndarray[Any, Any]
BY = ("tokens", "types")
ALL = "all"


@dataclass(frozen=True, eq=False)
class Overlap:
    """How many concepts overlap: the share of `all`, its 95 % interval over concepts (Wilson), and which they are.

    `shares` (concepts, languages) is how much of each concept each language makes up; `null` is the mean where
    languages are shuffled among mentions (or types), concepts keeping their sizes.
    """

    value: float
    low: float
    high: float
    all: int
    concepts: tuple[int, ...]
    shares: Array
    null: float = float("nan")


def colap(
    found: Concepts,
    *,
    threshold: float = 0.3,
    languages_needed: int | str = 2,
    by: str = "tokens",
    strict: bool = False,
    nulls: int = 0,
    seed: int = 0,
) -> Overlap:
    """COLAP of concepts that were discovered in several languages together.

    `languages_needed`: how many languages must each reach the threshold, or "all". `strict`: more than the threshold,
    as the published script has it.
    """
    langs = len(found.mentions.languages)
    if langs < 2:
        raise InputError(f"concepts of {found.mentions.languages[0]} alone: languages mix where there are two")
    needed = langs if languages_needed == ALL else languages_needed
    if not isinstance(needed, int) or not 1 <= needed <= langs:
        raise InputError(f"languages_needed is {languages_needed!r}: a number from 1 to {langs}, or all")
    if by not in BY:
        raise InputError(f"by is {by!r}: it is tokens or types")
    if not 0 <= threshold <= 1:
        raise InputError(f"threshold is {threshold}: a share from 0 to 1 is needed")
    if by == "tokens":
        concept, language = found.labels, found.mentions.language
    else:
        cells = found.counts.tocoo()
        concept, language = cells.row, found.mentions.type_language[cells.col]
    counts = _counts(concept, language, found.k, langs)
    there = counts.sum(1) > 0

    def overlapping(table: Array) -> Array:
        reached = reaches(table, table.sum(1, keepdims=True), threshold, strict=strict) & (table > 0)
        whole: Array = there & (reached.sum(1) >= needed)
        return whole

    which = np.flatnonzero(overlapping(counts))
    rng = np.random.default_rng(seed)
    drawn = [overlapping(_counts(concept, rng.permutation(language), found.k, langs)).sum() for _ in range(nulls)]
    n = int(there.sum())
    value, low, high = share(len(which), n)
    return Overlap(
        value=value,
        low=low,
        high=high,
        all=n,
        concepts=tuple(map(int, which)),
        shares=counts / np.maximum(counts.sum(1, keepdims=True), 1),
        null=float(np.mean(drawn)) / n if nulls else float("nan"),
    )


def _counts(concept: Array, language: Array, k: int, langs: int) -> Array:
    found: Array = np.bincount(concept * langs + language, minlength=k * langs).reshape(k, langs)
    return found
