"""Records become what a network is tuned on: token numbers, where each word begins, and what is lost on the way.

A word is read off at its first token, as in all the papers; words that are written together (`do` and `n't`, `de` and
`le` in `du`) at the first, the second and so on, as far as there are tokens. A word without one (its characters were
dropped by the tokenizer, or it lies behind a limit at which sentences are cut) is read off at the sentence's first
token and is never trained on, so that it counts in every score, as an error as a rule, and is not silently left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import torch

from interlingua.extract.plan import Array, Tokens, collate
from interlingua.extract.words import Record, sentences, tokenise_words
from interlingua.languages import Language
from interlingua.models import Model
from interlingua.models.codes import speak

# The position of a word that is not there: padding.
NOWHERE = -1
# Answers that are not trained on.
IGNORED = -100
# What fills rows of unequal length up, by the name a network knows them by; letters and kinds take 0.
FILLING = {"firsts": NOWHERE, "labels": IGNORED}


@dataclass(frozen=True)
class Encoded:
    """Sentences of one language as a model reads them.

    `firsts[s]` is the position of the first token of every word of sentence s (empty where sentences are asked about
    as wholes), `lost[s]` says which words have none. `kinds`: which of two sentences a token is of, for networks that
    are told. `unknown`: the share of content tokens that the tokenizer has no name for. `beside`: what else a network
    takes, a row or a table a sentence: the letters of every word, the tokens of a translation (`labels`), which is
    `into` a language.
    """

    language: Language
    tokens: Tokens
    firsts: tuple[Array, ...]
    lost: tuple[Array, ...]
    kinds: Array | None
    unknown: float
    beside: Mapping[str, tuple[Array, ...]] = field(default_factory=dict)
    into: Language | None = None

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def words_lost(self) -> int:
        """Words without a token of their own."""
        return sum(int(row.sum()) for row in self.lost)

    def batch(self, rows: Array | Sequence[int], pad: int | None) -> dict[str, torch.Tensor]:
        """Some sentences, padded: token numbers, which are there, and where words begin."""
        chosen = np.asarray(rows)
        ids, present, _ = collate(self.tokens, chosen, pad)
        made = {"input_ids": ids, "attention_mask": present}
        if self.kinds is not None:
            kinds = torch.zeros_like(ids)
            where = [slice(self.tokens.starts[s], self.tokens.starts[s + 1]) for s in chosen]
            kinds[present.bool()] = torch.from_numpy(np.concatenate([self.kinds[part] for part in where]))
            made["token_type_ids"] = kinds
        rows_of = {**({"firsts": self.firsts} if self.firsts else {}), **self.beside}
        for name, all_rows in rows_of.items():
            made[name] = stacked([torch.from_numpy(all_rows[s]) for s in chosen], name)
        return made


def padded(rows: Sequence[Array], filling: int) -> torch.Tensor:
    """Rows of unequal length as one table."""
    table = np.full((len(rows), max((len(row) for row in rows), default=0)), filling, np.int64)
    for place, row in zip(table, rows, strict=True):
        place[: len(row)] = row
    return torch.from_numpy(table)


def stacked(rows: Sequence[torch.Tensor], name: str) -> torch.Tensor:
    """Rows (or tables) of unequal length as one, filled up as their name asks."""
    return torch.nn.utils.rnn.pad_sequence(list(rows), batch_first=True, padding_value=FILLING.get(name, 0))


def encode_words(model: Model, record: Record, *, cut: bool = False) -> Encoded:
    """Words in their sentences; what is longer than the model takes is read in windows, unless it is to be `cut`."""
    ((language, rows),) = sentences(record).items()
    own = model.of(language)
    tokens, members = tokenise_words(own, language, rows, truncate=cut)
    firsts = tuple(np.zeros(len(row.words), np.int64) for row in rows)
    lost = tuple(np.ones(len(row.words), bool) for row in rows)
    ends = np.flatnonzero(np.diff(members.word, append=-1) | np.diff(members.sentence, append=-1))
    for begin, end in zip(np.append(0, ends[:-1] + 1), ends, strict=True) if len(members.word) else ():
        s, w = members.sentence[begin], members.word[begin]
        before = _sharing(rows[s].spans, w)
        firsts[s][w], lost[s][w] = members.position[min(begin + before, end)], False
    return Encoded(language, tokens, firsts, lost, None, _unknown(own, tokens))


def _sharing(spans: Sequence[tuple[int, int]], word: int) -> int:
    """How many words before this one are written by the same characters."""
    before = word
    while before > 0 and spans[before - 1] == spans[word]:
        before -= 1
    return word - before


def encode_texts(model: Model, language: Language, texts: Sequence[Sequence[str]]) -> Encoded:
    """Sentences, or pairs of them, as wholes; the longer of a pair is cut first."""
    own = model.of(language)
    tokenizer, limit = own.tokenizer, own.limit
    speak(tokenizer, language, target=False)
    told = getattr(own.network.config, "type_vocab_size", 0) > 1 and any(len(row) > 1 for row in texts)
    columns = [list(column) for column in zip(*texts, strict=True)]
    found = tokenizer(
        *columns,
        truncation=limit is not None,
        max_length=limit,
        return_special_tokens_mask=True,
        return_token_type_ids=told,
        return_attention_mask=False,
        verbose=False,
    )
    tokens = Tokens.of(found["input_ids"], found["special_tokens_mask"])
    kinds = np.fromiter(chain.from_iterable(found["token_type_ids"]), np.int64, len(tokens.ids)) if told else None
    return Encoded(language, tokens, (), (), kinds, _unknown(own, tokens))


def _unknown(model: Model, tokens: Tokens) -> float:
    nameless: Any = model.tokenizer.unk_token_id
    content = tokens.ids[tokens.content]
    return float(np.mean(content == nameless)) if nameless is not None and len(content) else 0.0
