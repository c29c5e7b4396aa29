"""Centred kernel alignment: linear, debiased and with a Gaussian kernel."""

from __future__ import annotations

import math

from interlingua.errors import InputError, UndefinedError
from interlingua.measures.arrays import Array, namespace, paired
from interlingua.measures.moments import Moments, moments
from interlingua.measures.results import Similarity


def linear_cka(x: Array, y: Array, *, dtype: str = "float64") -> Similarity:
    """Linear centred kernel alignment: are the same pairs of sentences similar on either side?

        CKA(X, Y) = ‖YᵀX‖²_F / (‖XᵀX‖_F ‖YᵀY‖_F), columns centred

    1: equal up to rotation, scale and offset. 0: uncorrelated. It is biased upwards when rows are few: independent
    2,000 x 768 data give 0.28, so look at the null, or at `debiased_cka`. A few directions of large variance (outlier
    neurons) decide it nearly alone. Not the kernel version of the same name (`rbf_cka`).

    Kornblith et al. 2019, equation 1 with linear kernels.
    """
    return linear_cka_from(_two_rows(moments(x, y, dtype=dtype)))


def linear_cka_from(m: Moments) -> Similarity:
    """`linear_cka` from moments."""
    xp = namespace(m.joint.cross)
    norms = [float(xp.linalg.matrix_norm(s)) for s in (m.x.scatter, m.y.scatter)]
    if min(norms) == 0:
        raise UndefinedError("no neuron of one side ever changes: nothing can be compared")
    # Divided before squaring, so that nothing over- or underflows.
    root = float(xp.linalg.matrix_norm(m.joint.cross)) / math.sqrt(norms[0]) / math.sqrt(norms[1])
    return Similarity(value=min(root * root, 1.0), n=m.n)


def debiased_cka(x: Array, y: Array, *, dtype: str = "float64") -> Similarity:
    """Linear CKA from unbiased estimates of HSIC: its expectation is 0 for independent data at any number of rows.

        HSIC₁(X, Y) · n(n−3) = ‖XᵀY‖²_F − s + tr K tr L / ((n−1)(n−2)) − 2s/(n−2),  s = Σ ‖x‖²‖y‖²
        value = HSIC₁(X, Y) / √(HSIC₁(X, X) HSIC₁(Y, Y))

    1: equal up to rotation, scale and offset. It may be negative, and above 1 in small samples. Undefined, and an
    error, where the estimate for a side with itself is not positive. It misleads where a few directions of large
    variance (outlier neurons, the mean of a language) decide it, as they do CKA; only the bias is gone.

    Song et al. 2012, equation 5; Kornblith et al. 2019 for the ratio.
    """
    return debiased_cka_from(moments(x, y, dtype=dtype))


def debiased_cka_from(m: Moments) -> Similarity:
    """`debiased_cka` from moments."""
    if m.n < 4:
        raise UndefinedError(f"{m.n} rows are too few: this takes at least 4")
    own = [_hsic(m.n, s.scatter, s.fourth, s.trace, s.trace) for s in (m.x, m.y)]
    if min(own) <= 0:
        raise UndefinedError("debiased CKA is undefined here: a side's own estimate is not positive (too few rows?)")
    cross = _hsic(m.n, m.joint.cross, m.joint.norms, m.x.trace, m.y.trace)
    return Similarity(value=cross / math.sqrt(own[0]) / math.sqrt(own[1]), n=m.n)


def _hsic(n: int, product: Array, norms: float, trace_x: float, trace_y: float) -> float:
    """n(n−3) times the unbiased estimate, over the product of traces: numbers near 1 whatever the scale of the data."""
    xp = namespace(product)
    scale = math.sqrt(trace_x) * math.sqrt(trace_y)
    if scale == 0:
        raise UndefinedError("no neuron of one side ever changes: nothing can be compared")
    root = float(xp.linalg.matrix_norm(product)) / scale
    s = norms / scale / scale
    return root * root - s + 1 / ((n - 1) * (n - 2)) - 2 * s / (n - 2)


def rbf_cka(x: Array, y: Array, *, bandwidth: float = 1.0, dtype: str = "float64") -> Similarity:
    """CKA with Gaussian kernels exp(−‖a−b‖²/2σ²), σ = `bandwidth` times the median distance between two rows.

    It sees local similarity where linear CKA sees large directions. Biased, like `linear_cka`. Time and memory grow
    with the square of the rows: 10,000 rows take several gigabytes.

    Kornblith et al. 2019, section 3; Muller et al. 2021 use it with the median rule.
    """
    xp, a, b = paired(x, y, dtype=dtype)
    if not bandwidth > 0:
        raise InputError(f"a bandwidth is above 0, not {bandwidth}")
    left, right = (rbf_square(v, bandwidth) for v in (a, b))
    return Similarity(value=min(float(xp.sum(left * right)), 1.0), n=int(a.shape[0]))


def rbf_square(x: Array, bandwidth: float = 1.0) -> Array:
    """One side of `rbf_cka`: its kernel, centred and of unit norm. The value is the sum of the product of two."""
    kernel = _centred(_gaussian(x, bandwidth))
    norm = float(namespace(x).linalg.matrix_norm(kernel))
    if norm == 0:
        raise UndefinedError("the rows of one side are all alike: nothing can be compared")
    return kernel / norm


def _gaussian(x: Array, bandwidth: float) -> Array:
    xp = namespace(x)
    x = x - xp.mean(x, axis=0)
    squares = xp.sum(x * x, axis=1)
    distances = xp.clip(squares[:, None] + squares[None, :] - 2 * (x @ x.T), 0.0, None)
    n = int(x.shape[0])
    distances = xp.where(xp.eye(n, dtype=xp.bool, device=x.device), xp.zeros_like(distances), distances)
    # every pair is there twice, and before them the zeros of the diagonal
    middle = n + n * (n - 1) // 2
    flat = xp.reshape(distances, (-1,))
    # a full sort takes several times as long, where there is another way
    ordered = xp.partition(flat, (middle - 1, middle)) if hasattr(xp, "partition") else xp.sort(flat)
    sigma = bandwidth * (math.sqrt(float(ordered[middle - 1])) + math.sqrt(float(ordered[middle]))) / 2
    if sigma == 0:
        raise UndefinedError("more than half of the pairs of rows are alike: their median distance is no bandwidth")
    shape = -0.5 / sigma / sigma if sigma * sigma > 0 else -math.inf
    if not math.isfinite(shape):
        raise UndefinedError("the bandwidth is too small for these distances")
    return xp.exp(distances * shape)


def _centred(k: Array) -> Array:
    xp = namespace(k)
    rows = xp.mean(k, axis=0)
    return k - rows[None, :] - rows[:, None] + xp.mean(k)


def _two_rows(m: Moments) -> Moments:
    if m.n < 2:
        raise UndefinedError(f"{m.n} rows are too few: this takes at least 2")
    return m
