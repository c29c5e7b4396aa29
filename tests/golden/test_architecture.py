"""Our transformer equals the stock ones with equal weights, and is saved and loaded by `transformers` as they are."""

import pytest
import torch
import transformers
from torch.nn import functional

from interlingua.errors import InterlinguaError
from interlingua.languages import Language
from interlingua.models import architecture as arch
from interlingua.models import load_model
from interlingua.models.attention import hasten
from interlingua.models.blocks import NORMS
from interlingua.models.export import to_stock
from interlingua.models.load import wrap

SHAPE = {"vocab_size": 60, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4}
FORMS = {
    "encoder": (arch.LabEncoderConfig, arch.LabForMaskedLM, transformers.AutoModelForMaskedLM),
    "decoder": (arch.LabDecoderConfig, arch.LabForCausalLM, transformers.AutoModelForCausalLM),
    "seq2seq": (arch.LabSeq2SeqConfig, arch.LabForSeq2SeqLM, transformers.AutoModelForSeq2SeqLM),
}


def network(form="encoder", seed=0, **how):
    config, make, _ = FORMS[form]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made = make(config(**{**SHAPE, "max_position_embeddings": 20, **how})).eval()
        # norms and biases too: parity of ones and zeros would show little
        for parameter in made.parameters():
            parameter.data += 0.1 * torch.randn_like(parameter)
    return made


def batch(form, *, rows=3, length=9):
    ids = torch.arange(rows * length).view(rows, length) * 7 % 50 + 5
    mask = torch.ones_like(ids)
    mask[1, 6:] = 0
    ids[1, 6:] = 1
    found = {"input_ids": ids, "attention_mask": mask}
    return {**found, "decoder_input_ids": ids.flip(0)[:, :5]} if form == "seq2seq" else found


@pytest.mark.parametrize(
    ("form", "norm", "stock"),
    [
        ("encoder", "post", "xlm-roberta"),
        ("encoder", "pre", "roberta-prelayernorm"),
        ("decoder", "pre", "gpt2"),
        ("seq2seq", "post", "bart"),
    ],
)
def test_equal_weights_give_what_the_stock_architecture_gives(form, norm, stock, tmp_path):
    ours = network(form, norm=norm)
    twin = to_stock(ours)
    assert twin.config.model_type == stock
    seen = batch(form)
    with torch.no_grad():
        mine, theirs = ours(**seen).logits, twin(**seen).logits
        real = seen["attention_mask"].bool() if form != "seq2seq" else torch.ones(3, 5, dtype=torch.bool)
        assert (mine - theirs)[real].abs().max() < 1e-5
        assert mine[real].abs().max() > 0.5
        # and through a folder that knows nothing of us
        twin.save_pretrained(tmp_path)
        again = FORMS[form][2].from_pretrained(tmp_path).eval()
        assert type(again) is type(twin)
        assert torch.equal(again(**seen).logits, theirs)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("form", FORMS)
def test_saved_and_loaded_by_the_auto_classes(form, norm, tmp_path):
    ours = network(form, norm=norm, scale_residual=True)
    ours.save_pretrained(tmp_path)
    again = FORMS[form][2].from_pretrained(tmp_path).eval()
    seen = batch(form)
    with torch.no_grad():
        assert torch.equal(again(**seen).logits, ours(**seen).logits)
        states = transformers.AutoModel.from_pretrained(tmp_path).eval()(**seen, output_hidden_states=True)
    held = states.decoder_hidden_states if form == "seq2seq" else states.hidden_states
    assert len(held) == 4
    assert torch.equal(held[-1], states.last_hidden_state)


def test_a_normformer_is_what_it_says():
    """x + LN(out(s · heads)), then x + down(LN(gelu(up(LN x)))), worked by hand from its parts."""
    ours = network("encoder", norm="normformer", scale_residual=True)
    ids = batch("encoder")["input_ids"]
    states = ours.body(ids, output_hidden_states=True).hidden_states
    block = ours.body.stack.layers[0].voices["shared"]
    x = states[0]
    h = torch.nn.functional.layer_norm(x, (24,), block.attention_norm.weight, block.attention_norm.bias, 1e-5)
    q, k, v = (block.attention.query_key_value(h)[..., i * 24 : (i + 1) * 24] for i in range(3))
    heads = []
    for i in range(4):
        at = slice(i * 6, (i + 1) * 6)
        weights = (q[..., at] @ k[..., at].transpose(1, 2) / 6**0.5).softmax(-1)
        heads.append(block.attention.head_scale[i] * (weights @ v[..., at]))
    x = x + block.attention_out_norm(block.attention.out(torch.cat(heads, -1)))
    inner = block.inner_norm(torch.nn.functional.gelu(block.up(block.feed_norm(x))))
    x = block.residual_scale * x + block.down(inner)
    assert (x - states[1]).abs().max() < 1e-5


def test_padding_on_either_side_changes_nothing():
    for form in ("encoder", "decoder"):
        ours = network(form, norm="pre")
        ids = batch(form)["input_ids"][:1, :5]
        pad = torch.ones(1, 3, dtype=torch.long)
        with torch.no_grad():
            bare = ours(ids).logits
            right = ours(torch.cat([ids, pad], 1), torch.tensor([[1] * 5 + [0] * 3])).logits[:, :5]
            left = ours(torch.cat([pad, ids], 1), torch.tensor([[0] * 3 + [1] * 5])).logits[:, 3:]
        assert (bare - right).abs().max() < 1e-5
        assert (bare - left).abs().max() < 1e-5


@pytest.mark.parametrize(("embeddings", "layers"), [(True, 0), (False, 2), (True, 2), (True, 3)])
def test_parts_of_their_own_learn_only_from_their_language(embeddings, layers):
    ours = network(languages=["en", "fr"], separate_embeddings=embeddings, separate_layers=layers, norm="pre")
    ids = batch("encoder")["input_ids"]
    ours.scores_at(ids, torch.tensor([0, 3, 8]), language="en").square().sum().backward()
    for name, parameter in ours.named_parameters():
        # absent parts have no gradient, not one of zeros
        assert (parameter.grad is None) == (".fr." in name), name
    own = {name for name, _ in ours.named_parameters() if ".fr." in name}
    assert any("embeddings" in name for name in own) == embeddings
    assert any("head" in name for name in own) == embeddings
    assert {int(name.split("layers.")[1][0]) for name in own if "layers." in name} == set(range(layers))
    assert any("final_norm" in name for name in own) == (layers == 3)
    assert not torch.equal(ours(ids, language="en").logits, ours(ids, language="fr").logits)
    with pytest.raises(InterlinguaError, match="each of en, fr has parts of its own in this model, and no language"):
        ours(ids)
    with pytest.raises(InterlinguaError, match="there is none for 'de'"):
        ours(ids, language="de")
    with pytest.raises(InterlinguaError, match="no stock architecture"):
        to_stock(ours)


def test_a_model_reads_each_language_through_its_own_parts():
    ours = network(languages=["en", "fr"], separate_embeddings=True, separate_layers=1).body
    model = wrap(ours, None, name="own")
    assert (model.stack, len(model.layers)) == ("encoder", 4)
    seen = batch("encoder")
    for lang in ("en", "fr"):
        states = model.of(Language.parse(lang)).hidden_states(seen)
        wanted = ours(**seen, language=lang, output_hidden_states=True).hidden_states
        assert all(torch.equal(a, b) for a, b in zip(states, wanted, strict=True))
    with pytest.raises(InterlinguaError, match="none for de"):
        model.of(Language.parse("de"))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"norm": "layer"}, "unknown normalisation 'layer'"),
        ({"num_attention_heads": 5}, "a width of 24 cannot be cut into 5 heads"),
        ({"separate_layers": 4, "languages": ["en"]}, "separate_layers is 4, and there are 3 blocks"),
        ({"separate_embeddings": True}, "name them"),
    ],
)
def test_shapes_that_cannot_be(how, message):
    with pytest.raises(InterlinguaError, match=message):
        arch.LabEncoderConfig(**{**SHAPE, **how})
    with pytest.raises(InterlinguaError, match="an encoder-decoder has no parts"):
        arch.LabSeq2SeqConfig(**SHAPE, languages=["en"], separate_embeddings=True)
    with pytest.raises(InterlinguaError, match="21 tokens, and the network has 20 positions"):
        network()(torch.zeros(1, 21, dtype=torch.long))
    with pytest.raises(InterlinguaError, match="no stock architecture computes what a normformer-norm"):
        to_stock(network(norm="normformer"))


def test_generation_writes(tmp_path):
    ours = network("decoder", norm="pre")
    ids = batch("decoder")["input_ids"][:1, :4]
    wrote = ours.generate(ids, max_new_tokens=4, do_sample=False)
    twin = to_stock(ours).generate(ids, max_new_tokens=4, do_sample=False)
    assert torch.equal(wrote, twin)
    ours = network("seq2seq")
    for beams in (1, 2):
        wrote = ours.generate(ids, max_new_tokens=4, do_sample=False, num_beams=beams)
        twin = to_stock(ours).generate(ids, max_new_tokens=4, do_sample=False, num_beams=beams)
        assert torch.equal(wrote, twin)


def stock(form):
    """A network of `transformers`; T5 adds numbers to what is attended to, so it is left as it is."""
    if form == "llama":  # fewer keys than queries, and positions that are turned, in float32
        shape = {"vocab_size": 60, "hidden_size": 24, "intermediate_size": 48, "num_hidden_layers": 2,
                 "num_attention_heads": 4, "num_key_value_heads": 2}  # fmt: skip
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            return hastened(transformers.LlamaForCausalLM(transformers.LlamaConfig(**shape)).eval())
    if form != "t5":
        return hastened(to_stock(network(form, norm="pre" if form == "decoder" else "post")))
    shape = {"vocab_size": 60, "d_model": 24, "d_kv": 6, "d_ff": 48, "num_layers": 2, "num_heads": 4}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return hastened(transformers.T5ForConditionalGeneration(transformers.T5Config(**shape)).eval())


def hastened(made):
    hasten(made)
    return made


def gradient(made, seen, *, half):
    made.zero_grad()
    with torch.autocast("cpu", torch.bfloat16, enabled=half):
        made(**seen).logits.float().pow(2).mean().backward()
    return torch.cat([p.grad.float().flatten() for p in made.parameters() if p.grad is not None])


@pytest.fixture
def attended(monkeypatch):
    """The numbers that attention was given, call by call."""
    exact, asked = functional.scaled_dot_product_attention, []

    def spied(q, k, v, **how):
        half = torch.is_autocast_enabled("cpu") and q.dtype != torch.float64
        asked.append({torch.bfloat16 if half else each.dtype for each in (q, k, v)})
        return exact(q, k, v, **how)

    monkeypatch.setattr(functional, "scaled_dot_product_attention", spied)
    return asked


@pytest.mark.parametrize(
    ("make", "form"),
    [*((network, form) for form in FORMS), *((stock, form) for form in FORMS), (stock, "llama")],
    ids=[*(f"{whose} {form}" for whose in ("our", "stock") for form in FORMS), "llama"],
)
def test_on_a_cpu_half_precision_trains_with_attention_in_float32(make, form, attended):
    made, seen = make(form), batch(form)
    right = gradient(made, seen, half=False)
    attended.clear()
    found = gradient(made, seen, half=True)
    assert attended
    assert all(types == {torch.float32} for types in attended)
    assert functional.cosine_similarity(right, found, dim=0) > 0.995
    # where nothing is learnt, it is as it was
    attended.clear()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        made(**seen)
    assert attended
    assert all(types == {torch.bfloat16} for types in attended)


@pytest.mark.parametrize("form", FORMS)
def test_weights_in_half_precision_keep_their_kind(form, attended):
    made = network(form).bfloat16()
    right = gradient(network(form), batch(form), half=False)
    attended.clear()
    found = gradient(made, batch(form), half=False)
    assert all(types == {torch.float32} for types in attended)
    assert functional.cosine_similarity(right, found, dim=0) > 0.99


@pytest.mark.parametrize("made_of", [lambda ours: ours, lambda ours: hastened(to_stock(ours))], ids=["our", "stock"])
def test_other_precisions_and_dropout_are_left_as_they_are(made_of, attended):
    gradient(made_of(network()).double(), batch("encoder"), half=False)
    assert attended
    assert all(types == {torch.float64} for types in attended)
    attended.clear()
    gradient(made_of(network(dropout=0.1)).train(), batch("encoder"), half=True)
    assert attended
    assert all(types == {torch.bfloat16} for types in attended)


def test_attention_with_a_bias_is_left_to_torch():
    made, seen = stock("t5"), batch("seq2seq")
    right, found = (gradient(made, seen, half=half) for half in (False, True))
    assert functional.cosine_similarity(right, found, dim=0) > 0.99


def test_it_is_compiled_without_a_break():
    ours = network(norm="post")
    ids, places = batch("encoder")["input_ids"], torch.tensor([0, 4, 7])
    run = torch.compile(ours.scores_at, fullgraph=True, backend="eager")
    assert torch.allclose(run(ids, places), ours.scores_at(ids, places), atol=1e-6)


def test_load_model_knows_it(tmp_path):
    import tiny

    ours = network("encoder", vocab_size=len(tiny.tokenizer()))
    ours.save_pretrained(tmp_path)
    tiny.tokenizer().save_pretrained(tmp_path)
    model = load_model(tmp_path)
    assert (model.stack, len(model.layers), model.layers.final_norm) == ("encoder", 4, False)
    assert model.limit == 20
