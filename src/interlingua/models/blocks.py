"""The parts of our transformer: the shape of a network, attention, blocks, and parts of a language's own.

Shapes: b batch, l length, m length of what is looked at, d width, h heads, v vocabulary.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedConfig
from transformers.modeling_outputs import BaseModelOutput

from interlingua.errors import InputError, UnknownNameError
from interlingua.models.attention import attended
from interlingua.models.beginning import BACK, BOTH, NEIGHBOURS, POSITIONS, RANDOM, Asking, Places

POST, PRE, NORMFORMER = "post", "pre", "normformer"
NORMS = (POST, PRE, NORMFORMER)
# The name of a part that all languages share.
SHARED = "shared"


class LabConfig(PreTrainedConfig):
    """The shape of a network.

    `norm`: post (after the residual is added, as XLM-R), pre (before each part, as GPT-2), or normformer (pre, and
    heads scaled by a learned number, the output of attention normalised, and the inside of the feed-forward layer).
    `positions`: what the table of places begins as, and with neighbours the first block (beginning.py).
    `languages` with `separate_embeddings` have tables, positions and softmax of their own; with `separate_layers` = k
    also blocks 1 to k.
    """

    embedding_norm_default = True

    def __init__(
        self,
        vocab_size: int = 1000,
        hidden_size: int = 256,
        num_hidden_layers: int = 8,
        num_attention_heads: int = 4,
        intermediate_size: int = 0,
        max_position_embeddings: int = 512,
        norm: str = POST,
        scale_residual: bool = False,
        embedding_norm: bool | None = None,
        dropout: float = 0.0,
        layer_norm_eps: float = 1e-5,
        initializer_range: float = 0.02,
        positions: str = RANDOM,
        languages: list[str] | None = None,
        separate_embeddings: bool = False,
        separate_layers: int = 0,
        pad_token_id: int | None = 1,
        bos_token_id: int | None = 0,
        eos_token_id: int | None = 2,
        **kwargs: Any,
    ) -> None:
        if norm not in NORMS:
            raise UnknownNameError("normalisation", norm, NORMS)
        if positions not in POSITIONS:
            raise UnknownNameError("beginning of positions", positions, POSITIONS)
        if hidden_size % num_attention_heads:
            raise InputError(f"a width of {hidden_size} cannot be cut into {num_attention_heads} heads")
        if not 0 <= separate_layers <= num_hidden_layers:
            raise InputError(f"separate_layers is {separate_layers}, and there are {num_hidden_layers} blocks")
        if (separate_embeddings or separate_layers) and len(languages or ()) < 1:
            raise InputError("parts of their own need languages: name them")
        self.vocab_size = vocab_size
        self.hidden_size = hidden_size
        self.num_hidden_layers = num_hidden_layers
        self.num_attention_heads = num_attention_heads
        self.intermediate_size = intermediate_size or 4 * hidden_size
        self.max_position_embeddings = max_position_embeddings
        self.norm = norm
        self.scale_residual = scale_residual
        self.embedding_norm = self.embedding_norm_default if embedding_norm is None else embedding_norm
        self.dropout = dropout
        self.layer_norm_eps = layer_norm_eps
        if positions == NEIGHBOURS and norm == POST and not self.embedding_norm:
            raise InputError(
                "positions: neighbours reads what is normalised, and with norm: post a decoder's first block does not: "
                "take norm: pre, or positions: waves"
            )
        self.positions = positions
        self.initializer_range = initializer_range
        self.languages = list(languages or ())
        self.separate_embeddings = separate_embeddings
        self.separate_layers = separate_layers
        super().__init__(pad_token_id=pad_token_id, bos_token_id=bos_token_id, eos_token_id=eos_token_id, **kwargs)

    @property
    def separate(self) -> bool:
        """Whether some part is a language's own."""
        return bool(self.separate_embeddings or self.separate_layers)


class Attention(nn.Module):
    """softmax(QKᵀ/√(d/h)) V over heads; in a Normformer each head times a learned number."""

    def __init__(self, config: LabConfig, *, cross: bool = False) -> None:
        super().__init__()
        d, self.heads, self.dropout = config.hidden_size, config.num_attention_heads, config.dropout
        self.cross = cross
        if cross:
            self.query, self.key_value = nn.Linear(d, d), nn.Linear(d, 2 * d)
        else:
            self.query_key_value = Asking(d, self.heads)
        self.out = nn.Linear(d, d)
        self.head_scale = nn.Parameter(torch.ones(self.heads)) if config.norm == NORMFORMER else None

    def forward(self, x_bld: Tensor, mask: Tensor | None, *, causal: bool, memory_bmd: Tensor | None = None) -> Tensor:
        """`mask` is True where a query may look; with `causal` and no mask, at itself and what is before."""
        b, n, d = x_bld.shape
        if self.cross:
            q, (k, v) = self.query(x_bld), self.key_value(memory_bmd).chunk(2, dim=-1)
        else:
            q, k, v = self.query_key_value(x_bld).chunk(3, dim=-1)
        q, k, v = (each.view(b, -1, self.heads, d // self.heads).transpose(1, 2) for each in (q, k, v))
        how = {"dropout_p": self.dropout if self.training else 0.0, "is_causal": causal and mask is None}
        out_bhld = attended(q, k, v, attn_mask=mask, **how)
        if self.head_scale is not None:
            out_bhld = out_bhld * self.head_scale.view(1, -1, 1, 1)
        return self.out(out_bhld.transpose(1, 2).reshape(b, n, d))


class Block(nn.Module):
    """Attention and a feed-forward layer, each added to what came in."""

    def __init__(self, config: LabConfig, *, cross: bool = False) -> None:
        super().__init__()
        d, eps = config.hidden_size, config.layer_norm_eps

        def norm(width: int = d) -> nn.LayerNorm:
            return nn.LayerNorm(width, eps=eps)

        self.post = config.norm == POST
        self.attention, self.attention_norm = Attention(config), norm()
        if cross:
            self.cross, self.cross_norm = Attention(config, cross=True), norm()
        self.up, self.down = nn.Linear(d, config.intermediate_size), nn.Linear(config.intermediate_size, d)
        self.feed_norm = norm()
        self.dropout = nn.Dropout(config.dropout)
        former = config.norm == NORMFORMER
        self.attention_out_norm = norm() if former else nn.Identity()
        self.cross_out_norm = norm() if former and cross else nn.Identity()
        self.inner_norm = norm(config.intermediate_size) if former else nn.Identity()
        self.residual_scale = nn.Parameter(torch.ones(d)) if former and config.scale_residual else None

    def forward(
        self, x: Tensor, mask: Tensor | None, *, causal: bool, memory: Tensor | None, memory_mask: Tensor | None
    ) -> Tensor:
        """One block."""
        h = x if self.post else self.attention_norm(x)
        x = x + self.dropout(self.attention_out_norm(self.attention(h, mask, causal=causal)))
        x = self.attention_norm(x) if self.post else x
        if memory is not None:
            h = x if self.post else self.cross_norm(x)
            x = x + self.dropout(self.cross_out_norm(self.cross(h, memory_mask, causal=False, memory_bmd=memory)))
            x = self.cross_norm(x) if self.post else x
        h = x if self.post else self.feed_norm(x)
        kept = x if self.residual_scale is None else x * self.residual_scale
        x = kept + self.dropout(self.down(self.inner_norm(functional.gelu(self.up(h)))))
        return self.feed_norm(x) if self.post else x


class Embeddings(nn.Module):
    """Words and learned positions, summed."""

    def __init__(self, config: LabConfig, *, words: bool = True) -> None:
        super().__init__()
        d = config.hidden_size
        if words:
            self.words = nn.Embedding(config.vocab_size, d)
        self.positions = Places(config.max_position_embeddings, d, config.positions)
        self.norm = nn.LayerNorm(d, eps=config.layer_norm_eps) if config.embedding_norm else nn.Identity()
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, words_bld: Tensor, positions_bl: Tensor) -> Tensor:
        """Of tokens that were looked up already."""
        return self.dropout(self.norm(words_bld + self.positions(positions_bl)))


class Head(nn.Module):
    """From a hidden state to the scores of all tokens, through the table of the embeddings (tied)."""

    def __init__(self, config: LabConfig, *, transform: bool) -> None:
        super().__init__()
        d = config.hidden_size
        self.dense = nn.Linear(d, d) if transform else None
        self.norm = nn.LayerNorm(d, eps=config.layer_norm_eps) if transform else None
        self.bias = nn.Parameter(torch.zeros(config.vocab_size)) if transform else None

    def forward(self, hidden: Tensor, table_vd: Tensor) -> Tensor:
        """Scores of all tokens."""
        if self.dense is not None and self.norm is not None:
            hidden = self.norm(functional.gelu(self.dense(hidden)))
        return functional.linear(hidden, table_vd, self.bias)


class Voices(nn.ModuleDict):
    """A part of the network: one that all languages share, or one for each."""

    def of(self, language: str | None) -> nn.Module:
        """The part that a language goes through."""
        if SHARED in self:
            return self[SHARED]
        if language is None or language not in self:
            said = "no language was given" if language is None else f"there is none for {language!r}"
            raise InputError(
                f"each of {', '.join(self)} has parts of its own in this model, and {said}: pass language="
            )
        return self[language]


def voices(config: LabConfig, make: Any, *, separate: bool) -> Voices:
    """A part for all languages, or one for each."""
    return Voices({name: make() for name in (config.languages if separate else [SHARED])})


class Layer(nn.Module):
    """A block, shared or one for each language."""

    def __init__(self, config: LabConfig, *, separate: bool, cross: bool) -> None:
        super().__init__()
        self.voices = voices(config, lambda: Block(config, cross=cross), separate=separate)

    def forward(self, x: Tensor, language: str | None, **seen: Any) -> Tensor:
        """The block of a language."""
        return self.voices.of(language)(x, **seen)


class Stack(nn.Module):
    """Embeddings, blocks and, unless blocks end in one, a last normalisation."""

    def __init__(self, config: LabConfig, *, causal: bool, cross: bool = False) -> None:
        super().__init__()
        self.config, self.causal = config, causal
        self.embeddings = voices(
            config, lambda: Embeddings(config, words=not cross), separate=config.separate_embeddings
        )
        self.layers = nn.ModuleList(
            Layer(config, separate=i < config.separate_layers, cross=cross) for i in range(config.num_hidden_layers)
        )
        if config.positions == NEIGHBOURS and len(self.layers):
            for block in self.layers[0].voices.values():
                block.attention.query_key_value.look(config.max_position_embeddings, BACK if causal else BOTH)
        # Where nothing is shared, nothing is.
        alone = config.separate_embeddings and config.separate_layers == config.num_hidden_layers

        def last() -> nn.Module:
            return nn.Identity() if config.norm == POST else nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)

        self.final_norm = voices(config, last, separate=alone)

    def get_input_embeddings(self) -> nn.Embedding | None:
        """The table of words; of several, the first. A decoder behind an encoder is lent that one's."""
        return getattr(next(iter(self.embeddings.values())), "words", None)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        *,
        language: str | None = None,
        table: nn.Embedding | None = None,
        memory: Tensor | None = None,
        memory_mask: Tensor | None = None,
        output_hidden_states: bool = False,
        **_unused: Any,
    ) -> BaseModelOutput:
        """All hidden states, layer 0 (embeddings) first; the last is the one after the last normalisation.

        What `transformers` passes to any network (caches, kinds of output) means nothing here.
        """
        n = input_ids.shape[1]
        if n > self.config.max_position_embeddings:
            raise InputError(f"{n} tokens, and the network has {self.config.max_position_embeddings} positions")
        embed = self.embeddings.of(language)
        if position_ids is None:
            position_ids = (
                torch.arange(n, device=input_ids.device)[None]
                if attention_mask is None
                else (attention_mask.long().cumsum(1) - 1).clamp(min=0)
            )
        x = embed((embed.words if table is None else table)(input_ids), position_ids)
        mask = _may_look(attention_mask, n, causal=self.causal)
        states = [x]
        for layer in self.layers:
            x = layer(
                x,
                language,
                mask=mask,
                causal=self.causal,
                memory=memory,
                memory_mask=None if memory_mask is None else memory_mask.bool()[:, None, None],
            )
            states.append(x)
        states[-1] = self.final_norm.of(language)(x)
        hidden = tuple(states) if output_hidden_states else None
        return BaseModelOutput(last_hidden_state=states[-1], hidden_states=hidden)


def _may_look(attention_mask: Tensor | None, n: int, *, causal: bool) -> Tensor | None:
    """Where each token may look, (b, 1, l or 1, l); None where padding is none."""
    if attention_mask is None:
        return None
    mask = attention_mask.bool()[:, None, None]
    if not causal:
        return mask
    before = torch.ones(n, n, dtype=torch.bool, device=mask.device).tril()
    # Padding on the left sees nothing else: it sees itself, for a softmax over nothing is no number.
    return (mask & before) | torch.eye(n, dtype=torch.bool, device=mask.device)
