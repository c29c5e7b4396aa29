"""What the catalogue says about a data set, and how its files are told apart by their names.

A pattern such as `xnli.{split}.{lang}.tsv` is matched against every path below the data set's folder, with or
without a compression suffix. `{lang}` is a language tag, `{source}-{target}` a pair, `{split}` train, dev
or test, `{part}` whatever else tells files apart (a treebank, a domain, a version).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

from interlingua.corpora.files import SUFFIXES
from interlingua.errors import LanguageError
from interlingua.languages import Language


class Kind(StrEnum):
    """Which record a data set becomes."""

    PARALLEL = "parallel text"
    LABELLED = "labelled sentences"
    TAGGED = "tagged words"
    TREEBANK = "treebank"
    DICTIONARY = "dictionary"
    BITEXT = "word alignments"
    TEXT = "plain text"


@dataclass(frozen=True)
class File:
    """One file of a data set and what its name says about it."""

    path: Path
    languages: tuple[Language, ...]
    side: Language | None = None
    split: str = ""
    part: str = ""

    @property
    def bytes(self) -> int:
        """Its size on disk."""
        return self.path.stat().st_size


@dataclass(frozen=True)
class Origin:
    """Where a data set comes from. `verified` only where bytes fetched from `url` were compared with `sha256`.

    `url` may hold `{lang}`, `{source}`, `{target}`, `{split}` and `{part}`; `path` says under which name in the data
    set's folder the file is kept. `codes` gives the tags this origin uses where they differ from ours (or from ISO
    639-3, where it uses that: `alpha3`); `english_last`: it names pairs xx-en, never en-xx.
    `exceptions` are addresses of files, by the name they are kept under, that do not follow `url`.
    """

    page: str
    url: str = ""
    path: str = ""
    archive: bool = False
    alpha3: bool = False
    english_last: bool = False
    exceptions: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[str, str] = field(default_factory=dict)
    sha256: Mapping[str, str] = field(default_factory=dict)
    verified: bool = False


@dataclass(frozen=True)
class HubOrigin:
    """A data set on the Hugging Face Hub: its id, the name of a configuration, and which column is what."""

    id: str
    config: str = "{lang}"
    columns: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Dataset:
    """One line of the catalogue.

    `read` makes the record of the chosen files; its arguments follow from the kind (see `loading.py`).
    `aliases` maps what file names say to what we say, for languages and splits alike.
    `row_aligned`: row i is the same sentence in every language, so it also serves as parallel text.
    """

    name: str
    kind: Kind
    files: tuple[str, ...]
    read: Callable[..., Any]
    licence: str
    citation: str
    origin: Origin
    folder: str = ""
    split: str = ""
    part: str = ""
    language: str = ""
    ids: str = ""
    aliases: Mapping[str, str] = field(default_factory=dict)
    row_aligned: bool = False
    hub: HubOrigin | None = None
    note: str = ""
    built_in: bool = False

    @property
    def directory(self) -> str:
        """The name of its folder below a data root."""
        return self.folder or self.name

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str], ...]:
        return tuple(map(compile_pattern, self.files))

    def scan(self, root: Path) -> list[File]:
        """Every file below `root` that one of the patterns describes."""
        found = []
        for path in sorted(p for p in root.rglob("*") if p.is_file()):
            relative = path.relative_to(root).as_posix()
            matches = (pattern.fullmatch(relative) for pattern in self._patterns)
            match = next(filter(None, matches), None)
            if match is None or relative == self.ids:
                continue
            try:
                found.append(self._file(path, match.groupdict()))
            except LanguageError:
                continue  # NOTICE.txt looks like {lang}.txt
        return found

    def _file(self, path: Path, groups: dict[str, str]) -> File:
        part = groups.get("part", "")

        def language(tag: str) -> Language:
            return Language.parse(self.aliases.get(f"{tag}_{part}") or self.aliases.get(tag, tag))

        pair = tuple(language(groups[g]) for g in ("source", "target") if g in groups)
        side = language(groups["lang"]) if "lang" in groups else None
        if not pair:
            pair = (side,) if side else (language(self.language),)
        split = groups.get("split", "")
        return File(path, pair, side, self.aliases.get(split, split), part)


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """The regular expression for a pattern of the catalogue."""
    tag = r"[A-Za-z]{2,11}(?:[-_][A-Za-z]{2,4})*"
    groups = {
        "lang": tag,
        "source": r"[A-Za-z]{2,3}(?:_[A-Za-z]{4})?",
        "target": r"[A-Za-z]{2,3}(?:_[A-Za-z]{4})?",
        "split": r"[A-Za-z0-9_]+(?:-[0-9]+)?",
        "part": r"[A-Za-z0-9_.-]+?",
        "any": r"[^/]*?",
    }
    expression = ""
    for literal, name in re.findall(r"([^{]*)(?:\{(\w+)\})?", pattern):
        expression += re.escape(literal)
        if name == "any":
            expression += groups[name]
        elif name:
            expression += f"(?P={name})" if f"(?P<{name}>" in expression else f"(?P<{name}>{groups[name]})"
    return re.compile(expression + "(?:" + "|".join(map(re.escape, SUFFIXES)) + ")?")
