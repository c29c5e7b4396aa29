"""BUCC's bitext mining format: two files of `id<TAB>sentence` and a gold list of id pairs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from interlingua.corpora.columns import TAB, open_table
from interlingua.errors import FormatError
from interlingua.languages import Language
from interlingua.types import ParallelCorpus


def read_bucc(files: Mapping[Language, Path], *, name: str = "unnamed", licence: str = "unknown") -> ParallelCorpus:
    """The gold pairs as parallel text; the gold file lies beside the two, ending in `.gold`."""
    sentences = {lang: _sentences(path) for lang, path in files.items()}
    first = next(iter(files.values()))
    stem = first.name.split(".")
    gold = first.with_name(".".join(stem[:2]) + ".gold")
    rows = []
    for number, pair in open_table(gold, delimiter=TAB, header=False).rows((0, 1)):
        row = []
        for lang, known in sentences.items():
            # Ids start with the language (`zh-000000057`), in whichever order the gold file has them.
            matches = [key for key in pair if key in known]
            if len(matches) != 1:
                raise FormatError(gold, number, f"{' and '.join(pair)}: exactly one must be a sentence of {lang}")
            row.append(known[matches[0]])
        rows.append(("|".join(pair), row))
    return ParallelCorpus(
        langs=tuple(files),
        columns=tuple(tuple(row[i] for _, row in rows) for i in range(len(files))),
        ids=tuple(key for key, _ in rows),
        name=name,
        licence=licence,
        notes=(f"gold pairs among {' and '.join(f'{len(s)} {lang}' for lang, s in sentences.items())} sentences",),
    )


def _sentences(path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, (key, sentence) in open_table(path, delimiter=TAB, header=False).rows((0, 1)):
        if key in found:
            raise FormatError(path, number, f"the id {key!r} occurs twice")
        found[key] = sentence
    return found
