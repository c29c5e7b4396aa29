"""Does every study run end to end at its smallest size, go on after a kill, and keep what failed?"""

import json
import re
import shutil
import threading
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from interlingua.analyses.map_run import WAYS_OF
from interlingua.corpora.loading import dictionary, parallel
from interlingua.errors import FormatError, InputError, UnknownNameError
from interlingua.languages import Language
from interlingua.mapping.induce import Words
from interlingua.stats import jackknife
from interlingua.studies import concepts, frame, monolingual, normalisation, random_init, scaling
from interlingua.studies.catalog import STUDIES, find
from interlingua.studies.measured import cut, leave, untouched
from interlingua.studies.results import attempts, folder_of, held_in, joined, read, signature
from interlingua.studies.study import MODELS, SMOKE, USUAL, Cell, settings_of, sizes
from interlingua.types import ParallelCorpus


@pytest.fixture(scope="module", params=STUDIES)
def smoked(request, tmp_path_factory):
    study = find(request.param)
    folder = tmp_path_factory.mktemp(request.param)
    found, wrong = frame.run(study, settings_of(study, SMOKE), folder)
    assert not wrong
    return study, folder, found


def test_every_study_runs_at_its_smallest_size(smoked):
    study, folder, found = smoked
    assert not found.missing
    assert [cell.name for cell in study.cells(found.settings)] == list(found.cells)
    values = found.table[found.table["layer"].notna() & found.table["measure"].isin(["anc", "linear_cka"])]
    there = values[values["value"].notna()]
    assert there["value"].between(0, 1).all()
    bounded = found.table[found.table["low"].notna()]
    assert len(bounded)
    assert (bounded["low"] <= bounded["value"]).all()
    # the first token's embedding is the same in every sentence: nothing can be correlated, and the row says so
    without = values[values["value"].isna()]
    assert set(without["pooling"]) <= {"first"}
    assert set(without["layer"]) <= {0}
    assert (without["notes"] != "").all()
    assert found.table["state"].nunique() > 1  # trained and random, or before and after
    assert {line["event"] for line in attempts(folder)} == {"begun", "done"}
    assert not (folder / "work" / found.cells[0]).exists()
    assert not (folder / "prepared").exists()


def test_rows_have_the_signature_of_their_value(smoked):
    _, _, found = smoked
    values = found.table[(found.table["measure"] == "linear_cka") & found.table["layer"].notna()]
    values = values[values["target"] != "en"]  # two models of one language are compared outside of `compare`
    assert (values["signature"] != "").all()
    for row in values[values["signature"].str.contains("layer:")].itertuples():
        assert f"|layer:{row.layer:g}|" in row.signature
        assert f"|pair:{row.source}-{row.target}|" in row.signature


def test_values_know_what_they_are_without_each_block(smoked):
    study, _, found = smoked
    rows = found.table[found.table["without"] != ""]
    assert len(rows) or study.name in ("random-init", "unseen", "concepts")
    assert (rows["sample"] != "").all()
    assert set(rows["measure"]) <= {"anc", "linear_cka", "debiased_cka", "matching", *(f"{k} p1" for k in WAYS_OF)}
    for row in rows.itertuples():
        without = [float(value) for value in row.without.split()]
        if row.measure in ("anc", "linear_cka", "debiased_cka"):
            made = jackknife(row.value, without)
            assert (made.low, made.high) == pytest.approx((row.low, row.high), abs=1e-4)
        else:
            assert np.mean(without) == pytest.approx(row.value, abs=0.01)
    # two encoders on the same sentences are a pair; words of one language are not those of another
    for _, some in rows.groupby(["cell", "corpus", "layer", "measure", "target"]):
        assert some["sample"].nunique() == 1 or "word p1" in set(some["measure"])


def test_figures_are_charts(smoked):
    study, _, found = smoked
    for name, chart in study.figures(found.table).items():
        assert chart.to_dict()["title"], name


def test_every_size_has_settings_that_are_whole():
    for name in STUDIES:
        study = find(name)
        for size in sizes(study):
            assert study.cells(settings_of(study, size))
        assert sizes(study)[-1] == SMOKE
        assert settings_of(study).size == USUAL  # what is run by default is the real thing


def test_every_size_has_a_folder_of_its_own(failing, tmp_path):
    study, broken = failing
    broken.clear()
    assert folder_of("results", "normalisation") == folder_of("results", "normalisation", USUAL)
    assert held_in(tmp_path, study) == []
    for size in (SMOKE, USUAL):  # what is run is the smallest; the other folder says that it is of another size
        frame.run(study, settings_of(study, SMOKE, [f"size={size}"]), folder_of(tmp_path, study.name, size))
    assert sorted(path.name for path in tmp_path.iterdir()) == [study.name, f"{study.name}.{SMOKE}"]
    assert [each.settings.size for each in held_in(tmp_path, study)] == [USUAL, SMOKE]


def test_done_cells_are_not_run_again(smoked, monkeypatch):
    study, folder, found = smoked
    before = (folder / "cells" / f"{found.cells[0]}.csv").read_bytes()
    again, _ = frame.run(study, found.settings, folder)
    assert again.cells == found.cells
    assert (folder / "cells" / f"{found.cells[0]}.csv").read_bytes() == before
    assert len(attempts(folder)) == 2 * len(found.cells)


def test_other_settings_are_refused(smoked):
    study, folder, _ = smoked
    with pytest.raises(InputError, match="holds another run \\(rows was .* and is 7\\)"):
        frame.run(study, settings_of(study, SMOKE, ["rows=7"]), folder)


def test_settings_that_came_later_change_nothing_at_their_defaults(tmp_path, monkeypatch):
    how = settings_of(find("monolingual"), SMOKE)
    cell = monolingual.STUDY.cells(how)[0]
    monkeypatch.setattr(monolingual.Monolingual, "later", {})
    monkeypatch.setattr(monolingual.Monolingual, "axes", (*how.axes, "tagged"))  # as if it were not there
    before = signature(monolingual.STUDY, cell, how)
    monkeypatch.setattr(monolingual.Monolingual, "axes", how.axes[:-1])
    assert signature(monolingual.STUDY, cell, how) != before
    monkeypatch.setattr(monolingual.Monolingual, "later", {"tagged": 1000})
    assert signature(monolingual.STUDY, cell, how) == before
    other = settings_of(find("monolingual"), SMOKE, ["tagged=7"])
    assert signature(monolingual.STUDY, cell, other) != before
    # a folder that was begun before there was such a setting
    (tmp_path / "cells").mkdir()
    (tmp_path / "cells" / "mono.en.0.json").touch()
    held = {key: value for key, value in how.model_dump(mode="json").items() if key != "tagged"}
    (tmp_path / "settings.json").write_text(json.dumps({"study": "monolingual", **held}))
    assert joined(monolingual.STUDY, how, tmp_path) == how
    with pytest.raises(InputError, match="tagged was 1000 and is 7"):
        joined(monolingual.STUDY, other, tmp_path)


def test_every_kept_cell_has_the_signature_that_its_settings_give():
    kept = sorted((Path(__file__).parents[2] / "studies" / "results").glob("*/settings.json"))
    assert kept
    for folder in (settings.parent for settings in kept):
        study = find(json.loads((folder / "settings.json").read_text())["study"])
        found = read(study, folder)
        assert not found.damaged
        for cell in study.cells(found.settings):
            if cell.name in found.cells:
                facts = json.loads((folder / "cells" / f"{cell.name}.json").read_text())
                told = signature(study, cell, found.settings)
                assert facts["signature"].partition("|version:")[0] == told.partition("|version:")[0], cell.name


def test_static_vectors_are_of_what_models_read_and_of_the_words_that_are_asked_about(tmp_path, monkeypatch):
    how = settings_of(find("monolingual"), SMOKE)
    read_, asked = {}, {}

    def made(lines, *, min_count, only, seed):
        asked[len(read_)] = only
        read_[len(read_)] = list(lines)
        return Words(tuple(sorted(only)), np.random.default_rng(seed).normal(size=(len(only), 8)))

    monkeypatch.setattr(monolingual, "static_words", made)
    cell = Cell("static.fr.0", {"kind": "static", "language": "fr", "seed": 0})
    rows = list(monolingual.run(cell, how, tmp_path / "cell", tmp_path, print))
    text = parallel("everyday", "en", "fr")
    for side, lang in enumerate(("en", "fr")):
        every = list(text[Language.parse(lang)])
        held = {every[i] for i in np.linspace(0, len(every) - 1, how.held_out).astype(int)}
        assert sorted(read_[side]) == sorted(line for line in every if line not in held)
        words = Counter(word for line in every for word in re.findall(r"[^\W\d_]+", line.lower()))
        often = {word for word in asked[side] if word.isalpha()}
        assert min(words[word] for word in often) >= monolingual.OFTEN
        assert {word for word in often if len(word) > 3}  # and not only the commonest
    tests = dictionary("everyday-words", "en", "fr")[1::2]
    known = {
        word.lower()
        for word, others in zip(tests.words, tests.translations, strict=True)
        if word.lower() in asked[0] and any(other.word.lower() in asked[1] for other in others)
    }
    assert [(row["state"], row["measure"], row["n"]) for row in rows] == [("static", "word p1", len(known))]
    # the same again from what is kept; of other words or another text, made anew
    assert list(monolingual.run(cell, how, tmp_path / "cell", tmp_path, print)) == rows
    assert len(read_) == 2
    list(monolingual.run(cell, how.model_copy(update={"held_out": 20}), tmp_path / "cell", tmp_path, print))
    assert len(read_) == 4


def test_less_text_is_another_file(tmp_path):
    files = [cut(["everyday"], "en", characters, tmp_path / "en.txt") for characters in (3000, 6000)]
    assert all(abs(len(Path(file).read_text()) / n - 1) < 0.1 for file, n in zip(files, (3000, 6000), strict=True))
    assert files[0] != files[1]


def test_seeds_can_be_added(failing, tmp_path):
    study, broken = failing
    broken.clear()
    first, _ = frame.run(study, settings_of(study, SMOKE), tmp_path)
    more, _ = frame.run(study, settings_of(study, SMOKE, ["seeds=2"]), tmp_path)
    assert more.cells == (*first.cells, "post.1", "pre.1", "normformer.1")
    assert len(attempts(tmp_path)) == 12  # the first three were not run again
    # and asking for less hides nothing
    less, _ = frame.run(study, settings_of(study, SMOKE, ["seeds=1", "norms=[post]"]), tmp_path)
    assert less.cells == more.cells


def test_a_folder_with_less_than_the_study_asks_for_is_not_complete(failing, tmp_path):
    study, broken = failing
    broken.clear()
    found, _ = frame.run(study, settings_of(study, SMOKE, ["norms=[post]"]), tmp_path)
    assert found.cells == ("post.0",)
    assert [cell.name for cell in found.missing] == ["pre.0", "normformer.0"]


def test_more_seeds_that_are_not_done_undecide_nothing(failing, tmp_path):
    study, broken = failing
    broken.clear()
    frame.run(study, settings_of(study, SMOKE), tmp_path)
    found, _ = frame.run(study, settings_of(study, SMOKE, ["seeds=2"]), tmp_path, only=["post.1"])
    assert found.cells == ("post.0", "pre.0", "normformer.0", "post.1")
    assert not found.missing


def test_axes_that_do_not_go_together_are_refused(tmp_path, monkeypatch):
    study = replace(scaling.STUDY, run=lambda *_: [{"state": "before", "measure": "anc", "value": 0.5}])
    monkeypatch.setattr(scaling, "STUDY", study)
    frame.run(study, settings_of(study, SMOKE), tmp_path)
    more, _ = frame.run(study, settings_of(study, SMOKE, ["shapes=[[96, 2, 2, 0.001]]"]), tmp_path)
    assert len(more.cells) == 6
    with pytest.raises(InputError, match="holds another run, and both together: a width and a depth are named twice"):
        frame.run(study, settings_of(study, SMOKE, ["shapes=[[96, 2, 2, 0.002]]"]), tmp_path)
    with pytest.raises(InputError, match="norms.1"):
        settings_of(find("normalisation"), SMOKE, ["norms=[post, prenorm]"])


def test_a_peak_that_moved_is_the_same_value(failing, tmp_path, monkeypatch):
    study, broken = failing
    broken.clear()
    peaks = iter((3, 4))

    def run(cell, how, place, shared, say):
        yield {"state": "before", "measure": "anc.rise", "layer": next(peaks), "value": 0.2, "low": 0.1, "high": 0.3}

    monkeypatch.setattr(normalisation, "STUDY", made := replace(study, run=run))
    frame.run(made, settings_of(made, SMOKE), tmp_path / "kept", only=["post.0"])
    told = json.loads((tmp_path / "kept" / "cells" / "post.0.json").read_text())["signature"]
    assert frame.again(told, tmp_path / "kept", tmp_path / "again")["inside"].tolist() == [True]


def test_what_is_said_several_times_under_one_name_is_compared_in_order(failing, tmp_path, monkeypatch):
    study, broken = failing
    broken.clear()

    def run(cell, how, place, shared, say):  # English, in the text that it has with each of three languages
        for value in (0.2, 0.5, 0.8):
            yield {"state": "before", "measure": "suffix", "layer": 0, "source": "en", "value": value,
                   "low": value - 0.01, "high": value + 0.01}  # fmt: skip
        yield {"state": "before", "measure": "updates", "value": 4}

    monkeypatch.setattr(normalisation, "STUDY", made := replace(study, run=run))
    frame.run(made, settings_of(made, SMOKE), tmp_path / "kept", only=["post.0"])
    told = json.loads((tmp_path / "kept" / "cells" / "post.0.json").read_text())["signature"]
    found = frame.again(told, tmp_path / "kept", tmp_path / "again")
    assert found["inside"].tolist() == [True, True, True, None]
    assert found["value_again"].tolist() == [0.2, 0.5, 0.8, 4]


def test_what_is_kept_out_of_training_follows_what_is_judged_by(tmp_path):
    one, other = (ParallelCorpus.from_texts({"en": [text]}, name="x") for text in ("a", "b"))
    places = [untouched(tmp_path, [corpus]) for corpus in (one, other, one)]
    assert places[0] == places[2]
    assert [Path(place).read_text() for place in places] == ["a\n", "b\n", "a\n"]


def _read(study, how):
    """What a study reads at its real size, piece by piece."""
    if study == "monolingual":
        yield from monolingual._judged_by(how)
        yield from monolingual._paraphrases(how.paraphrases)
    elif study == "random-init":
        for task, sources in how.sources.items():
            for source in sources:
                for records in random_init._records(how, task, source):
                    yield from records
    else:
        for pair in ("de-en", "en-fr", "ar-en"):
            yield concepts._training(how, concepts._other(pair))
            yield concepts._judged(how, pair)
        for kind in ("ner", "sentiment"):
            for records in concepts._records(how, kind):
                yield from records


@pytest.mark.parametrize("name", ["monolingual", "random-init", "concepts"])
def test_what_a_study_reads_is_there(name, data_root):
    found = list(_read(name, settings_of(find(name))))
    assert len(found) > 5
    assert min(map(len, found)) > 50


def test_names_that_are_close_are_told():
    study = find("normalisation")
    with pytest.raises(UnknownNameError, match="normalisation"):
        find("normalization")
    with pytest.raises(UnknownNameError, match="mini"):
        settings_of(study, "minny")
    with pytest.raises(UnknownNameError, match="epochs"):
        settings_of(study, SMOKE, ["epoch=3"])
    with pytest.raises(InputError, match="say key=value"):
        settings_of(study, SMOKE, ["epochs"])
    with pytest.raises(InputError, match="epochs"):
        settings_of(study, SMOKE, ["epochs=none"])
    with pytest.raises(UnknownNameError, match="post.0"):
        frame.run(study, settings_of(study, SMOKE), "nowhere", only=["post.1"])


@pytest.fixture
def failing(monkeypatch):
    """A study of two cells, of which one fails until it is mended."""
    broken = {"post.0"}

    def run(cell, how, place, shared, say):
        (place / "begun").touch()
        if cell.name in broken:
            raise InputError(f"out of luck in {place}")
        yield {"state": "before", "measure": "anc", "layer": 0, "source": "en", "target": "fr", "value": 0.123456789,
               "signature": "measure:anc|pair:en-fr|layer:0|n:3"}  # fmt: skip

    made = replace(normalisation.STUDY, run=run, prepare=lambda left, how, shared, say: shared.mkdir(exist_ok=True))
    monkeypatch.setattr(normalisation, "STUDY", made)
    return made, broken


def test_a_cell_that_fails_is_kept_and_the_others_go_on(failing, tmp_path):
    study, broken = failing
    settings = settings_of(study, SMOKE)
    told = []
    found, wrong = frame.run(study, settings, tmp_path, say=told.append)
    assert found.cells == ("pre.0", "normformer.0")
    assert [cell.name for cell in found.missing] == ["post.0"]
    assert wrong == ["post.0: out of luck in work/post.0"]
    assert "post.0 failed: out of luck in work/post.0" in told
    assert str(tmp_path) not in (tmp_path / "runs.jsonl").read_text(encoding="utf-8")
    assert (tmp_path / "work" / "post.0" / "begun").exists()  # to go on from
    lines = [(line["event"], line["error"]) for line in attempts(tmp_path)]
    assert lines[:4] == [("begun", ""), ("failed", "out of luck in work/post.0"), ("begun", ""), ("done", "")]
    broken.clear()
    found, wrong = frame.run(study, settings, tmp_path)
    assert not found.missing
    assert not wrong
    assert len(attempts(tmp_path)) == 8
    assert found.table["signature"].iloc[0] == "measure:anc|pair:en-fr|layer:0|n:3"
    assert found.table["value"].iloc[0] == 0.123457  # six figures are kept
    assert list(found.table["norm"]) == ["post", "pre", "normformer"]


@pytest.mark.parametrize("damage", ["csv cut", "csv gone", "json cut", "json empty", "json other"])
def test_a_damaged_cell_is_told_of_and_made_again(failing, tmp_path, damage):
    study, broken = failing
    broken.clear()
    settings = settings_of(study, SMOKE)
    whole, _ = frame.run(study, settings, tmp_path)
    kind, how = damage.split()
    place = tmp_path / "cells" / f"pre.0.{kind}"
    if how == "gone":
        place.unlink()
    else:
        content = {"cut": place.read_text()[:-20], "empty": "", "other": "{}"}[how]
        place.write_text(content)
    found = read(study, tmp_path)
    assert found.cells == ("post.0", "normformer.0")
    assert len(found.damaged) == 1
    assert "run the study again" in found.damaged[0]
    again, wrong = frame.run(study, settings, tmp_path)
    assert not wrong
    assert again.table.equals(whole.table)


def test_what_nobody_foresaw_fails_one_cell_only(failing, tmp_path, monkeypatch):
    study, _ = failing

    def run(cell, how, place, shared, say):
        if cell.name == "post.0":
            raise MemoryError("no room")
        yield {"measure": "anc", "value": 1.0}

    made = replace(study, run=run)
    monkeypatch.setattr(normalisation, "STUDY", made)
    found, wrong = frame.run(made, settings_of(made, SMOKE), tmp_path)
    assert wrong == ["post.0: MemoryError: no room"]
    assert found.cells == ("pre.0", "normformer.0")


def test_several_at_once_and_an_error_in_one_of_them(tmp_path):
    study = find("scaling")
    settings = settings_of(study, SMOKE, ["parallel=nothere"])
    found, wrong = frame.run(study, settings, tmp_path, only=["mlm.2x32.0", "clm.2x32.0"], workers=2)
    assert not found.cells
    assert len(wrong) == 2
    assert all("unknown data set 'nothere'" in line for line in wrong)
    # nothing is done yet, so the mistake can be mended in the same folder
    more, wrong = frame.run(study, settings_of(study, SMOKE), tmp_path, only=["mlm.2x32.0"])
    assert not wrong
    assert more.cells == ("mlm.2x32.0",)


def test_a_cell_that_looks_at_others_waits_for_them(failing, tmp_path, monkeypatch):
    study, broken = failing
    broken.clear()
    names = ("post.0", "pre.0", "normformer.0")
    cells = [Cell(names[0], {"norm": "post", "seed": 0}), Cell(names[1], {"norm": "pre", "seed": 0}, after=names[:1])]

    def run(cell, how, place, shared, say):
        assert all((shared / MODELS / name).exists() for name in cell.after)
        (shared / MODELS / cell.name).mkdir(parents=True)
        yield {"measure": "anc", "value": 1.0}

    made = replace(study, cells=lambda how: cells, run=run)
    monkeypatch.setattr(normalisation, "STUDY", made)
    settings = settings_of(made, SMOKE)
    told = []
    frame.run(made, settings, tmp_path / "a", keep_work=True, say=told.append)
    assert [words for words in told if "begun" in words] == ["post.0: begun", "pre.0: begun"]
    # asked for alone, it has what it looks at made first
    assert frame.run(made, settings, tmp_path / "b", only=["pre.0"])[0].cells == ("post.0", "pre.0")


def test_a_cell_does_not_begin_where_what_it_looks_at_failed(failing, tmp_path, monkeypatch):
    study, _ = failing
    cells = [
        Cell("post.0", {"norm": "post", "seed": 0}),
        Cell("pre.0", {"norm": "pre", "seed": 0}, after=("post.0",)),
        Cell("normformer.0", {"norm": "normformer", "seed": 0}),
    ]
    made = replace(study, cells=lambda how: cells)
    monkeypatch.setattr(normalisation, "STUDY", made)
    told = []
    found, _ = frame.run(made, settings_of(made, SMOKE), tmp_path, say=told.append)
    assert found.cells == ("normformer.0",)
    assert "pre.0 failed: it looks at post.0, which failed" in told


def test_a_cell_begins_when_the_model_that_it_looks_at_has_been_left(tmp_path):
    study = find("concepts")
    settings = settings_of(study, SMOKE)
    span, translation = (cell for cell in study.cells(settings) if cell.name in ("span.0", "translation.de-en.0"))
    under_way = frame._Frame(study, settings, tmp_path, 2, False, lambda words: None)
    under_way.waiting = [translation]
    under_way.under_way = {Future(): (span, None)}
    assert under_way._next() is None
    model = tmp_path / "model"
    model.mkdir()
    (model / "weights").write_bytes(b"1")
    leave(str(model), span.name, tmp_path / frame.PREPARED)
    assert under_way._next() is translation  # the cell that left it is still looking into it
    place = tmp_path / frame.PREPARED / MODELS / span.name
    assert [path.name for path in place.parent.iterdir()] == [span.name]
    # what others look at by now is left alone
    (model / "weights").write_bytes(b"2")
    leave(str(model), span.name, tmp_path / frame.PREPARED)
    assert (place / "weights").read_bytes() == b"1"


class Threads:
    """Workers that are threads here: a study of a test is known to them."""

    number = 2

    def __init__(self):
        self.pool = ThreadPoolExecutor(2)

    def begun(self, made, *arguments):
        return self.pool.submit(made, *arguments)


def test_it_begins_while_the_cell_that_left_it_goes_on(failing, tmp_path, monkeypatch):
    study, _ = failing
    cells = [
        Cell("post.0", {"norm": "post", "seed": 0}),
        Cell("pre.0", {"norm": "pre", "seed": 0}, after=("post.0",)),
    ]
    looked_at = threading.Event()

    def run(cell, how, place, shared, say):
        if cell.name == "post.0":
            time.sleep(0.5)  # the other is waited for by then
            (shared / MODELS / cell.name).mkdir(parents=True)
            if not looked_at.wait(10):
                raise InputError("nobody looked at it")
        looked_at.set()
        yield {"measure": "anc", "value": 1.0}

    made = replace(study, cells=lambda how: cells, run=run)
    monkeypatch.setattr(normalisation, "STUDY", made)
    monkeypatch.setattr(frame, "LOOK", 0.05)
    (tmp_path / "cells").mkdir()
    under_way = frame._Frame(made, settings_of(made, SMOKE), tmp_path, 2, False, lambda words: None, Threads())
    assert under_way.all(cells) == []


def test_a_model_that_cannot_be_copied_whole_is_not_there(tmp_path, monkeypatch):
    model = tmp_path / "model"
    model.mkdir()
    (model / "weights").write_bytes(b"1")

    def broken(source, to):
        to.mkdir(parents=True)
        raise OSError("no space left on device")

    with monkeypatch.context() as patched, pytest.raises(OSError, match="no space"):
        patched.setattr("shutil.copytree", broken)
        leave(str(model), "span.0", tmp_path)
    assert not (tmp_path / MODELS / "span.0").exists()
    leave(str(model), "span.0", tmp_path)
    assert [path.name for path in (tmp_path / MODELS).iterdir()] == ["span.0"]


def test_what_an_earlier_run_left_is_not_looked_at_where_the_cell_is_run_again(failing, tmp_path, monkeypatch):
    study, _ = failing
    cells = [
        Cell("post.0", {"norm": "post", "seed": 0}),
        Cell("pre.0", {"norm": "pre", "seed": 0}, after=("post.0",)),
        Cell("normformer.0", {"norm": "normformer", "seed": 0}, after=("post.0",)),
    ]
    values = iter(range(1, 9))

    def run(cell, how, place, shared, say):
        if cell.name == "post.0":
            assert not (shared / MODELS / cell.name).exists() or (place / "begun").exists()
            (shared / MODELS / cell.name).mkdir(parents=True, exist_ok=True)
        yield {"measure": "anc", "value": float(next(values))}

    made = replace(study, cells=lambda how: cells, run=run)
    monkeypatch.setattr(normalisation, "STUDY", made)
    settings = settings_of(made, SMOKE)
    place = tmp_path / frame.PREPARED / MODELS / "post.0"
    place.mkdir(parents=True)  # of another time
    assert not frame.run(made, settings, tmp_path, only=["post.0", "pre.0"])[1]
    # of a cell that was interrupted it stays: it goes on from there
    (tmp_path / "cells" / "post.0.json").unlink()
    (tmp_path / frame.WORK / "post.0").mkdir()
    (tmp_path / frame.WORK / "post.0" / "begun").touch()
    assert not frame.run(made, settings, tmp_path, only=["post.0"])[1]
    # where the model is gone its cell is run again for it, and what it had found stays what it was
    shutil.rmtree(place)
    kept, told = (tmp_path / "cells" / "post.0.csv").read_bytes(), []
    found, wrong = frame.run(made, settings, tmp_path, only=["normformer.0"], say=told.append)
    assert not wrong
    assert found.cells == tuple(cell.name for cell in cells)
    assert (tmp_path / "cells" / "post.0.csv").read_bytes() == kept
    assert "post.0 was done: its model is there again, its rows stay as they are" in told
    assert found.table.set_index("cell")["value"].to_dict() == {"post.0": 3, "pre.0": 2, "normformer.0": 5}


def test_a_model_that_was_left_is_looked_at_though_its_own_cell_failed(failing, tmp_path, monkeypatch):
    study, _ = failing
    cells = [
        Cell("post.0", {"norm": "post", "seed": 0}),
        Cell("pre.0", {"norm": "pre", "seed": 0}, after=("post.0",)),
    ]

    def run(cell, how, place, shared, say):
        if cell.name == "post.0":
            (shared / MODELS / cell.name).mkdir(parents=True)
            raise InputError("out of luck")
        yield {"measure": "anc", "value": 1.0}

    made = replace(study, cells=lambda how: cells, run=run)
    monkeypatch.setattr(normalisation, "STUDY", made)
    found, wrong = frame.run(made, settings_of(made, SMOKE), tmp_path)
    assert wrong == ["post.0: out of luck"]
    assert found.cells == ("pre.0",)


def test_a_folder_of_something_else(tmp_path):
    with pytest.raises(InputError, match="holds no results of a study"):
        read(find("scaling"), tmp_path)
    (tmp_path / "settings.json").write_text('{"study": "scaling"}')
    with pytest.raises(InputError, match="holds results of scaling, not of normalisation"):
        read(find("normalisation"), tmp_path)
    with pytest.raises(FormatError, match="no settings of scaling"):
        read(find("scaling"), tmp_path)
    (tmp_path / "settings.json").write_text("{")
    with pytest.raises(FormatError, match="no settings of a study"):
        read(find("scaling"), tmp_path)
