"""What an extraction costs, without computing anything: bytes, batches, floating-point operations.

Operations are those of the matrix products: 2 for every weight of the blocks and every token, padding included, and
4 · tokens² · width for the attention of a sentence in a block. Networks that use only some of their weights for a token
(mixtures of experts), or look at a window only, need fewer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from interlingua.extract.column import Column, Rows, complain
from interlingua.extract.extraction import columns_of, look_at, settled
from interlingua.extract.options import SENTENCE, TABLE, TYPE, Extraction
from interlingua.extract.plan import Array, batches
from interlingua.extract.tally import types_of
from interlingua.extract.words import Record
from interlingua.languages import Language
from interlingua.models import Model, PerLanguage
from interlingua.models.layers import blocks_of


@dataclass(frozen=True)
class Cost:
    """What there is to do. `tokens` are those of the text, `padded` those that go through the network."""

    sentences: int
    rows: int
    tokens: int
    padded: int
    batches: int
    bytes: int
    flops: int


def cost(
    model: Model | PerLanguage, corpus: Record | Sequence[Record], *, device: str = "cpu", **options: Any
) -> dict[Language, Cost]:
    """The cost of `extract` with these options, by language, on a "cpu" or on "cuda"."""
    how = settled(Extraction(**options), device)
    columns = columns_of(model, corpus, how)
    if how.level == TABLE:
        return {lang: _of_table(column, how) for lang, column in columns.items()}
    rows = look_at(columns, how)
    return {lang: _of(column, rows[lang], how) for lang, column in columns.items()}


def _of(column: Column, rows: Rows, how: Extraction) -> Cost:
    layers = column.model.layers
    vectors = len(types_of(rows)[0]) if how.level == TYPE else len(rows)
    padded = flops = count = 0
    lengths_of = _lengths(column)
    weights, looks = _weights(column.model), _attentions(column.model)
    for block in range(-(-len(rows) // how.block)):
        first, stop = rows.sentences(block, how.block)
        lengths = lengths_of[first:stop]
        if how.level != SENTENCE:
            lengths = lengths[np.diff(rows.before[first : stop + 1]) > 0]
        for batch in batches(lengths, how.budget):
            tokens = len(batch.rows) * batch.length
            padded += tokens
            count += 1
            flops += 2 * weights * tokens + 4 * looks * layers.width * tokens * batch.length
    return Cost(
        sentences=len(column),
        rows=vectors,
        tokens=int(lengths_of.sum()),
        padded=padded,
        batches=count,
        bytes=vectors * len(layers) * layers.width * np.dtype(how.dtype).itemsize,
        flops=flops,
    )


def _lengths(column: Column, chunk: int = 2048) -> Array:
    """Tokens of every sentence."""
    lengths = []
    for first in range(0, len(column), chunk):
        reading = column.read(first, first + chunk)
        if reading.faulty:
            complain([column])
        lengths.append(reading.lengths)
    return np.concatenate(lengths)


def _of_table(column: Column, how: Extraction) -> Cost:
    """At most: words that the tokenizer drops are not known before they are looked up."""
    forms = Counter(chain.from_iterable(s.words for s in column.words or ()))
    types = sum(n >= how.min_count and (how.max_count is None or n <= how.max_count) for n in forms.values())
    size = types * column.model.layers.width * np.dtype(how.dtype).itemsize
    return Cost(sentences=len(column), rows=types, tokens=0, padded=0, batches=0, bytes=size, flops=0)


def _attentions(model: Model) -> int:
    """How often a token looks at a sentence: once a block, and once more at the encoder from a decoder's."""
    if not model.feeds_decoder:
        return model.layers.blocks
    return len(blocks_of(model.network.get_encoder())) + 2 * model.layers.blocks


def _weights(model: Model) -> int:
    """Weights of the blocks that a token is multiplied with."""
    stacks = [model.network.get_encoder(), model.part] if model.feeds_decoder else [model.part]
    return sum(p.numel() for stack in stacks for p in blocks_of(stack).parameters() if p.ndim > 1)
