"""Maps from one space to another, fitted on pairs of rows: x ↦ x W + b.

A rotation keeps all angles, so it can only say what both spaces have in common already; least squares also bends, and
needs many more pairs than neurons. Fitted maps are frozen and callable; `alignment` puts them together with what
belongs before them, and remembers which vectors they were made for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from interlingua.errors import InputError
from interlingua.measures.arrays import Array, check_pair, matrix, namespace, paired


@dataclass(frozen=True, eq=False)
class LinearMap:
    """x ↦ x W + b, fitted on `n` pairs of rows."""

    weight: Array
    kind: str
    n: int
    shift: Array | None = None

    def __call__(self, x: Array) -> Array:
        """Rows of one space in the other; vectors of another width are refused."""
        rows = matrix(x)
        if int(rows.shape[1]) != int(self.weight.shape[0]):
            raise InputError(f"rows have {rows.shape[1]} neurons, and the map takes {self.weight.shape[0]}")
        mapped = rows @ self.weight
        return mapped if self.shift is None else mapped + self.shift


def fit_procrustes(x: Array, y: Array, *, dtype: str = "float64") -> LinearMap:
    """The orthogonal map that brings rows of x nearest to those of y.

        UΣVᵀ = SVD(XᵀY),  W = UVᵀ minimises ‖XW − Y‖_F over WWᵀ = I

    Nothing is centred: normalise both sides first. Schönemann 1966. Where XᵀY has a rank r below the width (fewer rows,
    say) the rows leave open what becomes of the other directions, and they stay as near to where they are as they can:

        W = U₁V₁ᵀ + U₂RV₂ᵀ,  R = QPᵀ of SVD(U₂ᵀV₂) = QSPᵀ  maximises tr W among all that fit the rows best

    where a plain SVD turns them by its rounding errors, and otherwise on every processor.
    """
    _, a, b = paired(x, y, equal_width=True, dtype=dtype)
    return procrustes_of(a.T @ b, int(a.shape[0]))


def procrustes_of(cross: Array, n: int) -> LinearMap:
    """`fit_procrustes` from XᵀY alone, which adds up over blocks of rows."""
    xp = namespace(cross)
    if int(cross.shape[0]) != int(cross.shape[1]):
        raise InputError(f"a rotation needs equal widths, and these are {cross.shape[0]} and {cross.shape[1]}")
    u, sizes, vt = xp.linalg.svd(cross, full_matrices=False)
    width = int(cross.shape[0])
    rank = int(xp.sum(xp.astype(sizes > width * float(xp.finfo(cross.dtype).eps) * sizes[0], xp.int64)))
    if rank < width:
        p, _, q = xp.linalg.svd(u[:, rank:].T @ vt[rank:, :].T, full_matrices=False)
        u = xp.concat([u[:, :rank], u[:, rank:] @ (p @ q)], axis=1)
    return LinearMap(u @ vt, "rotation", n)


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


def fit_ridge(x: Array, y: Array, alpha: float, *, dtype: str = "float64") -> LinearMap:
    """W = (XᵀX + αI)⁻¹ XᵀY on centred rows, and the shift that puts the mean of x on that of y."""
    if not alpha > 0:
        raise InputError(f"alpha is {alpha}: ridge needs one above 0; fit_least_squares has none")
    xp, a, b = paired(x, y, dtype=dtype)
    mean_x, mean_y = xp.mean(a, axis=0), xp.mean(b, axis=0)
    a, b = a - mean_x, b - mean_y
    identity = xp.eye(int(a.shape[1]), dtype=a.dtype, device=a.device)
    weight = xp.linalg.solve(a.T @ a + alpha * identity, a.T @ b)
    return LinearMap(weight, f"ridge {alpha:g}", int(a.shape[0]), mean_y - mean_x @ weight)


def fit_least_squares(x: Array, y: Array, *, dtype: str = "float64") -> LinearMap:
    """The map that minimises ‖XW + b − Y‖_F over all W and b; the smallest such W where rows are fewer than neurons."""
    xp, a, b = paired(x, y, dtype=dtype)
    mean_x, mean_y = xp.mean(a, axis=0), xp.mean(b, axis=0)
    weight = xp.linalg.pinv(a - mean_x) @ (b - mean_y)
    return LinearMap(weight, "least squares", int(a.shape[0]), mean_y - mean_x @ weight)


def fit_mean_shift(x: Array, y: Array, *, dtype: str = "float64") -> LinearMap:
    """The mean of x put on that of y and nothing turned: what a rotation has to beat inside one model."""
    xp, a, b = paired(x, y, equal_width=True, dtype=dtype)
    identity = xp.eye(int(a.shape[1]), dtype=a.dtype, device=a.device)
    shift = xp.mean(b, axis=0) - xp.mean(a, axis=0)
    return LinearMap(identity, "mean shift", int(a.shape[0]), shift)
