"""Do intervals cover, are p-values uniform where there is nothing, and does noise give no pattern?"""

import math

import numpy as np
import pytest
from scipy import stats as reference

from interlingua import measures, stats
from interlingua.errors import InterlinguaError
from interlingua.measures.anc import anc_from
from interlingua.measures.cka import debiased_cka_from, linear_cka_from
from interlingua.measures.moments import leave_one_out, merge, moments

N, P, BLOCKS, DRAWS = 400, 10, 20, 500


def draw(seed):
    """Two sides of 400 rows that share a decaying part: rows are independent of one another."""
    rng = np.random.default_rng([77, seed])
    z = rng.standard_normal((N, P)) * np.geomspace(1, 0.3, P)
    return z + 0.5 * rng.standard_normal((N, P)), 0.8 * z + 0.6 * rng.standard_normal((N, P))


@pytest.fixture(scope="module")
def intervals():
    """Value and interval of three measures in every draw."""
    found = {"anc": [], "linear_cka": [], "debiased_cka": []}
    of = {"anc": anc_from, "linear_cka": linear_cka_from, "debiased_cka": debiased_cka_from}
    for seed in range(DRAWS):
        x, y = draw(seed)
        parts = [moments(a, b) for a, b in zip(np.split(x, BLOCKS), np.split(y, BLOCKS), strict=True)]
        whole, without = merge(parts), list(leave_one_out(parts))
        for name, measure in of.items():
            value = measure(whole).value
            found[name].append((value, stats.jackknife(value, [measure(m).value for m in without])))
    return found


@pytest.mark.parametrize("name", ["anc", "linear_cka", "debiased_cka"])
def test_intervals_cover_the_expectation(intervals, name):
    expectation = np.mean([value for value, _ in intervals[name]])
    covered = np.mean([expectation in interval for _, interval in intervals[name]])
    assert 0.92 <= covered <= 0.98
    errors = np.mean([interval.error for _, interval in intervals[name]])
    spread = np.std([value for value, _ in intervals[name]])
    assert errors == pytest.approx(spread, rel=0.15)


def test_intervals_of_matching_cover():
    """Hits of sentences, the pool being fixed: the expectation is over sentences."""
    rng = np.random.default_rng(5)
    pool = rng.standard_normal((300, 8))
    values, found = [], []
    for seed in range(DRAWS):
        noise = np.random.default_rng([6, seed]).standard_normal((300, 8))
        hits = measures.matching(pool + 0.9 * noise, pool).hits
        both = np.asarray(hits, float).mean(0)
        values.append(both.mean())
        found.append(stats.share_interval(both))
    covered = np.mean([np.mean(values) in interval for interval in found])
    assert 0.92 <= covered <= 0.985


def test_p_values_are_uniform_where_nothing_is_aligned():
    found = []
    for seed in range(200):
        rng = np.random.default_rng([8, seed])
        x, y = rng.standard_normal((30, 3)), rng.standard_normal((30, 3))
        value = measures.linear_cka(x, y).value
        found.append(stats.shuffled(measures.linear_cka, x, y, value, shuffles=39, rng=rng).p)
    assert reference.kstest(found, "uniform").pvalue > 0.01
    assert min(found) >= 1 / 40


def test_the_null_of_what_is_aligned():
    x, y = draw(0)
    value = measures.linear_cka(x, y).value
    null = stats.shuffled(measures.linear_cka, x, y, value, rng=0)
    assert len(null.values) == 5
    assert null.p is None
    assert null.mean < 0.1 < value
    again = stats.shuffled(measures.linear_cka, x, y, value, rng=0)
    assert again.values == null.values
    assert stats.shuffled(measures.linear_cka, x, y, value, shuffles=199, rng=0).p == 1 / 200


@pytest.mark.parametrize("shared", [0.0, 3.0])
def test_noise_has_no_pattern(shared):
    """Flat curves, whether layers are independent or move together from block to block."""
    found = 0
    for seed in range(400):
        rng = np.random.default_rng([9, seed])
        found += stats.align_then_predict(rng.standard_normal((20, 13)) + shared * rng.standard_normal((20, 1))).holds
    assert found / 400 <= 0.05


def test_a_planted_pattern_is_found():
    curve = np.array([0.2, 0.4, 0.6, 0.7, 0.72, 0.7, 0.6, 0.5, 0.3])
    rng = np.random.default_rng(1)
    found = stats.align_then_predict(curve + 0.05 * rng.standard_normal((20, 9)))
    assert found.holds
    assert set(found.peaks) <= {3, 4, 5}
    assert found.rise == pytest.approx(0.5, abs=0.05)
    assert found.fall == pytest.approx(0.4, abs=0.05)
    rising = stats.align_then_predict(np.linspace(0, 1, 9) + 0.05 * rng.standard_normal((20, 9)))
    assert not rising.holds


def test_differences_on_the_same_rows():
    x, y = draw(1)
    z = y + 0.05 * np.random.default_rng(0).standard_normal(y.shape)
    values, without = [], []
    for other in (y, z):
        parts = [moments(a, b) for a, b in zip(np.split(x, BLOCKS), np.split(other, BLOCKS), strict=True)]
        values.append(anc_from(merge(parts)).value)
        without.append([anc_from(m).value for m in leave_one_out(parts)])
    found = stats.difference(*values, *without)
    alone = stats.jackknife(values[0], without[0])
    assert found.interval.error < alone.error / 3
    assert (found.p < 0.05) == (0 not in found.interval) or abs(found.p - 0.05) < 0.02
    same = stats.difference(values[0], values[0], without[0], without[0])
    assert (same.value, same.p) == (0, 1)
    with pytest.raises(ValueError, match="must leave out the same blocks"):
        stats.difference(*values, without[0], without[1][:-1])


def test_correlations_equal_scipy():
    rng = np.random.default_rng(2)
    x = rng.standard_normal(12).round(1)
    y = (x + rng.standard_normal(12)).round(1)
    for ours, theirs in ((stats.pearson, reference.pearsonr), (stats.spearman, reference.spearmanr)):
        found, expected = ours(x, y, rng=0), theirs(x, y)
        assert found.value == pytest.approx(expected.statistic, abs=1e-12)
        assert found.p == pytest.approx(expected.pvalue, abs=0.03)
    exact = stats.spearman(x[:6], y[:6], rng=0)

    def statistic(a):
        return reference.spearmanr(a, y[:6]).statistic

    test = reference.permutation_test((x[:6],), statistic, permutation_type="pairings", n_resamples=10**6)
    assert exact.p == pytest.approx(test.pvalue, abs=1e-9)
    assert stats.pearson(x[:5], y[:5], rng=0).p is None


def test_correlations_are_uniform_under_no_relation():
    found = [
        stats.spearman(*np.random.default_rng([3, s]).standard_normal((2, 10)), rng=s, draws=199).p for s in range(300)
    ]
    assert reference.kstest(found, "uniform").pvalue > 0.01


def test_corrections_for_many_tests():
    p = [0.01, 0.04, 0.03, 0.005, 0.5]
    np.testing.assert_allclose(stats.adjusted(p, method="bh"), reference.false_discovery_control(p))
    assert stats.adjusted(p) == pytest.approx([0.04, 0.09, 0.09, 0.025, 0.5])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stats.jackknife(1.0, [1.0]), "1 blocks give no interval"),
        (lambda: stats.share_interval([1.0]), "1 values give no interval"),
        (lambda: stats.share_interval([1.0, 0.0], confidence=2), "between 0 and 1"),
        (lambda: stats.spearman([1, 2], [1, 2], rng=0), "at least 3"),
        (lambda: stats.spearman([1, 2, 3], [1, 2], rng=0), "3 values and 2"),
        (lambda: stats.spearman([1, 1, 1], [1, 2, 3], rng=0), "constant"),
        (lambda: stats.spearman([1, math.nan, 1], [1, 2, 3], rng=0), "finite"),
        (lambda: stats.adjusted([2.0]), "from 0 to 1"),
        (lambda: stats.adjusted([0.2], method="x"), "unknown correction"),
        (lambda: stats.align_then_predict(np.zeros((4, 4))), "at least 8 blocks"),
        (lambda: stats.align_then_predict(np.full((8, 4), np.nan)), "finite"),
        (lambda: stats.shuffled(measures.anc, np.eye(3), np.eye(3), 0.1, shuffles=0, rng=0), "no null"),
    ],
)
def test_mistakes_are_told(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("share", [0.01, 0.05, 0.5, 0.99])
@pytest.mark.parametrize("together", [True, False])
def test_intervals_of_shares_cover_near_the_ends_too(share, together):
    """Two directions that hit together, or each on its own."""
    found = []
    for seed in range(DRAWS):
        rng = np.random.default_rng([11, seed])
        first = rng.random(300) < share
        second = first if together else rng.random(300) < share
        found.append(stats.share_interval((first.astype(float) + second) / 2))
    assert all(0 <= i.low <= i.high <= 1 for i in found)
    assert 0.91 <= np.mean([share in i for i in found]) <= 0.99
    for n in range(2, 300):
        assert stats.share_interval(np.zeros(n)).low == 0
        assert stats.share_interval(np.ones(n)).high == 1
    none = stats.share_interval(np.zeros(100))
    assert none.low == 0
    assert 0.02 < none.high < 0.06


@pytest.mark.parametrize("blocks", [5, 10, 20])
def test_differences_of_nothing_are_seldom_found(blocks):
    """Two models that are equally good: p is below 0.05 in about one draw of twenty, at any number of blocks."""
    below = []
    for seed in range(400):
        rng = np.random.default_rng([12, seed])
        sides = [rng.standard_normal((2, 10 * blocks)) for _ in range(2)]
        values, without = [], []
        for rows in sides:
            hits = rows.sum(0)
            values.append(hits.mean())
            without.append([np.delete(hits, slice(10 * b, 10 * b + 10)).mean() for b in range(blocks)])
        below.append(stats.difference(*values, *without).p < 0.05)
    assert 0.02 <= np.mean(below) <= 0.08


def test_p_values_of_what_is_no_number():
    assert stats.p_value(math.nan, [0.1] * 199) is None
    assert stats.p_value(0.5, [0.1] * 198 + [math.nan]) is None
    for call in (
        lambda: stats.jackknife(0.5, [0.1, math.nan]),
        lambda: stats.share_interval([0.5, math.nan]),
        lambda: stats.pearson([1, 2, 3], ["a", "b", "c"], rng=0),
        lambda: stats.pearson([1, 2, 3], [1, 2, 4], rng=0, draws=-1),
        lambda: stats.pearson([0.1] * 7, range(7), rng=0),
        lambda: stats.align_then_predict(np.zeros((8, 3)), confidence=2),
    ):
        with pytest.raises(InterlinguaError):
            call()
