"""An extraction: into memory, or into a store that can be gone on with."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from interlingua import __version__
from interlingua.errors import InputError
from interlingua.extract.column import Column, Rows
from interlingua.extract.forward import NonFiniteError, Passage, Sink, leaving, not_finite, run
from interlingua.extract.options import SENTENCE, TYPE, Extraction, Progress
from interlingua.extract.plan import Array
from interlingua.extract.store import Contents, Store, writing
from interlingua.extract.table import table_vectors
from interlingua.extract.tally import Tally
from interlingua.extract.words import Record
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
    corpus: Record | Sequence[Record]
    signature: dict[str, Any]

    @property
    def ids(self) -> tuple[str, ...]:
        """The corpus's own ids, or the numbers of the sentences."""
        return getattr(self.corpus, "ids", ()) or tuple(map(str, range(1, 1 + max(map(len, self.columns.values())))))

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
        passage = Passage(how.pooling, how.autocast, how.dtype if how.level != TYPE else "float32", how.block, budget)
        run(self.columns, self.rows, passage, sink, count)

    def held(self, progress: Progress) -> Representations | WordRepresentations:
        """Extract into memory."""
        if self.how.level == TYPE:
            tally = Tally(self.columns, self.rows, self.how.block, self.blame)
            means: dict[Language, Array] = {}
            tally.finished = lambda lang, found: means.update({lang: self._cast(found)})
            self.run(tally, self.how.budget, progress)
            return WordRepresentations({lang: means[lang] for lang in self.columns}, self.signature, tally.labels)
        arrays = {lang: np.empty(self.shape(lang), self.how.dtype) for lang in self.columns}
        self.run(_Held(arrays, self), self.how.budget, progress)
        if self.how.level == SENTENCE:
            return Representations(arrays, self.signature, self.ids)
        labels = {lang: found.labels for lang, found in self.rows.items() if found.labels is not None}
        return WordRepresentations(arrays, self.signature, labels)

    def table(self, out: str | Path | None) -> WordRepresentations:
        """Vectors from the embedding table, in memory or in a store."""
        found = {
            lang: table_vectors(column, least=self.how.min_count, most=self.how.max_count, single=self.how.single)
            for lang, column in self.columns.items()
        }
        for lang, (label, vectors) in found.items():
            if not label.words:
                raise InputError(f"{lang}: no word has a vector: nothing to extract")
            if not np.isfinite(vectors).all():
                raise NonFiniteError(f"{self.columns[lang].model.name}: the embedding table holds what is no number")
        arrays = {lang: self._cast(vectors) for lang, (_, vectors) in found.items()}
        labels = {lang: label for lang, (label, _) in found.items()}
        if out is None:
            return WordRepresentations(arrays, self.signature, labels)
        with writing(Path(out)):
            store = self._store(Path(out), {lang: array.shape for lang, array in arrays.items()}, labels)
            for lang, array in arrays.items():
                for block in range(-(-array.shape[1] // self.how.block)):
                    if (str(lang), block) not in store.done:
                        store.write(lang, block, array[:, block * self.how.block : (block + 1) * self.how.block])
            return store.representations()  # type: ignore[return-value]

    def _cast(self, means: Array) -> Array:
        return means.astype(self.how.dtype, copy=False)

    def stored(self, path: Path, progress: Progress) -> Representations | WordRepresentations:
        """Extract into a store, or go on with one."""
        tally = Tally(self.columns, self.rows, self.how.block, self.blame) if self.how.level == TYPE else None
        words = {lang: found.labels for lang, found in self.rows.items() if found.labels is not None}
        shapes = {lang: tally.shape(lang) if tally else self.shape(lang) for lang in self.columns}
        labels = None if self.how.level == SENTENCE else tally.labels if tally else words
        store = self._store(path, shapes, labels)
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
        size = self.how.block

        def blocks(lang: Language) -> range:
            return range(-(-tally.shape(lang)[1] // size))

        def keep(lang: Language, means: Array) -> None:
            cast = self._cast(means)
            for block in blocks(lang):
                if (str(lang), block) not in store.done:
                    store.write(lang, block, cast[:, block * size : (block + 1) * size])

        tally.finished = keep
        tally.resume(store.path, lambda lang: all((str(lang), block) in store.done for block in blocks(lang)))
        self.run(tally, budget, progress)


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
