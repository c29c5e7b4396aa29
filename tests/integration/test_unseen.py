"""A language that a model has not seen, from the command line to the page: arms, budget, verdicts, what a kill leaves."""

import json

import numpy as np
import pandas as pd
import pytest
import transformers as hf
from typer.testing import CliRunner

import interlingua as il
from interlingua.analyses.unseen import Trial, advised, foreseen, unseen
from interlingua.analyses.unseen_run import UnseenRun
from interlingua.cli.main import app
from interlingua.errors import InputError, UnknownNameError
from interlingua.report.unseen import told
from interlingua.report.unseen_tables import read_unseen
from interlingua.transfer.bilstm import BiLstm, open_bilstm
from interlingua.transfer.finetune import Tuning
from interlingua.transfer.sets import split_of
from interlingua.transfer.tasks import task
from support import tiny

ARMS = ("bilstm", "multilingual", "adapted", "monolingual")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A folder with a small encoder that has a head for masked words."""
    folder = tmp_path_factory.mktemp("model")
    words = tiny.tokenizer()
    words.mask_token = "[MASK]"
    hf.set_seed(0)
    hf.BertForMaskedLM(hf.BertConfig(**tiny.SMALL, vocab_size=400)).save_pretrained(folder)
    words.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    """Text of a language: sentences of the built-in corpus, over and over with other names."""
    place = tmp_path_factory.mktemp("raw") / "ru.txt"
    lines = il.parallel("everyday", "ru")["ru"]
    place.write_text("".join(f"{line} {i}\n" for i in range(3) for line in lines), encoding="utf-8")
    return str(place)


def asked(model, raw, out, *more):
    return [
        "unseen", model, "--lang", "ru", "--train", "everyday-ner", "--task", "ner", "--raw", raw, "--rows", "24",
        "--translit", "cyrillic-latin", "--seeds", "2", "--epochs", "1", "--batch", "8", "--updates", "2", "--size",
        "nano", "--seen", "en,fr,de", "--device", "cpu", "--out", str(out), *more,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def done(model, raw, tmp_path_factory):
    out = tmp_path_factory.mktemp("unseen") / "ru"
    found = CliRunner().invoke(app, asked(model, raw, out, "--formats", "svg"))
    assert found.exit_code == 0, found.output
    return out, found


def test_every_arm_in_both_scripts(done):
    out, found = done
    tables = read_unseen(out)
    by_arm = tables.by_arm("ner").set_index(["arm", "scheme"])
    assert {(arm, scheme) for arm in ARMS for scheme in ("", "cyrillic-latin")} <= set(by_arm.index)
    assert "most frequent tag" in {arm for arm, _ in by_arm.index}
    mine = tables.scores[(tables.scores["metric"] == "f1") & tables.scores["arm"].isin(ARMS)]
    assert (mine.groupby(["arm", "scheme"])["seed"].nunique() == 2).all()
    # one rate an arm, chosen by the first seed
    assert (mine.groupby(["arm", "scheme"])["setting"].nunique() == 1).all()
    assert set(tables.verdicts["rule"]) == {"muller", "strict"}
    assert set(tables.verdicts["scheme"]) == {"", "cyrillic-latin"}
    assert set(tables.pretrained["arm"]) == {"adapted", "monolingual"}
    # the better of tuned and adapted in either script: one row more, unless it is the same arm in both
    better = tables.comparisons[(tables.comparisons["arm"] != tables.comparisons["against"])
                                & (tables.comparisons["scheme"] != tables.comparisons["against_scheme"])]  # fmt: skip
    assert len(tables.comparisons) - len(better) == 14
    assert len(better) <= 1
    assert tables.outcome["expected"].iloc[0] == tables.expectation["kind"]
    assert "expected: " in found.output
    assert "in all" in found.output
    assert "signature: language:ru" in found.output
    page = (out / "unseen.html").read_text(encoding="utf-8")
    assert "Expected before anything was run" in page
    assert "How the model reads a sentence" in page
    for name in ("scores", "comparisons", "coverage"):
        assert (out / "figures" / f"{name}.svg").exists()
    for arm in ("adapted", "monolingual", "adapted.cyrillic-latin"):
        assert il.load_model(out / "pretrained" / arm / "best").layers.blocks > 0
        assert not (out / "pretrained" / arm / "checkpoint.pt").exists()
    assert (out / "raw" / "cyrillic-latin.txt").read_text(encoding="utf-8").isascii() is False
    assert not any("а" <= c <= "я" for c in (out / "raw" / "cyrillic-latin.txt").read_text(encoding="utf-8"))


def test_what_is_done_is_not_done_again(done, model, raw):
    out, _ = done
    before = {p: p.stat().st_mtime_ns for p in out.rglob("cache/*.json")}
    again = CliRunner().invoke(app, asked(model, raw, out, "--json", "--formats", "", "--arms", ",".join(ARMS[:2])))
    assert again.exit_code == 0, again.output
    assert before == {p: p.stat().st_mtime_ns for p in out.rglob("cache/*.json")}
    facts = json.loads(again.stdout)
    assert {row["arm"] for row in facts["scores"]} == {*ARMS[:2], "most frequent tag", "commonest tag"}
    assert {row["rule"] for row in facts["verdicts"]} == {"muller"}
    drawn = CliRunner().invoke(app, ["report", str(out), "--formats", "svg"])
    assert drawn.exit_code == 0, drawn.output
    assert "bilstm" in drawn.output
    CliRunner().invoke(app, asked(model, raw, out, "--formats", ""))
    other = CliRunner().invoke(app, asked(model, raw, out, "--epochs", "2"))
    assert isinstance(other.exception, InputError)
    assert "holds another run" in str(other.exception)


def records(rows=24):
    return {"ner": split_of(task("ner"), "everyday-ner", "", "ru", rows)}


def small(**more):
    options = {"tuning": Tuning(epochs=1, batch=8), "seeds": 1, "rates": (1.0,), "size": "nano", "updates": 2}
    return Trial(**{**options, "loading": {"device": "cpu"}, **more})


def test_expectation_is_there_before_the_first_arm(model, tmp_path):
    """Killed when it is told what will be run: what was expected stays, and is not made anew when it goes on."""
    heard = []

    def stop(hoped, plan):
        heard.append((hoped, plan))
        raise KeyboardInterrupt

    beside = il.parallel("everyday", "en", "fr")
    how = small(arms=("bilstm", "multilingual"))
    with pytest.raises(KeyboardInterrupt):
        unseen(model, records(), beside, tmp_path / "ru", how, tell=stop)
    ((hoped, plan),) = heard
    assert json.loads((tmp_path / "ru" / "expectation.json").read_text())["kind"] == hoped.kind
    assert not (tmp_path / "ru" / "arms").exists()
    assert [step.seconds > 0 for step in plan] == [True, True]
    place = tmp_path / "ru" / "expectation.json"
    place.write_text(place.read_text().replace(hoped.advice, "wait"))
    tables = unseen(model, records(), beside, tmp_path / "ru", how)
    assert tables.expectation["advice"] == "wait"
    (text,) = [text for heading, text in told(tables) if heading.startswith("Expected before anything was run")]
    assert "Advice then: wait; now: " in text


def test_a_budget_leaves_out_what_does_not_fit(model, tmp_path):
    beside = il.parallel("everyday", "en", "fr")
    found, hoped, plan = foreseen(model, records(), beside, small(budget=1e-6), raw=())
    assert found.language == "ru"
    assert hoped.kind in ("easy", "intermediate", "hard")
    assert [step.arm for step in plan] == list(ARMS)
    assert all("of the budget are left" in step.left_out for step in plan[:2])
    # 24 sentences are no text to learn a language from
    assert all("too few to learn a language from" in step.left_out for step in plan[2:])
    tables = unseen(model, records(), beside, tmp_path / "ru", small(), raw=())
    assert "Not everything was run" in dict(told(tables))
    assert len(tables.pretrained) == 0


def test_sentences_that_are_judged_by_are_not_pretrained_on(model, tmp_path):
    """Nor are they where spaces, hyphens and marks stand elsewhere, or inside a paragraph."""
    split = records()["ner"]
    judged = [" ".join(row) for record in split[1:] for row in record.words]
    own = [line for line in il.parallel("everyday", "ru")["ru"] if line not in judged]
    told = [each for each in judged if sum(c.isalnum() for c in each) >= 20]
    assert len(told) > 5
    hidden = [told[0].replace(" ", ""), f"Слово. {told[1].upper()} И ещё.", told[2].replace(" ", " - "), *judged]
    raw = tmp_path / "raw.txt"
    raw.write_text("".join(f"{line}\n" for line in [*own, *hidden]), encoding="utf-8")
    run = UnseenRun(model, {"ner": split}, [str(raw)], tmp_path, small(scheme="cyrillic-latin"), None)
    assert run.text("").read_text(encoding="utf-8").splitlines() == [" ".join(line.split()) for line in own]
    assert len(run.text("cyrillic-latin").read_text(encoding="utf-8").splitlines()) == len(own)
    assert run.config("adapted", "").select == "ru"


def test_another_run_is_not_taken_for_this_one(model, tmp_path):
    """Also where no language model was made: rows, epochs, model, language."""
    beside, out = il.parallel("everyday", "en", "fr"), tmp_path / "ru"
    how = small(arms=("bilstm", "multilingual"))
    unseen(model, records(), beside, out, how)
    for other in (small(arms=how.arms, tuning=Tuning(epochs=2, batch=8)), small(arms=how.arms, passes=7)):
        with pytest.raises(InputError, match="holds another run"):
            unseen(model, records(), beside, out, other)
    with pytest.raises(InputError, match="holds another run"):
        unseen(model, records(16), beside, out, how)
    french = {"ner": split_of(task("ner"), "everyday-ner", "", "fr", 24)}
    with pytest.raises(InputError, match="holds another run"):
        unseen(model, french, beside, out, how)
    again = unseen(model, french, il.parallel("everyday", "en", "de"), out, how, force=True)
    assert again.language == "fr"


def test_nothing_to_run_is_told(model, tmp_path):
    beside = il.parallel("everyday", "en", "fr")
    with pytest.raises(InputError, match="no arm to run"):
        unseen(model, records(), beside, tmp_path / "none", small(arms=()))
    with pytest.raises(InputError, match="no arm to run: bilstm: it would take"):
        unseen(model, records(), beside, tmp_path / "budget", small(arms=("bilstm",), budget=1e-9))
    with pytest.raises(InputError, match="georgian-latin changes 0% of the words"):
        unseen(model, records(), beside, tmp_path / "script", small(scheme="georgian-latin"))


def test_what_is_advised_is_the_least_work_among_the_best():
    pos = task("pos")
    rng = np.random.default_rng(0)

    def arm(share):
        return [np.stack([rng.binomial(10, share, size=500), np.full(500, 10)], 1)]

    arms = {("bilstm", ""): arm(0.6), ("multilingual", ""): arm(0.7), ("adapted", ""): arm(0.9)}
    assert advised(pos, arms) == ("adapted", "")
    assert advised(pos, {**arms, ("multilingual", "latin"): arms["adapted", ""]}) == ("multilingual", "latin")
    assert advised(pos, {**arms, ("monolingual", ""): arm(0.97)}) == ("monolingual", "")
    assert advised(pos, {("bilstm", ""): arm(0.9), ("multilingual", ""): arm(0.7)}) == ("bilstm", "")
    assert advised(pos, {("adapted", ""): arms["adapted", ""], ("bilstm", ""): arms["adapted", ""]}) == ("bilstm", "")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--arms", "bilstm,adapter"], "adapter"),
        (["--translit", "latinn"], "latin"),
        (["--size", "huge"], "huge"),
        (["--device", "tpu"], "neither cpu nor cuda"),
        (["--task", "nli"], "nli is not about words"),
        (["--eval", "everyday-ner:train", "--rows", "0"], "tuned on and judged by"),
        (["--raw", "nothere.txt"], "nothere"),
        (["--seen", "xx-nothere"], "xx"),
    ],
)
def test_mistakes_are_told_before_anything_is_run(model, raw, tmp_path, more, says):
    found = CliRunner().invoke(app, asked(model, raw, tmp_path / "out", *more))
    assert found.exit_code != 0
    assert isinstance(found.exception, InputError | UnknownNameError | il.InterlinguaError)
    assert says in str(found.exception)
    assert not (tmp_path / "out" / "arms").exists()


def test_what_is_missing_is_asked_for(here):
    for arguments, says in (([], "--lang"), (["--lang", "ru"], "--train"), (["--lang", "ru", "--train", "x"], "--out")):
        found = here("unseen", *arguments)
        assert found.returncode == 2
        assert f"say {says}" in found.stderr


def test_one_set_for_everything_is_cut(tmp_path):
    whole = il.tagged("everyday-ner", "ru", split="train")
    train, development, test = split_of(task("ner"), "everyday-ner:train", "", "ru", 0)
    assert len(train) + len(development) + len(test) == len(whole)
    assert len(test) == len(whole) // 5
    assert not {*train.words} & {*test.words}
    with pytest.raises(InputError, match="rows"):
        (tmp_path / "few.tsv").write_text("ja\tO\n\nnein\tO\n", encoding="utf-8")
        split_of(task("ner"), str(tmp_path / "few.tsv"), "", "de", 0)


def test_a_bilstm_whose_weights_lie_in_one_piece_is_saved(tmp_path):
    """As on a GPU, where every weight of an LSTM is a view of one block of memory."""
    reader = BiLstm(["a", "b"], ["a", "b"], width=8)
    weights = list(reader.spell.parameters())
    import torch

    block = torch.cat([each.detach().flatten() for each in weights])
    at = 0
    for each in weights:
        each.data = block[at : at + each.numel()].view_as(each)
        at += each.numel()
    reader.save(tmp_path / "reader")
    again = open_bilstm(tmp_path / "reader")
    assert all(
        torch.equal(a, b) for a, b in zip(reader.state_dict().values(), again.state_dict().values(), strict=True)
    )


def test_tables_are_read_as_they_were_written(done):
    out, _ = done
    tables = read_unseen(out)
    assert tables.comparisons["against_scheme"].eq("").any()
    assert isinstance(tables.scores, pd.DataFrame)
    (out.parent / "nothing").mkdir(exist_ok=True)
    with pytest.raises(InputError, match="holds no results"):
        read_unseen(out.parent / "nothing")


def test_a_scheme_for_another_language_or_script_is_refused(here):
    asked = ["unseen", "--task", "ner", "--train", "everyday-ner", "--dry-run"]
    told = here(*asked, "--lang", "fr", "--translit", "latin").stderr
    assert "in Latin letters already" in told
    told = here(*asked, "--lang", "ru", "--translit", "uyghur-turkish").stderr
    assert "for another script" in told


def test_a_scheme_that_leaves_letters_is_refused(here, tmp_path):
    words = "كىتاب ئۇيغۇرچە ياخشى ئۆي گۈل".split()
    rows = ["\n".join(f"{word}\tO" for word in (*words, str(i))) for i in range(20)]
    (tmp_path / "ug.tsv").write_text("\n\n".join(rows) + "\n", encoding="utf-8")
    told = here(
        "unseen", "--task", "ner", "--lang", "ug", "--train", "ug.tsv", "--translit", "sorani-kurmanji", "--dry-run"
    ).stderr
    assert "it is for another language" in told


def test_raw_text_without_a_line_is_named(here, tmp_path):
    (tmp_path / "raw.txt").write_text("\n\n", encoding="utf-8")
    asked = ["--task", "ner", "--lang", "fr", "--train", "everyday-ner", "--raw", "raw.txt", "--out", "out"]
    for more in ([], ["--dry-run"]):
        told = here("unseen", *asked, *more).stderr
        assert "raw.txt" in told
    assert not (tmp_path / "out").exists()


def test_a_file_in_the_place_of_a_folder(here, tmp_path):
    (tmp_path / "out").write_text("x", encoding="utf-8")
    told = here("unseen", "--task", "ner", "--lang", "fr", "--train", "everyday-ner", "--out", "out").stderr
    assert "out is a file: name a folder" in told


def test_a_language_beside_another_languages_sentences(here):
    told = here("unseen", "--task", "ner", "--lang", "fr", "--train", "de=everyday-ner", "--dry-run").stderr
    assert "de=everyday-ner is de, and the language is fr" in told


def test_a_model_that_is_not_there_leaves_no_folder(here, tmp_path):
    asked = ["--task", "ner", "--lang", "fr", "--train", "everyday-ner", "--out", "out"]
    assert here("unseen", str(tmp_path / "nothing"), *asked).stderr.startswith("error:")
    assert not (tmp_path / "out").exists()
