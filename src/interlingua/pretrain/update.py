"""One update of the weights: the loss, its gradients, clipping, and a step of the optimiser at the schedule's rate."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from interlingua.errors import InputError
from interlingua.models.attention import hasten
from interlingua.pretrain.config import Config
from interlingua.pretrain.muon import Muon
from interlingua.pretrain.objectives import NONE, Asked

# Updates of each kind before its graph is captured.
WARM = 3


def rate_at(update: int, config: Config) -> float:
    """The learning rate of an update: a linear warm-up, then as the schedule says."""
    warm, total = config.warmup, config.updates
    if update < warm:
        return config.rate * (update + 1) / warm
    if config.schedule == "inverse_sqrt":
        return config.rate * math.sqrt(max(warm, 1) / (update + 1))
    done = (update - warm) / max(1, total - warm)
    if config.schedule == "linear":
        return config.rate * max(0.0, 1 - done)
    if config.schedule == "cosine":
        return config.rate * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))
    if config.schedule == "wsd":
        left = (total - update) / max(1, round(config.decay * total))
        return config.rate * min(1.0, max(0.0, left))
    return config.rate


# Stock networks whose head can be asked about some places only, and what they call it: most of the work is there.
_HEADS = {"bert": "cls", "roberta": "lm_head", "xlm-roberta": "lm_head"}


def summed_loss(
    network: Any, ids: Tensor, places: Tensor | None, targets: Tensor, decoder_ids: Tensor | None, language: str | None
) -> Tensor:
    """-Σ log p(target) over the places that count, in float32."""
    if decoder_ids is not None:
        scores = network.scores_at(ids, decoder_ids)
    elif hasattr(network, "scores_at"):
        scores = network.scores_at(ids, places, language)
    elif places is not None and (head := _HEADS.get(network.config.model_type)):
        hidden = network.base_model(input_ids=ids).last_hidden_state.flatten(0, 1)
        scores = getattr(network, head)(hidden[places])
    else:
        scores = network(input_ids=ids).logits.flatten(0, 1)
        scores = scores if places is None else scores[places]
    return functional.cross_entropy(scores.float(), targets, ignore_index=NONE, reduction="sum")


@dataclass
class Batch:
    """An update's tensors. `count`: how many places count, over all processes."""

    ids: Tensor
    places: Tensor | None
    targets: Tensor
    decoder_ids: Tensor | None
    count: Tensor
    language: str | None

    @classmethod
    def of(cls, asked: Asked, language: str | None, *, pin: bool = False) -> Batch:
        """In pinned memory where a GPU is to read it, so that the copy runs beside the computation."""

        def tensor(array: Any) -> Any:
            made = None if array is None else torch.as_tensor(array)
            return made.pin_memory() if pin and made is not None else made

        count = torch.tensor(float(asked.count))
        return cls(
            ids=tensor(asked.ids),
            places=tensor(asked.places),
            targets=tensor(asked.targets),
            decoder_ids=tensor(asked.decoder_ids),
            count=count.pin_memory() if pin else count,
            language=language,
        )

    def on(self, device: torch.device) -> Batch:
        """On the device."""
        if device.type == "cpu":
            return self
        names = ("ids", "places", "targets", "decoder_ids", "count")
        held: dict[str, Any] = {name: getattr(self, name) for name in names}
        moved: dict[str, Any] = {n: t if t is None else t.to(device, non_blocking=True) for n, t in held.items()}
        return Batch(**moved, language=self.language)

    def tensors(self) -> list[Tensor]:
        """Those that are there."""
        return [t for t in (self.ids, self.places, self.targets, self.decoder_ids, self.count) if t is not None]


class Updater:
    """Takes batches and changes weights. Parts that a batch did not go through have no gradient and make no step."""

    def __init__(
        self, network: Any, config: Config, device: torch.device, reduce: Callable[[list[Tensor]], None]
    ) -> None:
        self.network, self.config, self.device, self.reduce = network, config, device, reduce
        cuda = device.type == "cuda"
        self.bf16 = cuda if config.bf16 is None else config.bf16
        if self.bf16:
            hasten(network)
        ours = hasattr(network, "scores_at")
        compiled = (cuda and ours) if config.compile is None else config.compile
        self.graphs = cuda and compiled and config.cuda_graphs is not False
        self.loss_of = torch.compile(summed_loss, dynamic=False) if compiled else summed_loss
        self.rate = torch.tensor(0.0, device=device) if cuda else None
        self.optimizer = {"adamw": torch.optim.AdamW, "muon": Muon}[config.optimizer](
            groups(network, config.weight_decay, muon=config.optimizer == "muon"),
            lr=config.rate if self.rate is None else self.rate,
            betas=config.betas,
            eps=1e-8,
            fused=cuda,
            capturable=cuda,
        )
        if isinstance(self.optimizer, Muon):
            self.optimizer.half = self.bf16
        self.total = torch.zeros((), device=device)
        self.captured: dict[Any, tuple[torch.cuda.CUDAGraph, Batch]] = {}
        self.seen: dict[Any, int] = {}

    def __call__(self, batch: Batch, update: int) -> None:
        """One update. The loss is added to `total`, on the device: reading it is the caller's choice."""
        now = rate_at(update, self.config)
        if self.rate is not None:
            self.rate.fill_(now)
        else:
            for group in self.optimizer.param_groups:
                group["lr"] = now
        key = (batch.language, batch.places is None, batch.ids.shape)
        if not self.graphs:
            self._step(batch.on(self.device))
        elif key in self.captured:
            graph, held = self.captured[key]
            for mine, new in zip(held.tensors(), batch.tensors(), strict=True):
                mine.copy_(new, non_blocking=True)
            graph.replay()
        elif self.seen.setdefault(key, 0) < WARM:
            self.seen[key] += 1
            self._step(batch.on(self.device))
        else:
            self._capture(key, batch.on(self.device))

    def _step(self, batch: Batch) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bf16, cache_enabled=not self.graphs):
            summed = self.loss_of(
                self.network, batch.ids, batch.places, batch.targets, batch.decoder_ids, batch.language
            )
        loss = summed / batch.count
        torch.autograd.backward(loss)
        gradients = [p.grad for p in self.network.parameters() if p.grad is not None]
        self.reduce(gradients)
        if self.config.clip > 0:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.config.clip, foreach=True)
        self.optimizer.step()
        self.total += loss.detach()

    def _capture(self, key: Any, batch: Batch) -> None:
        """Record an update once, to be replayed: no kernel is launched from Python any more."""
        self.optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        # Another thread prepares batches meanwhile, in pinned memory.
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            self._step(batch)
        self.captured[key] = graph, batch
        graph.replay()


# Matrices of a block that are several on top of each other.
_STACKED = {"query_key_value": 3, "key_value": 2}


def groups(network: Any, decay: float, *, muon: bool = False) -> Sequence[dict[str, Any]]:
    """Parameters with weight decay (matrices) and without (biases, norms, scales); with `parts`, those for Muon."""
    kinds: dict[tuple[float, int], list[Tensor]] = {}
    for name, p in network.named_parameters():
        if p.requires_grad:
            matrix = p.dim() > 1
            parts = _STACKED.get(name.split(".")[-2], 1) if muon and matrix and ".layers." in name else 0
            kinds.setdefault((decay if matrix else 0.0, parts), []).append(p)
    if muon and not any(parts for _, parts in kinds):
        raise InputError("optimizer: muon is for networks of ours: leave it out where init names another")
    return [{"params": ps, "weight_decay": rate, "parts": parts} for (rate, parts), ps in kinds.items()]
