"""A network of `models/architecture.py` as the stock architecture that computes the same, for plain `transformers`.

Post-norm encoders are XLM-R, pre-norm ones RoBERTa with pre-layer-norm; pre-norm decoders are GPT-2; post-norm
encoder-decoders are BART. A Normformer, and a network in which languages have parts of their own, has no such twin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from interlingua.errors import InputError
from interlingua.models.architecture import LabForCausalLM, LabForMaskedLM, LabForSeq2SeqLM
from interlingua.models.blocks import POST, PRE

# Rows of a table of positions that stand before the first: those of XLM-R and BART start behind the padding's.
OFFSET = 2


def to_stock(network: Any) -> Any:
    """The stock network with the same weights; an error that says why where there is none."""
    config = network.config
    form = (type(network), config.norm)
    if config.separate:
        raise InputError("languages have parts of their own in this network: no stock architecture does that")
    if form not in _FORMS:
        raise InputError(f"no stock architecture computes what a {config.norm}-norm {type(network).__name__} does")
    made, names = _FORMS[form](network)
    found = dict(names)
    stated = made.state_dict()
    with torch.no_grad():
        for name, tensor in found.items():
            stated[name].copy_(tensor)
    made.tie_weights()
    return made.to(next(network.parameters()).dtype).eval()


def _common(config: Any) -> dict[str, Any]:
    return {
        "vocab_size": config.vocab_size,
        "pad_token_id": config.pad_token_id,
        "bos_token_id": config.bos_token_id,
        "eos_token_id": config.eos_token_id,
    }


def _roberta(network: LabForMaskedLM, *, post: bool) -> tuple[Any, Iterator[tuple[str, Tensor]]]:
    import transformers

    config = network.config
    kind, make, prefix = (
        (transformers.XLMRobertaConfig, transformers.XLMRobertaForMaskedLM, "roberta")
        if post
        else (
            transformers.RobertaPreLayerNormConfig,
            transformers.RobertaPreLayerNormForMaskedLM,
            "roberta_prelayernorm",
        )
    )
    stock = kind(
        **_common(config),
        hidden_size=config.hidden_size,
        num_hidden_layers=config.num_hidden_layers,
        num_attention_heads=config.num_attention_heads,
        intermediate_size=config.intermediate_size,
        max_position_embeddings=config.max_position_embeddings + OFFSET,
        type_vocab_size=1,
        layer_norm_eps=config.layer_norm_eps,
        hidden_dropout_prob=config.dropout,
        attention_probs_dropout_prob=config.dropout,
    )

    def names() -> Iterator[tuple[str, Tensor]]:
        stack, head = network.body.stack, network.head["shared"]
        embed, at = stack.embeddings["shared"], f"{prefix}.embeddings"
        yield f"{at}.word_embeddings.weight", embed.words.weight
        yield f"{at}.position_embeddings.weight", _behind(embed.positions.weight)
        yield f"{at}.token_type_embeddings.weight", torch.zeros(1, config.hidden_size)
        yield from _both(f"{at}.LayerNorm", embed.norm)
        for i, layer in enumerate(stack.layers):
            block, at = layer.voices["shared"], f"{prefix}.encoder.layer.{i}"
            for which, weight, bias in _parts(block.attention.query_key_value, ("query", "key", "value")):
                yield f"{at}.attention.self.{which}.weight", weight
                yield f"{at}.attention.self.{which}.bias", bias
            yield from _both(f"{at}.attention.output.dense", block.attention.out)
            # after what they belong to, or before
            inner = "attention.output.LayerNorm" if post else "attention.LayerNorm"
            outer = "output.LayerNorm" if post else "intermediate.LayerNorm"
            yield from _both(f"{at}.{inner}", block.attention_norm)
            yield from _both(f"{at}.intermediate.dense", block.up)
            yield from _both(f"{at}.output.dense", block.down)
            yield from _both(f"{at}.{outer}", block.feed_norm)
        if not post:
            yield from _both(f"{prefix}.LayerNorm", stack.final_norm["shared"])
        yield from _both("lm_head.dense", head.dense)
        yield from _both("lm_head.layer_norm", head.norm)
        yield "lm_head.bias", head.bias
        yield "lm_head.decoder.bias", head.bias

    return make(stock), names()


def _gpt2(network: LabForCausalLM) -> tuple[Any, Iterator[tuple[str, Tensor]]]:
    import transformers

    config = network.config
    if config.embedding_norm:
        raise InputError("GPT-2 does not normalise its embeddings: this decoder has embedding_norm")
    stock = transformers.GPT2Config(
        **_common(config),
        n_embd=config.hidden_size,
        n_layer=config.num_hidden_layers,
        n_head=config.num_attention_heads,
        n_inner=config.intermediate_size,
        n_positions=config.max_position_embeddings,
        activation_function="gelu",
        layer_norm_epsilon=config.layer_norm_eps,
        resid_pdrop=config.dropout,
        embd_pdrop=config.dropout,
        attn_pdrop=config.dropout,
    )

    def names() -> Iterator[tuple[str, Tensor]]:
        stack = network.body.stack
        embed = stack.embeddings["shared"]
        yield "transformer.wte.weight", embed.words.weight
        yield "transformer.wpe.weight", embed.positions.weight
        for i, layer in enumerate(stack.layers):
            block, at = layer.voices["shared"], f"transformer.h.{i}"
            yield from _both(f"{at}.ln_1", block.attention_norm)
            yield from _both(f"{at}.ln_2", block.feed_norm)
            # its linear layers are written the other way round
            for name, linear in (
                ("attn.c_attn", block.attention.query_key_value),
                ("attn.c_proj", block.attention.out),
                ("mlp.c_fc", block.up),
                ("mlp.c_proj", block.down),
            ):
                yield f"{at}.{name}.weight", linear.weight.T
                yield f"{at}.{name}.bias", linear.bias
        yield from _both("transformer.ln_f", stack.final_norm["shared"])

    return transformers.GPT2LMHeadModel(stock), names()


def _bart(network: LabForSeq2SeqLM) -> tuple[Any, Iterator[tuple[str, Tensor]]]:
    import transformers

    config = network.config
    if config.layer_norm_eps != 1e-5:
        raise InputError(f"BART normalises with 1e-5, and this network with {config.layer_norm_eps}")
    stock = transformers.BartConfig(
        **_common(config),
        d_model=config.hidden_size,
        encoder_layers=config.num_hidden_layers,
        decoder_layers=config.num_hidden_layers,
        encoder_attention_heads=config.num_attention_heads,
        decoder_attention_heads=config.num_attention_heads,
        encoder_ffn_dim=config.intermediate_size,
        decoder_ffn_dim=config.intermediate_size,
        max_position_embeddings=config.max_position_embeddings,
        activation_function="gelu",
        dropout=config.dropout,
        attention_dropout=config.dropout,
        decoder_start_token_id=config.decoder_start_token_id,
        forced_eos_token_id=None,
    )

    def names() -> Iterator[tuple[str, Tensor]]:
        yield "model.shared.weight", network.body.encoder.get_input_embeddings().weight
        for side, stack in (("encoder", network.body.encoder), ("decoder", network.body.decoder)):
            embed = stack.embeddings["shared"]
            yield f"model.{side}.embed_positions.weight", _behind(embed.positions.weight)
            yield from _both(f"model.{side}.layernorm_embedding", embed.norm)
            for i, layer in enumerate(stack.layers):
                block, at = layer.voices["shared"], f"model.{side}.layers.{i}"
                yield from _bart_attention(f"{at}.self_attn", block.attention.query_key_value, ("q", "k", "v"))
                yield from _both(f"{at}.self_attn.out_proj", block.attention.out)
                yield from _both(f"{at}.self_attn_layer_norm", block.attention_norm)
                if side == "decoder":
                    yield from _both(f"{at}.encoder_attn.q_proj", block.cross.query)
                    yield from _bart_attention(f"{at}.encoder_attn", block.cross.key_value, ("k", "v"))
                    yield from _both(f"{at}.encoder_attn.out_proj", block.cross.out)
                    yield from _both(f"{at}.encoder_attn_layer_norm", block.cross_norm)
                yield from _both(f"{at}.fc1", block.up)
                yield from _both(f"{at}.fc2", block.down)
                yield from _both(f"{at}.final_layer_norm", block.feed_norm)

    return transformers.BartForConditionalGeneration(stock), names()


def _bart_attention(at: str, linear: Any, which: tuple[str, ...]) -> Iterator[tuple[str, Tensor]]:
    for name, weight, bias in _parts(linear, which):
        yield f"{at}.{name}_proj.weight", weight
        yield f"{at}.{name}_proj.bias", bias


def _parts(linear: Any, names: tuple[str, ...]) -> Iterator[tuple[str, Tensor, Tensor]]:
    """A linear layer that holds several, one by one."""
    yield from zip(names, linear.weight.chunk(len(names)), linear.bias.chunk(len(names)), strict=True)


def _both(name: str, module: Any) -> Iterator[tuple[str, Tensor]]:
    yield f"{name}.weight", module.weight
    yield f"{name}.bias", module.bias


def _behind(positions: Tensor) -> Tensor:
    return torch.cat([torch.zeros(OFFSET, positions.shape[1], dtype=positions.dtype), positions.detach().cpu()])


_FORMS: dict[tuple[type, str], Callable[[Any], tuple[Any, Iterator[tuple[str, Tensor]]]]] = {
    (LabForMaskedLM, POST): lambda network: _roberta(network, post=True),
    (LabForMaskedLM, PRE): lambda network: _roberta(network, post=False),
    (LabForCausalLM, PRE): _gpt2,
    (LabForSeq2SeqLM, POST): _bart,
}
