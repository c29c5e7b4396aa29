"""What explains the numbers: how vectors lie in their space, whatever they are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from interlingua.errors import InputError, UndefinedError
from interlingua.measures.arrays import Array, matrix, namespace, paired
from interlingua.measures.moments import side_moments
from interlingua.measures.shape import unit_rows


def average_cosine(x: Array, *, dtype: str = "float64") -> float:
    """Anisotropy: the mean cosine of two different rows. 0: directions of all kinds; 1: all rows point the same way.

    From the mean of unit rows, u: (n‖u‖² − 1)/(n − 1); no pair is looked at. Ethayarajh 2019.
    """
    a = matrix(x, dtype=dtype)
    n = int(a.shape[0])
    if n < 2:
        raise UndefinedError(f"{n} rows are too few: this takes at least 2")
    xp = namespace(a)
    mean = xp.mean(unit_rows(a, "x"), axis=0)
    return float((n * float(mean @ mean) - 1) / (n - 1))


@dataclass(frozen=True, slots=True)
class Outliers:
    """Neurons that stand out, the largest first; and every neuron's share of the mean squared length of a row."""

    neurons: tuple[int, ...]
    shares: Array


def outlier_neurons(x: Array, *, times: float = 10.0, dtype: str = "float64") -> Outliers:
    """Neurons whose mean square is more than `times` the average neuron's.

    A handful of such neurons carries most of the length of a vector in many models, and with it cosines and CKA.
    Kovaleva et al. 2021; Timkey & van Schijndel 2021.
    """
    a = matrix(x, dtype=dtype)
    xp = namespace(a)
    squares = xp.mean(a * a, axis=0)
    total = float(xp.sum(squares))
    if total == 0:
        raise UndefinedError("x is zero everywhere")
    shares = squares / total
    order = xp.argsort(shares, descending=True, stable=True)
    limit = times / int(a.shape[1])
    return Outliers(tuple(int(i) for i in order if float(shares[i]) > limit), shares)


def effective_rank(x: Array, *, dtype: str = "float64") -> float:
    """How many directions the variance is spread over: exp of the entropy of its shares.

    From 1 (all variance in one direction) to the number of neurons (alike in all). Roy & Vetterli 2007, with variances.
    """
    side = side_moments(x, dtype=dtype)
    xp = namespace(side.scatter)
    values = xp.linalg.eigvalsh(side.scatter)
    values = values[values > 1e-15 * values[-1]]
    if int(values.shape[0]) == 0 or not float(values[-1]) > 0:
        raise UndefinedError("no neuron ever changes: there is no variance")
    shares = values / xp.sum(values)
    return float(xp.exp(-xp.sum(shares * xp.log(shares))))


def language_share(vectors: Mapping[str, Array], *, dtype: str = "float64") -> float:
    """The share of all variance that lies between the means of languages: how much a vector says which language it is.

    0: languages have the same mean. 1: nothing but the language is told. Every language weighs by its rows.
    """
    if len(vectors) < 2:
        raise InputError("the share of languages takes at least two of them")
    widths = {int(x.shape[1]) for x in vectors.values()}
    if len(widths) > 1:
        raise UndefinedError(f"languages have {' and '.join(map(str, sorted(widths)))} neurons: they share no space")
    sides = [side_moments(x, dtype=dtype) for x in vectors.values()]
    xp = namespace(sides[0].mean)
    if all(bool(xp.all(side.constant)) and bool(xp.all(side.mean == sides[0].mean)) for side in sides):
        raise UndefinedError("all vectors are the same: there is no variance")
    n = sum(side.n for side in sides)
    mean = sum((side.n / n) * side.mean for side in sides)
    between = sum(side.n * float((side.mean - mean) @ (side.mean - mean)) for side in sides)
    total = between + sum(side.trace for side in sides)
    if total == 0:
        raise UndefinedError("all vectors are the same: there is no variance")
    return between / total


def hubness(x: Array, y: Array, *, k: int = 10, dtype: str = "float64") -> float:
    """Skewness of how often each row of y is among the k nearest (by cosine) of a row of x.

    0: all rows of y are near to equally many. Above 1: some are near to everything (hubs), which spoils retrieval.
    Radovanović et al. 2010.
    """
    xp, a, b = paired(x, y, equal_width=True, dtype=dtype)
    n = int(a.shape[0])
    if not 1 <= k < n:
        raise UndefinedError(f"{n} rows have no {k} nearest: k is from 1 to {n - 1}")
    a, b = unit_rows(a, "x"), unit_rows(b, "y")
    counts = xp.zeros(n, dtype=xp.float64, device=a.device)
    for start in range(0, n, 1024):
        nearest = xp.argsort(a[start : start + 1024, :] @ b.T, axis=1, descending=True)[:, :k]
        found, times = xp.unique_counts(xp.reshape(nearest, (-1,)))
        counts[found] = counts[found] + xp.astype(times, xp.float64)
    spread = counts - xp.mean(counts)
    deviation = float(xp.mean(spread**2)) ** 0.5
    return 0.0 if deviation == 0 else float(xp.mean(spread**3)) / deviation**3
