"""Parallel text, however it is laid out: one file a language, columns of a table, TMX, SQuAD-style JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from interlingua.corpora.columns import JSON, Column, open_table
from interlingua.corpora.files import open_bytes, read_all
from interlingua.errors import FormatError, InputError
from interlingua.languages import Language
from interlingua.types import ParallelCorpus

# Headings that happen to be language codes (`id` is looked at on its own).
NO_HEADING = frozenset("doc key num ref row src tgt url set".split())


def read_lines(
    files: Mapping[Language, Path], *, name: str = "unnamed", licence: str = "unknown", ids: Path | None = None
) -> ParallelCorpus:
    """One file a language, line i of one translating line i of every other (also Moses pairs)."""
    if not files:
        raise InputError(f"{name}: no files to read")
    texts = {lang: read_all(path) for lang, path in files.items()}
    (first, reference), *others = texts.items()
    for lang, column in others:
        if len(column) != len(reference):
            raise FormatError(
                files[lang],
                min(len(column), len(reference)) + 1,
                f"{first} has {len(reference)} lines and {lang} has {len(column)}: "
                "line i of one must translate line i of the other",
            )
    return ParallelCorpus.from_texts(texts, name=name, licence=licence, ids=read_all(ids) if ids else ())


def read_columns(
    path: Path,
    columns: Mapping[Language, Column],
    *,
    header: bool | None = None,
    ids: Column | None = None,
    where: Mapping[Column, Language] | None = None,
    name: str = "unnamed",
    licence: str = "unknown",
) -> ParallelCorpus:
    """Columns of a TSV, CSV, `|||` or JSONL file, one a language; `ids` is a column of row ids (else rows are counted).

    `where` keeps only the rows whose column holds a tag of that language (rows of the Tatoeba
    Challenge say which of several languages or scripts they are in).
    """
    table = open_table(path, header=header)
    conditions = {} if where is None else dict(where)
    wanted = [*columns.values(), *conditions, *([] if ids is None else [ids])]
    texts: list[list[str]] = [[] for _ in columns]
    keys = []
    count = 0
    for count, (line, cells) in enumerate(table.rows(wanted), 1):
        tags = zip(cells[len(columns) :], conditions.values(), strict=False)
        if any(_tag(path, line, tag) != lang for tag, lang in tags):
            continue
        keys.append(str(count) if ids is None else cells[-1])
        for column, cell in zip(texts, cells, strict=False):
            column.append(cell)
    if not keys:
        raise FormatError(path, None, "no rows" if not conditions else f"no rows in {', '.join(map(str, columns))}")
    notes = (f"{count - len(keys)} of {count} rows are in other languages or scripts and were left out",)
    return ParallelCorpus(
        langs=tuple(columns),
        columns=tuple(map(tuple, texts)),
        name=name,
        licence=licence,
        ids=tuple(keys),
        notes=notes if count > len(keys) else (),
    )


def _tag(path: Path, line: int, tag: str) -> Language:
    try:
        return Language.parse(tag)
    except InputError as error:
        raise FormatError(path, line, str(error)) from error


def read_pair(
    path: Path,
    source: Language,
    target: Language,
    *,
    columns: tuple[Column, Column] = (0, 1),
    tags: tuple[Column, Column] | None = None,
    name: str = "unnamed",
    licence: str = "unknown",
) -> ParallelCorpus:
    """Two columns of a table without a header; `tags` are the columns that say which languages a row is in."""
    where = None if tags is None else dict(zip(tags, (source, target), strict=True))
    chosen = dict(zip((source, target), columns, strict=True))
    return read_columns(path, chosen, header=False, where=where, name=name, licence=licence)


def read_table(
    path: Path, languages: Sequence[Language] = (), *, name: str = "unnamed", licence: str = "unknown"
) -> ParallelCorpus:
    """A table whose header, or whose JSON keys, are language tags (`en`, `fr`, ...); other columns are ignored.

    A column `id` holds row ids, unless Indonesian is asked for or there is no other second language. A table without a
    header is read by position where exactly as many languages are named as it has columns.
    """
    table = open_table(path, header=True)
    names = table.names()
    found = language_columns(path, names)
    indonesian = Language.parse("id")
    ids = "id" if "id" in names and indonesian not in languages and len(found) > 2 else None
    if ids:
        del found[indonesian]
    if not found and languages and table.delimiter != JSON and len(names) == len(languages):
        chosen: dict[Language, Column] = dict(zip(languages, range(len(names)), strict=True))
        return read_columns(path, chosen, header=False, name=name, licence=licence)
    for lang in languages:
        if lang not in found:
            have = ", ".join(map(str, found)) or "no language at all: its first row is " + ", ".join(names)[:80]
            raise InputError(f"{path} has no column for {lang}: it has {have}")
    if len(found) < 2:
        first = ", ".join(map(repr, names))[:80]
        raise FormatError(
            path, 1, f"no two columns are named by a language tag such as en or fr: the first row is {first}"
        )
    return read_columns(
        path, {lang: found[lang] for lang in languages or found}, header=True, ids=ids, name=name, licence=licence
    )


def language_columns(path: Path, names: Sequence[str]) -> dict[Language, Column]:
    """The columns whose names are language tags; the same language twice is an error."""
    columns: dict[Language, Column] = {}
    for heading in names:
        if heading.lower() in NO_HEADING:
            continue
        try:
            lang = Language.parse(heading)
        except InputError:
            continue
        if lang in columns:
            raise FormatError(path, 1, f"the columns {columns[lang]!r} and {heading!r} are both {lang}")
        columns[lang] = heading
    return columns


def read_squad(
    files: Mapping[Language, Path], part: str = "questions", *, name: str = "unnamed", licence: str = "unknown"
) -> ParallelCorpus:
    """SQuAD-style JSON, parallel across languages: its `questions` or its `paragraphs`, matched by question id."""
    if part not in ("questions", "paragraphs"):
        raise InputError(f"{name}: read questions or paragraphs, not {part!r}")
    found: dict[Language, dict[str, str]] = {lang: _squad(path, part) for lang, path in files.items()}
    (first, reference), *others = found.items()
    for lang, rows in others:
        if list(rows) != list(reference):
            raise FormatError(
                files[lang], None, f"{lang} and {first} do not hold the same {part} ({len(rows)} and {len(reference)})"
            )
    texts = {lang: list(rows.values()) for lang, rows in found.items()}
    return ParallelCorpus.from_texts(texts, name=name, licence=licence, ids=list(reference))


def _squad(path: Path, part: str) -> dict[str, str]:
    with open_bytes(path) as stream:
        try:
            document: Any = json.loads(stream.read().decode("utf-8-sig"))
            rows: dict[str, str] = {}
            for article in document["data"]:
                for paragraph in article["paragraphs"]:
                    questions = {str(q["id"]): str(q["question"]) for q in paragraph["qas"]}
                    if part == "questions":
                        rows.update(questions)
                    elif questions:
                        rows[next(iter(questions))] = str(paragraph["context"])
        except (ValueError, RecursionError) as error:
            raise FormatError(path, getattr(error, "lineno", None), f"not JSON in UTF-8: {error}") from error
        except (KeyError, TypeError) as error:
            raise FormatError(path, None, f"not SQuAD-style JSON: {error!r} is missing or has another type") from error
    if not rows:
        raise FormatError(path, None, f"holds no {part}")
    return rows
