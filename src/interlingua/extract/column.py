"""One language of a corpus as one model reads it: which rows its sentences give, and what goes into the network.

At sentence level a sentence is a row; at word and type level a row is a word that has a vector, and a block of rows
takes the sentences its words are in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch

from interlingua.extract.plan import Array, Tokens, check_tokens, collate, tokenise
from interlingua.extract.words import Members, Sentence, places_of, tokenise_words, weights
from interlingua.languages import Language
from interlingua.models import Model
from interlingua.types import Labels


@dataclass(frozen=True)
class Column:
    """The sentences of one language. `words` is None at sentence level.

    `encoder` are the sentences an encoder reads while its decoder, which is looked at, reads `texts`.
    """

    lang: Language
    model: Model
    texts: Sequence[str]
    words: Sequence[Sentence] | None = None
    encoder: Sequence[str] | None = None
    encoder_lang: Language | None = None
    join: str = "mean"
    truncate: bool = False

    def __len__(self) -> int:
        return len(self.texts)

    def read(self, first: int, stop: int) -> Reading:
        """Tokens of the sentences `first` up to `stop`."""
        texts, target = self.texts[first:stop], self.model.feeds_decoder
        members = None
        if self.words is None:
            tokens = tokenise(self.model, self.lang, texts, truncate=self.truncate, target=target)
        else:
            rows = self.words[first:stop]
            tokens, members = tokenise_words(self.model, self.lang, rows, truncate=self.truncate, target=target)
        encoder = None
        if self.encoder is not None:
            lang = self.encoder_lang or self.lang
            encoder = tokenise(self.model, lang, self.encoder[first:stop], truncate=self.truncate)
        return Reading(tokens, encoder, members)


@dataclass(frozen=True)
class Reading:
    """Tokenised sentences: of the stack that is looked at, of the encoder where that is another, and their words."""

    tokens: Tokens
    encoder: Tokens | None = None
    members: Members | None = None

    @property
    def lengths(self) -> Array:
        """Tokens of every sentence: of the longer one, where two are read."""
        own = self.tokens.lengths
        return own if self.encoder is None else np.maximum(own, self.encoder.lengths)


@dataclass(frozen=True)
class Rows:
    """Which rows a column gives: sentence s gives the rows `before[s]` up to `before[s + 1]`.

    `row_of` (word level) is the row of every word, counted through all sentences, or -1 where it has none.
    """

    before: Array
    lengths: Array
    first_word: Array | None = None
    row_of: Array | None = None
    labels: Labels | None = None

    def __len__(self) -> int:
        return int(self.before[-1])

    def sentences(self, block: int, size: int) -> tuple[int, int]:
        """The sentences that the rows of a block come from."""
        first = int(np.searchsorted(self.before, block * size, side="right")) - 1
        stop = int(np.searchsorted(self.before, min((block + 1) * size, len(self)), side="left"))
        return first, stop


def look(
    column: Column, chunk: int, *, least: int = 1, most: int | None = None, room: int = 0
) -> tuple[Rows, dict[int, Reading]]:
    """Read a whole column before anything is computed: an error after an hour helps nobody.

    Words whose type has a vector fewer than `least` or more than `most` times give no row. What was read is kept, by
    first sentence, up to `room` tokens.
    """
    lengths, there = [], []
    keep: dict[int, Reading] = {}
    for first in range(0, len(column), chunk):
        reading = column.read(first, first + chunk)
        for tokens in (reading.tokens, reading.encoder):
            if tokens is not None:
                words = column.words is not None and tokens is reading.tokens
                check_tokens(column.model, column.lang, tokens, first_row=first, truncate=column.truncate, words=words)
        lengths.append(reading.lengths)
        if reading.members is not None:
            there.append(np.stack([reading.members.sentence + first, reading.members.word]))
        room -= len(reading.tokens.ids)
        if room >= 0:
            keep[first] = reading
    sizes = np.concatenate(lengths) if lengths else np.zeros(0, np.int64)
    if column.words is None:
        return Rows(np.arange(len(column) + 1), sizes), keep
    found = np.concatenate(there, axis=1) if there else np.zeros((2, 0), np.int64)
    return _word_rows(column.words, sizes, found, least, most), {}


def _word_rows(words: Sequence[Sentence], lengths: Array, there: Array, least: int, most: int | None) -> Rows:
    first_word = np.concatenate([[0], np.cumsum([len(s.words) for s in words], dtype=np.int64)])
    forms = tuple(chain.from_iterable(s.words for s in words))
    present = np.zeros(len(forms), bool)
    present[first_word[there[0]] + there[1]] = True
    counts = Counter(form for form, here in zip(forms, present, strict=True) if here)
    wanted = {form for form, n in counts.items() if n >= least and (most is None or n <= most)}
    chosen = present & np.fromiter((form in wanted for form in forms), bool, len(forms))
    row_of = np.where(chosen, np.cumsum(chosen) - 1, -1)
    places = places_of(words)
    labels = Labels(
        tuple(form for form, here in zip(forms, chosen, strict=True) if here), places[chosen], None, places[~present]
    )
    before = np.concatenate([[0], np.cumsum(chosen)])[first_word]
    return Rows(before, lengths, first_word, row_of, labels)


@dataclass(frozen=True)
class Work:
    """What to compute for a block: sentences, and the row of the block that each sentence or word of them goes to."""

    column: Column
    reading: Reading
    # the sentences that have rows here, and how many rows the block has
    chosen: Array
    size: int
    # word level: sentence, slot in it, position and weight of every token of a word; and the row of every slot
    members: tuple[Array, Array, Array, Array] | None = None
    slots: tuple[Array, Array, Array] | None = None

    @property
    def lengths(self) -> Array:
        """Tokens of the chosen sentences."""
        return self.reading.lengths[self.chosen]

    def inputs(self, rows: Array) -> tuple[dict[str, torch.Tensor], torch.Tensor, torch.Tensor]:
        """What the network takes for some of the chosen sentences; and which tokens are content, and there at all."""
        pad = self.column.model.tokenizer.pad_token_id
        ids, present, content = collate(self.reading.tokens, self.chosen[rows], pad)
        if self.reading.encoder is None:
            return {"input_ids": ids, "attention_mask": present}, content, present
        source, there, _ = collate(self.reading.encoder, self.chosen[rows], pad)
        batch = {"input_ids": source, "attention_mask": there}
        return {**batch, "decoder_input_ids": ids, "decoder_attention_mask": present}, content, present

    def joining(self, rows: Array, length: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, Array]:
        """Weights (sentences, slots, tokens) for some sentences; and sentence, slot and row of every word in them."""
        if self.members is None or self.slots is None:
            raise TypeError("sentences have no words to join")
        place = np.full(len(self.reading.tokens), -1)
        place[self.chosen[rows]] = np.arange(len(rows))
        sentence, slot, position, weight = (values[place[self.members[0]] >= 0] for values in self.members)
        of, slots, row = (values[place[self.slots[0]] >= 0] for values in self.slots)
        table = np.zeros((len(rows), int(slots.max()) + 1, length), np.float32)
        table[place[sentence], slot, position] = weight
        return torch.from_numpy(table), torch.from_numpy(place[of]), torch.from_numpy(slots), row


def work(column: Column, rows: Rows, reading: Reading, first: int, block: int, size: int) -> Work:
    """The work of a block whose sentences, from `first` on, have been read."""
    start, stop = block * size, min((block + 1) * size, len(rows))
    if reading.members is None or rows.row_of is None or rows.first_word is None:
        return Work(column, reading, np.arange(len(reading.tokens)), stop - start)
    m = reading.members
    row = rows.row_of[rows.first_word[m.sentence + first] + m.word]
    inside = (row >= start) & (row < stop)
    kept = Members(m.sentence[inside], m.word[inside], m.position[inside])
    row = row[inside] - start
    new = np.append(True, row[1:] != row[:-1])[: len(row)]
    # Rows run through a sentence one by one, so the slot of a word is its row less that of the sentence's first.
    sentences, begins = np.unique(kept.sentence, return_index=True)
    slot = row - row[begins][np.searchsorted(sentences, kept.sentence)]
    members = (kept.sentence, slot, kept.position, weights(kept, column.join))
    return Work(column, reading, sentences, stop - start, members, (kept.sentence[new], slot[new], row[new]))
