"""`interlingua compare` and what can be asked of its results, as a user runs it: from checkpoints on disk to a report."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest
import tiny
import warm

import interlingua as il
from interlingua import measures
from interlingua.report.tables import read

TINY = ("--corpus", "everyday", "--langs", "en,fr,zh", "--rows", "60")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("models")
    for name in ("bert", "gpt2", "mbart"):
        tiny.network(name).save_pretrained(place / name)
        tiny.tokenizer().save_pretrained(place / name)
    return place


@pytest.fixture(scope="module")
def results(folder, tmp_path_factory):
    """One run over two models, to be asked; with its output."""
    out = tmp_path_factory.mktemp("run") / "results"
    command = [sys.executable, "-m", "interlingua", "compare", folder / "bert", folder / "gpt2", *TINY, "--out", out]
    done = subprocess.run([*map(str, command)], capture_output=True, encoding="utf-8", check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return out, done


def test_one_command_from_models_to_a_report(results):
    out, done = results
    tables = read(out)
    values = tables.values
    assert set(values.model) == {"bert", "gpt2"}
    assert set(values.measure) == {"anc", "linear_cka", "debiased_cka", "matching"}
    assert set(zip(values.source, values.target, strict=True)) == {("en", "fr"), ("en", "zh-Hans")}
    assert len(values) == 2 * 4 * 2 * 4 * 2  # models, layers, pairs, measures, random or not
    reps = il.open_store(out / "representations" / "bert.mean.zarr")
    row = values[(values.model == "bert") & (values.layer == 2) & (values.measure == "anc") & ~values.baseline].iloc[0]
    assert row.value == pytest.approx(measures.anc(reps["en", 2], reps["fr", 2]).value)
    assert pd.read_csv(out / "results.csv").value.to_numpy() == pytest.approx(values.value.to_numpy())
    assert {p.suffix for p in (out / "figures").iterdir()} == {".svg", ".png"}
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") or page.startswith("<!DOCTYPE html>")
    assert str(out.parent) not in page
    assert str(out.parent) not in (out / "config.json").read_text()
    lines = done.stdout.splitlines()
    assert lines[0] == "bert: anc by pair"
    assert lines[1].split() == "pair layer 0 peak interval at null random last found verdict".split()
    assert lines[2].startswith("en-fr       ")
    assert max(map(len, lines[:4])) <= 80
    assert any(line.startswith("bert: ") for line in lines)
    assert lines[-1] == f"The report is {out / 'report.html'}"


@pytest.mark.usefixtures("undrawn")
def test_running_it_again_computes_nothing_and_gives_the_same(here, folder, results):
    out, _ = results
    before = read(out)
    stamps = {p: p.stat().st_mtime_ns for p in (out / "cache").iterdir()}
    done = here("compare", folder / "bert", folder / "gpt2", *TINY, "--out", out, "--formats", "none", "--json")
    assert done.returncode == 0, done.stderr
    pd.testing.assert_frame_equal(read(out).values, before.values)
    assert {p: p.stat().st_mtime_ns for p in (out / "cache").iterdir()} == stamps
    told = json.loads(done.stdout)
    assert len(told["pairs"]) == 4
    assert told["pairs"][0]["verdict"]


def test_results_can_be_asked(here, results):
    out, _ = results
    said = here("recommend", out)
    assert said.stdout.startswith("bert: No pair is aligned beyond chance or an untrained network")
    assert "not a model for retrieval. Its best would be layer " in said.stdout
    assert len(json.loads(here("recommend", out, "--json").stdout)) == 2
    said = here("neurons", out, "--model", "bert", "--pair", "en,zh", "--layer", "1", "-n", "3")
    assert said.stdout.startswith("en-zh-Hans, layer 1, mean pooling: ANC ")
    assert len(pd.read_csv(out / "neurons-bert-mean-en-zh-Hans-layer1.csv")) == 16
    assert (out / "figures" / "neurons-bert-mean-en-zh-Hans-layer1.svg").stat().st_size > 1000
    said = here("layers", out, "--model", "bert", "--pair", "en,fr")
    assert said.returncode == 0, said.stderr
    assert (out / "figures" / "layers-bert-mean-en-fr-linear_cka.svg").stat().st_size > 1000
    assert len(read(out).layers) == 16
    across = here("layers", out, "--model", "bert", "--other", "gpt2", "--pair", "en,en", "--json")
    assert len(json.loads(across.stdout)) == 16
    assert len(read(out).layers) == 32
    assert "bert and gpt2" in (out / "figures" / "layers-bert-and-gpt2-mean-en-en-linear_cka.svg").read_text()
    shutil.rmtree(out / "figures")
    (out / "report.html").unlink()
    assert here("report", out).returncode == 0
    assert (out / "report.html").exists()
    assert any((out / "figures").iterdir())


@pytest.mark.usefixtures("undrawn")
def test_results_are_merged(here, results, tmp_path):
    out, _ = results
    merged = here("report", out, out, "--out", tmp_path / "both", "--formats", "none")
    assert merged.returncode == 0, merged.stderr
    assert len(read(tmp_path / "both").values) == len(read(out).values)
    assert here("report", out, out, "--out", tmp_path / "both", "--formats", "none").returncode == 0
    refused = here("report", out, "--out", tmp_path)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "holds something else (both): choose another folder, or force" in refused.stderr
    shutil.rmtree(tmp_path / "both" / "details")
    assert "details is missing" in here("report", tmp_path / "both", "--formats", "none").stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("neurons", "{out}"), "there are several models, choose one with --model: bert, gpt2"),
        (("neurons", "{out}", "--model", "bret"), "unknown model in this folder 'bret'"),
        (("neurons", "{out}", "--model", "bert", "--pair", "en"), "a pair is two languages"),
        (("neurons", "{out}", "--model", "bert", "--pair", "en,de"), "unknown language 'de'"),
        (("neurons", "{out}", "--model", "bert", "--layer", "9"), "there is no layer 9"),
        (("layers", "{out}", "--model", "bert", "--measure", "anc"), "neurons of two layers do not correspond"),
        (("report", "nowhere"), "nowhere holds no results"),
        (("report", "{out}", "{out}"), "say where the merged report goes with --out"),
        (("recommend", "nowhere"), "nowhere holds no results"),
        (("explain", "linear_kca"), "unknown measure 'linear_kca': did you mean linear_cka"),
    ],
)
def test_questions_without_an_answer(here, results, arguments, message):
    done = here(*(part.format(out=results[0]) for part in arguments))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("en={bert},fr={bert},zh={bert}", *TINY, "--out", "r"), "anc compares neurons one by one, and en="),
        (("no/such", *TINY, "--out", "r"), "no/such"),
        (("{bert}", "--corpus", "everyday", "--langs", "en,xx", "--out", "r"), "xx"),
        (("{bert}", "--corpus", "everyday", "--langs", "en", "--out", "r"), "at least two languages"),
        (("{bert}", "--corpus", "everyday", "--langs", "en,ja", "--out", "r"), "ja"),
        (("{bert}", *TINY, "--out", "r", "--measures", "ancc"), "unknown measure 'ancc'"),
        (("{bert}", *TINY, "--out", "r", "--pooling", "meen"), "unknown pooling 'meen': did you mean mean"),
        (("{bert}", *TINY, "--out", "r", "--source", "de"), "unknown language in the corpus 'de'"),
        (("{bert}", *TINY, "--out", "r", "--as-published", "del2020"), "unknown paper 'del2020': did you mean del2022"),
        (("{bert}", *TINY, "--out", "r", "--leave-out", "verbs"), "unknown thing that sentences share 'verbs'"),
        (("{bert}", *TINY, "--out", "r", "--formats", "gif"), "not 'gif'"),
        (("{bert}", *TINY, "--out", "r", "--rows", "30"), "30 sentences cannot be cut into 20 blocks"),
        (("{bert}", *TINY), "say where to write with --out"),
        (("{bert}", *TINY, "--out", "/proc/nowhere"), "/proc/nowhere"),
    ],
)
def test_mistakes_are_one_line(here, folder, arguments, message):
    done = here("compare", *(part.format(bert=folder / "bert") for part in arguments))
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("error: ")
    assert message in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("undrawn")
def test_a_folder_of_another_run_is_refused(here, folder, tmp_path):
    quick = ("--no-baseline", "--measures", "anc", "--nulls", "0", "--formats", "none")
    first = here("compare", folder / "bert", *TINY, *quick, "--out", tmp_path / "r")
    assert first.returncode == 0, first.stderr
    other = here("compare", folder / "bert", *TINY, *quick, "--out", tmp_path / "r", "--seed", "1")
    assert other.returncode == 2
    assert "holds another run (seed was 0 and is 1): choose another folder, or --force" in other.stderr
    cache = next((tmp_path / "r" / "cache").iterdir())
    forced = here("compare", folder / "bert", *TINY, *quick, "--out", tmp_path / "r", "--seed", "1", "--force")
    assert forced.returncode == 0, forced.stderr
    assert not cache.exists()
    # A run that never measured anything does not keep the folder.
    wrong = here("compare", folder / "bert", *TINY, *quick, "--out", tmp_path / "s", "--blocks", "40")
    assert "60 sentences cannot be cut into 40 blocks: give 80 or more" in wrong.stderr
    missing = here("compare", folder / "brt", *TINY, *quick, "--out", tmp_path / "s")
    assert missing.returncode == 2
    assert here("compare", folder / "bert", *TINY, *quick, "--out", tmp_path / "s").returncode == 0
    (tmp_path / "other").mkdir()
    shutil.copytree(folder / "bert", tmp_path / "other" / "bert")
    same = here("compare", folder / "bert", tmp_path / "other" / "bert", *TINY, *quick, "--out", tmp_path / "t")
    assert "would both be called bert: rename a folder" in same.stderr
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    refused = here("compare", folder / "bert", *TINY, *quick, "--out", tmp_path / "mine")
    assert "is not empty and holds no run" in refused.stderr
    assert [p.name for p in (tmp_path / "mine").iterdir() if p.name != ".lock"] == ["thesis.txt"]
    # Even by force, only what a run wrote is replaced.
    (tmp_path / "mine" / "figures").mkdir()
    (tmp_path / "mine" / "figures" / "own.svg").write_text("precious")
    forced = here("compare", folder / "bert", *TINY, *quick, "--out", tmp_path / "mine", "--force")
    assert forced.returncode == 0, forced.stderr
    assert (tmp_path / "mine" / "figures" / "own.svg").read_text() == "precious"


@pytest.mark.usefixtures("undrawn")
def test_neurons_are_those_of_the_run(here, folder, tmp_path):
    quick = ("--no-baseline", "--nulls", "0", "--formats", "none")
    prepared = ("--measures", "anc", "--drop-components", "2", "--pooling", "mean,first")
    assert here("compare", folder / "bert", *TINY, *quick, *prepared, "--out", tmp_path / "r").returncode == 0
    said = json.loads(here("neurons", tmp_path / "r", "--pair", "en,fr", "--json").stdout)
    values = read(tmp_path / "r").values
    own = values[(values.pooling == "mean") & (values.target == "fr")]
    assert said["anc"] == pytest.approx(own.value.max())
    two = f"en={folder / 'bert'},fr={folder / 'gpt2'},zh={folder / 'gpt2'}"
    assert here("compare", two, *TINY, *quick, "--measures", "linear_cka", "--out", tmp_path / "t").returncode == 0
    refused = here("neurons", tmp_path / "t", "--pair", "en,fr")
    assert "neurons of two networks do not correspond" in refused.stderr
    assert str(folder) not in (tmp_path / "t" / "config.json").read_text()


def test_options_reach_the_numbers(here, folder, tmp_path):
    out = tmp_path / "r"
    done = here(
        "compare", folder / "mbart", *TINY, "--out", out, "--source", "all", "--measures", "linear_cka,cca_mean,matching",
        "--pooling", "mean,first", "--as-published", "del2022", "--leave-out", "digits,names", "--remove-mean",
        "--nulls", "20", "--blocks", "5", "--cca-intervals", "--formats", "none", "--stack", "decoder",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    tables = read(out)
    own = tables.values[~tables.values.baseline]
    assert set(own.pooling) == {"mean", "first"}
    assert set(zip(own.source, own.target, strict=True)) == {("en", "fr"), ("en", "zh-Hans"), ("fr", "zh-Hans")}
    assert own.published.notna().sum() > 0
    # At layer 0 the first token is the same in every sentence: no value, and the reason instead.
    assert own[(own.measure == "linear_cka") & (own.pooling == "mean")].p.notna().all()
    constant = own[(own.layer == 0) & (own.pooling == "first")]
    assert constant[constant.value.isna()].notes.str.len().gt(0).all()
    assert own[own.measure == "cca_mean"].low.notna().sum() > 0
    assert "prepared:remove_mean=True" in own.signature.iloc[0]
    assert tables.config["corpus"]["rows"] < 60
    assert set(own.layer) == {0, 1, 2}


def test_an_interrupted_run_goes_on(folder, tmp_path):
    """Ctrl-C and kill -9 at several moments; what comes out in the end is what an unbroken run gives."""
    quick = ("--nulls", "2", "--blocks", "10", "--formats", "none")
    arguments = ["compare", folder / "bert", *TINY, *quick, "--out"]
    out = tmp_path / "broken"

    def found(pattern):
        return len(list(out.glob(pattern)))

    ends = []
    # while it extracts, while it measures, and later then
    moments = (
        (lambda: found("representations/*.zarr/commits.jsonl"), signal.SIGKILL),
        (lambda: found("cache/*"), signal.SIGINT),
        (lambda: found("cache/*") > 4, signal.SIGKILL),
    )
    for reached, how in moments:
        running = warm.Verb(tmp_path, *arguments, out)
        while not reached() and running.process.is_alive():
            time.sleep(0.002)
        os.kill(running.process.pid, how)
        ends.append(running.end().returncode)
    assert ends == [-signal.SIGKILL, 130, -signal.SIGKILL]
    assert not (out / "results.csv").exists()
    for place in (out, tmp_path / "whole"):
        done = warm.Verb(tmp_path, *arguments, place, drawn=False).end()
        assert done.returncode == 0, done.stderr
    pd.testing.assert_frame_equal(read(out).values, read(tmp_path / "whole").values)
    pd.testing.assert_frame_equal(read(out).worst, read(tmp_path / "whole").worst)


def test_no_space_is_told_and_nothing_is_lost(folder, tmp_path):
    arguments = ["compare", folder / "bert", *TINY, "--nulls", "0", "--no-baseline", "--formats", "none"]
    full = warm.Verb(tmp_path, *arguments, "--out", tmp_path / "r", largest=20_000).end()
    assert full.returncode == 2, full.stderr
    (line,) = full.stderr.splitlines()
    assert line.startswith("error: ")
    assert "pace" in line or "too large" in line
    after = warm.Verb(tmp_path, *arguments, "--out", tmp_path / "r", drawn=False).end()
    assert after.returncode == 0, after.stderr


def test_a_dry_run_computes_nothing(here, folder, tmp_path):
    done = here("compare", folder / "bert", *TINY, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "on disk" in done.stdout
    assert "1 x 2 extractions" in done.stdout
    told = json.loads(here("compare", folder / "bert", folder / "gpt2", *TINY, "--dry-run", "--json").stdout)
    assert list(told["models"]) == [str(folder / "bert"), str(folder / "gpt2")]
    assert told["total"]["bytes"] == sum(2 * each["total"]["bytes"] for each in told["models"].values())
    assert list(tmp_path.glob("*.zarr")) == []


def test_measures_are_explained(cli):
    listed = cli("explain").stdout
    for measure in measures.CATALOG:
        assert measure.name in listed
        said = cli("explain", measure.name).stdout if measure.name in ("anc", "linear_cka") else ""
        if said:
            assert "Reference: " in said
            assert "Unchanged by" in said
    facts = json.loads(cli("explain", "debiased_cka", "--json").stdout)[0]
    assert facts["range"] == [None, None]
    assert "HSIC" in facts["description"]
