"""Sentences or pairs of them, with a class each: inference (NLI) and sentiment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from interlingua.corpora.loading import labelled
from interlingua.errors import InputError
from interlingua.transfer.encode import Encoded
from interlingua.transfer.heads import Linear
from interlingua.transfer.readers import Reader
from interlingua.transfer.task import Array, HeadTask, Labels, divided, numbers
from interlingua.types import LabelledCorpus


class Classification(HeadTask[LabelledCorpus, str]):
    """A linear layer over the first token, or the mean over tokens of models that have none for the sentence."""

    metric = "accuracy"
    words = False
    fields: tuple[str, ...]

    def read(self, source: str, language: str, split: str) -> LabelledCorpus:
        """Labelled sentences."""
        return labelled(source, language, split=split)

    def gold(self, record: LabelledCorpus) -> tuple[str, ...]:
        """Classes."""
        if record.labels is None:
            raise InputError(f"{record.name} has no labels: there is nothing to learn from or to judge by")
        if len(record.fields) != len(self.fields):
            raise InputError(f"{record.name} has {' and '.join(record.fields)}: {self.name} reads {len(self.fields)}")
        return record.labels

    def labels(self, gold: Sequence[str]) -> Labels:
        """All classes."""
        return tuple(sorted(set(gold)))

    def encode(self, reader: Reader, record: LabelledCorpus) -> Encoded:
        """Texts, or pairs."""
        return reader.texts(record.language, record.texts)

    def head(self, width: int, labels: Labels, dropout: float) -> torch.nn.Module:
        """A linear layer."""
        return Linear(width, len(labels), dropout)

    def targets(self, answers: Sequence[str], lost: Sequence[Array], labels: Labels) -> dict[str, torch.Tensor]:
        """Classes as numbers."""
        return {"classes": torch.from_numpy(numbers(answers, np.zeros(len(answers), bool), labels))}

    def loss(self, scores: torch.Tensor, targets: dict[str, torch.Tensor]) -> torch.Tensor:
        """Cross-entropy a sentence."""
        return torch.nn.functional.cross_entropy(scores[:, 0], targets["classes"])

    def decode(self, scores: torch.Tensor, lengths: Sequence[int], labels: Labels) -> list[str]:
        """The best class."""
        return [labels[i] for i in scores[:, 0].argmax(-1).tolist()]

    def written(self, record: LabelledCorpus, answers: Sequence[str]) -> Iterator[str]:
        """A sentence a line: id, right class, answer."""
        yield from ("\t".join(row) for row in zip(record.ids, self.gold(record), answers, strict=True))

    def counts(self, gold: str, answer: str) -> tuple[int, ...]:
        """Right or not, and one."""
        return int(gold == answer), 1

    def score(self, counts: Array) -> Array:
        """Accuracy."""
        return divided(counts[..., :1], counts[..., 1:])


class Nli(Classification):
    """Does the second sentence follow from the first, contradict it, or neither?"""

    name = "nli"
    fields = ("premise", "hypothesis")


class Sentiment(Classification):
    """What somebody thought of something."""

    name = "sentiment"
    fields = ("text",)
