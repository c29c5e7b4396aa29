"""Sentences of one language with what people wrote about them: classes, tags, trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from interlingua.errors import InputError, UnknownNameError
from interlingua.languages import Language
from interlingua.types.corpus import Rows, Words, strings


@dataclass(frozen=True, kw_only=True, repr=False)
class LabelledCorpus(Rows):
    """Sentences or sentence pairs of one language, with a class each (`labels` is None where unlabelled).

    `texts[i]` holds one string per name in `fields`: ("text",) for sentiment, ("premise",
    "hypothesis") for inference, ("premise", "choice1", "choice2", "question") for XCOPA.
    """

    language: Language
    fields: tuple[str, ...]
    texts: tuple[tuple[str, ...], ...]
    labels: tuple[str, ...] | None
    per_row: ClassVar[tuple[str, ...]] = ("texts", "labels")
    identity: ClassVar[tuple[str, ...]] = ("language", "fields")

    def __post_init__(self) -> None:
        super().__post_init__()
        for key, row in zip(self.ids, self.texts, strict=True):
            if len(row) != len(self.fields):
                raise InputError(f"{self.name} row {key}: {len(row)} texts for {len(self.fields)} fields")

    def __repr__(self) -> str:
        return f"<LabelledCorpus {self.name}: {len(self):,} rows, {self.language}>"

    @property
    def classes(self) -> tuple[str, ...]:
        """The distinct labels, sorted."""
        return tuple(sorted(set(self.labels or ())))

    def column(self, name: str) -> tuple[str, ...]:
        """One field of every row."""
        if name not in self.fields:
            raise UnknownNameError(f"field in {self.name}", name, self.fields)
        position = self.fields.index(name)
        return tuple(row[position] for row in self.texts)


class Span(NamedTuple):
    """An entity: words `start` up to, not including, `end`."""

    label: str
    start: int
    end: int


@dataclass(frozen=True, kw_only=True, repr=False)
class TaggedCorpus(Rows):
    """Sentences as words with a tag each: entities in IOB2 (`entities` True) or plain tags such as UPOS."""

    language: Language
    words: tuple[Words, ...]
    tags: tuple[Words, ...] | None
    entities: bool = True
    per_row: ClassVar[tuple[str, ...]] = ("words", "tags")

    def __post_init__(self) -> None:
        super().__post_init__()
        for key, words, tags in zip(self.ids, self.words, self.tags or self.words, strict=True):
            if len(words) != len(tags):
                raise InputError(f"{self.name} row {key}: {len(words)} words but {len(tags)} tags")

    def spans(self, row: int) -> tuple[Span, ...]:
        """The entities of one sentence, by the rules of conlleval."""
        if self.tags is None or not self.entities:
            raise InputError(f"{self.name} has no entity tags")
        return spans(self.tags[row])

    @property
    def tagset(self) -> tuple[str, ...]:
        """The distinct tags, sorted."""
        return tuple(sorted({tag for row in self.tags or () for tag in row}))


def spans(tags: Sequence[str]) -> tuple[Span, ...]:
    """Entities in a sequence of IOB1, IOB2 or IOBES tags, by the rules of conlleval.

    A new entity starts at B or S, wherever the type changes, and at an I or E that follows O or the end of
    an entity; so `I-PER I-PER` is one entity in IOB1, and in an IOB2 file that forgot its B.
    """
    found: list[Span] = []
    previous, current, start = "O", "", 0
    for i, tag in enumerate((*tags, "O")):
        prefix, _, label = tag.partition("-")
        continues = prefix in ("I", "E", "M") and previous in ("B", "I", "M") and label == current
        if previous != "O" and not continues:
            found.append(Span(current, start, i))
        if prefix != "O" and not continues:
            start = i
        previous, current = prefix, label
    return tuple(found)


class Multiword(NamedTuple):
    """A surface token that stands for words `start` up to, not including, `end` (`du` for `de le`)."""

    form: str
    start: int
    end: int


@dataclass(frozen=True)
class Tree:
    """One parsed sentence: syntactic words, universal tags, heads (0 is the root, i the i-th word), relations."""

    words: Words
    upos: Words
    heads: tuple[int, ...]
    relations: Words
    multiwords: tuple[Multiword, ...] = ()
    text: str | None = None

    def __len__(self) -> int:
        return len(self.words)

    @property
    def tokens(self) -> Words:
        """The surface tokens: a multiword token once, not the words it stands for."""
        inside = {i for m in self.multiwords for i in range(m.start + 1, m.end)}
        forms = {m.start: m.form for m in self.multiwords}
        return tuple(forms.get(i, word) for i, word in enumerate(self.words) if i not in inside)


@dataclass(frozen=True, kw_only=True, repr=False)
class Treebank(Rows):
    """Parsed sentences of one language, in Universal Dependencies version 2."""

    language: Language
    trees: tuple[Tree, ...]
    per_row: ClassVar[tuple[str, ...]] = ("trees",)

    def __post_init__(self) -> None:
        super().__post_init__()
        for key, tree in zip(self.ids, self.trees, strict=True):
            if len({len(tree.words), len(tree.upos), len(tree.heads), len(tree.relations)}) > 1:
                raise InputError(f"{self.name} row {key}: words, tags, heads and relations differ in number")

    def tagged(self) -> TaggedCorpus:
        """The same sentences as words with their universal part of speech."""
        return TaggedCorpus(
            name=self.name,
            licence=self.licence,
            ids=self.ids,
            notes=self.notes,
            language=self.language,
            words=tuple(tree.words for tree in self.trees),
            tags=tuple(tree.upos for tree in self.trees),
            entities=False,
        )

    def _content(self) -> Iterator[str]:
        yield str(self.language)
        for tree in self.trees:
            yield from strings((tree.words, tree.upos, tree.heads, tree.relations, tree.multiwords, tree.text))
