"""Does a cluster give what one process gives, to the byte, whatever dies in between?"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
from itertools import chain, combinations
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest
from transformers import BertConfig, BertModel

import interlingua as il
from interlingua.analyses.shares import CHUNK, MERGING, Shares, chunk_of
from interlingua.analyses.streamed import Streamed, moments_of, stream
from interlingua.analyses.transfer import Attempt, transfer
from interlingua.cluster import DiedError, Engine, Workers, workers
from interlingua.errors import InputError, MissingExtraError, UnknownNameError
from interlingua.extract import extract
from interlingua.models import PerLanguage
from interlingua.studies import frame
from interlingua.studies.catalog import find
from interlingua.studies.study import SMOKE, settings_of
from interlingua.transfer.finetune import Tuning
from interlingua.transfer.tasks import task
from support import tiny

# Ray before 2.60 or so leaves files of its own open.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
RAY = Engine("ray", workers=2)
CORPUS = il.parallel("everyday", "en", "fr")[:120]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A tiny network in a folder, which every worker can load."""
    place = tmp_path_factory.mktemp("ray") / "bert"
    tiny.network("bert").save_pretrained(place)
    tiny.tokenizer().save_pretrained(place)
    return str(place)


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """One cluster for all tests: workers that have loaded torch are used again."""
    with workers(RAY) as there:
        yield there


def content(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


@pytest.mark.parametrize("level", ["sentence", "word", "type"])
def test_stores_are_the_same_to_the_byte(model, tmp_path, level):
    options = {"level": level, "block": 16}
    extract(model, CORPUS, out=tmp_path / "here", **options)
    seen = []
    extract(model, CORPUS, out=tmp_path / "there", engine=RAY, progress=lambda *at: seen.append(at), **options)
    assert content(tmp_path / "here") == content(tmp_path / "there")
    assert seen[-1][0] == seen[-1][1]


def test_one_model_a_language_and_no_store(model):
    both = PerLanguage.by_tag({"en": model, "fr": il.load_model(model, random=True, seed=3)})
    here, there = extract(both, CORPUS, block=32), extract(both, CORPUS, block=32, engine=RAY)
    for lang in ("en", "fr"):
        np.testing.assert_array_equal(here[lang], there[lang])


def deaths():
    """Kill one worker that is at work."""
    for process in psutil.process_iter(["cmdline"]):
        if (process.info["cmdline"] or [""])[0].startswith("ray::computed"):
            os.kill(process.pid, signal.SIGKILL)
            return 1
    return 0


def test_a_worker_that_is_killed_changes_nothing(model, tmp_path):
    killed = []

    def progress(_done, _total):
        if sum(killed) < 2:
            killed.append(deaths())

    extract(model, CORPUS, out=tmp_path / "here", block=4)
    extract(model, CORPUS, out=tmp_path / "there", block=4, engine=RAY, progress=progress)
    assert sum(killed) == 2
    assert content(tmp_path / "here") == content(tmp_path / "there")


def test_a_task_is_run_again_and_given_up_in_the_end(cluster, tmp_path):
    def die(marker):
        if marker is None or not marker.exists():
            if marker is not None:
                marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return "alive"

    assert list(cluster.each(die, [(tmp_path / "first",)])) == ["alive"]
    with pytest.raises(DiedError, match="4 times"):
        list(cluster.each(die, [(None,)]))


def test_no_more_are_under_way_than_there_are_workers(cluster, tmp_path):
    def together(number):
        mine = tmp_path / str(number)
        mine.touch()
        time.sleep(0.3)
        many = len(list(tmp_path.iterdir()))
        mine.unlink()
        return many

    assert cluster.number == 2
    assert max(cluster.each(together, ((i,) for i in range(7)))) <= 2


def test_a_cluster_that_is_lost_is_one_error(cluster):
    class Lost:
        exceptions = cluster.ray.exceptions

        def get(self, _ref):
            raise self.exceptions.LocalRayletDiedError

    there = object.__new__(Workers)
    there.ray = Lost()
    with pytest.raises(DiedError, match="the cluster was lost .*run it again"):
        there.result(None)


def test_what_goes_wrong_in_a_worker_is_told_as_it_is_here(model, tmp_path):
    in_memory = il.models.load.wrap(tiny.network("bert"), tiny.tokenizer(), name="mine")
    with pytest.raises(InputError, match="mine is in the memory of this process alone: save it"):
        extract(in_memory, CORPUS, engine=RAY)
    changed = il.load_model(model)
    next(changed.network.parameters()).data.add_(1.0)
    with pytest.raises(InputError, match="a worker finds other weights there"):
        extract(changed, CORPUS, engine=RAY)
    with pytest.raises(InputError, match="only looked up"):
        extract(model, CORPUS, level="table", engine=RAY)
    with pytest.raises(InputError, match="longer than"):
        extract(model, il.ParallelCorpus.from_texts({"en": ["long " * 9000], "fr": ["b"]}, name="x"), engine=RAY)
    # and nothing of it is left behind
    extract(model, CORPUS[:8], out=tmp_path / "store", engine=RAY)


def test_moments_are_those_of_one_process_and_of_compare(model, tmp_path):
    here = stream(model, CORPUS, tmp_path / "here", blocks=5)
    there = stream(model, CORPUS, tmp_path / "there", blocks=5, engine=RAY)
    pd.testing.assert_frame_equal(here, there, check_exact=False, atol=1e-10, rtol=0)
    found = il.compare(extract(model, CORPUS), measures=("anc", "linear_cka", "debiased_cka"), blocks=5, nulls=0)
    usual = {(row["layer"], row["measure"]): row for row in found.rows}
    for row in here.itertuples():
        for end in ("value", "low", "high"):
            # batches differ, and with them the last digits of vectors
            assert getattr(row, end) == pytest.approx(usual[row.layer, row.measure][end], abs=2e-5)


def test_moments_go_on_after_a_kill_and_do_not_take_what_is_damaged(model, tmp_path):
    class Killed(Exception):
        pass

    def stop(done, _total):
        if done >= 60:
            raise Killed

    with pytest.raises(Killed):
        stream(model, CORPUS, tmp_path / "out", blocks=10, progress=stop)
    parts = sorted((tmp_path / "out").rglob("*.npz"))
    assert 0 < len(parts) < 10
    parts[0].write_bytes(parts[0].read_bytes()[:-40])
    before = parts[1].stat().st_mtime_ns
    found = stream(model, CORPUS, tmp_path / "out", blocks=10)
    assert parts[1].stat().st_mtime_ns == before
    pd.testing.assert_frame_equal(found, stream(model, CORPUS, tmp_path / "other", blocks=10))
    with pytest.raises(InputError, match="another run"):
        stream(model, CORPUS, tmp_path / "out", blocks=5)
    with pytest.raises(UnknownNameError, match="matching"):
        stream(model, CORPUS, tmp_path / "x", measures=("matching",))
    with pytest.raises(InputError, match="there is no layer 9"):
        stream(model, CORPUS, tmp_path / "x", layers=(9,))
    two = PerLanguage.by_tag({"en": model, "fr": il.load_model(model, random=True)})
    with pytest.raises(InputError, match="anc pairs neurons"):
        stream(two, CORPUS, tmp_path / "x")
    assert len(stream(two, CORPUS, tmp_path / "y", measures=("linear_cka",), layers=(1,), blocks=4)) == 1
    three = il.parallel("everyday", "en", "fr", "zh")[:40]
    found = stream(model, three, tmp_path / "z", pivot="zh", layers=(1,), blocks=4)
    assert {(row.source, row.target) for row in found.itertuples()} == {("zh-Hans", "en"), ("zh-Hans", "fr")}


def test_shares_of_pairs_hold_less_and_say_the_same(model, tmp_path):
    four = il.parallel("everyday", "en", "fr", "zh", "ru")[:48]
    for pivot in ("", "fr"):
        usual = stream(model, four, tmp_path / f"all{pivot}", blocks=4, pivot=pivot)
        for engine in (Engine(), RAY):
            folder = tmp_path / f"few{pivot}{engine.name}"
            found = stream(model, four, folder, blocks=4, pivot=pivot, memory=1, engine=engine)
            # one pair at a time, and the same to the last digit
            assert len(list(folder.rglob("*.npz"))) == 4 * len(usual[["source", "target"]].drop_duplicates())
            pd.testing.assert_frame_equal(usual, found, check_exact=True)
    assert len(list((tmp_path / "all").rglob("*.npz"))) == 4
    # layers are counted once, in order
    again = stream(model, four, tmp_path / "again", blocks=4, layers=(2, 0, 0, 2))
    assert again["layer"].drop_duplicates().tolist() == [0, 2]
    assert set(again["n"]) == {48}
    # shares of another run leave nothing behind
    stream(model, four, tmp_path / "all", blocks=4, memory=1)
    assert len(list((tmp_path / "all").rglob("*.npz"))) == 4 * 6
    # one model a language too
    two = PerLanguage.by_tag({"en": model, "fr": il.load_model(model, random=True), "zh": model, "ru": model})
    how = {"blocks": 4, "measures": ("linear_cka",), "layers": (1,)}
    usual, found = (stream(two, four, tmp_path / f"two{memory}", memory=memory, **how) for memory in (10**9, 1))
    pd.testing.assert_frame_equal(usual, found, check_exact=True)


def test_a_source_is_read_with_every_share(tmp_path):
    """Of a decoder, whose encoder reads English."""
    place = tmp_path / "mbart"
    tiny.network("mbart").save_pretrained(place)
    tiny.tokenizer().save_pretrained(place)
    decoder = il.load_model(place, stack="decoder")
    text = il.parallel("everyday", "en", "fr", "zh")[:40]
    how = {"blocks": 4, "source": "en", "truncate": True}
    usual, found = (stream(decoder, text, tmp_path / f"{memory}", memory=memory, **how) for memory in (10**9, 1))
    assert len(list((tmp_path / "1").rglob("*.npz"))) == 12
    pd.testing.assert_frame_equal(usual, found, check_exact=True)


@pytest.mark.parametrize("pivot", [True, False])
@pytest.mark.parametrize("memory", [1, 10**6, 3 * 10**6, 10**7, 10**9])
def test_shares_are_all_pairs_and_fit(pivot, memory):
    names = [str(i) for i in range(13)]
    pairs = [pair for pair in combinations(names, 2) if not pivot or pair[0] == "0"]
    shares = Shares.of(pairs, memory, layers=2, all_layers=3, width=64)
    assert sorted(chain.from_iterable(shares.pairs)) == sorted(pairs)
    # a pair and two languages are the least
    assert shares.memory <= max(memory, 3 * shares.moments + 2 * shares.vectors + MERGING * shares.matrix)
    assert shares.vectors == (3 * 4 + 8) * 64 * CHUNK + 8 * 64**2
    with_source = Shares.of(pairs, memory, layers=2, all_layers=3, width=64, source="12")
    assert all("12" in with_source.langs(share) for share in with_source.pairs)
    assert with_source.memory <= max(memory, 4 * shares.moments + 3 * shares.vectors + MERGING * shares.matrix)
    if memory == 10**9:
        assert len(shares.pairs) == 1
        assert shares.read == 13
        assert shares.on_disk == (13 + len(pairs)) * 2 * 8 * 64**2


def test_workers_compute_where_it_is_said():
    class Cluster:
        def __init__(self, gpus):
            self.gpus = gpus

        def cluster_resources(self):
            return {"CPU": 8.0, **({"GPU": self.gpus} if self.gpus else {})}

    usual = Workers(Cluster(2.0), 4)
    assert (usual.device, usual.needs) == ("cuda", {"num_cpus": 1.0, "num_gpus": 0.5})
    without = Workers(Cluster(2.0), 4, "cpu")
    assert (without.device, without.needs) == ("cpu", {"num_cpus": 1.0})
    assert Workers(Cluster(2.0), 0, "cuda").device == "cuda"
    with pytest.raises(InputError, match="the cluster has no GPU"):
        Workers(Cluster(0), 4, "cuda")
    for wrong in ("mps", "cpu:0", "cuda:1"):
        with pytest.raises(InputError, match=f"not on {wrong}"):
            Engine("ray", device=wrong)
        assert not Engine(device=wrong).spread


def test_what_a_share_is_said_to_hold_is_what_it_holds(tmp_path):
    """Rows of random vectors, as many as two chunks: memory beyond that of the text, by what Python counts."""
    place = tmp_path / "wide"
    shape = {"hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 16}
    BertModel(BertConfig(vocab_size=len(tiny.tokenizer()), **shape)).save_pretrained(place)
    tiny.tokenizer().save_pretrained(place)
    wide = il.load_model(place)
    text = il.ParallelCorpus.from_texts({lang: [f"{i}" for i in range(5000)] for lang in ("en", "fr", "de")}, name="n")
    asked = Streamed((("en", "fr"), ("en", "de")), (0, 2), ("anc",), {}, chunk_of(3, 256))
    said = Shares.of(asked.pairs, 10**12, layers=2, all_layers=3, width=256).memory
    tracemalloc.start()
    moments_of(wide, text, asked)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.5 * said < peak < 1.25 * said


def test_an_interrupt_does_not_wait_for_workers(cluster):
    """Ctrl-C while tasks run: what the program makes of it, at once, and nothing of it is left."""

    class Mine(BaseException):
        pass

    def mine(_number, _frame):
        raise Mine

    usual = signal.signal(signal.SIGINT, mine)
    timer = threading.Timer(2, os.kill, (os.getpid(), signal.SIGINT))
    try:
        began = time.monotonic()
        timer.start()
        with (
            pytest.raises(Mine),
            workers(RAY) as there,
            contextlib.closing(there.each(lambda: time.sleep(60), [()])) as made,
        ):
            list(made)
        assert time.monotonic() - began < 30
        assert signal.getsignal(signal.SIGINT) is mine
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, usual)
    assert list(cluster.each(lambda n: -n, [(-1,)])) == [1]


def test_what_is_left_of_a_run_does_not_begin_another_cluster(cluster):
    class Ended:
        asked = ()

        def is_initialized(self):
            return False

        def remote(self, **_):
            return lambda do: type("Task", (), {"remote": staticmethod(do)})

        def wait(self, running, num_returns):
            return running[:num_returns], running[num_returns:]

        def cancel(self, ref, force):
            raise AssertionError

    there = object.__new__(Workers)
    there.ray, there.number, there.needs = Ended(), 1, {}
    there.result = lambda ref: ref
    made = there.each(abs, [(-i,) for i in range(9)])
    assert next(made) == 0
    made.close()


def test_a_grid_of_transfer_runs_is_the_same(model, tmp_path):
    pos = task("pos")
    record = pos.read("everyday-trees", "en", "")
    other = pos.read("everyday-trees", "fr", "")
    how = Attempt(task="pos", tuning=Tuning(epochs=1, batch=8), seeds=2, random_init="pairs", baseline=False)
    arguments = [record[:24]], [record[24:32]], [record[32:], other]
    here = transfer(model, *arguments, tmp_path / "here", how)
    there = transfer(model, *arguments, tmp_path / "there", how, engine=RAY)
    pd.testing.assert_frame_equal(here.scores, there.scores)
    pd.testing.assert_frame_equal(here.drops, there.drops)


def test_cells_of_a_study_are_the_same(tmp_path):
    study = find("scaling")
    settings = settings_of(study, SMOKE, ["shapes=[[32, 2, 2, 0.001]]", "updates=2"])
    frame.run(study, settings, tmp_path / "here")
    found, wrong = frame.run(study, settings, tmp_path / "there", engine=RAY)
    assert not wrong
    assert found.cells == ("mlm.2x32.0", "clm.2x32.0")
    for cell in found.cells:
        tables = [pd.read_csv(tmp_path / where / "cells" / f"{cell}.csv") for where in ("here", "there")]
        pd.testing.assert_frame_equal(*tables)


def test_the_command_line(model, tmp_path, here):
    def run(*arguments):
        return here("extract", model, "--langs", "en,fr", "--rows", "100", *arguments)

    out = tmp_path / "store"
    assert run("--engine", "ray", "--workers", "2", "--out", out).returncode == 0
    assert "complete already" in run("--engine", "ray", "--workers", "2", "--out", out).stdout
    found = run("--moments", "--engine", "ray", "--workers", "2", "--out", tmp_path / "moments")
    assert "en-fr anc: " in found.stdout
    assert (tmp_path / "moments" / "results.csv").exists()
    assert "there are local, ray" in run("--engine", "rai", "--out", out).stderr
    assert "say --engine ray as well" in run("--address", "auto", "--out", out).stderr
    assert "leave out --level" in run("--moments", "--level", "word", "--out", tmp_path / "m").stderr


def test_without_ray_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match="interlingua\\[ray\\]"), workers(RAY):
        pass


def test_a_cluster_at_an_address(model, tmp_path, cli):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start = [f"{sys.prefix}/bin/ray", "start", "--head", f"--port={port}", "--num-cpus=1", "--include-dashboard=false"]
    short = tempfile.mkdtemp(dir="/tmp")  # sockets lie in it, whose names must be short
    head = subprocess.Popen(
        [*start, "--block", f"--temp-dir={short}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True, env={**os.environ, "RAY_worker_niceness": "0"},
    )  # fmt: skip
    try:
        for _ in range(300):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.2)
        time.sleep(3)
        place = tmp_path / "x"
        few = ("--langs", "en,fr", "--rows", "60")
        done = cli("extract", model, *few, "--out", place, "--engine", "ray", "--address", f"127.0.0.1:{port}")
        assert done.returncode == 0, done.stderr
        extract(model, CORPUS[:60], out=tmp_path / "here")
        assert content(place) == content(tmp_path / "here")
    finally:
        os.killpg(head.pid, signal.SIGTERM)
        head.wait(60)
        shutil.rmtree(short, ignore_errors=True)


def test_a_cluster_that_does_not_answer_is_told(model, tmp_path, cli):
    done = cli("extract", model, "--out", tmp_path / "x", "--engine", "ray", "--address", "127.0.0.1:1")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("error: no Ray cluster answers at 127.0.0.1:1")
