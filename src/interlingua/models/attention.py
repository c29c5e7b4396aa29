"""Attention in float32 where a CPU trains in half precision: the gradients of torch's own take up to 8 times as long.

Under bfloat16 an update of a small network spends half of its time there; products, which are most of the rest, gain by
it. Nothing else changes: a GPU, float32 and networks that only read compute as they did.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

NAME = "sdpa_float32"


def attended(q: Tensor, k: Tensor, v: Tensor, **how: Any) -> Tensor:
    """softmax(QKᵀ/√d) V."""
    if not _slow(q):
        return functional.scaled_dot_product_attention(q, k, v, **how)
    with torch.autocast("cpu", enabled=False):
        return functional.scaled_dot_product_attention(q.float(), k.float(), v.float(), **how).to(q.dtype)


def hasten(network: nn.Module) -> None:
    """Let the networks of `transformers` in it attend so, where they use torch's attention; ours do anyway."""
    if next(network.parameters()).device.type != "cpu":
        return
    for part in network.modules():
        if isinstance(part, PreTrainedModel) and part.config._attn_implementation == "sdpa":
            part.set_attn_implementation(NAME)


def _slow(q: Tensor) -> bool:
    return q.requires_grad and q.device.type == "cpu" and q.dtype != torch.float32


def _stock(module: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, **how: Any) -> tuple[Tensor, None]:
    other = how.get("position_bias") is not None or (mask is not None and mask.dtype != torch.bool)
    if other or not _slow(q):
        return sdpa_attention_forward(module, q, k, v, mask, **how)
    with torch.autocast("cpu", enabled=False):
        found, weights = sdpa_attention_forward(module, q.float(), k.float(), v.float(), mask, **how)
    return found.to(q.dtype), weights


AttentionInterface.register(NAME, _stock)
AttentionMaskInterface.register(NAME, sdpa_mask)
