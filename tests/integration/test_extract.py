"""Hidden states of every architecture family, pooled in batches, equal a plain loop over single sentences."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch

import interlingua as il
from interlingua.errors import DataNotFoundError, InputError
from interlingua.extract import extract, open_store
from interlingua.extract.forward import NonFiniteError
from interlingua.extract.plan import batches
from interlingua.extract.pool import pool_layers
from interlingua.models import PerLanguage, load_model
from interlingua.models.load import wrap
from interlingua.types import Language

STACKS = [(name, stack) for name, (_, stacks, _) in tiny.FAMILIES.items() for stack in stacks]
CORPUS = il.parallel("everyday", "en", "ar", "zh")[:12]


@pytest.fixture(scope="module")
def tokenizer():
    return tiny.tokenizer()


@pytest.fixture(scope="module")
def bert(tokenizer):
    return wrap(tiny.network("bert"), tokenizer, name="tiny-bert")


# What each decoder's training puts before a sentence; mBART would put a language code, which this tokenizer has not.
START = {"mt5": [0], "m2m_100": [2], "marian": [0], "mbart": []}


def plain(network, tokenizer, sentence, stack, source=None):
    """Hidden states of one sentence alone, as transformers gives them; the start token's left out."""
    inputs = tokenizer(source or sentence, return_tensors="pt")
    inputs.pop("token_type_ids", None)
    start = START.get(network.config.model_type, []) if stack == "decoder" else []
    if network.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = torch.tensor([start + tokenizer(sentence).input_ids])
    with torch.no_grad():
        output = network(**inputs, output_hidden_states=True)
    name = f"{stack}_hidden_states" if network.config.is_encoder_decoder else "hidden_states"
    return [h[0, len(start) :].numpy() for h in output[name]]


@pytest.mark.parametrize(("name", "stack"), STACKS, ids=lambda x: x)
@pytest.mark.parametrize("side", ["left", "right"])
def test_pooled_vectors_equal_a_loop_over_single_sentences(tokenizer, name, stack, side):
    network = tiny.network(name)
    tokenizer.padding_side = side
    model = wrap(network, tokenizer, name=name, stack=stack)
    whole = extract(model, CORPUS, budget=200)
    assert whole.layers == len(model.layers)
    for lang in ("en", "ar"):
        for row, sentence in enumerate(CORPUS[lang]):
            states = plain(network, tokenizer, sentence, stack)
            for layer, h in enumerate(states):
                np.testing.assert_allclose(whole[lang, layer][row], h[1:-1].mean(0), atol=1e-5)


@pytest.mark.parametrize(("name", "stack"), STACKS, ids=lambda x: x)
def test_the_layer_map_says_what_the_last_layer_is(tokenizer, name, stack):
    model = wrap(tiny.network(name), tokenizer, name=name, stack=stack)
    _, stacks, norm = tiny.FAMILIES[name]
    blocks = 2 if stack == "decoder" and len(stacks) == 2 else 3
    assert (model.layers.blocks, model.layers.width, model.layers.final_norm) == (blocks, 16, norm)
    assert model.stack == stack
    assert model.layers.describe(0) == "embeddings"
    assert model.layers.describe(blocks).endswith("after the final norm") == norm
    with pytest.raises(InputError, match="there is no layer"):
        model.layers.describe(blocks + 1)


@pytest.mark.parametrize("budget", [1, 37, 100_000])
def test_batches_do_not_matter(bert, budget):
    reference = extract(bert, CORPUS, budget=500)
    other = extract(bert, CORPUS, budget=budget, block=5)
    for lang in CORPUS.langs:
        np.testing.assert_allclose(other[lang], reference[lang], atol=1e-5)


def test_batches_keep_to_their_budget():
    lengths = [3, 50, 7, 7, 1, 20]
    plan = batches(lengths, 40)
    assert sorted(int(row) for batch in plan for row in batch.rows) == list(range(6))
    assert all(batch.length * len(batch.rows) <= 40 or len(batch.rows) == 1 for batch in plan)


@pytest.mark.parametrize("pooling", ["mean", "first", "last", "max", "weighted", "mixed"])
def test_poolings_equal_naive_ones(bert, tokenizer, pooling):
    def naive(h, last):
        content = h[1:-1]
        weights = np.arange(1, len(content) + 1)[:, None]
        return {
            "mean": content.mean(0), "first": h[0], "last": content[-1], "max": content.max(0),
            "weighted": (content * weights).sum(0) / weights.sum(), "mixed": h[0] if last else content.mean(0),
        }[pooling]  # fmt: skip

    reps = extract(bert, CORPUS, pooling=pooling)
    for row, sentence in enumerate(CORPUS["en"]):
        states = plain(bert.network, tokenizer, sentence, "encoder")
        for layer, h in enumerate(states):
            np.testing.assert_allclose(reps["en", layer][row], naive(h, layer == 3), atol=1e-5)


def test_pooling_in_half_precision_is_done_in_float32():
    h = torch.full((1, 4096, 2), 1.0, dtype=torch.float16)
    mask = torch.ones((1, 4096), dtype=torch.long)
    pooled = pool_layers("mean", [h], mask, mask)
    assert pooled.dtype == torch.float32
    assert pooled[0, 0, 0] == 1.0


class TestBadInput:
    def test_sentences_without_tokens_are_counted(self, bert):
        corpus = il.ParallelCorpus.from_texts({"en": ["a", "", "b", ""], "fr": ["a", "b", "c", "d"]})
        with pytest.raises(InputError, match=r"en: 2 sentences \(row 2, 4\) are without any token"):
            extract(bert, corpus)

    def test_sentences_that_are_too_long_are_counted_or_cut(self, tokenizer):
        network = tiny.network("bert")
        network.config.max_position_embeddings = 20
        model = wrap(network, tokenizer, name="short")
        assert model.limit == 20
        corpus = il.ParallelCorpus.from_texts({"en": ["word", "word " * 60]})
        with pytest.raises(
            InputError, match=r"1 sentence \(row 2\) is longer than the 20 tokens short takes: truncate=True"
        ):
            extract(model, corpus)
        assert np.isfinite(extract(model, corpus, truncate=True)["en"]).all()

    def test_states_that_are_no_numbers_are_named(self, tokenizer):
        network = tiny.network("bert")
        model = wrap(network, tokenizer, name="broken")
        network.encoder.layer[1].output.dense.bias.data[0] = float("nan")
        with pytest.raises(
            NonFiniteError, match=r"broken, output of block 2 of 3: not a finite number for en sentence home-01"
        ):
            extract(model, CORPUS)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"pooling": "meen"}, "unknown pooling 'meen': did you mean mean"),
            ({"autocast": "int8"}, "neither bfloat16 nor float16"),
            ({"dtype": "float64"}, "float32 or float16"),
            ({"block": -1}, "at least 1"),
            ({"level": "letter"}, "unknown level 'letter'"),
            ({"level": "word", "join": "sum"}, "unknown way to join"),
            ({"level": "word", "min_count": 3, "max_count": 2}, "no word occurs at least 3 and at most 2"),
        ],
    )
    def test_options_that_make_no_sense(self, bert, options, message):
        with pytest.raises(InputError, match=message):
            extract(bert, CORPUS, **options)

    def test_layers_and_languages_that_are_not_there(self, bert):
        reps = extract(bert, CORPUS)
        with pytest.raises(InputError, match="there is no layer 4: layers run from 0"):
            reps["en", 4]
        with pytest.raises(InputError, match="unknown language 'de'"):
            reps["de", 0]

    def test_models_that_cannot_be_loaded(self, tmp_path):
        with pytest.raises(DataNotFoundError, match="cannot be loaded"):
            load_model(tmp_path)
        with pytest.raises(InputError, match="dtype 'int8'"):
            load_model(tmp_path, dtype="int8")

    def test_a_stack_that_is_not_there(self, tokenizer):
        with pytest.raises(InputError, match="is a single encoder: it has no decoder"):
            wrap(tiny.network("bert"), tokenizer, name="bert", stack="decoder")


def test_slices_of_representations(bert):
    reps = extract(bert, CORPUS)
    assert len(reps) == 12
    assert reps["en", 2].shape == (12, 16)
    assert reps["en"].shape == (4, 12, 16)
    assert reps.width("ar") == 16
    part = reps[2:8][1:3]
    assert part.ids == reps.ids[3:5]
    np.testing.assert_array_equal(part["zh", -1], reps["zh", 3][3:5])


def test_folders_random_baselines_and_two_models(tokenizer, tmp_path):
    tiny.network("bert").half().save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    model = load_model(tmp_path / "model", device="cpu")
    assert next(model.network.parameters()).dtype == torch.float32
    assert model.name == "model"
    again, fresh, other = (
        load_model(tmp_path / "model", device="cpu", random=r, seed=s) for r, s in ((False, 0), (True, 1), (True, 2))
    )
    assert model.weights == again.weights
    assert len({model.weights, fresh.weights, other.weights}) == 3
    assert fresh.signature()["random"] == "all weights drawn anew, seed 1"
    pair = PerLanguage({Language.parse("en"): model}, default=fresh)
    both = extract(pair, CORPUS.languages("en", "ar"))
    np.testing.assert_array_equal(both["en", 3], extract(model, CORPUS)["en", 3])
    np.testing.assert_array_equal(both["ar", 3], extract(fresh, CORPUS)["ar", 3])
    assert both.signature["one_network"] is False
    with pytest.raises(InputError, match="no model was given for zh-Hans"):
        extract(PerLanguage({Language.parse("en"): model}), CORPUS.languages("zh"))


class Evil:
    """An object that runs a command when it is unpickled in full."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return Path.touch, (self.trace,)


def test_old_weight_files_are_read_and_never_unpickled_in_full(tokenizer, tmp_path):
    network = tiny.network("bert")
    network.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    weights = load_model(tmp_path / "model", device="cpu").weights
    (tmp_path / "model" / "model.safetensors").unlink()
    torch.save(network.state_dict(), tmp_path / "model" / "pytorch_model.bin")
    assert load_model(tmp_path / "model", device="cpu").weights == weights
    torch.save({"x": Evil(tmp_path / "ran")}, tmp_path / "model" / "pytorch_model.bin")
    with pytest.raises(InputError, match="holds a pickle that is more than weights: pass trust_pickle=True only"):
        load_model(tmp_path / "model", device="cpu")
    assert not (tmp_path / "ran").exists()


# -- the store --------------------------------------------------------------------------------------------------------


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
    from interlingua.extract import forward

    computed = []
    real = forward.compute
    monkeypatch.setattr(forward, "compute", lambda work, *rest: computed.append(work.size) or real(work, *rest))
    extract(bert, CORPUS, out=tmp_path / "r", block=5)
    assert computed == [5]
    after = tree(tmp_path / "r")
    assert {k: v for k, v in after.items() if k != "commits.jsonl"} == {
        k: v for k, v in before.items() if k != "commits.jsonl"
    }


def test_another_model_or_corpus_is_refused_with_the_difference(bert, tokenizer, tmp_path):
    extract(bert, CORPUS, out=tmp_path / "r")
    with pytest.raises(InputError, match=r"holds other representations \(pooling: \"mean\" there, \"max\" asked for\)"):
        extract(bert, CORPUS, out=tmp_path / "r", pooling="max")
    with pytest.raises(InputError, match=r"holds other representations \(corpus.ar: .*sentences.ar: 12 there, 6 asked"):
        extract(bert, CORPUS[:6], out=tmp_path / "r")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.doc").write_text("precious")
    with pytest.raises(InputError, match="is no store of representations: choose another place"):
        extract(bert, CORPUS, out=tmp_path / "other")
    with pytest.raises(DataNotFoundError, match="is no store"):
        open_store(tmp_path / "nowhere")


def test_rows_of_zeros_survive(bert, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "interlingua.extract.forward.compute", lambda work, *_: torch.zeros((4, work.size, 16))
    )
    extract(bert, CORPUS, out=tmp_path / "r", block=5)
    assert (open_store(tmp_path / "r")["en"] == 0).all()


def test_one_writer_at_a_time(bert, tmp_path):
    from interlingua.extract.store import writing

    with writing(tmp_path / "r"), pytest.raises(InputError, match="is being written by another process"):
        extract(bert, CORPUS, out=tmp_path / "r")


def test_a_full_disk_is_said_and_the_run_goes_on_after(bert, tmp_path, monkeypatch):
    import errno

    from interlingua.extract.store import Store

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


SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
import tiny, torch
import interlingua as il
from interlingua.extract import extract
from interlingua.models.load import wrap
torch.set_num_threads(1)
model = wrap(tiny.network("bert"), tiny.tokenizer(), name="tiny-bert")
print("ready", flush=True)
extract(model, il.parallel("everyday", "en", "ar", "zh"), out=sys.argv[1], block=8, budget=512)
"""


def test_a_run_that_is_killed_goes_on_to_the_same_bytes(tmp_path):
    """kill -9 at random moments, again and again, then once to the end: the store equals an unbroken one."""
    script = tmp_path / "run.py"
    script.write_text(SCRIPT.format(folder=str(Path(tiny.__file__).parent)))

    def start(place):
        process = subprocess.Popen([sys.executable, script, str(place)], stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "ready\n"
        return process

    def finish(place):
        process = start(place)
        process.communicate(timeout=120)
        return process.returncode

    assert finish(tmp_path / "whole") == 0
    rng = np.random.default_rng(11)
    killed = 0
    for _ in range(5):
        process = start(tmp_path / "broken")
        time.sleep(float(rng.uniform(0.02, 0.35)))
        process.send_signal(signal.SIGKILL)
        process.stdout.close()
        killed += process.wait() == -signal.SIGKILL
    assert killed >= 3
    assert finish(tmp_path / "broken") == 0
    assert tree(tmp_path / "broken") == tree(tmp_path / "whole")
