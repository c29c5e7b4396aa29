"""Blocks through networks on a Ray cluster: tokenised here, computed there, kept here in the order of the corpus.

Every worker loads a model as it was loaded here, by its name or from its folder, and keeps it; one that finds other
weights there is an error. What is computed does not depend on where: batches follow from the plan, and a worker has
as many threads as this process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import torch

from interlingua.cluster import Workers
from interlingua.errors import InputError
from interlingua.extract.column import Column, Work
from interlingua.extract.forward import Passage, fitting
from interlingua.extract.plan import Array
from interlingua.models import Model, load_model

# Models in the memory of this worker, by what was asked for.
_loaded: dict[str, Model] = {}
KEPT = 2


@dataclass(frozen=True)
class Recipe:
    """How a worker comes by a model, and what tells that it is the right one."""

    name: str
    asked: str
    weights: str
    pinned: str
    device: str
    threads: int

    @classmethod
    def of(cls, model: Model, device: str) -> Recipe:
        """Of a model that was loaded; an error for a network that was made in memory."""
        if not model.asked:
            raise InputError(f"{model.name} is in the memory of this process alone: save it, and name its folder")
        asked = json.dumps(dict(model.asked), sort_keys=True)
        return cls(model.name, asked, model.weights, model.pinned, device, torch.get_num_threads())


class Spread:
    """Computes blocks on a cluster; what `forward.run` takes to compute with."""

    def __init__(self, there: Workers) -> None:
        self.there = there

    def __call__(
        self, works: Iterator[Work], passage: Passage, budget: int, progress: Callable[[int], None]
    ) -> Iterator[tuple[torch.Tensor, int]]:
        """Vectors of every block, and the budget that they were computed with."""

        def given() -> Iterator[tuple[Any, ...]]:
            for work in works:
                yield stripped(work), Recipe.of(work.column.model, self.there.device), passage, budget

        with closing(self.there.each(computed, given())) as made:
            for vectors, used in made:
                budget = min(budget, used)
                progress(int(vectors.shape[1]))
                # Ray lends what cannot be written to
                yield torch.from_numpy(vectors.copy()), used


def stripped(work: Work) -> Work:
    """Without the model and the text, which a worker has or does not need."""
    none: Any = None
    return replace(work, column=Column(work.column.lang, none, (), join=work.column.join))


def computed(work: Work, recipe: Recipe, passage: Passage, budget: int) -> tuple[Array, int]:
    """In a worker: a block."""
    model = loaded(recipe).of(work.column.lang)
    vectors, used = fitting(replace(work, column=replace(work.column, model=model)), passage, budget, lambda _n: None)
    return vectors.cpu().numpy(), used


def loaded(recipe: Recipe) -> Model:
    """In a worker: the model, loaded once, and again where it is another by now."""
    if recipe.asked not in _loaded or _loaded[recipe.asked].weights != recipe.weights:
        _loaded.pop(recipe.asked, None)
        torch.set_num_threads(recipe.threads)
        while len(_loaded) >= KEPT:
            _loaded.pop(next(iter(_loaded)))
        model = load_model(**json.loads(recipe.asked), device=recipe.device if torch.cuda.is_available() else "cpu")
        _loaded[recipe.asked] = model
    if _loaded[recipe.asked].weights != recipe.weights:
        _loaded.pop(recipe.asked)
        raise InputError(f"{recipe.name}: a worker finds other weights there than this process has")
    return replace(_loaded[recipe.asked], pinned=recipe.pinned)
