"""Second moments of paired matrices: one pass over rows, after which every linear index is small.

Centred rows a of X and b of Y give, per side, n, the mean, the scatter Σaaᵀ and what debiased CKA needs besides
(Σ‖a‖²a, Σ‖a‖⁴); per pair, Σabᵀ, Σ‖a‖²‖b‖², Σ‖a‖²b and Σ‖b‖²a. Every block of rows is centred on its own mean before
anything is squared, so neurons with means hundreds of times their spread lose nothing, and blocks are merged by
shifting each to the common mean. Blocks can be kept apart and left out one by one: that is the jackknife.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from interlingua.errors import InputError
from interlingua.measures.arrays import Array, matrix, namespace, paired


@dataclass(frozen=True, slots=True)
class Side:
    """Moments of one matrix about its own mean. `low` and `high` are the extremes of every neuron."""

    n: int
    mean: Array
    scatter: Array
    cube: Array
    fourth: float
    low: Array
    high: Array

    @property
    def trace(self) -> float:
        """Σ‖a‖²."""
        return float(namespace(self.scatter).linalg.trace(self.scatter))

    @property
    def constant(self) -> Array:
        """Which neurons never change."""
        return self.low == self.high


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


def side_moments(x: Array, *, dtype: str = "float64") -> Side:
    """Moments of one block of rows."""
    return _side(matrix(x, dtype=dtype))[0]


def moments(x: Array, y: Array, *, dtype: str = "float64") -> Moments:
    """Moments of one block of paired rows."""
    _, a, b = paired(x, y, least=1, dtype=dtype)
    (left, ca), (right, cb) = _side(a), _side(b)
    return Moments(left, right, _joint(ca, cb))


def joint_moments(x: Array, y: Array, *, dtype: str = "float64") -> Joint:
    """Only what joins two matrices: for many pairs of few sides."""
    xp, a, b = paired(x, y, least=1, dtype=dtype)
    return _joint(a - xp.mean(a, axis=0), b - xp.mean(b, axis=0))


def _side(x: Array) -> tuple[Side, Array]:
    xp = namespace(x)
    mean = xp.mean(x, axis=0)
    a = x - mean
    # What rounding left of the mean: the rows of `a` are about `mean`, and must sum to nothing.
    rest = xp.mean(a, axis=0)
    a, mean = a - rest, mean + rest
    squares = xp.sum(a * a, axis=1)
    side = Side(
        n=int(x.shape[0]),
        mean=mean,
        scatter=a.T @ a,
        cube=squares @ a,
        fourth=float(squares @ squares),
        low=xp.min(x, axis=0),
        high=xp.max(x, axis=0),
    )
    return side, a


def _joint(a: Array, b: Array) -> Joint:
    xp = namespace(a, b)
    sa, sb = xp.sum(a * a, axis=1), xp.sum(b * b, axis=1)
    return Joint(cross=a.T @ b, norms=float(sa @ sb), x_weighted=sa @ b, y_weighted=sb @ a)


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
        low=side.low,
        high=side.high,
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
    xp = namespace(parts[0].mean)
    n = sum(part.n for part in parts)
    # About the first mean, so that means far from zero lose nothing.
    origin = parts[0].mean
    mean = origin + sum((part.n / n) * (part.mean - origin) for part in parts)
    moved = [_about(part, mean) for part in parts]
    low, high = parts[0].low, parts[0].high
    for part in parts[1:]:
        low, high = xp.minimum(low, part.low), xp.maximum(high, part.high)
    return Side(
        n=n,
        mean=mean,
        scatter=sum(part.scatter for part in moved),
        cube=sum(part.cube for part in moved),
        fourth=sum(part.fourth for part in moved),
        low=low,
        high=high,
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


def leave_one_out(parts: Sequence[Moments]) -> Iterator[Moments]:
    """The moments of all blocks but one, for each block in turn."""
    if len(parts) < 2:
        raise InputError("leaving a block out takes at least two blocks")
    behind = [parts[-1]]
    for part in reversed(parts[1:-1]):
        behind.append(merge([part, behind[-1]]))
    yield behind.pop()
    before = parts[0]
    for part in parts[1:-1]:
        yield merge([before, behind.pop()])
        before = merge([before, part])
    yield before
