"""The one place that judges what goes into a measure: two matrices with matched rows, of numbers.

Arrays of NumPy and PyTorch, on any device, go in; everything is computed where they are.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import array_api_compat as compat
import numpy as np

from interlingua.errors import InputError, UndefinedError

Array = Any
FLOATS = ("float64", "float32")


def namespace(*arrays: Array) -> Any:
    """The library whose arrays these are, with the functions of the array API standard."""
    try:
        return compat.array_namespace(*arrays)
    except TypeError as error:
        kinds = " and ".join(sorted({type(array).__module__.partition(".")[0] for array in arrays}))
        raise InputError(f"arrays of {kinds} cannot be mixed: give all of one kind") from error


def as_array(x: Array, name: str = "x") -> Array:
    """An array as it is; anything else as one of NumPy."""
    if compat.is_array_api_obj(x):
        return x
    try:
        return np.asarray(x)
    except (ValueError, TypeError) as error:
        raise InputError(f"{name} is no matrix of numbers: {error}") from error


def constant_columns(x: Array) -> Array:
    """Which columns hold one value in all rows."""
    xp = namespace(x)
    n = int(x.shape[0])
    # Few columns have the same value in three rows, and only these are looked at.
    maybe = (x[0, :] == x[n // 2, :]) & (x[0, :] == x[n - 1, :])
    for i in [int(i) for i in xp.nonzero(maybe)[0]]:
        maybe[i] = bool(xp.all(x[:, i] == x[0, i]))
    return maybe


def matrix(x: Array, name: str = "x", *, dtype: str = "float64") -> Array:
    """An array of two dimensions and finite numbers, cast to float64 unless asked otherwise."""
    x = as_array(x, name)
    xp = namespace(x)
    if x.ndim != 2:
        raise InputError(f"{name} has {x.ndim} dimensions: rows are examples and columns are neurons, so it takes two")
    if x.shape[1] == 0:
        raise InputError(f"{name} has no neurons")
    if dtype not in FLOATS:
        raise InputError(f"measures are computed in {' or '.join(FLOATS)}, not {dtype!r}")
    if not (xp.isdtype(x.dtype, ("real floating", "integral", "bool")) if x.dtype != object else False):
        raise InputError(f"{name} holds {x.dtype}, not real numbers")
    cast = xp.astype(x, getattr(xp, dtype))
    if not bool(xp.all(xp.isfinite(cast))):
        bad = int(xp.sum(xp.astype(~xp.isfinite(cast), xp.int64)))
        raise InputError(f"{name} has {bad} values that are not finite: look for the sentences they come from")
    return cast


def check_pair(x: Array, y: Array, *, least: int = 1, equal_width: bool = False) -> None:
    """An error unless two arrays can be compared row by row."""
    x, y = as_array(x, "x"), as_array(y, "y")
    shapes = [tuple(v.shape) for v in (x, y)]
    for name, shape in zip("xy", shapes, strict=True):
        if len(shape) != 2:
            raise InputError(
                f"{name} has {len(shape)} dimensions: rows are examples and columns are neurons, so it takes two"
            )
    (n, p), (m, q) = shapes
    if n != m:
        raise InputError(f"x has {n} rows and y has {m}: row i of one must be the same example as row i of the other")
    if n < least:
        raise UndefinedError(f"{n} rows are too few: this takes at least {least}")
    if equal_width and p != q:
        raise InputError(f"x has {p} neurons and y has {q}: this compares neuron i with neuron i")
    namespace(x, y)


def paired(
    x: Array, y: Array, *, least: int = 2, equal_width: bool = False, dtype: str = "float64"
) -> tuple[Any, Any, Any]:
    """Two matrices whose rows belong together, and their library."""
    check_pair(x, y, least=least, equal_width=equal_width)
    a, b = matrix(x, "x", dtype=dtype), matrix(y, "y", dtype=dtype)
    return namespace(a, b), a, b


def as_numpy(x: Array) -> np.ndarray[Any, Any]:
    """On the CPU, whatever library and device it came from."""
    return np.asarray(x.cpu() if hasattr(x, "cpu") else x)


def cut(n: int, blocks: int) -> list[slice]:
    """Rows in so many blocks, one after the other, of sizes as equal as they can be."""
    edges = [round(i * n / blocks) for i in range(blocks + 1)]
    return [slice(a, b) for a, b in pairwise(edges)]
