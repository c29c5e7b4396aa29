"""Monolingual text: one paragraph a line, a blank line between documents, any compression."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from interlingua.corpora.files import FileLines
from interlingua.languages import Language
from interlingua.types import TextCorpus


def read_text(
    paths: Sequence[Path], language: Language, *, name: str = "unnamed", licence: str = "unknown"
) -> TextCorpus:
    """A stream over the files, one after the other; nothing is read until it is iterated."""
    return TextCorpus(language=language, lines=FileLines(tuple(paths)), name=name, licence=licence)
