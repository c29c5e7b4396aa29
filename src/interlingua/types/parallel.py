"""Sentences in several languages, row by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import TYPE_CHECKING, Any, Self, overload

from interlingua.errors import InputError, UnknownNameError
from interlingua.languages import Language
from interlingua.types.corpus import Corpus, Pick, digest, strings

if TYPE_CHECKING:
    import numpy as np


class Row(dict[str, str]):
    """One sentence in several languages, by language tag; any spelling of a tag will do."""

    def __missing__(self, tag: str | Language) -> str:
        code = str(Language.parse(tag))
        if code == tag:
            raise UnknownNameError("language in this row", code, self)
        return self[code]


@dataclass(frozen=True, kw_only=True, repr=False)
class ParallelCorpus(Corpus):
    """The same sentences in several languages: row i of one language translates row i of every other.

    `corpus["fr"]` is the column of one language, `corpus[3]` one row as a dictionary,
    `corpus[:100]` a shorter corpus, `corpus.languages("en", "fr")` a narrower one; `corpus.langs`
    lists the languages.
    """

    langs: tuple[Language, ...]
    columns: tuple[tuple[str, ...], ...]

    @classmethod
    def from_texts(
        cls,
        texts: Mapping[str, Sequence[str]] | Mapping[Language, Sequence[str]],
        *,
        name: str = "unnamed",
        licence: str = "unknown",
        ids: Sequence[str] = (),
        notes: Sequence[str] = (),
    ) -> Self:
        """From a mapping of language tag to sentences."""
        return cls(
            langs=tuple(Language.parse(tag) for tag in texts),
            columns=tuple(tuple(column) for column in texts.values()),
            name=name,
            licence=licence,
            ids=tuple(ids),
            notes=tuple(notes),
        )

    def __post_init__(self) -> None:
        if not self.langs or len(self.langs) != len(self.columns):
            raise InputError(f"{self.name}: {len(self.langs)} languages for {len(self.columns)} columns of text")
        seen: dict[Language, Language] = {}
        for lang in self.langs:
            if lang in seen:
                given = f"{seen[lang].tag or seen[lang]} and {lang.tag or lang}"
                raise InputError(f"{self.name}: {given} are both {lang}: a language can be there only once")
            seen[lang] = lang
        n = len(self.columns[0])
        for lang, column in zip(self.langs, self.columns, strict=True):
            if len(column) != n:
                raise InputError(
                    f"{self.langs[0]} has {n} sentences and {lang} has {len(column)}: "
                    "row i of one must translate row i of the other"
                )
        super().__post_init__()

    def __len__(self) -> int:
        return len(self.columns[0])

    def __repr__(self) -> str:
        return f"<ParallelCorpus {self.name}: {len(self):,} rows, {', '.join(map(str, self.langs))}>"

    @overload
    def __getitem__(self, key: str | Language) -> tuple[str, ...]: ...
    @overload
    def __getitem__(self, key: int) -> Row: ...
    @overload
    def __getitem__(self, key: slice) -> Self: ...
    def __getitem__(self, key: str | Language | int | slice) -> tuple[str, ...] | Row | Self:
        if isinstance(key, slice):
            return self._select(lambda values: values[key])
        if isinstance(key, str | Language):
            return self.columns[self._position(key)]
        if isinstance(key, bool) or not hasattr(key, "__index__"):
            raise InputError(f"{self.name}: ask for a language, a row number or a slice, not {key!r}")
        if not -len(self) <= key < len(self):
            raise InputError(f"{self.name} has {len(self)} rows: there is no row {key}")
        return Row((str(lang), column[key]) for lang, column in zip(self.langs, self.columns, strict=True))

    def __iter__(self) -> Iterator[Row]:
        return (self[i] for i in range(len(self)))

    def _position(self, tag: str | Language) -> int:
        lang = Language.parse(tag)
        if lang not in self.langs:
            raise UnknownNameError(f"language in {self.name}", str(lang), map(str, self.langs))
        return self.langs.index(lang)

    def languages(self, *tags: str | Language) -> Self:
        """Only these languages, in this order."""
        positions = [self._position(tag) for tag in tags]
        return replace(
            self,
            langs=tuple(self.langs[p] for p in positions),
            columns=tuple(self.columns[p] for p in positions),
        )

    def where(self, wanted: Sequence[bool] | np.ndarray[Any, Any], *, note: str = "") -> Self:
        """Only the rows for which `wanted` is true; `note` goes into the notes."""
        if len(wanted) != len(self):
            raise InputError(f"{self.name}: {len(wanted)} choices for {len(self)} rows: give one for each")
        chosen = self._select(lambda values: tuple(compress(values, wanted)))
        return replace(chosen, notes=(*self.notes, note)) if note else chosen

    def _select(self, pick: Pick) -> Self:
        return replace(self, ids=pick(self.ids), columns=tuple(pick(column) for column in self.columns))

    def hash_of(self, tag: str | Language) -> str:
        """SHA-256 of one language's sentences alone: the key under which its vectors can be reused."""
        return digest(strings(self[Language.parse(tag)]))

    def _content(self) -> Iterator[str]:
        for lang in sorted(self.langs):
            yield str(lang)
            yield self.hash_of(lang)
