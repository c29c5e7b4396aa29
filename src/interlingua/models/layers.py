"""Which hidden states a network gives, and what the last one is.

Layer 0 is the embedding output, always; layer i is the output of block i. Networks that normalise after the last block
(GPT-2, XGLM, BLOOM, Llama, Qwen, Gemma, ModernBERT, T5, mBART, M2M-100) hand out the *normalised* state as their
last hidden state; those whose blocks end in a normalisation (BERT, XLM-R, DistilBERT, DeBERTa, Marian) have no such
step. The difference is found by running the network once and looking, not by a table of names, so it holds for any
network.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from interlingua.errors import InputError


@dataclass(frozen=True)
class LayerMap:
    """The layers of one stack: how many blocks, how wide, and whether a normalisation follows the last."""

    blocks: int
    width: int
    final_norm: bool

    def __len__(self) -> int:
        return self.blocks + 1

    def describe(self, layer: int) -> str:
        """What a layer is, in words."""
        if not 0 <= layer <= self.blocks:
            raise InputError(f"there is no layer {layer}: layers run from 0 (embeddings) to {self.blocks}")
        if layer == 0:
            return "embeddings"
        after = ", after the final norm" if self.final_norm and layer == self.blocks else ""
        return f"output of block {layer} of {self.blocks}{after}"


def blocks_of(stack: torch.nn.Module) -> torch.nn.ModuleList:
    """The list of blocks of a stack: its longest list of modules that are alike."""
    lists = [m for m in stack.modules() if isinstance(m, torch.nn.ModuleList) and len({type(b) for b in m}) == 1]
    if not lists:
        raise InputError(f"{type(stack).__name__} has no list of blocks: its layers cannot be told apart")
    # The first of the longest: a stack's blocks come before lists inside them.
    return max(lists, key=len)


def final_norm(stack: torch.nn.Module, run: Any) -> bool:
    """Whether something comes between the last block and the last hidden state that `run()` returns."""
    seen: list[torch.Tensor] = []

    def look(_module: torch.nn.Module, _inputs: Any, output: Any) -> None:
        seen.append(output[0] if isinstance(output, tuple) else output)

    handle = blocks_of(stack)[-1].register_forward_hook(look)
    try:
        last = run()
    finally:
        handle.remove()
    return not (seen and seen[-1].shape == last.shape and torch.equal(seen[-1], last))
