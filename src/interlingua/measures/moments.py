"""Second moments of paired matrices: one pass over rows, after which every linear index is small.

Centred rows a of X and b of Y give, per side, n, the mean, the scatter Σaaᵀ and what debiased CKA needs besides
(Σ‖a‖²a, Σ‖a‖⁴); per pair, Σabᵀ, Σ‖a‖²‖b‖², Σ‖a‖²b and Σ‖b‖²a. Every block of rows is centred on its own mean before
anything is squared, so neurons with means hundreds of times their spread lose nothing, and blocks are merged by
shifting each to the common mean. Blocks can be kept apart and left out one by one: that is the jackknife.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import array_api_compat as compat
import numpy as np

from interlingua.errors import InputError, UndefinedError
from interlingua.measures.arrays import FLOATS, Array, as_array, check_pair, constant_columns, matrix, namespace

# Rows that are cast and squared together.
CHUNK = 256


@dataclass(frozen=True, slots=True)
class Centred:
    """A block of rows less their mean, the squared length of each, and the first row as it was.

    `constant` neurons, which hold one value in all rows, are exactly zero.
    """

    mean: Array
    rows: Array
    squares: Array
    first: Array
    constant: Array


@dataclass(frozen=True, slots=True)
class Side:
    """Moments of one matrix about its own mean. `constant` says which neurons keep their value in the `first` row."""

    n: int
    mean: Array
    scatter: Array
    cube: Array
    fourth: float
    first: Array
    constant: Array

    @property
    def trace(self) -> float:
        """Σ‖a‖²."""
        return float(namespace(self.scatter).linalg.trace(self.scatter))


@dataclass(frozen=True, slots=True)
class Joint:
    """Moments of two matrices together, about the mean of each."""

    cross: Array
    norms: float
    x_weighted: Array
    y_weighted: Array


@dataclass(frozen=True, slots=True)
class Moments:
    """A pair: both sides and what joins them."""

    x: Side
    y: Side
    joint: Joint

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.x.n


Part = TypeVar("Part", Side, Moments)


def centred(x: Array, name: str = "x", *, dtype: str = "float64") -> Centred:
    """Rows less their mean; what is not finite is an error."""
    if dtype not in FLOATS:
        raise InputError(f"measures are computed in {' or '.join(FLOATS)}, not {dtype!r}")
    x = as_array(x, name)
    if not compat.is_numpy_array(x) or x.ndim != 2 or 0 in x.shape or x.dtype.kind != "f" or x.dtype.itemsize > 8:
        checked = matrix(x, name, dtype=dtype)
        if checked.shape[0] == 0:
            raise UndefinedError(f"{name} has no rows")
        xp = namespace(checked)
        constant = constant_columns(checked)
        mean = xp.where(constant, checked[0, :], xp.mean(checked, axis=0))
        rows = checked - mean
        return Centred(mean, rows, xp.sum(rows * rows, axis=1), checked[0, :], constant)
    # The same in NumPy, cast and squared in pieces that stay in the cache.
    with np.errstate(invalid="ignore", over="ignore"):
        constant, first = constant_columns(x), x[0].astype(dtype)
        mean = np.where(constant, first, np.mean(x, axis=0, dtype=dtype))
        rows, squares = np.empty(x.shape, dtype), np.empty(len(x), dtype)
        for start in range(0, len(x), CHUNK):
            piece = rows[start : start + CHUNK]
            np.subtract(x[start : start + CHUNK], mean, out=piece)
            np.einsum("ij,ij->i", piece, piece, out=squares[start : start + CHUNK])
    if not np.isfinite(squares).all():
        matrix(x, name, dtype=dtype)  # says what is wrong, unless only the squares are too large
        raise InputError(f"{name} holds numbers too large to be squared: scale them down")
    return Centred(mean, rows, squares, first, constant)


def side_of(c: Centred) -> Side:
    """Moments of one block of centred rows."""
    scatter = c.rows.T @ c.rows
    return Side(
        n=int(c.rows.shape[0]),
        mean=c.mean,
        scatter=scatter,
        cube=c.squares @ c.rows,
        fourth=float(c.squares @ c.squares),
        first=c.first,
        constant=c.constant,
    )


def joint_of(x: Centred, y: Centred) -> Joint:
    """Only what joins two blocks: for many pairs of few sides."""
    return Joint(
        cross=x.rows.T @ y.rows,
        norms=float(x.squares @ y.squares),
        x_weighted=x.squares @ y.rows,
        y_weighted=y.squares @ x.rows,
    )


def side_moments(x: Array, *, dtype: str = "float64") -> Side:
    """Moments of one block of rows."""
    return side_of(centred(x, dtype=dtype))


def moments(x: Array, y: Array, *, dtype: str = "float64") -> Moments:
    """Moments of one block of paired rows."""
    check_pair(x, y)
    a, b = centred(x, "x", dtype=dtype), centred(y, "y", dtype=dtype)
    return Moments(side_of(a), side_of(b), joint_of(a, b))


def _about(side: Side, point: Array) -> Side:
    """The same rows' moments about another point, near their mean."""
    xp = namespace(point)
    d = side.mean - point
    dd = float(d @ d)
    pulled = side.scatter @ d
    return Side(
        n=side.n,
        mean=point,
        scatter=side.scatter + side.n * xp.linalg.outer(d, d),
        cube=side.cube + 2 * pulled + (side.trace + side.n * dd) * d,
        fourth=side.fourth + 4 * float(d @ side.cube) + 2 * dd * side.trace + 4 * float(d @ pulled) + side.n * dd * dd,
        first=side.first,
        constant=side.constant,
    )


def _joint_about(part: Moments, to_x: Array, to_y: Array) -> Joint:
    xp = namespace(to_x)
    d, e, n = part.x.mean - to_x, part.y.mean - to_y, part.n
    dd, ee = float(d @ d), float(e @ e)
    tx, ty, joint = part.x.trace, part.y.trace, part.joint
    right, left = joint.cross @ e, joint.cross.T @ d
    return Joint(
        cross=joint.cross + n * xp.linalg.outer(d, e),
        norms=joint.norms
        + 2 * float(joint.x_weighted @ e)
        + 2 * float(joint.y_weighted @ d)
        + 4 * float(d @ right)
        + ee * tx
        + dd * ty
        + n * dd * ee,
        x_weighted=joint.x_weighted + 2 * left + (tx + n * dd) * e,
        y_weighted=joint.y_weighted + 2 * right + (ty + n * ee) * d,
    )


def merge_sides(parts: Sequence[Side]) -> Side:
    """The moments of all rows together."""
    if not parts:
        raise InputError("no moments to merge")
    if len(parts) == 1:
        return parts[0]
    n = sum(part.n for part in parts)
    # About the first mean, so that means far from zero lose nothing.
    origin = parts[0].mean
    mean = origin + sum((part.n / n) * (part.mean - origin) for part in parts)
    moved = [_about(part, mean) for part in parts]
    constant = parts[0].constant
    for part in parts[1:]:
        constant = constant & part.constant & (part.first == parts[0].first)
    return Side(
        n=n,
        mean=mean,
        scatter=sum(part.scatter for part in moved),
        cube=sum(part.cube for part in moved),
        fourth=sum(part.fourth for part in moved),
        first=parts[0].first,
        constant=constant,
    )


def merge(parts: Sequence[Moments]) -> Moments:
    """The moments of all pairs of rows together."""
    x, y = merge_sides([part.x for part in parts]), merge_sides([part.y for part in parts])
    if len(parts) == 1:
        return parts[0]
    joints = [_joint_about(part, x.mean, y.mean) for part in parts]
    return Moments(
        x,
        y,
        Joint(
            cross=sum(joint.cross for joint in joints),
            norms=sum(joint.norms for joint in joints),
            x_weighted=sum(joint.x_weighted for joint in joints),
            y_weighted=sum(joint.y_weighted for joint in joints),
        ),
    )


def leave_one_out(parts: Sequence[Part]) -> Iterator[Part]:
    """The moments of all blocks but one, for each block in turn; of pairs, or of one side."""
    if len(parts) < 2:
        raise InputError("leaving a block out takes at least two blocks")
    join: Callable[[Sequence[Any]], Any] = merge if isinstance(parts[0], Moments) else merge_sides
    behind = [parts[-1]]
    for part in reversed(parts[1:-1]):
        behind.append(join([part, behind[-1]]))
    yield behind.pop()
    before = parts[0]
    for part in parts[1:-1]:
        yield join([before, behind.pop()])
        before = join([before, part])
    yield before
