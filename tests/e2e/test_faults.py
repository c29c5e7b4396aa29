"""kill -9 at random moments, again and again: what comes out in the end is what an unbroken run gives."""

import os
import re
import signal
import time
from pathlib import Path

import numpy as np
import pytest

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


def test_the_table_of_faults_names_tests_that_are_there():
    named = re.findall(r"`(test_[a-z_]+\.py)::(test_[a-z0-9_]+)`", PAGE.read_text(encoding="utf-8"))
    assert len(named) > 40
    files = {path.name: path.read_text(encoding="utf-8") for path in PAGE.parents[1].glob("tests/*/test_*.py")}
    missing = [f"{file}::{name}" for file, name in named if f"def {name}(" not in files.get(file, "")]
    assert not missing
