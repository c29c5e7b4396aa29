"""The one place that judges what goes into a measure: two matrices with matched rows, of numbers.

Arrays of NumPy and PyTorch, on any device, go in; everything is computed where they are.
"""

from __future__ import annotations

from typing import Any

import array_api_compat as compat
import numpy as np

from interlingua.errors import InputError

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


def paired(
    x: Array, y: Array, *, least: int = 2, equal_width: bool = False, dtype: str = "float64"
) -> tuple[Any, Any, Any]:
    """Two matrices whose rows belong together, and their library."""
    a, b = matrix(x, "x", dtype=dtype), matrix(y, "y", dtype=dtype)
    xp = namespace(a, b)
    if a.shape[0] != b.shape[0]:
        raise InputError(
            f"x has {a.shape[0]} rows and y has {b.shape[0]}: row i of one must be the same example as row i of the "
            "other"
        )
    if a.shape[0] < least:
        raise InputError(f"{a.shape[0]} rows are too few: this takes at least {least}")
    if equal_width and a.shape[1] != b.shape[1]:
        raise InputError(f"x has {a.shape[1]} neurons and y has {b.shape[1]}: this compares neuron i with neuron i")
    return xp, a, b
