"""`compare` over representations equals its measures called one by one; its intervals, nulls, cache and refusals."""

import importlib
import json

import numpy as np
import pytest
import tiny

import interlingua as il
from interlingua import measures
from interlingua.measures.prepare import Preparation
from interlingua.models import random_others
from interlingua.models.load import wrap

CORPUS = il.parallel("everyday", "en", "fr", "zh")[:200]
# Behind a layer norm neurons sum to a constant, which pwcca_google does not take; margins may be undefined.
EVERYTHING = [m.name for m in measures.CATALOG if m.name not in ("margin", "pwcca_google")]


@pytest.fixture(scope="module")
def model():
    return wrap(tiny.network("bert"), tiny.tokenizer(), name="tiny")


@pytest.fixture(scope="module")
def reps(model):
    return il.extract(model, CORPUS)


@pytest.fixture(scope="module")
def comparison(reps):
    return il.compare(reps, measures=EVERYTHING)


def test_values_equal_the_measures_themselves(reps, comparison):
    table = comparison.table
    assert len(table) == 4 * 3 * len(EVERYTHING)
    for row in table.itertuples():
        x, y = reps[row.source, row.layer], reps[row.target, row.layer]
        expected = getattr(measures, row.measure)(x, y).value
        assert row.value == pytest.approx(expected, abs=1e-7), row
    assert set(table.model) == {"tiny"}
    assert set(table.n) == {200}


def test_intervals_and_nulls_stand_beside_values(comparison):
    table = comparison.table
    for name in ("anc", "linear_cka", "debiased_cka", "matching", "csls"):
        rows = table[table.measure == name]
        assert ((rows.low <= rows.value) & (rows.value <= rows.high)).all()
        assert (rows.high > rows.low).all()
        # A random network matches next to nothing, but for names and numbers.
        assert (rows.null < rows.value).all() or name in ("matching", "csls")
    assert table[table.measure == "cca_mean"].low.isna().all()
    assert table[table.measure == "debiased_cka"].null.abs().max() < 0.05
    assert table[table.measure == "matching"].null.max() < 0.05


def test_a_source_and_a_baseline(model, reps):
    baseline = il.extract(random_others(model, "en", seed=1).of(il.Language.parse("fr")), CORPUS)
    seen = []
    found = il.compare(
        reps, source="fr", measures=["anc"], baseline=baseline, progress=lambda d, t: seen.append((d, t))
    )
    table = found.table
    assert {(r.source, r.target) for r in table.itertuples()} == {("fr", "en"), ("fr", "zh-Hans")}
    assert set(table[table.baseline].model) == {"tiny (random)"}
    assert seen[-1] == (16, 16)
    assert len(found.matrix("anc", 2)) == 3


def test_matrices_neurons_and_layers(reps, comparison):
    matrix = comparison.matrix("linear_cka", 3)
    assert matrix.loc["fr", "en"] == matrix.loc["en", "fr"]
    assert np.isnan(matrix.loc["en", "en"])
    one_way = comparison.matrix("pwcca", 3)
    assert np.isnan(one_way.loc["fr", "en"]) != np.isnan(one_way.loc["en", "fr"])
    neurons = comparison.neurons(2, ("en", "fr"))
    assert neurons.correlation.abs().is_monotonic_decreasing
    assert neurons.correlation.abs().mean() == pytest.approx(measures.anc(reps["en", 2], reps["fr", 2]).value)
    grid = il.compare_layers(reps, "en", "fr")
    assert grid.shape == (4, 4)
    assert grid.loc[1, 3] == pytest.approx(measures.linear_cka(reps["en", 1], reps["fr", 3]).value)
    with pytest.raises(ValueError, match="neurons of two layers do not correspond"):
        il.compare_layers(reps, "en", "fr", "anc")
    with pytest.raises(ValueError, match="nothing was compared for measure anc, layer 9"):
        comparison.matrix("anc", 9)


def test_the_pattern_is_tested_on_other_sentences_than_chose_it(comparison):
    found = comparison.pattern("anc")
    assert all(0 <= peak < 4 for peak in found.peaks)
    assert comparison.pattern("matching").rise >= -1
    with pytest.raises(ValueError, match="cca_mean has no values by block"):
        comparison.pattern("cca_mean")


def test_an_explanation_finds_a_planted_direction():
    """One direction of huge variance that two languages share, and nothing else: CKA is that direction alone."""
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((300, 1)) @ rng.standard_normal((1, 16)) * 10
    arrays = {il.Language.parse(tag): np.stack([shared + rng.standard_normal((300, 16))] * 2) for tag in ("en", "fr")}
    reps = il.Representations(arrays, {}, tuple(map(str, range(300))))
    table = il.compare(reps, measures=["anc"]).explain(0, ("en", "fr")).set_index("vectors")
    assert table.loc["as it is", "linear_cka"] > 0.95
    assert table.loc["without the top 1 direction", "debiased_cka"] < 0.1
    assert table.loc["without the top 1 direction", "top_share"] > 0.95


def test_results_are_kept_and_found_again(reps, tmp_path, monkeypatch):
    first = il.compare(reps, measures=["anc"], cache=tmp_path / "cache")
    assert len(list((tmp_path / "cache").iterdir())) == 4
    monkeypatch.setattr(importlib.import_module("interlingua.analyses.compare"), "_layer", None)
    again = il.compare(reps, measures=["anc"], cache=tmp_path / "cache")
    assert again.rows == first.rows
    monkeypatch.undo()
    cut = next((tmp_path / "cache").iterdir())
    cut.write_text(cut.read_text()[:-9])
    assert il.compare(reps, measures=["anc"], cache=tmp_path / "cache").rows == first.rows
    json.loads(cut.read_text())
    other = il.compare(reps[:100], measures=["anc"], cache=tmp_path / "cache")
    assert other.rows != first.rows
    prepared = il.compare(
        reps, measures=["matching"], preparation=Preparation(remove_mean=True), cache=tmp_path / "cache"
    )
    plain = il.compare(reps, measures=["matching"], cache=tmp_path / "cache")
    assert prepared.table.value.mean() != plain.table.value.mean()


def test_refusals(model, reps):
    two = il.extract(random_others(model, "en"), CORPUS)
    with pytest.raises(ValueError, match="anc compares neuron i with neuron i, but these are two networks"):
        il.compare(two)
    assert len(il.compare(two, measures=["linear_cka"]).rows) == 12
    assert len(il.compare(two, measures=["anc"], same_neurons=True).rows) == 12
    for options, message in (
        ({"measures": ["ancc"]}, "unknown measure 'ancc'"),
        ({"measures": []}, "no measure was asked for"),
        ({"source": "de"}, "unknown language 'de'"),
        ({"blocks": 150}, "200 sentences cannot be cut into 150 blocks"),
        ({"baseline": reps[:50]}, "the baseline must hold the same sentences"),
    ):
        with pytest.raises(ValueError, match=message):
            il.compare(reps, **options)
    with pytest.raises(ValueError, match="at least two languages"):
        il.compare(il.extract(model, CORPUS.languages("en")))
