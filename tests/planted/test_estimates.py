"""Do intervals of differences cover what was planted, and are they narrower where both sides are of one sample?"""

import hashlib
import json
import math

import numpy as np
import pandas as pd
import pytest

from interlingua.stats.intervals import jackknife, share_interval, without_blocks
from interlingua.studies.estimates import Estimate, MissingRowsError, combined, curve, fisher, mean, pearson, slope
from interlingua.studies.results import COLUMNS, keep, rows_of
from interlingua.studies.study import Cell

BLOCKS = 20


def share(hits, sample="words", blocks=BLOCKS):
    """As a cell keeps it."""
    found = share_interval(hits)
    return Estimate(float(np.mean(hits)), found.low, found.high, len(hits), {sample: without_blocks(hits, blocks)})


def forgetful(one):
    """The same, as results had it before blocks were kept."""
    return Estimate(one.value, one.low, one.high, one.n)


def queries(rng, n=400):
    """Easy and hard words, the same at two layers: the second finds some five points more."""
    hard = rng.normal(size=n)
    return [(hard + rng.normal(scale=0.4, size=n) < bar).astype(float) for bar in (-0.5, -0.35)]


def test_a_difference_on_the_same_words_covers_the_truth_and_is_narrower():
    # hits are shares of a normal of variance 1 + 0.16
    truth = sum(sign * 0.5 * math.erfc(0.5 * gap / 0.58**0.5) for sign, gap in ((1, 0.35), (-1, 0.5)))
    inside = narrower = 0
    draws = 400
    for seed in range(draws):
        low, high = map(share, queries(np.random.default_rng(seed)))
        paired, apart = high - low, forgetful(high) - forgetful(low)
        assert paired.value == pytest.approx(apart.value)
        inside += paired.low <= truth <= paired.high
        narrower += paired.half < apart.half
    assert 0.92 <= inside / draws <= 0.98
    assert narrower > 0.98 * draws


def test_samples_of_their_own_add_up():
    rng = np.random.default_rng(0)
    a, b = (share((rng.random(500) < p).astype(float), sample) for p, sample in ((0.4, "fr"), (0.3, "de")))
    both = a - b
    errors = [jackknife(one.value, next(iter(one.without.values()))).error for one in (a, b)]
    assert both.half == pytest.approx(math.hypot(*errors) * 2.093, rel=1e-3)
    assert both.half == pytest.approx((forgetful(a) - forgetful(b)).half, rel=0.4)
    # and what is made of it goes on knowing both
    again = both - share((rng.random(500) < 0.1).astype(float), "fr")
    assert set(again.without) == {"fr", "de"}


def test_means_slopes_ratios_and_correlations_are_by_the_jackknife():
    rng = np.random.default_rng(1)
    hard = rng.normal(size=600)
    hits = [(hard + rng.normal(scale=0.5, size=600) < bar).astype(float) for bar in np.linspace(-1, 1, 9)]
    layers = [share(each) for each in hits]
    rows = np.stack(hits)
    left_out = np.stack([without_blocks(each) for each in rows])

    def reference(made):
        return jackknife(made(rows.mean(1)), [made(column) for column in left_out.T])

    x = np.arange(9) - 4.0
    for found, made in (
        (mean(layers), np.mean),
        (slope(layers), lambda v: float(x @ v / (x @ x))),
        (layers[2] / layers[6], lambda v: v[2] / v[6]),
        (mean(layers[5:]) - mean(layers[:5]), lambda v: v[5:].mean() - v[:5].mean()),
        (pearson(layers[:4], layers[4:8]), lambda v: float(np.corrcoef(v[:4], v[4:8])[0, 1])),
    ):
        asked = reference(made)
        assert found.value == pytest.approx(made(rows.mean(1)))
        assert (found.low, found.high) == pytest.approx((asked.low, asked.high))
        assert found.n == 600
    # what errs together does not average out, as it would were layers of samples of their own
    assert mean(layers).half > 2 * math.hypot(*(each.half for each in layers)) / 9


def test_without_blocks_everything_is_as_it_was():
    some = [Estimate(float(i), i - 1.0, i + 1.0, 7) for i in range(9)]
    assert mean(some) == Estimate(4, 3, 5, 7)
    assert (some[3] - some[1]).half == pytest.approx(math.sqrt(2))
    found = pearson(some, some[::-1])
    assert found == fisher(-1.0, 9)
    knows = share(np.array([1.0, 0.0] * 20))
    assert combined(np.mean, [knows, some[0]]) is None  # one of them knows nothing
    assert combined(np.mean, [knows, share(np.array([1.0, 0.0] * 20), blocks=8)]) is None  # cut otherwise
    assert mean([knows]) is knows  # its own interval stays


def test_where_nothing_varies_nothing_is_sure():
    none = share(np.zeros(33))
    assert none - none == forgetful(none) - forgetful(none)
    assert (none - none).half > 0.05


def test_two_curves_of_unequal_length_have_no_correlation():
    some = [Estimate(float(i), i - 1.0, i + 1.0, 7) for i in range(9)]
    with pytest.raises(MissingRowsError):
        pearson(some, some[:-1])


class Told:
    """The least of settings and a study that a cell is kept with."""

    axes, later, size, name = (), {}, "mini", "structure"

    def model_dump(self, **_):
        return {"size": "mini"}


def test_blocks_are_kept_and_read_again_and_earlier_results_have_none(tmp_path):
    (tmp_path / "cells").mkdir()
    hits = np.random.default_rng(2).random((2, 90)) < 0.3
    rows = [
        {"layer": layer, "measure": "word p1", "value": float(each.mean()), "low": 0.1, "high": 0.5, "n": 90,
         "sample": "muse 90 0badcafe", "left_out": without_blocks(each)}
        for layer, each in enumerate(hits)
    ]  # fmt: skip
    keep(tmp_path, Told, Cell("c", {}), Told(), 1.0, [*rows, {"measure": "bits", "value": 1.0}])
    found = curve(rows_of(tmp_path, "c").iloc[:2])
    assert [each.without.keys() for each in found] == [{"muse 90 0badcafe"}] * 2
    asked = share(hits[1].astype(float)) - share(hits[0].astype(float))
    assert (found[1] - found[0]).half == pytest.approx(asked.half, rel=1e-3)
    # a table of before: no such columns
    old = pd.read_csv(tmp_path / "cells" / "c.csv").drop(columns=["sample", "left_out"])
    assert set(COLUMNS) - set(old.columns) == {"sample", "left_out"}
    (tmp_path / "cells" / "c.csv").write_bytes(old.to_csv(index=False).encode())
    facts = (tmp_path / "cells" / "c.json").read_text()
    told = json.loads(facts)
    told["table"] = hashlib.sha256((tmp_path / "cells" / "c.csv").read_bytes()).hexdigest()
    (tmp_path / "cells" / "c.json").write_text(json.dumps(told))
    assert [each.without for each in curve(rows_of(tmp_path, "c").iloc[:2])] == [{}, {}]
