"""Scores of heads in, one tree out: the best that has a single root."""

from __future__ import annotations

from typing import Any

import numpy as np

from interlingua.errors import InputError, MissingExtraError

Array = np.ndarray[Any, Any]
# What an arc that must not be there scores: far below any other, and finite, for sums of it are compared.
NEVER = -1e9


def best_tree(scores: Array) -> tuple[int, ...]:
    """The head of every word (0 is the root, i the i-th word) in the best tree with one root.

    `scores[i, j]`: how well word i + 1 hangs on j, 0 being the root: (words, words + 1). Chu and Liu 1965, Edmonds
    1967. The best tree may have several roots; then each word is tried as the only one, and the best of these trees is
    taken, as a tree of Universal Dependencies has one.
    """
    words = len(scores)
    if scores.shape != (words, words + 1) or words == 0:
        raise InputError(f"scores of {scores.shape}: one row a word and one column more than rows, for the root")
    if not np.isfinite(scores).all():
        raise InputError("a score is not finite: no tree can be told from another")
    # Arcs are compared within a sentence alone, so what they have in common may go; NEVER is then out of reach.
    scaled = (scores - scores.max()) / max(1.0, float(np.ptp(scores)) / 1e4)
    table = np.full((words + 1, words + 1), np.nan)
    table[1:] = scaled
    table[1:, 1:][np.eye(words, dtype=bool)] = np.nan
    heads, total = _tree(table)
    if sum(head == 0 for head in heads) == 1:
        return heads
    found, total = heads, -np.inf
    for root in range(1, words + 1):
        only = table.copy()
        only[1:, 0] = NEVER
        only[root, 0] = table[root, 0]
        tried, score = _tree(only)
        if score > total:
            found, total = tried, score
    return found


def _tree(table: Array) -> tuple[tuple[int, ...], float]:
    try:
        from ufal.chu_liu_edmonds import chu_liu_edmonds
    except ImportError as error:
        raise MissingExtraError("ufal.chu_liu_edmonds", "transfer", "decoding trees") from error
    heads, total = chu_liu_edmonds(np.ascontiguousarray(table, np.float64))
    return tuple(heads[1:]), float(total)
