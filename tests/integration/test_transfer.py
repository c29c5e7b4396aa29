"""Tuning: small sets are learnt by heart, a killed run goes on, a tuned model is opened again, layers are drawn anew."""

import copy
import dataclasses
import json
import re

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as hf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoModelForSeq2SeqLM
from typer.testing import CliRunner

import interlingua as il
from interlingua.analyses.transfer import Attempt, dropped, transfer
from interlingua.cli.main import app
from interlingua.errors import InputError
from interlingua.languages import Language
from interlingua.models.architecture import LabSeq2SeqConfig
from interlingua.models.attention import NAME
from interlingua.models.codes import code_number
from interlingua.models.layers import blocks_of
from interlingua.report.transferred import told
from interlingua.transfer.ablate import chosen, reinitialise
from interlingua.transfer.bilstm import BiLstm
from interlingua.transfer.encode import encode_words
from interlingua.transfer.evaluate import evaluate
from interlingua.transfer.finetune import (
    FACTS,
    STEPS,
    Part,
    Tuning,
    fit,
    freeze,
    learnt_labels,
    network_of,
    open_tuned,
    tune,
)
from interlingua.transfer.network import TaskNetwork, counted
from interlingua.transfer.tasks import task
from support import tiny

QUICK = Tuning(epochs=40, batch=4, rate=1e-2, schedule="constant", dropout=0.0, warmup=0.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("models")
    return tiny.two_models(place)[0]


@pytest.fixture
def model(folder):
    return il.load_model(folder)


def score(tuned, record):
    part = Part.of(tuned.network, record)
    return float(tuned.task.score(counted(tuned.task, part.gold, tuned.network.answers(part.encoded)).sum(0))[0])


def records(name):
    if name == "pos":
        return il.tagged("everyday-trees", "en")[:12]
    if name == "parsing":
        return il.treebank("everyday-trees", "en")[:8]
    if name == "ner":
        return il.tagged("everyday-ner", "en", split="train")[:12]
    return il.labelled("everyday-nli", "en")[:12]


@pytest.mark.parametrize("name", ["pos", "parsing", "ner", "nli"])
def test_a_small_set_is_learnt_by_heart(name, model, tmp_path):
    """All right in what it was tuned on: reader, head, loss, decoding and score fit each other."""
    data = records(name)
    tuned = tune(model, task(name), [data], [data], tmp_path, QUICK)
    assert score(tuned, data) == 1.0
    assert tuned.development == 1.0
    again = open_tuned(tmp_path)
    part = Part.of(again.network, data)
    assert again.network.answers(part.encoded) == tuned.network.answers(part.encoded)
    assert not (tmp_path / STEPS).exists()
    # what was tuned is a model that any verb takes
    assert il.load_model(tmp_path / "model").layers.blocks == 3


@pytest.mark.parametrize("name", ["pos", "parsing"])
def test_a_network_that_knows_nothing_learns_a_small_set_too(name, tmp_path):
    data, how = records(name), Tuning(epochs=3, batch=4, dropout=0.0, schedule="constant", warmup=0.0)
    torch.manual_seed(0)
    reader = BiLstm.of([data], width=128, dropout=0.0)
    network = TaskNetwork(reader, task(name), learnt_labels(task(name), [data], [data]), 0.0)
    tuned = fit(network, [data.take([*range(len(data))] * 40)], [data], tmp_path, how)
    assert score(tuned, data) == 1.0
    again = open_tuned(tmp_path)
    part = Part.of(again.network, data)
    assert again.network.answers(part.encoded) == tuned.network.answers(Part.of(network, data).encoded)
    alone = [again.network.answers(Part.of(again.network, data[i : i + 1]).encoded)[0] for i in range(len(data))]
    assert alone == again.network.answers(part.encoded)
    other = Part.of(TaskNetwork(reader, task("ner"), ("O",)), il.tagged("everyday-ner", "ru", split="test"))
    assert other.encoded.unknown > 0.5
    assert other.encoded.words_lost == 0
    with pytest.raises(InputError, match="reads words"):
        Part.of(TaskNetwork(reader, task("nli"), ("a",)), il.labelled("everyday-nli", "en"))


@pytest.fixture(params=["mt5", "marian", "lab"])
def writer(request, tmp_path):
    """An encoder-decoder in a folder, with a head; ours, and two of others."""
    place, tokenizer = tmp_path / "writer", tiny.tokenizer()
    tokenizer.eos_token = "[SEP]"
    tokenizer.backend_tokenizer.decoder = decoders.ByteLevel()
    torch.manual_seed(0)
    if request.param == "lab":
        config = LabSeq2SeqConfig(
            vocab_size=400, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
            max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
        )  # fmt: skip
    else:
        config = tiny.FAMILIES[request.param][0](400)
        config.decoder_start_token_id, config.eos_token_id, config.pad_token_id = 0, 2, 0
    AutoModelForSeq2SeqLM.from_config(config).save_pretrained(place)
    tokenizer.save_pretrained(place)
    return place


def test_a_small_text_is_translated_by_heart(writer, tmp_path):
    translation = task("translation")
    pairs = translation.read("everyday", "fr-en", "")[:4]
    how = Tuning(epochs=2, batch=4, rate=1e-2, schedule="constant", warmup=0.0)
    often = pairs.take([0, 1, 2, 3] * 150)
    tuned = tune(il.load_model(writer), translation, [often], [pairs], tmp_path / "tuned", how)
    assert score(tuned, pairs) == pytest.approx(1.0)
    (found,) = evaluate(tuned, [pairs], "fr-en")
    assert found.language == "fr-en"
    assert dict(found.also)["chrf"] == pytest.approx(1.0)
    again = open_tuned(tmp_path / "tuned")
    again.network.beams = 3
    assert score(again, pairs) == pytest.approx(1.0, abs=0.2)
    with pytest.raises(InputError, match="writes en"):
        evaluate(again, [translation.read("everyday", "fr-de", "")], "fr-en")
    with pytest.raises(InputError, match="pair"):
        translation.read("everyday", "fr", "")


@pytest.mark.parametrize("writer", ["lab"], indirect=True)
def test_one_sentence_is_translated_into_the_language_that_is_asked_for(writer, tmp_path):
    translation = task("translation")
    english, german = (translation.read("everyday", f"fr-{lang}", "")[:1] for lang in ("en", "de"))
    how = Tuning(epochs=3, batch=8, rate=5e-3, schedule="constant", warmup=0.0)
    often = [pairs.take([0] * 400) for pairs in (english, german)]
    tune(il.load_model(writer), translation, often, [english, german], tmp_path / "tuned", how)
    again = open_tuned(tmp_path / "tuned")
    assert score(again, english) == pytest.approx(1.0)  # the same French, and what is written differs
    assert score(again, german) == pytest.approx(1.0)


def test_a_single_stack_does_not_translate(model, tmp_path):
    pairs = task("translation").read("everyday", "fr-en", "")
    with pytest.raises(InputError, match="encoder-decoder"):
        tune(model, task("translation"), [pairs], [pairs], tmp_path)


def test_a_batch_answers_as_its_sentences_do(model):
    data = il.treebank("everyday-trees", "en")[:10]
    parsing = task("parsing")
    torch.manual_seed(0)
    network = network_of(model, parsing, parsing.labels(parsing.gold(data)))
    part = Part.of(network, data)
    torch.nn.init.normal_(network.head.arcs)
    torch.nn.init.normal_(network.head.relations)
    together = network.answers(part.encoded)
    alone = [network.answers(Part.of(network, data[i : i + 1]).encoded)[0] for i in range(len(data))]
    assert together == alone


@pytest.mark.parametrize("name", ["pos", "ner", "parsing"])
def test_half_precision(folder, tmp_path, name):
    """Learnt nearly as well, and judged on the way as well as afterwards."""
    data, how = records(name), {"epochs": 2, "batch": 4, "rate": 1e-3, "dropout": 0.0}
    whole, half = (
        tune(il.load_model(folder), task(name), [data], [data], tmp_path / str(bf16), Tuning(**how, bf16=bf16))
        for bf16 in (False, True)
    )
    assert whole.development == pytest.approx(half.development, abs=0.1)
    # with gradients that do not take long
    assert [each.network.body.model.network.config._attn_implementation for each in (whole, half)] == ["sdpa", NAME]


@pytest.mark.parametrize(
    "damaged", ["trainer_state.json", "optimizer.pt", "scheduler.pt", "model.safetensors", "rng_state.pth"]
)
def test_a_killed_run_goes_on(folder, tmp_path, damaged):
    data, how = records("pos"), Tuning(epochs=4, batch=4, rate=1e-3, dropout=0.1)
    whole = tune(il.load_model(folder), task("pos"), [data], [data], tmp_path / "whole", how)

    class Killed(Exception):
        pass

    def kill(done, total):
        if done == 8:
            raise Killed

    with pytest.raises(Killed):
        tune(il.load_model(folder), task("pos"), [data], [data], tmp_path / "killed", how, progress=kill)
    assert sorted(p.name for p in (tmp_path / "killed" / STEPS).glob("checkpoint-*")) == [
        "checkpoint-3",
        "checkpoint-6",
    ]
    assert not (tmp_path / "killed" / FACTS).exists()
    # the last checkpoint was not written to its end: the one before it is gone on from
    (tmp_path / "killed" / STEPS / "checkpoint-6" / damaged).unlink()
    seen = []
    went_on = tune(
        il.load_model(folder), task("pos"), [data], [data], tmp_path / "killed", how,
        progress=lambda done, total: seen.append(done),
    )  # fmt: skip
    assert seen[0] == 4
    for (name, a), b in zip(whole.network.named_parameters(), went_on.network.parameters(), strict=True):
        torch.testing.assert_close(a, b, msg=name)


def test_layers_drawn_anew_and_no_others(folder):
    """Every matrix of the named blocks changed and has the initialiser's spread; everything else is bitwise the same."""
    model = il.load_model(folder)
    before = copy.deepcopy(model.network.state_dict())
    names = {id(p): n for n, p in model.network.named_parameters()}
    inside = {names[id(p)] for n in (1, 3) for p in blocks_of(model.part)[n - 1].parameters()}
    reinitialise(model, [1, 3], seed=7)
    after = model.network.state_dict()
    for name, tensor in after.items():
        if name not in inside:
            assert torch.equal(tensor, before[name]), name
        elif tensor.ndim == 2:
            assert not torch.equal(tensor, before[name]), name
            assert tensor.std() == pytest.approx(model.network.config.initializer_range, rel=0.25), name
    again = reinitialise(il.load_model(folder), [1, 3], seed=7).network.state_dict()
    assert all(torch.equal(again[name], tensor) for name, tensor in after.items())
    with pytest.raises(InputError, match="from 1 to 3"):
        reinitialise(model, [4])


def test_which_blocks():
    assert chosen("pairs", 5) == ((1, 2), (3, 4), (5,))
    assert chosen("each", 3) == ((1,), (2,), (3,))
    assert chosen("below", 3) == ((1,), (1, 2), (1, 2, 3))
    assert chosen("1-2,5", 12) == ((1, 2), (5,))
    for wrong in ("0-1", "13", "a", "2-1"):
        with pytest.raises(InputError):
            chosen(wrong, 12)


def test_frozen_layers_stay(model, tmp_path):
    before = copy.deepcopy(model.network.state_dict())
    data = records("pos")
    tune(model, task("pos"), [data], [data], tmp_path, Tuning(epochs=1, batch=4, rate=1e-2, frozen=(0, 1)))
    changed = {name for name, t in model.network.state_dict().items() if not torch.equal(t, before[name])}
    assert not [name for name in changed if "embeddings" in name or ".layer.0." in name]
    assert [name for name in changed if ".layer.1." in name]
    with pytest.raises(InputError, match="no layer 9"):
        freeze(model, Tuning(frozen=(9,)))


def test_scores_in_other_languages(model, tmp_path):
    data = records("pos")
    tuned = tune(model, task("pos"), [data], [data], tmp_path, QUICK)
    scores = evaluate(tuned, [data, il.tagged("everyday-trees", "fr"), il.tagged("everyday-trees", "de")], "en")
    assert [s.language for s in scores] == ["en", "fr", "de"]
    assert scores[0].gap == 0
    for each in scores:
        assert each.low <= each.value <= each.high
        assert each.gap == pytest.approx(each.value - 1.0)
        assert each.counts.shape == (each.sentences, 2)
    with pytest.raises(InputError, match="source"):
        evaluate(tuned, [data], "fr")


def test_what_does_not_fit_is_said(model, tmp_path):
    data = records("pos")
    names = il.tagged("everyday-ner", "en", split="train")
    with pytest.raises(InputError, match="parts of speech"):
        tune(model, task("pos"), [names], [names], tmp_path)
    other = type(data)(**{**vars(data), "tags": tuple(tuple("X" + t for t in row) for row in data.tags)})
    with pytest.raises(InputError, match="annotated alike"):
        tune(model, task("pos"), [data], [other], tmp_path)
    with pytest.raises(InputError, match="no rows"):
        tune(model, task("pos"), [data[:0]], [data], tmp_path)


def test_a_sentence_longer_than_the_model_takes_is_read_in_windows(model):
    """No word is lost; one that is cut, as behind a map, counts as asked and is reported."""
    data = il.tagged("everyday-trees", "en")[:2]
    long = type(data)(**{**vars(data), "words": (data.words[0] * 200,), "tags": (data.tags[0] * 200,), "ids": ("1",)})
    network = network_of(model, task("pos"), task("pos").labels(task("pos").gold(long)))
    part = Part.of(network, long)
    assert part.encoded.tokens.lengths.max() > model.limit
    assert part.encoded.words_lost == 0
    (answer,) = network.answers(part.encoded)
    assert len(answer) == len(long.words[0])
    part = Part(encode_words(model, long, cut=True), part.gold)
    assert part.encoded.tokens.lengths.max() <= model.limit
    assert part.encoded.words_lost > 100
    (answer,) = network.answers(part.encoded)
    assert len(answer) == len(long.words[0])
    targets = task("pos").targets(part.gold, part.encoded.lost, network.labels)["tags"]
    assert int((targets >= 0).sum()) == len(long.words[0]) - part.encoded.words_lost
    assert np.all(part.encoded.firsts[0][part.encoded.lost[0]] == 0)


def test_one_command_from_a_model_to_scores(folder, tmp_path):
    out = tmp_path / "ner"
    asked = ["transfer", folder, "--task", "ner", "--train", "everyday-ner", "--langs", "en,fr,ru", "--epochs", "2"]
    asked += ["--batch", "8", "--random-init", "1-2", "--seeds", "2", "--out", str(out)]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    for said in (
        "language",
        "f1",
        "most frequent tag",
        "without blocks 1-2: en",
        "signature: task:ner|metric:f1|model:",
    ):
        assert said in done.output
    scores = pd.read_csv(out / "scores.csv", keep_default_na=False)
    assert set(scores["language"]) == {"en", "fr", "ru"}
    assert set(scores["init"]) == {"", "1-2", "most frequent tag", "commonest tag"}
    assert set(scores["metric"]) == {"f1", "precision", "recall"}
    page = (out / "transfer.html").read_text("utf-8")
    assert "Blocks 1-2: " in page
    assert sorted(p.name for p in (out / "figures").iterdir()) == ["drops.png", "drops.svg", "scores.png", "scores.svg"]
    (out / "transfer.html").unlink()
    assert CliRunner().invoke(app, ["report", str(out), "--formats", "none"]).stdout == done.stdout
    assert len((out / "transfer.html").read_text("utf-8")) == pytest.approx(len(page), rel=0.01)
    drops = pd.read_csv(out / "drops.csv")
    mine = scores[(scores["metric"] == "f1") & (scores["language"] == "fr")].groupby("init")["value"].mean()
    assert drops.set_index("language")["drop"]["fr"] == pytest.approx(mine["1-2"] - mine[""])
    assert sorted(p.name for p in (out / "tuned").iterdir()) == ["whole.0", "whole.1"]
    # a second time nothing is tuned, and the same is said
    assert CliRunner().invoke(app, asked).stdout == done.stdout
    other = CliRunner().invoke(app, [*asked, "--rate", "0.1"])
    assert other.exit_code != 0
    assert "holds another run" in str(other.exception)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--task", "ner"], "say --train"),
        (["--task", "nerr", "--train", "everyday-ner", "--langs", "en,fr"], "did you mean ner"),
        (["--task", "ner", "--train", "everyday-ner"], "which language is everyday-ner"),
        (["--task", "ner", "--train", "everyday-ner", "--langs", "en"], "say where to judge"),
        (["--task", "nli", "--train", "en=everyday-nli:", "--eval", "fr=everyday-nli"], "unknown split"),
        (["--task", "ner", "--train", "everyday-ner", "--langs", "en,fr", "--random-init", "9"], "from 1 to 3"),
        (["--task", "ner", "--train", "everyday-ner", "--langs", "en,fr", "--frozen", "x"], "is no layer"),
        (["--task", "ner", "--train", "everyday-ner:test", "--langs", "en,fr"], "tuned on and judged by"),
        (
            ["--task", "ner", "--train", "en=everyday-ner", "--eval", "fr=everyday-ner,fr=everyday-ner"],
            "one a language",
        ),
        (["--task", "ner", "--train", "en=everyday-ner", "--eval", "xq=everyday-ner"], "xq"),
    ],
)
def test_misuse_is_told(folder, tmp_path, options, says):
    done = CliRunner().invoke(app, ["transfer", folder, *options, "--out", str(tmp_path / "x")])
    assert done.exit_code != 0
    assert says in str(done.exception)


def test_what_would_be_tuned_is_said(folder):
    asked = [
        "transfer",
        folder,
        "--task",
        "ner",
        "--train",
        "en=everyday-ner,fr=everyday-ner",
        "--eval",
        "de=everyday-ner",
    ]
    asked += ["--rows", "40", "--epochs", "3", "--batch", "16", "--random-init", "each", "--baseline", "--seeds", "2"]
    done = CliRunner().invoke(app, [*asked, "--dry-run"])
    assert done.exit_code == 0, done.output
    # 40 sentences of either language in batches of 16, less the tenth that the epoch is chosen by where there is no dev
    learnt = done.output.splitlines()[0]
    rows = sum(int(n) for n in re.findall(r"\((\d+)\)", learnt))
    assert f"10 tunings of about {-(-rows // 16) * 3} updates" in done.output
    told = json.loads(CliRunner().invoke(app, [*asked, "--dry-run", "--json"]).stdout)
    assert told["tunings"] == 10


def test_two_sources_teach_more_than_one(folder, tmp_path):
    """Both are learnt from, and gaps are from the first."""
    out = tmp_path / "two"
    asked = [
        "transfer",
        folder,
        "--task",
        "ner",
        "--train",
        "en=everyday-ner,fr=everyday-ner",
        "--eval",
        "de=everyday-ner",
    ]
    done = CliRunner().invoke(app, [*asked, "--epochs", "1", "--batch", "8", "--out", str(out), "--formats", "none"])
    assert done.exit_code == 0, done.output
    config = json.loads((out / "config.json").read_text())
    assert [row[0] for row in config["train"]] == ["en", "fr"]
    scores = pd.read_csv(out / "scores.csv", keep_default_na=False)
    assert set(scores["language"]) == {"en", "de"}
    assert "(en) and" in (out / "transfer.html").read_text("utf-8")
    assert sorted(p.name for p in (out / "predictions" / "whole.0").iterdir()) == ["de.tsv", "en.tsv"]
    # what was tuned stays, and what is asked for besides is added
    before = (out / "cache" / "whole.0.json").stat().st_mtime_ns
    more = ["--epochs", "1", "--batch", "8", "--out", str(out), "--formats", "none", "--random-init", "1"]
    again = CliRunner().invoke(app, [*asked, *more])
    assert again.exit_code == 0, again.output
    assert "without blocks 1" in again.output
    assert (out / "cache" / "whole.0.json").stat().st_mtime_ns == before


def test_tokens_without_a_name_and_relations_never_shown_are_told(folder, tmp_path):
    """A tokenizer that knows English words alone reads Russian as unknown; a relation of the test is new."""
    place = tmp_path / "words"
    core = Tokenizer(models.WordLevel({"[UNK]": 0, "[PAD]": 1, "the": 2, "a": 3, ".": 4}, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    hf.PreTrainedTokenizerFast(tokenizer_object=core, unk_token="[UNK]", pad_token="[PAD]").save_pretrained(place)
    tiny.network("bert").save_pretrained(place)
    data = il.treebank("everyday-trees", "en")
    odd = data.trees[1]
    changed = dataclasses.replace(odd, relations=tuple("odd" if r == "det" else r for r in odd.relations))
    assert "odd" in changed.relations
    strange = dataclasses.replace(
        data[:4], trees=(data.trees[0], changed, *data.trees[2:4]), language=Language.parse("fr")
    )
    how = Attempt(task="parsing", tuning=Tuning(epochs=1, batch=4))
    found = transfer(str(place), [data[10:20]], [data[20:24]], [data[24:28], strange], tmp_path / "out", how)
    said = dict(told(found))
    assert "Be careful with fr" in said
    rows = found.scores[found.scores["language"] == "fr"].iloc[0]
    assert rows["new"] == "odd"
    assert rows["unknown"] > 0.5
    texts = [text for heading, text in told(found) if heading == "Be careful with fr"]
    assert any("unknown to the tokenizer" in text for text in texts)
    assert any("never showed odd" in text for text in texts)


def test_parts_of_speech_from_files(folder, tmp_path):
    """CoNLL-U gives them, and so does a file of words and tags that look like no entities."""
    bank = il.treebank("everyday-trees", "en")
    tags = il.tagged("everyday-trees", "en")
    arcs = task("parsing").gold(bank)
    (tmp_path / "a.conllu").write_text("".join(f"{x}\n" for x in task("parsing").written(bank, arcs)), "utf-8")
    rows = [
        f"{w}\t{t}"
        for ws, ts in zip(tags.words, tags.tags, strict=True)
        for w, t in [*zip(ws, ts, strict=True), ("", "")]
    ]
    (tmp_path / "b.tsv").write_text("\n".join("" if row == "\t" else row for row in rows), "utf-8")
    for name in ("a.conllu", "b.tsv"):
        found = task("pos").read(str(tmp_path / name), "en", "test")
        assert (found.words, found.tags, found.entities) == (tags.words, tags.tags, False)
    with pytest.raises(InputError, match="no entities"):
        task("ner").gold(task("ner").read(str(tmp_path / "b.tsv"), "en", "test"))


@pytest.mark.parametrize("codes", [("__en__", "__fr__"), ("en_XX", "fr_XX"), ("eng_Latn", "fra_Latn")])
def test_the_number_of_a_languages_code(codes):
    tokenizer = tiny.tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": list(codes)})
    numbers = [code_number(tokenizer, Language.parse(tag)) for tag in ("en", "fr")]
    assert numbers == [tokenizer.convert_tokens_to_ids(code) for code in codes]
    assert code_number(tokenizer, Language.parse("de")) is None


def test_planted_drops_are_called_by_their_names():
    """Without 1 the other language falls alone: critical. Without 2 both fall, without 3 none, without 4 the source hardly."""
    rng = np.random.default_rng(0)

    def counts(share):
        return np.stack([rng.binomial(10, share, size=300), np.full(300, 10)], 1)

    planted = {
        ("", 0): {"en": counts(0.9), "fr": counts(0.8)},
        ("1", 0): {"en": counts(0.9), "fr": counts(0.5)},
        ("2", 0): {"en": counts(0.6), "fr": counts(0.5)},
        ("3", 0): {"en": counts(0.9), "fr": counts(0.8)},
        ("4", 0): {"en": counts(0.87), "fr": counts(0.4)},
    }
    found = {row["init"]: row for row in dropped(task("pos"), planted, "en") if row["language"] == "fr"}
    assert {name: row["verdict"] for name, row in found.items()} == {
        "1": "critical",
        "2": "hurts both",
        "3": "not needed",
        "4": "critical",
    }
    assert found["1"]["drop"] == pytest.approx(-0.3, abs=0.03)
    assert found["1"]["low"] < -0.3 < found["1"]["high"]
