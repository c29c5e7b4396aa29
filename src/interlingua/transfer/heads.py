"""What is put on a network: a linear layer, or the deep biaffine scorer of Dozat and Manning 2017."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn


class Linear(nn.Module):
    """Dropout and a linear layer: (sentences, words, width) -> (sentences, words, classes)."""

    def __init__(self, width: int, classes: int, dropout: float) -> None:
        super().__init__()
        self.dropout, self.classify = nn.Dropout(dropout), nn.Linear(width, classes)

    def forward(self, hidden_swd: Tensor, _there_sw: Tensor) -> Tensor:
        """Scores of classes."""
        scores: Tensor = self.classify(self.dropout(hidden_swd))
        return scores


class Biaffine(nn.Module):
    """Arcs and relations between words; a learnt vector stands for the root, which is head number 0.

    s(i, j) = [h_dep(i); 1]ᵀ U h_head(j), and the same with one U a relation (Dozat and Manning 2017, equations 5 to 9).
    Scores of relations are made for chosen heads alone: all of them would be words x words x relations numbers.
    """

    def __init__(self, width: int, relations: int, dropout: float, arc: int = 256, relation: int = 128) -> None:
        super().__init__()
        self.root = nn.Parameter(torch.zeros(width))
        self.arc_head, self.arc_dependent = _narrowed(width, arc, dropout), _narrowed(width, arc, dropout)
        self.relation_head = _narrowed(width, relation, dropout)
        self.relation_dependent = _narrowed(width, relation, dropout)
        self.arcs = nn.Parameter(torch.zeros(arc + 1, arc))
        self.relations = nn.Parameter(torch.zeros(relations, relation + 1, relation + 1))
        nn.init.normal_(self.root, std=0.02)

    def forward(self, hidden_swd: Tensor, there_sw: Tensor) -> Parses:
        """Scores of heads and of relations; no word hangs on a word that is not there."""
        heads = torch.cat([self.root.expand(len(hidden_swd), 1, -1), hidden_swd], 1)
        arcs = _with_one(self.arc_dependent(hidden_swd)) @ self.arcs @ self.arc_head(heads).transpose(1, 2)
        nowhere = ~torch.cat([there_sw.new_ones((len(there_sw), 1)), there_sw], 1)
        # trees are decoded, and relations scored, where half precision may no longer be cast for
        arcs = arcs.float().masked_fill(nowhere[:, None], torch.finfo(torch.float32).min)
        dependents, heads = self.relation_dependent(hidden_swd).float(), self.relation_head(heads).float()
        return Parses(arcs, dependents, heads, self.relations)


@dataclass(frozen=True)
class Parses:
    """`arcs`: how well word i hangs on head j, the root being 0 (sentences, words, 1 + words)."""

    arcs: Tensor
    dependents_swk: Tensor
    heads_shk: Tensor
    weights_rkk: Tensor

    def related(self, chosen_sw: Tensor) -> Tensor:
        """Scores of relations (sentences, words, relations) of words to their chosen heads."""
        places = chosen_sw[..., None].expand(-1, -1, self.heads_shk.shape[-1])
        on = _with_one(self.heads_shk.gather(1, places))
        return torch.einsum("swa,rab,swb->swr", _with_one(self.dependents_swk), self.weights_rkk, on)


def _narrowed(width: int, to: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(nn.Dropout(dropout), nn.Linear(width, to), nn.LeakyReLU(0.1), nn.Dropout(dropout))


def _with_one(x: Tensor) -> Tensor:
    return torch.cat([x, x.new_ones((*x.shape[:-1], 1))], -1)
