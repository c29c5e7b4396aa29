"""A model with a head on it: what is tuned, and what answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from interlingua.errors import InputError
from interlingua.extract.plan import batches
from interlingua.models import Model
from interlingua.transfer.encode import NOWHERE, Encoded
from interlingua.transfer.task import Labels, Task

# Tokens that are answered at once.
BUDGET = 8192


class TaskNetwork(nn.Module):
    """The last layer of a stack, read off where words begin (or at the first token), and a head."""

    def __init__(self, model: Model, task: Task[Any, Any], labels: Labels, dropout: float = 0.1) -> None:
        super().__init__()
        if model.feeds_decoder:
            raise InputError(f"{model.name} is read from a decoder that needs an encoder's sentence: take its encoder")
        self.model, self.task, self.labels, self.language = model, task, labels, ""
        self.network = model.part
        self.head = task.head(model.layers.width, labels, dropout)
        # a model without a token for the sentence is asked by the mean over tokens
        self.has_first = model.stack == "encoder" and model.tokenizer.cls_token_id is not None

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        firsts: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        **targets: Tensor,
    ) -> dict[str, Any]:
        """The loss where targets are given, else scores."""
        told = {} if token_type_ids is None else {"token_type_ids": token_type_ids}
        spoken = {"language": self.language} if self.language else {}
        hidden = self.network(input_ids=input_ids, attention_mask=attention_mask, **told, **spoken).last_hidden_state
        scores = self.head(*self._read_off(hidden, attention_mask, firsts))
        return {"loss": self.task.loss(scores, targets)} if targets else {"scores": scores}

    def _read_off(self, hidden_std: Tensor, present_st: Tensor, firsts: Tensor | None) -> tuple[Tensor, Tensor]:
        """Hidden states of words, and which of them are there."""
        if firsts is not None:
            places = firsts.clamp(min=0)[..., None].expand(-1, -1, hidden_std.shape[-1])
            return hidden_std.gather(1, places), firsts != NOWHERE
        there = present_st[:, :1].bool()
        if self.has_first:
            return hidden_std[:, :1], there
        weights = present_st[..., None].to(hidden_std.dtype)
        return (hidden_std * weights).sum(1, keepdim=True) / weights.sum(1, keepdim=True), there

    @torch.no_grad()
    def answers(self, encoded: Encoded) -> list[Any]:
        """An answer for every sentence."""
        was, spoken = self.training, self.language
        self.eval()
        self.language = self.model.of(encoded.language).language
        found: list[Any] = [None] * len(encoded)
        device, pad = next(self.parameters()).device, self.model.tokenizer.pad_token_id
        try:
            for each in batches(encoded.tokens.lengths, BUDGET):
                batch = {name: value.to(device) for name, value in encoded.batch(each.rows, pad).items()}
                lengths: Sequence[int] = [len(encoded.firsts[s]) for s in each.rows] if encoded.firsts else []
                decoded = self.task.decode(self(**batch)["scores"], lengths, self.labels)
                for row, answer in zip(each.rows, decoded, strict=True):
                    found[row] = answer
        finally:
            self.train(was)
            self.language = spoken
        return found

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:  # type: ignore[override]
        """Every tensor once: those that are tied to another come back with it."""
        seen: set[int] = set()
        kept = {}
        for name, tensor in super().state_dict(*args, **kwargs).items():
            if tensor.data_ptr() not in seen or not tensor.numel():
                seen.add(tensor.data_ptr())
                kept[name] = tensor
        return kept


def counted(task: Task[Any, Any], gold: Sequence[Any], answers: Sequence[Any]) -> np.ndarray[Any, Any]:
    """What a score is made of, a row a sentence."""
    return np.array([task.counts(g, a) for g, a in zip(gold, answers, strict=True)], np.int64)
