"""Figures are read as specifications: the right marks and columns, chance and baseline in their place, no crash."""

import json
import math
import struct
import sys
from xml.etree import ElementTree

import altair as alt
import pytest
import report_tables

from interlingua.errors import InputError, MissingExtraError
from interlingua.measures.catalog import CATALOG
from interlingua.report import embed, figures, methods, page
from interlingua.report.rows import caption, peak, printable
from interlingua.report.tables import Tables
from interlingua.report.theme import DARK, LIGHT, config, themed

TABLES = report_tables.tables(2, 4, 5, all_pairs=True)
EMPTY = Tables.of({})
PAIR = ("en", "fr")
MODEL = "lab/model-a"


def spec(chart):
    return chart.to_dict()


def rows(found):
    return next(iter(found["datasets"].values()))


def mark(layer):
    return layer["mark"]["type"] if isinstance(layer["mark"], dict) else layer["mark"]


def layers(found):
    return found.get("layer") or found["spec"]["layer"]


def by_column(found, channel="y"):
    """Mark and look by the column on an axis."""
    return {
        (mark(layer), layer["encoding"][channel]["field"]): layer
        for layer in layers(found)
        if "field" in layer["encoding"].get(channel, {})
    }


def test_curves_have_interval_null_and_baseline():
    found = spec(figures.layer_curves(TABLES.values, "anc", PAIR, layer=2))
    drawn = by_column(found)
    assert ("area", "low") in drawn
    assert drawn["area", "low"]["encoding"]["y2"]["field"] == "high"
    for column, kind in (("value", "measured"), ("null", "shuffled pairs"), ("random", "untrained network")):
        line = drawn["line", column]
        assert line["transform"][-1]["calculate"] == f"'{kind}'"
        dashes = line["encoding"]["strokeDash"]["scale"]
        assert len({tuple(d) for d in dashes["range"]}) == 3
        assert line["encoding"]["x"]["field"] == "layer"
        assert line["encoding"]["color"]["field"] == "series"
    told = {tip["title"] for tip in drawn["point", "value"]["encoding"]["tooltip"]}
    assert {"value", "95% interval from", "95% interval to", "shuffled pairs", "untrained network", "signature"} <= told
    assert {"name": "marked_layer", "value": 2} in found["params"]
    assert found["title"]["text"] == "anc by layer, en – fr"
    assert found["title"]["subtitle"][0] == "n = 1000 · pooling mean · corpus 8a3838e8 · version 0.1.0"


def test_curves_draw_what_is_in_the_table():
    held = rows(spec(figures.layer_curves(TABLES.values, "anc", PAIR)))
    table = TABLES.values
    wanted = table[(table.measure == "anc") & (table.source == "en") & (table.target == "fr")]
    own, random = wanted[~wanted.baseline], wanted[wanted.baseline]
    assert len(held) == len(own) == 10
    for row in held:
        same = own[(own.model == row["series"]) & (own.layer == row["layer"])].iloc[0]
        baseline = random[(random.model == row["series"]) & (random.layer == row["layer"])].iloc[0]
        assert (row["value"], row["random"]) == (same.value, baseline.value)
        assert row["signature"] == same.signature


def test_a_baseline_may_carry_the_name_of_a_random_network():
    values = TABLES.values.copy()
    values.loc[values.baseline, "model"] += " (random)"
    held = rows(spec(figures.layer_curves(values, "anc", PAIR)))
    assert {row["series"] for row in held} == {"lab/model-a", "lab/model-b"}
    assert all(row["random"] is not None for row in held)


def test_all_pairs_are_panels_and_too_many_are_said_to_be_left_out():
    found = spec(figures.layer_curves(TABLES.values, "anc"))
    assert found["facet"]["field"] == "pair"
    many = report_tables.tables(1, 7, 2, ("anc",), all_pairs=True)
    found = spec(figures.layer_curves(many.values, "anc"))
    assert len({row["pair"] for row in rows(found)}) == 12
    assert found["title"]["subtitle"][-1] == "The first 12 of 21 pairs."


def test_poolings_are_told_apart():
    two = report_tables.tables(1, 3, 3, ("anc",), poolings=("mean", "cls"))
    held = rows(spec(figures.layer_curves(two.values, "anc", PAIR)))
    assert {row["series"] for row in held} == {f"{MODEL} · mean", f"{MODEL} · cls"}


def test_missing_values_are_missing():
    held = rows(spec(figures.layer_curves(TABLES.values, "csls", PAIR)))
    first = [row for row in held if row["layer"] == 0]
    assert [row["value"] for row in first] == [None, None]
    json.dumps(held, allow_nan=False)


def test_spread_has_quartiles_and_extremes_over_pairs():
    found = spec(figures.spread(TABLES.values, "anc"))
    drawn = by_column(found)
    assert {("area", "least"), ("area", "low"), ("line", "mean"), ("line", "null"), ("line", "random")} <= set(drawn)
    ops = {(a["op"], a["field"]) for a in drawn["line", "mean"]["transform"][0]["aggregate"] if "field" in a}
    assert {("mean", "value"), ("q1", "value"), ("q3", "value"), ("min", "value"), ("max", "value")} <= ops


def test_a_symmetric_measure_fills_both_halves_of_a_matrix():
    held = rows(spec(figures.language_matrix(TABLES.values, "anc", 2, MODEL)))
    assert len(held) == 12
    cells = {(row["source"], row["target"]): row["value"] for row in held}
    assert cells["en", "fr"] == cells["fr", "en"]
    one_way = TABLES.values.assign(measure="pwcca")[TABLES.values.measure == "anc"]
    assert len(rows(spec(figures.language_matrix(one_way, "pwcca", 2, MODEL)))) == 6
    one_source = report_tables.tables(1, 4, 3)
    assert len(rows(spec(figures.language_matrix(one_source.values, "anc", 2)))) == 3


def test_maps_colour_by_value_and_mark_the_chosen_pair():
    found = spec(figures.pair_map(TABLES.values, "anc", MODEL, mark=PAIR))
    cells = layers(found)[0]
    assert (mark(cells), cells["encoding"]["color"]["field"]) == ("rect", "value")
    assert (cells["encoding"]["x"]["field"], cells["encoding"]["y"]["field"]) == ("layer", "pair")
    assert {"name": "marked_pair", "value": "en – fr"} in found["params"]
    assert len(cells["encoding"]["y"]["scale"]["domain"]) == 6


def test_layers_against_layers():
    found = spec(figures.layer_matrix(TABLES.layers, "linear_cka", MODEL, PAIR))
    assert len(rows(found)) == 25
    assert (found["encoding"]["x"]["field"], found["encoding"]["y"]["field"]) == ("target_layer", "source_layer")


def test_agreement_scales_and_marks_disagreement():
    found = spec(figures.agreement(TABLES.values, MODEL, PAIR))
    apart = next(layer for layer in layers(found) if mark(layer) == "rect")
    assert any(
        "0.666667" in str(step.get("filter")) and "0.333333" in str(step.get("filter")) for step in apart["transform"]
    )
    assert apart["transform"][0]["calculate"] == "indexof(datum.notes, 'not interpretable') < 0 ? datum.value : null"
    # what changes less over layers than it is sure of is not blown up
    moves = {"calculate": "isValid(datum.value) && datum.most - datum.least > datum.unsure ? 1 : 0", "as": "moves"}
    assert apart["transform"].index(moves) + 1 == apart["transform"].index({"filter": "datum.moves === 1"})
    assert "disagree" in found["title"]["subtitle"][-1]
    line = by_column(found)["line", "scaled"]
    assert line["encoding"]["color"]["field"] == "measure"
    assert {row["measure"] for row in rows(found)} == set(report_tables.MEASURES)


def test_agreement_says_when_no_measure_moves():
    flat = TABLES.values.assign(value=0.5, low=0.4, high=0.6)
    assert "No measure moves enough" in figures.drawing(figures.agreement(flat, MODEL))
    assert "No measure moves enough" not in figures.drawing(figures.agreement(TABLES.values, MODEL))


def test_neurons_are_counted_and_ranked():
    found = spec(figures.neuron_histogram(TABLES.histograms, 2, PAIR, MODEL))
    bars = layers(found)[0]
    assert mark(bars) == "bar"
    assert (bars["encoding"]["x"]["field"], bars["encoding"]["x2"]["field"]) == ("from", "to")
    ranked = rows(spec(figures.neuron_ranking(TABLES.neurons, 2, PAIR, MODEL, most=10)))
    sizes = [abs(row["correlation"]) for row in ranked]
    assert len(ranked) == 10
    assert sizes == sorted(sizes, reverse=True)


def test_matching_has_intervals_and_chance():
    drawn = by_column(spec(figures.matching_bars(TABLES.values, 2, MODEL)), "x")
    assert {("bar", "value"), ("rule", "low"), ("tick", "null")} <= set(drawn)
    drawn = by_column(spec(figures.prepared_bars(TABLES.prepared, 2, MODEL, PAIR)), "x")
    assert {("bar", "value"), ("rule", "low")} <= set(drawn)


def test_geometry_has_four_panels_and_a_dotted_baseline():
    found = spec(figures.geometry_panel(TABLES.geometry, MODEL))
    assert len(found["concat"]) == 4
    for panel in found["concat"]:
        dotted = [
            layer for layer in panel["layer"] if isinstance(layer["mark"], dict) and layer["mark"].get("strokeDash")
        ]
        assert len(dotted) == 1
    without = TABLES.geometry.assign(language_share=math.nan)
    assert len(spec(figures.geometry_panel(without, MODEL))["concat"]) == 3


@pytest.mark.parametrize(
    "draw",
    [
        lambda t: figures.layer_curves(t.values, "anc", PAIR),
        lambda t: figures.spread(t.values, "anc"),
        lambda t: figures.language_matrix(t.values, "anc", 2),
        lambda t: figures.pair_map(t.values, "anc"),
        lambda t: figures.layer_matrix(t.layers),
        lambda t: figures.agreement(t.values),
        lambda t: figures.neuron_histogram(t.histograms, 2, PAIR),
        lambda t: figures.neuron_ranking(t.neurons, 2, PAIR),
        lambda t: figures.matching_bars(t.values, 2),
        lambda t: figures.prepared_bars(t.prepared, 2),
        lambda t: figures.geometry_panel(t.geometry),
        lambda t: figures.geometry_curve(t.geometry, "anisotropy"),
    ],
)
def test_an_empty_table_gives_a_sentence(draw):
    found = spec(draw(EMPTY))
    assert mark(found) == "text"
    assert rows(found)[0]["why"].endswith(".")
    assert "<svg" in figures.notebook_html(draw(EMPTY))


def test_every_figure_is_written_without_a_browser(tmp_path):
    drawn = figures.all_figures(report_tables.tables(1, 3, 3, ("anc", "matching"), hostile=False))
    assert {
        "curves-anc",
        "spread-matching",
        "agreement-lab-model-a",
        "matching-lab-model-a",
        "neurons-lab-model-a",
    } <= set(drawn)
    assert {"geometry-lab-model-a", "layers-lab-model-a", "matrix-anc-lab-model-a", "prepared-lab-model-a"} <= set(
        drawn
    )
    written = figures.save(drawn, tmp_path / "figures")
    assert {path.name for path in written} == {f"{name}.{kind}" for name in drawn for kind in ("svg", "png")}
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {path.name for path in written}
    for path in written:
        if path.suffix == ".svg":
            assert ElementTree.fromstring(path.read_text(encoding="utf-8")).tag.endswith("svg")
        else:
            content = path.read_bytes()
            assert content.startswith(b"\x89PNG")
            width, height = struct.unpack(">II", content[16:24])
            assert width > 300
            assert height > 50
    assert figures.all_figures(EMPTY) == {}


def test_no_text_ends_the_process():
    values = TABLES.values.assign(target="\u0000\u0001\uffff\t</text>")
    assert printable(["a\ud800", {"b": "\u0000"}, 1]) == ["a\ufffd", {"b": "\ufffd"}, 1]
    assert "\ufffd" in figures.notebook_html(figures.language_matrix(values, "anc", 2))


def test_names_are_safe_and_formats_known(tmp_path):
    drawn = figures.all_figures(report_tables.tables(2, 3, 2, ("anc",), hostile=True))
    assert all(name == figures.file_name(name) for name in drawn)
    assert figures.file_name("модель 模型/a") == "модель-模型-a"
    assert len(drawn) == len({name.lower() for name in drawn})
    one = dict(list(drawn.items())[:1])
    assert [path.suffix for path in figures.save(one, tmp_path, ("pdf",))] == [".pdf"]
    with pytest.raises(InputError, match="svg, png, pdf"):
        figures.save(one, tmp_path, ("bmp",))


def test_the_theme_travels_with_a_chart_and_stays_there():
    before = alt.theme.active
    chart = figures.spread(TABLES.values, "anc")
    assert spec(chart)["config"]["range"]["category"] == list(LIGHT)
    assert spec(themed(chart, dark=True))["config"]["range"]["category"] == list(DARK)
    assert spec(chart)["config"]["range"]["category"] == list(LIGHT)
    assert alt.theme.active == before
    assert config()["background"] != config(dark=True)["background"]


def test_without_the_extra_there_is_an_error_that_says_so(monkeypatch):
    for name in [n for n in sys.modules if n.startswith("interlingua.report")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(MissingExtraError, match=r"drawing figures needs altair: pip install 'interlingua\[report\]'"):
        import interlingua.report.figures  # noqa: F401


def test_without_the_converter_too(monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingExtraError, match="vl-convert-python"):
        figures.notebook_html(figures.spread(EMPTY.values, "anc"))


def test_captions_and_peaks():
    assert peak(TABLES.values, "anc", MODEL) == 3
    assert peak(EMPTY.values, "anc") is None
    assert caption(EMPTY.values) == ""
    assert caption(TABLES.values[TABLES.values.measure == "cca_mean"]).endswith("CCA is not interpretable below 8,000")


def test_methods_cite_what_was_used_and_nothing_else():
    told, cited = methods.methods(TABLES), methods.bibtex(TABLES)
    assert "en, fr, de and ru inside lab/model-a and lab/model-b" in told
    assert "1,000 parallel sentences of the corpus everyday" in told
    assert "20 blocks" in told
    for key in ("del2022", "kornblith2019", "song2012", "raghu2017", "conneau2018", "muller2021"):
        assert f"{{{key}," in cited
    assert "morcos2018" not in cited
    assert "artetxe2019" not in cited
    only = report_tables.tables(1, 2, 2, ("margin",))
    assert methods.works(only) == ["artetxe2019", "muller2021"]
    assert methods.methods(EMPTY)
    assert set(methods.MEASURES) == {m.name for m in CATALOG}
    assert all(key in methods.WORKS for _, keys in methods.MEASURES.values() for key in keys)


def test_what_is_embedded_cannot_end_a_script():
    written = embed.as_json({"a": "</script><!--&\u2028\u2029\ud800"})
    assert not set("<>&\u2028\u2029") & set(written)
    assert json.loads(written)["a"] == "</script><!--&\u2028\u2029?"


@pytest.mark.parametrize("column", [[], [1], [1, 1, 1, 2], [0, 1, 2] * 4, [1.5, None, 2], [1, 2, 1, 3], [None] * 5])
def test_columns_are_packed_and_found_again(column):
    packed = embed.packed(column)
    if isinstance(packed, dict):
        runs = packed.get("runs", [])
        unpacked = (
            packed["cycle"] * packed["times"]
            if "cycle" in packed
            else [v for v, k in zip(runs[::2], runs[1::2], strict=True) for _ in range(k)]
        )
        assert len(json.dumps(packed)) <= len(json.dumps(column)) + 20
    else:
        unpacked = packed
    assert unpacked == column


def test_numbers_have_five_digits_and_texts_an_end():
    assert embed.number(0.123456789) == 0.12346
    assert embed.number(float("nan")) is None
    assert embed.number(3.0) == 3
    assert len(embed.cut("x" * 10_000)) == 400
    few = embed._ends(TABLES.neurons.assign(series="a"), 400)
    assert len(few) <= 600
    per_group = few.groupby(["source", "target", "layer"]).size()
    assert per_group.min() >= 2


def test_specifications_of_the_page_come_from_the_figures():
    found = page.specification(figures.layer_curves(TABLES.values, "anc", PAIR), untitled="anc")
    assert found["data"] == {"name": "rows"}
    assert "datasets" not in found
    assert found["width"] == "container"
    assert '"title": "anc"' not in json.dumps(found)


def test_a_page_of_nothing_says_so():
    html = page.page(EMPTY, title="Nothing & none")
    assert "<title>Nothing &amp; none</title>" in html
    assert "There are no values that can be summed up." in html


def test_a_page_is_whole_and_asks_for_nothing():
    html = page.page(report_tables.tables(1, 3, 3, ("anc",)), title="T")
    assert html.count("<script") == html.count("</script>") == 4
    assert "default-src 'none'" in html
    assert "unsafe-eval" not in html
    assert "{{" not in html.split("<script")[0]
    assert ' src="' not in html.split("<script")[0]
