"""Maps: planted rotations are recovered, equal to scipy's, to a naive loop and to recorded values; misuse is told."""

import numpy as np
import pytest
import scipy.linalg
import sklearn.decomposition
import torch

from interlingua.errors import InterlinguaError
from interlingua.mapping import (
    fit_least_squares,
    fit_mean_shift,
    fit_normalisation,
    fit_procrustes,
    fit_ridge,
)
from interlingua.mapping.alignment import WAYS, fit_alignment, fit_reduction, open_alignment, save_alignment
from interlingua.mapping.maps import cross_product, procrustes_of

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


def test_rows_that_come_in_blocks_are_normalised_alike():
    rows = X + RNG.normal(size=12)
    whole = fit_normalisation(rows)

    def blocks():
        return (rows[i : i + 70] for i in range(0, len(rows), 70))

    streamed = fit_normalisation(blocks)
    assert len(streamed.means) == len(whole.means)
    assert streamed.change == pytest.approx(whole.change)
    np.testing.assert_allclose(streamed(rows), whole(rows), atol=1e-12)
    np.testing.assert_allclose(
        fit_normalisation(blocks, rounds=3).means, fit_normalisation(rows, rounds=3).means, atol=1e-12
    )
    with pytest.raises(InterlinguaError, match="give at least 2"):
        fit_normalisation(lambda: iter(()))


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


def test_directions_that_no_row_tells_of_stay_as_near_as_they_can():
    few, turned = X[:5], X[:5] @ ROTATION
    found = fit_procrustes(few, turned).weight
    np.testing.assert_allclose(few @ found, turned, atol=1e-9)
    np.testing.assert_allclose(found @ found.T, np.eye(12), atol=1e-12)
    # rounding, which is another on every processor, changes nothing
    rng = np.random.default_rng(3)
    for _ in range(5):
        again = procrustes_of(few.T @ turned + 1e-14 * rng.normal(size=(12, 12)), 5).weight
        np.testing.assert_allclose(again, found, atol=1e-8)
    # no other map that fits the rows as well is nearer to leaving all as it is
    u, _, vt = np.linalg.svd(few.T @ turned)
    for _ in range(50):
        inner = np.linalg.qr(rng.normal(size=(7, 7)))[0]
        other = u[:, :5] @ vt[:5] + u[:, 5:] @ inner @ vt[5:]
        np.testing.assert_allclose(few @ other, turned, atol=1e-9)
        assert np.trace(other) < np.trace(found)
    np.testing.assert_allclose(fit_procrustes(few, few).weight, np.eye(12), atol=1e-12)
    np.testing.assert_allclose(procrustes_of(np.zeros((12, 12)), 5).weight, np.eye(12), atol=1e-12)


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


def test_ways_of_aligning():
    y = X @ ROTATION + 0.2
    pairs = (range(200), range(200))
    turned = fit_alignment(X, y, pairs)
    left, right = turned.of_source(X), turned.of_target(y)
    # the two sides of one shape: normalised alike, and turned onto each other
    np.testing.assert_allclose(np.linalg.norm(left, axis=1), 1)
    assert np.sum(left * right, axis=1).min() > 0.85
    alone = fit_alignment(X, y, pairs, "normalised")
    assert np.sum(alone.of_source(X) * alone.of_target(y), axis=1).mean() < 0.5
    shifted = fit_alignment(X, X + 3, pairs, "shift")
    np.testing.assert_allclose(shifted.of_target(X + 3), X)
    same = fit_alignment(X, y, pairs, "identity")
    np.testing.assert_array_equal(same.of_source(X), X)
    np.testing.assert_array_equal(same.of_target(y), y)
    bent = fit_alignment(X, y @ RNG.normal(size=(12, 20)), pairs, "least_squares")
    assert bent.of_target(np.ones((2, 20))).shape == (2, 12)


def test_a_wider_side_is_brought_to_its_main_directions():
    wide = np.hstack([X @ ROTATION, 1e-3 * RNG.normal(size=(400, 8))])
    with pytest.raises(InterlinguaError, match="12 and 20 neurons: rotation needs equal widths"):
        fit_alignment(X, wide, (range(400), range(400)))
    aligned = fit_alignment(X, wide, (range(400), range(400)), reduce=True)
    centred = fit_alignment(X - X.mean(0), wide[:, :12] - wide[:, :12].mean(0), (range(400), range(400)))
    assert np.sum(aligned.of_source(X) * aligned.of_target(wide), axis=1).min() > 0.8
    assert np.sum(centred.of_source(X - X.mean(0)) * aligned.of_target(wide), axis=1).mean() > 0.9
    # the main directions are those that scikit-learn finds, up to sign
    theirs = sklearn.decomposition.PCA(5).fit(wide).transform(wide)
    np.testing.assert_allclose(np.abs(fit_reduction(wide, 5)(wide)), np.abs(theirs), atol=1e-8)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("reduce", [False, True])
def test_alignments_are_saved(tmp_path, way, reduce):
    y = np.hstack([X, X[:, :3]]) if reduce else X @ ROTATION + 1
    source, target = {"model": "a", "layer": 3, "language": "en"}, {"model": "b", "layer": 3}
    aligned = fit_alignment(X, y, (range(300), range(300)), way, reduce=reduce, source=source, target=target)
    again = open_alignment(save_alignment(aligned, tmp_path / "fr-en"))
    np.testing.assert_allclose(again.of_source(X, layer=3), aligned.of_source(X), atol=1e-12)
    np.testing.assert_allclose(again.of_target(y, model="b"), aligned.of_target(y), atol=1e-12)
    assert (again.way, again.widths, again.facts) == (way, aligned.widths, {"source": source, "target": target})


def test_misuse_is_told(tmp_path):
    aligned = fit_alignment(X, X, (range(9), range(9)), source={"layer": 3, "model": "a"})
    for call, message in (
        (lambda: aligned.of_source(X, layer=4), "it is for layer 3, and these vectors are of 4"),
        (lambda: aligned.of_source(X, model="c"), "it is for model 'a'"),
        (lambda: aligned.of_target(X, colour="red"), "nothing of 'colour'"),
        (lambda: aligned.of_target(X[:, :5]), "rows have 5 neurons, and the target side has 12"),
        (lambda: fit_alignment(X, X, ([0, 1], [0, 1]), "rotate"), "did you mean rotation"),
        (lambda: fit_alignment(X, X, ([0, 1], [0, 1]), source={"colour": 1}), "nothing of 'colour'"),
        (lambda: fit_alignment(X, X, ([0, 1, 2], [0, 1])), "3"),
        (lambda: fit_alignment(X, X, ([True] * 400, [True] * 400)), "whole numbers"),
        (lambda: fit_alignment(X, X, ([0, 400], [0, 1])), "there is no row 400"),
        (lambda: fit_alignment(X, X, [(0, 0), (1, 1), (2, 2)]), "two lists of row numbers"),
        (lambda: save_alignment(aligned, tmp_path / "no" / "where"), "is no folder"),
        (lambda: fit_reduction(X[:3], 5), "3 rows of 12 neurons have no 5 main directions"),
        (lambda: fit_reduction(X, 5)(X[:, :3]), "rows have 3 neurons, and this was fitted on 12"),
        (lambda: fit_procrustes(X, X)(X[:, :5]), "rows have 5 neurons, and the map takes 12"),
        (lambda: fit_normalisation(X)(X[:, :5]), "rows have 5 neurons, and this was fitted on 12"),
        (lambda: fit_normalisation(X[:1]), "one row less its mean is nothing"),
        (lambda: fit_normalisation(np.zeros((3, 4))), "rows of zeros"),
        (lambda: fit_procrustes(X, X[:5]), "400"),
        (lambda: fit_procrustes(X, X[:, :5]), "12"),
        (lambda: fit_procrustes(X * np.nan, X), "finite|NaN|not a number"),
        (lambda: fit_ridge(X, X, 0), "alpha is 0"),
        (lambda: cross_product([]), "no rows"),
        (lambda: procrustes_of(np.ones((3, 4)), 3), "equal widths"),
        (lambda: open_alignment(tmp_path / "nowhere.npz"), "is not there"),
    ):
        with pytest.raises(InterlinguaError, match=message):
            call()
    for content in (b"no zip", b"", save_alignment(aligned, tmp_path / "cut").read_bytes()[:-300]):
        (tmp_path / "bad.npz").write_bytes(content)
        with pytest.raises(InterlinguaError, match="it is no alignment"):
            open_alignment(tmp_path / "bad")
