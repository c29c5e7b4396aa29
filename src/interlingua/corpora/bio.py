"""Words with tags, a word a line and a blank line between sentences: CoNLL 2002 and 2003, PAN-X, WikiNEuRal, UNER, POS.

The flavours differ in columns: `word`; `word tag`; `word pos tag`; `word pos chunk tag`; and the same with a
running number in front and annotators' names behind. `read_tagged` finds out from the first sentence
unless it is told. Tags come out as IOB2, whatever the file uses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import regex

from interlingua.corpora.files import lines
from interlingua.errors import FormatError
from interlingua.languages import Language
from interlingua.types import TaggedCorpus, Words, spans

SENTENCES_TO_LOOK_AT = 200
TAG = regex.compile(r"O|[BIESM]-\S+")
PREFIX = regex.compile(r"^([a-z]{2,3}(?:-[a-z-]+)?):(?=.)")


@dataclass(frozen=True)
class Layout:
    """Which columns hold the word and the tag (`tag` None for files of words alone), of how many."""

    word: int
    tag: int | None
    tabs: bool
    width: int


def read_tagged(
    path: Path,
    language: Language,
    *,
    word: int | None = None,
    tag: int | None = None,
    entities: bool = True,
    name: str = "unnamed",
    licence: str = "unknown",
) -> TaggedCorpus:
    """Entities (IOB1, IOB2 or IOBES; `entities`) or plain tags such as UPOS.

    `word` and `tag` are columns from 0 (a negative number counts from the end). Words that all start with
    a language prefix (`de:Berlin`, as PAN-X is distributed) lose it.
    """
    blocks = list(_blocks(path))
    if not blocks:
        raise FormatError(path, None, "holds no words")
    layout = _layout(blocks, word, tag)
    sentences: list[Words] = []
    tags: list[Words] = []
    known: set[str] = set()
    for block in blocks:
        rows = [(number, *_cells(path, number, line, layout)) for number, line in block]
        if layout.tag is not None and entities:
            for number, _, value in rows:
                if value not in known and not TAG.fullmatch(value):
                    raise FormatError(path, number, f"{value!r} is not an entity tag such as O, B-PER or I-LOC")
                known.add(value)
        sentences.append(tuple(row[1] for row in rows))
        tags.append(tuple(row[2] for row in rows))
    sentences, notes = _without_prefix(sentences)
    if layout.tag is not None and entities:
        written, tags = tags, [to_iob2(row) for row in tags]
        changed = sum(a != b for old, new in zip(written, tags, strict=True) for a, b in zip(old, new, strict=True))
        if changed:
            notes.append(f"{changed} tags rewritten as IOB2")
    return TaggedCorpus(
        language=language,
        words=tuple(sentences),
        tags=None if layout.tag is None else tuple(tags),
        entities=entities,
        name=name,
        licence=licence,
        notes=tuple(notes),
    )


def _blocks(path: Path) -> Iterator[list[tuple[int, str]]]:
    """Runs of lines between blank ones; comments and document marks are dropped."""
    block: list[tuple[int, str]] = []
    for number, line in lines(path):
        if line.strip(" \t") == "":
            if block:
                yield block
            block = []
        elif not _is_comment(line) and not line.startswith("-DOCSTART-"):
            block.append((number, line.rstrip(" ")))
    if block:
        yield block


def _is_comment(line: str) -> bool:
    """`# text = ...` and `# newdoc`, but not the word `#` with its tag."""
    return line.startswith("# ") and "\t" not in line and (" = " in line or line.startswith(("# new", "#  ")))


def _layout(blocks: Sequence[Sequence[tuple[int, str]]], word: int | None, tag: int | None) -> Layout:
    """The columns, from the first sentences of the file: one alone may start with a number or lack a tag."""
    sentences = blocks[:SENTENCES_TO_LOOK_AT]
    tabs = any("\t" in line for block in sentences for _, line in block)
    cells = [[line.split("\t") if tabs else line.split(" ") for _, line in block] for block in sentences]
    # The usual number of cells: a word may hold spaces, a line may lack its tag.
    widths = Counter(len(row) for block in cells for row in block)
    width = max(widths, key=lambda w: (widths[w], w))
    if width == 1:
        return Layout(word or 0, tag, tabs, width)
    numbered = width > 2 and all(
        [row[0] for row in block] in ([str(i) for i in range(len(block))], [str(i + 1) for i in range(len(block))])
        for block in cells
    )
    if numbered and len(cells) == 1 and len(cells[0]) == 1:
        # One word alone: a number in front, or a sentence that consists of one? The second cell decides.
        numbered = not TAG.fullmatch(cells[0][0][1]) and width != 4
    first = word if word is not None else int(numbered)
    if tag is not None:
        return Layout(first, tag, tabs, width)
    # Behind a running number comes the word, then its tag; otherwise the tag is the last column.
    return Layout(first, first + 1 if numbered else -1, tabs, width)


def _cells(path: Path, number: int, line: str, layout: Layout) -> tuple[str, str]:
    """The word and its tag ("" where the file has none)."""
    cells = line.split("\t") if layout.tabs else line.split(" ")
    if not layout.tabs and len(cells) > layout.width > 1:
        # A word that holds spaces itself, such as `10 000`.
        end = layout.word + 1 + len(cells) - layout.width
        cells[layout.word : end] = [" ".join(cells[layout.word : end])]
    if layout.tag is None:
        return cells[layout.word], ""
    needed = max(layout.word, layout.tag if layout.tag >= 0 else layout.word + 1) + 1
    if len(cells) < needed:
        raise FormatError(path, number, f"{len(cells)} columns where {needed} are needed: {line[:60]!r}")
    word, tag = cells[layout.word], cells[layout.tag].strip()
    if not word or not tag:
        raise FormatError(path, number, f"an empty {'word' if not word else 'tag'}: {line[:60]!r}")
    return word, tag


def _without_prefix(sentences: list[Words]) -> tuple[list[Words], list[str]]:
    """Words without the language prefix, where every word has the same one."""
    match = PREFIX.match(sentences[0][0])
    if not match or not all(word.startswith(match.group()) for row in sentences for word in row):
        return sentences, []
    cut = len(match.group())
    return [tuple(word[cut:] for word in row) for row in sentences], [f"prefix {match.group()!r} removed"]


def to_iob2(tags: Sequence[str]) -> Words:
    """The same entities in IOB2: B at the first word of each, I inside."""
    result = ["O"] * len(tags)
    for label, start, end in spans(tags):
        result[start] = f"B-{label}"
        for i in range(start + 1, end):
            result[i] = f"I-{label}"
    return tuple(result)
