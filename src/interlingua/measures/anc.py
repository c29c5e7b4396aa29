"""Average neuron-wise correlation."""

from __future__ import annotations

import math

from interlingua.errors import InputError, UndefinedError
from interlingua.measures.arrays import Array, check_pair, namespace
from interlingua.measures.moments import Moments, centred
from interlingua.measures.results import NeuronSimilarity


def anc(x: Array, y: Array, *, dtype: str = "float64") -> NeuronSimilarity:
    """Average neuron-wise correlation: does neuron i do the same for a sentence in either language?

        ANC(X, Y) = 1/p Σᵢ |corr(xᵢ, yᵢ)|

    1: every neuron responds alike, up to scale, offset and sign. 0: no neuron does. Two independent samples of n rows
    give about √(2/πn), which is not 0.

    Only for two views of one network: neuron i of another network is another neuron, however equal the widths. A neuron
    that is constant on either side has no correlation; it is left out of the mean and counted. Not the signed mean,
    which cancels (`anc_signed`), and not the cosine without centring, which large means push towards 1.

    High values need no translations that find each other: how long a sentence is, its domain and how common its words
    are move neurons alike too. A masked model that had learnt little had 0.79 at a layer where 3 % of sentences found
    their translation (studies/LOG.md, 16 November 2026): look at matching, and at the untrained twin, beside it.

    Del & Fishel 2022, equation 4.
    """
    check_pair(x, y, least=2, equal_width=True)
    a, b = centred(x, "x", dtype=dtype), centred(y, "y", dtype=dtype)
    xp = namespace(a.rows, b.rows)
    cross, xx, yy = (xp.sum(v * w, axis=0) for v, w in ((a.rows, b.rows), (a.rows, a.rows), (b.rows, b.rows)))
    return _result(cross, xx, yy, a.constant | b.constant, int(a.rows.shape[0]))


def anc_from(m: Moments) -> NeuronSimilarity:
    """`anc` from moments."""
    if m.n < 2:
        raise UndefinedError(f"{m.n} rows are too few: this takes at least 2")
    if m.x.mean.shape != m.y.mean.shape:
        raise InputError(
            f"x has {m.x.mean.shape[0]} neurons and y has {m.y.mean.shape[0]}: this compares neuron i with neuron i"
        )
    xp = namespace(m.joint.cross)
    cross, xx, yy = (xp.linalg.diagonal(s) for s in (m.joint.cross, m.x.scatter, m.y.scatter))
    return _result(cross, xx, yy, m.x.constant | m.y.constant, m.n)


def _result(cross: Array, xx: Array, yy: Array, constant: Array, n: int) -> NeuronSimilarity:
    xp = namespace(cross)
    # Each spread has its own root, so that neither a tiny nor a huge neuron under- or overflows.
    scale = xp.where(constant, xp.ones_like(xx), xp.sqrt(xx) * xp.sqrt(yy))
    signed = xp.clip(cross / scale, -1.0, 1.0)
    signed = xp.where(constant, xp.full_like(signed, math.nan), signed)
    left_out = int(xp.sum(xp.astype(constant, xp.int64)))
    if left_out == constant.shape[0]:
        raise UndefinedError("every neuron is constant on one side or the other: none has a correlation")
    value = float(xp.mean(xp.abs(signed[~constant])))
    note = (f"{left_out} of {constant.shape[0]} neurons are constant and left out",) if left_out else ()
    return NeuronSimilarity(value=value, n=n, notes=note, signed=signed, constant=left_out)
