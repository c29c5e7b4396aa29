"""What tasks that give every word a tag have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from interlingua.transfer.encode import IGNORED, Encoded, padded
from interlingua.transfer.heads import Linear
from interlingua.transfer.readers import Reader
from interlingua.transfer.task import Array, HeadTask, Labels, numbers
from interlingua.types import TaggedCorpus, Words


class Tagging(HeadTask[TaggedCorpus, Words]):
    """A linear layer over the first token of every word."""

    def labels(self, gold: Sequence[Words]) -> Labels:
        """All tags."""
        return tuple(sorted({tag for row in gold for tag in row}))

    def encode(self, reader: Reader, record: TaggedCorpus) -> Encoded:
        """Words in their sentences."""
        return reader.words(record)

    def head(self, width: int, labels: Labels, dropout: float) -> torch.nn.Module:
        """A linear layer."""
        return Linear(width, len(labels), dropout)

    def targets(self, answers: Sequence[Words], lost: Sequence[Array], labels: Labels) -> dict[str, torch.Tensor]:
        """Tags as numbers."""
        rows = [numbers(row, gone, labels) for row, gone in zip(answers, lost, strict=True)]
        return {"tags": padded(rows, IGNORED)}

    def loss(self, scores: torch.Tensor, targets: dict[str, torch.Tensor]) -> torch.Tensor:
        """Cross-entropy a word."""
        tags = targets["tags"]
        return torch.nn.functional.cross_entropy(scores.flatten(0, 1), tags.flatten(), ignore_index=IGNORED)

    def written(self, record: TaggedCorpus, answers: Sequence[Words]) -> Iterator[str]:
        """A word a line: word, right tag, answer; an empty line behind a sentence."""
        for row in zip(record.words, self.gold(record), answers, strict=True):
            yield from ("\t".join(each) for each in zip(*row, strict=True))
            yield ""

    def decode(self, scores: torch.Tensor, lengths: Sequence[int], labels: Labels) -> list[Words]:
        """The best tag of every word."""
        best = scores.argmax(-1).tolist()
        return [tuple(labels[i] for i in row[:n]) for row, n in zip(best, lengths, strict=True)]
