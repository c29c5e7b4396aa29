"""Does every promise of the catalogue hold, and does every promise it does not make break?"""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from interlingua.measures import CATALOG
from interlingua.measures.catalog import (
    INVERTIBLE,
    ISOTROPIC,
    ORTHOGONAL,
    PER_NEURON,
    PERMUTATION,
    SIGN,
    TRANSFORMATIONS,
    TRANSLATION,
    find,
)

LIBRARIES = {"numpy": np.asarray, "torch": torch.asarray}
MEASURES = pytest.mark.parametrize("measure", CATALOG, ids=lambda m: m.name)
LIBRARY = pytest.mark.parametrize("library", LIBRARIES)


def pair(seed, n=60, p=5, q=5, noise=0.5):
    """Two sides that share something, with unlike variances and offsets."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, max(p, q)))
    scale = 2.0 ** -np.arange(max(p, q))
    x = (z * scale)[:, :p] + noise * 0.3 * rng.standard_normal((n, p)) + 1.0
    turn = np.linalg.qr(rng.standard_normal((max(p, q), max(p, q))))[0]
    y = (
        (z * scale @ (turn if q != p else np.eye(p) + 0.2 * turn))[:, :q]
        + noise * 0.3 * rng.standard_normal((n, q))
        + 1.5
    )
    return x, y


def transform(name, x, seed):
    rng = np.random.default_rng(seed)
    p = x.shape[1]
    if name == TRANSLATION:
        return x + rng.uniform(-3, 3, p)
    if name == ISOTROPIC:
        return x * rng.uniform(0.01, 100)
    if name == ORTHOGONAL:
        return x @ np.linalg.qr(rng.standard_normal((p, p)))[0]
    if name == INVERTIBLE:
        u, v = (np.linalg.qr(rng.standard_normal((p, p)))[0] for _ in range(2))
        return x @ (u * np.geomspace(1, 8, p)) @ v
    if name == PERMUTATION:
        return x[:, np.roll(np.arange(p), 1 + seed % (p - 1))]
    if name == SIGN:
        return x * np.where(np.arange(p) % 2, -1.0, 1.0)
    assert name == PER_NEURON
    return x * rng.uniform(0.1, 10, p)


def value(measure, library, x, y):
    return measure.function(LIBRARIES[library](x), LIBRARIES[library](y)).value


@MEASURES
@LIBRARY
@pytest.mark.parametrize("name", TRANSFORMATIONS)
@settings(derandomize=True, max_examples=12, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_invariances_hold_on_either_side(measure, library, name, seed):
    if name not in measure.invariances:
        return
    x, y = pair(seed)
    before = value(measure, library, x, y)
    assert value(measure, library, transform(name, x, seed), y) == pytest.approx(before, abs=1e-8)
    assert value(measure, library, x, transform(name, y, seed)) == pytest.approx(before, abs=1e-8)


# One pair and one seed break every promise that is not made.
COUNTEREXAMPLE = pair(3, n=120, p=24, q=24, noise=1.0)


@MEASURES
@LIBRARY
@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_invariances_that_are_not_promised_break(measure, library, name):
    if name in measure.invariances:
        return
    x, y = COUNTEREXAMPLE
    before = value(measure, library, x, y)
    changes = []
    for seed in (1, 2, 3):
        for a, b in ((transform(name, x, seed), y), (x, transform(name, y, seed))):
            try:
                changes.append(abs(value(measure, library, a, b) - before))
            except ValueError:
                # The ratio margin is not even defined once sides point away from one another.
                assert measure.name == "margin"
    assert max(changes, default=1.0) > 1e-4


@MEASURES
@LIBRARY
@settings(derandomize=True, max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), noise=st.floats(0.01, 3))
def test_bounds_hold_and_a_matrix_is_like_itself(measure, library, seed, noise):
    x, y = pair(seed, noise=noise)
    low, high = measure.bounds
    assert low <= value(measure, library, x, y) <= high
    if measure.like_itself:
        assert value(measure, library, x, x) == pytest.approx(1.0, abs=1e-7)


@MEASURES
def test_measures_that_do_not_promise_it_can_find_a_matrix_unlike_itself(measure):
    """Rows that are near to everything lose by local scaling, even against themselves."""
    if not measure.like_itself:
        assert min(value(measure, "numpy", x, x) for x, _ in (pair(s, noise=2.0) for s in (0, 1024, 7, 8))) < 1


@MEASURES
@LIBRARY
def test_symmetry(measure, library):
    x, y = pair(5, p=6, q=6 if measure.needs_equal_width else 4)
    forward, backward = value(measure, library, x, y), value(measure, library, y, x)
    assert (forward == pytest.approx(backward, abs=1e-9)) == measure.symmetric


@MEASURES
@LIBRARY
def test_widths(measure, library):
    x, y = pair(5, p=6, q=4)
    if measure.needs_equal_width:
        with pytest.raises(ValueError, match="x has 6 neurons and y has 4"):
            value(measure, library, x, y)
    else:
        assert np.isfinite(value(measure, library, x, y))


@MEASURES
def test_libraries_agree_and_inputs_are_untouched(measure):
    x, y = pair(11)
    copies = x.copy(), y.copy()
    tensors = torch.asarray(x.copy()), torch.asarray(y.copy())
    assert value(measure, "numpy", x, y) == pytest.approx(measure.function(*tensors).value, abs=1e-10)
    np.testing.assert_array_equal(x, copies[0])
    np.testing.assert_array_equal(y, copies[1])
    np.testing.assert_array_equal(tensors[0].numpy(), copies[0])


@MEASURES
def test_every_measure_is_described(measure):
    text = measure.function.__doc__
    assert len(text.splitlines()[0]) > 20
    assert find(measure.name) is measure
    assert measure.function.__name__ == measure.name
    assert measure.reference


def test_unknown_names_say_what_is_close():
    with pytest.raises(ValueError, match="unknown measure 'linear_ckaa': did you mean linear_cka"):
        find("linear_ckaa")
    assert len({m.name for m in CATALOG}) == len(CATALOG)
