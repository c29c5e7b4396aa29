"""Representations on disk: what was written is read back, a kill or damage costs one block, nothing wrong is opened."""

import errno
import json
import multiprocessing
import shutil
import signal
import time

import numpy as np
import pytest
import tiny
import torch
import warm
import zarr

import interlingua as il
from interlingua.errors import DataNotFoundError, FormatError, InputError
from interlingua.extract import extract, forward, open_store
from interlingua.extract.store import LOG, Store, writing
from interlingua.models.load import Model, wrap

CORPUS = il.parallel("everyday", "en", "ar", "zh")[:12]


@pytest.fixture(scope="module")
def bert():
    return wrap(tiny.network("bert"), tiny.tokenizer(), name="tiny-bert")


def tree(folder):
    """Every file of a store but its lock, by name."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_a_store_gives_back_what_was_extracted(bert, tmp_path):
    held = extract(bert, CORPUS, block=5)
    stored = extract(bert, CORPUS, out=tmp_path / "reps.zarr", block=5)
    opened = open_store(tmp_path / "reps.zarr")
    for lang in CORPUS.langs:
        np.testing.assert_array_equal(stored[lang], held[lang])
        np.testing.assert_array_equal(opened[lang, 2], held[lang, 2])
    assert opened.ids == CORPUS.ids
    assert opened.signature["corpus"]["en"] == CORPUS.hash_of("en")


def test_nothing_is_computed_twice(bert, tmp_path, monkeypatch):
    extract(bert, CORPUS, out=tmp_path / "r", block=5)
    before = tree(tmp_path / "r")
    monkeypatch.setattr("interlingua.extract.forward.compute", None)
    extract(bert, CORPUS, out=tmp_path / "r", block=5)
    assert tree(tmp_path / "r") == before


@pytest.mark.parametrize("damage", ["flip", "cut", "remove"])
def test_a_damaged_chunk_is_found_and_only_its_block_redone(bert, tmp_path, damage, monkeypatch):
    extract(bert, CORPUS, out=tmp_path / "r", block=5)
    before = tree(tmp_path / "r")
    chunk = tmp_path / "r" / "ar" / "c" / "2" / "1" / "0"
    data = bytearray(chunk.read_bytes())
    if damage == "remove":
        chunk.unlink()
    else:
        data[10] ^= 1
        chunk.write_bytes(bytes(data) if damage == "flip" else bytes(data)[:-7])
    computed = []
    real = forward.compute
    monkeypatch.setattr(forward, "compute", lambda work, *rest: computed.append(work.size) or real(work, *rest))
    extract(bert, CORPUS, out=tmp_path / "r", block=5)
    assert computed == [5]
    after = tree(tmp_path / "r")
    assert {k: v for k, v in after.items() if k != "commits.jsonl"} == {
        k: v for k, v in before.items() if k != "commits.jsonl"
    }


def test_another_model_or_corpus_is_refused_with_the_difference(bert, tmp_path):
    extract(bert, CORPUS, out=tmp_path / "r")
    with pytest.raises(InputError, match=r"holds other representations \(pooling: \"mean\" there, \"max\" asked for\)"):
        extract(bert, CORPUS, out=tmp_path / "r", pooling="max")
    with pytest.raises(
        InputError, match=r"holds other representations \(sentences.ar: 12 there, 6 asked for; .*corpus.ar"
    ):
        extract(bert, CORPUS[:6], out=tmp_path / "r")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.doc").write_text("precious")
    with pytest.raises(InputError, match="is no store of representations: choose another place"):
        extract(bert, CORPUS, out=tmp_path / "other")
    with pytest.raises(DataNotFoundError, match="is no store"):
        open_store(tmp_path / "nowhere")


def test_rows_of_zeros_survive(bert, tmp_path, monkeypatch):
    monkeypatch.setattr("interlingua.extract.forward.compute", lambda work, *_: torch.zeros((4, work.size, 16)))
    extract(bert, CORPUS, out=tmp_path / "r", block=5)
    assert (open_store(tmp_path / "r")["en"] == 0).all()


def test_one_writer_at_a_time(bert, tmp_path):
    with writing(tmp_path / "r"), pytest.raises(InputError, match="is being written by another process"):
        extract(bert, CORPUS, out=tmp_path / "r")


def test_a_full_disk_is_said_and_the_run_goes_on_after(bert, tmp_path, monkeypatch):
    real, calls = Store.write, []

    def full(self, *arguments, **facts):
        calls.append(1)
        if len(calls) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(self, *arguments, **facts)

    monkeypatch.setattr(Store, "write", full)
    with pytest.raises(InputError, match="no space left for .*: free some and run again"):
        extract(bert, CORPUS, out=tmp_path / "r", block=5)
    monkeypatch.setattr(Store, "write", real)
    resumed = extract(bert, CORPUS, out=tmp_path / "r", block=5)
    np.testing.assert_array_equal(resumed["zh"], extract(bert, CORPUS, block=5)["zh"])


def test_a_damaged_chunk_is_an_error_where_it_is_read(bert, tmp_path):
    extract(bert, CORPUS, out=tmp_path / "r")
    chunk = tmp_path / "r" / "ar" / "c" / "2" / "0" / "0"
    chunk.write_bytes(chunk.read_bytes()[:-9] + b"\0" * 9)
    reps = open_store(tmp_path / "r")
    assert reps["ar", 1].shape == (12, 16)
    with pytest.raises(FormatError, match=r"ar has a damaged chunk .*run the extraction again, only it is redone"):
        reps["ar", 2]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda r: (r / "ar" / "c" / "2" / "0" / "0").unlink(), "a chunk is missing"),
        (lambda r: shutil.rmtree(r / "ar"), "ar is gone from it: delete it"),
        (lambda r: shutil.rmtree(r / "labels"), "damaged labels"),
        (lambda r: (r / "zarr.json").write_text((r / "zarr.json").read_text()[:-20]), "cannot be opened"),
        (lambda r: (r / "ar" / "zarr.json").write_text("{"), "cannot be opened|is gone|damaged"),
    ],
)
def test_what_is_gone_is_said(bert, tmp_path, damage, message):
    extract(bert, CORPUS, out=tmp_path / "r")
    damage(tmp_path / "r")
    with pytest.raises(FormatError, match=message):
        open_store(tmp_path / "r")["ar", 2]


def test_a_store_appears_whole_or_not_at_all(bert, tmp_path, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("interlingua.extract.store._write_labels", killed)
    with pytest.raises(KeyboardInterrupt):
        extract(bert, CORPUS, out=tmp_path / "r")
    assert not (tmp_path / "r").exists()
    assert (tmp_path / "r.new").exists()
    monkeypatch.undo()
    extract(bert, CORPUS, out=tmp_path / "r")
    assert not (tmp_path / "r.new").exists()


def test_a_link_to_another_disk_is_followed(bert, tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "r").symlink_to(tmp_path / "disk")
    extract(bert, CORPUS, out=tmp_path / "r")
    assert (tmp_path / "r").is_symlink()
    assert len(open_store(tmp_path / "r")) == len(extract(bert, CORPUS, out=tmp_path / "r")) == 12


def test_nothing_of_the_users_is_taken_away(bert, tmp_path):
    corpus = il.ParallelCorpus.from_texts({"en": ["word", "word " * 600]})
    with pytest.raises(InputError, match="truncate=True"):
        extract(bert, corpus, out=tmp_path / "r")
    (tmp_path / "r" / "notes.txt").write_text("precious")
    with pytest.raises(InputError, match="is no store of representations: choose another place"):
        extract(bert, corpus, out=tmp_path / "r", truncate=True)
    assert (tmp_path / "r" / "notes.txt").read_text() == "precious"


def test_damaged_labels_are_found_and_written_again(bert, tmp_path):
    for level in ("sentence", "word"):
        out = tmp_path / level
        whole = extract(bert, CORPUS, level=level, out=out)
        chunk = next(p for p in (out / "labels").rglob("*") if p.is_file() and "c" in p.relative_to(out).parts)
        data = bytearray(chunk.read_bytes())
        data[3] ^= 1
        chunk.write_bytes(bytes(data))
        with pytest.raises(FormatError, match="damaged labels"):
            open_store(out)
        extract(bert, CORPUS, level=level, out=out)
        if level == "sentence":
            assert open_store(out).ids == whole.ids
        else:
            assert open_store(out).words("zh") == whole.words("zh")


def test_another_machine_leaves_a_trace(bert, tmp_path, monkeypatch):
    extract(bert, CORPUS, out=tmp_path / "r", block=5)
    before = (tmp_path / "r" / "commits.jsonl").read_text()
    extract(bert, CORPUS, out=tmp_path / "r")
    assert (tmp_path / "r" / "commits.jsonl").read_text() == before
    monkeypatch.setattr(torch, "__version__", "99.0")
    extract(bert, CORPUS, out=tmp_path / "r")
    last = json.loads((tmp_path / "r" / "commits.jsonl").read_text().splitlines()[-1])
    assert last["environment"]["torch"] == "99.0"
    assert len(open_store(tmp_path / "r")) == 12


def test_what_is_no_store_of_ours_is_left_alone(bert, tmp_path):
    zarr.open_group(tmp_path / "theirs", mode="w", zarr_format=3, attributes={"temperature": 3})
    with pytest.raises(InputError, match="is a Zarr group of something else: choose another place"):
        extract(bert, CORPUS, out=tmp_path / "theirs")
    (tmp_path / "file").write_text("precious")
    with pytest.raises(InputError, match="is a file: choose another place"):
        extract(bert, CORPUS, out=tmp_path / "file")
    extract(bert, CORPUS, out=tmp_path / "r")
    (tmp_path / "r" / "commits.jsonl").write_text("[]\n")
    with pytest.raises(FormatError, match=r"commits.jsonl:1: is no line of a commit log"):
        open_store(tmp_path / "r")


def test_blocks_that_are_missing_and_other_versions(bert, tmp_path):
    extract(bert, CORPUS, out=tmp_path / "r", block=5)
    log = tmp_path / "r" / "commits.jsonl"
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:4]))
    with pytest.raises(FormatError, match=r"5 blocks are missing \(ar block 1, ...\): run the extraction again"):
        open_store(tmp_path / "r")
    zarr.open_group(tmp_path / "r", mode="r+").attrs["interlingua"] = 99
    for use in (open_store, lambda place: extract(bert, CORPUS, out=place)):
        with pytest.raises(FormatError, match="was written in version 99 of the format"):
            use(tmp_path / "r")


def test_the_plan_is_stored_and_kept_to(bert, tmp_path):
    extract(bert, CORPUS, out=tmp_path / "r", block=5, budget=77)
    group = zarr.open_group(tmp_path / "r", mode="r")
    assert (group.attrs["block"], group.attrs["budget"]) == (5, 77)
    extract(bert, CORPUS, out=tmp_path / "r")
    with pytest.raises(InputError, match="planned with a budget of 77: leave budget out"):
        extract(bert, CORPUS, out=tmp_path / "r", budget=78)


def test_a_store_for_which_nothing_was_computed_can_become_another(bert, tmp_path):
    corpus = il.ParallelCorpus.from_texts({"en": ["word", "word " * 600]})
    with pytest.raises(InputError, match="truncate=True"):
        extract(bert, corpus, out=tmp_path / "r")
    assert len(extract(bert, corpus, out=tmp_path / "r", truncate=True)) == 2


class TestOutOfMemory:
    """A card that takes only so many tokens at a time: batches are halved, that is recorded, and kept to."""

    @pytest.fixture
    def small(self, monkeypatch):
        seen = []

        def states(model, batch):
            seen.append(batch["input_ids"].numel())
            if seen[-1] > 200:
                raise torch.OutOfMemoryError("CUDA out of memory")
            return real(model, batch)

        real = Model.hidden_states
        monkeypatch.setattr("interlingua.models.load.Model.hidden_states", states)
        return seen

    def test_batches_are_halved_and_stay_so(self, bert, small, tmp_path):
        counted = []
        out = tmp_path / "r"
        stored = extract(bert, CORPUS, out=out, block=6, budget=800, progress=lambda d, t: counted.append((d, t)))
        assert counted[-1] == (36, 36)
        log = [json.loads(line) for line in (out / "commits.jsonl").read_text().splitlines()]
        assert [entry["budget"] for entry in log] == [200] * 6
        assert sum(n > 200 for n in small) == 2
        whole = extract(bert, CORPUS, block=6, budget=200)
        np.testing.assert_array_equal(stored["zh"], whole["zh"])

    def test_a_resumed_run_keeps_to_what_was_found(self, bert, small, tmp_path):
        extract(bert, CORPUS.languages("en"), out=tmp_path / "r", block=6, budget=800)
        log = tmp_path / "r" / "commits.jsonl"
        whole = log.read_text()
        log.write_text(whole.splitlines(keepends=True)[0])
        small.clear()
        extract(bert, CORPUS.languages("en"), out=tmp_path / "r", block=6)
        assert max(small) <= 200
        assert log.read_text() == whole

    def test_types_record_it_too(self, bert, small, tmp_path):
        extract(bert, CORPUS, level="type", out=tmp_path / "r", budget=800)
        log = [json.loads(line) for line in (tmp_path / "r" / "commits.jsonl").read_text().splitlines()]
        assert {entry["budget"] for entry in log} == {200}

    def test_a_sentence_that_does_not_fit_alone(self, bert, small):
        corpus = il.ParallelCorpus.from_texts({"en": ["word " * 100]})
        with pytest.raises(InputError, match="tiny-bert does not fit into memory even one sentence at a time"):
            extract(bert, corpus)

    def test_other_errors_are_not_taken_for_it(self, bert, monkeypatch):
        def broken(*_):
            raise RuntimeError("shapes do not match")

        monkeypatch.setattr("interlingua.models.load.Model.hidden_states", broken)
        with pytest.raises(RuntimeError, match="shapes do not match"):
            extract(bert, CORPUS)


@pytest.mark.parametrize("level", ["sentence", "word", "type", "table"])
def test_vectors_too_large_for_half_precision_are_not_stored_as_infinity(level):
    network = tiny.network("bert")
    with torch.no_grad():
        network.embeddings.word_embeddings.weight.mul_(1e7)
        network.embeddings.LayerNorm.weight.mul_(1e6)
    model = wrap(network, tiny.tokenizer(), name="huge")
    with pytest.raises(forward.NonFiniteError, match="store in float32"):
        extract(model, CORPUS, level=level, dtype="float16")


def seen(place):
    """What a look at a store tells of how far it is: the length of its log, and the savings beside it."""
    try:
        names = sorted(p.name for p in place.iterdir())
        return [(name, (place / name).stat().st_size) for name in names if name == LOG] + names
    except FileNotFoundError:  # it is not there yet, or is being made anew
        return []


@pytest.mark.parametrize(("level", "block"), [("sentence", 8), ("word", 64), ("type", 64)])
def test_a_run_that_is_killed_goes_on_to_the_same_bytes(tmp_path, level, block):
    """kill -9 at random moments, again and again, then once to the end: the store equals an unbroken one."""

    def start(place):
        ready, told = multiprocessing.Pipe(duplex=False)
        process = warm.begin(warm.extraction, place, level, block, told)
        told.close()
        assert ready.recv() == "ready"
        return process

    def finish(place):
        process = start(place)
        process.join(timeout=120)
        return process.exitcode

    assert finish(tmp_path / "whole") == 0
    rng = np.random.default_rng(11)
    killed, looks = 0, []
    # after so many changes that can be seen: before the first, in the first ones, in the midst
    for changes in (0, 1, 3, 12) if level == "sentence" else (0, 2, 12):
        process = start(tmp_path / "broken")
        last = seen(tmp_path / "broken")
        while changes and process.is_alive():
            now = seen(tmp_path / "broken")
            changes, last = changes - (now != last), now
        time.sleep(float(rng.uniform(0, 0.05)))
        process.kill()
        process.join()
        killed += process.exitcode == -signal.SIGKILL
        looks.append(seen(tmp_path / "broken"))
    assert killed >= 2
    assert [look for look in looks if look and look != seen(tmp_path / "whole")]  # begun, and not finished
    assert finish(tmp_path / "broken") == 0
    assert tree(tmp_path / "broken") == tree(tmp_path / "whole")


def attributes(place, **changed):
    """What a store says of itself, changed by hand."""
    path = place / "zarr.json"
    facts = json.loads(path.read_text())
    facts["attributes"] |= changed
    path.write_text(json.dumps(facts))


def test_a_store_of_somebody_leads_nowhere(bert, tmp_path):
    """Its languages are names of folders: one that lies elsewhere is never touched."""
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "work.txt").write_text("years of it")
    for name in (str(victim), "../victim", "en/../../victim"):
        extract(bert, CORPUS, out=tmp_path / "r", block=5)
        (tmp_path / "r" / LOG).unlink()  # nothing has been computed for it: it would be made anew
        attributes(tmp_path / "r", languages=["en", name])
        with pytest.raises(FormatError, match="delete it and run the extraction again"):
            extract(bert, CORPUS, out=tmp_path / "r", block=5)
        assert (victim / "work.txt").exists()
        shutil.rmtree(tmp_path / "r")


@pytest.mark.parametrize("changed", [{"block": 0}, {"block": "many"}, {"languages": 7}])
def test_a_store_that_says_nonsense_of_itself_is_one_error(bert, tmp_path, changed):
    extract(bert, CORPUS, out=tmp_path / "r", block=5)
    attributes(tmp_path / "r", **changed)
    for again in (lambda: open_store(tmp_path / "r"), lambda: extract(bert, CORPUS, out=tmp_path / "r", block=5)):
        with pytest.raises(FormatError, match="delete it and run the extraction again"):
            again()


@pytest.mark.parametrize("line", ['{"language": "eo", "block": 0}', '{"language": "en", "block": 1e400}', "[]"])
def test_a_line_of_the_log_that_is_none_is_one_error(bert, tmp_path, line):
    extract(bert, CORPUS, out=tmp_path / "r", block=5)
    with (tmp_path / "r" / LOG).open("a") as log:
        log.write(f"{line}\n")
    with pytest.raises(FormatError, match="delete the store and run again"):
        extract(bert, CORPUS, out=tmp_path / "r", block=5)
