"""Hidden states of every architecture family, pooled in batches, equal a plain loop over single sentences."""

import numpy as np
import pytest
import tiny
import torch

import interlingua as il
from interlingua.errors import DataNotFoundError, InputError
from interlingua.extract import extract
from interlingua.extract.forward import NonFiniteError
from interlingua.extract.plan import batches
from interlingua.extract.pool import pool_layers
from interlingua.models import load_model
from interlingua.models.load import wrap

STACKS = [(name, stack) for name, (_, stacks, _) in tiny.FAMILIES.items() for stack in stacks]
CORPUS = il.parallel("everyday", "en", "ar", "zh")[:12]


@pytest.fixture(scope="module")
def tokenizer():
    return tiny.tokenizer()


@pytest.fixture(scope="module")
def bert(tokenizer):
    return wrap(tiny.network("bert"), tokenizer, name="tiny-bert")


# What each decoder's training puts before a sentence; mBART would put a language code, which this tokenizer has not.
START = {"mt5": [0], "m2m_100": [2], "marian": [0], "mbart": [], "interlingua-seq2seq": [2]}


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
    blocks = 2 if stack == "decoder" and len(stacks) == 2 and name != "ours" else 3
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


@pytest.mark.parametrize("pooling", ["mean", "mean_all", "first", "last", "max", "weighted", "mixed"])
def test_poolings_equal_naive_ones(bert, tokenizer, pooling):
    def naive(h, last):
        content = h[1:-1]
        weights = np.arange(1, len(content) + 1)[:, None]
        return {
            "mean": content.mean(0), "mean_all": h.mean(0), "first": h[0], "last": content[-1], "max": content.max(0),
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

    def test_sentences_of_spaces_are_empty(self, bert):
        with pytest.raises(InputError, match=r"en: 1 sentence \(row 2\) is without any token"):
            extract(bert, il.ParallelCorpus.from_texts({"en": ["a", "   "]}))

    def test_everything_is_counted_in_every_language_before_much_is_computed(self, bert):
        long, n = "word " * 600, 5000
        texts = {"en": ["a"] * n, "fr": ["a"] * (n - 3) + [long] * 3, "de": ["a", ""] + ["a"] * (n - 3) + [long]}
        done = []
        with pytest.raises(
            InputError,
            match=r"fr: 3 sentences \(row 4998, 4999, 5000\) are longer .*; de: 1 sentence \(row 2\) is without any .*; de: 1 sent",
        ):
            extract(bert, il.ParallelCorpus.from_texts(texts), budget=64, progress=lambda d, _t: done.append(d))
        assert done[-1] < 3 * n / 2

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
            ({"join": "first"}, "join is for level word or type or table, and this is level sentence"),
            ({"min_count": 2}, "min_count is for level"),
            ({"level": "word", "single": True}, "single is for level table, and this is level word"),
            ({"level": "word", "pooling": "max"}, "pooling is for level sentence"),
            ({"stack": "decoder"}, r"unknown option of extract 'stack'.*options of load_model"),
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
        for wrong in (5, [1, 2], ("en", 1, 2), ("en", slice(1, 3))):
            with pytest.raises(InputError, match="ask for a language"):
                reps[wrong]

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
