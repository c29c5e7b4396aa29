"""Sentences that are longer than a network takes: read in windows that share their halves, and put together again.

A fine-cut language has long sentences: what lies behind a limit of 128 tokens would be lost. Every token is taken from
the window in whose middle it is nearest to lying, so that it has been read with something on either side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

Array = np.ndarray[Any, Any]
Batch = dict[str, Tensor]


def starts_of(length: int, room: int) -> list[int]:
    """Where windows over so many tokens begin; the last one ends with them."""
    return [*range(0, length - room, max(1, room // 2)), length - room]


def read_long(read: Callable[[Batch], Tensor], batch: Batch, limit: int, around: tuple[int, int], pad: int) -> Tensor:
    """Vectors of all tokens, (sentences, tokens, width), of a batch that may be wider than `limit`.

    `around`: how many special tokens stand before and behind a sentence; every window has them. `read` is called once.
    """
    lengths = batch["attention_mask"].sum(1).tolist()
    windows = [each for row, n in enumerate(lengths) for each in _windows(row, n, limit, around)]
    widest = max(len(columns) for _, columns, _ in windows)
    columns = np.zeros((len(windows), widest), np.int64)
    present = np.zeros((len(windows), widest), bool)
    owned = np.zeros((len(windows), widest), bool)
    for i, (_, where, mine) in enumerate(windows):
        columns[i, : len(where)], present[i, : len(where)], owned[i, : len(where)] = where, True, mine
    device = batch["input_ids"].device
    rows_w, there = torch.tensor([row for row, _, _ in windows], device=device), torch.from_numpy(present).to(device)
    columns_wl = torch.from_numpy(columns).to(device)
    parts: Batch = {
        str(name): torch.where(there, batch[name][rows_w[:, None], columns_wl], pad if name == "input_ids" else 0)
        for name in ("input_ids", "attention_mask", "token_type_ids")
        if name in batch
    }
    hidden_wld = read(parts)
    taken = torch.from_numpy(owned).to(device)
    found = hidden_wld.new_zeros(*batch["input_ids"].shape, hidden_wld.shape[-1])
    places = rows_w[:, None].expand_as(columns_wl)[taken], columns_wl[taken]
    return found.index_put(places, hidden_wld[taken])


def _windows(row: int, length: int, limit: int, around: tuple[int, int]) -> list[tuple[int, Array, Array]]:
    """The windows of a sentence: its row, the columns that each reads, and which of them are taken from it."""
    if length <= limit:
        return [(row, np.arange(length), np.ones(length, bool))]
    before, behind = around
    inside, room = length - before - behind, limit - before - behind
    starts = starts_of(inside, room)
    middles = np.array(starts) + room / 2
    owner = np.abs(np.arange(inside)[:, None] + 0.5 - middles).argmin(1)
    found = []
    for i, start in enumerate(starts):
        columns = np.concatenate(
            [np.arange(before), before + np.arange(start, start + room), np.arange(length - behind, length)]
        )
        mine = np.concatenate(
            [
                np.full(before, i == 0),
                owner[start : start + room] == i,
                np.full(behind, i == len(starts) - 1),
            ]
        )
        found.append((row, columns, mine))
    return found
