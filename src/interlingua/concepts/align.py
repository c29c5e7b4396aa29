"""CALIGN: which concepts of one language correspond to one of another (Mousi et al. 2024).

    match(c, d) = |{s in c : one of the N best translations of s is in d}| / |c|
    c is aligned if some d has match(c, d) >= θ, and min(|c|, |d|) / max(|c|, |d|) >= size
    CALIGN = aligned concepts / concepts, of those with more than `types` types

c and d are sets of word types, of concepts that were discovered apart. Words without a translation stay in |c|. All of
it is two sparse products: no loop over pairs of concepts. Where it misleads: a lexicon that knows few of the words
makes every concept unaligned, so look at `covered`; and large concepts match by chance, so look at the null.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interlingua.concepts.discover import Concepts
from interlingua.concepts.lexicon import Lexicon
from interlingua.concepts.shares import reaches, share
from interlingua.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Rules:
    """When two concepts correspond. `strict` and `one_sided` are the published script's way.

    `one_sided`: only a source concept that is too small for its target is refused, and targets may be of any size.
    """

    match: float = 0.8
    best: int = 10
    types: int = 5
    size: float = 0.6
    strict: bool = False
    one_sided: bool = False

    def __post_init__(self) -> None:
        for name in ("match", "size"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} is {getattr(self, name)}: a share from 0 to 1 is needed")
        if self.best < 1 or self.types < 0:
            raise InputError(
                f"best is {self.best} and types {self.types}: at least 1 translation, and 0 types, are needed"
            )


# By name: as the paper defines it, and as its script computes it (strictly more than every threshold, sizes compared
# one way, the target's own size not looked at).
RULES = {"defined": Rules(), "published": Rules(strict=True, one_sided=True, size=0.4)}


def rules(name: str) -> Rules:
    """Rules by name."""
    if name not in RULES:
        raise UnknownNameError("rules of alignment", name, RULES)
    return RULES[name]


@dataclass(frozen=True, eq=False)
class Alignment:
    """Which concepts correspond.

    `value` is CALIGN, with a 95 % interval over concepts (Wilson); `considered` concepts have enough types, of `all`
    that have any. `pairs` are (source concept, target concept, share matched), the best first for each. `covered` is
    the share of types of considered concepts that have a translation among the target's types; `null` is the mean
    where target words are shuffled.
    """

    value: float
    low: float
    high: float
    aligned: int
    considered: int
    all: int
    covered: float
    pairs: tuple[tuple[int, int, float], ...]
    null: float = float("nan")


def calign(
    source: Concepts, target: Concepts, lexicon: Lexicon, how: Rules | str = "defined", *, nulls: int = 0, seed: int = 0
) -> Alignment:
    """CALIGN from one language's concepts to another's. The other direction is another number.

    `nulls`: how often the words of target concepts are put in one another's place, concepts keeping their sizes.
    """
    asked = rules(how) if isinstance(how, str) else how
    translates = lexicon.matrix(source.mentions.types, target.mentions.types, asked.best)
    own, other = source.counts.astype(bool), target.counts.astype(bool)
    if not translates.nnz:
        raise InputError(
            f"no word of the {lexicon.source} concepts has a translation among the {lexicon.target} ones: are lexicon "
            "and words of the same languages, and cased and segmented alike?"
        )
    rng = np.random.default_rng(seed)

    def aligned(concepts: csr_matrix) -> Any:
        return _good(_matched(own, translates, concepts), source.sizes, target.sizes, asked)

    good = aligned(other)
    shuffled = [aligned(other[:, rng.permutation(other.shape[1])]) for _ in range(nulls)]
    considered = np.flatnonzero(source.sizes > asked.types)
    n, hits = len(considered), len(np.unique(good.row))
    value, low, high = share(hits, n)
    kept, known = own[considered], np.diff(translates.indptr) > 0
    order = np.lexsort((good.col, -good.data, good.row))
    return Alignment(
        value=value,
        low=low,
        high=high,
        aligned=hits,
        considered=n,
        all=int(np.count_nonzero(source.sizes)),
        covered=float(known[kept.indices].mean()) if kept.nnz else float("nan"),
        pairs=tuple(
            (int(good.row[i]), int(good.col[i]), float(good.data[i] / source.sizes[good.row[i]])) for i in order
        ),
        null=float(np.mean([len(np.unique(each.row)) for each in shuffled])) / n if nulls and n else float("nan"),
    )


def _matched(own: csr_matrix, translates: csr_matrix, other: csr_matrix) -> Any:
    """How many types of each source concept have a translation in each target concept, as (row, col, data)."""
    # (types, target concepts): whether a type has any translation there
    reaches = (translates.astype(np.int32) @ other.T.astype(np.int32)).tocsr()
    reaches.data = np.ones_like(reaches.data)
    return (own.astype(np.int32) @ reaches).tocoo()


def _good(matched: Any, mine: Array, theirs: Array, asked: Rules) -> Any:
    """Those of the pairs that are aligned."""
    from scipy.sparse import coo_matrix

    row, col, data = matched.row, matched.col, matched.data.astype(np.int64)
    c, d = mine[row].astype(np.int64), theirs[col].astype(np.int64)
    small, large = (c, d) if asked.one_sided else (np.minimum(c, d), np.maximum(c, d))
    keep = reaches(data, c, asked.match, strict=asked.strict) & reaches(small, large, asked.size, strict=asked.strict)
    keep &= c > asked.types
    if not asked.one_sided:
        keep &= d > asked.types
    # no word in common is no match, whatever the threshold
    keep &= data > 0
    return coo_matrix((data[keep], (row[keep], col[keep])), shape=matched.shape)


def links(
    source: Concepts, target: Concepts, lexicon: Lexicon, one: int, other: int, best: int = 10
) -> Iterator[tuple[str, str]]:
    """The words of a concept and their translations in another: why the two correspond."""
    there = set(target.types(other))
    for word in source.types(one):
        for translation in lexicon.best(word, best):
            if translation in there:
                yield word, translation
