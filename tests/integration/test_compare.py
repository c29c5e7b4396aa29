"""`compare` over representations equals its measures called one by one; its intervals, nulls, cache and refusals."""

import importlib
import json

import numpy as np
import pytest
import tiny

import interlingua as il
from interlingua import measures, stats
from interlingua.measures.prepare import Preparation
from interlingua.models import random_others
from interlingua.models.load import wrap

CORPUS = il.parallel("everyday", "en", "fr", "zh")[:200]
# Margins may be undefined.
EVERYTHING = [m.name for m in measures.CATALOG if m.name != "margin"]


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
    assert list(matrix.index) == ["en", "fr", "zh-Hans"]
    assert repr(comparison).startswith("<Comparison of 3 pairs at 4 layers of tiny: anc, linear_cka")
    neurons = comparison.neurons(2, ("en", "fr"))
    assert neurons.correlation.abs().is_monotonic_decreasing
    assert neurons.correlation.abs().mean() == pytest.approx(measures.anc(reps["en", 2], reps["fr", 2]).value)
    grid = il.compare_layers(reps, "en", "fr")
    assert grid.shape == (4, 4)
    assert grid.loc[1, 3] == pytest.approx(measures.linear_cka(reps["en", 1], reps["fr", 3]).value)
    with pytest.raises(ValueError, match="neurons of two layers do not correspond"):
        il.compare_layers(reps, "en", "fr", "anc")
    with pytest.raises(ValueError, match="nothing was compared for measure anc, layer 9: the layers are 0, 1, 2, 3"):
        comparison.matrix("anc", 9)


def test_the_pattern_is_tested_on_other_sentences_than_chose_it(comparison):
    found = comparison.pattern("anc")
    assert comparison.pattern("anc", pair=("en", "zh-Hans")) != found
    with pytest.raises(ValueError, match="nothing was compared for measure anc, source fr, target en"):
        comparison.pattern("anc", pair=("fr", "en"))
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


def test_a_notebook_shows_the_curves(comparison):
    drawn = comparison._repr_html_()
    assert "<svg" in drawn
    assert "anc" in drawn


def test_results_are_kept_and_found_again(reps, tmp_path, monkeypatch):
    first = il.compare(reps, measures=["anc"], cache=tmp_path / "cache")
    assert len(list((tmp_path / "cache").iterdir())) == 4
    monkeypatch.setattr(importlib.import_module("interlingua.analyses.compare"), "sweep", None)
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


def test_intervals_of_the_cca_family_are_jackknives(reps):
    """On request; equal to calling the measure without each block in turn."""
    names = ["cca_mean", "svcca", "pwcca", "anc"]
    found = il.compare(reps, source="en", measures=names, blocks=10, cca_intervals=True, nulls=0)
    x, y = reps["en", 2], reps["fr", 2]
    for name in names:
        row = next(r for r in found.rows if (r["layer"], r["target"], r["measure"]) == (2, "fr", name))
        without = [
            getattr(measures, name)(np.delete(x, cut, axis=0), np.delete(y, cut, axis=0)).value
            for cut in (slice(i, i + 20) for i in range(0, 200, 20))
        ]
        np.testing.assert_allclose(row["left_out"], without, atol=1e-8)
        interval = stats.jackknife(row["value"], without)
        assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high), abs=1e-7)
    assert not found.table.low.isna().any()


def test_what_a_paper_prints_stands_beside(model, reps):
    names = ["anc", "cca_mean", "svcca", "matching", "rsa"]
    with pytest.raises(ValueError, match=r"del2022 pools by mean_all and these vectors are pooled by mean: give publi"):
        il.compare(reps, measures=names, as_published="del2022")
    theirs = il.extract(model, CORPUS, pooling="mean_all")
    table = il.compare(
        reps, source="en", measures=names, as_published="del2022", published=theirs,
        preparation=Preparation(remove_mean=True),
    ).table  # fmt: skip
    for row in table[table.layer == 3].itertuples():
        x, y = theirs[row.source, 3], theirs[row.target, 3]
        expected = {
            "anc": measures.anc(x, y).value,
            "cca_mean": measures.cca_top98(x, y).value,
            "svcca": measures.svcca_top20(x, y).value,
            "matching": measures.matching(x, y).forward,
        }
        if row.measure == "rsa":
            assert np.isnan(row.published)
        else:
            assert row.published == pytest.approx(expected[row.measure], abs=1e-7)
            assert row.published_as.startswith("del2022: ")
    assert "matching, mean_all pooling, source to target" in " ".join(map(str, table.published_as))
    # The mean pooling of this paper is ours; vectors are taken as they are.
    table = il.compare(reps, measures=["linear_cka"], as_published="muller2021").table
    row = table[(table.layer == 1) & (table.target == "fr")].iloc[0]
    assert row.published == pytest.approx(measures.rbf_cka(reps["en", 1], reps["fr", 1]).value)
    prepared = il.compare(
        reps, measures=["linear_cka"], as_published="wu2020", preparation=Preparation(drop_components=2)
    ).table
    plain = il.compare(reps, measures=["linear_cka"]).table
    np.testing.assert_allclose(prepared.published, plain.value)
    assert (prepared.value != plain.value).all()
    with pytest.raises(ValueError, match="unknown paper 'del2023': did you mean del2022"):
        il.compare(reps, as_published="del2023")
    with pytest.raises(ValueError, match="say whose"):
        il.compare(reps, published=theirs)
    with pytest.raises(ValueError, match="of the same sentences"):
        il.compare(reps, as_published="del2022", published=theirs[:60])


def planted_reps(n=400, width=12, noise=(2.0, 0.5), seed=0, name="planted"):
    """Two languages that share more at layer 1 than at layer 0."""
    rng = np.random.default_rng(seed)
    meaning = rng.standard_normal((n, width))
    arrays = {
        il.Language.parse(tag): np.stack([meaning + scale * rng.standard_normal((n, width)) for scale in noise])
        for tag in ("en", "fr")
    }
    return il.Representations(arrays, {"model": {"model": name}}, tuple(map(str, range(n))))


def test_two_models_and_two_layers_are_compared_sentence_by_sentence():
    better = il.compare(planted_reps(noise=(2.0, 0.3), name="good"), measures=["anc", "matching", "cca_mean"])
    worse = il.compare(planted_reps(noise=(2.0, 1.0), seed=1, name="bad"), measures=["anc", "matching"])
    table = better.versus(worse).set_index("first_layer")
    assert table.loc[1, "difference"] == pytest.approx(table.loc[1, "first"] - table.loc[1, "second"])
    assert table.loc[1, "low"] > 0
    assert table.loc[1, "p_adjusted"] < 0.001 < 0.05 < table.loc[0, "p_adjusted"]
    assert table.loc[0, "low"] < 0 < table.loc[0, "high"]
    assert (table.loc[1, "first_model"], table.loc[1, "second_model"]) == ("good", "bad")
    assert better.versus(worse, "matching").p.iloc[1] < 0.001
    assert better.versus(better).difference.abs().max() == 0
    layers = better.between(1, 0)
    assert len(layers) == 1
    assert layers.low.iloc[0] > 0
    with pytest.raises(ValueError, match="cca_mean has no values without single blocks.*cca_intervals=True"):
        better.between(1, 0, "cca_mean")
    with pytest.raises(ValueError, match="these are not the same"):
        better.versus(il.compare(planted_reps(n=200)))


def test_two_models_layer_by_layer(reps):
    other = planted_reps(n=200, width=7)
    other = il.Representations(other.arrays, {}, reps.ids)
    grid = il.compare_layers(reps, "en", "en", other=other)
    assert grid.shape == (4, 2)
    assert grid.loc[3, 1] == pytest.approx(measures.linear_cka(reps["en", 3], other["en", 1]).value)
    with pytest.raises(ValueError, match="anc compares neuron i with neuron i, but these are two networks"):
        il.compare_layers(reps, "en", "en", "anc", other=other)
    same = il.compare_layers(reps, "en", "en", "anc", other=reps, same_neurons=True)
    np.testing.assert_allclose(np.diag(same), 1)
    with pytest.raises(ValueError, match="these are not the same"):
        il.compare_layers(reps, "en", "fr", other=reps[:50])
    with pytest.raises(ValueError, match="unknown measure"):
        il.compare_layers(reps, "en", "fr", "linear_kca")


def test_a_measure_without_a_value_says_why_and_spoils_nothing(reps):
    """The code of google/svcca takes no neurons that others make up: here those of a network and their copies."""
    twice = {lang: np.concatenate([array, array], axis=2) for lang, array in reps.arrays.items()}
    copies = il.Representations(twice, reps.signature, reps.ids)
    table = il.compare(copies, measures=["pwcca_google", "anc"]).table
    undefined = table[(table.measure == "pwcca_google") & table.value.isna()]
    assert len(undefined) == 12
    assert undefined.notes.str.contains("pwcca_google takes more rows than neurons").all()
    assert undefined.null.isna().all()
    assert table[table.measure == "anc"].value.notna().all()
    still = np.ones((2, 80, 4)), np.random.default_rng(0).standard_normal((2, 80, 4))
    arrays = dict(zip(map(il.Language.parse, ("en", "fr")), still, strict=True))
    constant = il.compare(
        il.Representations(arrays, {}, tuple(map(str, range(80)))),
        measures=["anc", "debiased_cka", "cca_mean", "procrustes", "matching"], cca_intervals=True,
    ).table  # fmt: skip
    assert constant[constant.measure != "matching"].value.isna().all()
    assert constant[constant.measure == "anc"].notes.str.contains("every neuron is constant").all()


def test_every_number_carries_its_signature(reps):
    table = il.compare(reps, measures=["anc"], seed=3, nulls=20).table
    row = table[(table.layer == 2) & (table.target == "fr")].iloc[0]
    facts = dict(part.split(":", 1) for part in row.signature.split("|"))
    assert [facts[k] for k in ("measure", "layer", "pair", "pooling", "n", "seed")] == [
        "anc", "2", "en-fr", "mean", "200", "3",
    ]  # fmt: skip
    assert table.signature.is_unique
    assert 1 / 21 <= row.p <= 1
    others = il.compare(reps[:100], measures=["anc"]).table.signature
    assert not set(others) & set(table.signature)
    prepared = il.compare(reps, measures=["anc"], preparation=Preparation(drop_components=2)).table.signature
    assert "prepared:drop_components=2" in prepared[0]
    some = il.compare(reps.only(range(0, 200, 2), why="even ones"), measures=["anc"]).table.signature
    assert "only:even ones" in some[0]


def test_some_examples(reps, tmp_path, model):
    wanted = [5, 3, 190]
    some = reps.only(wanted)
    np.testing.assert_array_equal(some["fr", 2], reps["fr", 2][wanted])
    np.testing.assert_array_equal(some["fr"], reps["fr"][:, wanted])
    assert some.ids == tuple(reps.ids[i] for i in wanted)
    np.testing.assert_array_equal(some[1:]["en", 0], reps["en", 0][wanted[1:]])
    np.testing.assert_array_equal(reps[100:].only([0, 7])["en", 1], reps["en", 1][[100, 107]])
    np.testing.assert_array_equal(reps.only(np.arange(200) < 9).only([8])["en", 1], reps["en", 1][[8]])
    stored = il.extract(model, CORPUS[:20], out=tmp_path / "reps.zarr")
    np.testing.assert_array_equal(stored.only([7, 2])["zh", 1], stored["zh", 1][[7, 2]])
    for rows, message in (
        ([200], "there is no example 200: there are 200"),
        ([], "no example is left"),
        ([True, False], "2 choices for 200 examples"),
    ):
        with pytest.raises(ValueError, match=message):
            reps.only(rows)


def test_sentences_that_share_their_surface_are_left_out(model):
    texts = {
        "en": ["In 1984 it rained.", "Anna sleeps.", "The cat sleeps.", "A tram came.", "We saw Paris."],
        "fr": ["Il a plu en 1984.", "Anna dort.", "Le chat dort.", "Un tram est venu.", "On a vu la ville."],
        "ar": ["أمطرت عام ١٩٨٤.", "آنا نائمة.", "القطة نائمة.", "جاء الترام.", "رأينا المدينة."],
    }
    corpus = il.ParallelCorpus.from_texts(texts)
    reps = il.extract(model, corpus)

    def kept(**options):
        found = il.leave_out_shared(reps, corpus, **options)
        return [int(i) - 1 for i in found.ids]

    assert kept() == [2, 3, 4]
    assert kept(digits=False) == [0, 2, 3, 4]
    assert kept(names=False, source="ar") == [1, 2, 3, 4]
    assert kept(source="en", tokenizer=model.tokenizer, letters=2) != kept(source="en")
    words = type("Words", (), {"tokenize": staticmethod(str.split)})
    assert kept(source="en", tokenizer=words) == [2, 4]
    assert kept(source="en", tokenizer=words, letters=5) == [2, 3, 4]
    narrow = il.leave_out_shared(reps, corpus, source="en")
    assert narrow.signature["only"] == "2 left out that share digits or names with en"
    for options, message in (
        ({"digits": False, "names": False}, "nothing to leave out by"),
        ({"tokenizer": type("Letters", (), {"tokenize": staticmethod(list)}), "letters": 0}, "all 5 sentences share"),
    ):
        with pytest.raises(ValueError, match=message):
            kept(**options)
    with pytest.raises(ValueError, match="not the one these vectors were extracted from"):
        il.leave_out_shared(reps, corpus[:2])
    others = il.ParallelCorpus.from_texts({tag: column[::-1] for tag, column in texts.items()})
    with pytest.raises(ValueError, match="not the one these vectors were extracted from"):
        il.leave_out_shared(reps, others)
    assert il.leave_out_shared(reps[1:4], corpus).ids == ("3", "4")
    with pytest.raises(ValueError, match="is no tokenizer"):
        il.leave_out_shared(reps, corpus, tokenizer="bert")


def test_how_many_sentences_are_enough():
    x, y = il.planted(3000, 32, similarity=0.4)
    assert measures.anc(x, y).value == pytest.approx(0.4, abs=0.03)
    table = il.enough(x, y, measures=["anc", "linear_cka", "debiased_cka", "cca_mean"])
    assert sorted(set(table.n)) == [40, 80, 160, 320, 640, 1280, 2560, 3000]
    anc, cca = (table[table.measure == name].set_index("n") for name in ("anc", "cca_mean"))
    assert (anc.high - anc.low).is_monotonic_decreasing
    assert anc.loc[3000, "value"] == pytest.approx(measures.anc(x, y).value)
    # What CCA gives for nothing at all shrinks with the number of rows.
    assert cca.loc[40, "null"] > 0.8 > 0.2 > cca.loc[3000, "null"]
    assert table[table.measure == "debiased_cka"].null.abs().max() < 0.2
    assert list(il.enough(x, y, measures=["anc"], sizes=[100, 50]).n) == [50, 100]
    for options, message in (
        ({"sizes": [20]}, "sizes are from 40"),
        ({"sizes": [5000]}, "to 3000, the rows there are"),
        ({"measures": []}, "no measure was asked for"),
        ({"blocks": 2000}, "3000 rows are too few for 2000 blocks"),
    ):
        with pytest.raises(ValueError, match=message):
            il.enough(x, y, **options)
    with pytest.raises(ValueError, match="from 0 to 1"):
        il.planted(10, 2, similarity=2)


def test_a_layer_without_values_stands_in_no_other_layers_way(model):
    """[CLS] at layer 0 is the same vector for every sentence."""
    reps = il.extract(model, CORPUS, pooling="first")
    found = il.compare(reps, source="en", measures=["anc", "matching"], preparation=Preparation(drop_components=1))
    table = found.table
    assert table[table.layer == 0].value.isna().all()
    assert table[table.layer == 0].notes.str.startswith("en: no neuron ever changes").all()
    assert table[(table.layer > 0)].value.notna().all()
    plain = il.compare(reps, source="en")
    with pytest.raises(ValueError, match="anc has no value at layer 0: every neuron is constant"):
        plain.pattern("anc")
    differences = plain.between(0, 2)
    assert differences.difference.isna().all()
    assert differences.notes.str.contains("every neuron is constant").all()
    assert plain.versus(plain).p_adjusted.notna().sum() == 6
    assert il.compare_layers(reps, "en", "fr").loc[0].isna().all()
    assert len(plain.explain(0, ("en", "fr"))) >= 1
    with pytest.raises(ValueError, match="no value for some blocks of 3 sentences: compare with fewer blocks"):
        il.compare(il.extract(model, CORPUS[:60]), measures=["debiased_cka"]).pattern("debiased_cka")


def test_neurons_keep_the_numbers_of_the_network(reps):
    found = il.compare(reps, measures=["anc"], preparation=Preparation(without_neurons=(0, 1)))
    assert set(found.neurons(2, ("en", "fr")).neuron) == set(range(2, 16))


def test_two_networks_have_no_neurons_in_common(model):
    found = il.compare(il.extract(random_others(model, "en"), CORPUS), measures=["linear_cka"])
    with pytest.raises(ValueError, match="neurons of two networks do not correspond"):
        found.neurons(1, ("en", "fr"))
    assert "anc" not in found.explain(1, ("en", "fr")).columns


def test_vectors_that_say_nothing_of_themselves_are_not_kept(tmp_path):
    first, second = (il.compare(planted_reps(seed=s), measures=["anc"], cache=tmp_path).table.value for s in (0, 1))
    assert (first != second).all()
    assert list(tmp_path.iterdir()) == []


def test_a_null_does_not_depend_on_what_else_is_compared(reps):
    alone = il.Representations({k: v for k, v in reps.arrays.items() if str(k) != "fr"}, reps.signature, reps.ids)
    one, all_ = il.compare(alone, measures=["anc"]).table, il.compare(reps, measures=["anc"]).table
    pair = all_[(all_.source == "en") & (all_.target == "zh-Hans")]
    np.testing.assert_array_equal(one.null, pair.null)


def test_a_baseline_has_no_published_value(model, reps):
    theirs = il.extract(model, CORPUS, pooling="mean_all")
    table = il.compare(reps, measures=["anc"], as_published="del2022", published=theirs, baseline=reps).table
    assert table[table.baseline].published.isna().all()
    assert table[~table.baseline].published.notna().all()


def test_representations_know_their_rows():
    arrays = {il.Language.parse(tag): np.zeros((2, n, 3)) for tag, n in (("en", 5), ("fr", 4))}
    with pytest.raises(ValueError, match="en has 5 and fr has 4 examples"):
        il.Representations(arrays)
    one = {il.Language.parse("en"): np.zeros((2, 5, 3))}
    with pytest.raises(ValueError, match="3 ids for 5 examples"):
        il.Representations(one, {}, ("a", "b", "c"))
    assert il.Representations(one).ids == ("1", "2", "3", "4", "5")
    assert il.Representations({"en": np.zeros((2, 5, 3))}).langs == (il.Language.parse("en"),)
    with pytest.raises(ValueError, match="layers x examples x neurons"):
        il.Representations({"en": np.zeros((5, 3))})
    for rows in ([0.9, 1.2], ["1"], [[0, 1]], "abc", None):
        with pytest.raises(ValueError, match="examples are chosen by their numbers"):
            il.Representations(one).only(rows)


def test_numbers_that_are_none_are_refused(model, reps):
    for options, message in (
        ({"nulls": -1}, "nulls is a whole number from 0 up"),
        ({"seed": -1}, "seed is a whole number"),
        ({"blocks": 2.5}, "blocks is a whole number from 2 up"),
    ):
        with pytest.raises(ValueError, match=message):
            il.compare(reps, **options)
        with pytest.raises(ValueError, match=message):
            il.enough(reps["en", 0], reps["fr", 0], **options)
    assert len(il.compare(reps, measures=["anc", "anc"], nulls=0).rows) == 12
    assert len(il.compare(reps, measures="anc", nulls=0).rows) == 12
    assert {row["layer"] for row in il.compare(reps, measures="anc", nulls=0, layers=[2, -1]).rows} == {2, 3}
    with pytest.raises(ValueError, match="there is no layer 4: layers run from 0"):
        il.compare(reps, layers=[4])
    assert reps.languages("zh", "en").langs == reps.langs[::-2]
    with pytest.raises(ValueError, match="x has 100 rows and y has 200"):
        il.enough(reps["en", 0][:100], reps["fr", 0])
    with pytest.raises(ValueError, match="sizes are whole numbers"):
        il.enough(reps["en", 0], reps["fr", 0], sizes=[50.5])
    words = il.extract(model, CORPUS[:5], level="word")
    with pytest.raises(ValueError, match="holds no sentences in several languages"):
        il.compare(words)
    deep = {lang: array[: 3 if str(lang) == "fr" else 4] for lang, array in reps.arrays.items()}
    with pytest.raises(ValueError, match=r"unlike numbers of layers \(en 4, fr 3, zh-Hans 4\)"):
        il.compare(il.Representations(deep, {}, reps.ids))
    broken = {lang: np.where(np.arange(200)[None, :, None] == 7, np.nan, array) for lang, array in reps.arrays.items()}
    with pytest.raises(ValueError, match=rf"layer 0: not a finite number for en sentence {reps.ids[7]}"):
        il.compare(il.Representations(broken, {}, reps.ids))
