"""Names of persons, places and organisations: F1 over whole spans."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from interlingua.corpora.loading import tagged
from interlingua.errors import InputError
from interlingua.transfer.task import Array, divided
from interlingua.transfer.tasks.tagging import Tagging
from interlingua.types import TaggedCorpus, Words
from interlingua.types.annotated import spans


class Ner(Tagging):
    """Entities in BIO; an answer is repaired before it is judged."""

    name = "ner"
    metric = "f1"
    also = ("precision", "recall")

    def read(self, source: str, language: str, split: str) -> TaggedCorpus:
        """Tagged words."""
        return tagged(source, language, split=split)

    def gold(self, record: TaggedCorpus) -> tuple[Words, ...]:
        """Tags."""
        if record.tags is None or not record.entities:
            raise InputError(f"{record.name} has no entities: name words with tags such as B-PER, I-PER and O")
        return record.tags

    def counts(self, gold: Words, answer: Words) -> tuple[int, ...]:
        """Entities that are right, that were answered, that there are."""
        there, said = set(spans(gold)), set(spans(repaired(answer)))
        return len(there & said), len(said), len(there)

    def score(self, counts: Array) -> Array:
        """F1, precision, recall."""
        right, said, there = (counts[..., i] for i in range(3))
        return np.stack([divided(2 * right, said + there), divided(right, said), divided(right, there)], -1)


def repaired(tags: Sequence[str]) -> Words:
    """Tags in which every entity begins with B and is of one type, as Wu et al. 2020 repair them.

    An I that begins an entity becomes B, and an entity whose words disagree takes the type of its last word:
    `O I-PER I-LOC` -> `O B-LOC I-LOC`.
    """
    found = list(tags)
    start = None
    for i, tag in enumerate([*tags, "O"]):
        if start is not None and not tag.startswith("I-"):
            kind = found[i - 1].partition("-")[2]
            found[start:i] = [f"B-{kind}", *[f"I-{kind}"] * (i - start - 1)]
            start = None
        if tag.startswith("B-") or (start is None and tag.startswith("I-")):
            start = i
    return tuple(found)
