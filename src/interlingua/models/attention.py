"""Attention in float32 where a CPU trains in half precision: gradients of torch's own take many times as long there.

Under bfloat16 an update of a small network spends a third to more than half of its time on them; products, which are
most of the rest, gain by it. All else computes as it did: a GPU, other precisions, networks that only read, and
attention with dropout, which torch computes in another way.
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


def attended(q: Tensor, k: Tensor, v: Tensor, *, dropout_p: float = 0.0, **how: Any) -> Tensor:
    """softmax(QKᵀ/√d) V."""
    if dropout_p or not _slow(q, k, v):
        return functional.scaled_dot_product_attention(q, k, v, dropout_p=dropout_p, **how)
    kind = _kind(q)
    with torch.autocast("cpu", enabled=False):
        return functional.scaled_dot_product_attention(q.float(), k.float(), v.float(), **how).to(kind)


def hasten(network: nn.Module) -> None:
    """Let the networks of `transformers` in it attend so, where they use torch's attention; ours do anyway."""
    if next(network.parameters()).device.type != "cpu":
        return
    for part in network.modules():
        if isinstance(part, PreTrainedModel) and part.config._attn_implementation == "sdpa":
            part.set_attn_implementation(NAME)


def _stock(module: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, **how: Any) -> tuple[Tensor, None]:
    added = how.get("position_bias") is not None or (mask is not None and mask.dtype != torch.bool)
    if added or how.get("dropout") or not _slow(q, k, v):
        return sdpa_attention_forward(module, q, k, v, mask, **how)
    kind = _kind(q)
    with torch.autocast("cpu", enabled=False):
        found, weights = sdpa_attention_forward(module, q.float(), k.float(), v.float(), mask, **how)
    return found.to(kind), weights


def _slow(*given: Tensor) -> bool:
    """Whether torch would compute this, and its gradients, in half precision on a CPU."""
    if given[0].device.type != "cpu" or not any(each.requires_grad for each in given):
        return False
    return given[0].dtype != torch.float64 and _kind(given[0]) in (torch.bfloat16, torch.float16)


def _kind(q: Tensor) -> torch.dtype:
    """What torch would return: with positions that are turned, queries are float32 until autocast makes them half."""
    return torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else q.dtype


AttentionInterface.register(NAME, _stock)
AttentionMaskInterface.register(NAME, sdpa_mask)
