"""RANDOM-INIT (Muller et al. 2021): layers drawn anew before tuning, to see which of them transfer needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from interlingua.errors import InputError
from interlingua.models import Model
from interlingua.models.layers import blocks_of
from interlingua.models.load import seeded

FLAG = "_is_hf_initialized"


def reinitialise(model: Model, layers: Sequence[int], *, seed: int = 0) -> Model:
    """Draw the weights of some blocks (1 is the first) anew, with the network's own initialiser; the model is changed.

    transformers marks what was loaded so that its initialisers leave it alone: the mark is taken off first.
    """
    blocks = blocks_of(model.part)
    if wrong := [n for n in layers if not 1 <= n <= len(blocks)]:
        raise InputError(f"there is no block {wrong[0]}: blocks run from 1 to {len(blocks)}")
    with seeded(seed), torch.no_grad():
        for number in sorted(set(layers)):
            for module in blocks[number - 1].modules():
                _unmark(module)
            blocks[number - 1].apply(model.network._init_weights)
    model.__dict__.pop("weights", None)
    return model


def _unmark(module: Any) -> None:
    for owner in (module, *module.parameters(recurse=False), *module.buffers(recurse=False)):
        if hasattr(owner, FLAG):
            delattr(owner, FLAG)


def chosen(name: str, blocks: int) -> tuple[tuple[int, ...], ...]:
    """Which blocks to draw anew together: `pairs` (1-2, 3-4, ...), `each`, `below`, or lists such as `1-2,5,7-8`."""
    if name == "pairs":
        return tuple(tuple(n for n in (first, first + 1) if n <= blocks) for first in range(1, blocks + 1, 2))
    if name == "each":
        return tuple((n,) for n in range(1, blocks + 1))
    if name == "below":
        return tuple(tuple(range(1, k + 1)) for k in range(1, blocks + 1))
    found = []
    for part in filter(None, name.split(",")):
        first, _, last = part.strip().partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            raise InputError(f"{part!r} names no blocks: write pairs, each, below, or numbers such as 1-2,5")
        found.append(tuple(range(int(first), int(last or first) + 1)))
    if wrong := [group for group in found if not group or group[0] < 1 or group[-1] > blocks]:
        shown = f"{wrong[0][0]}-{wrong[0][-1]}" if wrong[0] else name
        raise InputError(f"there are no blocks {shown}: they run from 1 to {blocks}")
    return tuple(found)
