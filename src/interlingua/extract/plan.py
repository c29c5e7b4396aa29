"""Sentences become batches: tokenised once, sorted by length inside a block, cut by a budget of tokens.

A block is a run of consecutive rows (2,048 by default) and the unit of work: it is written, committed and, after a
kill, redone as a whole. The plan depends on the sentences and the budget alone, so a resumed run makes the same
batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from interlingua.errors import InputError
from interlingua.models import Model

BLOCK = 2048
BUDGET = 16_384


@dataclass(frozen=True)
class Tokens:
    """One sentence: token numbers, and which of them are content (not special)."""

    ids: tuple[int, ...]
    content: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Batch:
    """Rows of a block that go through the network together."""

    rows: tuple[int, ...]
    length: int


def tokenise(model: Model, sentences: Sequence[str], *, truncate: bool = False, first_row: int = 0) -> list[Tokens]:
    """Token numbers of every sentence; sentences without content, or longer than the model takes, are an error."""
    encoded = model.tokenizer(
        list(sentences),
        add_special_tokens=True,
        return_special_tokens_mask=True,
        return_attention_mask=False,
        truncation=truncate and model.limit is not None,
        max_length=model.limit if truncate else None,
        verbose=False,
    )
    result = [
        Tokens(tuple(ids), tuple(1 - s for s in special))
        for ids, special in zip(encoded["input_ids"], encoded["special_tokens_mask"], strict=True)
    ]
    empty = [first_row + i + 1 for i, tokens in enumerate(result) if not any(tokens.content)]
    if empty:
        raise InputError(f"{_rows(empty)} without any token for {model.name}: remove or fill them in every language")
    if model.limit is not None and not truncate:
        long = [first_row + i + 1 for i, tokens in enumerate(result) if len(tokens) > model.limit]
        if long:
            raise InputError(
                f"{_rows(long)} longer than the {model.limit} tokens {model.name} takes: pass truncate to cut them"
            )
    return result


def _rows(rows: Sequence[int]) -> str:
    shown = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
    return f"{len(rows)} sentence{'s' if len(rows) > 1 else ''} (row {shown}) {'are' if len(rows) > 1 else 'is'}"


def batches(lengths: Sequence[int], budget: int = BUDGET) -> list[Batch]:
    """Rows in order of length, the longest first, as many together as fit the budget when padded."""
    order = sorted(range(len(lengths)), key=lambda row: (-lengths[row], row))
    result: list[Batch] = []
    start = 0
    while start < len(order):
        length = lengths[order[start]]
        size = max(1, budget // length)
        result.append(Batch(tuple(order[start : start + size]), length))
        start += size
    return result


def collate(model: Model, tokens: Sequence[Tokens]) -> tuple[dict[str, Any], torch.Tensor, torch.Tensor]:
    """What the network takes, and which tokens are content and which are there at all.

    Padding is on the right, whatever the tokenizer's own setting: then every token has the position it has alone, in
    networks with absolute positions too, and no decoder token ever looks at padding.
    """
    length = max(map(len, tokens))
    pad = model.tokenizer.pad_token_id
    ids = torch.full((len(tokens), length), 0 if pad is None else pad, dtype=torch.long)
    present = torch.zeros((len(tokens), length), dtype=torch.long)
    content = torch.zeros((len(tokens), length), dtype=torch.long)
    for row, sentence in enumerate(tokens):
        ids[row, : len(sentence)] = torch.tensor(sentence.ids)
        content[row, : len(sentence)] = torch.tensor(sentence.content)
        present[row, : len(sentence)] = 1
    return {"input_ids": ids, "attention_mask": present}, content, present
