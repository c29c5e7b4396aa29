"""The model that ships: stock format, small, knows its alphabets, finds translations, and is what verbs take by default."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import transformers
import yaml
from typer.testing import CliRunner

import interlingua as il
from interlingua.cli import demo
from interlingua.cli.main import app
from interlingua.corpora.places import assets
from interlingua.measures.retrieval import matching

PLACE = assets() / "model"
LANGUAGES = ["en", "fr", "de", "es", "ru", "zh", "ar", "bg", "et", "tr"]


@pytest.fixture(scope="module")
def everyday():
    return il.parallel("everyday", *LANGUAGES)


def test_it_is_stock_and_small():
    """Another process loads it without our code."""
    code = f"""
import sys, transformers
network, report = transformers.AutoModelForMaskedLM.from_pretrained({str(PLACE)!r}, output_loading_info=True)
words = transformers.AutoTokenizer.from_pretrained({str(PLACE)!r})
assert not report["missing_keys"] and not report["unexpected_keys"], report
assert not [name for name in sys.modules if name.startswith("interlingua")]
print(type(network).__name__, network.dtype, words.is_fast, network.config.num_hidden_layers, network.config.hidden_size)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["XLMRobertaForMaskedLM", "torch.float32", "True", "8", "256"]
    assert sum(file.stat().st_size for file in PLACE.iterdir()) < 26e6
    assert 16_000 <= json.loads((PLACE / "config.json").read_text())["vocab_size"] <= 24_000


def test_its_sub_words_know_every_alphabet(everyday):
    words = transformers.AutoTokenizer.from_pretrained(PLACE)
    for lang in LANGUAGES:
        ids = [i for text in everyday[lang] for i in words(text, add_special_tokens=False)["input_ids"]]
        assert ids.count(words.unk_token_id) < 0.002 * len(ids), lang


def test_it_fills_a_gap():
    words = transformers.AutoTokenizer.from_pretrained(PLACE)
    network = transformers.AutoModelForMaskedLM.from_pretrained(PLACE)
    asked = words("La Commission <mask> a adopté une proposition.", return_tensors="pt")
    with torch.no_grad():
        scores = network(**asked).logits[0, asked["input_ids"][0].tolist().index(words.mask_token_id)]
    assert "européenne" in words.decode(scores.topk(3).indices)


def test_it_finds_translations_and_its_untrained_twin_does_not(everyday):
    """Built-in sentences, none of which it was trained on: mean pooling, the mean of each language removed, its layer 6."""

    def found(network):
        reps = il.extract(network, everyday[::3])
        sides = {lang: reps[lang, 6] - reps[lang, 6].mean(0) for lang in reps.langs}
        return np.array([matching(sides[reps.langs[0]], sides[lang]).value for lang in reps.langs[1:]])

    trained, random = found(il.load_model("built-in")), found(il.load_model("built-in", random=True))
    assert (trained > random).all()
    assert trained[:3].min() > 0.6  # fr, de, es
    assert trained.min() > 0.15


def test_it_has_one_name():
    model = il.load_model("built-in")
    assert model.name == il.load_model(PLACE).name == "built-in"
    with pytest.raises(il.errors.InterlinguaError, match="built-in"):
        il.load_model("builtin")


def test_verbs_take_it_where_none_is_given(tmp_path):
    run = CliRunner().invoke(
        app, ["extract", "--langs", "en,et", "--rows", "60", "--json", "--out", str(tmp_path / "r.zarr")]
    )
    assert run.exit_code == 0, run.output
    assert len(il.open_store(tmp_path / "r.zarr")["et", 8]) == 60
    few = ["--langs", "en,fr", "--rows", "150", "--formats", "none", "--min-count", "1", "--no-baseline"]
    run = CliRunner().invoke(app, ["map", *few, "--ways", "rotation", "--out", str(tmp_path / "map")])
    assert run.exit_code == 0, run.output
    assert json.loads((tmp_path / "map" / "config.json").read_text())["models"] == ["built-in"]


def test_the_demo_is_of_ten_languages_and_the_whole_corpus():
    told = json.loads(CliRunner().invoke(app, ["demo", "--dry-run", "--json"]).output)
    ((name, cost),) = told["models"].items()
    assert name == "built-in"
    assert {lang: each["sentences"] for lang, each in cost["languages"].items()} == {
        {"zh": "zh-Hans"}.get(lang, lang): 440 for lang in LANGUAGES
    }


def test_the_demo_writes_a_report(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "LANGS", "en,et,ar")  # the rest takes time alone
    run = CliRunner().invoke(app, ["demo", "-n", "40", "--formats", "none", "--out", str(tmp_path / "demo")])
    assert run.exit_code == 0, run.output
    assert all(f"en-{lang}" in run.output for lang in ("et", "ar"))
    assert set(pd.read_csv(tmp_path / "demo" / "results.csv")["n"]) == {40}
    assert not (tmp_path / "demo" / "figures").exists()
    assert "in brackets an untrained network's" in run.output
    assert "The built-in model" in (tmp_path / "demo" / "report.html").read_text("utf-8")


def test_the_card_names_all_it_was_trained_on():
    card = (PLACE / "README.md").read_text("utf-8")
    repository = Path(__file__).parent.parent.parent
    config = yaml.safe_load((repository / "studies" / "model" / "model.yaml").read_text("utf-8"))
    named = {name for part in ("text", "parallel") for names in config[part].values() for name in names}
    assert not [name for name in named if f"`{name}`" not in card]
    # the card and the log tell the same numbers
    log = (repository / "studies" / "LOG.md").read_text("utf-8")
    (best,) = re.findall(r"^\| \*\*layer 6, the best\*\* \|(.*)\|$", card, re.MULTILINE)
    by_language = zip(["fr", "de", "es", "ru", "bg", "et", "zh", "tr", "ar"], best.split("|"), strict=True)
    for lang, value in by_language:
        (row,) = re.findall(rf"^\| {lang} \|(?:.*\|){{11}}$", log, re.MULTILINE)
        assert row.split("|")[8].strip() == value.strip(), lang
