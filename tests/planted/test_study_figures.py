"""Figures of studies show what was run, and what was published of it."""

import json

import pandas as pd

from interlingua.studies.catalog import find
from interlingua.studies.drawn import LEGEND, LETTER, PANEL, beside_published, by_layer


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
    told = " ".join(chart["title"]["subtitle"])
    assert told.startswith("Mean over 1 to 2 seeds. ")
    assert told.endswith("Examples: fr: 405 to 473.")


def drawn(chart):
    return next(iter(chart.to_dict()["datasets"].values()))


def test_seeds_that_disagree_are_seen():
    table = pd.concat([scores("de-en"), scores("de-en").assign(seed=1, value=0.8, low=0.7, high=0.9)])
    (row,) = (row for row in drawn(beside_published(table, "setup", "", "BLEU")))
    assert (row["value"], row["low"], row["high"]) == (0.5, 0.1, 0.9)
    # of several languages in a panel the mean of a seed, and then what seeds span
    both = pd.concat([table, table.assign(value=0.0, low=-0.2, high=0.2)])
    (row,) = drawn(beside_published(both, "setup", "", "BLEU"))
    assert [round(row[key], 3) for key in ("value", "low", "high")] == [0.25, -0.05, 0.55]


def test_what_stands_below_a_title_is_as_wide_as_its_panels():
    langs = ("de", "fr", "es", "ar", "ru", "zh", "et", "bg")

    def told(*shown, **changed):
        table = pd.concat(
            [scores(lang).assign(layer=0, n=100 + place, corpus="a long name of a corpus", source="en",
                                 measure="calign") for place, lang in enumerate(shown)]
        )  # fmt: skip
        return by_layer(table.assign(**changed), "setup", "CALIGN", "A note.").to_dict()["title"]["subtitle"]

    for shown, columns in ((langs, 3), (langs[:2], 2), (langs[:1], 1)):
        lines = told(*shown)
        assert len(lines) > 2
        assert max(map(len, lines)) <= columns * PANEL // LETTER + LEGEND
        assert all(f"{lang}: {100 + place}" in " ".join(lines) for place, lang in enumerate(shown))
    assert not any("Examples" in line for line in told(*langs, n=None))


def test_bands_span_the_intervals_of_all_seeds():
    table = pd.concat([scores("fr"), scores("fr").assign(seed=1, value=0.8, low=0.7, high=0.9)])
    rows = drawn(by_layer(table.assign(layer=0, n=1, corpus="", source="en"), "setup", "", ""))
    assert {(row["value"], row["low"], row["high"]) for row in rows} == {(0.5, 0.1, 0.9)}


def test_seeds_are_counted_where_they_are():
    table = pd.concat(
        [scores("de-en", setup="a"), scores("de-en", setup="a").assign(seed=1), scores("de-en", setup="b")]
    )
    told = beside_published(table, "setup", "", "BLEU").to_dict()["title"]["subtitle"]
    assert " ".join(told).startswith("Mean over 1 to 2 seeds;")


def without_blocks():
    """A task tuned on in two languages: what is lost without two pairs of blocks, similarities and scores."""
    rows = []
    for origin in ("en", "fr"):
        about = {"cell": f"parsing.{origin}.0", "task": "parsing", "language": origin, "source": origin, "seed": 0,
                 "corpus": "", "pooling": "", "n": 10, "layer": None, "low": None, "high": None}  # fmt: skip
        for place, lang in enumerate([origin, *({"en", "fr", "de", "es", "ru", "et"} - {origin})]):
            rows.append({**about, "target": lang, "state": "after", "measure": "parsing las", "value": 0.9 - place / 9})
            rows += [{**about, "target": lang, "state": f"without {blocks}", "measure": "drop", "value": drop,
                      "low": drop - 0.01, "high": drop + 0.01}
                     for blocks, drop in (("1-2", -0.02 if lang == origin else -0.3), ("3-4", 0.0))]  # fmt: skip
            rows += [{**about, "target": lang, "state": state, "measure": "rbf_cka", "layer": layer,
                      "value": 0.8 - place / 20 - layer / 50} for state in ("before", "after") for layer in range(3)
                     if lang != origin]  # fmt: skip
    return pd.DataFrame(rows)


def test_what_is_lost_in_the_source_stands_beside_what_others_lose():
    made = find("random-init").figures(without_blocks())
    rows = [row for row in drawn(made["drops-parsing"]) if row["series"] == "without 1-2"]
    here = {row["language"]: round(row["value"], 3) for row in rows if row["whose"] == "here"}
    assert here == {"from en": -0.3, "en itself": -0.02, "from fr": -0.3, "fr itself": -0.02}
    # published of English, which was run, and not of Russian and Arabic, which were not
    theirs = {row["language"]: row["value"] for row in rows if row["whose"] == "published"}
    assert theirs == {"from en": -0.1577, "en itself": -0.0096}
    related = {(row["language"], row["series"]): row["value"] for row in drawn(made["related"])}
    assert related["parsing", "published"] == 0.76
    assert [round(related["parsing", source], 3) for source in ("en", "fr")] == [1, 1]
    assert "CKA (Gaussian kernel)" in made["similarity-parsing"].to_dict()["title"]["text"]


def test_what_cannot_be_correlated_is_no_reason_to_draw_nothing():
    """All scores alike, all similarities alike, none of the source, a layer less in one language."""
    table = without_blocks()
    similar, scored_ = table["measure"] == "rbf_cka", table["measure"] == "parsing las"
    for changed in (
        table.assign(value=table["value"].mask(scored_, 0.0)),
        table.assign(value=table["value"].mask(similar, 0.5)),
        table.assign(value=table["value"].mask(similar)),
        table[~(scored_ & (table["target"] == table["source"]))],
        table[~(similar & (table["target"] == "de") & (table["layer"] == 2))],
    ):
        made = find("random-init").figures(changed)
        assert "drops-parsing" in made
        assert not [row for row in drawn(made["related"]) if row.get("whose") == "here"]


def concepts_rows(kind, measure, value, *, pooling="", state="after"):
    return [
        {"cell": f"{kind}.0", "kind": kind, "pair": "", "seed": 0, "state": state, "corpus": "x", "pooling": pooling,
         "layer": layer, "source": "en", "target": "de", "measure": measure, "value": value, "low": value, "high": value,
         "n": 30} for layer in range(2)
    ]  # fmt: skip


def test_concepts_between_stacks_and_thresholds_are_drawn():
    table = [
        *concepts_rows("span", "calign", 0.1, pooling="encoder-decoder", state="before"),
        *concepts_rows("span", "calign", 0.2, pooling="encoder", state="before"),
        *(row for at, value in ((3, 0.4), (5, 0.3), (8, 0.2))
          for row in concepts_rows("ner", f"calign, types {at}", value)),
        *(row for at, value in ((5, 0.1), (10, 0.2), (15, 0.3), (20, 0.4))
          for row in concepts_rows("ner", f"calign, best {at}", value)),
    ]  # fmt: skip
    made = find("concepts").figures(pd.DataFrame(table))
    assert {row["value"] for row in drawn(made["calign-between"])} == {0.1}
    swept = {(row["target"], row["setting"]): row["value"] for row in drawn(made["thresholds-calign"])}
    assert swept == {
        ("types: 3, 5, 8", "lower"): 0.4, ("types: 3, 5, 8", "usual"): 0.3, ("types: 3, 5, 8", "higher"): 0.2,
        ("best: 5, 10, 15, 20", "lower"): 0.1, ("best: 5, 10, 15, 20", "usual"): 0.2,
        ("best: 5, 10, 15, 20", "higher"): 0.3, ("best: 5, 10, 15, 20", "highest"): 0.4,
    }  # fmt: skip
