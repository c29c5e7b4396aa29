"""A few rows of any record, for people."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from interlingua.cli.terminal import cell, visible
from interlingua.types import (
    Bitext,
    Corpus,
    Dictionary,
    LabelledCorpus,
    ParallelCorpus,
    TaggedCorpus,
    TextCorpus,
    Tree,
    Treebank,
)

if TYPE_CHECKING:
    from interlingua.corpora.loading import Record

# Narrower than this a column of text cannot be read: the languages of a row go below one another.
NARROWEST = 22
GAP = "  "


def render(record: Record, n: int, *, as_json: bool = False) -> Iterator[str]:
    """The first `n` rows, as lines to print."""
    if as_json:
        yield json.dumps({**_facts(record), "rows": list(islice(_plain(record), n))}, indent=2, ensure_ascii=False)
        return
    facts = _facts(record)
    size = f"{facts['size']:,} rows, " if facts["size"] is not None else ""
    yield f"{facts['name']}: {size}{', '.join(facts['languages'])}; licence: {facts['licence']}"
    for note in facts["notes"]:
        yield f"note: {note}"
    if isinstance(record, ParallelCorpus):
        yield from _side_by_side(record[:n])
    else:
        for row in islice(_plain(record), n):
            yield "  ".join(_field(key, value) for key, value in row.items())


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


def _field(key: str, value: object) -> str:
    text = visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return text if key in ("text", "tokens") else f"{key}: {text}"


def _plain(record: Record) -> Iterator[dict[str, Any]]:
    """Rows as plain values."""
    if isinstance(record, ParallelCorpus):
        for key, row in zip(record.ids, record, strict=True):
            yield {"id": key, **{str(lang): text for lang, text in row.items()}}
    elif isinstance(record, LabelledCorpus):
        for i, texts in enumerate(record.texts):
            label = {} if record.labels is None else {"label": record.labels[i]}
            yield {**label, **dict(zip(record.fields, texts, strict=True))}
    elif isinstance(record, TaggedCorpus):
        for i, words in enumerate(record.words):
            tags = record.tags[i] if record.tags else ("O",) * len(words)
            yield {"tokens": " ".join(w if t == "O" else f"{w}/{t}" for w, t in zip(words, tags, strict=True))}
    elif isinstance(record, Treebank):
        for tree in record.trees:
            yield {"tokens": " ".join(_arcs(tree))}
    elif isinstance(record, Dictionary):
        for word, entry in zip(record.words, record.translations, strict=True):
            yield {"tokens": f"{word} = {', '.join(t.word for t in entry)}"}
    elif isinstance(record, Bitext):
        for i, (source, target) in enumerate(zip(record.source_words, record.target_words, strict=True)):
            links = sorted(record.sure[i]) if record.sure else []
            yield {
                str(record.source): " ".join(source),
                str(record.target): " ".join(target),
                "links": " ".join(f"{a}-{b}" for a, b in links),
            }
    elif isinstance(record, TextCorpus):
        for paragraph in record:
            yield {"text": paragraph}


def _arcs(tree: Tree) -> Iterator[str]:
    """`dog/NOUN<-nsubj-3`: word, tag, relation and head."""
    for word, tag, head, relation in zip(tree.words, tree.upos, tree.heads, tree.relations, strict=True):
        yield f"{word}/{tag}" + ("(root)" if head == 0 else f"<{relation}-{head}")


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
        cells = [cell(text, width, right_to_left=lang.right_to_left) for lang, text in row.items()]
        for i in range(max(map(len, cells))):
            parts = [lines[i] if i < len(lines) else " " * width for lines in cells]
            yield ((key if i == 0 else "").ljust(ids) + GAP + GAP.join(parts)).rstrip(" ")


def _stacked(corpus: ParallelCorpus, window: int) -> Iterator[str]:
    label = max(cell_len(str(lang)) for lang in corpus.langs)
    for key, row in zip(corpus.ids, corpus, strict=True):
        yield key
        for lang, text in row.items():
            for i, line in enumerate(cell(text, window - label - 4, right_to_left=lang.right_to_left)):
                yield f"  {(str(lang) if i == 0 else '').ljust(label)}{GAP}{line}".rstrip(" ")
