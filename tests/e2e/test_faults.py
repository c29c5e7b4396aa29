"""kill -9 at random moments, again and again: what comes out in the end is what an unbroken run gives."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest

from interlingua.analyses.transfer_run import WHOLE, Attempt, tuned_there
from interlingua.errors import InputError
from interlingua.models import load_model
from interlingua.transfer.finetune import Tuning
from interlingua.transfer.tasks import task
from support import tiny, warm

KILLS = 3
PAGE = Path(__file__).parents[2] / "docs" / "robustness.md"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    place = tmp_path_factory.mktemp("model") / "bert"
    tiny.network("bert").save_pretrained(place)
    tiny.tokenizer().save_pretrained(place)
    return place


def pretraining(folder, _model):
    settings = folder / "nano.yaml"
    settings.write_text(
        "size: nano\ntext: {en: everyday, fr: everyday}\nheld_out: 40\nupdates: 60\ncheckpoint_every: 8\n"
        "evaluate_every: 30\n",
        encoding="utf-8",
    )
    return ["pretrain", settings, "--device", "cpu", "--out"]


def transferring(_folder, model):
    return [
        "transfer", model, "--task", "ner", "--train", "everyday-ner", "--langs", "en,fr", "--epochs", "2",
        "--batch", "8", "--seeds", "3", "--formats", "none", "--out",
    ]  # fmt: skip


def studying(_folder, _model):
    return [
        "study", "run", "scaling", "--smoke", "--set", "shapes=[[32, 2, 2, 0.001]]", "--set", "updates=3",
        "--no-figures", "--out",
    ]  # fmt: skip


def streaming(_folder, model):
    return ["extract", model, "--langs", "en,fr,de", "--moments", "--out"]


@pytest.mark.parametrize(
    ("command", "compared"),
    [
        (pretraining, "model/model.safetensors"),
        (transferring, "scores.csv"),
        (studying, "cells/*.csv"),
        (streaming, "results.csv"),
    ],
)
def test_a_verb_that_is_killed_goes_on_to_the_same_result(model, tmp_path, command, compared):
    arguments = command(tmp_path, model)
    warm.Verb(tmp_path, "--version").end()  # what processes are forked from is there
    began = time.monotonic()
    done = warm.Verb(tmp_path, *arguments, tmp_path / "whole", drawn=False).end()
    assert done.returncode == 0, done.stderr
    takes = time.monotonic() - began
    rng = np.random.default_rng(5)
    ends = []
    for moment in rng.uniform(0.1, 0.8, KILLS):
        running = warm.Verb(tmp_path, *arguments, tmp_path / "broken", drawn=False)
        running.process.join(takes * moment)
        if running.process.is_alive():
            os.kill(running.process.pid, signal.SIGKILL)
        ends.append(running.end().returncode)
    assert -signal.SIGKILL in ends
    done = warm.Verb(tmp_path, *arguments, tmp_path / "broken", drawn=False).end()
    assert done.returncode == 0, done.stderr
    found = sorted((tmp_path / "whole").glob(compared))
    assert found
    for path in found:
        assert (tmp_path / "broken" / path.relative_to(tmp_path / "whole")).read_bytes() == path.read_bytes()


def test_cells_end_with_the_run_that_began_them(tmp_path):
    """A run that is killed while several cells are under way leaves none of them behind, at work and in its folder."""
    command = ["study", "run", "scaling", "--smoke", "--set", "shapes=[[32, 2, 2, 0.001]]", "--set", "updates=100000"]
    begun = subprocess.Popen(
        [sys.executable, "-m", "interlingua", *command, "--workers", "2", "--no-figures", "--out", tmp_path / "out"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    work = tmp_path / "out" / "work"
    deadline = time.monotonic() + 120
    while len(list(work.glob("*/model/log.jsonl"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.2)
    cells = psutil.Process(begun.pid).children(recursive=True)
    assert len(cells) >= 2
    begun.kill()
    begun.wait(30)
    _, alive = psutil.wait_procs(cells, timeout=30)
    assert not alive


def test_two_runs_on_one_folder(model, tmp_path):
    """The second is told, and harms nothing."""
    arguments = [*transferring(tmp_path, model), tmp_path / "out"]
    first = warm.Verb(tmp_path, *arguments, drawn=False)
    while not (tmp_path / "out" / ".lock").exists() and first.process.is_alive():
        time.sleep(0.01)
    second = warm.Verb(tmp_path, *arguments, drawn=False).end()
    assert second.returncode == 2
    assert "another run is writing to" in second.stderr
    assert first.end().returncode == 0


def test_what_was_kept_and_is_damaged_is_made_again(model, tmp_path):
    """A digit that changed is no score, and half a file is no error."""
    arguments = [*transferring(tmp_path, model), tmp_path / "out"]
    assert warm.Verb(tmp_path, *arguments, drawn=False).end().returncode == 0
    before = (tmp_path / "out" / "scores.csv").read_bytes()
    first, second, third = (tmp_path / "out" / "cache" / f"whole.{seed}.json" for seed in range(3))
    text = first.read_text()
    first.write_text(re.sub(r'"value": 0\.\d+', '"value": 0.987654', text))
    assert first.read_text() != text
    second.write_bytes(second.read_bytes()[:200])
    untouched = third.stat().st_mtime_ns
    again = warm.Verb(tmp_path, *arguments, drawn=False).end()
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "out" / "scores.csv").read_bytes() == before
    assert third.stat().st_mtime_ns == untouched


def test_a_model_that_changes_while_a_run_is_under_way(model, tmp_path):
    pos = task("pos")
    record = pos.read("everyday-trees", "en", "")
    how = Attempt(task="pos", tuning=Tuning(epochs=1, batch=8))
    records = [record[:16]], [record[16:24]], [record[24:32]]
    with pytest.raises(InputError, match="has other weights now than when this run began"):
        tuned_there(str(model), records, tmp_path, how, "0" * 64, WHOLE, (), {}, 0)
    tuned_there(str(model), records, tmp_path, how, load_model(str(model)).weights, WHOLE, (), {}, 0)
    assert (tmp_path / "cache" / "whole.0.json").exists()


def test_damaged_results_are_written_again(model, tmp_path):
    arguments = ["compare", model, "--langs", "en,fr", "--rows", "60", "--formats", "none", "--out", tmp_path / "out"]
    assert warm.Verb(tmp_path, *arguments, drawn=False).end().returncode == 0
    place = tmp_path / "out" / "results.parquet"
    before = pd.read_parquet(place)
    place.write_bytes(place.read_bytes()[:500])
    again = warm.Verb(tmp_path, *arguments, drawn=False).end()
    assert again.returncode == 0, again.stderr
    assert "maps of layers are left out" in again.stderr
    pd.testing.assert_frame_equal(pd.read_parquet(place), before)


def test_the_table_of_faults_names_tests_that_are_there():
    named = re.findall(r"`(test_[a-z_]+\.py)::(test_[a-z0-9_]+)`", PAGE.read_text(encoding="utf-8"))
    assert len(named) > 40
    files = {path.name: path.read_text(encoding="utf-8") for path in PAGE.parents[1].glob("tests/*/test_*.py")}
    missing = [f"{file}::{name}" for file, name in named if f"def {name}(" not in files.get(file, "")]
    assert not missing
