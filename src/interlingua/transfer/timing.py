"""How long an update takes, so that what tuning will cost can be said before it begins."""

from __future__ import annotations

import time
from typing import Any

import torch

from interlingua.transfer.finetune import Part, Tuning, batch_of
from interlingua.transfer.network import Answering

# Reading alone costs about a third of what learning does: there is nothing to go back through.
READING = 1 / 3


def seconds_an_update(network: Answering, record: Any, batch: int) -> float:
    """Seconds of one update on the first rows of a record: the second of two, for the first has things to set up."""
    device = next(network.parameters()).device
    part = Part.of(network, record[:batch])
    network.language = network.spoken(part.encoded)
    made = {
        name: value.to(device) for name, value in batch_of(network, [(part, i) for i in range(len(part.gold))]).items()
    }
    optimizer = torch.optim.AdamW((p for p in network.parameters() if p.requires_grad), fused=True)
    network.train()
    took = 0.0
    for _ in range(2):
        started = time.monotonic()
        network(**made)["loss"].backward()
        optimizer.step()
        optimizer.zero_grad()
        if device.type == "cuda":
            torch.cuda.synchronize()
        took = time.monotonic() - started
    return took


def tuning_seconds(network: Answering, train: Any, development: Any, test: Any, how: Tuning) -> float:
    """What tuning once will take, judging after every epoch and at the end included; at most, where it may stop."""
    one = seconds_an_update(network, train, how.batch) / min(how.batch, len(train))
    epoch = len(train) + READING * len(development)
    return one * (how.epochs * epoch + READING * len(test))
