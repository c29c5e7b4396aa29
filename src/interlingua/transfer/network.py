"""A reader with a head on it: what is tuned, and what answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from interlingua.errors import InputError
from interlingua.extract.plan import batches
from interlingua.transfer.encode import NOWHERE, Encoded
from interlingua.transfer.readers import Reader, facts_of
from interlingua.transfer.task import HeadTask, Labels, Task

# Tokens that are answered at once.
BUDGET = 8192


class Answering(nn.Module, ABC):
    """What learns a task and answers: `body` has one rate of learning and `head`, where there is one, another."""

    task: Task[Any, Any]
    labels: Labels
    body: nn.Module
    head: nn.Module | None
    pad: int | None
    # the language whose own parts are used while it is tuned
    language: str = ""

    @abstractmethod
    def encode(self, record: Any) -> Encoded:
        """A record as the network reads it."""

    @abstractmethod
    def spoken(self, encoded: Encoded) -> str:
        """The language whose own parts read this."""

    @abstractmethod
    def targets(self, answers: Sequence[Any], lost: Sequence[Any]) -> dict[str, Tensor]:
        """Right answers, as the loss wants them."""

    @abstractmethod
    def answered(self, batch: dict[str, Tensor], lengths: Sequence[int]) -> list[Any]:
        """Answers for a batch."""

    @abstractmethod
    def rate(self) -> float:
        """A rate of learning that suits the body."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write the body."""

    @abstractmethod
    def facts(self) -> Mapping[str, Any]:
        """What is needed to open the body again."""

    @torch.no_grad()
    def answers(self, encoded: Encoded) -> list[Any]:
        """An answer for every sentence."""
        was, spoken = self.training, self.language
        self.eval()
        self.language = self.spoken(encoded)
        found: list[Any] = [None] * len(encoded)
        device = next(self.parameters()).device
        try:
            for each in batches(encoded.tokens.lengths, BUDGET):
                batch = {name: value.to(device) for name, value in encoded.batch(each.rows, self.pad).items()}
                lengths: Sequence[int] = [len(encoded.firsts[s]) for s in each.rows] if encoded.firsts else []
                for row, answer in zip(each.rows, self.answered(batch, lengths), strict=True):
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

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """What `state_dict` gave; names that it left out are no loss."""
        expected = self.state_dict()
        found = super().load_state_dict(state_dict, strict=False, assign=assign)
        missing = [name for name in found.missing_keys if name in expected]
        if strict and (missing or found.unexpected_keys):
            raise InputError(f"weights of another network: {(missing + found.unexpected_keys)[0]} does not fit")
        return type(found)(missing, found.unexpected_keys)


class TaskNetwork(Answering):
    """A reader's vectors where words begin (or at the first token, or their mean), and a head."""

    task: HeadTask[Any, Any]
    head: nn.Module

    def __init__(self, reader: Reader, task: HeadTask[Any, Any], labels: Labels, dropout: float = 0.1) -> None:
        super().__init__()
        self.body, self.task, self.labels, self.pad = reader, task, labels, reader.pad
        self.head = task.head(reader.width, labels, dropout)

    @property
    def reader(self) -> Reader:
        """What reads."""
        return cast("Reader", self.body)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        firsts: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        letters: Tensor | None = None,
        **targets: Tensor,
    ) -> dict[str, Any]:
        """The loss where targets are given, else scores."""
        beside = {"token_type_ids": token_type_ids, "letters": letters}
        batch = {"input_ids": input_ids, "attention_mask": attention_mask}
        batch |= {name: value for name, value in beside.items() if value is not None}
        hidden = self.reader(batch, self.language)
        scores = self.head(*self._read_off(hidden, attention_mask, firsts))
        return {"loss": self.task.loss(scores, targets)} if targets else {"scores": scores}

    def _read_off(self, hidden_std: Tensor, present_st: Tensor, firsts: Tensor | None) -> tuple[Tensor, Tensor]:
        """Hidden states of words, and which of them are there."""
        if firsts is not None:
            places = firsts.clamp(min=0)[..., None].expand(-1, -1, hidden_std.shape[-1])
            return hidden_std.gather(1, places), firsts != NOWHERE
        there = present_st[:, :1].bool()
        if self.reader.has_first:
            return hidden_std[:, :1], there
        weights = present_st[..., None].to(hidden_std.dtype)
        return (hidden_std * weights).sum(1, keepdim=True) / weights.sum(1, keepdim=True), there

    def encode(self, record: Any) -> Encoded:
        """As the reader has it."""
        return self.task.encode(self.reader, record)

    def spoken(self, encoded: Encoded) -> str:
        """As the reader says."""
        return self.reader.spoken(encoded.language)

    def targets(self, answers: Sequence[Any], lost: Sequence[Any]) -> dict[str, Tensor]:
        """As the task has them."""
        return self.task.targets(answers, lost, self.labels)

    def answered(self, batch: dict[str, Tensor], lengths: Sequence[int]) -> list[Any]:
        """Decoded scores."""
        return self.task.decode(self(**batch)["scores"], lengths, self.labels)

    def rate(self) -> float:
        """The reader's."""
        return self.reader.rate()

    def save(self, folder: Path) -> None:
        """The reader."""
        self.reader.save(folder)

    def facts(self) -> Mapping[str, Any]:
        """The kind of reader."""
        return facts_of(self.reader)


def counted(task: Task[Any, Any], gold: Sequence[Any], answers: Sequence[Any]) -> np.ndarray[Any, Any]:
    """What a score is made of, a row a sentence."""
    return np.array([task.counts(g, a) for g, a in zip(gold, answers, strict=True)], np.int64)
