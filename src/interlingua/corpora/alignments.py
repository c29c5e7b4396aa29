"""Sentence pairs with word alignments: Pharaoh files, TSV with `i-j` links, JSON lines with lists.

In Pharaoh's format `3-5` links word 3 to word 5 for sure and `3p5` possibly; both count from 0 unless the file
counts from 1 (`first=1`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import regex

from interlingua.corpora.columns import JSON, open_table
from interlingua.corpora.files import read_all
from interlingua.errors import FormatError
from interlingua.languages import Language
from interlingua.types import Bitext, Links, Words

LINK = regex.compile(r"([0-9]{1,6})([-p])([0-9]{1,6})")

Row = tuple[int, Words, Words, Links, Links]


def read_pharaoh(
    source_path: Path,
    target_path: Path,
    links_path: Path | None,
    source: Language,
    target: Language,
    *,
    first: int = 0,
    name: str = "unnamed",
    licence: str = "unknown",
) -> Bitext:
    """Two files of tokenised sentences and, beside them, a file of links (None: text that is not aligned)."""
    sides = [[tuple(line.split()) for line in read_all(path)] for path in (source_path, target_path)]
    links = None if links_path is None else read_all(links_path)
    for path, n in ((target_path, len(sides[1])), (links_path, len(sides[0] if links is None else links))):
        if path is not None and n != len(sides[0]):
            raise FormatError(path, None, f"{n} lines where {source_path.name} has {len(sides[0])}")
    if links is None or links_path is None:
        return Bitext(
            source=source,
            target=target,
            source_words=tuple(sides[0]),
            target_words=tuple(sides[1]),
            name=name,
            licence=licence,
        )
    aligned: list[Row] = [
        (i, s, t, *_links(links_path, i, cell, s, t, first))
        for i, (s, t, cell) in enumerate(zip(*sides, links, strict=True), 1)
    ]
    return _bitext(aligned, source, target, name, licence)


def read_aligned_tsv(
    path: Path, source: Language, target: Language, *, name: str = "unnamed", licence: str = "unknown"
) -> Bitext:
    """Three columns: source words, target words, links."""
    rows = []
    for number, (s, t, cell) in open_table(path, header=False).rows((0, 1, 2)):
        words = tuple(s.split()), tuple(t.split())
        rows.append((number, *words, *_links(path, number, cell, *words, 0)))
    return _bitext(rows, source, target, name, licence)


def read_aligned_jsonl(
    path: Path,
    source: Language,
    target: Language,
    *,
    lenient: bool = False,
    name: str = "unnamed",
    licence: str = "unknown",
) -> Bitext:
    """Objects with `src_words`, `tgt_words` and `alignment` (pairs of positions from 0; -1 stands for no word).

    A link to a word that is not there is an error; with `lenient` it is left out and counted in the notes.
    """
    outside: list[int] | None = [] if lenient else None
    rows = list(_json_rows(path, outside))
    if not rows:
        raise FormatError(path, None, "the file is empty")
    bitext = _bitext(rows, source, target, name, licence)
    if not outside:
        return bitext
    note = f"{sum(outside)} links in {len(outside)} sentences point outside their sentence and were left out"
    return replace(bitext, notes=(note,))


def _json_rows(path: Path, outside: list[int] | None) -> Iterator[Row]:
    for number, record in open_table(path, delimiter=JSON).objects():
        sides = []
        for key in ("src_words", "tgt_words"):
            words = record.get(key)
            if not isinstance(words, list) or not all(isinstance(w, str) for w in words):
                raise FormatError(path, number, f"{key!r} must be a list of words")
            sides.append(tuple(cast("list[str]", words)))
        pairs = record.get("alignment")
        if not isinstance(pairs, list) or not all(
            isinstance(p, list) and len(p) == 2 and all(type(i) is int for i in p) for p in pairs
        ):
            raise FormatError(path, number, "'alignment' must be a list of pairs of positions")
        real = [(p[0], p[1]) for p in pairs if -1 not in p]
        if outside is not None:
            kept = [(i, j) for i, j in real if 0 <= i < len(sides[0]) and 0 <= j < len(sides[1])]
            if len(kept) < len(real):
                outside.append(len(real) - len(kept))
            real = kept
        links = _within(path, number, real, sides)
        yield number, sides[0], sides[1], links, links


def _links(path: Path, number: int, cell: str, s: Words, t: Words, first: int) -> tuple[Links, Links]:
    sure, possible = [], []
    for item in cell.split():
        match = LINK.fullmatch(item)
        if not match:
            raise FormatError(path, number, f"{item!r} is no link such as 3-5 or 3p5")
        link = (int(match[1]) - first, int(match[3]) - first)
        possible.append(link)
        if match[2] == "-":
            sure.append(link)
    return _within(path, number, sure, (s, t)), _within(path, number, possible, (s, t))


def _within(path: Path, number: int, links: Iterable[tuple[int, int]], sides: Sequence[Words]) -> Links:
    found = frozenset(links)
    for i, j in found:
        if not (0 <= i < len(sides[0]) and 0 <= j < len(sides[1])):
            raise FormatError(
                path, number, f"link {i}-{j} in a pair of {len(sides[0])} and {len(sides[1])} words (counted from 0)"
            )
    return found


def _bitext(rows: Sequence[Row], source: Language, target: Language, name: str, licence: str) -> Bitext:
    return Bitext(
        source=source,
        target=target,
        source_words=tuple(row[1] for row in rows),
        target_words=tuple(row[2] for row in rows),
        sure=tuple(row[3] for row in rows),
        possible=tuple(row[4] for row in rows),
        name=name,
        licence=licence,
    )
