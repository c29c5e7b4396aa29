"""Bilingual dictionaries: MUSE (`source target` a line), tab-separated with a probability or not, concept lists."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from interlingua.corpora.files import lines, read_all
from interlingua.errors import FormatError, InputError
from interlingua.languages import Language
from interlingua.types import Dictionary


def read_dictionary(
    path: Path, source: Language, target: Language, *, name: str = "unnamed", licence: str = "unknown"
) -> Dictionary:
    """A pair of words a line. Words separated by a tab may hold spaces; a third column is p(target | source)."""
    pairs = list(_pairs(path))
    if not pairs:
        raise FormatError(path, None, "the file is empty")
    return Dictionary.from_pairs(source, target, pairs, name=name, licence=licence)


def _pairs(path: Path) -> Iterator[tuple[str, str, float | None]]:
    for number, line in lines(path):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in (line.split("\t") if "\t" in line else line.split())]
        if len(cells) not in (2, 3) or not all(cells):
            raise FormatError(path, number, f"{len(cells)} columns where a pair of words was expected: {line[:60]!r}")
        yield cells[0], cells[1], _probability(path, number, cells[2]) if len(cells) == 3 else None


def _probability(path: Path, number: int, cell: str) -> float:
    try:
        value = float(cell)
    except ValueError as error:
        raise FormatError(path, number, f"{cell!r} is no probability") from error
    if not (math.isfinite(value) and 0 <= value <= 1):
        raise FormatError(path, number, f"{cell} is no probability: it must lie between 0 and 1")
    return value


def read_concepts(
    files: Mapping[Language, Path],
    source: Language,
    target: Language,
    *,
    name: str = "unnamed",
    licence: str = "unknown",
) -> Dictionary:
    """One file a language, line i of each naming the same concept; several words for it are joined by `|`.

    Every pair of languages is a dictionary; within a line every word of one language translates every
    word of the other, the first of each being the most usual.
    """
    columns = {lang: read_all(files[lang]) for lang in (source, target)}
    rows = list(columns.values())
    if len(rows) != 2:
        raise InputError(f"{name}: a dictionary needs two different languages, not {source} twice")
    if len(rows[0]) != len(rows[1]):
        raise FormatError(
            files[target], None, f"{source} has {len(rows[0])} lines and {target} has {len(rows[1])}: they must match"
        )
    pairs = ((a, b, None) for left, right in zip(*rows, strict=True) for a in left.split("|") for b in right.split("|"))
    return Dictionary.from_pairs(source, target, pairs, name=name, licence=licence)
