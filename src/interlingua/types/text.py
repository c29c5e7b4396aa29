"""Monolingual text that need not fit in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Self

from interlingua.errors import InputError
from interlingua.languages import Language
from interlingua.types.corpus import digest

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, kw_only=True, repr=False)
class TextCorpus:
    """Monolingual text, streamed: a paragraph at a time, a blank line between documents.

    `lines` is anything that can be iterated again and again, usually files. `corpus[:1000]` stays a
    stream; `corpus.sample(500, rng)` reads it once and holds the sample.
    """

    language: Language
    lines: Iterable[str]
    name: str = "unnamed"
    licence: str = "unknown"
    start: int = 0
    stop: int | None = None

    def __iter__(self) -> Iterator[str]:
        return islice((line for line in self.lines if line.strip()), self.start, self.stop)

    def __getitem__(self, key: slice) -> Self:
        if not isinstance(key, slice) or key.step not in (None, 1) or (key.start or 0) < 0 or (key.stop or 0) < 0:
            raise InputError(f"{self.name} is a stream: take a slice such as [:1000] or [1000:2000]")
        start = self.start + (key.start or 0)
        stop = None if key.stop is None else self.start + key.stop
        if self.stop is not None:
            stop = self.stop if stop is None else min(stop, self.stop)
        return replace(self, start=start, stop=stop if stop is None else max(stop, start))

    def documents(self) -> Iterator[list[str]]:
        """Paragraphs grouped into documents."""
        document: list[str] = []
        seen = 0
        for line in self.lines:
            if self.stop is not None and seen >= self.stop:
                break
            if not line.strip():
                if document:
                    yield document
                document = []
                continue
            if seen >= self.start:
                document.append(line)
            seen += 1
        if document:
            yield document

    def __repr__(self) -> str:
        return f"<TextCorpus {self.name}: {self.language}>"

    def sample(self, n: int, rng: np.random.Generator | int) -> Self:
        """`n` paragraphs drawn without replacement in one pass, in their original order; `rng` may be a seed."""
        import numpy as np

        if n < 0:
            raise InputError(f"cannot draw {n} paragraphs")
        generator = np.random.default_rng(rng)
        held: list[tuple[int, str]] = []
        for i, line in enumerate(self):
            if i < n:
                held.append((i, line))
            elif (j := int(generator.integers(i + 1))) < n:
                held[j] = (i, line)
        if len(held) < n:
            raise InputError(f"{self.name} has {len(held)} paragraphs: cannot draw {n} without replacement")
        return replace(self, lines=tuple(line for _, line in sorted(held)), start=0, stop=None)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the content; reads the whole stream."""
        return digest((str(self.language), *self))
