"""A few rows of any record, for people."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from interlingua.cli.terminal import cell, visible, wrap
from interlingua.errors import InputError
from interlingua.types import (
    Bitext,
    Corpus,
    Dictionary,
    LabelledCorpus,
    ParallelCorpus,
    TaggedCorpus,
    TextCorpus,
    Treebank,
)

if TYPE_CHECKING:
    from interlingua.corpora.loading import Record

# Narrower than this a column of text cannot be read: the languages of a row go below one another.
NARROWEST = 22
GAP = "  "
# A cell longer than this is cut: nobody reads further in a terminal.
LONGEST = 2000


def render(record: Record, n: int, *, as_json: bool = False) -> Iterator[str]:
    """The first `n` rows, as lines to print."""
    facts = _facts(record)
    if as_json:
        yield json.dumps({**facts, "rows": list(islice(_plain(record), n))}, indent=2, ensure_ascii=False)
        return
    size = f"{facts['size']:,} rows, " if facts["size"] is not None else ""
    yield visible(f"{facts['name']}: {size}{', '.join(facts['languages'])}; licence: {facts['licence']}")
    for note in facts["notes"]:
        yield visible(f"note: {note}")
    if isinstance(record, ParallelCorpus):
        yield from _side_by_side(record[:n])
        return
    window = shutil.get_terminal_size((100, 24)).columns
    for i, row in enumerate(islice(_plain(record), n), 1):
        key = str(row.pop("id", i))
        text = visible(_sentence(row))
        text = text if len(text) <= LONGEST else text[:LONGEST] + " ..."
        for j, line in enumerate(wrap(text, max(NARROWEST, window - len(key) - len(GAP)))):
            yield (visible(key) if j == 0 else " " * len(key)) + GAP + line


def _facts(record: Record) -> dict[str, Any]:
    if isinstance(record, ParallelCorpus):
        languages = [str(lang) for lang in record.langs]
    elif isinstance(record, Dictionary | Bitext):
        languages = [str(record.source), str(record.target)]
    else:
        languages = [str(record.language)]  # type: ignore[union-attr]
    size = len(record) if isinstance(record, Corpus) else None
    notes = list(record.notes) if isinstance(record, Corpus) else []
    return {"name": record.name, "licence": record.licence, "languages": languages, "size": size, "notes": notes}


def _sentence(row: dict[str, Any]) -> str:
    """A row for people: tags and arcs beside their words."""
    if "relations" in row:
        arcs = zip(row["words"], row["upos"], row["heads"], row["relations"], strict=True)
        return " ".join(f"{w}/{u}" + ("(root)" if h == 0 else f"<{r}-{h}") for w, u, h, r in arcs)
    if "tags" in row:
        return " ".join(w if t == "O" else f"{w}/{t}" for w, t in zip(row["words"], row["tags"], strict=True))
    if "translations" in row:
        return f"{row['word']} = {', '.join(row['translations'])}"
    return "  ".join(text if key == "text" else f"{key}: {text}" for key, text in row.items())


def _plain(record: Record) -> Iterator[dict[str, Any]]:
    """Rows as plain values."""
    if isinstance(record, TextCorpus):
        yield from ({"text": paragraph} for paragraph in record)
        return
    for i, key in enumerate(record.ids):
        yield {"id": key, **_values(record, i)}


def _values(record: Corpus, i: int) -> dict[str, Any]:
    if isinstance(record, ParallelCorpus):
        return dict(record[i])
    if isinstance(record, LabelledCorpus):
        label = {} if record.labels is None else {"label": record.labels[i]}
        return {**label, **dict(zip(record.fields, record.texts[i], strict=True))}
    if isinstance(record, TaggedCorpus):
        return {"words": record.words[i], "tags": record.tags[i] if record.tags else ("O",) * len(record.words[i])}
    if isinstance(record, Treebank):
        tree = record.trees[i]
        return {"words": tree.words, "upos": tree.upos, "heads": tree.heads, "relations": tree.relations}
    if isinstance(record, Dictionary):
        return {"word": record.words[i], "translations": [t.word for t in record.translations[i]]}
    if isinstance(record, Bitext):
        links = sorted(record.sure[i]) if record.sure else []
        return {
            str(record.source): " ".join(record.source_words[i]),
            str(record.target): " ".join(record.target_words[i]),
            "links": " ".join(f"{a}-{b}" for a, b in links),
        }
    raise InputError(f"{type(record).__name__} has no rows to show")


def _side_by_side(corpus: ParallelCorpus) -> Iterator[str]:
    """A table with a column a language; one language below the other where the window is too narrow."""
    window = shutil.get_terminal_size((100, 24)).columns
    ids = max(map(len, (*corpus.ids, "row")), default=3)
    width = (window - ids) // len(corpus.langs) - len(GAP)
    if width < NARROWEST:
        yield from _stacked(corpus, window)
        return
    yield ("row".ljust(ids) + GAP + GAP.join(str(lang).ljust(width) for lang in corpus.langs)).rstrip()
    yield "-" * min(window, ids + (width + len(GAP)) * len(corpus.langs))
    for key, row in zip(corpus.ids, corpus, strict=True):
        cells = [cell(row[str(lang)], width, right_to_left=lang.right_to_left) for lang in corpus.langs]
        for i in range(max(map(len, cells))):
            parts = [lines[i] if i < len(lines) else " " * width for lines in cells]
            yield ((key if i == 0 else "").ljust(ids) + GAP + GAP.join(parts)).rstrip(" ")


def _stacked(corpus: ParallelCorpus, window: int) -> Iterator[str]:
    label = max(cell_len(str(lang)) for lang in corpus.langs)
    for key, row in zip(corpus.ids, corpus, strict=True):
        yield key
        for lang in corpus.langs:
            for i, line in enumerate(cell(row[str(lang)], window - label - 4, right_to_left=lang.right_to_left)):
                yield f"  {(str(lang) if i == 0 else '').ljust(label)}{GAP}{line}".rstrip(" ")
