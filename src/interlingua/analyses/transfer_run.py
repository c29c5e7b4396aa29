"""What to tune and how often, and a run that does it in its folder: what is done there is not done again."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import numpy as np
import torch

from interlingua.analyses.relate import MEASURES
from interlingua.cluster import Workers
from interlingua.errors import InputError
from interlingua.folders import whole
from interlingua.models.load import load_model, seeded
from interlingua.report.tables import CACHE, PREDICTIONS, TUNED, keep_found, kept_found
from interlingua.report.transfer_tables import BILSTM, COMMON, FREQUENT, WHOLE
from interlingua.transfer.ablate import reinitialise
from interlingua.transfer.bilstm import BiLstm
from interlingua.transfer.evaluate import Score, evaluate, most_frequent
from interlingua.transfer.finetune import Tuned, Tuning, fit, learnt_labels, open_tuned, tune
from interlingua.transfer.grids import Grid, named
from interlingua.transfer.network import TaskNetwork
from interlingua.transfer.task import HeadTask, Task
from interlingua.transfer.tasks import task as task_named
from interlingua.transfer.translator import Translator
from interlingua.types import ParallelCorpus, TaggedCorpus, Treebank

Stage = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """What is tuned and how often.

    `random_init`: blocks drawn anew before tuning, each list a run beside the whole. `grid`: settings to try; with
    blocks drawn anew, these are tuned with the best one. `baseline`: a BiLSTM trained on the same sentences. With
    parallel text beside: `measures` of similarity, and the share of `neurons` that are put to silence (0: none).
    `beams`: of translation.
    """

    task: str
    tuning: Tuning = field(default_factory=Tuning)
    seeds: int = 1
    random_init: str = ""
    grid: Grid | None = None
    baseline: bool = False
    measures: tuple[str, ...] = MEASURES
    neurons: float = 0.0
    beams: int = 1
    keep: bool = True
    loading: Mapping[str, Any] = field(default_factory=dict)

    @property
    def all_seeds(self) -> range:
        """The first, and those after it."""
        return range(self.tuning.seed, self.tuning.seed + self.seeds)

    @property
    def settings(self) -> tuple[Mapping[str, Any], ...]:
        """What is changed in `tuning`, one after the other."""
        return self.grid.settings if self.grid else ({},)


class TransferRun:
    """A run under way in its folder."""

    def __init__(
        self,
        model: str,
        records: tuple[Sequence[Any], Sequence[Any], Sequence[Any]],
        folder: Path,
        how: Attempt,
        stage: Stage,
        weights: str = "",
    ) -> None:
        self.model, self.folder, self.how, self.stage = model, folder, how, stage
        # what the model must be, by the hash of its weights; whatever it is where none is named
        self.weights = weights
        self.train, self.development, self.tests = records
        self.task: Task[Any, Any] = task_named(how.task)
        self.source = self.task.language(self.train[0])
        self.rows: list[dict[str, Any]] = []
        # what scores are made of, by what was tuned, setting, seed and language
        self._found: dict[tuple[str, str, int], dict[str, Array]] = {}
        self.device = str(how.loading.get("device") or ("cuda" if torch.cuda.is_available() else "cpu"))
        (folder / CACHE).mkdir(parents=True, exist_ok=True)

    def all(self, groups: Sequence[tuple[int, ...]], there: Workers | None = None) -> None:
        """The whole model in every setting, then with blocks drawn anew, then what stands beside it.

        With workers of a cluster, they tune first, all at once, and what they leave in the folder is taken.
        """
        if there is not None:
            self._spread(there, [(WHOLE, (), setting) for setting in self.how.settings])
        for setting in self.how.settings:
            self.tuned(setting=setting)
        best = self.best()
        if there is not None:
            beside = [(BILSTM, (), self.how.settings[0])] if self.how.baseline else []
            self._spread(there, [*((blocks_named(group), group, best) for group in groups), *beside])
        for group in groups:
            self.tuned(blocks_named(group), group, best)
        if self.how.baseline:
            self.tuned(BILSTM)
        if hasattr(self.tests[0], "tags"):
            self.rows += [row for record in self.tests for row in self.frequent(record)]

    def _spread(self, there: Workers, jobs: Sequence[tuple[str, tuple[int, ...], Mapping[str, Any]]]) -> None:
        """What is not done of these, with every seed, by workers that see the same folder."""
        left = [
            (name, group, {} if name == BILSTM else dict(setting), seed)
            for name, group, setting in jobs
            for seed in self.how.all_seeds
            if kept_found(self._kept(name, setting, seed)) is None
        ]
        if not left:
            return
        records = there.ray.put((self.train, self.development, self.tests))
        given = ((self.model, records, self.folder.resolve(), self.how, self.weights, *job) for job in left)
        with (
            self.stage(f"tuning {len(left)} on a cluster") as progress,
            closing(there.each(tuned_there, given)) as made,
        ):
            for number, _ in enumerate(made):
                progress(number + 1, len(left))

    def done(self, name: str, group: tuple[int, ...], setting: Mapping[str, Any], seed: int) -> None:
        """One tuned and judged, and kept."""
        self._taken(name, setting, seed, partial(self._tuned, name, group, setting, seed))

    def whole(self) -> Path:
        """Where the tuned model of the best setting and the first seed is."""
        return self._place("", self.best(), self.how.tuning.seed)

    def opened(self) -> Tuned:
        """That model."""
        return open_tuned(self.whole(), device=str(self.how.loading.get("device", "")))

    def best(self) -> Mapping[str, Any]:
        """The setting whose mean development score over seeds is highest."""
        mine = [row for row in self.rows if row["init"] == WHOLE]
        scores = {
            named(setting): np.mean([row["development"] for row in mine if row["setting"] == named(setting)])
            for setting in self.how.settings
        }
        return max(self.how.settings, key=lambda setting: scores[named(setting)])

    def tuned(
        self,
        name: str = WHOLE,
        group: tuple[int, ...] = (),
        setting: Mapping[str, Any] = MappingProxyType({}),
        seeds: Sequence[int] = (),
    ) -> list[dict[str, Array]]:
        """Tuned with every seed, or those that are named: what scores are made of, by language."""
        made = []
        for seed in seeds or self.how.all_seeds:
            found = self._taken(name, setting, seed, partial(self._tuned, name, group, setting, seed))
            self.rows += found["rows"]
            made.append({k: np.array(each) for k, each in found["counts"].items()})
            self._found[name, named(setting), seed] = made[-1]
        return made

    @property
    def counts(self) -> dict[tuple[str, int], dict[str, Array]]:
        """What scores are made of, by blocks drawn anew, seed and language, in the best setting."""
        best = named(self.best())
        return {
            (name, seed): found
            for (name, setting, seed), found in self._found.items()
            if name != BILSTM and setting == best
        }

    def _name(self, name: str, setting: Mapping[str, Any], seed: int) -> str:
        number = self.how.settings.index(setting) if self.how.grid and name != BILSTM else 0
        what = name if name in ("", BILSTM) else f"random-{name}"
        return ".".join(filter(None, (what or "whole", f"setting-{number}" if self.how.grid else "", str(seed))))

    def _kept(self, name: str, setting: Mapping[str, Any], seed: int) -> Path:
        return self.folder / CACHE / f"{self._name(name, setting, seed)}.json"

    def _place(self, name: str, setting: Mapping[str, Any], seed: int) -> Path:
        return self.folder / TUNED / self._name(name, setting, seed)

    def _taken(
        self, name: str, setting: Mapping[str, Any], seed: int, make: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        place = self._kept(name, setting, seed)
        kept: dict[str, Any] | None = kept_found(place)
        if kept is None:
            kept = keep_found(place, make())
        if name or not self.how.keep:
            shutil.rmtree(self._place(name, setting, seed), ignore_errors=True)
        return kept

    def _tuned(self, name: str, group: tuple[int, ...], setting: Mapping[str, Any], seed: int) -> dict[str, Any]:
        """Tuned and judged once; models with layers drawn anew are not kept."""
        place = self._place(name, setting, seed)
        how = replace(self.how.tuning, **setting, seed=seed)
        said = (named(setting), f"blocks {name} random" if group else name, f"seed {seed}")
        with self.stage(", ".join(filter(None, ("tuning", *said)))) as progress:
            if name == BILSTM:
                tuned = self._from_nothing(place, how, progress)
            else:
                loaded = load_model(self.model, **self.how.loading)
                if self.weights and loaded.weights != self.weights:
                    raise InputError(f"{self.model} has other weights now than when this run began: put it back")
                if group:
                    reinitialise(loaded, group, seed=seed)
                tuned = tune(loaded, self.task, self.train, self.development, place, how, progress=progress)
        if isinstance(tuned.network, Translator):
            tuned.network.beams = self.how.beams
        with self.stage("scoring"):
            scores = evaluate(tuned, self.tests, self.source, seed=seed)
        if not name:
            self._write(scores, self._name(name, setting, seed))
        about = {"init": name, "setting": named(setting), "seed": seed, "development": tuned.development,
                 "epoch": tuned.epoch}  # fmt: skip
        return {
            "rows": [{**about, **row} for score in scores for row in _rows(score)],
            "counts": {score.language: score.counts.tolist() for score in scores},
        }

    def _write(self, scores: Sequence[Score], name: str) -> None:
        """What the whole model answered, a file a language."""
        folder = self.folder / PREDICTIONS / name
        folder.mkdir(parents=True, exist_ok=True)
        for record, score in zip(self.tests, scores, strict=True):
            lines = self.task.written(record, score.answers)
            whole(folder / f"{score.language}.{self.task.suffix}", "".join(f"{line}\n" for line in lines).encode())

    def _from_nothing(self, place: Path, how: Tuning, progress: Callable[[int, int], None]) -> Tuned:
        """A BiLSTM on the same sentences: more epochs, as it knows nothing, until it gets no better."""
        network = from_nothing(self.task, self.train, self.development, how.seed).to(self.device)
        return fit(network, self.train, self.development, place, longer(how), progress=progress)

    def frequent(self, record: Any) -> Iterator[dict[str, Any]]:
        """Scores of the tag that each word had most often, and of the commonest of all."""
        about = {"language": self.task.language(record), "set": record.name, "sentences": len(record), "setting": ""}
        for name, by_word in ((FREQUENT, True), (COMMON, False)):
            value = most_frequent(self.task, self.train, record, by_word=by_word)
            yield {**about, "init": name, "metric": self.task.metric, "value": value}


def tuned_there(
    model: str,
    records: tuple[Sequence[Any], Sequence[Any], Sequence[Any]],
    folder: Path,
    how: Attempt,
    weights: str,
    *job: Any,
) -> None:
    """In a worker: one run, in the folder that all see."""
    run = TransferRun(model, records, folder, how, lambda _name: nullcontext(lambda _done, _total: None), weights)
    run.done(*job)


def from_nothing(task: Task[Any, Any], train: Sequence[Any], development: Sequence[Any], seed: int) -> TaskNetwork:
    """A BiLSTM for a task that is about words."""
    asked = cast("HeadTask[Any, Any]", task)  # others were refused
    with seeded(seed):
        return TaskNetwork(BiLstm.of(train), asked, learnt_labels(task, train, development), 0.33)


def longer(how: Tuning) -> Tuning:
    """How a BiLSTM is trained where a model is tuned: until five epochs were no better."""
    return replace(how, epochs=max(30, how.epochs), patience=5, rate=0.0, head_rate=0.0, dropout=0.33, frozen=())


def check_apart(train: Sequence[Any], tests: Sequence[Any]) -> None:
    """An error where most of what is judged by was tuned on."""
    seen = {row for each in train for row in _content(each)}
    for test in tests:
        if 2 * sum(row in seen for row in _content(test)) > len(test):
            raise InputError(f"{test.name} is tuned on and judged by: name other sentences, or another split")


def _content(record: Any) -> Sequence[Any]:
    """What is asked about: the words or texts of every sentence."""
    if isinstance(record, Treebank):
        return [tree.words for tree in record.trees]
    if isinstance(record, ParallelCorpus):
        return record.columns[0]
    return record.words if isinstance(record, TaggedCorpus) else record.texts


def blocks_named(group: Sequence[int]) -> str:
    """Blocks as they are asked for: 1-2."""
    return str(group[0]) if len(group) == 1 else f"{group[0]}-{group[-1]}"


def _rows(score: Score) -> Iterator[dict[str, Any]]:
    facts = {
        "language": score.language, "set": score.name, "sentences": score.sentences, "unknown": score.unknown,
        "lost": score.lost, "new": " ".join(score.new),
    }  # fmt: skip
    own = {"metric": score.metric, "value": score.value, "low": score.low, "high": score.high, "gap": score.gap}
    yield {**facts, **own}
    for name, value in score.also:
        yield {**facts, "metric": name, "value": value}
