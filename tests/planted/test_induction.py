"""Induced dictionaries: a planted lexicon under a rotation is found again; CSLS and precision equal naive loops."""

import numpy as np
import pytest
import scipy.linalg
import torch

from interlingua.errors import InterlinguaError
from interlingua.mapping import fit_alignment
from interlingua.mapping.induce import (
    Words,
    check_apart,
    induce,
    neighbourhoods,
    neighbours,
    pairs_of,
    refine,
)
from interlingua.types import Dictionary

RNG = np.random.default_rng(5)
N, D = 1500, 40
ROTATION = scipy.linalg.qr(RNG.normal(size=(D, D)))[0]
SOURCE = RNG.normal(size=(N, D))
NOISE = RNG.normal(size=(N, D))
ENGLISH = Words(tuple(f"e{i}" for i in range(N)), SOURCE)


def french(noise):
    return Words(tuple(f"f{i}" for i in range(N)), SOURCE @ ROTATION + noise * NOISE)


def dictionary(places, more=()):
    pairs = [(f"e{i}", f"f{i}", None) for i in places] + [(a, b, None) for a, b in more]
    return Dictionary.from_pairs("en", "fr", pairs)


def naive_csls(queries, candidates, vocabulary, k):
    def unit(x):
        return x / np.linalg.norm(x, axis=1, keepdims=True)

    q, c, v = unit(queries), unit(candidates), unit(vocabulary)
    near = np.array([np.sort(v @ row)[-k:].mean() for row in c])
    own = np.array([np.sort(c @ row)[-k:].mean() for row in q])
    return near, 2 * q @ c.T - near[None] - own[:, None]


def test_csls_equals_a_naive_computation():
    other = french(0.5)
    near, scores = naive_csls(SOURCE[:70] @ ROTATION, other.vectors, SOURCE @ ROTATION, 10)
    found = neighbourhoods(SOURCE @ ROTATION, other.vectors, 10)
    np.testing.assert_allclose(found, near, atol=1e-12)
    nearest = neighbours(SOURCE[:70] @ ROTATION, other.vectors, 7, scale=found)
    assert nearest == np.argsort(-scores, axis=1)[:, :7].tolist()
    tensors = neighbours(
        torch.as_tensor(SOURCE[:70] @ ROTATION), torch.as_tensor(other.vectors), 7, scale=torch.as_tensor(found)
    )
    assert tensors == nearest


def aligned(other, places):
    return fit_alignment(SOURCE, other.vectors, pairs_of(ENGLISH, other, dictionary(places)))


def together(how, other):
    return Words(ENGLISH.words, how.of_source(SOURCE)), Words(other.words, how.of_target(other.vectors))


def test_a_planted_lexicon_is_found():
    other = french(0.3)
    both = together(aligned(other, range(200)), other)
    test = dictionary(range(200, 500), more=[("e200", "f7"), ("unknown", "f3"), ("e300", "nowhere")])
    check_apart(dictionary(range(200)), test)
    result = induce(*both, test)
    assert result.precision[1] > 0.97
    assert result.precision[1] <= result.precision[5] <= result.precision[10] <= 1
    assert (result.n, result.coverage) == (300, pytest.approx(300 / 301))
    assert result.chance == pytest.approx(301 / 300 / N)
    hits = np.mean([any(w == f"f{i}" for w in result.found[f"e{i}"][:1]) for i in range(201, 500)])
    assert result.precision[1] == pytest.approx(hits, abs=1 / 300)
    # no map, no translation
    assert induce(ENGLISH, other, test).precision[1] < 0.02


def test_more_pairs_and_refinement_help():
    other = french(1.0)
    test = dictionary(range(1000, 1500))
    shares = [induce(*together(aligned(other, range(n)), other), test).precision[1] for n in (20, 100, 1000)]
    assert shares[0] < shares[1] < shares[2]
    few = aligned(other, range(60))
    better = refine(few, SOURCE, other.vectors, rounds=3)
    assert better.way == "refined"
    assert induce(*together(better, other), test).precision[1] > induce(*together(few, other), test).precision[1] + 0.05


def test_hubs_are_held_against_a_word():
    """One word that is near to everything wins by cosine and not by CSLS."""
    other = french(0.8)
    hub = np.vstack([other.vectors + 2.0, (other.vectors + 2.0).mean(0, keepdims=True)])
    left, right = Words(ENGLISH.words, SOURCE @ ROTATION + 2.0), Words((*other.words, "hub"), hub)
    by = {how: induce(left, right, dictionary(range(400)), by=how) for how in ("cosine", "csls")}
    hubs = {how: sum(found[0] == "hub" for found in each.found.values()) for how, each in by.items()}
    assert hubs["cosine"] > 10 * max(hubs["csls"], 1)
    assert by["csls"].precision[1] > by["cosine"].precision[1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Words(("a",), SOURCE), "1 words and 1500 vectors"),
        (lambda: Words(("a", "a"), SOURCE[:2]), "1 words have more than one vector"),
        (lambda: check_apart(dictionary(range(5)), dictionary(range(4, 9))), "1 words are in both dictionaries \\(e4"),
        (lambda: pairs_of(ENGLISH, ENGLISH, dictionary(range(5))), "no pair in common"),
        (
            lambda: induce(ENGLISH, ENGLISH, dictionary(range(5))),
            "none of the 5 words of the dictionary has a vector",
        ),
        (
            lambda: refine(fit_alignment(SOURCE, SOURCE, ([0, 1], [0, 1]), "shift"), SOURCE, SOURCE),
            "a rotation is refined, and this is shift",
        ),
        (lambda: neighbours(SOURCE, SOURCE, 3), "CSLS needs the neighbourhoods"),
        (lambda: neighbours(SOURCE, SOURCE, 3, by="cosin"), "did you mean cosine"),
        (lambda: neighbourhoods(SOURCE[:5], SOURCE, 10), "5 rows have no 10 nearest"),
        (lambda: neighbours(SOURCE * np.nan, SOURCE, 3, by="cosine"), "NaN|finite"),
    ],
)
def test_misuse_is_told(call, message):
    with pytest.raises(InterlinguaError, match=message):
        call()
