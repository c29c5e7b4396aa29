"""What a network begins as, before any update: its table of places, and where its first block looks.

A masked model that begins at random guesses words by how common they are until it happens to find the neighbours of a
gap: the plateau of its loss. It leaves it sooner where places know their distance (`waves`), and sooner still where the
first block looks at neighbours to begin with (`neighbours`). Nothing is held there: all of it is learnt as any weight.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

RANDOM, WAVES, NEIGHBOURS = "random", "waves", "neighbours"
POSITIONS = (RANDOM, WAVES, NEIGHBOURS)
# Where heads look to begin with: as it happens, at both sides, or back alone.
ANYWHERE, BOTH, BACK = "anywhere", "both", "back"
# Of neighbours: waves are so many times as large as words, and a score is so much higher where a head looks.
LOUD, SCORE = 2.0, 9.0
# The fastest of these waves, just under half a turn from place to place.
FASTEST = 3.0


def frequencies(many: int, width: int, kind: str) -> Tensor:
    """Radians from a place to the next: those of Vaswani et al. 2017, or from half a turn a place to half over all."""
    half = (width + 1) // 2
    if kind == WAVES:
        return 10_000.0 ** (-torch.arange(half) / half)
    slowest = min(FASTEST, math.pi / many)
    return FASTEST * (slowest / FASTEST) ** (torch.arange(half) / max(1, half - 1))


def places(many: int, width: int, kind: str, scale: float) -> Tensor:
    """Sines and cosines of places, (many, width). `scale` is the standard deviation of the table of words."""
    angles = torch.arange(many)[:, None] * frequencies(many, width, kind)
    size = scale * (LOUD if kind == NEIGHBOURS else 1.0)
    return size * 2**0.5 * torch.cat([angles.sin(), angles.cos()], dim=1)[:, :width]


def looking(many: int, width: int, heads: int, looks: str) -> Tensor:
    """Weights of queries and keys, (2 width, width), with which each head looks at one place beside each place.

    A key is the waves of a place, a query those of the place that is looked at: sines and cosines turned by as much.
    Each head has its own share of the waves, so a score is Σ cos ω (j - i - offset) over these, highest where the
    place j is the one. Heads look at 1 before, 1 after, 2 before, ... (BACK: 1, 2, 3 before, ...).
    """
    d = width // heads
    half = (width + 1) // 2
    turns = frequencies(many, width, NEIGHBOURS)
    # after normalisation a wave is this large: words are 1, waves LOUD
    square = 2 * LOUD**2 / (1 + LOUD**2)
    gain = (SCORE * d**0.5 / (max(1, d // 2) * square)) ** 0.5
    query, key = torch.zeros(width, width), torch.zeros(width, width)
    for head in range(heads):
        offset = -(head + 1) if looks == BACK else (head // 2 + 1) * (-1) ** (head + 1)
        for pair in range(d // 2):
            wave, row = head + pair * heads, head * d + 2 * pair
            sine, cosine = wave, half + wave
            if cosine >= width:
                continue
            turn = float(turns[wave]) * offset
            key[row, sine] = key[row + 1, cosine] = gain
            query[row, sine] = query[row + 1, cosine] = gain * math.cos(turn)
            query[row, cosine], query[row + 1, sine] = gain * math.sin(turn), -gain * math.sin(turn)
    return torch.cat([query, key])


class Places(nn.Embedding):
    """The table of places, and what it begins as."""

    def __init__(self, many: int, width: int, kind: str) -> None:
        super().__init__(many, width)
        self.kind = kind

    def begun(self, scale: float) -> Tensor | None:
        """Its weights before any update; None where they are drawn."""
        return None if self.kind == RANDOM else places(self.num_embeddings, self.embedding_dim, self.kind, scale)


class Asking(nn.Linear):
    """Queries, keys and values of a block, and where its heads look to begin with."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__(width, 3 * width)
        self.heads, self.many, self.looks = heads, 0, ANYWHERE

    def look(self, many: int, looks: str) -> None:
        """Begin by looking at neighbours among so many places."""
        self.many, self.looks = many, looks

    def begun(self) -> Tensor | None:
        """Its weights before any update, with values as they were drawn; None where all are."""
        if self.looks == ANYWHERE:
            return None
        width = self.in_features
        found = looking(self.many, width, self.heads, self.looks).to(self.weight)
        return torch.cat([found, self.weight[2 * width :]])
