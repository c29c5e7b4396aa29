"""Two spaces made one: each side normalised on its own, then the target's vectors brought to the source's.

A way of aligning is one line of `WAYS`. Those that turn or bend are fitted on pairs of rows; normalisations are fitted
on all rows of a side, translated or not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from interlingua.errors import DataNotFoundError, FormatError, InputError, UnknownNameError
from interlingua.folders import writing
from interlingua.mapping.maps import LinearMap, fit_least_squares, fit_mean_shift, fit_procrustes, fit_ridge
from interlingua.mapping.normalise import Normalisation, fit_normalisation
from interlingua.measures.arrays import Array, as_numpy, check_pair, matrix, namespace

# What an alignment remembers of the vectors of a side, and refuses others by.
FACTS = ("model", "weights", "layer", "pooling", "language")
Fit = Callable[[Array, Array], LinearMap]


@dataclass(frozen=True)
class Way:
    """How two spaces are made one: whether sides are normalised first, and what is fitted on pairs."""

    about: str
    normalise: bool
    fit: Fit | None
    equal_width: bool = True


WAYS: Mapping[str, Way] = {
    "identity": Way("vectors as they are: is anything needed at all?", False, None),
    "shift": Way("the mean of one side put on that of the other, nothing turned", False, fit_mean_shift),
    "normalised": Way("each side normalised on its own, nothing turned", True, None),
    "rotation": Way("each side normalised on its own, and an orthogonal Procrustes rotation", True, fit_procrustes),
    "ridge": Way("normalised, and a map by ridge regression, α = 1", True, lambda x, y: fit_ridge(x, y, 1.0), False),
    "least_squares": Way("normalised, and an unconstrained linear map", True, fit_least_squares, False),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Reduction:
    """Rows less their mean, on their main directions: for a side that is wider than the other."""

    mean: Array
    directions: Array

    def __call__(self, x: Array) -> Array:
        """Rows in the smaller space."""
        rows = matrix(x)
        if int(rows.shape[1]) != int(self.mean.shape[0]):
            raise InputError(f"rows have {rows.shape[1]} neurons, and this was fitted on {self.mean.shape[0]}")
        return (rows - self.mean) @ self.directions


def fit_reduction(x: Array, width: int) -> Reduction:
    """The `width` main directions (PCA) of rows."""
    rows = matrix(x, dtype="float64")
    xp = namespace(rows)
    if not 1 <= width <= min(int(n) for n in rows.shape):
        raise InputError(f"{rows.shape[0]} rows of {rows.shape[1]} neurons have no {width} main directions")
    mean = xp.mean(rows, axis=0)
    centred = rows - mean
    _, vectors = xp.linalg.eigh(centred.T @ centred)
    return Reduction(mean, xp.flip(vectors, axis=1)[:, :width])


Step = Reduction | Normalisation


@dataclass(frozen=True, eq=False)
class Alignment:
    """Two spaces made one. `of_source` and `of_target` bring rows of either side there.

    `facts` says of each side which vectors it was fitted on (model, layer, language, ...), as far as that is known;
    vectors of another width are refused, and so are those that are said to be of another layer or model.
    """

    way: str
    source: tuple[Step, ...]
    target: tuple[Step, ...]
    map: LinearMap | None
    widths: tuple[int, int]
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def of_source(self, x: Array, **facts: Any) -> Array:
        """Rows of the source side where both are compared."""
        return self._through(x, 0, facts)

    def of_target(self, y: Array, **facts: Any) -> Array:
        """Rows of the target side where both are compared."""
        found = self._through(y, 1, facts)
        return found if self.map is None else self.map(found)

    def _through(self, rows: Array, side: int, facts: Mapping[str, Any]) -> Array:
        name = ("source", "target")[side]
        _check_facts(self.facts.get(name, {}), facts)
        found = matrix(rows)
        if int(found.shape[1]) != self.widths[side]:
            raise InputError(f"rows have {found.shape[1]} neurons, and the {name} side has {self.widths[side]}")
        for step in (self.source, self.target)[side]:
            found = step(found)
        return found


class Spaces:
    """Two sides that are to be aligned, in one way or several: what does not depend on pairs is fitted once."""

    def __init__(
        self,
        x: Array,
        y: Array,
        *,
        reduce: bool = False,
        source: Mapping[str, Any] | None = None,
        target: Mapping[str, Any] | None = None,
    ) -> None:
        sides = [matrix(x, dtype="float64"), matrix(y, "y", dtype="float64")]
        self.widths = (int(sides[0].shape[1]), int(sides[1].shape[1]))
        self.facts = {name: dict(said) for name, said in (("source", source), ("target", target)) if said}
        for said in self.facts.values():
            _check_facts({}, said)
        self._steps: list[tuple[Step, ...]] = [(), ()]
        if self.widths[0] != self.widths[1] and reduce:
            wide = int(self.widths[1] > self.widths[0])
            self._steps[wide] = (fit_reduction(sides[wide], min(self.widths)),)
            sides[wide] = self._steps[wide][0](sides[wide])
        self._sides = sides

    @cached_property
    def _normalised(self) -> tuple[list[tuple[Step, ...]], list[Array]]:
        fitted = [fit_normalisation(rows) for rows in self._sides]
        steps = [(*each, own) for each, own in zip(self._steps, fitted, strict=True)]
        return steps, [own(rows) for own, rows in zip(fitted, self._sides, strict=True)]

    def align(self, way: str, pairs: tuple[Sequence[int] | Array, Sequence[int] | Array]) -> Alignment:
        """Bring the target's side to the source's: `pairs` are the numbers of rows that belong together."""
        if way not in WAYS:
            raise UnknownNameError("way of aligning", way, WAYS)
        how = WAYS[way]
        if how.equal_width and int(self._sides[0].shape[1]) != int(self._sides[1].shape[1]):
            raise InputError(
                f"the sides have {self.widths[0]} and {self.widths[1]} neurons: {way} needs equal widths (reduce=True, "
                "--reduce, brings the wider to its main directions; ridge and least_squares need nothing)"
            )
        steps, sides = self._normalised if how.normalise else (self._steps, self._sides)
        fitted = None
        if how.fit is not None:
            both = [_chosen(rows, places) for rows, places in zip(sides, _two(pairs), strict=True)]
            check_pair(*both)
            fitted = how.fit(both[1], both[0])
        return Alignment(way, steps[0], steps[1], fitted, self.widths, self.facts)


def _two(pairs: Any) -> tuple[Any, Any]:
    if not isinstance(pairs, tuple | list) or len(pairs) != 2:
        raise InputError("pairs are two lists of row numbers: those of the source, and those of the target beside them")
    return pairs[0], pairs[1]


def _chosen(rows: Array, places: Any) -> Array:
    """Rows by their numbers."""
    numbers = np.asarray(as_numpy(places) if hasattr(places, "shape") else list(places))
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise InputError("pairs are numbers of rows: whole numbers, counted from 0, in one list a side")
    if wrong := [int(i) for i in numbers if not 0 <= i < rows.shape[0]]:
        raise InputError(f"there is no row {wrong[0]}: there are {rows.shape[0]}")
    xp = namespace(rows)
    return xp.take(rows, xp.asarray(numbers, device=rows.device), axis=0)


def fit_alignment(
    x: Array,
    y: Array,
    pairs: tuple[Sequence[int] | Array, Sequence[int] | Array],
    way: str = "rotation",
    *,
    reduce: bool = False,
    source: Mapping[str, Any] | None = None,
    target: Mapping[str, Any] | None = None,
) -> Alignment:
    """Align the space of y with that of x: `pairs` are the numbers of rows of each that belong together.

    Sides of unequal width can be mapped by ridge and least squares only; with `reduce` the wider one is first brought
    to its main directions, as many as the other has neurons.
    """
    return Spaces(x, y, reduce=reduce, source=source, target=target).align(way, pairs)


def _check_facts(known: Mapping[str, Any], said: Mapping[str, Any]) -> None:
    for name, value in said.items():
        if name not in FACTS:
            raise InputError(f"an alignment knows of {', '.join(FACTS)}, and nothing of {name!r}")
        if name in known and known[name] != value:
            raise InputError(f"it is for {name} {known[name]!r}, and these vectors are of {value!r}")


def save_alignment(aligned: Alignment, path: str | Path) -> Path:
    """As one `.npz` file, without pickles."""
    place = Path(path)
    place = place if place.suffix == ".npz" else place.with_name(place.name + ".npz")
    facts: dict[str, Any] = {"way": aligned.way, "widths": aligned.widths, "facts": dict(aligned.facts), "steps": {}}
    arrays: dict[str, Any] = {}
    for side, steps in (("source", aligned.source), ("target", aligned.target)):
        facts["steps"][side] = [type(step).__name__ for step in steps]
        for i, step in enumerate(steps):
            if isinstance(step, Reduction):
                arrays[f"{side}.{i}.mean"] = as_numpy(step.mean)
                arrays[f"{side}.{i}.directions"] = as_numpy(step.directions)
            else:
                arrays[f"{side}.{i}.means"] = np.stack([as_numpy(mean) for mean in step.means])
    if aligned.map is not None:
        facts["map"] = {"kind": aligned.map.kind, "n": aligned.map.n}
        arrays["weight"] = as_numpy(aligned.map.weight)
        if aligned.map.shift is not None:
            arrays["shift"] = as_numpy(aligned.map.shift)
    if not place.parent.is_dir():
        raise InputError(f"{place.parent} is no folder: make it first")
    with writing(place) as file:
        # numbers that NumPy counted are numbers too
        np.savez(file, alignment=np.array(json.dumps(facts, default=int)), **arrays)
    return place


def open_alignment(path: str | Path) -> Alignment:
    """An alignment as `save_alignment` wrote it."""
    place = Path(path)
    place = place if place.suffix == ".npz" else place.with_name(place.name + ".npz")
    if not place.is_file():
        raise DataNotFoundError(f"{place} is not there: an alignment is one .npz file")
    try:
        with place.open("rb") as file, np.load(file, allow_pickle=False) as held:
            facts = json.loads(str(held["alignment"]))
            sides = [
                tuple(_step(held, f"{side}.{i}", kind) for i, kind in enumerate(facts["steps"][side]))
                for side in ("source", "target")
            ]
            fitted = None
            if "map" in facts:
                fitted = LinearMap(held["weight"], facts["map"]["kind"], facts["map"]["n"], held.get("shift"))
            return Alignment(facts["way"], sides[0], sides[1], fitted, tuple(facts["widths"]), facts["facts"])
    except (ValueError, KeyError, OSError, TypeError, EOFError, BadZipFile) as error:
        raise FormatError(place, None, f"it is no alignment ({error})") from error


def _step(held: Any, name: str, kind: str) -> Step:
    if kind == "Reduction":
        return Reduction(held[f"{name}.mean"], held[f"{name}.directions"])
    return Normalisation(tuple(held[f"{name}.means"]), 0.0)
