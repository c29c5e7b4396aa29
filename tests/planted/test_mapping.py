"""Maps: planted rotations are recovered, equal to scipy's, to a naive loop and to recorded values; misuse is told."""

import numpy as np
import pytest
import scipy.linalg
import torch

from interlingua.errors import InterlinguaError
from interlingua.mapping import (
    fit_least_squares,
    fit_mean_shift,
    fit_normalisation,
    fit_procrustes,
    fit_ridge,
)
from interlingua.mapping.maps import cross_product, open_map, procrustes_of, save_map

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 12)) @ np.diag(np.linspace(3, 0.3, 12)) + RNG.normal(size=12)
ROTATION = scipy.linalg.qr(RNG.normal(size=(12, 12)))[0]


def test_normalisation_is_the_loop_and_leaves_unit_rows_around_zero():
    fitted = fit_normalisation(X)
    rows = X / np.linalg.norm(X, axis=1, keepdims=True)
    for _ in range(len(fitted.means)):
        rows = rows - rows.mean(0)
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    out = fitted(X)
    np.testing.assert_allclose(out, rows, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(out, axis=1), 1)
    assert np.linalg.norm(out.mean(0)) < 1e-5
    assert fitted.change <= 1e-6
    # rows that had no part in it are treated by the same means, one by one
    np.testing.assert_allclose(fitted(X[:3]), out[:3], atol=1e-12)
    held = torch.as_tensor(X)
    np.testing.assert_allclose(fit_normalisation(held)(held).numpy(), out, atol=1e-10)


def test_normalisation_equals_an_independent_implementation():
    """Five rounds on standard normal rows of seed 0, as computed elsewhere."""
    x = np.random.default_rng(0).standard_normal((200, 16))
    out = fit_normalisation(x, rounds=5)(x)
    wanted = [0.04358099339758417, -0.029040297052394033, 0.19654157500489935, 0.03743208548321809]
    np.testing.assert_allclose(out[0, :4], wanted, atol=1e-12)
    assert np.linalg.norm(out.mean(0)) == pytest.approx(2.7320195811869636e-07, rel=1e-6)


def test_a_planted_rotation_is_recovered():
    fitted = fit_procrustes(X, X @ ROTATION)
    np.testing.assert_allclose(fitted.weight, ROTATION, atol=1e-10)
    np.testing.assert_allclose(fitted(X), X @ ROTATION, atol=1e-9)
    noisy = X @ ROTATION + 0.5 * RNG.normal(size=X.shape)
    found = fit_procrustes(X, noisy)
    np.testing.assert_allclose(found.weight, scipy.linalg.orthogonal_procrustes(X, noisy)[0], atol=1e-10)
    np.testing.assert_allclose(found.weight @ found.weight.T, np.eye(12), atol=1e-12)
    # What theory gives: a skew part S with variance σ²/(λᵢ² + λⱼ²) for directions of energy λ² = Σx².
    energy = (np.linalg.svd(X, compute_uv=False) ** 2).tolist()
    expected = sum(0.25 / (a + b) for i, a in enumerate(energy) for j, b in enumerate(energy) if i != j)
    errors = []
    for seed in range(1, 61):
        rng = np.random.default_rng(seed)
        other = fit_procrustes(X, X @ ROTATION + 0.5 * rng.normal(size=X.shape))
        errors.append(np.linalg.norm(other.weight - ROTATION) ** 2)
    assert np.mean(errors) == pytest.approx(expected, rel=0.15)


def test_blocks_give_the_same_rotation():
    y = X @ ROTATION
    cross, n = cross_product((X[i : i + 90], y[i : i + 90]) for i in range(0, 400, 90))
    assert n == 400
    np.testing.assert_allclose(procrustes_of(cross, n).weight, ROTATION, atol=1e-10)


def test_other_maps():
    matrix = RNG.normal(size=(12, 5))
    y = X @ matrix + 3
    exact = fit_least_squares(X, y)
    np.testing.assert_allclose(exact(X), y, atol=1e-8)
    np.testing.assert_allclose(exact.weight, matrix, atol=1e-8)
    np.testing.assert_allclose(fit_ridge(X, y, 1e-9)(X), y, atol=1e-5)
    strong = fit_ridge(X, y, 1e12)(X)
    np.testing.assert_allclose(strong, np.broadcast_to(y.mean(0), y.shape), atol=1e-4)
    centred = X - X.mean(0)
    wanted = np.linalg.solve(centred.T @ centred + 7 * np.eye(12), centred.T @ (y - y.mean(0)))
    np.testing.assert_allclose(fit_ridge(X, y, 7).weight, wanted, atol=1e-10)
    shifted = fit_mean_shift(X, X + 5)
    np.testing.assert_allclose(shifted(X), X + 5)


def test_maps_are_saved_and_know_what_they_are_for(tmp_path):
    source = {"model": "a", "layer": 3, "language": "fr"}
    fitted = fit_procrustes(X, X @ ROTATION, source=source, target={"model": "b", "layer": 3})
    place = save_map(fitted, tmp_path / "fr-en")
    again = open_map(place)
    np.testing.assert_array_equal(again.weight, fitted.weight)
    assert (again.kind, again.n, again.source, again.target) == ("rotation", 400, source, {"model": "b", "layer": 3})
    np.testing.assert_array_equal(again(X, layer=3), fitted(X))
    with_shift = open_map(save_map(fit_mean_shift(X, X + 1), tmp_path / "shift.npz"))
    np.testing.assert_allclose(with_shift(X), X + 1)
    for call, message in (
        (lambda: again(X, layer=4), "the map is for layer 3, and these vectors are of 4"),
        (lambda: again(X, model="c"), "the map is for model 'a'"),
        (lambda: again(X, colour="red"), "nothing of 'colour'"),
        (lambda: again(X[:, :5]), "rows have 5 neurons, and the map takes 12"),
        (lambda: fit_normalisation(X)(X[:, :5]), "rows have 5 neurons, and this was fitted on 12"),
        (lambda: fit_normalisation(X[:1]), "one row less its mean is nothing"),
        (lambda: fit_normalisation(np.zeros((3, 4))), "rows of zeros"),
        (lambda: fit_procrustes(X, X[:5]), "400"),
        (lambda: fit_procrustes(X, X[:, :5]), "12"),
        (lambda: fit_procrustes(X * np.nan, X), "finite|NaN|not a number"),
        (lambda: fit_procrustes(X, X, place={}), "not of 'place'"),
        (lambda: fit_procrustes(X, X, source={"colour": 1}), "not 'colour'"),
        (lambda: fit_ridge(X, X, 0), "alpha is 0"),
        (lambda: cross_product([]), "no rows"),
        (lambda: procrustes_of(np.ones((3, 4)), 3), "equal widths"),
        (lambda: open_map(tmp_path / "nowhere.npz"), "is not there"),
    ):
        with pytest.raises(InterlinguaError, match=message):
            call()
    (tmp_path / "bad.npz").write_bytes(b"no zip")
    with pytest.raises(InterlinguaError, match="it is no map"):
        open_map(tmp_path / "bad.npz")
