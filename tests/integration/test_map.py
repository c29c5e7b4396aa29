"""`interlingua map`, end to end: two models at three levels, one model, resumed runs, the page, and misuse."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
import tiny

import interlingua as il
from interlingua.analyses.map_run import Plan
from interlingua.analyses.mapping import map_contexts, map_sentences, map_words
from interlingua.corpora.loading import dictionaries
from interlingua.errors import InterlinguaError
from interlingua.mapping import open_alignment
from interlingua.mapping.composed import Composed
from interlingua.report.map_tables import MapTables, best, full, read_map
from interlingua.report.mapped import curves, learning, told
from interlingua.report.tables import keep_found, kept_found
from interlingua.stats import difference

QUICK = ("--rows", 120, "--no-baseline", "--formats", "none", "--truncate")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return tiny.two_models(tmp_path_factory.mktemp("models"))


WAYS = ("rotation", "identity")


def test_words_between_two_models(here, models, tmp_path):
    out = tmp_path / "words"
    done = here(
        "map",
        *models,
        "--langs",
        "en,fr",
        "--min-count",
        1,
        "--static",
        "--sizes",
        "50,100",
        "--truncate",
        "--out",
        out,
    )
    assert done.returncode == 0, done.stderr
    assert "rotation" in done.stdout
    assert "of the dictionary" in done.stdout
    scores = pd.read_csv(out / "scores.csv")
    assert set(scores["space"]) == {"model", "untrained", "static"}
    assert "Left out: embedding table: only" in done.stdout
    assert set(scores.loc[scores["space"] == "model", "way"]) == {"identity", "shift", "rotation", "refined"}
    assert set(scores.loc[scores["space"] == "model", "layer"]) == {0, 1, 2, 3}
    curve = scores[(scores["space"] == "model") & (scores["way"] == "rotation") & (scores["layer"] == 0)]
    assert curve["pairs"].nunique() == 3
    assert ((scores["coverage"] > 0) & (scores["coverage"] <= 1)).all()
    assert ((scores["low"] <= scores["p1"]) & (scores["p1"] <= scores["high"])).all()
    # the map can be loaded and used on vectors of the layer it is for, and on no others
    aligned = open_alignment(out / "alignments" / "layer-1.npz")
    vectors = np.ones((2, aligned.widths[1]))
    assert aligned.of_target(vectors, layer=1, language="fr").shape == (2, aligned.widths[0])
    with pytest.raises(InterlinguaError, match="it is for layer 1"):
        aligned.of_target(vectors, layer=2)
    assert {side["model"] for side in aligned.facts.values()} == {"a", "b"}
    with pytest.raises(InterlinguaError, match="is for weights"):
        Composed(il.load_model(models[0]), aligned, "target", 1)
    # what was induced is a dictionary that can be read again
    induced = il.dictionary(out / "dictionary.tsv", "en", "fr")
    assert len(induced.words) > 10
    page = (out / "map.html").read_text(encoding="utf-8")
    assert "Look a word up" in page
    assert "http" not in page.split("<main>")[1].split("<footer>")[0]
    assert sorted(p.name for p in (out / "figures").iterdir()) == [
        "layers.png",
        "layers.svg",
        "learning.png",
        "learning.svg",
    ]
    tables = read_map(out)
    assert f"at layer {int(best(tables)['layer'])} (" in told(tables)[0][0]


def test_a_run_goes_on_where_it_stopped_and_another_is_refused(here, models, tmp_path):
    out = tmp_path / "one"
    how = ("map", models[0], "--langs", "en,fr", "--min-count", 1, *QUICK, "--out", out)
    assert here(*how).returncode == 0
    first = (out / "scores.csv").read_bytes()
    (out / "cache" / "model.1.json").unlink()
    shutil.rmtree(out / "alignments")
    (out / "scores.csv").unlink()
    assert here(*how).returncode == 0
    assert (out / "scores.csv").read_bytes() == first
    page = (out / "map.html").read_bytes()
    (out / "map.html").unlink()
    assert here("report", out, "--formats", "none").returncode == 0
    assert (out / "map.html").read_bytes() == page
    elsewhere = here("report", out, "--out", tmp_path / "two")
    assert (elsewhere.returncode, "in its own folder" in elsewhere.stderr) == (2, True)
    other = here(*how, "--by", "cosine")
    assert other.returncode == 2
    assert 'by was ["csls"] and is ["cosine"]' in other.stderr
    assert here(*how, "--by", "cosine", "--force").returncode == 0
    assert set(pd.read_csv(out / "scores.csv")["by"]) == {"cosine"}


def test_another_dictionary_of_the_same_name_is_another_run(here, models, tmp_path):
    out, words = tmp_path / "own", il.dictionary("everyday-words", "en", "fr")
    pairs = [f"{a.upper()}\t{b}\n" for a, b, _ in words.pairs()]
    (tmp_path / "own.txt").write_text("".join(pairs[:400]), encoding="utf-8")
    how = (
        "map",
        models[0],
        "--langs",
        "en,fr",
        "--min-count",
        1,
        "--dictionary",
        tmp_path / "own.txt",
        *QUICK,
        "--out",
        out,
    )
    # whatever its case; and without any rotation there is no learning curve to draw
    done = here(*how, "--ways", "ridge", "--formats", "svg")
    assert done.returncode == 0, done.stderr
    (tmp_path / "own.txt").write_text("".join(pairs[-400:]), encoding="utf-8")
    done = here(*how, "--ways", "ridge", "--formats", "svg")
    assert done.returncode == 2
    assert "holds another run (dictionaries" in done.stderr


@pytest.mark.usefixtures("undrawn")
def test_what_stands_beside_costs_nothing(here, models, tmp_path):
    """German nouns are written large, and none of the table's words is in the dictionary: the models are judged all the same."""
    how = ("--langs", "en,de", "--min-count", 1, "--sizes", "3,100", *QUICK)
    done = here("map", models[0], *how, "--out", tmp_path / "de")
    assert done.returncode == 0, done.stderr
    assert pd.read_csv(tmp_path / "de" / "scores.csv")["n"].max() > 20


def test_words_in_context_and_sentences(here, models, tmp_path):
    done = here(
        "map", *models, "--langs", "en,fr", "--level", "context", *QUICK, "--json", "--out", tmp_path / "context"
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {row["level"] for row in found["scores"]} == {"context"}
    rotated = [row["p1"] for row in found["scores"] if row["way"] == "rotation"]
    still = [row["p1"] for row in found["scores"] if row["way"] == "identity"]
    # two unrelated networks: their vectors meet after a rotation only
    assert np.mean(rotated) > 2 * np.mean(still)
    corpus = il.parallel("everyday", "en", "fr")
    for name, part in (("fit", corpus[:100]), ("test", corpus[100:160])):
        rows = zip(part["en"], part["fr"], strict=True)
        text = "".join(f"{a}\t{b}\n" for a, b in [("en", "fr"), *rows])
        (tmp_path / f"{name}.tsv").write_text(text, encoding="utf-8")
    how = (
        "--corpus",
        tmp_path / "fit.tsv",
        "--test",
        tmp_path / "test.tsv",
        "--sizes",
        "20,50",
        "--formats",
        "none",
        "--truncate",
    )
    done = here("map", *models, "--langs", "en,fr", "--level", "sentence", *how, "--out", tmp_path / "sentence")
    assert done.returncode == 0, done.stderr
    scores = pd.read_csv(tmp_path / "sentence" / "scores.csv")
    assert set(scores["direction"]) == {"en>fr", "fr>en"}
    assert set(scores.loc[scores["way"] == "rotation", "pairs"]) == {20, 50, 100}
    # differences of two ways, or layers, on the same queries: precision without each twentieth of them, three here
    tables = read_map(tmp_path / "sentence")
    for row in tables.scores.itertuples():
        assert len(row.without) == 20
        assert np.mean(row.without) == pytest.approx(row.p1)
    rotated, still = (full(tables).query(f"space == 'model' and layer == 1 and way == '{way}'").iloc[0] for way in WAYS)
    apart = difference(rotated["p1"], still["p1"], rotated["without"], still["without"])
    assert apart.value == pytest.approx(rotated["p1"] - still["p1"])
    assert 0 < apart.interval.high - apart.value < rotated["high"] - rotated["low"]
    there = tables.scores.query("space == 'model' and layer == 1 and way == 'rotation' and pairs == 100")
    np.testing.assert_allclose(rotated["without"], np.mean(list(there["without"]), axis=0))
    # what an earlier version wrote is read as it is
    old = tables.scores.drop(columns="without")
    old.to_parquet(tmp_path / "sentence" / "scores.parquet", index=False)
    assert full(read_map(tmp_path / "sentence"))["p1"].tolist() == full(tables)["p1"].tolist()


def test_layers_that_an_earlier_version_judged_are_judged_again(models, tmp_path):
    corpus, out = il.parallel("everyday", "en", "fr"), tmp_path / "m"
    asked = ([str(name) for name in models], corpus[:100], corpus[100:160], out, Plan(baseline=False, sizes=()))
    first = map_sentences(*asked)
    place = out / "cache" / "model.1.json"
    kept = kept_found(place)
    keep_found(place, {**kept, "rows": [{k: v for k, v in row.items() if k != "without"} for row in kept["rows"]]})
    again = map_sentences(*asked)
    assert again.scores["p1"].tolist() == first.scores["p1"].tolist()
    assert all(len(each) == 20 for each in full(again)["without"])


def test_from_python(models, tmp_path):
    corpus = il.parallel("everyday", "en", "fr")[:150]
    plan = Plan(baseline=False, min_count=1, extraction={"truncate": True})
    learn, judge = dictionaries("everyday-words", "en", "fr")
    assert not set(learn.words) & set(judge.words)
    tables = map_words(models, corpus, learn, judge, tmp_path / "w", plan)
    assert isinstance(tables, MapTables)
    assert curves(tables).to_dict()["layer"]
    assert learning(tables) is None or learning(tables).to_dict()["layer"]
    assert len(map_contexts(models[:1], corpus, tmp_path / "c", plan).scores)
    with pytest.raises(InterlinguaError, match="all but 0 of the 50 rows"):
        map_sentences(models, corpus[:50], corpus, tmp_path / "s", plan)
    tables = map_sentences(models, corpus, corpus[:50], tmp_path / "t", plan)
    assert tables.scores["pairs"].max() <= 100


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--langs", "en"), "say which two languages"),
        (("--langs", "en,fr", "--level", "words"), "did you mean word"),
        (("--langs", "en,fr", "--ways", "rotate"), "did you mean rotation"),
        (("--langs", "en,fr", "--by", "csl"), "there are cosine, csls"),
        (("--langs", "en,fr", "--sizes", "ten"), "no numbers of pairs"),
        (("--langs", "en,fr", "--sizes", "1"), "at least 2 pairs"),
        (("--langs", "en,fr", "--level", "context", "--ways", "refined"), "refined is for words"),
        (("--langs", "en,fr", "--level", "sentence"), "say what to judge by with --test"),
        (("--langs", "en,fr", "--aligner", "ours"), "--aligner means nothing at level word"),
        (("--langs", "en,fr", "--level", "context", "--aligner", "fast_align"), "there are eflomal, ours"),
        (("--langs", "en,fr", "--level", "context", "--static"), "--static means nothing at level context"),
        (("--langs", "en,fr", "--dictionary", "everyday-word"), "did you mean everyday-words"),
        (("--langs", "en,fr", "--rows", "4", "--min-count", "1"), "give more text, or lower min_count"),
        (("--langs", "en,fr", "--rows", "2"), "occurs 5 times: lower min_count"),
        (("--langs", "en,fr", "--corpus", "nowhere.txt"), "does not exist"),
    ],
)
def test_misuse_is_told_in_a_line(here, models, tmp_path, arguments, message):
    done = here("map", models[0], *arguments, "--no-baseline", "--truncate", "--out", tmp_path / "out")
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.usefixtures("undrawn")
def test_widths_that_differ(here, models, tmp_path):
    network = type(tiny.network("bert"))(_wider(tiny.network("bert").config))
    network.save_pretrained(tmp_path / "wide")
    tiny.tokenizer().save_pretrained(tmp_path / "wide")
    how = ("map", models[0], tmp_path / "wide", "--langs", "en,fr", "--level", "context", *QUICK)
    done = here(*how, "--out", tmp_path / "no")
    assert done.returncode == 2
    assert "needs equal widths (reduce=True, --reduce" in done.stderr
    done = here(*how, "--reduce", "--out", tmp_path / "yes")
    assert done.returncode == 0, done.stderr
    assert here(*how, "--ways", "ridge", "--out", tmp_path / "ridge").returncode == 0


def _wider(config):
    config.hidden_size *= 2
    return config
