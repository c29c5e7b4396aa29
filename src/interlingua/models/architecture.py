"""One transformer as encoder, decoder or both, with what the papers vary: normalisation, and parts of a language's own.

Registered with the Auto classes of `transformers`, so `save_pretrained` and `from_pretrained` work as for any model.
Shapes: b batch, l length, v vocabulary, k places that are scored.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    GenerationMixin,
    PreTrainedModel,
    initialization,
)
from transformers.modeling_outputs import (
    BaseModelOutput,
    CausalLMOutput,
    MaskedLMOutput,
    Seq2SeqLMOutput,
    Seq2SeqModelOutput,
)

from interlingua.errors import InputError
from interlingua.models.beginning import Asking, Places
from interlingua.models.blocks import Attention, Block, Head, LabConfig, Stack, voices


class LabEncoderConfig(LabConfig):
    """An encoder for masked language modelling."""

    model_type = "interlingua-encoder"

    # `transformers` writes an __init__ from fields for classes that have none of their own
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)


class LabDecoderConfig(LabConfig):
    """A decoder for causal language modelling; no normalisation of embeddings, as GPT-2."""

    model_type = "interlingua-decoder"
    embedding_norm_default = False

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)


class LabSeq2SeqConfig(LabConfig):
    """An encoder and a decoder for span corruption and translation, each with `num_hidden_layers` blocks."""

    model_type = "interlingua-seq2seq"

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("is_encoder_decoder", True)
        kwargs.setdefault("decoder_start_token_id", 2)
        super().__init__(**kwargs)
        if self.separate:
            raise InputError("an encoder-decoder has no parts of a language's own: leave out separate_*")


class LabPreTrainedModel(PreTrainedModel):
    """What all forms have in common."""

    config_class = LabConfig
    base_model_prefix = "body"
    _supports_sdpa = True
    _no_split_modules = ("Block",)

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        begun = None
        if isinstance(module, Places):
            begun = module.begun(self.config.initializer_range)
        elif isinstance(module, Asking):
            begun = module.begun()
        if begun is not None:
            initialization.copy_(module.weight, begun)
        if isinstance(module, Attention) and module.head_scale is not None:
            nn.init.ones_(module.head_scale)
        if isinstance(module, Block) and module.residual_scale is not None:
            nn.init.ones_(module.residual_scale)
        if isinstance(module, Head) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def get_input_embeddings(self) -> nn.Embedding:
        """The table of words; of several, the first."""
        stack = self.get_encoder() if self.config.is_encoder_decoder else self.base_model.stack
        return stack.get_input_embeddings()


class _OneStack(LabPreTrainedModel):
    causal = False

    def __init__(self, config: LabConfig) -> None:
        super().__init__(config)
        self.stack = Stack(config, causal=self.causal)
        self.post_init()

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, **how: Any) -> BaseModelOutput:
        """Hidden states."""
        return self.stack(input_ids, attention_mask, **how)


class LabEncoder(_OneStack):
    """An encoder without a head."""

    config_class = LabEncoderConfig


class LabDecoder(_OneStack):
    """A decoder without a head."""

    config_class = LabDecoderConfig
    causal = True


class LabSeq2Seq(LabPreTrainedModel):
    """An encoder and a decoder that looks at it, without a head; one table of words for both."""

    config_class = LabSeq2SeqConfig

    def __init__(self, config: LabSeq2SeqConfig) -> None:
        super().__init__(config)
        self.encoder = Stack(config, causal=False)
        self.decoder = Stack(config, causal=True, cross=True)
        self.post_init()

    def get_encoder(self, modality: str | None = None) -> Stack:
        """The stack that reads."""
        return self.encoder

    def get_decoder(self) -> Stack:
        """The stack that writes."""
        return self.decoder

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: Any = None,
        **how: Any,
    ) -> Seq2SeqModelOutput:
        """Hidden states of both stacks."""
        read = self.encoder(input_ids, attention_mask, **how) if encoder_outputs is None else encoder_outputs
        if decoder_input_ids is None:
            raise InputError("a decoder needs something to go on: give decoder_input_ids")
        wrote = self.decoder(
            decoder_input_ids,
            decoder_attention_mask,
            table=self.encoder.get_input_embeddings(),
            memory=read[0],
            memory_mask=attention_mask,
            **how,
        )
        return Seq2SeqModelOutput(
            last_hidden_state=wrote.last_hidden_state,
            decoder_hidden_states=wrote.hidden_states,
            encoder_last_hidden_state=read[0],
            encoder_hidden_states=getattr(read, "hidden_states", None),
        )


class _OneHead(LabPreTrainedModel):
    body_class: Any = None
    transform = False

    def __init__(self, config: LabConfig) -> None:
        super().__init__(config)
        self.body = self.body_class(config)
        self.head = voices(config, lambda: Head(config, transform=self.transform), separate=config.separate_embeddings)
        self.post_init()

    def score(self, hidden: Tensor, language: str | None = None) -> Tensor:
        """Scores of all tokens from hidden states, through the language's table."""
        table = self.body.stack.embeddings.of(language).words.weight
        return self.head.of(language)(hidden, table)

    def scores_at(self, input_ids: Tensor, places_k: Tensor | None = None, language: str | None = None) -> Tensor:
        """Scores (k, v) at some places of a packed batch, counted over it row by row; at all where none are named."""
        hidden = self.body.stack(input_ids, language=language).last_hidden_state
        hidden = hidden.view(-1, hidden.shape[-1])
        return self.score(hidden if places_k is None else hidden[places_k], language)


class LabForMaskedLM(_OneHead):
    """An encoder that fills gaps."""

    config_class = LabEncoderConfig
    body_class = LabEncoder
    transform = True

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, labels: Tensor | None = None, **how: Any
    ) -> MaskedLMOutput:
        """Scores of all tokens, and the loss where labels are given (-100: none)."""
        found = self.body(input_ids, attention_mask, **how)
        logits = self.score(found.last_hidden_state, how.get("language"))
        loss = None if labels is None else functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        return MaskedLMOutput(loss=loss, logits=logits, hidden_states=found.hidden_states)


class LabForCausalLM(_OneHead, GenerationMixin):
    """A decoder that goes on."""

    config_class = LabDecoderConfig
    body_class = LabDecoder

    def prepare_inputs_for_generation(
        self, input_ids: Tensor, attention_mask: Any = None, **how: Any
    ) -> dict[str, Any]:
        """All that was written so far: there is no cache."""
        return {"input_ids": input_ids, "attention_mask": attention_mask, "language": how.get("language")}

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, labels: Tensor | None = None, **how: Any
    ) -> CausalLMOutput:
        """Scores of the next tokens; labels are the tokens themselves (-100: none)."""
        found = self.body(input_ids, attention_mask, **how)
        logits = self.score(found.last_hidden_state, how.get("language"))
        loss = (
            None if labels is None else functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        )
        return CausalLMOutput(loss=loss, logits=logits, hidden_states=found.hidden_states)


class LabForSeq2SeqLM(LabPreTrainedModel, GenerationMixin):
    """An encoder and a decoder that writes."""

    config_class = LabSeq2SeqConfig

    def __init__(self, config: LabSeq2SeqConfig) -> None:
        super().__init__(config)
        self.body = LabSeq2Seq(config)
        self.head = voices(config, lambda: Head(config, transform=False), separate=False)
        self.post_init()

    def get_encoder(self, modality: str | None = None) -> Stack:
        """The stack that reads."""
        return self.body.encoder

    def get_decoder(self) -> Stack:
        """The stack that writes."""
        return self.body.decoder

    def prepare_inputs_for_generation(
        self, input_ids: Tensor, attention_mask: Any = None, encoder_outputs: Any = None, **how: Any
    ) -> dict[str, Any]:
        """All that was written so far: there is no cache."""
        return {
            "decoder_input_ids": input_ids,
            "attention_mask": attention_mask,
            "encoder_outputs": encoder_outputs,
        }

    def scores_at(self, input_ids: Tensor, decoder_input_ids: Tensor) -> Tensor:
        """Scores (b·l, v) of what the decoder writes next, at all its places."""
        found = self.body(input_ids, decoder_input_ids=decoder_input_ids).last_hidden_state
        return self.head.of(None)(found.flatten(0, 1), self.body.encoder.get_input_embeddings().weight)

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        labels: Tensor | None = None,
        **how: Any,
    ) -> Seq2SeqLMOutput:
        """Scores of what comes next; with labels and nothing for the decoder, it is given them one to the right."""
        if decoder_input_ids is None and labels is not None:
            start = torch.full_like(labels[:, :1], self.config.decoder_start_token_id)
            decoder_input_ids = torch.cat([start, labels[:, :-1]], 1).masked_fill(
                torch.cat([start, labels[:, :-1]], 1) == -100, self.config.pad_token_id
            )
        found = self.body(input_ids, attention_mask, decoder_input_ids, **how)
        logits = self.head.of(None)(found.last_hidden_state, self.body.encoder.get_input_embeddings().weight)
        loss = None if labels is None else functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        return Seq2SeqLMOutput(
            loss=loss,
            logits=logits,
            decoder_hidden_states=found.decoder_hidden_states,
            encoder_last_hidden_state=found.encoder_last_hidden_state,
            encoder_hidden_states=found.encoder_hidden_states,
        )


def register() -> None:
    """Make the Auto classes of `transformers` know these networks."""
    for config, body, auto, with_head in (
        (LabEncoderConfig, LabEncoder, AutoModelForMaskedLM, LabForMaskedLM),
        (LabDecoderConfig, LabDecoder, AutoModelForCausalLM, LabForCausalLM),
        (LabSeq2SeqConfig, LabSeq2Seq, AutoModelForSeq2SeqLM, LabForSeq2SeqLM),
    ):
        AutoConfig.register(config.model_type, config, exist_ok=True)
        AutoModel.register(config, body, exist_ok=True)
        auto.register(config, with_head, exist_ok=True)
