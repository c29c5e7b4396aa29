"""Dependency trees: the share of words with the right head and relation, as the CoNLL 2018 evaluation counts them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from interlingua.corpora.loading import treebank
from interlingua.transfer.encode import IGNORED, Encoded, padded
from interlingua.transfer.heads import Biaffine, Parses
from interlingua.transfer.readers import Reader
from interlingua.transfer.task import Array, HeadTask, Labels, divided, numbers
from interlingua.transfer.trees import best_tree
from interlingua.types import Treebank

# (head, relation) of every word
Arcs = tuple[tuple[int, str], ...]
ROOT = "root"


class Parsing(HeadTask[Treebank, Arcs]):
    """A biaffine scorer over first tokens; one tree with one root a sentence.

    LAS is the share of syntactic words whose head and universal relation (`nsubj` of `nsubj:pass`) are right, UAS that
    whose head is; words are the treebank's own, punctuation counts.
    """

    name = "parsing"
    suffix = "conllu"
    metric = "las"
    also = ("uas",)

    def read(self, source: str, language: str, split: str) -> Treebank:
        """A treebank."""
        return treebank(source, language, split=split)

    def gold(self, record: Treebank) -> tuple[Arcs, ...]:
        """Heads and relations, without sub-types."""
        return tuple(
            tuple((head, universal(name)) for head, name in zip(tree.heads, tree.relations, strict=True))
            for tree in record.trees
        )

    def labels(self, gold: Sequence[Arcs]) -> Labels:
        """All relations."""
        return tuple(sorted({name for row in gold for _, name in row}))

    def encode(self, reader: Reader, record: Treebank) -> Encoded:
        """Syntactic words in their sentences."""
        return reader.words(record)

    def head(self, width: int, labels: Labels, dropout: float) -> torch.nn.Module:
        """A biaffine scorer."""
        return Biaffine(width, len(labels), dropout)

    def targets(self, answers: Sequence[Arcs], lost: Sequence[Array], labels: Labels) -> dict[str, torch.Tensor]:
        """Heads, and relations as numbers."""
        heads = [np.where(gone, IGNORED, [head for head, _ in row]) for row, gone in zip(answers, lost, strict=True)]
        names = [numbers([n for _, n in row], gone, labels) for row, gone in zip(answers, lost, strict=True)]
        return {"heads": padded(heads, IGNORED), "relations": padded(names, IGNORED)}

    def loss(self, scores: Parses, targets: dict[str, torch.Tensor]) -> torch.Tensor:
        """Cross-entropy of heads, and of relations at the right heads."""
        heads, names = targets["heads"], targets["relations"]
        related = scores.related(heads.clamp(min=0))
        loss = torch.nn.functional.cross_entropy
        on_heads = loss(scores.arcs.flatten(0, 1), heads.flatten(), ignore_index=IGNORED)
        return on_heads + loss(related.flatten(0, 1), names.flatten(), ignore_index=IGNORED)

    def decode(self, scores: Parses, lengths: Sequence[int], labels: Labels) -> list[Arcs]:
        """The best tree, and the best relation to each head: `root` for the word on the root, and for no other."""
        arcs = scores.arcs.log_softmax(-1).double().cpu().numpy()
        trees = [best_tree(table[:n, : n + 1]) for table, n in zip(arcs, lengths, strict=True)]
        chosen = padded([np.array(tree) for tree in trees], 0).to(scores.arcs.device)
        related = scores.related(chosen)
        if ROOT in labels:
            related[..., labels.index(ROOT)] = torch.where(chosen == 0, torch.inf, -torch.inf)
        best = related.argmax(-1).tolist()
        return [
            tuple((head, labels[i]) for head, i in zip(tree, row, strict=False))
            for tree, row in zip(trees, best, strict=True)
        ]

    def written(self, record: Treebank, answers: Sequence[Arcs]) -> Iterator[str]:
        """CoNLL-U with the answered heads and relations, for any evaluation; tags are the treebank's own."""
        for key, tree, arcs in zip(record.ids, record.trees, answers, strict=True):
            yield f"# sent_id = {key}"
            yield f"# text = {tree.text or ' '.join(tree.tokens)}"
            spans = {m.start: m for m in tree.multiwords}
            for i, (word, tag, (head, relation)) in enumerate(zip(tree.words, tree.upos, arcs, strict=True)):
                if i in spans:
                    yield f"{i + 1}-{spans[i].end}\t{spans[i].form}" + "\t_" * 8
                yield "\t".join((str(i + 1), word, "_", tag, "_", "_", str(head), relation, "_", "_"))
            yield ""

    def counts(self, gold: Arcs, answer: Arcs) -> tuple[int, ...]:
        """Words with the right head and relation, with the right head, and all."""
        both = sum(a == b for a, b in zip(gold, answer, strict=True))
        return both, sum(a[0] == b[0] for a, b in zip(gold, answer, strict=True)), len(gold)

    def score(self, counts: Array) -> Array:
        """LAS, UAS."""
        return divided(counts[..., :2], counts[..., 2:])


def universal(relation: str) -> str:
    """A relation without its sub-type."""
    return relation.partition(":")[0]
