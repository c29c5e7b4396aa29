"""An extraction: into memory, or into a store that can be gone on with."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from interlingua import __version__
from interlingua.errors import InputError
from interlingua.extract.column import Column, Rows
from interlingua.extract.forward import Computing, NonFiniteError, Passage, Sink, here, leaving, not_finite, run
from interlingua.extract.options import SENTENCE, TABLE, TYPE, Extraction, Progress
from interlingua.extract.plan import Array
from interlingua.extract.store import Contents, Store
from interlingua.extract.table import table_vectors
from interlingua.extract.tally import Tally
from interlingua.languages import Language
from interlingua.types import Labels, Representations, WordRepresentations


def environment(columns: dict[Language, Column]) -> dict[str, Any]:
    """What else was true of the run: recorded, but no part of the signature."""
    model = next(iter(columns.values())).model
    return {
        "interlingua": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name(model.device) if model.device.type == "cuda" else str(model.device),
        "attention": str(getattr(model.network.config, "_attn_implementation", "")),
    }


@dataclass(frozen=True)
class Job:
    """An extraction whose rows are known."""

    columns: dict[Language, Column]
    rows: dict[Language, Rows]
    how: Extraction
    ids: tuple[str, ...]
    signature: dict[str, Any]
    computing: Computing = here

    def blame(self, lang: Language, start: int, vectors: Array) -> NonFiniteError:
        """The error for vectors from row `start` on that are not all made of numbers."""
        return not_finite(self.columns[lang], self.rows[lang], start, vectors, self.ids)

    def shape(self, lang: Language) -> tuple[int, int, int]:
        """Layers, rows and neurons of a language."""
        layers = self.columns[lang].model.layers
        return len(layers), len(self.rows[lang]), layers.width

    def run(self, sink: Sink, budget: int, progress: Progress) -> None:
        """Everything that the sink has not."""
        total, done = sum(map(len, self.rows.values())), 0

        def count(n: int) -> None:
            nonlocal done
            done += n
            progress(done, total)

        how = self.how
        dtype = how.dtype if how.level != TYPE else "float32"
        passage = Passage(how.pooling, how.autocast, dtype, how.block, how.budget, budget)
        run(self.columns, self.rows, passage, sink, count, self.computing)

    def held(self, progress: Progress) -> Representations | WordRepresentations:
        """Extract into memory."""
        if self.how.level == TABLE:
            arrays, labels = self._table()
            return WordRepresentations(arrays, self.signature, labels)
        if self.how.level == TYPE:
            tally = Tally(self.columns, self.rows, self.how.block, self.blame)
            means: dict[Language, Array] = {}
            tally.finished = lambda lang, found, _facts: means.update({lang: self._cast(lang, found)})
            self.run(tally, self.how.budget, progress)
            return WordRepresentations({lang: means[lang] for lang in self.columns}, self.signature, tally.labels)
        arrays = {lang: np.empty(self.shape(lang), self.how.dtype) for lang in self.columns}
        self.run(_Held(arrays, self), self.how.budget, progress)
        if self.how.level == SENTENCE:
            return Representations(arrays, self.signature, self.ids)
        labels = {lang: found.labels for lang, found in self.rows.items() if found.labels is not None}
        return WordRepresentations(arrays, self.signature, labels)

    def _table(self) -> tuple[dict[Language, Array], dict[Language, Labels]]:
        """Vectors from the embedding table."""
        found = {
            lang: table_vectors(column, least=self.how.min_count, most=self.how.max_count, single=self.how.single)
            for lang, column in self.columns.items()
        }
        for lang, (label, _) in found.items():
            if not label.words:
                raise InputError(f"{lang}: no word has a vector: nothing to extract")
        arrays = {lang: self._cast(lang, vectors) for lang, (_, vectors) in found.items()}
        return arrays, {lang: label for lang, (label, _) in found.items()}

    def _cast(self, lang: Language, vectors: Array) -> Array:
        with np.errstate(over="ignore"):
            cast = vectors.astype(self.how.dtype, copy=False)
        if not np.isfinite(cast).all():
            name = self.columns[lang].model.name
            raise NonFiniteError(f"{name}: not finite numbers for {lang} in {self.how.dtype} (store in float32?)")
        return cast

    def stored(self, path: Path, progress: Progress) -> Representations | WordRepresentations:
        """Extract into a store, or go on with one."""
        if self.how.level == TABLE:
            found, labels = self._table()
            store = self._store(path, {lang: array.shape for lang, array in found.items()}, labels)
            for lang, array in found.items():
                store.fill(lang, array)
            return store.representations()
        tally = Tally(self.columns, self.rows, self.how.block, self.blame) if self.how.level == TYPE else None
        words = {lang: found.labels for lang, found in self.rows.items() if found.labels is not None}
        shapes = {lang: tally.shape(lang) if tally else self.shape(lang) for lang in self.columns}
        store = self._store(path, shapes, None if self.how.level == SENTENCE else tally.labels if tally else words)
        # Once memory ran out, later blocks keep to the smaller budget, after a kill too.
        budget = min([self.how.budget, *(entry.get("budget", self.how.budget) for entry in store.done.values())])
        if tally is None:
            self.run(_Stored(store, self), budget, progress)
        else:
            self._stored_types(store, tally, budget, progress)
        return store.representations()

    def _store(
        self, path: Path, shapes: Mapping[Language, tuple[int, ...]], labels: Mapping[Language, Labels] | None
    ) -> Store:
        """The store at `path`, new or with what is done there and undamaged."""
        contents = Contents(
            signature=self.signature,
            environment=environment(self.columns),
            shapes=shapes,
            dtype=self.how.dtype,
            block=self.how.block,
            budget=self.how.budget,
            ids=self.ids,
            labels=labels,
        )
        store = Store.create(path, contents)
        store.verify()
        return store

    def _stored_types(self, store: Store, tally: Tally, budget: int, progress: Progress) -> None:
        tally.finished = lambda lang, means, facts: store.fill(lang, self._cast(lang, means), **facts)
        found = tally.resume(store.path, store.full)
        self.run(tally, min(found or budget, budget), progress)


@dataclass(frozen=True)
class _Held:
    """Blocks go into arrays in memory."""

    arrays: dict[Language, Array]
    job: Job

    def done(self, _lang: Language, _block: int) -> bool:
        return False

    def take(self, lang: Language, block: int, vectors: torch.Tensor, **_facts: Any) -> Callable[[], None]:
        arrived, start = leaving(vectors), block * self.job.how.block

        def keep() -> None:
            found, finite = arrived()
            if not finite:
                raise self.job.blame(lang, start, found)
            self.arrays[lang][:, start : start + found.shape[1]] = found

        return keep


@dataclass(frozen=True)
class _Stored:
    """Blocks go into a store."""

    store: Store
    job: Job

    def done(self, lang: Language, block: int) -> bool:
        return (str(lang), block) in self.store.done

    def take(self, lang: Language, block: int, vectors: torch.Tensor, **facts: Any) -> Callable[[], None]:
        arrived = leaving(vectors)

        def keep() -> None:
            found, finite = arrived()
            if not finite:
                raise self.job.blame(lang, block * self.job.how.block, found)
            self.store.write(lang, block, found, **facts)

        return keep
