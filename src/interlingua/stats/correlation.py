"""Correlation between two lists of numbers, one a language, with p-values that need no distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from interlingua.errors import InputError

# Below this many pairs, no arrangement is rare enough.
FEWEST = 6
# Up to this many pairs every arrangement is tried.
EXACT = 8


@dataclass(frozen=True, slots=True)
class Correlation:
    """A correlation, the number of pairs, and a two-sided permutation p-value (None below six pairs)."""

    value: float
    n: int
    p: float | None


def pearson(
    x: Sequence[float], y: Sequence[float], *, rng: np.random.Generator | int, draws: int = 9999
) -> Correlation:
    """Linear correlation, with a permutation p-value."""
    return _test(_checked(x), _checked(y), rng, draws)


def spearman(
    x: Sequence[float], y: Sequence[float], *, rng: np.random.Generator | int, draws: int = 9999
) -> Correlation:
    """Rank correlation, ties sharing their mean rank, with a permutation p-value."""
    return _test(_ranks(_checked(x)), _ranks(_checked(y)), rng, draws)


def _checked(values: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    try:
        found = np.asarray(values, np.float64)
    except (ValueError, TypeError) as error:
        raise InputError("a correlation takes two lists of finite numbers") from error
    if found.ndim != 1 or not np.isfinite(found).all():
        raise InputError("a correlation takes two lists of finite numbers")
    return found


def _ranks(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    ordered = np.sort(values)
    below, up_to = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
    return np.asarray((below + up_to) / 2, np.float64)


def _test(
    x: np.ndarray[tuple[int], np.dtype[np.float64]],
    y: np.ndarray[tuple[int], np.dtype[np.float64]],
    rng: np.random.Generator | int,
    draws: int,
) -> Correlation:
    n = len(x)
    if n != len(y):
        raise InputError(f"{n} values and {len(y)}: a correlation takes pairs")
    if n < 3:
        raise InputError(f"{n} pairs have no correlation worth the name: it takes at least 3")
    if draws < 1:
        raise InputError(f"{draws} draws give no p-value: it takes at least one")
    a, b = x - x.mean(), y - y.mean()
    scale = float(np.linalg.norm(a) * np.linalg.norm(b))
    if scale == 0 or (x == x[0]).all() or (y == y[0]).all():
        raise InputError("one of the lists is constant: it correlates with nothing")
    value = float(a @ b) / scale
    if n < FEWEST:
        return Correlation(value, n, None)
    if n <= EXACT:
        orders = np.array(list(permutations(range(n))))
        null = (b[orders] @ a) / scale
        return Correlation(value, n, float(np.mean(np.abs(null) >= abs(value) - 1e-12)))
    generator = np.random.default_rng(rng)
    null = np.array([float(a @ generator.permutation(b)) for _ in range(draws)]) / scale
    return Correlation(value, n, float((1 + np.sum(np.abs(null) >= abs(value) - 1e-12)) / (1 + draws)))


def adjusted(p_values: Sequence[float], *, method: str = "holm") -> list[float]:
    """p-values of many tests: `holm` keeps the chance of any false alarm, `bh` the share of false ones among alarms.

    Holm 1979; Benjamini & Hochberg 1995 (for independent or positively dependent tests).
    """
    p = np.asarray(p_values, np.float64)
    if p.ndim != 1 or not len(p) or not ((p >= 0) & (p <= 1)).all():
        raise InputError("p-values are numbers from 0 to 1")
    n, order = len(p), np.argsort(p, kind="stable")
    if method == "holm":
        found = np.maximum.accumulate(p[order] * (n - np.arange(n)))
    elif method == "bh":
        found = np.minimum.accumulate((p[order] * n / np.arange(1, n + 1))[::-1])[::-1]
    else:
        raise InputError(f"unknown correction {method!r}: there are bh, holm")
    result = np.empty(n)
    result[order] = np.minimum(found, 1.0)
    return [float(v) for v in result]
