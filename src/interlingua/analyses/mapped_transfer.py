"""`mapped_transfer`: trained above one model's frozen layers, run above another's through a map (Wu et al. 2020).

A folder holds `config.json`, `scores.parquet` and `.csv`, `maps/` (runs of `map_contexts`, with their alignments), and
what a run that was killed goes on from.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from interlingua.analyses.map_run import Plan
from interlingua.analyses.mapping import map_contexts
from interlingua.analyses.survey import made_with, same_run
from interlingua.analyses.transfer_run import Attempt, Stage, check_apart
from interlingua.errors import InputError
from interlingua.folders import claimed
from interlingua.mapping.alignment import open_alignment
from interlingua.mapping.composed import Composed
from interlingua.models.load import load_model, seeded, shown
from interlingua.report.graft_tables import MAPPED, SHARED, SHARED_MAPPED, GraftTables, write_graft
from interlingua.report.tables import ABOVE, ALIGNMENTS, CACHE, MAPS, keep_found, kept_found
from interlingua.transfer.evaluate import score
from interlingua.transfer.finetune import FACTS, fit, learnt_labels
from interlingua.transfer.mapped import FRESH, MappedReader, unmapped
from interlingua.transfer.network import TaskNetwork
from interlingua.transfer.task import HeadTask
from interlingua.transfer.tasks import task as task_named
from interlingua.types import ParallelCorpus

# what lies below where it is trained, and below where it is run, by the number of a layer
Sides = tuple[Composed, Composed]


def mapped_transfer(
    models: tuple[str, str],
    train: Sequence[Any],
    development: Sequence[Any],
    tests: tuple[Any, Any],
    corpus: ParallelCorpus,
    out: str | Path,
    how: Attempt,
    *,
    control: str = "",
    layers: Sequence[int] = (),
    force: bool = False,
    stage: Stage = lambda _name: nullcontext(lambda _done, _total: None),
) -> GraftTables:
    """A curve over layers: `models` are that of the source language and that of the other, `tests` a record of each.

    `corpus` is parallel text of the two, on which maps are fitted. `control` is a model of both languages: its layers
    as they are, and mapped the same way.
    """
    task, folder = task_named(how.task), Path(out)
    if not isinstance(task, HeadTask):
        raise InputError(f"{task.name} has no head to be put on fresh layers: choose another task")
    langs = tuple(task.language(record) for record in tests)
    if langs[0] != task.language(train[0]) or langs[0] == langs[1]:
        raise InputError(f"tests in {langs[0]} and {langs[1]}: the first is in the language of training, the other not")
    check_apart(train, tests)
    pair = corpus.languages(*langs)
    loaded = [load_model(name, **how.loading) for name in (*models, *([control] if control else []))]
    blocks = min(model.layers.blocks for model in loaded)
    chosen = tuple(layers) or tuple(range(blocks + 1))
    if wrong := [n for n in chosen if not 0 <= n <= blocks]:
        raise InputError(f"there is no layer {wrong[0]}: layers run from 0 (embeddings) to {blocks}")
    config = {
        "kind": "mapped-transfer",
        "models": [shown(name) for name in models],
        "control": shown(control) if control else "",
        "weights": [model.weights for model in loaded],
        "languages": list(langs),
        "layers": list(chosen),
        "fresh": FRESH,
        "corpus": [pair.name, len(pair), pair.hash],
        "train": [[r.name, len(r), r.hash] for r in (*train, *development)],
        "tests": [[r.name, len(r), r.hash] for r in tests],
        **{k: v for k, v in asdict(how).items() if k in ("task", "tuning", "seeds")},
        "versions": made_with(),
    }
    with claimed(folder):
        same_run(folder, json.loads(json.dumps(config)), force=force)
        (folder / CACHE).mkdir(exist_ok=True)
        rows: list[dict[str, Any]] = []
        done, total = 0, len(chosen) * how.seeds * (3 if control else 1)
        for setup, below in _setups(models, control, pair, folder, how, stage):
            for layer in chosen:
                for seed in range(how.tuning.seed, how.tuning.seed + how.seeds):
                    place = folder / CACHE / f"{setup.replace(' ', '-').replace(',', '')}.{layer}.{seed}.json"
                    done += 1
                    found = kept_found(place)
                    if found is None:
                        with stage(f"{setup}, layer {layer}, {done} of {total}") as progress:
                            made = _run(task, below(layer), train, development, tests, folder, how, seed, progress)
                        about = {"setup": setup, "layer": layer, "seed": seed}
                        found = keep_found(place, [{**about, **row} for row in made])
                    rows += found
        tables = GraftTables.of(json.loads(json.dumps(config)), rows)
        write_graft(tables, folder)
    return tables


def _setups(
    models: tuple[str, str], control: str, pair: ParallelCorpus, folder: Path, how: Attempt, stage: Stage
) -> Iterator[tuple[str, Any]]:
    """A name, and what gives the two sides of a layer."""
    plan = Plan(baseline=False, ways=("rotation",), sizes=(), extraction={"truncate": True}, loading=how.loading)

    def mapped(names: Sequence[str], where: str, layer: int) -> Sides:
        aligned = open_alignment(folder / MAPS / where / ALIGNMENTS / f"layer-{layer}.npz")
        both = [load_model(name, **how.loading) for name in (names[0], names[-1])]
        return Composed(both[0], aligned, "source", layer), Composed(both[1], aligned, "target", layer)

    def as_it_is(layer: int) -> Sides:
        model = load_model(control, **how.loading)
        return unmapped(model, layer), unmapped(model, layer)

    for setup, names, where in ((MAPPED, models, "two"), (SHARED_MAPPED, (control,), "one")):
        if not names[0]:
            continue
        (folder / MAPS).mkdir(exist_ok=True)
        map_contexts(names, pair, folder / MAPS / where, plan, stage=stage)
        yield setup, partial(mapped, names, where)
    if control:
        yield SHARED, as_it_is


def _run(
    task: HeadTask[Any, Any],
    below: Sides,
    train: Sequence[Any],
    development: Sequence[Any],
    tests: tuple[Any, Any],
    folder: Path,
    how: Attempt,
    seed: int,
    progress: Any,
) -> list[dict[str, Any]]:
    """Trained above the source's layers, judged there, and above the other's."""
    place = folder / ABOVE
    if (place / FACTS).exists():  # done, and killed before its scores were kept
        shutil.rmtree(place)
    with seeded(seed):
        reader = MappedReader(below[0], dropout=how.tuning.dropout)
        network = TaskNetwork(reader, task, learnt_labels(task, train, development), how.tuning.dropout)
    network.to(below[0].model.device)
    tuned = fit(network, train, development, place, replace(how.tuning, seed=seed), progress=progress)
    rows = []
    for side, record in zip(below, tests, strict=True):
        reader.exchange(side)
        network.pad = reader.pad
        found = score(tuned, record, seed=seed)
        rows.append(
            {"language": found.language, "set": found.name, "metric": found.metric, "value": found.value,
             "low": found.low, "high": found.high, "sentences": found.sentences, "development": tuned.development}
        )  # fmt: skip
    shutil.rmtree(place)
    return rows
