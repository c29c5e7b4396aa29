"""Word links in two directions made one, and how far links are from those of people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from interlingua.errors import InputError, UndefinedError, UnknownNameError

Pairs = tuple[tuple[int, int], ...]
SYMMETRISATIONS = ("intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and")


def symmetrise(forward: Iterable[tuple[int, int]], backward: Iterable[tuple[int, int]], how: str) -> Pairs:
    """One set of links from those of two directions, both written as (source word, target word).

    `grow-diag` starts from the intersection and adds links of the union that touch a link already there, sideways or
    across a corner, while one of their two words has none; it goes through the union in order, again and again, until
    nothing is added. `final` then adds links of the forward and after them of the backward direction where one of the
    two words has no link; `final-and` where neither has. Koehn, Och and Marcu 2003; the order, on which the result can
    depend, is that of fast_align's `atools`, while Moses' `symal` goes through the links it has.
    """
    if how not in SYMMETRISATIONS:
        raise UnknownNameError("symmetrisation", how, SYMMETRISATIONS)
    forward, backward = set(forward), set(backward)
    if how == "union":
        return tuple(sorted(forward | backward))
    links = forward & backward
    if how == "intersection":
        return tuple(sorted(links))
    rows, columns = {i for i, _ in links}, {j for _, j in links}

    def add(i: int, j: int) -> None:
        links.add((i, j))
        rows.add(i)
        columns.add(j)

    candidates, before = sorted((forward | backward) - links), -1
    while len(links) != before:
        before = len(links)
        for i, j in candidates:
            touches = any((i + a, j + b) in links for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b)
            if touches and not (i in rows and j in columns):
                add(i, j)
    for direction in (forward, backward) if "final" in how else ():
        for i, j in sorted(direction - links):
            if not (i in rows or j in columns) or (how == "grow-diag-final" and not (i in rows and j in columns)):
                add(i, j)
    return tuple(sorted(links))


@dataclass(frozen=True, slots=True)
class ErrorRate:
    """The alignment error rate of links A against sure links S and possible links P, over a whole corpus.

    `value` = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|): 0 where every sure link is found and every other one is possible,
    1 where nothing is right. `precision` = |A ∩ P| / |A| (None without links) and `recall` = |A ∩ S| / |S|. Where all
    gold links are sure, 1 - value is their F1. Och and Ney 2003. It is no measure of what the links
    are good for: with few sure links, making fewer links lowers it (Fraser and Marcu 2007).
    """

    value: float
    precision: float | None
    recall: float
    links: int
    sure: int


def error_rate(
    links: Sequence[Iterable[tuple[int, int]]],
    sure: Sequence[Iterable[tuple[int, int]]],
    possible: Sequence[Iterable[tuple[int, int]]],
) -> ErrorRate:
    """How far links are from gold ones, one item a sentence pair; sure links count as possible, listed or not."""
    if not len(links) == len(sure) == len(possible):
        raise InputError(f"links of {len(links)} sentence pairs, sure ones of {len(sure)}, possible of {len(possible)}")
    found = {(k, *link) for k, row in enumerate(links) for link in row}
    certain = {(k, *link) for k, row in enumerate(sure) for link in row}
    allowed = {(k, *link) for k, row in enumerate(possible) for link in row} | certain
    if not certain:
        raise UndefinedError("no sure link in the gold alignments: their error rate and recall are undefined")
    right, hits = len(found & certain), len(found & allowed)
    return ErrorRate(
        value=1 - (right + hits) / (len(found) + len(certain)),
        precision=hits / len(found) if found else None,
        recall=right / len(certain),
        links=len(found),
        sure=len(certain),
    )


# The sentences as arrays
