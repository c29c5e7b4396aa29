"""Neurons put to silence in a tuned network: are those that languages share the ones that carry a task over?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from interlingua.errors import InputError
from interlingua.measures.anc import anc
from interlingua.models import Model
from interlingua.models.layers import blocks_of
from interlingua.types import Representations

Array = np.ndarray[Any, Any]
SHARED, SPECIFIC, RANDOM = "shared", "specific", "random"


def chosen_neurons(
    reps: Representations, source: str, layer: int, share: float, *, draws: int, seed: int = 0
) -> dict[str, list[Array]]:
    """The neurons of a layer that correlate most and least between the source and the others, and random ones.

    A neuron's correlation is the mean of |corr| over the other languages, as in ANC; constant ones are never chosen.
    Random neurons are drawn from all, so they may be shared or specific ones.
    """
    if not 0 < share <= 0.5:
        raise InputError(f"a share of {share} of the neurons: it is above 0, and at most 0.5, or both kinds overlap")
    others = [lang for lang in reps.langs if str(lang) != source]
    alike = np.mean([np.abs(np.asarray(anc(reps[source, layer], reps[o, layer]).signed)) for o in others], axis=0)
    there = np.flatnonzero(np.isfinite(alike))
    many = round(share * len(alike))
    if many < 1 or 2 * many > len(there):
        raise InputError(f"{many} of {len(there)} neurons that are not constant cannot be chosen twice")
    ordered = there[np.argsort(alike[there], kind="stable")]
    rng = np.random.default_rng(seed)
    return {
        SHARED: [ordered[-many:]],
        SPECIFIC: [ordered[:many]],
        RANDOM: [rng.choice(there, many, replace=False) for _ in range(draws)],
    }


@contextmanager
def silenced(model: Model, layer: int, neurons: Sequence[int] | Array, means: Array) -> Iterator[None]:
    """Some neurons of a layer (the output of a block) held at their means, whatever is read."""
    blocks = blocks_of(model.part)
    if not 1 <= layer <= len(blocks):
        raise InputError(f"there is no block {layer}: blocks run from 1 to {len(blocks)}")
    places = torch.as_tensor(np.asarray(neurons), device=model.device)
    held = torch.as_tensor(np.asarray(means)[np.asarray(neurons)], device=model.device)

    def hold(_module: Any, _inputs: Any, output: Any) -> Any:
        states = output[0] if isinstance(output, tuple) else output
        states = states.index_copy(-1, places, held.to(states.dtype).expand(*states.shape[:-1], -1))
        return (states, *output[1:]) if isinstance(output, tuple) else states

    handle = blocks[layer - 1].register_forward_hook(hold)
    try:
        yield
    finally:
        handle.remove()
