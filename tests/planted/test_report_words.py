"""What the report says in words, from tables whose truth is planted."""

import json
import math

import pytest

from interlingua.report.advice import advice
from interlingua.report.methods import methods
from interlingua.report.tables import COLUMNS, SCHEMA, Tables, harmless, merge, read, write
from interlingua.report.words import NOTHING, UNJUDGED, UNTRAINED, cautions, judge, summary, verdicts


def rows(target, curve, *, measure="anc", baseline=False, width=0.02, null=0.05, notes="", model="m", pooling="mean"):
    return [
        {
            "model": model, "pooling": pooling, "layer": layer, "source": "en", "target": target, "measure": measure,
            "value": value, "low": value - width, "high": value + width, "null": null, "p": None, "n": 500,
            "baseline": baseline, "notes": notes, "signature": f"{measure}{layer}{target}",
        }
        for layer, value in enumerate(curve)
    ]  # fmt: skip


STRONG = [*rows("fr", [0.2, 0.5, 0.3]), *rows("fr", [0.1, 0.9, 0.4], measure="matching", null=0.002)]
RANDOM = [*rows("fr", [0.2, 0.2, 0.2], baseline=True), *rows("fr", [0.1, 0.1, 0.1], measure="matching", baseline=True)]
WEAK = [*rows("zh-Hans", [0.1, 0.3, 0.2]), *rows("zh-Hans", [0.01, 0.2, 0.1], measure="matching", null=0.002)]
GEOMETRY = [
    {"model": "m", "pooling": "mean", "layer": layer, "lang": "en", "baseline": False, "anisotropy": value,
     "effective_rank": 9.0, "outliers": "7 3", "outlier_share": 0.6 if layer == 2 else 0.0, "language_share": 0.1}
    for layer, value in enumerate([0.1, 0.7, 0.8])
]  # fmt: skip


def tables(values, **others):
    return Tables.of({"models": ["m"], "corpus": {"name": "c", "hashes": {}}}, values=values, **others)


def test_pairs_are_judged_at_their_peak_against_chance_and_an_untrained_network():
    found = {v.target: v for v in verdicts(tables([*STRONG, *RANDOM, *WEAK]))}
    assert found["fr"].verdict == "strongly aligned"
    assert (found["fr"].peak_layer, found["fr"].peak, found["fr"].first, found["fr"].last) == (1, 0.5, 0.2, 0.3)
    assert (found["fr"].untrained, found["fr"].matched) == (0.2, 0.9)
    assert found["zh-Hans"].verdict == "weakly aligned"
    assert math.isnan(found["zh-Hans"].untrained)


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        (rows("fr", [0.2, 0.3, 0.25], null=0.29), NOTHING),
        # The interval reaches the null only when widened for having chosen among layers.
        (rows("fr", [0.2, 0.3, 0.25], null=0.279), NOTHING),
        (rows("fr", [0.2, 0.3], null=0.1), "aligned"),
        (rows("fr", [0.2, 0.3]) + rows("fr", [0.2, 0.29], baseline=True), UNTRAINED),
        (rows("fr", [0.2, 0.3]) + rows("fr", [0.28, 0.2], baseline=True), "aligned"),
        # More similar, but no more sentences are found.
        ([*rows("fr", [0.2, 0.5]), *rows("fr", [0.1, 0.2], measure="matching"), *rows("fr", [0.2, 0.2], baseline=True),
          *rows("fr", [0.1, 0.19], measure="matching", baseline=True)], UNTRAINED),
    ],
)  # fmt: skip
def test_every_verdict(values, verdict):
    assert verdicts(tables(values))[0].verdict == verdict


def test_what_cannot_be_judged_is_not():
    """No interval, nothing to hold it against, or no value that can be interpreted."""
    bare = [{**row, "low": None, "high": None} for row in rows("fr", [0.2, 0.5], measure="rsa")]
    assert verdicts(tables(bare))[0].verdict == UNJUDGED
    assert "not judged" in summary(tables(bare))[0][1]
    alone = [{**row, "null": None} for row in rows("fr", [0.2, 0.5])]
    assert verdicts(tables(alone))[0].verdict == UNJUDGED
    few = rows("fr", [0.9], measure="pwcca", notes="not interpretable")
    assert (verdicts(tables(few)), summary(tables(few))) == ((), ())
    late = [row for row in rows("fr", [0.1, 0.5, 0.3]) if row["layer"]]
    assert math.isnan(verdicts(tables(late))[0].first)
    assert "0.50 at layer 1" in summary(tables(late))[0][1]


def test_a_summary_says_how_many_where_and_which_is_weakest():
    patterns = [{"model": "m", "pooling": "mean", "source": "", "target": "", "measure": "anc", "holds": True, "peak": 1,
                 "rise": 0.3, "fall": 0.2, "rise_low": 0.1, "fall_low": 0.1}]  # fmt: skip
    ((heading, text),) = summary(tables([*STRONG, *RANDOM, *WEAK], patterns=patterns))
    assert heading == "m"
    assert text.startswith(
        "All 2 pairs are aligned beyond an untrained network. Similarity (ANC) goes from 0.15 at the"
    )
    assert "0.40 at layer 1 and 0.25 at the last layer. The rise and the fall both hold" in text
    assert "For retrieval take layer 1, where 55% of sentences find their translation by matching." in text
    assert text.endswith("fr 90% (10%), zh-Hans 20%.")
    ((_, some),) = summary(tables([*STRONG, *RANDOM, *rows("et", [0.04, 0.05, 0.04])]))
    assert "1 of 2 pairs is aligned" in some
    assert "Similarity (ANC, mean of the aligned pairs) goes from 0.20" in some
    assert "where 90% of sentences of the aligned pairs find" in some
    two = [*STRONG, *rows("fr", [0.5, 0.2], pooling="first")]
    assert [heading for heading, _ in summary(tables(two))] == ["m (mean)", "m (first)"]
    assert "is highest, 0.50 at the embeddings" in summary(tables(two))[1][1]
    assert summary(tables(rows("fr", [0.04, 0.05])))[0][1].startswith("The pair is not aligned beyond shuffled pairs.")
    assert "is much the same, 0.50, at every layer" in summary(tables(rows("fr", [0.5, 0.501, 0.5])))[0][1]
    assert "rises from 0.20 at the embeddings to 0.90" in summary(tables(rows("fr", [0.2, 0.9])))[0][1]
    assert "and lowest, 0.10, at layer 1" in summary(tables(rows("fr", [0.22, 0.1, 0.224])))[0][1]


def test_cautions_name_what_misleads():
    few = rows("fr", [0.9, 0.9], measure="cca_mean", notes="500 rows for 768 + 768 neurons: CCA is not interpretable b")
    none = rows("fr", [math.nan], measure="margin", notes="the ratio margin is undefined")
    told = cautions(tables([*STRONG, *few, *none], geometry=GEOMETRY))
    assert told[0].startswith("500 sentences are too few for cca_mean")
    assert told[1] == "Some values do not exist: margin 1 times (m, layer 0: the ratio margin is undefined)."
    assert told[2].startswith("m: vectors of layers 1-2 point much the same way (average cosine up to 0.80)")
    assert "(layer 2: neurons 7, 3)" in told[3]
    assert told[4].startswith("No untrained network stands beside")
    assert len(cautions(tables([*STRONG, *RANDOM]))) == 0
    # What cannot be interpreted is not judged by.
    assert judge(tables([*few, *STRONG])) == "anc"
    with pytest.raises(ValueError, match="there are no values of cca_mean: there are anc, matching"):
        judge(tables([*few, *STRONG]), "cca_mean")


def test_advice_names_layer_pooling_languages_and_what_would_help():
    prepared = [
        {"model": "m", "pooling": "mean", "layer": 1, "source": "en", "target": "fr", "preparation": name,
         "value": value, "low": value - 0.02, "high": value + 0.02}
        for name, value in (("as they are", 0.9), ("mean removed", 0.97), ("standardised", 0.91))
    ]  # fmt: skip
    first = rows("fr", [0.1, 0.3, 0.5], measure="matching", pooling="first")
    (found,) = advice(tables([*STRONG, *WEAK, *first], prepared=prepared))
    assert (found.model, found.pooling, found.layer, found.measure) == ("m", "mean", 1, "matching")
    assert found.value == pytest.approx(0.55)
    assert found.weakest[0] == ("en", "zh-Hans", 0.2)
    assert (found.preparation, found.gain) == ("mean removed", pytest.approx(0.07))
    text = " ".join(found.sentences)
    assert text.startswith(
        "For retrieval take layer 1 with mean pooling: 55.0% of sentences find their translation by ma"
    )
    assert "Other poolings at their best layer: first 50.0%." in text
    assert "With mean removed, 7.0 more of a hundred sentences" in text
    assert "Below 30% little will be found." in text
    chance = rows("fr", [0.04, 0.05], null=0.5) + rows("fr", [0.01, 0.02], measure="matching")
    assert advice(tables(chance))[0].sentences[0].startswith("No pair is aligned beyond chance")
    flat = [{**row, "value": 0.9, "low": 0.88, "high": 0.92} for row in prepared]
    assert "does not help there" in advice(tables(STRONG, prepared=flat))[0].sentences[-1]
    near = rows("fr", [0.1, 0.89, 0.9], measure="matching")
    assert "Layer 1 is not worse within that interval." in advice(tables(near))[0].sentences
    with pytest.raises(ValueError, match="takes matching, csls or margin"):
        advice(tables(rows("fr", [0.2])))


def test_tables_are_written_read_and_merged(tmp_path):
    one = tables([*STRONG, *RANDOM], geometry=GEOMETRY)
    write(one, tmp_path)
    again = read(tmp_path)
    assert again.config == one.config
    for name in COLUMNS:
        assert list(getattr(again, name).columns) == list(COLUMNS[name])
        assert len(getattr(again, name)) == len(getattr(one, name))
    assert again.values.value.tolist() == one.values.value.tolist()
    assert json.loads((tmp_path / "config.json").read_text())["schema"] == SCHEMA
    other = Tables.of({**one.config, "models": ["n"]}, values=rows("fr", [0.1], model="n"))
    both = merge([one, other, one])
    assert both.config["models"] == ["m", "n"]
    assert len(both.values) == len(one.values) + 1
    assert "differ" not in both.config
    unlike = Tables.of({**one.config, "models": ["n"], "nulls": 199}, values=rows("fr", [0.1], model="n"))
    assert "they differ: m with nulls none. n with nulls 199." in methods(merge([one, unlike]))
    with pytest.raises(ValueError, match=r"m \(mean\) is in more than one of these runs, with other numbers"):
        merge([one, tables(rows("fr", [0.7]))])
    with pytest.raises(ValueError, match="different sentences"):
        merge([one, Tables.of({"corpus": {"name": "d"}})])


def test_folders_that_are_none_are_told(tmp_path):
    with pytest.raises(ValueError, match="holds no results"):
        read(tmp_path)
    write(tables(STRONG), tmp_path)
    (tmp_path / "config.json").write_text('{"schema": 99}')
    with pytest.raises(ValueError, match="schema 99, and this version reads 1 to"):
        read(tmp_path)
    for odd in ('{"schema": 1, "models": 5}', '{"schema": 1, "corpus": {"name": 3}}'):
        (tmp_path / "config.json").write_text(odd)
        with pytest.raises(ValueError, match="not the configuration of a run"):
            read(tmp_path)
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(ValueError, match="not the configuration of a run"):
        read(tmp_path)
    write(tables(STRONG), tmp_path)
    tables(STRONG).values.drop(columns="value").to_parquet(tmp_path / "results.parquet")
    with pytest.raises(ValueError, match="it has no column 'value'"):
        read(tmp_path)
    (tmp_path / "results.parquet").write_bytes(b"PAR1 cut short")
    with pytest.raises(ValueError, match="cannot be read"):
        read(tmp_path)


def test_no_cell_runs_in_a_spreadsheet(tmp_path):
    write(tables(rows("fr", [0.5], model="=HYPERLINK(1)", notes="-1+1")), tmp_path)
    line = (tmp_path / "results.csv").read_text().splitlines()[1]
    assert line.startswith("'=HYPERLINK(1),mean,0,en,fr,anc,0.5,")
    assert "'-1+1" in line
    assert harmless(tables(STRONG).values).equals(tables(STRONG).values)
    assert read(tmp_path).values.model[0] == "=HYPERLINK(1)"


def test_a_summary_ranks_pairs_beside_an_untrained_network():
    found = [*rows("fr", [0.2, 0.5, 0.3]), *rows("zh-Hans", [0.2, 0.5, 0.3])]
    for lang, trained, random in (("zh-Hans", 0.25, 0.04), ("fr", 0.9, 0.3)):
        found += rows(lang, [0.01, trained, 0.1], measure="matching")
        found += rows(lang, [0.01, random, 0.02], measure="matching", baseline=True)
    text = summary(tables(found))[0][1]
    assert text.endswith("names, numbers, loan words): fr 90% (30%), zh-Hans 25% (4%).")
    many = [row for n in range(14) for row in rows(f"x{n}", [0.1, 0.5], measure="matching")]
    assert ", ..., " in summary(tables(many))[0][1]
