"""Sentences become batches: tokenised, sorted by length inside a block, cut by a budget of tokens.

A block is a run of consecutive rows (2,048 sentences or 4,096 words by default) and the unit of work: it is written,
committed and, after a kill, redone as a whole. The plan depends on the sentences and the budget alone, so a resumed run
makes the same batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import torch

from interlingua.errors import InputError
from interlingua.languages import Language
from interlingua.models import Model
from interlingua.models.codes import speak

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Tokens:
    """Tokenised sentences, end to end: sentence s has the tokens `starts[s]` up to `starts[s + 1]`.

    `content` says which tokens are not special; `offsets`, where the tokenizer tells, which characters a token covers.
    """

    ids: Array
    content: Array
    starts: Array
    offsets: Array | None = None

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> Array:
        """The number of tokens of every sentence."""
        return np.diff(self.starts)

    @classmethod
    def of(cls, ids: Sequence[Sequence[int]], special: Sequence[Sequence[int]], offsets: Any = None) -> Tokens:
        """From lists: token numbers, which are special, and characters."""
        starts = np.concatenate([[0], np.cumsum([len(row) for row in ids], dtype=np.int64)])
        total = int(starts[-1])
        return cls(
            np.fromiter(chain.from_iterable(ids), np.int64, total),
            np.fromiter(chain.from_iterable(special), np.int8, total) == 0,
            starts,
            None if offsets is None else np.array(list(chain.from_iterable(offsets)), np.int64).reshape(total, 2),
        )


def tokenise(
    model: Model,
    lang: Language,
    texts: Sequence[str],
    *,
    truncate: bool = False,
    target: bool = False,
    offsets: bool = False,
) -> Tokens:
    """Token numbers of every sentence; with `target`, as a decoder reads it: behind the token it starts with."""
    speak(model.tokenizer, lang, target=target)
    limit = model.limit - target if truncate and model.limit is not None else None
    read = _quickly if model.tokenizer.is_fast and not target else _politely
    tokens = read(model.tokenizer, list(texts), limit, target=target, offsets=offsets)
    if len(tokens.ids) and int(tokens.ids.max()) >= model.rows:
        raise InputError(
            f"{model.name} has embeddings for {model.rows} tokens, and its tokenizer makes number "
            f"{int(tokens.ids.max())}: they do not belong together"
        )
    return started(model, tokens) if target else tokens


def _quickly(tokenizer: Any, texts: list[str], limit: int | None, *, target: bool, offsets: bool) -> Tokens:
    """From the backend of a fast tokenizer, without what transformers puts around each of its encodings."""
    core = tokenizer.backend_tokenizer
    core.no_padding()
    if limit is None:
        core.no_truncation()
    else:
        core.enable_truncation(limit, direction=tokenizer.truncation_side)
    core.encode_special_tokens = tokenizer.split_special_tokens
    found = core.encode_batch(texts) if offsets else core.encode_batch_fast(texts)
    return Tokens.of(
        [e.ids for e in found],
        [e.special_tokens_mask for e in found],
        [e.offsets for e in found] if offsets else None,
    )


def _politely(tokenizer: Any, texts: list[str], limit: int | None, *, target: bool, offsets: bool) -> Tokens:
    """Through the tokenizer's own call, which knows about targets and tokenizers written in Python."""
    encoded = tokenizer(
        **{"text_target" if target else "text": texts},
        add_special_tokens=True,
        return_special_tokens_mask=True,
        return_attention_mask=False,
        return_token_type_ids=False,
        return_offsets_mapping=offsets,
        truncation=limit is not None,
        max_length=limit,
        verbose=False,
    )
    return Tokens.of(encoded["input_ids"], encoded["special_tokens_mask"], encoded.get("offset_mapping"))


def started(model: Model, tokens: Tokens) -> Tokens:
    """As in training: the decoder's start token first, or mBART's language code, which its tokenizer puts last."""
    config = model.network.config
    start = getattr(config, "decoder_start_token_id", None)
    if start is None and "t5" in config.model_type:
        start = config.pad_token_id
    firsts = tokens.ids[tokens.starts[1:] - 1] if start is None else np.full(len(tokens), start)
    if start is None and not hasattr(model.tokenizer, "tgt_lang"):
        return tokens
    where = tokens.starts[:-1]
    offsets = None if tokens.offsets is None else np.insert(tokens.offsets, where, 0, axis=0)
    return Tokens(
        np.insert(tokens.ids, where, firsts),
        np.insert(tokens.content, where, values=False),
        tokens.starts + np.arange(len(tokens) + 1),
        offsets,
    )


def faults(model: Model, tokens: Tokens, *, truncate: bool, words: bool) -> tuple[Array, Array]:
    """Which sentences have no content (which is no fault where `words` are asked for), and which are too long."""
    before = np.concatenate([[0], np.cumsum(tokens.content)])
    empty = np.diff(before[tokens.starts]) == 0
    limit = np.inf if truncate or model.limit is None else model.limit
    return np.flatnonzero(empty & (not words)), np.flatnonzero(tokens.lengths > limit)


@dataclass(frozen=True)
class Batch:
    """Sentences of a block that go through the network together."""

    rows: Array
    length: int


def batches(lengths: Array | Sequence[int], budget: int) -> list[Batch]:
    """Rows in order of length, the longest first, as many together as fit the budget when padded."""
    sizes = np.asarray(lengths)
    order = np.argsort(-sizes, kind="stable")
    result: list[Batch] = []
    start = 0
    while start < len(order):
        length = max(1, int(sizes[order[start]]))
        count = max(1, budget // length)
        result.append(Batch(order[start : start + count], length))
        start += count
    return result


def collate(tokens: Tokens, rows: Array, pad: int | None) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Token numbers of some sentences, which of them are there at all and which are content: each (sentences, tokens).

    Padding is on the right, whatever the tokenizer's own setting: then every token has the position it has alone, in
    networks with absolute positions too, and no decoder token ever looks at padding.
    """
    lengths = tokens.lengths[rows]
    present = np.arange(int(lengths.max())) < lengths[:, None]
    places = (tokens.starts[rows][:, None] + np.arange(present.shape[1]))[present]
    ids = np.full(present.shape, 0 if pad is None else pad, np.int64)
    content = np.zeros(present.shape, np.int64)
    ids[present] = tokens.ids[places]
    content[present] = tokens.content[places]
    return torch.from_numpy(ids), torch.from_numpy(present.astype(np.int64)), torch.from_numpy(content)
