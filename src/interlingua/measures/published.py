"""Variants that other codebases publish under the names of these measures, each under a name of its own.

They are here to reproduce old numbers, never as defaults; each says what it does otherwise.
"""

from __future__ import annotations

from interlingua.errors import UndefinedError
from interlingua.measures.anc import anc
from interlingua.measures.arrays import Array, constant_columns, namespace, paired
from interlingua.measures.cca import canonical_of, cca_mean_from, svcca_from
from interlingua.measures.results import CanonicalSimilarity, NeuronSimilarity


def anc_signed(x: Array, y: Array, *, dtype: str = "float64") -> NeuronSimilarity:
    """The mean of signed neuron-wise correlations: neurons that agree and neurons that oppose cancel.

    One of two scripts of the published code of Del & Fishel 2022 computes this and writes it where the other writes the
    mean of absolute values, which is what their equation 4 says (`anc`).
    """
    found = anc(x, y, dtype=dtype)
    xp = namespace(found.signed)
    value = float(xp.mean(found.signed[~xp.isnan(found.signed)]))
    return NeuronSimilarity(value, found.n, found.notes, found.signed, found.constant)


def cca_top98(x: Array, y: Array, *, dtype: str = "float64") -> CanonicalSimilarity:
    """The mean of the fewest leading canonical correlations that hold 98 % of their sum.

    google/svcca reports this as its mean, and ecco and xsim copied it. It leaves out the directions that do not
    correlate, so it is never below `cca_mean`.
    """
    found = cca_mean_from(canonical_of(x, y, dtype=dtype))
    xp = namespace(found.rho)
    shares = xp.cumulative_sum(found.rho) / xp.sum(found.rho)
    kept = int(xp.sum(xp.astype(shares < 0.98, xp.int64))) + 1
    value = float(xp.mean(found.rho[:kept]))
    return CanonicalSimilarity(value, found.n, found.notes, found.rho, found.rank_x, found.rank_y)


def svcca_top20(x: Array, y: Array, *, dtype: str = "float64") -> CanonicalSimilarity:
    """SVCCA with 20 directions a side, whatever share of the variance they hold: ecco and xsim."""
    return svcca_from(canonical_of(x, y, dtype=dtype), directions=20)


def pwcca_google(x: Array, y: Array, *, dtype: str = "float64") -> CanonicalSimilarity:
    """Projection-weighted CCA as google/svcca computes it, and ecco, ReSi and xsim after it.

    The canonical directions are applied without the whitening that belongs to them, the mean is added back, and the
    weights are sums over raw activations; the side with fewer neurons gives the weights. With the mean added back, the
    value depends on the signs that a decomposition happens to give its vectors: a CPU and a GPU differed by 4e-4.
    """
    xp, a, b = paired(x, y, dtype=dtype)
    # Constant neurons are left out; one direction without variance (neurons behind a layer norm have a constant sum)
    # is one without correlation, and with two it would be open which.
    a, b = (v[:, ~constant_columns(v)] for v in (a, b))
    if 0 in (a.shape[1], b.shape[1]):
        raise UndefinedError("every neuron of one side is constant: nothing can be compared")
    found = canonical_of(a, b, dtype=dtype)
    if min(found.x.rank - found.widths[0], found.y.rank - found.widths[1]) < -1:
        raise UndefinedError("pwcca_google takes more rows than neurons, and none that others make up: use pwcca")
    # In the neurons' own frame, that of the symmetric square root.
    u, rho, vt = xp.linalg.svd(found.x.axes @ found.core @ found.y.axes.T, full_matrices=False)
    rho = xp.clip(rho, 0.0, 1.0)
    rows, turn = (a, u) if a.shape[1] <= b.shape[1] else (b, vt.T)
    mean = xp.mean(rows, axis=0)
    # One mean a direction: the code adds neuron i's mean to direction i.
    variates = (rows - mean) @ turn + mean[None, : turn.shape[1]]
    basis, _ = xp.linalg.qr(variates)
    alpha = xp.sum(xp.abs(basis.T @ rows), axis=1)
    value = float(xp.sum(alpha * rho) / xp.sum(alpha))
    return CanonicalSimilarity(value, found.n, found.notes, rho, found.x.rank, found.y.rank)
