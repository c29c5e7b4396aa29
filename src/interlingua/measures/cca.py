"""Canonical correlation analysis and its summaries: CCA, SVCCA, PWCCA."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from interlingua.errors import InputError
from interlingua.measures.arrays import Array, namespace, paired
from interlingua.measures.moments import moments
from interlingua.measures.results import CanonicalSimilarity
from interlingua.measures.spectra import WELL_CONDITIONED, Spectrum, directions_for, refined, spectrum

# Fewer rows than this many times the neurons of both sides, and CCA finds agreement in noise.
ENOUGH = 5
VARIANCE = 0.99


@dataclass(frozen=True)
class Canonical:
    """Both sides whitened, and what joins them: `core` is the cross-covariance of whitened coordinates."""

    n: int
    x: Spectrum
    y: Spectrum
    core: Array
    widths: tuple[int, int]
    notes: tuple[str, ...]

    @cached_property
    def turned(self) -> tuple[Array, Array]:
        """Canonical directions of x in its whitened coordinates, and the correlations, largest first."""
        return turned(self.core)


def canonical(n: int, x: Spectrum, y: Spectrum, cross: Array, notes: tuple[str, ...] = ()) -> Canonical:
    """Join two sides through their cross-scatter: the cheap part of CCA."""
    widths = (int(cross.shape[0]), int(cross.shape[1]))
    if n < ENOUGH * sum(widths):
        few = f"{n} rows for {widths[0]} + {widths[1]} neurons: CCA is not interpretable below {ENOUGH * sum(widths)}"
        notes = (few, *notes)
    return Canonical(n, x, y, x.whiten.T @ cross @ y.whiten, widths, notes)


def canonical_of(x: Array, y: Array, *, dtype: str = "float64") -> Canonical:
    """`canonical` of two matrices, whitened to full precision where they are ill-conditioned."""
    xp, a, b = paired(x, y, dtype=dtype)
    m = moments(a, b, dtype=dtype)
    left, right = spectrum(m.x), spectrum(m.y)
    worst = max(left.condition, right.condition)
    if worst < WELL_CONDITIONED:
        return canonical(m.n, left, right, m.joint.cross)
    ca, cb = a - xp.mean(a, axis=0), b - xp.mean(b, axis=0)
    left, right = refined(left, ca), refined(right, cb)
    # Whitened rows are joined, not whitened moments: the same digits are at stake.
    note = (
        (f"condition number {worst:.0e}: agrees with other methods to about {worst * 1e-13:.0e}",)
        if worst > 1e4
        else ()
    )
    found = canonical(m.n, left, right, m.joint.cross, note)
    return Canonical(found.n, left, right, (ca @ left.whiten).T @ (cb @ right.whiten), found.widths, found.notes)


def turned(core: Array) -> tuple[Array, Array]:
    """Left singular vectors and singular values of a whitened cross-covariance, largest first.

    By the eigendecomposition of its square, half of the time of one into singular values; these are at most 1, so what
    squaring loses is below 1e-8 for correlations that are themselves below that.
    """
    xp = namespace(core)
    values, vectors = xp.linalg.eigh(core @ core.T)
    kept = min(core.shape)
    return xp.flip(vectors, axis=1)[:, :kept], xp.sqrt(xp.clip(xp.flip(values), 0.0, 1.0))[:kept]


def correlations(core: Array) -> Array:
    """The singular values alone, by the smaller of the two squares."""
    xp = namespace(core)
    square = core @ core.T if core.shape[0] <= core.shape[1] else core.T @ core
    return xp.sqrt(xp.clip(xp.flip(xp.linalg.eigvalsh(square)), 0.0, 1.0))


def cca_mean(x: Array, y: Array, *, dtype: str = "float64") -> CanonicalSimilarity:
    """The mean canonical correlation: how much can be read of one side from the other, direction by direction?

        mean of ρᵢ over min(rank X, rank Y)

    1: one side is an invertible linear map of the other. Independent data do not give 0: 2,000 rows of 768 neurons give
    0.55, and fewer rows than neurons always give 1. Look at the null. Not the mean of ρ² (`cca_r2`), nor that of the
    leading ρ (`cca_top98`).

    Hotelling 1936; Raghu et al. 2017.
    """
    return cca_mean_from(canonical_of(x, y, dtype=dtype))


def cca_mean_from(found: Canonical) -> CanonicalSimilarity:
    """`cca_mean` from whitened sides."""
    _, rho = found.turned
    return _canonical(float(namespace(rho).mean(rho)), rho, found)


def cca_r2(x: Array, y: Array, *, dtype: str = "float64") -> CanonicalSimilarity:
    """The mean squared canonical correlation: Σρ² / p, with p the neurons of the first argument.

    1: X is an invertible linear map of (part of) Y. Not symmetric where widths differ. Noise gives what it gives in
    `cca_mean`, squared.

    Del & Fishel 2022, equation 1; Kornblith et al. 2019, R²_CCA.
    """
    return cca_r2_from(canonical_of(x, y, dtype=dtype))


def cca_r2_from(found: Canonical) -> CanonicalSimilarity:
    """`cca_r2` from whitened sides."""
    _, rho = found.turned
    return _canonical(float(namespace(rho).sum(rho * rho)) / found.widths[0], rho, found)


def svcca(
    x: Array, y: Array, *, variance: float = VARIANCE, directions: int | None = None, dtype: str = "float64"
) -> CanonicalSimilarity:
    """The mean canonical correlation of the leading principal directions of either side.

    Each side keeps the fewest directions that hold 99 % of its *variance* (or `variance`; or a fixed number of
    `directions`), the one that crosses included; then the mean ρ. Truncation keeps CCA from finding agreement in
    directions of noise, but a few large directions may be all that is kept. Other codebases count singular values
    instead of variance, or keep 20 directions (`svcca_top20`).

    Raghu et al. 2017.
    """
    return svcca_from(canonical_of(x, y, dtype=dtype), variance=variance, directions=directions)


def svcca_from(found: Canonical, *, variance: float = VARIANCE, directions: int | None = None) -> CanonicalSimilarity:
    """`svcca` from whitened sides."""
    if directions is not None and directions < 1:
        raise InputError(f"{directions} directions are none")
    kx, ky = (
        min(directions, side.rank) if directions is not None else directions_for(side, variance)
        for side in (found.x, found.y)
    )
    xp = namespace(found.core)
    rho = correlations(found.core[:kx, :ky])
    # Only the directions that are kept count against the rows.
    notes = found.notes if found.n < ENOUGH * (kx + ky) else ()
    return CanonicalSimilarity(float(xp.mean(rho)), found.n, notes, rho, kx, ky)


def pwcca(x: Array, y: Array, *, dtype: str = "float64") -> CanonicalSimilarity:
    """Projection-weighted CCA: canonical correlations, weighted by how much of X each direction accounts for.

        Σ αᵢρᵢ / Σ αᵢ,  αᵢ = Σⱼ |⟨hᵢ, xⱼ⟩| over canonical variates hᵢ of X and its centred neurons xⱼ

    Not symmetric: the weights are X's (`pwcca_symmetric` is the mean of both). The code this measure is known by leaves
    out the whitening and adds the mean back before it weights (`pwcca_google`): 0.69 where this gives 0.52.

    Morcos et al. 2018, equation 4.
    """
    return pwcca_from(canonical_of(x, y, dtype=dtype))


def pwcca_from(found: Canonical) -> CanonicalSimilarity:
    """`pwcca` from whitened sides."""
    turn, rho = found.turned
    return _canonical(_projection_weighted(found.x, turn, rho), rho, found)


def pwcca_symmetric(x: Array, y: Array, *, dtype: str = "float64") -> CanonicalSimilarity:
    """The mean of `pwcca` with the weights of either side."""
    return pwcca_symmetric_from(canonical_of(x, y, dtype=dtype))


def pwcca_symmetric_from(found: Canonical) -> CanonicalSimilarity:
    """`pwcca_symmetric` from whitened sides."""
    turn, rho = found.turned
    back, _ = turned(found.core.T)
    both = _projection_weighted(found.x, turn, rho) + _projection_weighted(found.y, back, rho)
    return _canonical(both / 2, rho, found)


def _projection_weighted(side: Spectrum, turn: Array, rho: Array) -> float:
    """Correlations weighted by how much of a side each of its canonical directions accounts for."""
    xp = namespace(rho)
    # ⟨hᵢ, xⱼ⟩ = (uᵀ √Λ Aᵀ)ᵢⱼ, with Λ and A the side's values and axes
    alpha = xp.sum(xp.abs(turn.T @ (xp.sqrt(side.values)[:, None] * side.axes.T)), axis=1)
    return float(xp.sum(alpha * rho) / xp.sum(alpha))


def _canonical(value: float, rho: Array, found: Canonical) -> CanonicalSimilarity:
    return CanonicalSimilarity(value, found.n, found.notes, rho, found.x.rank, found.y.rank)
