"""Training: resumed to the same bytes, shared by two processes, learnt to near its entropy, parts that stay apart."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
import transformers
from accelerate import PartialState

import interlingua as il
from interlingua.errors import InterlinguaError
from interlingua.folders import claimed
from interlingua.languages import Language
from interlingua.models import architecture
from interlingua.pretrain.config import Config, presets, read_config
from interlingua.pretrain.mixture import generator
from interlingua.pretrain.objectives import Masked
from interlingua.pretrain.subwords import SPECIAL
from interlingua.pretrain.train import pretrain
from interlingua.pretrain.update import Batch, Updater, rate_at, summed_loss

LANGS = ("en", "fr")
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """The built-in corpus as plain text, a file a language."""
    folder = tmp_path_factory.mktemp("text")
    corpus = il.parallel("everyday", *LANGS)
    for lang in LANGS:
        (folder / f"{lang}.txt").write_text("\n".join(corpus[lang]) + "\n", encoding="utf-8")
    return {lang: [str(folder / f"{lang}.txt")] for lang in LANGS}


def settings(texts, **how):
    small = {"size": "nano", "text": texts, "held_out": 60, "updates": 12, "batch": 512, "length": 32, "width": 32}
    return Config(**{**small, "evaluate_every": 6, "checkpoint_every": 4, **how})


def weights(folder):
    network = transformers.AutoModelForMaskedLM.from_pretrained(folder)
    return network.state_dict()


@pytest.mark.parametrize("how", [{}, {"optimizer": "muon", "positions": "waves"}], ids=["adamw", "muon"])
def test_a_run_that_was_stopped_goes_on_to_the_same_bytes(texts, tmp_path, how):
    config = settings(texts, dropout=0.1, **how)
    whole = pretrain(config, tmp_path / "whole", device="cpu")
    for stop in (5, 8):
        pretrain(config, tmp_path / "parts", device="cpu", stop_at=stop)
    again = pretrain(config, tmp_path / "parts", device="cpu")
    assert (again.updates, again.scores) == (whole.updates, whole.scores)
    one, two = ((tmp_path / name / "model" / "model.safetensors").read_bytes() for name in ("whole", "parts"))
    assert one == two
    losses = [json.loads(line)["loss"] for line in (tmp_path / "whole" / "log.jsonl").read_text().splitlines()]
    parts = [json.loads(line)["loss"] for line in (tmp_path / "parts" / "log.jsonl").read_text().splitlines()]
    assert parts == losses
    # a run that is done costs nothing, and another run's folder is refused
    assert pretrain(config, tmp_path / "whole", device="cpu").updates == 12
    with pytest.raises(InterlinguaError, match="holds another run \\(rate was 0.002 and is 0.1\\)"):
        pretrain(settings(texts, dropout=0.1, rate=0.1, **how), tmp_path / "whole", device="cpu")


def test_an_interruption_between_updates_loses_nothing(texts, tmp_path):
    config = settings(texts, updates=12, checkpoint_every=100, evaluate_every=12)
    whole = pretrain(config, tmp_path / "whole", device="cpu")

    class StopError(BaseException):
        pass

    def stop(line):
        if line.update == 7:
            raise StopError

    with pytest.raises(StopError):
        pretrain(config, tmp_path / "part", device="cpu", progress=stop)
    assert torch.load(tmp_path / "part" / "checkpoint.pt", weights_only=True)["update"] == 7
    again = pretrain(config, tmp_path / "part", device="cpu")
    assert again.scores == whole.scores


def test_one_run_a_folder_at_a_time(texts, tmp_path):
    pretrain(settings(texts), tmp_path / "run", device="cpu")
    before = {p: p.read_bytes() for p in (tmp_path / "run").rglob("*") if p.is_file()}
    with claimed(tmp_path / "run"), pytest.raises(InterlinguaError, match="another run is writing to"):
        pretrain(settings(texts, seed=1), tmp_path / "run", device="cpu", force=True)
    assert {p: p.read_bytes() for p in (tmp_path / "run").rglob("*") if p.is_file()} == before


def test_a_folder_of_something_else_is_left_alone_even_by_force(texts, tmp_path):
    for name in ("data", "model"):
        (tmp_path / "mine" / name).mkdir(parents=True)
        (tmp_path / "mine" / name / "precious").write_text("kept")
    (tmp_path / "mine" / "config.yaml").write_text("a: 1\n")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InterlinguaError, match="is not empty and holds no run"):
        pretrain(settings(texts), tmp_path / "mine", device="cpu", force=True)
    assert [p for p in sorted(tmp_path.rglob("*")) if p.name != ".lock"] == before


def test_damage_is_told_or_mended(texts, tmp_path):
    config = settings(texts)
    whole = pretrain(config, tmp_path / "run", device="cpu")
    (tmp_path / "run" / "data" / "en.npy").write_bytes(b"cut")
    assert pretrain(config, tmp_path / "run", device="cpu").scores == whole.scores
    for content in (b"", b"no weights"):
        (tmp_path / "run" / "checkpoint.pt").write_bytes(content)
        with pytest.raises(InterlinguaError, match="cannot be gone on from .*: --force begins anew"):
            pretrain(config, tmp_path / "run", device="cpu")
    assert pretrain(config, tmp_path / "run", device="cpu", force=True).scores == whole.scores


def test_text_that_changed_is_noticed(texts, tmp_path):
    own = tmp_path / "own.txt"
    lines = Path(texts["en"][0]).read_text(encoding="utf-8")
    own.write_text(lines, encoding="utf-8")
    config = settings({**texts, "en": [str(own)]})
    pretrain(config, tmp_path / "run", device="cpu", stop_at=4)
    own.write_text(lines + "One more sentence.\n", encoding="utf-8")
    with pytest.raises(InterlinguaError, match="the text has changed since"):
        pretrain(config, tmp_path / "run", device="cpu")


def test_sentences_of_tests_are_never_trained_on(texts, tmp_path):
    lines = Path(texts["en"][0]).read_text(encoding="utf-8").splitlines()
    test = tmp_path / "tests.txt"
    test.write_text("".join(f"{line.upper()}  \n" for line in lines[10:20]), encoding="utf-8")
    told = []
    pretrain(settings(texts), tmp_path / "all", device="cpu", prepare_only=True, say=told.append)
    pretrain(settings(texts, without=str(test)), tmp_path / "some", device="cpu", prepare_only=True, say=told.append)
    before, after = (int(line.split()[1].replace(",", "")) for line in told if line.startswith("en: "))
    gone = {line.casefold() for line in lines[10:20]}
    assert before - after == sum(line.casefold() in gone for line in lines) >= 10
    # text that shares no line with the pairs
    other = {lang: [str(tmp_path / f"{lang}.txt")] for lang in LANGS}
    for lang, (path,) in other.items():
        own = Path(texts[lang][0]).read_text(encoding="utf-8").splitlines()
        Path(path).write_text("".join(f"- {line}\n" for line in own), encoding="utf-8")
    pairs = settings(other, parallel={"en-fr": "everyday"}, tlm=0.5, without=str(test))
    corpus = il.parallel("everyday", "en", "fr")
    test.write_text("".join(f"{line}\n" for line in corpus["en"][:30]), encoding="utf-8")
    pretrain(pairs, tmp_path / "pairs", device="cpu", prepare_only=True)
    facts = json.loads((tmp_path / "pairs" / "data" / "facts.json").read_text(encoding="utf-8"))
    assert next(s for s in facts["streams"] if s["name"] == "en-fr")["sentences"] == len(corpus) - 30


def test_paragraphs_that_hold_a_sentence_of_a_test_are_left_out(texts, tmp_path):
    lines = Path(texts["en"][0]).read_text(encoding="utf-8").splitlines()
    test = "The quick brown fox jumps over the lazy dog"
    (tmp_path / "en.txt").write_text(
        "\n".join([*lines, f"It is known. {test.upper()}! So they say.", "Yes. No."]), "utf-8"
    )
    (tmp_path / "tests.txt").write_text(f"{test}.\nYes.\n", "utf-8")
    told = []
    both = {"en": [str(tmp_path / "en.txt")], "fr": texts["fr"]}
    config = settings(both, without=str(tmp_path / "tests.txt"))
    pretrain(config, tmp_path / "run", device="cpu", prepare_only=True, say=told.append)
    assert told[0] == f"en: {len(lines) + 1:,} lines, 1 left out for a sentence of a test"


def test_a_preset_is_a_preset_from_python_too(texts):
    config = Config(preset="no-anchors", size="nano", text=texts)
    assert config.tokens.kind == "prefixed"
    assert config == read_config("no-anchors", ["size=nano", *(f"text.{k}={v[0]}" for k, v in texts.items())])
    with pytest.raises(ValueError, match="did you mean no-anchors"):
        Config(preset="no-anchor")


def test_a_folder_gives_each_language_its_own_files(texts, tmp_path):
    folder = tmp_path / "par"
    folder.mkdir()
    for lang, (path,) in texts.items():
        shutil.copy(path, folder / f"{lang}.txt")
    told = []
    both = {lang: [str(folder)] for lang in LANGS}
    pretrain(settings(both), tmp_path / "run", device="cpu", prepare_only=True, say=told.append)
    single = []
    pretrain(settings(texts), tmp_path / "other", device="cpu", prepare_only=True, say=single.append)
    assert told == single
    with pytest.raises(InterlinguaError, match="unknown language of par 'de': there are en, fr"):
        pretrain(settings({"de": [str(folder)]}), tmp_path / "de", device="cpu", prepare_only=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_for_the_update_and_loses_nothing(texts, tmp_path, number):
    """Wherever it arrives: here in the middle of an update."""
    config = settings(texts, updates=12, checkpoint_every=12)
    whole = pretrain(config, tmp_path / "whole", device="cpu")
    before = Updater.__call__

    def interrupted(self, batch, update):
        if update == 7 and not (tmp_path / "parts" / "checkpoint.pt").exists():
            os.kill(os.getpid(), number)
        before(self, batch, update)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Updater, "__call__", interrupted)
        with pytest.raises((KeyboardInterrupt, SystemExit)):
            pretrain(config, tmp_path / "parts", device="cpu")
    state = torch.load(tmp_path / "parts" / "checkpoint.pt", weights_only=True)
    assert state["update"] == 8
    told = []
    parts = pretrain(config, tmp_path / "parts", device="cpu", say=told.append)
    assert "going on from update 8" in told
    for name, value in weights(whole.model).items():
        assert torch.equal(value, weights(parts.model)[name])


def test_text_that_changed_is_told_before_anything_is_touched(texts, tmp_path):
    mine = {}
    for lang, (path,) in texts.items():
        mine[lang] = [str(shutil.copy(path, tmp_path / f"{lang}.txt"))]
    pretrain(settings(mine), tmp_path / "run", device="cpu", stop_at=6)
    before = {p: p.read_bytes() for p in (tmp_path / "run" / "data").rglob("*") if p.is_file()}
    with Path(mine["en"][0]).open("a", encoding="utf-8") as file:
        file.write("Another sentence.\n")
    with pytest.raises(InterlinguaError, match="the text has changed"):
        pretrain(settings(mine), tmp_path / "run", device="cpu")
    assert {p: p.read_bytes() for p in before} == before


def test_runs_that_differ_in_their_seed_share_what_was_prepared(texts, tmp_path):
    pretrain(settings(texts), tmp_path / "a", device="cpu", prepare_only=True)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    told = []
    pretrain(settings(texts, seed=1), tmp_path / "b", device="cpu", prepare_only=True, say=told.append)
    assert told == []
    pretrain(settings(texts, seed=1, equal=True), tmp_path / "b", device="cpu", prepare_only=True, say=told.append)
    assert told


def test_a_run_that_never_began_does_not_keep_its_folder(texts, tmp_path):
    with pytest.raises(InterlinguaError, match="are held out"):
        pretrain(settings(texts, held_out=400), tmp_path / "run", device="cpu")
    assert pretrain(settings(texts), tmp_path / "run", device="cpu").updates == 12


def test_a_model_decides_the_shape_of_what_goes_on_from_it(texts, tmp_path):
    first = pretrain(settings(texts, separate_embeddings=True, updates=2), tmp_path / "first", device="cpu")
    start = {"size": "nano", "text": texts, "held_out": 60, "updates": 2, "batch": 512, "length": 32}
    for how, message in (
        ({"width": 64}, "width is 64, and that of .* is 32: leave it out"),
        ({"positions": "neighbours"}, "positions is neighbours, and that of .* is random: leave it out"),
        ({"norm": "pre"}, "norm is pre"),
        ({"length": 64}, "sequences of 64, and .* has 32 positions"),
    ):
        with pytest.raises(InterlinguaError, match=message):
            pretrain(Config(**{**start, "init": str(first.model), **how}), tmp_path / "no", device="cpu")
    with pytest.raises(InterlinguaError, match=r"did you mean .*first.model"):
        pretrain(Config(**start, init=str(first.folder)), tmp_path / "no", device="cpu")
    second = pretrain(Config(**start, init=str(first.model)), tmp_path / "second", device="cpu")
    written = read_config(str(second.folder / "config.yaml"))
    assert (written.width, written.separate_embeddings, written.random_words) == (32, True, "language")


def test_what_languages_share_is_told(texts, tmp_path):
    for kind, check in (("prefixed", lambda n: n == 0), ("joint", lambda n: n > 50)):
        said = []
        config = settings(texts, tokens={"kind": kind, "merges": 400})
        run = pretrain(config, tmp_path / kind, device="cpu", prepare_only=True, say=said.append)
        (row,) = json.loads((run.folder / "data" / "overlap.json").read_text())
        assert check(row["shared_types"])
        assert any(line.startswith(f"en and fr share {row['shared_types']} of ") for line in said)
        assert not run.model.exists()


def test_languages_are_called_as_elsewhere(tmp_path, texts):
    corpus = il.parallel("everyday", "zh")
    (tmp_path / "zh.txt").write_text("\n".join(corpus["zh"]), encoding="utf-8")
    text = {"zh-CN": [str(tmp_path / "zh.txt")], "en": texts["en"], "en@2": texts["en"]}
    config = settings(text, separate_embeddings=True, updates=2, length=16, select="zh")
    run = pretrain(config, tmp_path / "run", device="cpu")
    assert [score.language for score in run.scores] == ["zh-Hans", "en", "en@2"]
    reps = il.extract(il.load_model(run.model), il.parallel("everyday", "en", "zh")[:20], truncate=True)
    assert [str(lang) for lang in reps.langs] == ["en", "zh-Hans"]
    with pytest.raises(InterlinguaError, match="a language is named twice: zh, zh-CN"):
        settings({"zh": ["a"], "zh-CN": ["b"]}).resolved()


@pytest.mark.parametrize("name", sorted(presets()))
def test_every_preset_trains_and_can_be_looked_into(texts, tmp_path, name):
    langs = LANGS[:1] if name == "monolingual" else LANGS
    changes = [f"text.{lang}={texts[lang][0]}" for lang in langs]
    changes += ["size=nano", "updates=3", "held_out=60", "batch=512", "length=32", "width=32", "depth=6"]
    changes += ["evaluate_every=3"]
    if name == "tlm":
        changes.append("parallel.en-fr=everyday")
    if name == "extra-anchors":
        changes.append("anchors.dictionaries={en-fr: everyday-words}")
    run = pretrain(read_config(name, changes), tmp_path / "run", device="cpu")
    assert run.updates == 3
    assert all(math.isfinite(score.bits) and score.perplexity > 1 for score in run.scores)
    assert [score.language for score in run.scores] == list(langs)
    model = il.load_model(run.model)
    assert model.name == "run/model"
    reps = il.extract(model, il.parallel("everyday", *LANGS)[:50], truncate=True)
    assert (reps.layers, reps.width("fr")) == (7, 32)
    if "L1" in name:
        assert not reps.signature["one_network"]
        with pytest.raises(InterlinguaError, match="neuron"):
            il.compare(reps, source="en", measures=("anc",), blocks=5)
    else:
        assert reps.signature["one_network"]


def test_separate_tokenizers_read_each_language_with_its_own(texts, tmp_path):
    run = pretrain(settings(texts, tokens={"kind": "prefixed"}, updates=2), tmp_path / "run", device="cpu")
    model = il.load_model(run.model)
    english, french = (model.of(Language.parse(lang)).tokenizer for lang in LANGS)
    special = set(range(len(SPECIAL)))
    ids = [set(tokenizer("one two table 12")["input_ids"]) for tokenizer in (english, french)]
    assert (ids[0] & ids[1]) <= special
    with pytest.raises(InterlinguaError, match="none for de"):
        il.extract(model, il.parallel("everyday", "en", "de")[:5])


def test_translation_is_packed_pair_by_pair(texts, tmp_path):
    config = settings(texts, tlm=0.5, parallel={"en-fr": ["everyday"]}, updates=2)
    pretrain(config, tmp_path / "run", device="cpu")
    tokenizer = il.load_model(tmp_path / "run" / "model").tokenizer

    def lines(name):
        tokens = np.load(tmp_path / "run" / "data" / f"{name}.npy")
        ends = np.flatnonzero(tokens == SPECIAL.index("</s>"))
        return [tokenizer.decode(part[part != SPECIAL.index("</s>")]) for part in np.split(tokens, ends)][:-1]

    both, held = lines("en-fr"), {lang: set(lines(f"{lang}.held")) for lang in LANGS}
    corpus = il.parallel("everyday", *LANGS)
    pairs = list(zip(both[::2], both[1::2], strict=True))

    def plain(line):
        return unicodedata.normalize("NFKC", line).replace(" ", "")

    known = {(plain(a), plain(b)) for a, b in zip(corpus["en"], corpus["fr"], strict=True)}
    assert sum((plain(a), plain(b)) in known for a, b in pairs) > 0.95 * len(pairs)
    # what is held out to judge by is in no translation either
    assert 440 - 120 <= len(pairs) <= 440 - 60
    assert not [pair for pair in pairs if pair[0] in held["en"] or pair[1] in held["fr"]]
    assert not set(lines("en")) & held["en"]


def planted(tmp_path, line):
    """Text of two languages, made line by line from 16 letters of each."""
    rng = np.random.default_rng(0)
    found = {}
    for lang, letters in (("en", "abcdefghijklmnop"), ("fr", "qrstuvwxyzäöüéèê")):
        path = tmp_path / f"{lang}.txt"
        path.write_text("\n".join(line(letters, rng) for _ in range(600)), encoding="utf-8")
        found[lang] = [str(path)]
    return found


def learnt(texts, tmp_path, **how):
    asked = {"size": "nano", "tokens": {"merges": 200}, "updates": 300, "length": 32, "held_out": 60, "rate": 3e-3}
    config = Config(text=texts, norm="pre", evaluate_every=300, **asked, **how)
    return pretrain(config, tmp_path / "run", device="cpu").scores


def test_gaps_that_their_neighbours_tell_are_filled(tmp_path):
    """One word a line, again and again: nothing is left to guess."""
    texts = planted(tmp_path, lambda letters, rng: " ".join([letters[rng.integers(16)]] * rng.integers(20, 60)))
    for score in learnt(texts, tmp_path):
        assert score.loss < 0.3 < math.log(16), score


def test_a_run_is_where_it_was_asked_to_be_whatever_ran_before(texts, tmp_path):
    """Accelerate keeps one state a process: a model must not train on the CPU since its text was prepared there."""
    pretrain(settings(texts), tmp_path / "run", device="cpu", prepare_only=True)
    PartialState().device = torch.device("meta")  # as if a run elsewhere had come first
    assert pretrain(settings(texts), tmp_path / "run", device="cpu").updates == 12
    assert PartialState().device == CPU


def test_the_next_word_is_learnt_to_near_its_entropy(tmp_path):
    """ay always follows ax, and one of 16 such pairs comes next: of 25 tokens a line, 12 are ln 16 and 12 are nothing."""

    def line(letters, rng):
        return " ".join(f"{letters[i]}x {letters[i]}y" for i in rng.integers(16, size=12))

    floor = 12 * math.log(16) / 25
    for score in learnt(planted(tmp_path, line), tmp_path, objective="clm"):
        assert floor - 0.05 < score.loss < floor + 0.3, score


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_everything_separate_equals_two_models_step_by_step(texts, optimizer):
    """With nothing shared and a batch of one language, the other language's weights do not move at all."""
    shape = {"vocab_size": 60, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "norm": "pre"}
    own = {"languages": list(LANGS), "separate_embeddings": True, "separate_layers": 2}
    config = settings(texts, schedule="constant", warmup=0, rate=1e-2, clip=0.5, optimizer=optimizer).resolved()
    torch.manual_seed(0)
    both = architecture.LabForMaskedLM(architecture.LabEncoderConfig(**shape, **own)).train()
    alone = {lang: architecture.LabForMaskedLM(architecture.LabEncoderConfig(**shape)).train() for lang in LANGS}
    for lang, network in alone.items():
        mine = {k.replace(f".{lang}.", ".shared."): v for k, v in both.state_dict().items() if f".{lang}." in k}
        network.load_state_dict(mine)
    ask = Masked(4, np.arange(5, 60), np.arange(60) < 5)
    together = Updater(both, config, CPU, lambda _: None)
    apart = {lang: Updater(network, config, CPU, lambda _: None) for lang, network in alone.items()}
    rng = np.random.default_rng(0)
    for step in range(12):
        lang = LANGS[int(rng.integers(2))]
        asked = ask(rng.integers(5, 60, (4, 16)), generator(0, step))
        before = {k: v.clone() for k, v in both.state_dict().items()}
        together(Batch.of(asked, lang), step)
        apart[lang](Batch.of(asked, None), step)
        for name, tensor in both.state_dict().items():
            moved = not torch.equal(tensor, before[name])
            assert moved <= (f".{lang}." in name), name
    for lang, network in alone.items():
        for name, tensor in network.state_dict().items():
            assert torch.equal(tensor, both.state_dict()[name.replace(".shared.", f".{lang}.")]), name


def test_two_processes_share_a_batch_and_give_what_one_gives(texts, tmp_path):
    config = settings(texts, updates=4)
    one = pretrain(config, tmp_path / "one", device="cpu")
    changes = [f"text.{lang}={files[0]}" for lang, files in texts.items()]
    facts = config.model_dump(mode="json", exclude_unset=True)
    changes += [f"{key}={facts[key]}" for key in ("size", "held_out", "updates", "batch", "length", "width")]
    changes += ["evaluate_every=6", "checkpoint_every=4"]
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", "--rdzv_backend", "c10d"]
    command += ["--rdzv_endpoint", "localhost:0", "-m", "interlingua", "pretrain", "default"]
    command += [part for change in changes for part in ("--set", change)]
    done = subprocess.run(
        [*command, "--out", str(tmp_path / "two"), "--device", "cpu"],
        capture_output=True, text=True, check=False, timeout=200, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    mine, theirs = weights(one.model), weights(tmp_path / "two" / "model")
    for name, tensor in mine.items():
        assert torch.allclose(tensor, theirs[name], atol=2e-5), name
    assert json.loads((tmp_path / "two" / "version.json").read_text())["processes"] == 2
    losses = [
        [json.loads(line)["loss"] for line in (tmp_path / folder / "log.jsonl").read_text().splitlines()]
        for folder in ("one", "two")
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert done.stdout.count("updates; the model is") == 1


def test_any_model_is_trained_on(texts, tmp_path):
    for name, objective in (("bert", "mlm"), ("gpt2", "clm")):
        kind = transformers.AutoModelForMaskedLM if objective == "mlm" else transformers.AutoModelForCausalLM
        torch.manual_seed(0)
        network = kind.from_config(tiny.network(name).config)
        network.save_pretrained(tmp_path / name)
        tokenizer = tiny.tokenizer()
        tokenizer.add_special_tokens({"mask_token": "[MASK]"})
        tokenizer.save_pretrained(tmp_path / name)
        small = {"size": "nano", "text": texts, "held_out": 60, "updates": 6, "length": 16, "batch": 256}
        config = Config(init=str(tmp_path / name), objective=objective, **small)
        run = pretrain(config, tmp_path / f"{name}-on", device="cpu")
        again = kind.from_pretrained(run.model)
        assert type(again) is type(network)
        moved = [k for k, v in again.state_dict().items() if not torch.equal(v, network.state_dict()[k])]
        assert len(moved) > 5
        assert il.load_model(run.model).layers.blocks == tiny.network(name).config.num_hidden_layers


def test_weights_alone_go_on_with_a_fresh_optimiser(texts, tmp_path):
    first = pretrain(settings(texts, updates=6), tmp_path / "first", device="cpu")
    second = pretrain(
        settings(texts, updates=1, rate=1e-9, warmup=0, init=str(first.model)), tmp_path / "second", device="cpu"
    )
    for name, tensor in weights(first.model).items():
        assert torch.allclose(tensor, weights(second.model)[name], atol=1e-6), name
    assert second.scores[0].loss == pytest.approx(first.scores[0].loss, rel=1e-4)


def test_the_best_model_is_kept_and_the_stock_one_written(texts, tmp_path):
    run = pretrain(
        settings(texts, updates=8, select="fr", evaluate_every=2, stock=True), tmp_path / "run", device="cpu"
    )
    assert json.loads((run.model / "config.json").read_text())["model_type"] == "xlm-roberta"
    lines = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    best = min(score["perplexity"] for line in lines for score in line["scores"] if score["language"] == "fr")
    assert best > 1
    assert (tmp_path / "run" / "best" / "model.safetensors").exists()
    assert any((tmp_path / "run" / "tensorboard").iterdir())
    assert il.load_model(run.model).limit == 32


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("constant", {0: 0.1, 9: 1.0, 50: 1.0, 99: 1.0}),
        ("linear", {0: 0.1, 9: 1.0, 55: 0.5, 99: 1 / 90}),
        ("cosine", {9: 1.0, 55: 0.5, 99: 0.0003}),
        ("inverse_sqrt", {9: 1.0, 39: 0.5, 89: 1 / 3}),
        ("wsd", {9: 1.0, 79: 1.0, 90: 0.5, 99: 0.05}),
    ],
)
def test_rates(texts, schedule, expected):
    config = settings(texts, schedule=schedule, rate=1.0, warmup=10, updates=100, decay=0.2).resolved()
    for update, rate in expected.items():
        assert rate_at(update, config) == pytest.approx(rate, abs=2e-4), update


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["sise=mini"], "unknown setting 'sise': did you mean size"),
        (["tokens.kinds=joint"], "unknown setting 'kinds': did you mean kind"),
        (["size=huge"], "size: Input should be"),
        (["updates"], "'updates' is no setting: write key=value"),
        (["tlm=0.5"], "tlm is for objective mlm, and needs parallel text"),
        (["parallel.en-fr=everyday"], "parallel text is for tlm, which is 0"),
        (["preset=extra-anchors"], "name a dictionary"),
        (["preset=monolingual", "text.fr=a"], "monolingual, and there is text of"),
        (["scale_residual=true"], "a part of norm: normformer"),
        (["rate=[1"], "the value is not YAML"),
        (["select=de"], "select is 'de', which is none of the languages"),
        (["separate_layers=1", "objective=span"], "an encoder-decoder has no parts"),
        (["size.width=3", "size=nano"], None),
    ],
)
def test_settings_that_cannot_be(texts, changes, message):
    given = [f"text.en={texts['en'][0]}", *changes]
    if message is None:
        read_config("default", ["size=nano"])
        return
    with pytest.raises(InterlinguaError, match=message):
        read_config("default", given)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"length": 1}, "length is 1: at least 2"),
        ({"heads": 3}, "a width of 32 cannot be cut into 3 heads"),
        ({"dropout": -5}, "dropout is -5"),
        ({"warmup": 50}, "warmup is 50, and there are 12 updates"),
        ({"stock": True, "norm": "normformer"}, "no stock architecture computes this"),
        ({"batch": 100}, "a batch of 100 tokens cannot be cut into sequences of 32"),
        ({"separate_layers": 5}, "separate_layers is 5, and there are 2 layers"),
        ({"held_out": 300}, "en has 440 lines, and 300 are held out"),
        ({"text": {}}, "there is no text"),
        ({"text": {"en": ["nowhere.txt"]}}, "nowhere"),
        ({"init": "no/such/model"}, "cannot be loaded"),
    ],
)
def test_runs_that_cannot_start(texts, tmp_path, how, message):
    with pytest.raises(InterlinguaError, match=message):
        pretrain(settings(texts, **how), tmp_path / "run", device="cpu")


def test_the_command_line(here, texts, tmp_path):
    listed = here("pretrain")
    assert all(name in listed.stdout for name in presets())
    shown = here("pretrain", "sep-emb", "--set", f"text.en={texts['en'][0]}", "--dry-run")
    assert "separate_embeddings: true" in shown.stdout
    assert "random_words: language" in shown.stdout
    given = [part for lang, files in texts.items() for part in ("--set", f"text.{lang}={files[0]}")]
    given += ["--set", "size=nano", "--set", "updates=4", "--set", "held_out=60", "--device", "cpu"]
    assert "say where to write with --out" in here("pretrain", "default", *given).stderr
    done = here("pretrain", "default", *given, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"4 updates; the model is {tmp_path / 'run' / 'model'}"
    assert "held out: en " in done.stderr
    again = json.loads(here("pretrain", "default", *given, "--out", tmp_path / "run", "--json").stdout)
    assert again["updates"] == 4
    config = tmp_path / "own.yaml"
    config.write_text("preset: default\nsize: nano\nupdates: [\n")
    assert "own.yaml:" in here("pretrain", config, "--out", tmp_path / "x").stderr
    config.write_bytes("preset: défaut".encode("latin-1"))
    assert "it is not UTF-8" in here("pretrain", config, "--out", tmp_path / "x").stderr
    assert "is a file" in here("pretrain", "default", *given, "--out", config).stderr
    assert (
        "neither cpu nor cuda" in here("pretrain", "default", *given, "--out", tmp_path / "x", "--device", "foo").stderr
    )
    assert here("pretrain", "default", *given, "--out", tmp_path / "run", "--stop-at", "9").stdout.startswith(" ")
    assert "unknown preset, and no file 'defautl': did you mean default" in here("pretrain", "defautl").stderr


@pytest.mark.parametrize("name", ["bert", "roberta", "xlm-roberta"])
def test_a_stock_head_is_asked_about_masked_places_only(name):
    """Most of the work is in the head; what comes out is what the whole network gives there."""
    torch.manual_seed(0)
    made = transformers.AutoConfig.for_model(name, **tiny.SMALL, vocab_size=50)
    network = transformers.AutoModelForMaskedLM.from_config(made).eval()
    ids, places = torch.randint(5, 50, (3, 10)), torch.tensor([1, 5, 22])
    targets = torch.tensor([7, 8, 9])
    with torch.no_grad():
        found = summed_loss(network, ids, places, targets, None, None)
        whole = network(input_ids=ids).logits.flatten(0, 1)[places]
    assert float(found) == pytest.approx(
        float(torch.nn.functional.cross_entropy(whole, targets, reduction="sum")), rel=1e-6
    )


def test_a_joint_vocabulary_reads_a_language_that_is_new(texts, tmp_path):
    first = pretrain(settings(texts), tmp_path / "first", device="cpu")
    german = tmp_path / "de.txt"
    german.write_text("\n".join(il.parallel("everyday", "de")["de"]) + "\n", encoding="utf-8")
    second = pretrain(settings({"de": [str(german)]}, init=str(first.model)), tmp_path / "second", device="cpu")
    assert [score.language for score in second.scores] == ["de"]
    apart = pretrain(settings(texts, tokens={"kind": "separate"}), tmp_path / "apart", device="cpu")
    with pytest.raises(InterlinguaError, match="there is text of de"):
        pretrain(
            settings({"de": [str(german)]}, init=str(apart.model), tokens={"kind": "separate"}),
            tmp_path / "no",
            device="cpu",
        )
