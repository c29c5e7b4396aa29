"""`transfer`: a model tuned on a task in one language and judged in others, with layers drawn anew beside it.

A folder holds `config.json`, `scores.parquet` and `.csv` (a row a score), `drops.csv` (what is lost where layers were
drawn anew), `tuned/` (the tuned models, which every verb takes), and what a run that was killed goes on from.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from interlingua.analyses.survey import made_with, same_run
from interlingua.errors import InputError
from interlingua.folders import claimed
from interlingua.models.load import load_model, shown
from interlingua.report.tables import CACHE, whole
from interlingua.report.transferred import FREQUENT, WHOLE, TransferTables, write_transfer
from interlingua.transfer.ablate import chosen, reinitialise
from interlingua.transfer.evaluate import DRAWS, Score, evaluate, most_frequent
from interlingua.transfer.finetune import Tuning, tune
from interlingua.transfer.task import Task
from interlingua.transfer.tasks import task as task_named
from interlingua.types import TaggedCorpus, Treebank

Stage = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]
Array = np.ndarray[Any, Any]
TUNED = "tuned"


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """What is tuned and how often. `random_init`: blocks drawn anew before tuning, each list a run beside the whole."""

    task: str
    tuning: Tuning = field(default_factory=Tuning)
    seeds: int = 1
    random_init: str = ""
    keep: bool = True
    loading: Mapping[str, Any] = field(default_factory=dict)


def transfer(
    model: str,
    train: Sequence[Any],
    development: Sequence[Any],
    tests: Sequence[Any],
    out: str | Path,
    how: Attempt,
    *,
    force: bool = False,
    stage: Stage = lambda _name: nullcontext(lambda _done, _total: None),
) -> TransferTables:
    """Tune on records of one language or several; score records of any, the first training language's among them."""
    if not train or not development:
        raise InputError("there is nothing to tune on, or nothing to choose the epoch by")
    seen = {row for each in train for row in _content(each)}
    for test in tests:
        if 2 * sum(row in seen for row in _content(test)) > len(test):
            raise InputError(f"{test.name} is tuned on and judged by: name other sentences, or another split")
    task, folder = task_named(how.task), Path(out)
    source = str(train[0].language)
    blocks = load_model(model, **how.loading).layers.blocks
    groups: list[tuple[int, ...]] = [(), *chosen(how.random_init, blocks)]
    config = _config(model, train, development, tests, how)
    with claimed(folder):
        same_run(folder, config, force=force)
        (folder / CACHE).mkdir(exist_ok=True)
        rows: list[dict[str, Any]] = []
        counts: dict[tuple[str, int], dict[str, Array]] = {}
        for group in groups:
            name = _named(group)
            for seed in range(how.tuning.seed, how.tuning.seed + how.seeds):
                found = _taken(folder, f"{name or 'whole'}.{seed}", lambda: _tuned(
                    model, task, train, development, tests, folder, how, group, seed, source, stage,  # noqa: B023
                ))  # fmt: skip
                rows += found["rows"]
                counts[name, seed] = {lang: np.array(each) for lang, each in found["counts"].items()}
        if hasattr(tests[0], "tags"):
            rows += [_frequent(task, train, record) for record in tests]
        tables = TransferTables.of(config, rows, list(dropped(task, counts, source, how.tuning.seed)))
        write_transfer(tables, folder)
    return tables


def _content(record: Any) -> Sequence[Any]:
    """What is asked about: the words or texts of every sentence."""
    if isinstance(record, Treebank):
        return [tree.words for tree in record.trees]
    return record.words if isinstance(record, TaggedCorpus) else record.texts


def _named(group: Sequence[int]) -> str:
    """Blocks as they are asked for: 1-2."""
    if not group:
        return WHOLE
    return str(group[0]) if len(group) == 1 else f"{group[0]}-{group[-1]}"


def _taken(folder: Path, name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    place = folder / CACHE / f"{name}.json"
    if not place.exists():
        whole(place, json.dumps(make()).encode())
    kept: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    return kept


def _tuned(
    model: str,
    task: Task[Any, Any],
    train: Sequence[Any],
    development: Sequence[Any],
    tests: Sequence[Any],
    folder: Path,
    how: Attempt,
    group: tuple[int, ...],
    seed: int,
    source: str,
    stage: Stage,
) -> dict[str, Any]:
    """Tuned and judged once; models with layers drawn anew are not kept."""
    name = _named(group)
    place = folder / TUNED / f"{'random-' + name if name else 'whole'}.{seed}"
    loaded = load_model(model, **how.loading)
    if group:
        reinitialise(loaded, group, seed=seed)
    told = f"tuning{f', blocks {name} random' if name else ''}, seed {seed}"
    with stage(told) as progress:
        tuned = tune(loaded, task, train, development, place, replace(how.tuning, seed=seed), progress=progress)
    with stage("scoring"):
        scores = evaluate(tuned, tests, source, seed=seed)
    if group or not how.keep:
        shutil.rmtree(place)
    about = {"init": name, "seed": seed, "development": tuned.development, "epoch": tuned.epoch}
    return {
        "rows": [{**about, **row} for score in scores for row in _rows(score)],
        "counts": {score.language: score.counts.tolist() for score in scores},
    }


def _rows(score: Score) -> Iterator[dict[str, Any]]:
    facts = {
        "language": score.language, "set": score.name, "sentences": score.sentences, "unknown": score.unknown,
        "lost": score.lost, "new": " ".join(score.new),
    }  # fmt: skip
    yield {
        **facts,
        "metric": score.metric,
        "value": score.value,
        "low": score.low,
        "high": score.high,
        "gap": score.gap,
    }
    for name, value in score.also:
        yield {**facts, "metric": name, "value": value}


def _frequent(task: Task[Any, Any], train: Sequence[Any], record: Any) -> dict[str, Any]:
    value = most_frequent(task, train, record)
    about = {"init": FREQUENT, "language": str(record.language), "set": record.name, "sentences": len(record)}
    return {**about, "metric": task.metric, "value": value}


def dropped(
    task: Task[Any, Any], counts: Mapping[tuple[str, int], Mapping[str, Array]], source: str, seed: int = 0
) -> Iterator[dict[str, Any]]:
    """What is lost without layers: score without them less score with them, the mean over seeds.

    The same sentences are drawn again for both, so intervals are of the difference. Layers are critical for transfer
    if the mean over the other languages drops and the source does not (Muller et al. 2021).
    """
    seeds = sorted({s for _, s in counts})
    for name in dict.fromkeys(name for name, _ in counts if name):
        drawn: dict[str, Array] = {}
        exact: dict[str, float] = {}
        for lang, own in counts[WHOLE, seeds[0]].items():
            often = np.random.default_rng(seed).multinomial(len(own), np.full(len(own), 1 / len(own)), size=DRAWS)
            pairs = [(counts[name, s][lang], counts[WHOLE, s][lang]) for s in seeds if (name, s) in counts]
            drawn[lang] = np.mean([_main(task, often @ a) - _main(task, often @ b) for a, b in pairs], axis=0)
            exact[lang] = float(np.mean([_main(task, a.sum(0)) - _main(task, b.sum(0)) for a, b in pairs]))
        others = [lang for lang in drawn if lang != source]
        ends = {lang: np.quantile(values, [0.025, 0.975]).tolist() for lang, values in drawn.items()}
        falls = bool(others) and np.quantile(np.mean([drawn[lang] for lang in others], axis=0), 0.975) < 0
        verdict = "critical" if falls and ends[source][1] >= 0 else "hurts both" if falls else "not needed"
        for lang in drawn:
            low, high = ends[lang]
            yield {"init": name, "language": lang, "source": source, "drop": exact[lang], "low": low, "high": high,
                   "verdict": verdict if others else ""}  # fmt: skip


def _main(task: Task[Any, Any], counts: Array) -> Array:
    return np.asarray(task.score(counts))[..., 0]


def _config(
    model: str, train: Sequence[Any], development: Sequence[Any], tests: Sequence[Any], how: Attempt
) -> dict[str, Any]:
    def described(records: Sequence[Any]) -> list[Any]:
        return [[str(r.language), r.name, len(r), r.hash] for r in records]

    config = {
        "kind": "transfer",
        "model": shown(model),
        "train": described(train),
        "development": described(development),
        "tests": described(tests),
        **asdict(how),
        "loading": {k: v for k, v in how.loading.items() if v and k != "device"},
        "versions": made_with(),
    }
    plain: dict[str, Any] = json.loads(json.dumps(config))
    return plain
