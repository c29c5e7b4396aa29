"""What a measure gives where there is nothing: the same rows, paired at random."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from interlingua.errors import InputError

Array = Any
# Shuffles that give the value printed beside a number, and those that give a p-value.
FOR_A_VALUE, FOR_A_P_VALUE = 5, 199


@dataclass(frozen=True, slots=True)
class Null:
    """Values under shuffled pairs: their mean, and the share that reaches the value itself.

    p = (1 + #{null ≥ value}) / (1 + shuffles), which is never 0; None below 19 shuffles, where it could not be 0.05.
    """

    mean: float
    values: tuple[float, ...]
    p: float | None


def shuffled(
    measure: Callable[[Array, Array], Any],
    x: Array,
    y: Array,
    value: float,
    *,
    shuffles: int = FOR_A_VALUE,
    rng: np.random.Generator | int,
) -> Null:
    """The null of a measure: rows of y put in another order, again and again.

    It keeps everything about either side and breaks only what pairs them. Sentences that are alike (duplicates,
    sentences of one document) make it too low.
    """
    if shuffles < 1:
        raise InputError(f"{shuffles} shuffles give no null: it takes at least one")
    generator = np.random.default_rng(rng)
    n = int(x.shape[0])
    values = []
    for _ in range(shuffles):
        order = generator.permutation(n)
        values.append(float(measure(x, y[order]).value))
    return Null(float(np.mean(values)), tuple(values), p_value(value, values))


def p_value(value: float, null: list[float] | tuple[float, ...]) -> float | None:
    """The share of null values that reach the value, the value itself counted in."""
    if len(null) < 19 or not all(map(math.isfinite, (value, *null))):
        return None
    return (1 + sum(v >= value for v in null)) / (1 + len(null))
