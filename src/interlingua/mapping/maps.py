"""Maps from one space to another, fitted on pairs of rows: x ↦ x W + b.

A rotation keeps all angles, so it can only say what both spaces have in common already; least squares also bends, and
needs many more pairs than neurons. Fitted maps are frozen and callable, and know which vectors they were made for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from interlingua.errors import DataNotFoundError, FormatError, InputError
from interlingua.measures.arrays import Array, check_pair, matrix, namespace, paired

# What a map remembers of the vectors it was fitted on, and refuses others by.
FACTS = ("model", "weights", "layer", "pooling", "language")


@dataclass(frozen=True, eq=False)
class LinearMap:
    """x ↦ x W + b. `source` and `target` say which vectors it goes from and to, as far as that is known."""

    weight: Array
    kind: str
    n: int
    shift: Array | None = None
    source: Mapping[str, Any] = field(default_factory=dict)
    target: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, x: Array, **facts: Any) -> Array:
        """Rows of the source space in the target space; vectors of another width, layer or model are refused."""
        rows = matrix(x)
        if int(rows.shape[1]) != int(self.weight.shape[0]):
            raise InputError(f"rows have {rows.shape[1]} neurons, and the map takes {self.weight.shape[0]}")
        for name, value in facts.items():
            if name not in FACTS:
                raise InputError(f"a map knows of {', '.join(FACTS)}, and nothing of {name!r}")
            if name in self.source and self.source[name] != value:
                raise InputError(f"the map is for {name} {self.source[name]!r}, and these vectors are of {value!r}")
        mapped = rows @ self.weight
        return mapped if self.shift is None else mapped + self.shift


def fit_procrustes(x: Array, y: Array, *, dtype: str = "float64", **facts: Mapping[str, Any]) -> LinearMap:
    """The orthogonal map that brings rows of x nearest to those of y.

        UΣVᵀ = SVD(XᵀY),  W = UVᵀ minimises ‖XW − Y‖_F over WWᵀ = I

    Nothing is centred: normalise both sides first. Schönemann 1966. Where XᵀY has a rank below the width, directions
    outside it are rotated arbitrarily.
    """
    _, a, b = paired(x, y, equal_width=True, dtype=dtype)
    return procrustes_of(a.T @ b, int(a.shape[0]), **facts)


def procrustes_of(cross: Array, n: int, **facts: Mapping[str, Any]) -> LinearMap:
    """`fit_procrustes` from XᵀY alone, which adds up over blocks of rows."""
    xp = namespace(cross)
    if int(cross.shape[0]) != int(cross.shape[1]):
        raise InputError(f"a rotation needs equal widths, and these are {cross.shape[0]} and {cross.shape[1]}")
    u, _, vt = xp.linalg.svd(cross, full_matrices=False)
    return LinearMap(u @ vt, "rotation", n, **_sides(facts))


def cross_product(blocks: Iterable[tuple[Array, Array]], *, dtype: str = "float64") -> tuple[Array, int]:
    """XᵀY and n of rows that come in blocks."""
    total, n = None, 0
    for x, y in blocks:
        check_pair(x, y, equal_width=True)
        a, b = matrix(x, dtype=dtype), matrix(y, "y", dtype=dtype)
        total = a.T @ b if total is None else total + a.T @ b
        n += int(a.shape[0])
    if total is None:
        raise InputError("there are no rows to fit a map on")
    return total, n


def fit_ridge(x: Array, y: Array, alpha: float, *, dtype: str = "float64", **facts: Mapping[str, Any]) -> LinearMap:
    """W = (XᵀX + αI)⁻¹ XᵀY on centred rows, and the shift that puts the mean of x on that of y."""
    if not alpha > 0:
        raise InputError(f"alpha is {alpha}: ridge needs one above 0; fit_least_squares has none")
    xp, a, b = paired(x, y, dtype=dtype)
    mean_x, mean_y = xp.mean(a, axis=0), xp.mean(b, axis=0)
    a, b = a - mean_x, b - mean_y
    identity = xp.eye(int(a.shape[1]), dtype=a.dtype, device=a.device)
    weight = xp.linalg.solve(a.T @ a + alpha * identity, a.T @ b)
    return LinearMap(weight, f"ridge {alpha:g}", int(a.shape[0]), mean_y - mean_x @ weight, **_sides(facts))


def fit_least_squares(x: Array, y: Array, *, dtype: str = "float64", **facts: Mapping[str, Any]) -> LinearMap:
    """The map that minimises ‖XW + b − Y‖_F over all W and b; the smallest such W where rows are fewer than neurons."""
    xp, a, b = paired(x, y, dtype=dtype)
    mean_x, mean_y = xp.mean(a, axis=0), xp.mean(b, axis=0)
    weight = xp.linalg.pinv(a - mean_x) @ (b - mean_y)
    return LinearMap(weight, "least squares", int(a.shape[0]), mean_y - mean_x @ weight, **_sides(facts))


def fit_mean_shift(x: Array, y: Array, *, dtype: str = "float64", **facts: Mapping[str, Any]) -> LinearMap:
    """The mean of x put on that of y and nothing turned: what a rotation has to beat inside one model."""
    xp, a, b = paired(x, y, equal_width=True, dtype=dtype)
    identity = xp.eye(int(a.shape[1]), dtype=a.dtype, device=a.device)
    shift = xp.mean(b, axis=0) - xp.mean(a, axis=0)
    return LinearMap(identity, "mean shift", int(a.shape[0]), shift, **_sides(facts))


def _sides(facts: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    if unknown := [name for name in facts if name not in ("source", "target")]:
        raise InputError(f"a map is told of its source and target, not of {unknown[0]!r}")
    for side in facts.values():
        if other := [name for name in side if name not in FACTS]:
            raise InputError(f"a map remembers {', '.join(FACTS)}, not {other[0]!r}")
    return dict(facts)


def save_map(fitted: LinearMap, path: str | Path) -> Path:
    """As one `.npz` file, without pickles."""
    place = Path(path)
    place = place if place.suffix == ".npz" else place.with_name(place.name + ".npz")
    facts = {"kind": fitted.kind, "n": fitted.n, "source": dict(fitted.source), "target": dict(fitted.target)}
    arrays: dict[str, Any] = {"weight": _numpy(fitted.weight)} | (
        {} if fitted.shift is None else {"shift": _numpy(fitted.shift)}
    )
    partial = place.with_name(place.name + ".partial")
    with partial.open("wb") as file:
        np.savez(file, facts=np.array(json.dumps(facts)), **arrays)
    partial.replace(place)
    return place


def open_map(path: str | Path) -> LinearMap:
    """A map as `save_map` wrote it."""
    place = Path(path)
    if not place.is_file():
        raise DataNotFoundError(f"{place} is not there: a map is one .npz file")
    try:
        with np.load(place, allow_pickle=False) as held:
            facts = json.loads(str(held["facts"]))
            shift = held.get("shift")
            return LinearMap(held["weight"], facts["kind"], facts["n"], shift, facts["source"], facts["target"])
    except (ValueError, KeyError, OSError) as error:
        raise FormatError(place, None, f"it is no map ({error})") from error


def _numpy(x: Array) -> np.ndarray[Any, Any]:
    return np.asarray(x.cpu() if hasattr(x, "cpu") else x)
