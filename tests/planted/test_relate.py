"""Similarity and gaps: a planted relation comes back, none gives uniform p-values, and intervals hold what they say."""

import numpy as np
import pytest
import scipy.stats

from interlingua.analyses.relate import BEFORE, foretell, foretold, relations
from interlingua.errors import InputError, UndefinedError

LANGS = tuple(f"l{i}" for i in range(9))


def table(values_ln, measure="anc", state=BEFORE):
    return [
        {"state": state, "measure": measure, "layer": layer, "language": lang, "value": float(value)}
        for layer, row in enumerate(values_ln)
        for lang, value in zip(LANGS, row, strict=False)
    ]


@pytest.mark.parametrize("sign", [1, -1])
def test_a_planted_relation_comes_back_with_its_sign(sign):
    rng = np.random.default_rng(0)
    similarity = rng.random((3, 9))
    gaps = dict(zip(LANGS, (sign * similarity[1] - 1).tolist(), strict=True))
    found = {row["layer"]: row for row in relations(table(similarity), gaps)}
    assert found[1]["rho"] == pytest.approx(sign)
    assert found[1]["p"] < 0.001
    assert found[1]["p"] <= found[1]["p_adjusted"] < 0.003
    for layer, row in found.items():
        assert row["rho"] == pytest.approx(scipy.stats.spearmanr(similarity[layer], list(gaps.values())).statistic)
        assert row["n"] == 9


def test_without_a_relation_p_values_are_uniform():
    rng = np.random.default_rng(1)
    found = []
    for _ in range(200):
        gaps = dict(zip(LANGS[:7], rng.random(7).tolist(), strict=True))
        found += [row["p"] for row in relations(table(rng.random((1, 7))), gaps)]
    assert scipy.stats.kstest(found, "uniform").pvalue > 0.01
    assert 0.02 < np.mean(np.array(found) <= 0.05) < 0.1


def test_few_languages_have_no_p_value_and_constants_no_relation():
    gaps = dict(zip(LANGS[:5], [0.1, 0.2, 0.3, 0.5, 0.4], strict=True))
    similarity = np.array([[1.0, 2, 3, 4, 5], [1, 1, 1, 1, 1]])
    (row,) = relations(table(similarity), gaps)
    assert (row["layer"], row["p"], row["p_adjusted"]) == (0, None, None)
    assert row["rho"] == pytest.approx(0.9)


def test_a_language_without_labels_is_foretold():
    rng = np.random.default_rng(2)
    similarity = rng.random((4, 9))
    scores = dict(zip(LANGS[:8], (0.3 + 0.5 * similarity[2, :8]).tolist(), strict=True))
    rows = {row["language"]: row for row in foretold(table(similarity), scores)}
    assert set(rows) == set(LANGS)
    new = rows["l8"]
    assert new["score"] is None
    assert new["layer"] == 2
    assert new["foretold"] == pytest.approx(0.3 + 0.5 * similarity[2, 8])
    assert new["usual"] == pytest.approx(np.mean(list(scores.values())))
    for lang, value in scores.items():
        assert rows[lang]["foretold"] == pytest.approx(value)
        assert rows[lang]["languages"] == 7


def test_where_nothing_is_told_it_is_the_mean_of_the_others():
    """A falling line is none, and so is one that foretells worse than the mean."""
    scores = np.array([0.2, 0.3, 0.4, 0.5, 0.6])
    falling = foretell(-scores[None], scores, np.array([-0.9]))
    assert (falling.layer, falling.value) == (None, pytest.approx(0.4))
    zigzag = np.array([[0.5, 0.1, 0.9, 0.1, 0.6]])
    assert foretell(zigzag, scores, np.array([0.5])).layer is None


def test_intervals_hold_about_four_of_five_languages():
    rng = np.random.default_rng(3)
    held = []
    for _ in range(400):
        similarity = rng.random((3, 9))
        scores = 0.3 + 0.4 * similarity[1] + rng.normal(0, 0.03, 9)
        made = foretell(similarity[:, :8], scores[:8], similarity[:, 8])
        held.append(made.low <= scores[8] <= made.high)
        assert made.low <= made.value <= made.high
    assert 0.75 < np.mean(held) < 0.95


def test_too_little_is_told():
    with pytest.raises(UndefinedError, match="at least 4"):
        foretell(np.ones((2, 3)), np.ones(3), np.ones(2))
    with pytest.raises(InputError, match="do not fit"):
        foretell(np.ones((2, 5)), np.ones(5), np.ones(3))
    assert not list(foretold(table(np.random.default_rng(0).random((2, 4))), dict.fromkeys(LANGS[:4], 0.5)))
