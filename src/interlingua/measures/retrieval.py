"""Matching: is the nearest sentence of the other language the translation?

Scores are computed in blocks of rows; nothing of the size n x n is kept, unless it fits into `KEEP` bytes and saves a
second product. Ties, within the rounding of the scores, count against the model: what is constant matches nothing.
In float32, on request, cosines that differ by less than a millionth are such ties.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import array_api_compat as compat
import numpy as np

from interlingua.errors import UndefinedError
from interlingua.measures.arrays import Array, namespace, paired
from interlingua.measures.results import Retrieval
from interlingua.measures.shape import unit_rows

BLOCK, PIECE, COLUMNS = 1024, 32, 2048
# Scores of all pairs are kept between two passes where they fit.
KEEP = 2**30
# (cosines, r of the rows, r of the columns) -> scores
Score = Callable[[Array, Array, Array], Array]
# Two scores that differ by less than this many roundings are a tie.
ROUNDINGS = 8


def matching(x: Array, y: Array, *, dtype: str = "float64") -> Retrieval:
    """The share of rows whose nearest row of the other side, by cosine, is the one they belong with.

        forward = 1/n Σᵢ [cos(xᵢ, yᵢ) > cos(xᵢ, yⱼ) for all j ≠ i];  value = mean of both directions

    1: every sentence finds its translation. Chance is 1/n, and every row more is one more to confuse: compare only at
    equal n.
    Cosine is not centred: a mean that all sentences of a language share (anisotropy) can hide agreement; remove the
    language mean first to see past it. The paper reports `.forward`.

    Del & Fishel 2022, section 3; Artetxe & Schwenk 2019 (Tatoeba).
    """
    a, b = _units(x, y, dtype)
    return _judge(a, b, _blocks(a, b))


def csls(x: Array, y: Array, *, k: int = 10, dtype: str = "float64") -> Retrieval:
    """Matching by cross-domain similarity local scaling, which is fair to rows that are near to everything (hubs).

        CSLS(a, b) = 2 cos(a, b) − r(a) − r(b),  r(a) = mean cosine of a with its k nearest rows of the other side

    Conneau et al. 2018 (MUSE), equation 4; the neighbourhoods are those of all rows.
    """
    a, b = _units(x, y, dtype, k)
    return _scaled(a, b, k, lambda scores, ra, rb: 2 * scores - ra - rb)


def margin(x: Array, y: Array, *, k: int = 4, dtype: str = "float64") -> Retrieval:
    """Matching by the ratio margin: the cosine over the mean cosine of both rows with their neighbours.

        cos(a, b) / (½ r(a) + ½ r(b)),  r over the k nearest rows of the other side

    Artetxe & Schwenk 2019, equation 3 ("ratio"). It is undefined where neighbourhoods average to zero or less, and that
    is an error: use `csls` for representations that are centred.
    """
    a, b = _units(x, y, dtype, k)

    def ratio(scores: Array, ra: Array, rb: Array) -> Array:
        below = (ra + rb) / 2
        if not bool(namespace(below).all(below > 0)):
            raise UndefinedError(
                "the ratio margin is undefined: a neighbourhood's mean cosine is not positive; use csls"
            )
        return scores / below

    return _scaled(a, b, k, ratio)


@dataclass(frozen=True, slots=True)
class Mismatches:
    """Rows of x that are farthest from their own row of y, the farthest first: it, the nearest other, both cosines."""

    rows: Array
    nearest: Array
    own: Array
    other: Array


def mismatches(x: Array, y: Array, *, most: int = 20, dtype: str = "float64") -> Mismatches:
    """The rows whose nearest other row of y is nearer than their own by most; where all match, those nearest to not."""
    a, b = _units(x, y, dtype)
    xp = namespace(a, b)
    own, others, nearest = xp.sum(a * b, axis=1), [], []
    for start, cosines in _blocks(a, b):
        here = xp.arange(int(cosines.shape[0]), device=a.device)
        cosines[here, start + here] = -xp.inf
        nearest.append(xp.argmax(cosines, axis=1))
        others.append(xp.max(cosines, axis=1))
    other, near = xp.concat(others), xp.concat(nearest)
    order = xp.argsort(own - other, stable=True)[:most]
    return Mismatches(order, xp.take(near, order), xp.take(own, order), xp.take(other, order))


def _units(x: Array, y: Array, dtype: str, k: int = 1) -> tuple[Array, Array]:
    """Rows of unit length."""
    _, a, b = paired(x, y, equal_width=True, dtype=dtype)
    n = int(a.shape[0])
    if not isinstance(k, int) or not 1 <= k < n:
        raise UndefinedError(f"{n} rows have no {k} nearest: k is from 1 to {n - 1}")
    return unit_rows(a, "x"), unit_rows(b, "y")


def _blocks(a: Array, b: Array) -> Iterator[tuple[int, Array]]:
    """Cosines of a block of rows of `a` with all rows of `b`."""
    for start in range(0, int(a.shape[0]), BLOCK):
        yield start, a[start : start + BLOCK, :] @ b.T


def _pieces(blocks: Iterable[tuple[int, Array]]) -> Iterator[tuple[int, Array]]:
    """Blocks of NumPy cut smaller, so that what is done to them one by one stays in the cache."""
    for start, cosines in blocks:
        step = PIECE if compat.is_numpy_array(cosines) else len(cosines)
        for i in range(0, len(cosines), step):
            yield start + i, cosines[i : i + step, :]


def _scaled(a: Array, b: Array, k: int, score: Score) -> Retrieval:
    """Two passes: neighbourhoods of both sides, then scores scaled by them."""
    xp = namespace(a, b)
    n = int(a.shape[0])
    keeps = n * n * int(xp.finfo(a.dtype).bits) // 8 <= KEEP
    kept: list[tuple[int, Array]] = []
    of_a: list[Array] = []
    of_b: Array = None
    for start, cosines in _blocks(a, b):
        of_a.append(xp.mean(largest(cosines, k), axis=1))
        of_b = largest(cosines.T if of_b is None else xp.concat([of_b, _contenders(cosines, of_b, k)], axis=1), k)
        if keeps:
            kept.append((start, cosines))
    near = xp.concat(of_a), xp.mean(of_b, axis=1)
    return _judge(a, b, kept if keeps else _blocks(a, b), score, near)


def nearness(a: Array, b: Array, k: int) -> Array:
    """The mean cosine of each row of `b` with its k nearest rows of `a`, both of unit length.

    Blocks of `a` grow with what was seen: in each, about k rows are then nearer than those before.
    """
    xp = namespace(a, b)
    found = []
    for first in range(0, int(b.shape[0]), COLUMNS):
        part = b[first : first + COLUMNS, :]
        best: Array = None
        start = 0
        while start < int(a.shape[0]):
            step = min(max(PIECE * 8, start), COLUMNS)
            cosines = a[start : start + step, :] @ part.T
            best = largest(cosines.T if best is None else xp.concat([best, _contenders(cosines, best, k)], axis=1), k)
            start += step
        found.append(xp.mean(best, axis=1))
    return xp.concat(found)


def largest(scores: Array, k: int) -> Array:
    """The k largest of every row, in no order; all of them where there are fewer."""
    if scores.shape[1] <= k:
        return scores
    if compat.is_numpy_array(scores):
        return np.partition(np.ascontiguousarray(scores), -k, axis=1)[:, -k:]
    if compat.is_torch_array(scores):
        return scores.topk(k, dim=1, sorted=False).values
    return namespace(scores).sort(scores, axis=1)[:, -k:]


def _contenders(scores: Array, best: Array, k: int) -> Array:
    """Scores (columns, ...) that may be among the k largest of their column, given the largest of the rows before.

    After the first block few are, so NumPy looks only at these, side by side and padded.
    """
    if not compat.is_numpy_array(scores) or best.shape[1] < k:
        return scores.T
    found = np.flatnonzero(scores > best.min(axis=1))
    column = found % scores.shape[1]
    order = np.argsort(column, kind="stable")
    found, column = found[order], column[order]
    slot = np.arange(len(column)) - np.searchsorted(column, column)
    result = np.full((scores.shape[1], int(slot.max(initial=-1)) + 1), -np.inf, scores.dtype)
    result[column, slot] = scores.reshape(-1)[found]
    return result


def _judge(
    a: Array,
    b: Array,
    blocks: Iterable[tuple[int, Array]],
    score: Score | None = None,
    near: tuple[Array, Array] | None = None,
) -> Retrieval:
    """Ranks of the right rows in both directions, from blocks of cosines."""
    xp = namespace(a, b)
    n = int(a.shape[0])
    right = xp.sum(a * b, axis=1)
    if score is not None and near is not None:
        right = score(right, *near)
    least = right - ROUNDINGS * float(xp.finfo(a.dtype).eps) * xp.clip(xp.abs(right), 1.0, None)
    forward: list[Array] = []
    backward = xp.zeros(n, dtype=xp.int64, device=a.device)
    for start, cosines in _pieces(blocks):
        stop = start + int(cosines.shape[0])
        scores = (
            cosines if score is None or near is None else score(cosines, near[0][start:stop, None], near[1][None, :])
        )
        beaten = xp.count_nonzero(scores >= least[start:stop, None], axis=1)
        # The right row itself is counted by its own rounding: take it out and count it as one.
        own = xp.linalg.diagonal(scores[:, start:stop]) >= least[start:stop]
        forward.append(beaten - xp.astype(own, xp.int64) + 1)
        backward = backward + xp.count_nonzero(scores >= least[None, :], axis=0)
        backward[start:stop] += 1 - xp.astype(own, xp.int64)
    ranks = [xp.astype(r, xp.float64) for r in (xp.concat(forward), backward)]
    hits = xp.stack([r == 1 for r in ranks])
    shares = [float(xp.mean(xp.astype(r == 1, xp.float64))) for r in ranks]
    return Retrieval(
        value=sum(shares) / 2,
        n=n,
        forward=shares[0],
        backward=shares[1],
        mrr=sum(float(xp.mean(1 / r)) for r in ranks) / 2,
        recall5=sum(float(xp.mean(xp.astype(r <= 5, xp.float64))) for r in ranks) / 2,
        hits=hits,
    )
