"""One language of a corpus as one model reads it: which rows its sentences give, and what goes into the network.

At sentence level a sentence is a row; at word and type level a row is a word that has a vector, and a block of rows
takes the sentences its words are in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch

from interlingua.errors import InputError
from interlingua.extract.plan import Array, Tokens, collate, faults, tokenise
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
        found = faults(self.model, tokens, truncate=self.truncate, words=self.words is not None)
        if self.words is None:
            blank = np.flatnonzero([not text.strip() for text in texts])
            found = np.union1d(found[0], blank).astype(np.int64), found[1]
        if encoder is not None:
            more = faults(self.model, encoder, truncate=self.truncate, words=self.words is not None)
            found = np.union1d(found[0], more[0]), np.union1d(found[1], more[1])
        return Reading(tokens, encoder, members, found)


@dataclass(frozen=True)
class Reading:
    """Tokenised sentences: of the stack that is looked at, of the encoder where that is another, and their words.

    `faults` are the sentences without content and those that are too long.
    """

    tokens: Tokens
    encoder: Tokens | None
    members: Members | None
    faults: tuple[Array, Array]

    @property
    def faulty(self) -> bool:
        """Whether a sentence cannot be read."""
        return any(map(len, self.faults))

    @property
    def lengths(self) -> Array:
        """Tokens of every sentence: of the longer one, where two are read."""
        own = self.tokens.lengths
        return own if self.encoder is None else np.maximum(own, self.encoder.lengths)


def complain(columns: Iterable[Column], chunk: int = 2048) -> None:
    """An error that counts, in every language, the sentences that cannot be read."""
    problems: list[str] = []
    hints: dict[str, None] = {}
    for column in columns:
        found = [(first, column.read(first, first + chunk).faults) for first in range(0, len(column), chunk)]
        empty, long = (np.concatenate([first + 1 + bad[kind] for first, bad in found]) for kind in (0, 1))
        name = column.model.name
        if len(empty):
            problems.append(f"{column.lang}: {_rows(empty)} without any token for {name}")
            hints["remove or fill empty ones everywhere"] = None
        if len(long):
            problems.append(f"{column.lang}: {_rows(long)} longer than the {column.model.limit} tokens {name} takes")
            hints["truncate=True (--truncate) cuts long ones"] = None
    raise InputError(f"{'; '.join(problems)}: {', '.join(hints)}")


def _rows(rows: Array) -> str:
    shown = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
    return f"{len(rows)} sentence{'s' if len(rows) > 1 else ''} (row {shown}) {'are' if len(rows) > 1 else 'is'}"


@dataclass(frozen=True)
class Rows:
    """Which rows a column gives: sentence s gives the rows `before[s]` up to `before[s + 1]`.

    At word level, `row_of` is the row of every word, counted through all sentences, or -1 where it has none; sentence s
    begins with the word `first_word[s]`.
    """

    before: Array
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


def rows_of(
    column: Column,
    *,
    least: int = 1,
    most: int | None = None,
    keep: int | None = None,
    seed: int = 0,
    chunk: int = 2048,
) -> Rows:
    """The rows of a column: every sentence, or every word that has tokens and whose type occurs often enough.

    Words have to be tokenised for it, all of them: those whose type has a vector fewer than `least` or more than `most`
    times give no row. At most `keep` occurrences of a type give one, drawn from `seed`.
    """
    if column.words is None:
        return Rows(np.arange(len(column) + 1))
    there = [np.zeros((2, 0), np.int64)]
    for first in range(0, len(column), chunk):
        reading = column.read(first, first + chunk)
        if reading.faulty:
            complain([column])
        if reading.members is not None:
            there.append(np.stack([reading.members.sentence + first, reading.members.word]))
    return _word_rows(column.words, np.concatenate(there, axis=1), least, most, keep, seed)


def _word_rows(
    words: Sequence[Sentence], there: Array, least: int, most: int | None, keep: int | None, seed: int
) -> Rows:
    first_word = np.concatenate([[0], np.cumsum([len(s.words) for s in words], dtype=np.int64)])
    forms = tuple(chain.from_iterable(s.words for s in words))
    present = np.zeros(len(forms), bool)
    present[first_word[there[0]] + there[1]] = True
    counts = Counter(form for form, here in zip(forms, present, strict=True) if here)
    wanted = {form for form, n in counts.items() if n >= least and (most is None or n <= most)}
    chosen = present & np.fromiter((form in wanted for form in forms), bool, len(forms))
    if keep is not None:
        chosen = _sampled(forms, chosen, keep, seed)
    row_of = np.where(chosen, np.cumsum(chosen) - 1, -1)
    places = places_of(words)
    labels = Labels(
        tuple(form for form, here in zip(forms, chosen, strict=True) if here), places[chosen], None, places[~present]
    )
    before = np.concatenate([[0], np.cumsum(chosen)])[first_word]
    return Rows(before, first_word, row_of, labels)


def _sampled(forms: Sequence[str], chosen: Array, keep: int, seed: int) -> Array:
    """At most `keep` of the chosen occurrences of every form."""
    number: dict[str, int] = {}
    places = np.flatnonzero(chosen)
    types = np.array([number.setdefault(forms[i], len(number)) for i in places.tolist()], np.int64)
    order = np.lexsort((np.random.default_rng(seed).random(len(places)), types))
    rank = np.arange(len(places)) - np.searchsorted(types[order], types[order])
    found = np.zeros_like(chosen)
    found[places[order[rank < keep]]] = True
    return found


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

    def inputs(self, rows: Array) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        """What the network takes for some of the chosen sentences; and which tokens are content."""
        pad = self.column.model.tokenizer.pad_token_id
        ids, present, content = collate(self.reading.tokens, self.chosen[rows], pad)
        if self.reading.encoder is None:
            return {"input_ids": ids, "attention_mask": present}, content
        source, there, _ = collate(self.reading.encoder, self.chosen[rows], pad)
        batch = {"input_ids": source, "attention_mask": there}
        return {**batch, "decoder_input_ids": ids, "decoder_attention_mask": present}, content

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
