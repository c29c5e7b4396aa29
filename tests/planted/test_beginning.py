"""What networks begin as: places that know their distance, and heads that look at neighbours."""

import pytest
import torch
import transformers

from interlingua.errors import InputError, UnknownNameError
from interlingua.models.architecture import (
    LabDecoderConfig,
    LabEncoderConfig,
    LabForCausalLM,
    LabForMaskedLM,
    LabForSeq2SeqLM,
    LabSeq2SeqConfig,
)
from interlingua.models.beginning import NEIGHBOURS, RANDOM, WAVES, places
from interlingua.models.blocks import Stack

PLACES, HEADS = 48, 4
SHAPE = {
    "vocab_size": 300, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": HEADS,
    "max_position_embeddings": PLACES,
}  # fmt: skip


def network(make=LabForMaskedLM, shape=LabEncoderConfig, **settings):
    torch.manual_seed(0)
    return make(shape(**SHAPE, **settings))


def attention(block, hidden, *, causal=False):
    """How much each head of a block looks at each place, (heads, places, places)."""
    states = hidden if block.post else block.attention_norm(hidden)
    q, k, _ = block.attention.query_key_value(states).chunk(3, dim=-1)
    q, k = (each[0].view(len(each[0]), HEADS, -1).transpose(0, 1) for each in (q, k))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -torch.inf)
    return scores.softmax(-1)


def looked_at(net, *, language=None, causal=False):
    """The share of a head's attention that is at each distance, the mean over places away from the ends."""
    stack = next(module for module in net.modules() if isinstance(module, Stack))
    ids = torch.randint(5, 300, (1, PLACES))
    with torch.no_grad():
        table = stack.embeddings.of(language)
        hidden = table(table.words(ids), torch.arange(PLACES)[None])
        found = attention(stack.layers[0].voices.of(language), hidden, causal=causal)
    inner = range(6, PLACES - 6)
    return {
        offset: torch.stack([found[:, i, i + offset] for i in inner]).mean(0) for offset in range(-4, 5)
    }  # fmt: skip


def test_waves_know_how_far_apart_places_are():
    table = places(64, 32, WAVES, 0.02).double()
    products = table @ table.T
    for distance in (0, 1, 7):
        along = products.diagonal(distance)
        assert along.max() - along.min() < 1e-6
    assert products[0, 0] > products[0, 1] > products[0, 3]
    assert float(table.pow(2).mean().sqrt()) == pytest.approx(0.02)
    assert places(4, 5, WAVES, 0.02).shape == (4, 5)


@pytest.mark.parametrize("norm", ["post", "pre", "normformer"])
def test_heads_of_the_first_block_look_at_neighbours(norm):
    found = looked_at(network(positions=NEIGHBOURS, norm=norm))
    for head, offset in enumerate((-1, 1, -2, 2)):
        at_it = float(found[offset][head])
        others = [float(each[head]) for distance, each in found.items() if distance != offset]
        assert at_it > 0.25
        assert at_it > 1.5 * max(others)
    # and where places are drawn, or waves alone, heads look anywhere
    for kind in (RANDOM, WAVES):
        plain = looked_at(network(positions=kind))
        assert max(float(each.max()) for each in plain.values()) < 2 / PLACES


def test_what_writes_looks_back():
    found = looked_at(network(LabForCausalLM, LabDecoderConfig, positions=NEIGHBOURS, norm="pre"), causal=True)
    for head in range(HEADS):
        assert float(found[-(head + 1)][head]) > 0.25
    with pytest.raises(InputError, match="take norm: pre"):
        network(LabForCausalLM, LabDecoderConfig, positions=NEIGHBOURS, norm="post")
    both = network(LabForSeq2SeqLM, LabSeq2SeqConfig, positions=NEIGHBOURS, norm="pre")
    looks = [m.looks for m in both.modules() if getattr(m, "many", 0)]
    assert sorted(looks) == ["back", "both"]


def test_parts_of_each_language_begin_alike():
    net = network(positions=NEIGHBOURS, languages=["en", "fr"], separate_embeddings=True, separate_layers=1)
    for language in ("en", "fr"):
        found = looked_at(net, language=language)
        assert float(found[-1][0]) > 0.25


def test_all_else_is_drawn_as_ever():
    drawn, begun = (dict(network(positions=kind).named_parameters()) for kind in (RANDOM, NEIGHBOURS))
    other = [name for name in drawn if not torch.equal(drawn[name], begun[name])]
    assert sorted(name.split(".")[-2] for name in other) == ["positions", "query_key_value"]
    first = next(name for name in other if "query_key_value" in name)
    assert torch.equal(drawn[first][128:], begun[first][128:])  # values
    assert begun[first].requires_grad


@pytest.mark.parametrize("kind", [WAVES, NEIGHBOURS])
def test_a_saved_network_is_itself_and_its_twin_begins_as_it_did(tmp_path, kind):
    net = network(positions=kind)
    begun = {name: p.clone() for name, p in net.state_dict().items()}
    with torch.no_grad():
        for p in net.parameters():
            p += 0.01
    net.save_pretrained(tmp_path)
    again = transformers.AutoModelForMaskedLM.from_pretrained(tmp_path)
    for name, p in net.state_dict().items():
        torch.testing.assert_close(again.state_dict()[name], p)
    torch.manual_seed(0)
    twin = transformers.AutoModelForMaskedLM.from_config(again.config).state_dict()
    for name, p in begun.items():
        torch.testing.assert_close(twin[name], p)


def test_an_unknown_beginning():
    with pytest.raises(UnknownNameError, match="neighbours"):
        LabEncoderConfig(**SHAPE, positions="neighbors")
