"""Pairs of languages cut into shares whose moments fit into memory.

Moments grow with the square of the width: of a large network, those of all pairs at all layers fit nowhere. A language
that is in several shares is read again for each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

Pair = tuple[str, str]
# Rows whose vectors are in memory at once, and how many bytes those of a language may be before it is fewer rows.
CHUNK, FEWEST, VECTORS = 4096, 256, 2**28
# Matrices that are made while moments are merged.
MERGING = 4


def chunk_of(layers: int, width: int) -> int:
    """Rows whose vectors are made at once; the network alone decides it, so that sums are the same wherever made."""
    return min(CHUNK, max(FEWEST, VECTORS // (4 * layers * width)))


@dataclass(frozen=True)
class Shares:
    """Pairs cut up so that those of a share are held at once; what that takes, and leaves on disk.

    `source`: a language whose sentences an encoder reads for all others, and which is read with every share. In bytes:
    `moments` are those of one language or pair of a block, `vectors` those of one language of a chunk, with one layer
    of them in float64 and its moments; `matrix` is one of width x width.
    """

    pairs: tuple[tuple[Pair, ...], ...]
    moments: int
    vectors: int
    matrix: int
    source: str = ""

    @classmethod
    def of(
        cls, pairs: Sequence[Pair], memory: int, *, layers: int, all_layers: int, width: int, source: str = ""
    ) -> Shares:
        """As few as fit into memory; one pair at the least."""
        matrix, chunk = 8 * width**2, chunk_of(all_layers, width)
        moments, vectors = layers * matrix, (4 * all_layers + 8) * width * chunk + matrix
        side = moments + vectors
        room = memory - MERGING * matrix - bool(source) * side
        firsts, seconds = (dict.fromkeys(each) for each in zip(*pairs, strict=True))
        if len(firsts) == 1:
            # b languages beside the pivot: b pairs, b + 1 languages
            most = (room - side) // (moments + side)
        else:
            # b languages with b others: b² pairs, 2b languages
            most = (math.isqrt(max(0, side**2 + moments * room)) - side) // moments
            firsts = seconds = dict.fromkeys(chain.from_iterable(pairs))
            if len(pairs) * moments + len(firsts) * side <= room:
                most = len(firsts)
        most = max(1, most)
        rows, columns = ({lang: at // most for at, lang in enumerate(each)} for each in (firsts, seconds))
        by_tile: dict[tuple[int, int], list[Pair]] = {}
        for one, other in pairs:
            by_tile.setdefault((rows[one], columns[other]), []).append((one, other))
        return cls(tuple(map(tuple, by_tile.values())), moments, vectors, matrix, source)

    def langs(self, share: Sequence[Pair]) -> set[str]:
        """Languages that are read for a share."""
        return set(chain.from_iterable(share)) | ({self.source} if self.source else set())

    @property
    def read(self) -> int:
        """How many languages are read, those of several shares more than once."""
        return sum(len(self.langs(share)) for share in self.pairs)

    @property
    def on_disk(self) -> int:
        """Bytes of all moments of one block of rows."""
        return self.moments * (self.read + sum(map(len, self.pairs)))

    @property
    def memory(self) -> int:
        """Bytes that the largest share takes, about."""
        return MERGING * self.matrix + max(
            len(share) * self.moments + len(self.langs(share)) * (self.moments + self.vectors) for share in self.pairs
        )

    def together(self, blocks: int) -> int:
        """Bytes it takes to put blocks together: the moments of one pair and layer, of each and of all behind it."""
        return 6 * blocks * self.matrix
