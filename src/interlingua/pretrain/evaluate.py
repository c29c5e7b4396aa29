"""How well a network knows text that was held out: perplexity a token, and bits a character, language by language."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from interlingua.pretrain.mixture import Stream, generator, in_order
from interlingua.pretrain.objectives import Masked, Objective
from interlingua.pretrain.update import Batch, summed_loss

# Sequences that are looked at together, and at most.
ROWS, MOST = 32, 256


@dataclass(frozen=True)
class Score:
    """Of one language.

    `bits` is the loss in bits times tokens a character: what one character costs if every token costs what the tokens
    asked about did. For causal models that is the length of a code, and can be compared across vocabularies; for masked
    words and spans it is not, for a larger piece leaves less around it to tell it by: compare like with like.
    """

    language: str
    loss: float
    perplexity: float
    bits: float


@torch.no_grad()
def evaluate(
    network: Any,
    held: Sequence[Stream],
    objectives: dict[str, Objective],
    length: int,
    start: int,
    device: torch.device,
    *,
    bf16: bool = False,
) -> list[Score]:
    """Scores on text that was held out. The same tokens are asked about every time."""
    was = network.training
    network.eval()
    found = []
    for stream in held:
        blocks = in_order(stream.tokens, length, start, MOST)
        total, count = 0.0, 0
        for first in range(0, len(blocks), ROWS):
            asked = objectives[stream.language](blocks[first : first + ROWS], generator(0, 3, first))
            batch = Batch.of(asked, _voice(network, stream.language)).on(device)
            with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
                lost = summed_loss(network, batch.ids, batch.places, batch.targets, batch.decoder_ids, batch.language)
            total, count = total + float(lost), count + asked.count
        loss = total / max(count, 1)
        # only tokens that can be asked about cost something
        ask = objectives[stream.language]
        tokens = int((~ask.never[stream.tokens]).sum()) if isinstance(ask, Masked) else len(stream)
        per_character = tokens / max(stream.characters, 1)
        found.append(Score(stream.language, loss, math.exp(min(loss, 80)), loss / math.log(2) * per_character))
    network.train(was)
    return found


def _voice(network: Any, language: str) -> str | None:
    """The language to tell the network, if it wants to know."""
    return language if getattr(network.config, "separate", False) else None
