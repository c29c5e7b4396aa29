"""Many measures of one pair for the price of one: moments, whitening and products are made once and shared."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from typing import Any

from interlingua.errors import UndefinedError
from interlingua.measures.anc import anc_from
from interlingua.measures.arrays import Array, cut, matrix, namespace
from interlingua.measures.catalog import find
from interlingua.measures.cca import (
    Canonical,
    canonical,
    cca_mean_from,
    cca_r2_from,
    pwcca_from,
    pwcca_symmetric_from,
    svcca_from,
)
from interlingua.measures.cka import debiased_cka_from, linear_cka_from, rbf_square
from interlingua.measures.moments import (
    Centred,
    Joint,
    Moments,
    Side,
    centred,
    joint_of,
    leave_one_out,
    merge,
    merge_sides,
    side_of,
)
from interlingua.measures.results import Similarity
from interlingua.measures.shape import procrustes_from, rsa_square
from interlingua.measures.spectra import Spectrum, spectrum

FROM_MOMENTS: dict[str, Callable[[Moments], Similarity]] = {
    "anc": anc_from,
    "linear_cka": linear_cka_from,
    "debiased_cka": debiased_cka_from,
    "procrustes": procrustes_from,
}
FROM_CANONICAL: dict[str, Callable[[Canonical], Similarity]] = {
    "cca_mean": cca_mean_from,
    "cca_r2": cca_r2_from,
    "svcca": svcca_from,
    "pwcca": pwcca_from,
    "pwcca_symmetric": pwcca_symmetric_from,
}
# Measures of n x n matrices, one a side, that are made once where they are small; their value is a sum of products.
FROM_SQUARES: dict[str, Callable[[Array], Array]] = {"rbf_cka": rbf_square, "rsa": rsa_square}
SMALL = 2_500


@dataclass(frozen=True)
class View:
    """One language at one layer: its vectors, and what is worked out once for all its pairs.

    Rows are cut into `blocks` runs of nearly equal size, for intervals.
    """

    vectors: Array
    blocks: int = 1
    dtype: str = "float64"
    _squares: dict[str, Array] = field(default_factory=dict, repr=False)

    @cached_property
    def cuts(self) -> list[slice]:
        """The rows of every block."""
        return cut(int(self.vectors.shape[0]), self.blocks)

    @cached_property
    def centred(self) -> list[Centred]:
        """The rows of every block, less their mean."""
        return [centred(self.vectors[cut], dtype=self.dtype) for cut in self.cuts]

    @cached_property
    def sides(self) -> list[Side]:
        """The moments of every block."""
        return [side_of(block) for block in self.centred]

    @cached_property
    def whole(self) -> Centred:
        """All rows, less their mean."""
        return self.centred[0] if self.blocks == 1 else centred(self.vectors, dtype=self.dtype)

    @cached_property
    def side(self) -> Side:
        """The moments of all rows."""
        return merge_sides(self.sides)

    @cached_property
    def spectrum(self) -> Spectrum:
        """The principal axes."""
        return spectrum(self.side)

    @cached_property
    def spectra_without(self) -> list[Spectrum]:
        """The principal axes without each block in turn: a decomposition a block."""
        return [spectrum(rest) for rest in leave_one_out(self.sides)]

    def square(self, name: str) -> Array:
        """One side of a measure in `FROM_SQUARES`."""
        if name not in self._squares:
            self._squares[name] = FROM_SQUARES[name](matrix(self.vectors, dtype=self.dtype))
        return self._squares[name]


@dataclass(frozen=True)
class Joined:
    """Two views of the same sentences."""

    x: View
    y: View
    _found: dict[str, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def parts(self) -> list[Moments]:
        """The moments of every block."""
        return [
            Moments(a, b, joint_of(cx, cy))
            for a, b, cx, cy in zip(self.x.sides, self.y.sides, self.x.centred, self.y.centred, strict=True)
        ]

    @cached_property
    def moments(self) -> Moments:
        """The moments of all rows."""
        return merge(self.parts)

    @cached_property
    def canonical(self) -> Canonical:
        """Both sides whitened, from moments alone: exact to about the square of the condition number times 1e-16."""
        worst = max(self.x.spectrum.condition, self.y.spectrum.condition)
        note = (f"condition number {worst:.0e}: exact to about {worst**2 * 1e-16:.0e}",) if worst > 1e4 else ()
        return canonical(self.moments.n, self.x.spectrum, self.y.spectrum, self.moments.joint.cross, note)

    def measure(self, name: str) -> Any:
        """The result of a measure."""
        if name not in self._found:
            self._found[name] = self._measure(name)
        return self._found[name]

    def measure_or_why(self, name: str) -> Any:
        """The result of a measure; where it has no value for these numbers, NaN and the reason as a note."""
        try:
            return self.measure(name)
        except UndefinedError as error:
            return Similarity(math.nan, int(self.x.vectors.shape[0]), (str(error),))

    def _measure(self, name: str) -> Any:
        if name in FROM_MOMENTS:
            return FROM_MOMENTS[name](self.moments)
        if name in FROM_CANONICAL:
            return FROM_CANONICAL[name](self.canonical)
        if self._squared(name):
            return self._from_squares(name, self.y.square(name))
        return find(name).function(self.x.vectors, self.y.vectors)

    def _squared(self, name: str) -> bool:
        return name in FROM_SQUARES and 3 <= int(self.x.vectors.shape[0]) <= SMALL

    def _from_squares(self, name: str, right: Array) -> Similarity:
        total = float(namespace(right).sum(self.x.square(name) * right))
        return Similarity(min(max(total, -1.0), 1.0), int(right.shape[0]))

    def left_out(self, names: Sequence[str]) -> Iterator[dict[str, float]]:
        """Values of linear measures without each block of rows in turn: what the jackknife takes."""
        for block, rest in enumerate(leave_one_out(self.parts)):
            core = cache(partial(self._core_without, block, rest))
            yield {name: _value(_from(name, rest, core)) for name in names}

    def _core_without(self, block: int, rest: Moments) -> Canonical:
        return canonical(rest.n, self.x.spectra_without[block], self.y.spectra_without[block], rest.joint.cross)

    def shuffled(self, names: Sequence[str], order: Array) -> dict[str, float]:
        """Values with the rows of y in another order: its own moments stay, only what joins the two is new."""
        xp = namespace(self.y.vectors)

        @cache
        def joint() -> Joint:
            y = self.y.whole
            moved = replace(y, rows=xp.take(y.rows, order, axis=0), squares=xp.take(y.squares, order, axis=0))
            return joint_of(self.x.whole, moved)

        @cache
        def core() -> Canonical:
            return canonical(self.moments.n, self.x.spectrum, self.y.spectrum, joint().cross)

        values: dict[str, float] = {}
        for name in names:
            if name in FROM_MOMENTS or name in FROM_CANONICAL:
                values[name] = _value(_from(name, Moments(self.x.side, self.y.side, joint()), core))
            elif self._squared(name):
                values[name] = _value(partial(self._shuffled_squares, name, order))
            else:
                other = xp.take(self.y.vectors, order, axis=0)
                values[name] = _value(partial(find(name).function, self.x.vectors, other))
        return values

    def _shuffled_squares(self, name: str, order: Array) -> Similarity:
        xp = namespace(self.y.vectors)
        return self._from_squares(name, xp.take(xp.take(self.y.square(name), order, axis=0), order, axis=1))


def _from(name: str, moments: Moments, core: Callable[[], Canonical]) -> Callable[[], Similarity]:
    """A linear measure, to be computed from what it takes."""
    if name in FROM_MOMENTS:
        return partial(FROM_MOMENTS[name], moments)
    return lambda: FROM_CANONICAL[name](core())


def _value(compute: Callable[[], Similarity]) -> float:
    """The value; NaN where there is none."""
    try:
        return compute().value
    except UndefinedError:
        return math.nan
