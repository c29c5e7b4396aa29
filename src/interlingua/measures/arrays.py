"""The one place that judges what goes into a measure: two matrices with matched rows, of numbers.

Arrays of NumPy and PyTorch, on any device, go in; everything is computed where they are.
"""

from __future__ import annotations

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


def matrix(x: Array, name: str = "x", *, dtype: str = "float64") -> Array:
    """An array of two dimensions and finite numbers, cast to float64 unless asked otherwise."""
    if not compat.is_array_api_obj(x):
        x = np.asarray(x)
    xp = namespace(x)
    if x.ndim != 2:
        raise InputError(f"{name} has {x.ndim} dimensions: rows are examples and columns are neurons, so it takes two")
    if x.shape[1] == 0:
        raise InputError(f"{name} has no neurons")
    if dtype not in FLOATS:
        raise InputError(f"measures are computed in {' or '.join(FLOATS)}, not {dtype!r}")
    if compat.is_numpy_array(x) and x.dtype.kind not in "fiub":
        raise InputError(f"{name} holds {x.dtype}, not real numbers")
    cast = xp.astype(x, getattr(xp, dtype))
    if not bool(xp.all(xp.isfinite(cast))):
        bad = int(xp.sum(xp.astype(~xp.isfinite(cast), xp.int64)))
        raise InputError(f"{name} has {bad} values that are not finite: look for the sentences they come from")
    return cast


def check_pair(x: Array, y: Array, *, least: int = 1, equal_width: bool = False) -> None:
    """An error unless two arrays can be compared row by row."""
    shapes = [tuple(getattr(v, "shape", np.shape(v))) for v in (x, y)]
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
    if all(compat.is_array_api_obj(v) for v in (x, y)):
        namespace(x, y)


def paired(
    x: Array, y: Array, *, least: int = 2, equal_width: bool = False, dtype: str = "float64"
) -> tuple[Any, Any, Any]:
    """Two matrices whose rows belong together, and their library."""
    check_pair(x, y, least=least, equal_width=equal_width)
    a, b = matrix(x, "x", dtype=dtype), matrix(y, "y", dtype=dtype)
    return namespace(a, b), a, b
