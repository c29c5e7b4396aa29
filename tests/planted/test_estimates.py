"""Do intervals of differences cover what was planted, and are they narrower where both sides are of one sample?"""

import hashlib
import json
import math
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest

from interlingua.stats.intervals import jackknife, share_interval, without_blocks
from interlingua.studies.estimates import (
    Estimate,
    MissingRowsError,
    best,
    combined,
    curve,
    fisher,
    mean,
    slope,
    together,
)
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


def test_means_slopes_and_ratios_are_by_the_jackknife():
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
    assert together(some, some[::-1]).value == pytest.approx(-1, abs=1e-5)
    assert together(some, some[::-1]).low == pytest.approx(fisher(-1.0, 9).low)
    knows = share(np.array([1.0, 0.0] * 20))
    assert combined(np.mean, [knows, some[0]]) is None  # one of them knows nothing
    assert combined(np.mean, [knows, share(np.array([1.0, 0.0] * 20), blocks=8)]) is None  # cut otherwise
    assert mean([knows]) is knows  # its own interval stays


def test_where_nothing_varies_nothing_is_sure():
    rng = np.random.default_rng(5)
    none, some = share(np.zeros(33)), share((rng.random(400) < 0.3).astype(float), "others")
    assert none - none == forgetful(none) - forgetful(none)
    assert (none - none).half > 0.05
    # one of two samples does not vary: the other alone says too little
    assert mean([none, some]) == mean([forgetful(none), forgetful(some)])
    # what is the same but for rounding
    nearly = Estimate(
        some.value, some.low, some.high, some.n, {"others": tuple(v + 1e-17 for v in some.without["others"])}
    )
    assert slope([some, nearly, some]).half > 0.01
    assert combined(lambda v: 1 / (v[0] - v[0]), [some]) is None
    assert combined(lambda v: math.inf, [some]) is None


def test_factors_keep_blocks_and_what_was_published_and_maxima_have_none():
    rng = np.random.default_rng(6)
    some = share((rng.random(400) < 0.3).astype(float))
    assert (some * -2 - some).half == pytest.approx(3 * (some - share(np.zeros(400)) * 1).half, rel=0.2)
    assert (some * -2).without["words"][3] == pytest.approx(-2 * some.without["words"][3])
    assert best([some, some * 2]) == forgetful(some * 2)
    assert not best([some, some * 2]).without
    rows = [
        {
            "layer": 0,
            "value": 0.3,
            "published": 0.4,
            "low": 0.2,
            "high": 0.4,
            "n": 9,
            "sample": "s",
            "without": "0.3 0.2",
        }
    ]
    exact, theirs = (curve(pd.DataFrame(rows), published=each)[0] for each in (False, True))
    assert (exact.without, theirs.without) == ({"s": (0.3, 0.2)}, {})


def test_a_correlation_of_two_samples_covers_the_truth():
    """Nine layers: one curve rises and falls over 1,000 sentences, the other falls over blocks of 2,000 others."""
    up, down = 0.3 + 0.25 * np.sin(np.linspace(0.4, 2.6, 9)), np.linspace(0.9, 0.4, 9)
    truth = float(np.corrcoef(up, down)[0, 1])
    inside, widths = 0, []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        hard = rng.normal(size=1000)
        bars = [NormalDist().inv_cdf(p) for p in up]
        hits = [share((0.8 * hard + 0.6 * rng.normal(size=1000) < bar).astype(float), "sentences") for bar in bars]
        blocks = down[:, None] + 0.03 * rng.normal(size=(1, 20)) + 0.01 * rng.normal(size=(9, 20))
        cka = [Estimate(each.mean(), 0, 0, 2000, {"rows": tuple((each.sum() - each) / 19)}) for each in blocks]
        found = together(cka, hits)
        inside += found.low <= truth <= found.high
        widths.append(found.high - found.low)
        assert -1 <= found.low <= found.high <= 1
    assert inside / 200 >= 0.9
    # not that of nine layers that were drawn
    assert np.median(widths) < 0.5 * (fisher(truth, 9).high - fisher(truth, 9).low)
    flat = [Estimate(0.5, 0.4, 0.6, 9)] * 9
    with pytest.raises(MissingRowsError):
        together(flat, flat)


def test_two_curves_of_unequal_length_have_no_correlation():
    some = [Estimate(float(i), i - 1.0, i + 1.0, 7) for i in range(9)]
    with pytest.raises(MissingRowsError):
        together(some, some[:-1])


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
         "sample": "muse 90 0badcafe", "without": without_blocks(each)}
        for layer, each in enumerate(hits)
    ]  # fmt: skip
    keep(tmp_path, Told, Cell("c", {}), Told(), 1.0, [*rows, {"measure": "bits", "value": 1.0}])
    found = curve(rows_of(tmp_path, "c").iloc[:2])
    assert [each.without.keys() for each in found] == [{"muse 90 0badcafe"}] * 2
    asked = share(hits[1].astype(float)) - share(hits[0].astype(float))
    assert (found[1] - found[0]).half == pytest.approx(asked.half, rel=1e-3)
    # a table of before: no such columns
    old = pd.read_csv(tmp_path / "cells" / "c.csv").drop(columns=["sample", "without"])
    assert set(COLUMNS) - set(old.columns) == {"sample", "without"}
    (tmp_path / "cells" / "c.csv").write_bytes(old.to_csv(index=False).encode())
    facts = (tmp_path / "cells" / "c.json").read_text()
    told = json.loads(facts)
    told["table"] = hashlib.sha256((tmp_path / "cells" / "c.csv").read_bytes()).hexdigest()
    (tmp_path / "cells" / "c.json").write_text(json.dumps(told))
    assert [each.without for each in curve(rows_of(tmp_path, "c").iloc[:2])] == [{}, {}]
