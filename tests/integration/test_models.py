"""Loading: folders, random baselines, adapters, languages' codes, decoders that read two sentences; nothing unsafe is run."""

from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
import transformers as hf

import interlingua as il
from interlingua.errors import DataNotFoundError, InputError
from interlingua.extract import cost, extract
from interlingua.models import PerLanguage, load_model, random_others
from interlingua.models.codes import code_of
from interlingua.models.load import blueprint, wrap
from interlingua.types import Language

CORPUS = il.parallel("everyday", "en", "ar", "zh")[:12]


@pytest.fixture(scope="module")
def tokenizer():
    return tiny.tokenizer()


@pytest.fixture
def folder(tokenizer, tmp_path):
    tiny.network("bert").save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


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
        extract(PerLanguage({Language.parse("en"): model}), CORPUS.languages("en", "zh"))


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
    torch.save({**network.state_dict(), "x": Evil(tmp_path / "ran")}, tmp_path / "model" / "pytorch_model.bin")
    assert load_model(tmp_path / "model", device="cpu", trust_pickle=True).weights == weights
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("damage", ["cut", "shape"])
def test_broken_weights_are_one_error(folder, damage):
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-100])
    else:
        weights = load_file(path)
        weights["encoder.layer.0.output.dense.bias"] = torch.zeros(3)
        save_file(weights, path, metadata={"format": "pt"})
    with pytest.raises(DataNotFoundError, match="cannot be loaded"):
        load_model(folder, device="cpu")


def test_loading_leaves_random_numbers_and_training_alone(folder):
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    random_others(load_model(folder, device="cpu", random=True, seed=7), "en")
    assert torch.equal(torch.rand(3), expected)
    network = tiny.network("bert").train()
    model = wrap(network, tiny.tokenizer(), name="bert")
    np.testing.assert_array_equal(extract(model, CORPUS)["en"], extract(model, CORPUS)["en"])


def test_weights_that_a_checkpoint_lacks_are_not_drawn_at_random_in_silence(folder):
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    partial = {k: v for k, v in weights.items() if not k.startswith(("encoder.layer.2.", "pooler"))}
    save_file(partial, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"lacks 16 weights of a BertModel \(encoder.layer.2..*they would be random"):
        load_model(folder, device="cpu")
    # A pooler is behind the last hidden state: models without one are common, and nothing of it is read.
    save_file(
        {k: v for k, v in weights.items() if not k.startswith("pooler")},
        folder / "model.safetensors",
        metadata={"format": "pt"},
    )
    assert load_model(folder, device="cpu").layers.blocks == 3


def test_weights_that_no_hidden_state_depends_on_do_not_count(tokenizer, tmp_path):
    """A checkpoint without a pooler gets another one every time; its signature stays."""
    hf.AutoModelForMaskedLM.from_config(tiny.network("bert").config).save_pretrained(tmp_path / "mlm")
    tokenizer.save_pretrained(tmp_path / "mlm")
    first, second = (load_model(tmp_path / "mlm", device="cpu") for _ in range(2))
    assert first.signature() == second.signature()
    extract(first, CORPUS, out=tmp_path / "r")
    assert len(extract(second, CORPUS, out=tmp_path / "r")) == 12


def test_folders_that_are_no_models(folder, tmp_path):
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    with pytest.raises(DataNotFoundError, match="it holds no tokenizer"):
        load_model(folder)
    with pytest.raises(DataNotFoundError, match="there is no such folder"):
        load_model("./nowhere")
    with pytest.raises(DataNotFoundError, match="it holds no tokenizer"):
        blueprint(folder)


def test_devices_that_are_not_there(folder):
    with pytest.raises(InputError, match="cannot be put on device 'foo'"):
        load_model(folder, device="foo")


def test_a_tokenizer_of_another_model(tmp_path):
    model = wrap(tiny.network("bert", 100), tiny.tokenizer(), name="small")
    with pytest.raises(InputError, match=r"small has embeddings for 100 tokens, and its tokenizer makes number \d+"):
        extract(model, CORPUS)
    with pytest.raises(InputError, match="they do not belong together"):
        extract(model, CORPUS, level="table")


def test_models_for_languages_that_are_not_there(folder):
    model = load_model(folder, device="cpu")
    with pytest.raises(
        InputError, match="a model is named for de, which is not in the corpus: there are en, ar, zh-Hans"
    ):
        extract(random_others(model, "de"), CORPUS)
    pair = PerLanguage.by_tag({"en": str(folder), "ar": model})
    np.testing.assert_array_equal(extract(pair, CORPUS.languages("en", "ar"))["en"], extract(model, CORPUS)["en"])


def test_a_string_or_a_path_is_loaded(folder):
    by_name = extract(str(folder), CORPUS)
    np.testing.assert_array_equal(by_name["ar"], extract(load_model(folder), CORPUS)["ar"])
    np.testing.assert_array_equal(by_name["ar"], il.extract(folder, CORPUS)["ar"])
    assert callable(il.extract)


def test_only_the_other_languages_are_read_by_a_random_twin(folder):
    model = load_model(folder, device="cpu")
    pair = random_others(model, "en", seed=5)
    reps = extract(pair, CORPUS)
    np.testing.assert_array_equal(reps["en"], extract(model, CORPUS)["en"])
    twin = load_model(folder, device="cpu", random=True, seed=5)
    np.testing.assert_array_equal(reps["zh"], extract(twin, CORPUS)["zh"])
    assert reps.signature["one_network"] is False
    assert reps.signature["model"]["zh-Hans"]["random"] == "all weights drawn anew, seed 5"


def test_adapters_are_merged(folder, tmp_path):
    import peft

    torch.manual_seed(0)
    config = peft.LoraConfig(r=2, target_modules=["query", "value"], init_lora_weights=False)
    adapted = peft.get_peft_model(tiny.network("bert"), config)
    adapted.save_pretrained(tmp_path / "lora")
    model = load_model(folder, device="cpu", adapter=tmp_path / "lora")
    assert model.signature()["adapter"] == "lora"
    plain = extract(load_model(folder, device="cpu"), CORPUS)
    reps = extract(model, CORPUS)
    np.testing.assert_array_equal(reps["en", 0], plain["en", 0])
    assert not np.allclose(reps["en", 3], plain["en", 3], atol=1e-3)
    text = model.tokenizer(CORPUS["en"][0], return_tensors="pt")
    with torch.no_grad():
        states = adapted.base_model.model.eval()(**text, output_hidden_states=True).hidden_states
    np.testing.assert_allclose(reps["en", 3][0], states[3][0, 1:-1].mean(0).numpy(), atol=1e-5)


@pytest.mark.parametrize(("family", "task"), [("bert", hf.AutoModelForMaskedLM), ("llama", hf.AutoModelForCausalLM)])
def test_adapters_that_were_trained_on_a_task(tokenizer, tmp_path, family, task):
    import peft

    tiny.network(family).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    names = {"bert": ["query", "value"], "llama": ["q_proj", "v_proj"]}[family]
    torch.manual_seed(0)
    trained = task.from_pretrained(tmp_path / "model")
    adapted = peft.get_peft_model(trained, peft.LoraConfig(r=2, target_modules=names, init_lora_weights=False))
    adapted.save_pretrained(tmp_path / "lora")
    reps = extract(load_model(tmp_path / "model", device="cpu", adapter=tmp_path / "lora"), CORPUS)
    text = tokenizer(CORPUS["en"][0], return_tensors="pt")
    text.pop("token_type_ids", None)
    with torch.no_grad():
        states = adapted.base_model.model.eval()(**text, output_hidden_states=True).hidden_states
    np.testing.assert_allclose(reps["en", 3][0], states[3][0, 1:-1].mean(0).numpy(), atol=1e-5)


def test_an_adapter_for_another_network(folder, tmp_path):
    import peft

    other = peft.get_peft_model(tiny.network("bert"), peft.LoraConfig(r=2, target_modules=["query"]))
    other.save_pretrained(tmp_path / "lora")
    config = tmp_path / "lora" / "adapter_config.json"
    config.write_text(config.read_text().replace('"query"', '"value"'))
    with pytest.raises(InputError, match="was made for another network: it has nothing for 6 of the places"):
        load_model(folder, device="cpu", adapter=tmp_path / "lora")


def test_the_attention_implementation_is_chosen(folder):
    eager, sdpa = (load_model(folder, device="cpu", attention=name) for name in ("eager", "sdpa"))
    assert eager.network.config._attn_implementation == "eager"
    assert sdpa.network.config._attn_implementation == "sdpa"
    np.testing.assert_allclose(extract(eager, CORPUS)["zh"], extract(sdpa, CORPUS)["zh"], atol=1e-5)
    with pytest.raises(DataNotFoundError, match="cannot be loaded"):
        load_model(folder, device="cpu", attention="psychic")


def test_autocast_computes_in_half_precision_and_pools_in_full(folder):
    model = load_model(folder, device="cpu")
    reps = extract(model, CORPUS, autocast="bfloat16", budget=1)
    for row, sentence in enumerate(CORPUS["en"]):
        inputs = model.tokenizer(sentence, return_tensors="pt")
        inputs.pop("token_type_ids", None)
        with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
            states = model.network(**inputs, output_hidden_states=True).hidden_states
        for layer, h in enumerate(states):
            np.testing.assert_allclose(reps["en", layer][row], h[0, 1:-1].float().mean(0).numpy(), atol=1e-6)
    full = extract(model, CORPUS)
    assert 1e-5 < np.abs(reps["en", 3] - full["en", 3]).max() < 0.1


class TestTwoStacks:
    @pytest.mark.parametrize("name", ["mt5", "m2m_100", "marian", "mbart"])
    def test_the_decoder_is_fed_the_translation(self, tokenizer, name):
        network = tiny.network(name)
        start = {"mt5": [0], "m2m_100": [2], "marian": [0], "mbart": []}[name]
        model = wrap(network, tokenizer, name=name, stack="decoder")
        reps = extract(model, CORPUS, source="en", budget=300)
        same = extract(model, CORPUS, budget=300)
        np.testing.assert_array_equal(reps["en"], same["en"])
        assert not np.allclose(reps["ar", 2], same["ar", 2], atol=1e-3)
        for row in range(len(CORPUS)):
            fed = start + tokenizer(CORPUS["ar"][row]).input_ids
            source = tokenizer(CORPUS["en"][row], return_tensors="pt").input_ids
            with torch.no_grad():
                output = network(input_ids=source, decoder_input_ids=torch.tensor([fed]), output_hidden_states=True)
            for layer, h in enumerate(output.decoder_hidden_states):
                expected = h[0, len(start) + 1 : -1].mean(0).numpy()
                np.testing.assert_allclose(reps["ar", layer][row], expected, atol=1e-5)

    def test_words_of_a_decoder(self, tokenizer):
        network = tiny.network("m2m_100")
        model = wrap(network, tokenizer, name="m2m", stack="decoder")
        reps = extract(model, CORPUS.languages("en", "zh"), level="word", source="en")
        fed = tokenizer(CORPUS["en"][0], return_offsets_mapping=True)
        source = torch.tensor([fed.input_ids])
        with torch.no_grad():
            output = network(
                input_ids=source, decoder_input_ids=torch.tensor([[2, *fed.input_ids]]), output_hidden_states=True
            )
        first = reps.words("en")[0]
        own = [i + 1 for i, (a, b) in enumerate(fed.offset_mapping) if a < len(first) and b > 0]
        expected = output.decoder_hidden_states[2][0, own].mean(0).numpy()
        np.testing.assert_allclose(reps["en", 2][0], expected, atol=1e-5)

    def test_a_source_needs_a_decoder_with_an_encoder(self, tokenizer):
        with pytest.raises(InputError, match="read at its encoder: a source is for the decoder of two stacks"):
            extract(wrap(tiny.network("mt5"), tokenizer, name="mt5"), CORPUS, source="en")
        with pytest.raises(InputError, match="unknown source language in the corpus 'de'"):
            extract(wrap(tiny.network("mt5"), tokenizer, name="mt5", stack="decoder"), CORPUS, source="de")


class TestLanguageCodes:
    def test_every_language_gets_its_code(self):
        tokenizer = hf.MBartTokenizer()
        assert code_of(tokenizer, Language.parse("fra")) == "fr_XX"
        assert code_of(tokenizer, Language.parse("zh")) == "zh_CN"
        assert code_of(hf.NllbTokenizer(), Language.parse("ar")) == "arb_Arab"
        assert code_of(tokenizer, Language.parse("wo")) is None

    @pytest.mark.parametrize("stack", ["encoder", "decoder"])
    def test_sentences_are_marked_with_their_language(self, stack):
        tokenizer = hf.MBartTokenizer()
        network = tiny.network("mbart", len(tokenizer))
        corpus = il.ParallelCorpus.from_texts({tag: ["a b", "c"] for tag in ("en", "fr", "wo")})
        reps = extract(wrap(network, tokenizer, name="mbart", stack=stack), corpus)
        assert reps.signature["language_codes"] == {"en": "en_XX", "fr": "fr_XX", "wo": "en_XX (no code for wo)"}
        np.testing.assert_array_equal(reps["wo"], reps["en"])
        assert not np.allclose(reps["en", 2], reps["fr", 2], atol=1e-4)
        tokenizer.src_lang = tokenizer.tgt_lang = "fr_XX"
        ids = tokenizer("a b").input_ids
        assert tokenizer.convert_ids_to_tokens(ids)[-2:] == ["</s>", "fr_XX"]
        with torch.no_grad():
            output = network(
                input_ids=torch.tensor([ids]),
                decoder_input_ids=torch.tensor([[ids[-1], *ids]]),
                output_hidden_states=True,
            )
        h = output.encoder_hidden_states[2][0, :-2] if stack == "encoder" else output.decoder_hidden_states[2][0, 1:-2]
        np.testing.assert_allclose(reps["fr", 2][0], h.mean(0).numpy(), atol=1e-5)


class TestSignature:
    def test_another_tokenizer_is_another_signature(self, folder, tmp_path):
        model = load_model(folder, device="cpu")
        other = wrap(model.network, tiny.byte_level(), name="model")
        assert model.tokenization != other.tokenization
        before = model.tokenization
        model.tokenizer("a", padding="max_length", max_length=9, truncation=True)
        assert (
            load_model(folder, device="cpu").tokenization
            == wrap(model.network, model.tokenizer, name="x").tokenization
            == before
        )

    def test_another_configuration_is_another_signature(self, tokenizer, tmp_path):
        networks = [tiny.network("bert") for _ in range(2)]
        networks[1].config.num_attention_heads = 4
        one, two = (wrap(network, tokenizer, name="bert") for network in networks)
        assert one.weights == two.weights
        assert one.signature() != two.signature()

    def test_two_stacks_of_one_network_are_two(self, tokenizer):
        network = tiny.network("mt5")
        both = {tag: wrap(network, tokenizer, name="mt5", stack=s) for tag, s in (("en", "encoder"), ("ar", "decoder"))}
        found = extract(PerLanguage.by_tag(both), CORPUS.languages("en", "ar")).signature
        assert found["one_network"] is False
        assert found["model"]["ar"]["stack"] == "decoder"
        twice = {tag: wrap(network, tokenizer, name="mt5") for tag in ("en", "ar")}
        assert extract(PerLanguage.by_tag(twice), CORPUS.languages("en", "ar")).signature["one_network"] is True

    def test_no_path_is_in_it(self, folder):
        assert str(folder.parent) not in str(extract(load_model(folder, device="cpu"), CORPUS).signature)


class TestCost:
    def test_it_equals_what_is_done(self, folder, tmp_path):
        plan = cost(blueprint(folder), CORPUS, budget=300, block=5)
        batches = []
        model = load_model(folder, device="cpu")
        real = type(model).hidden_states
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(model), "hidden_states", lambda m, b: batches.append(b["input_ids"].shape) or real(m, b))
            reps = extract(model, CORPUS, budget=300, block=5)
        found = plan.values()
        assert sum(c.batches for c in found) == len(batches)
        assert sum(c.padded for c in found) == sum(b * t for b, t in batches)
        assert sum(c.bytes for c in found) == sum(reps[lang].nbytes for lang in reps.langs)
        # 3 blocks of 4 x 16 x 16 for attention and 2 x 16 x 32 behind it
        weights = 3 * (4 * 16 * 16 + 2 * 16 * 32)
        assert sum(c.flops for c in found) == sum(2 * weights * b * t + 4 * 3 * 16 * b * t * t for b, t in batches)

    def test_words_types_and_tables(self, folder):
        model = blueprint(folder)
        real = load_model(folder, device="cpu")
        for level in ("word", "type", "table"):
            plan = cost(model, CORPUS, level=level, min_count=2)
            reps = extract(real, CORPUS, level=level, min_count=2)
            for lang in CORPUS.langs:
                assert plan[lang].rows == len(reps.words(lang))
                assert plan[lang].bytes == reps[lang].nbytes

    def test_decoders_count_both_stacks(self, tokenizer, tmp_path):
        tiny.network("mbart").save_pretrained(tmp_path / "two")
        tokenizer.save_pretrained(tmp_path / "two")
        one, two = (cost(blueprint(tmp_path / "two", stack=s), CORPUS) for s in ("encoder", "decoder"))
        assert all(two[lang].flops > one[lang].flops for lang in CORPUS.langs)
        with pytest.raises(DataNotFoundError, match="cannot be loaded"):
            blueprint(tmp_path / "nothing")
