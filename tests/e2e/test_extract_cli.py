"""`interlingua extract` as a user runs it: from a folder with a model to a store, and everything that can go wrong."""

import json
import os
import signal
import time

import numpy as np
import pytest
import tiny
import warm

import interlingua as il


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("models")
    for name in ("bert", "gpt2", "mbart"):
        tiny.network(name).save_pretrained(place / name)
        tiny.tokenizer().save_pretrained(place / name)
    return place


def test_sentences_from_the_command_line_equal_those_from_python(cli, folder, tmp_path):
    out = tmp_path / "reps.zarr"
    done = cli("extract", folder / "bert", "--corpus", "everyday", "--langs", "en,fr,zh", "--out", out)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "en: 4 layers x 440 sentences x 16 neurons"
    assert lines[3].startswith(f"{out}: 3")
    assert lines[4] == f"in Python: reps = interlingua.open_store('{out}'); reps['en', 2]"
    assert done.stderr == ""
    reps = il.open_store(out)
    again = il.extract(folder / "bert", il.parallel("everyday", "en", "fr", "zh"))
    np.testing.assert_allclose(reps["zh", 3], again["zh", 3], atol=1e-5)
    assert len(reps) == 440


def test_json_and_running_it_again(here, folder, tmp_path):
    arguments = ("extract", folder / "bert", "--corpus", "everyday", "--langs", "en,tr", "--rows", "30")
    first, second = (here(*arguments, "--out", tmp_path / "r", "--json") for _ in range(2))
    found = json.loads(first.stdout)
    assert found["languages"]["tr"] == {"layers": 4, "rows": 30, "neurons": 16, "dropped": 0}
    assert found["signature"]["pooling"] == "mean"
    assert json.loads(second.stdout)["signature"] == found["signature"]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--corpus", "everyday-trees", "--langs", "en,de", "--level", "word"), "de: 4 layers x "),
        (("--corpus", "everyday-ner", "--langs", "ru", "--level", "type", "--min-count", "2"), "ru: 4 layers x "),
        (("--corpus", "everyday-words", "--langs", "en,fr", "--level", "table"), "fr: 1 layer x "),
        (("--corpus", "everyday", "--langs", "en,ar", "--level", "word", "--rows", "9", "--join", "first"), "ar: 4 layers x "),
        (("--corpus", "everyday", "--langs", "en,fr", "--random-except", "en", "--seed", "3"), "fr: 4 layers x 440"),
        (("--corpus", "everyday", "--langs", "en,fr", "--random", "--pooling", "max"), "fr: 4 layers x 440"),
    ],
)  # fmt: skip
def test_levels_and_baselines(here, folder, tmp_path, options, line):
    done = here("extract", folder / "bert", *options, "--out", tmp_path / "r")
    assert done.returncode == 0, done.stderr
    assert any(found.startswith(line) for found in done.stdout.splitlines()), done.stdout


def test_one_model_a_language_and_decoders(here, folder, tmp_path):
    pair = f"en={folder / 'bert'},fr={folder / 'gpt2'}"
    done = here("extract", pair, "--corpus", "everyday", "--langs", "en,fr", "--out", tmp_path / "pair", "--json")
    found = json.loads(done.stdout)["signature"]
    assert found["one_network"] is False
    assert {tag: model["stack"] for tag, model in found["model"].items()} == {"en": "encoder", "fr": "decoder"}
    two = ("extract", folder / "mbart", "--corpus", "everyday", "--langs", "en,fr", "--stack", "decoder")
    done = here(*two, "--source", "en", "--out", tmp_path / "two", "--json")
    assert json.loads(done.stdout)["signature"]["source"] == "en"


def test_the_cost_is_told_and_nothing_computed(here, folder, tmp_path):
    arguments = ("extract", folder / "bert", "--corpus", "everyday", "--langs", "en,zh")
    done = here(*arguments, "--dry-run")
    assert done.returncode == 0, done.stderr
    en, _zh, total = done.stdout.splitlines()
    assert en.startswith("en: 440 sentences, ")
    assert " batches, " in en
    assert en.endswith("FLOP, 112.6 kB on disk")
    assert total.startswith("in all: 880 sentences, ")
    found = json.loads(here(*arguments, "--dry-run", "--json").stdout)
    assert found["total"]["bytes"] == 2 * 440 * 4 * 16 * 4
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--corpus", "everyday"), "say where to write with --out reps.zarr, or ask for the cost with --dry-run"),
        (("--corpus", "everyday", "--out", "r", "--pooling", "meen"), "unknown pooling 'meen': did you mean mean or mean_all?"),
        (("--corpus", "everyday", "--out", "r", "--level", "words"), "unknown level 'words': did you mean word"),
        (("--corpus", "everydy", "--out", "r"), "unknown data set 'everydy': did you mean everyday"),
        (("--corpus", "everyday", "--langs", "en,xx1", "--out", "r"), "'xx1' is not a registered language code"),
        (("--corpus", "everyday", "--langs", "en", "--out", "r", "--dtype", "int8"), "dtype 'int8' is none of"),
        (("--corpus", "everyday", "--langs", "en", "--out", "r", "--stack", "decoder"), "is a single encoder"),
        (("--corpus", "everyday-nli", "--langs", "en", "--out", "r", "--level", "word"), "no words can be read from"),
        (("--corpus", "everyday", "--out", "r", "--random", "--random-except", "en"), "leave out --random"),
        (("--corpus", "everyday", "--langs", "en", "--out", "r", "--adapter", "nowhere"), "the adapter nowhere cannot be loaded"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(here, folder, tmp_path, options, message):
    done = here("extract", folder / "bert", *options)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "r").exists()


def test_a_model_that_is_not_there(tmp_path):
    command = ["extract", tmp_path / "nothing", "--corpus", "everyday", "--langs", "en", "--out", tmp_path / "r"]
    done = warm.Verb(tmp_path, *command).end()
    assert done.returncode == 2
    assert "cannot be loaded" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_full_disk_is_one_line_and_the_run_goes_on_after(folder, tmp_path):
    """A limit on the size of files stands for a disk that is full."""
    out = tmp_path / "r"
    command = ["extract", folder / "bert", "--corpus", "everyday", "--langs", "en,fr", "--out", out]
    full = warm.Verb(tmp_path, *command, largest=20_000).end()
    assert full.returncode == 2
    assert full.stderr == f"error: no space left for {out}: free some and run again, it goes on from here\n"
    again = warm.Verb(tmp_path, *command).end()
    assert again.returncode == 0, again.stderr
    assert np.isfinite(il.open_store(out)["fr"]).all()


def test_ctrl_c_keeps_what_is_done(folder, tmp_path):
    out = tmp_path / "r"
    command = ["extract", folder / "bert", "--corpus", "everyday", "--langs", "en,fr,zh", "--block", "8"]
    command += ["--budget", "64", "--out", out]
    running = warm.Verb(tmp_path, *command)
    log = out / "commits.jsonl"
    deadline = time.monotonic() + 150
    while not (log.exists() and log.read_text().count("\n") > 3) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(running.process.pid, signal.SIGINT)
    stopped = running.end(timeout=60)
    assert stopped.returncode == 130, stopped.stderr
    assert stopped.stderr == "error: interrupted; what was finished is kept, run it again to go on\n"
    before = log.read_text()
    assert before.count("\n") > 3
    done = warm.Verb(tmp_path, *command, "--json").end()
    assert done.returncode == 0, done.stderr
    assert log.read_text().startswith(before)


def test_the_cost_of_another_size(here):
    arguments = ("extract", "--langs", "en,fr", "--rows", "100", "--dry-run")
    found = json.loads(here(*arguments, "--as-if", "20x1000", "--tflops", "2", "--workers", "4", "--json").stdout)
    price, total = found["as_if"], found["total"]
    assert total["sentences"] == 200
    assert price["sentences"] == 20_000
    assert price["bytes"] == 100 * total["bytes"]
    assert price["flops"] == 100 * total["flops"]
    assert price["seconds"] == pytest.approx(price["flops"] / 8e12)
    # 20 blocks, 9 layers, 20 languages and 190 pairs, float64
    assert price["moments"] == 20 * 9 * 210 * 8 * 256**2
    # and beside them in memory vectors of 20 languages, one layer of them in float64 with its moments, four to merge
    vectors = (9 * 4 + 8) * 256 * 4096 + 8 * 256**2
    assert price["memory"] == price["moments"] / 20 + 20 * vectors + 4 * 8 * 256**2
    assert price["read"] == 1
    # half a GiB holds a few languages at a time, which are read again
    less = json.loads(here(*arguments, "--as-if", "20x1000", "--moments", "--memory", "0.5", "--json").stdout)["as_if"]
    assert less["memory"] < 2**29
    assert less["flops"] == pytest.approx(less["read"] * price["flops"])
    assert less["read"] > 1
    # and 19 pairs with one of them
    some = here(*arguments, "--moments", "--layers", "0,8", "--pivot", "en", "--as-if", "20x1000", "--json").stdout
    assert json.loads(some)["as_if"]["moments"] == 20 * 2 * 39 * 8 * 256**2
    assert "as if 20 languages: 20,000 sentences" in here(*arguments, "--as-if", "20x1000").stdout
    assert "say languages x sentences" in here(*arguments, "--as-if", "many").stderr
    assert "leave out --level" in here(*arguments, "--as-if", "20x1000", "--level", "word").stderr
    for wrong in ("1x1", "²x5", "2001x10", "2x1" + "0" * 330):
        assert here(*arguments, "--as-if", wrong).stderr.startswith("error: --as-if ")
    # of what there is
    own = json.loads(here(*arguments, "--moments", "--json").stdout)["as_if"]
    assert (own["languages"], own["sentences"], own["moments"]) == (2, 200, 20 * 9 * 3 * 8 * 256**2)
    assert "there is no layer 99" in here(*arguments, "--moments", "--layers", "99").stderr
    assert "unknown language 'de'" in here(*arguments, "--moments", "--pivot", "de").stderr
    assert "is for --moments" in here(*arguments, "--memory", "2").stderr
    assert "is for --moments" in here(*arguments, "--moments", "--memory", "inf").stderr
    assert "is for --dry-run" in here(*arguments[:-1], "--as-if", "20x1000", "--out", "x").stderr
    assert "is for --moments" in here(*arguments, "--layers", "0,8").stderr
    assert "is for --moments" in here(*arguments, "--pivot", "en").stderr
