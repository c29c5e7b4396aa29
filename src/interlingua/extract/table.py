"""Table level: words as rows of the embedding table, without any context, position or normalisation.

A word of several tokens is the mean (or first, or last) of their rows; `single` leaves only words of one token, as
Wu et al. 2020 do.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import chain

import numpy as np
import torch

from interlingua.extract.column import Column, Reading
from interlingua.extract.plan import Array
from interlingua.extract.words import Members, alone, places_of, weights
from interlingua.types import Labels


def table_vectors(
    column: Column, *, least: int = 1, most: int | None = None, single: bool = False
) -> tuple[Labels, Array]:
    """The word types of a column that occur between `least` and `most` times, and their vectors (1, types, neurons)."""
    forms = Counter(chain.from_iterable(s.words for s in column.words or ()))
    types = [form for form, n in forms.items() if n >= least and (most is None or n <= most)]
    entries = tuple(map(alone, types))
    reading = replace(column, texts=types, words=entries, encoder=None).read(0, len(types))
    members, kept, without = _chosen(reading, single, len(types))
    row = np.cumsum(kept) - 1
    table = column.model.part.get_input_embeddings().weight.detach()
    tokens = torch.from_numpy(reading.tokens.ids[reading.tokens.starts[members.sentence] + members.position])
    rows = table[tokens.to(table.device)].to("cpu", torch.float64)
    parts = rows * torch.from_numpy(weights(members, column.join)).to(torch.float64)[:, None]
    vectors = torch.zeros((int(kept.sum()), table.shape[1]), dtype=torch.float64)
    vectors.index_add_(0, torch.from_numpy(row[members.sentence]), parts)
    words = tuple(form for form, here in zip(types, kept, strict=True) if here)
    tokenless = {form for form, none in zip(types, without, strict=True) if none}
    places = places_of(column.words or ())
    lost = np.fromiter((w in tokenless for s in column.words or () for w in s.words), bool, len(places))
    labels = Labels(words, None, np.array([forms[w] for w in words], np.int64), places[lost])
    return labels, vectors.to(torch.float32).numpy()[None]


def _chosen(reading: Reading, single: bool, n: int) -> tuple[Members, Array, Array]:
    """The tokens of words that have some (with `single`, exactly one); which words these are, and which have none."""
    members = reading.members or Members(*np.zeros((3, 0), np.int64))
    counts = np.bincount(members.sentence, minlength=n)
    kept = counts == 1 if single else counts > 0
    inside = kept[members.sentence]
    return Members(members.sentence[inside], members.word[inside], members.position[inside]), kept, counts == 0
