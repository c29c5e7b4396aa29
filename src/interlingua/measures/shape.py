"""Indexes of shape: Procrustes, representational similarity analysis, shared neighbours."""

from __future__ import annotations

import math

import array_api_compat as compat
import numpy as np

from interlingua.errors import UndefinedError
from interlingua.measures.arrays import Array, constant_columns, namespace, paired
from interlingua.measures.moments import Moments, moments
from interlingua.measures.results import Similarity


def procrustes(x: Array, y: Array, *, dtype: str = "float64") -> Similarity:
    """How well one side can be rotated onto the other.

        ‖XᵀY‖_* / (‖X‖_F ‖Y‖_F), columns centred

    1: equal up to rotation, scale and offset. It is 1 − ½ min_R ‖X/‖X‖ − YR/‖Y‖‖², so its angle is a metric.
    It never is 0 for finite data: independent rows give something like √(p/n). Not the distance of the same name.

    Schönemann 1966; Williams et al. 2021.
    """
    return procrustes_from(moments(x, y, dtype=dtype))


def procrustes_from(m: Moments) -> Similarity:
    """`procrustes` from moments."""
    if m.n < 2:
        raise UndefinedError(f"{m.n} rows are too few: this takes at least 2")
    scale = math.sqrt(m.x.trace) * math.sqrt(m.y.trace)
    if scale == 0:
        raise UndefinedError("no neuron of one side ever changes: nothing can be compared")
    xp = namespace(m.joint.cross)
    return Similarity(value=min(float(xp.sum(xp.linalg.svdvals(m.joint.cross))) / scale, 1.0), n=m.n)


def rsa(x: Array, y: Array, *, dtype: str = "float64") -> Similarity:
    """Representational similarity analysis: do distances between sentences rank alike on either side?

    Spearman's correlation between the correlation distances of all pairs of rows. 1: the same order of distances. 0: no
    order in common; it may be negative. The mean of a row is taken off, so neurons of unlike scale weigh unlike. Time
    and memory grow with the square of the rows.

    Kriegeskorte et al. 2008.
    """
    xp, a, b = paired(x, y, least=3, dtype=dtype)
    left, right = (_distance_ranks(v) for v in (a, b))
    return Similarity(value=float(xp.sum(left * right)), n=int(a.shape[0]))


def rsa_square(x: Array) -> Array:
    """One side of `rsa` as a matrix of pairs of rows. The value is the sum of the product of two."""
    xp = namespace(x)
    n = int(x.shape[0])
    order = xp.arange(n, device=x.device)
    square = xp.zeros((n, n), dtype=x.dtype, device=x.device)
    square[order[:, None] < order[None, :]] = _distance_ranks(x) / math.sqrt(2)
    return square + square.T


def _distance_ranks(x: Array) -> Array:
    """Ranks of the distances of all pairs of rows i < j, centred and of unit norm."""
    xp = namespace(x)
    ranks = _ranks(_row_correlations(x))
    ranks = ranks - xp.mean(ranks)
    norm = float(xp.linalg.vector_norm(ranks))
    if norm == 0:
        raise UndefinedError("all pairs of rows of one side are equally far apart: they have no order")
    return ranks / norm


def _row_correlations(x: Array) -> Array:
    """1 less the correlation distance, of every pair of rows i < j."""
    xp = namespace(x)
    x = x - xp.mean(x, axis=1, keepdims=True)
    norms = xp.linalg.vector_norm(x, axis=1, keepdims=True)
    if bool(xp.any(norms == 0)):
        raise UndefinedError("a row has the same value in every neuron: it correlates with nothing")
    x = x / norms
    n = int(x.shape[0])
    order = xp.arange(n, device=x.device)
    # Rounded, so that what is equal but for rounding shares a rank.
    digits = 10.0 ** (12 if x.dtype == xp.float64 else 5)
    return -xp.round((x @ x.T)[order[:, None] < order[None, :]] * digits) / digits


def _ranks(values: Array) -> Array:
    """Ranks, ties sharing their mean."""
    xp = namespace(values)
    counts = xp.unique_counts(values).counts
    shared = xp.astype(2 * xp.cumulative_sum(counts) - counts, values.dtype) / 2
    ranks = xp.empty_like(values)
    ranks[xp.argsort(values)] = xp.repeat(shared, counts)
    return ranks


def mutual_knn(x: Array, y: Array, *, k: int = 10, normalise: bool = True, dtype: str = "float64") -> Similarity:
    """Shared neighbours: of the k rows nearest to a row on one side, how many are among the k nearest on the other?

    Nearest by inner product of rows of unit length (by raw inner product with `normalise=False`, as published). 1: the
    same neighbours. Chance is k/(n−1). Time grows with the square of the rows.

    Huh et al. 2024, appendix A.
    """
    xp, a, b = paired(x, y, dtype=dtype)
    n = int(a.shape[0])
    if not isinstance(k, int) or not 1 <= k < n:
        raise UndefinedError(f"{n} rows have no {k} nearest others: k is from 1 to {n - 1}")
    for name, v in (("x", a), ("y", b)):
        if bool(xp.all(constant_columns(v))):
            raise UndefinedError(f"all rows of {name} are alike: none is nearest")
    if normalise:
        a, b = unit_rows(a, "x"), unit_rows(b, "y")
    shared, order = 0, xp.arange(n, device=a.device)
    for start in range(0, n, 1024):
        rows = order[start : start + 1024]
        sets = []
        for v in (a, b):
            scores = v[start : start + 1024, :] @ v.T
            scores = xp.where(rows[:, None] == order[None, :], xp.full_like(scores, -math.inf), scores)
            sets.append(_nearest(scores, k))
        shared += int(xp.sum(xp.astype(sets[0][:, :, None] == sets[1][:, None, :], xp.int64)))
    return Similarity(value=shared / (n * k), n=n)


def _nearest(scores: Array, k: int) -> Array:
    """The columns of the k largest scores of every row, in no order."""
    if compat.is_numpy_array(scores):
        return np.argpartition(scores, -k, axis=1)[:, -k:]
    if compat.is_torch_array(scores):
        return scores.topk(k, dim=1, sorted=False).indices
    return namespace(scores).argsort(scores, axis=1)[:, -k:]


def unit_rows(x: Array, name: str) -> Array:
    """Rows scaled to unit length; a row of zeros has no direction and is an error."""
    xp = namespace(x)
    norms = xp.linalg.vector_norm(x, axis=1, keepdims=True)
    zeros = int(xp.sum(xp.astype(norms == 0, xp.int64)))
    if zeros:
        raise UndefinedError(f"{name} has {zeros} rows of zeros: they point nowhere")
    return x / norms
