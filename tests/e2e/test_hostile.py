"""Input that means harm, and folders that are not what they were: an error of one line, and nothing wrong passes for right."""

import json
import shutil

import pandas as pd
import pytest
import torch
from safetensors.torch import load_file, save_file

from support import tiny

YAML_TAG = "!!python/object/apply:os.system ['touch pwned']"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    place = tmp_path_factory.mktemp("model") / "bert"
    tiny.network("bert").save_pretrained(place)
    tiny.tokenizer().save_pretrained(place)
    return place


def one_line(done):
    assert done.returncode == 2, done.stdout
    (line,) = done.stderr.splitlines()[-1:]
    assert line.startswith("error: ")
    return line


@pytest.mark.parametrize(
    "arguments",
    [
        ("pretrain", "bad.yaml", "--out", "x"),
        (
            "transfer",
            "--task",
            "ner",
            "--train",
            "everyday-ner",
            "--langs",
            "en,fr",
            "--grid",
            "bad.yaml",
            "--out",
            "x",
        ),
        ("study", "run", "scaling", "--smoke", "--set", f"updates={YAML_TAG}", "--out", "x"),
    ],
)
def test_yaml_tags_run_nothing(here, tmp_path, arguments):
    (tmp_path / "bad.yaml").write_text(f"size: {YAML_TAG}\nrate: {YAML_TAG}\n", encoding="utf-8")
    assert "YAML" in one_line(here(*arguments))
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    "settings",
    ["width: 99999999", "depth: 100000", "batch: 99999999999999", "updates: -5", "merges: 9e99", "length: 10000000000"],
)
def test_absurd_sizes_are_refused_before_memory_is_asked_for(here, tmp_path, settings):
    (tmp_path / "big.yaml").write_text(f"size: nano\ntext: {{en: everyday}}\n{settings}\n", encoding="utf-8")
    assert settings.partition(":")[0] in one_line(here("pretrain", "big.yaml", "--out", "x"))


def test_names_that_look_like_formulas_or_markup(here, model, tmp_path):
    """A model's folder and a corpus may be called anything; tables and the page stay harmless."""
    evil = tmp_path / "=cmd|' &C'!A0"
    shutil.copytree(model, evil)
    done = here(
        "compare", evil, "--langs", "en,fr", "--rows", "60", "--nulls", "0", "--no-baseline", "--formats", "none",
        "--out", "out",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    table = pd.read_csv(tmp_path / "out" / "results.csv", dtype=str, keep_default_na=False)
    assert not table.map(lambda cell: cell.startswith(("=", "+", "@", "\t", "-cmd"))).to_numpy().any()


def test_a_model_that_changed_between_runs_is_another_run(here, model, tmp_path):
    place = tmp_path / "model"
    shutil.copytree(model, place)
    compare = (
        "compare",
        place,
        "--langs",
        "en,fr",
        "--rows",
        "60",
        "--nulls",
        "0",
        "--no-baseline",
        "--formats",
        "none",
    )
    assert here(*compare, "--out", "out").returncode == 0
    before = (tmp_path / "out" / "results.csv").read_bytes()
    weights = load_file(place / "model.safetensors")
    name = next(iter(weights))
    weights[name] = torch.randn(weights[name].shape, generator=torch.Generator().manual_seed(0)).to(weights[name].dtype)
    save_file(weights, place / "model.safetensors", metadata={"format": "pt"})
    again = here(*compare, "--out", "out")
    # refused, or made anew: never the old numbers under the new model
    if again.returncode == 0:
        assert (tmp_path / "out" / "results.csv").read_bytes() != before
    else:
        assert "another" in one_line(again) or "differ" in one_line(again)
        assert (tmp_path / "out" / "results.csv").read_bytes() == before


@pytest.mark.parametrize("name", ["results.parquet", "config.json"])
def test_a_result_that_was_cut_off_is_told(here, model, tmp_path, name):
    arguments = (
        "--langs",
        "en,fr",
        "--rows",
        "60",
        "--nulls",
        "0",
        "--no-baseline",
        "--formats",
        "none",
        "--out",
        "out",
    )
    assert here("compare", model, *arguments).returncode == 0
    place = tmp_path / "out" / name
    place.write_bytes(place.read_bytes()[: place.stat().st_size // 2])
    assert "out" in one_line(here("report", "out"))


def test_a_config_that_is_a_bomb_of_brackets(here, model, tmp_path):
    place = tmp_path / "model"
    shutil.copytree(model, place)
    (place / "config.json").write_text("[" * 100_000, encoding="utf-8")
    one_line(here("extract", place, "--langs", "en,fr", "--out", "x.zarr"))
    (place / "config.json").write_text(json.dumps({"model_type": "bert", "hidden_size": 10**12}), encoding="utf-8")
    one_line(here("extract", place, "--langs", "en,fr", "--out", "x.zarr"))
