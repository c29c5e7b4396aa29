"""Figures of studies show what was run, and what was published of it."""

import json

import pandas as pd

from interlingua.studies.drawn import beside_published, by_layer


def scores(*targets, setup="tuned"):
    return pd.DataFrame(
        [{"setup": setup, "target": target, "seed": 0, "measure": "translation bleu", "value": 0.2, "low": 0.1,
          "high": 0.3} for target in targets]
    )  # fmt: skip


def shown(chart):
    rows = next(iter(chart.to_dict()["datasets"].values()))
    return {(row["language"], row["whose"]) for row in rows}


def test_published_bars_stand_beside_ours_only():
    every = shown(beside_published(scores("de-en"), "setup", "concepts bleu", "BLEU"))
    assert ("es-en", "published") in every
    ours = shown(beside_published(scores("de-en"), "setup", "concepts bleu", "BLEU", langs=["de-en"]))
    assert ours == {("de-en", "here"), ("de-en", "published")}


def test_without_published_numbers_there_is_no_legend():
    legends = [
        beside_published(scores("de-en"), "setup", name, "BLEU").to_dict()["spec"]["layer"][0]["encoding"]["color"]
        for name in ("concepts bleu", "")
    ]
    assert [each["legend"] is None for each in legends] == [False, True]


def test_names_that_do_not_fit_are_tilted():
    def angle(name):
        found = beside_published(scores("de-en", setup=name), "setup", "concepts bleu", "BLEU").to_dict()
        return found["spec"]["layer"][0]["encoding"]["x"]["axis"]["labelAngle"]

    assert angle("tuned") == 0
    assert angle("tuned in many languages") == -40


def test_panels_that_are_no_languages_are_not_called_so():
    table = scores("suffix concepts").assign(layer=0, measure="suffix", n=10, corpus="x", source="en")
    titles = [json.dumps(by_layer(table, "setup", "form", "", **how).to_dict()) for how in ({}, {"head": ""})]
    assert ["English with" in each for each in titles] == [True, False]
    assert all("share of concepts" in each for each in titles)


def test_what_has_one_value_is_a_dot_and_counts_are_told_from_the_fewest_to_the_most():
    rows = [
        {"encoder": encoder, "target": "fr", "layer": layer, "seed": seed, "value": 0.2, "low": 0.1, "high": 0.3,
         "n": n, "corpus": "", "source": "en", "measure": "word p1"}
        for encoder, n, layers, seeds in (("model", 405, range(3), [0]), ("static", 473, [0], [0, 1]))
        for layer in layers
        for seed in seeds
    ]  # fmt: skip
    chart = by_layer(pd.DataFrame(rows), "encoder", "words", "").to_dict()
    drawn = next(iter(chart["datasets"].values()))
    assert {row["encoder"]: row["alone"] for row in drawn} == {"model": False, "static": True}
    marks = [each["mark"]["type"] for each in chart["spec"]["layer"] if "datum.alone" in json.dumps(each)]
    assert marks == ["rule", "point"]
    assert chart["title"]["subtitle"][1].startswith("Mean over 1 to 2 seeds. ")
    assert chart["title"]["subtitle"][1].endswith("Examples: fr: 405 to 473.")
