"""Parts of speech: the share of words with the right one."""

from __future__ import annotations

from interlingua.corpora.loading import tagged
from interlingua.errors import InputError
from interlingua.transfer.task import Array, divided
from interlingua.transfer.tasks.tagging import Tagging
from interlingua.types import TaggedCorpus, Words


class Pos(Tagging):
    """Universal parts of speech (UPOS)."""

    name = "pos"
    metric = "accuracy"

    def read(self, source: str, language: str, split: str) -> TaggedCorpus:
        """Tagged words, or a treebank."""
        return tagged(source, language, split=split)

    def gold(self, record: TaggedCorpus) -> tuple[Words, ...]:
        """Tags."""
        if record.tags is None or record.entities:
            raise InputError(f"{record.name} has no parts of speech: name a treebank or tagged words")
        return record.tags

    def counts(self, gold: Words, answer: Words) -> tuple[int, ...]:
        """Right ones, and all."""
        return sum(a == b for a, b in zip(gold, answer, strict=True)), len(gold)

    def score(self, counts: Array) -> Array:
        """Accuracy."""
        return divided(counts[..., :1], counts[..., 1:])
