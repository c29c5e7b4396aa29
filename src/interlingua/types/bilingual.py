"""Words in two languages: dictionaries, and sentence pairs with word alignments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple, Self

from interlingua.errors import InputError
from interlingua.languages import Language
from interlingua.types.corpus import Rows, Words
from interlingua.types.parallel import ParallelCorpus


class Translation(NamedTuple):
    """A target word and, where the dictionary says it, its probability."""

    word: str
    probability: float | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Dictionary(Rows):
    """A bilingual dictionary, one row a source word with its translations, the best first."""

    source: Language
    target: Language
    words: Words
    translations: tuple[tuple[Translation, ...], ...]
    per_row: ClassVar[tuple[str, ...]] = ("words", "translations")
    identity: ClassVar[tuple[str, ...]] = ("source", "target")

    @classmethod
    def from_pairs(
        cls,
        source: str | Language,
        target: str | Language,
        pairs: Iterable[tuple[str, str, float | None]],
        *,
        name: str = "unnamed",
        licence: str = "unknown",
        notes: Sequence[str] = (),
    ) -> Self:
        """From (source word, target word, probability or None); sorted by probability where there are some."""
        table: dict[str, dict[str, float | None]] = {}
        for word, translation, probability in pairs:
            table.setdefault(word, {}).setdefault(translation, probability)
        return cls(
            source=Language.parse(source),
            target=Language.parse(target),
            words=tuple(table),
            translations=tuple(
                tuple(Translation(w, p) for w, p in sorted(entry.items(), key=lambda item: -(item[1] or 0.0)))
                for entry in table.values()
            ),
            name=name,
            licence=licence,
            notes=tuple(notes),
        )

    @cached_property
    def _index(self) -> dict[str, tuple[Translation, ...]]:
        return dict(zip(self.words, self.translations, strict=True))

    def lookup(self, word: str, best: int | None = None) -> tuple[str, ...]:
        """The `best` first translations of a word (all by default); empty where it has no entry."""
        return tuple(t.word for t in self._index.get(word, ())[:best])

    def __contains__(self, word: object) -> bool:
        return word in self._index

    def pairs(self) -> Iterator[tuple[str, str, float | None]]:
        """Every (source word, target word, probability)."""
        for word, entry in zip(self.words, self.translations, strict=True):
            for translation in entry:
                yield word, translation.word, translation.probability

    def inverse(self) -> Self:
        """Target to source; probabilities are dropped, because they say p(target | source)."""
        return self.from_pairs(
            self.target,
            self.source,
            ((translation, word, None) for word, translation, _ in self.pairs()),
            name=self.name,
            licence=self.licence,
            notes=self.notes,
        )


Links = frozenset[tuple[int, int]]


@dataclass(frozen=True, kw_only=True, repr=False)
class Bitext(Rows):
    """Tokenised sentence pairs, with word alignments where there are some.

    `sure[i]` and `possible[i]` are sets of (source position, target position), counted from 0; `possible`
    includes `sure`. Both are None for text that is not aligned.
    """

    source: Language
    target: Language
    source_words: tuple[Words, ...]
    target_words: tuple[Words, ...]
    sure: tuple[Links, ...] | None = None
    possible: tuple[Links, ...] | None = None
    per_row: ClassVar[tuple[str, ...]] = ("source_words", "target_words", "sure", "possible")
    identity: ClassVar[tuple[str, ...]] = ("source", "target")

    def __post_init__(self) -> None:
        super().__post_init__()
        for links in (self.sure or (), self.possible or ()):
            for key, row, s, t in (
                zip(self.ids, links, self.source_words, self.target_words, strict=True) if links else ()
            ):
                if outside := [link for link in row if not (0 <= link[0] < len(s) and 0 <= link[1] < len(t))]:
                    raise InputError(
                        f"{self.name} row {key}: link {outside[0]} in a pair of {len(s)} and {len(t)} words"
                    )

    def parallel(self) -> ParallelCorpus:
        """The sentences, words joined by spaces, as a parallel corpus."""
        return ParallelCorpus(
            name=self.name,
            licence=self.licence,
            ids=self.ids,
            notes=self.notes,
            langs=(self.source, self.target),
            columns=(tuple(map(" ".join, self.source_words)), tuple(map(" ".join, self.target_words))),
        )
