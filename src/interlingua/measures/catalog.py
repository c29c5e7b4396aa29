"""Every measure, and what it promises. The contract tests read this: each promise is kept, each one not made is broken.

A transformation is applied to either side alone; an invariance is promised when the value stays the same for both. A
line here enrols a measure in the tests and the documentation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from interlingua.errors import UnknownNameError
from interlingua.measures.anc import anc
from interlingua.measures.cca import cca_mean, cca_r2, pwcca, pwcca_symmetric, svcca
from interlingua.measures.cka import debiased_cka, linear_cka, rbf_cka
from interlingua.measures.published import anc_signed, cca_top98, pwcca_google, svcca_top20
from interlingua.measures.retrieval import csls, margin, matching
from interlingua.measures.shape import mutual_knn, procrustes, rsa

TRANSLATION = "translation"
ISOTROPIC = "isotropic scaling"
ORTHOGONAL = "orthogonal map"
INVERTIBLE = "invertible linear map"
PERMUTATION = "permutation of neurons"
SIGN = "sign flip of neurons"
PER_NEURON = "scaling of single neurons"
TRANSFORMATIONS = (TRANSLATION, ISOTROPIC, ORTHOGONAL, INVERTIBLE, PERMUTATION, SIGN, PER_NEURON)

_RIGID = frozenset({TRANSLATION, ISOTROPIC, ORTHOGONAL, PERMUTATION, SIGN})
_AXES = frozenset({TRANSLATION, ISOTROPIC, PERMUTATION, SIGN})
_UNIT, _SIGNED, _ANY = (0.0, 1.0), (-1.0, 1.0), (-math.inf, math.inf)


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure and its promises. `revision` goes up whenever the same input gives another number."""

    name: str
    function: Callable[..., Any]
    bounds: tuple[float, float]
    symmetric: bool
    needs_equal_width: bool
    invariances: frozenset[str]
    reference: str
    revision: int = 1
    # whether f(x, x) is 1
    like_itself: bool = True


_NEURONS = frozenset({TRANSLATION, ISOTROPIC, PER_NEURON})
_ALL = frozenset(TRANSFORMATIONS)
_SCALE = frozenset({ISOTROPIC})

# fmt: off
CATALOG: tuple[Measure, ...] = (
    #       name               function                 bounds     symmetric  equal width  invariances        reference
    Measure("anc",             anc,                     _UNIT,       True,    True,  _NEURONS | {SIGN},       "Del & Fishel 2022"),
    Measure("linear_cka",      linear_cka,              _UNIT,       True,    False, _RIGID,                  "Kornblith et al. 2019"),
    Measure("debiased_cka",    debiased_cka,            _ANY,        True,    False, _RIGID,                  "Song et al. 2012"),
    Measure("rbf_cka",         rbf_cka,                 _UNIT,       True,    False, _RIGID,                  "Kornblith et al. 2019"),
    Measure("cca_mean",        cca_mean,                _UNIT,       True,    False, _ALL,                    "Hotelling 1936"),
    Measure("cca_r2",          cca_r2,                  _UNIT,       False,   False, _ALL,                    "Del & Fishel 2022"),
    Measure("svcca",           svcca,                   _UNIT,       True,    False, _RIGID,                  "Raghu et al. 2017"),
    Measure("pwcca",           pwcca,                   _UNIT,       False,   False, _AXES,                   "Morcos et al. 2018"),
    Measure("pwcca_symmetric", pwcca_symmetric,         _UNIT,       True,    False, _AXES,                   "Morcos et al. 2018"),
    Measure("procrustes",      procrustes,              _UNIT,       True,    False, _RIGID,                  "Williams et al. 2021"),
    Measure("rsa",             rsa,                     _SIGNED,     True,    False, _SCALE | {PERMUTATION},  "Kriegeskorte et al. 2008"),
    Measure("mutual_knn",      mutual_knn,              _UNIT,       True,    False, _RIGID - {TRANSLATION},  "Huh et al. 2024"),
    Measure("matching",        matching,                _UNIT,       True,    True,  _SCALE,                  "Del & Fishel 2022"),
    Measure("csls",            csls,                    _UNIT,       True,    True,  _SCALE,     "Conneau et al. 2018", like_itself=False),
    Measure("margin",          margin,                  _UNIT,       True,    True,  _SCALE,                  "Artetxe & Schwenk 2019", like_itself=False),
    # Variants that others publish under these names.
    Measure("anc_signed",      anc_signed,              _SIGNED,     True,    True,  _NEURONS,                "code of Del & Fishel 2022"),
    Measure("cca_top98",       cca_top98,               _UNIT,       True,    False, _ALL,                    "google/svcca"),
    Measure("svcca_top20",     svcca_top20,             _UNIT,       True,    False, _RIGID,                  "ecco, xsim"),
    Measure("pwcca_google",    pwcca_google,            _UNIT,       False,   False, _SCALE,                  "google/svcca"),
)
# fmt: on


def find(name: str) -> Measure:
    """The measure of a name; an error that says what is close where there is none."""
    for measure in CATALOG:
        if measure.name == name:
            return measure
    raise UnknownNameError("measure", name, (measure.name for measure in CATALOG))
