"""A model up to one layer, and what brings its vectors to a space it shares with another model.

Heads that were trained on the source's side run on the target's unchanged: "target model + map".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from interlingua.errors import InputError, UnknownNameError
from interlingua.mapping.alignment import Alignment, Reduction, Step
from interlingua.models.load import Model

SIDES = ("source", "target")


class Composed(nn.Module):
    """Tokens -> vectors (sentences, tokens, width) in the space that an alignment made common.

    The model is frozen; what the alignment learned is kept as buffers, so that `.to(device)` moves all of it.
    """

    def __init__(self, model: Model, aligned: Alignment, side: str, layer: int) -> None:
        super().__init__()
        if side not in SIDES:
            raise UnknownNameError("side of an alignment", side, SIDES)
        known = aligned.facts.get(side, {})
        for name, here in (("layer", layer), ("weights", model.weights)):
            if name in known and known[name] != here:
                raise InputError(f"the {side} side is for {name} {known[name]}, and this is {here}")
        width = aligned.widths[SIDES.index(side)]
        if model.layers.width != width:
            raise InputError(f"{model.name} has {model.layers.width} neurons a layer, and the {side} side has {width}")
        if not 0 <= layer <= model.layers.blocks:
            raise InputError(f"there is no layer {layer}: layers run from 0 (embeddings) to {model.layers.blocks}")
        self.model, self.layer = model, layer
        self.network = model.network.requires_grad_(False)
        steps: tuple[Step, ...] = (aligned.source, aligned.target)[SIDES.index(side)]
        self._kinds = [type(step).__name__ for step in steps]
        for i, step in enumerate(steps):
            if isinstance(step, Reduction):
                self._keep(f"mean_{i}", step.mean)
                self._keep(f"directions_{i}", step.directions)
            else:
                self._keep(f"means_{i}", torch.stack([torch.as_tensor(mean) for mean in step.means]))
        self._mapped = side == "target" and aligned.map is not None
        if self._mapped and aligned.map is not None:
            self._keep("weight", aligned.map.weight)
            shift = aligned.map.shift
            self._keep("shift", torch.zeros(aligned.map.weight.shape[1]) if shift is None else shift)
        self.to(model.device)

    def _keep(self, name: str, values: Any) -> None:
        self.register_buffer(name, torch.as_tensor(values, dtype=torch.float32).clone())

    def forward(self, **batch: Tensor) -> Tensor:
        """Vectors of every token of a batch as the model's tokenizer makes it."""
        found = self._states(batch)
        for i, kind in enumerate(self._kinds):
            if kind == "Reduction":
                found = (found - getattr(self, f"mean_{i}")) @ getattr(self, f"directions_{i}")
                continue
            found = nn.functional.normalize(found, dim=-1)
            for mean in getattr(self, f"means_{i}"):
                found = nn.functional.normalize(found - mean, dim=-1)
        return found @ self.get_buffer("weight") + self.get_buffer("shift") if self._mapped else found

    @torch.no_grad()
    def _states(self, batch: Mapping[str, Tensor]) -> Tensor:
        return self.model.hidden_states(batch)[self.layer].float()
