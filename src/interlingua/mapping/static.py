"""Vectors of words trained without any context: what a model's vectors of words have to beat (fastText, by gensim)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import numpy as np

from interlingua.corpora.segment import segment
from interlingua.errors import InputError, MissingExtraError
from interlingua.mapping.induce import Words

WIDTH, WINDOW, MIN_COUNT = 300, 5, 5
# Rows for pieces of words, which share them by chance: fastText's own two million take gigabytes.
BUCKETS = 200_000


class _Lines:
    """Lines as lower-case words, read as often as gensim likes."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.words = [[line[a:b].lower() for a, b in segment(line)] for line in lines]

    def __iter__(self) -> Iterator[list[str]]:
        return iter(self.words)


def static_words(
    lines: Iterable[str],
    *,
    width: int = WIDTH,
    min_count: int = MIN_COUNT,
    epochs: int = 5,
    only: Collection[str] | None = None,
    seed: int = 0,
    workers: int = 1,
) -> Words:
    """Skip-gram vectors (fastText) of the words of a text, the most frequent first; `only` keeps some of them.

    The same seed gives the same vectors with one worker only. Bojanowski et al. 2017.
    """
    try:
        from gensim.models import FastText
    except ImportError as error:
        raise MissingExtraError("gensim", "map", "static vectors") from error
    text = _Lines(lines)
    try:
        model = FastText(
            text.words, vector_size=width, window=WINDOW, min_count=min_count, sg=1, epochs=epochs, seed=seed,
            workers=workers, bucket=BUCKETS,
        )  # fmt: skip
    except RuntimeError as error:
        raise InputError(
            f"no word of the text occurs {min_count} times: give more text, or a lower min_count"
        ) from error
    words = [word for word in model.wv.index_to_key if only is None or word in only]
    if not words:
        raise InputError("the text and the vocabulary have no word in common")
    return Words(tuple(words), np.stack([model.wv[word] for word in words]).astype(np.float64))
