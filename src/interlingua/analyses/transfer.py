"""`transfer`: a model tuned on a task in one language and judged in others, and what stands behind its scores.

A folder holds `config.json`, `scores.parquet` and `.csv` (a row a score), `drops.csv` (what is lost where layers were
drawn anew), with parallel text `similarities.csv`, `relations.csv`, `foretold.csv` and `neurons.csv`, `predictions/`
(what was answered), `tuned/` (the tuned models, which every verb takes), and what a killed run goes on from.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import numpy as np

from interlingua.analyses.relate import AFTER, BEFORE, foretold, measured, relations
from interlingua.analyses.survey import made_with, same_run
from interlingua.analyses.transfer_run import Attempt, Stage, TransferRun, check_apart
from interlingua.cluster import HERE, Engine, workers
from interlingua.errors import InputError
from interlingua.folders import claimed
from interlingua.measures.catalog import find
from interlingua.models.codes import has_codes
from interlingua.models.load import Model, load_model
from interlingua.report.tables import CACHE, keep_found, kept_found
from interlingua.report.transfer_tables import WHOLE, TransferTables, write_transfer
from interlingua.transfer.ablate import chosen
from interlingua.transfer.evaluate import differences
from interlingua.transfer.finetune import Part
from interlingua.transfer.network import counted
from interlingua.transfer.neurons import RANDOM, chosen_neurons, silenced
from interlingua.transfer.readers import ModelReader
from interlingua.transfer.task import HeadTask, Task
from interlingua.transfer.tasks import task as task_named
from interlingua.types import ParallelCorpus, Representations

__all__ = ["Attempt", "dropped", "transfer"]

Array = np.ndarray[Any, Any]
# Random sets of neurons that the chosen ones are set against, and sentences a language that they are judged by.
SETS, JUDGED = 5, 300
# What may be asked for later, of a run that has been tuned: nothing that was tuned depends on it.
LATER = ("random_init", "seeds", "baseline", "measures", "neurons", "parallel", "keep")
# The source is spared where it loses at most this share of what the other languages lose.
SPARED = 0.2


def transfer(
    model: str,
    train: Sequence[Any],
    development: Sequence[Any],
    tests: Sequence[Any],
    out: str | Path,
    how: Attempt,
    *,
    parallel: ParallelCorpus | None = None,
    engine: Engine = HERE,
    force: bool = False,
    stage: Stage = lambda _name: nullcontext(lambda _done, _total: None),
) -> TransferTables:
    """Tune on records of one language or several; score records of any, the first training language's among them.

    With `parallel` text, similarity before and after tuning is set against gaps, and languages of it that have no test
    are foretold a score. With a Ray cluster as `engine`, settings, seeds and blocks drawn anew are tuned at once, by
    workers that see the same folder and the same model.
    """
    if not train or not development:
        raise InputError("there is nothing to tune on, or nothing to choose the epoch by")
    check_apart(train, tests)
    task, folder = task_named(how.task), Path(out)
    langs = [task.language(record) for record in tests]
    if twice := [lang for lang in langs if langs.count(lang) > 1]:
        raise InputError(f"two sets are to be judged by in {twice[0]}: name one a language")
    loaded = load_model(model, **how.loading)
    _check(task, loaded, train, tests, how, parallel)
    groups = chosen(how.random_init, loaded.layers.blocks)
    config = _config(task, loaded, train, development, tests, how, parallel)
    with claimed(folder):
        same_run(folder, config, force=force, may_differ=LATER)
        run = TransferRun(model, (train, development, tests), folder, how, stage, loaded.weights)
        with workers(engine) if engine.spread else nullcontext() as there:
            run.all(groups, there)
        made: dict[str, Any] = {"drops": list(dropped(task, run.counts, run.source, how.tuning.seed))}
        if parallel is not None:
            write_transfer(TransferTables.of(config, run.rows, **made), folder)
            made |= _related(run, parallel)
        tables = TransferTables.of(config, run.rows, **made)
        write_transfer(tables, folder)
    return tables


def _check(
    task: Task[Any, Any],
    model: Model,
    train: Sequence[Any],
    tests: Sequence[Any],
    how: Attempt,
    parallel: ParallelCorpus | None,
) -> None:
    """An error before anything is tuned, where parts of what was asked for do not go together."""
    for measure in how.measures if parallel is not None else ():
        find(measure)
    if how.neurons and round(how.neurons * model.layers.width) < 1:
        raise InputError(f"{how.neurons:g} of {model.layers.width} neurons are none: take a larger share")
    if not isinstance(task, HeadTask) and not has_codes(model.tokenizer):
        written = {str(record.langs[1]) for record in train}
        if other := [str(test.langs[1]) for test in tests if str(test.langs[1]) not in written]:
            raise InputError(f"{model.name} learns to write {', '.join(sorted(written))}, and {other[0]} is asked for")
    if parallel is not None and not how.keep:
        raise InputError("similarity after tuning is that of the tuned model: keep it")
    if parallel is not None and not isinstance(task, HeadTask):
        raise InputError(f"scores of {task.name} are of pairs of languages: similarity is not set against them")
    if how.neurons and parallel is None:
        raise InputError("which neurons languages share is seen in parallel text: name some")
    if how.baseline and not (isinstance(task, HeadTask) and task.words):
        raise InputError(f"the BiLSTM reads words, and {task.name} is about sentences: leave the baseline out")


def _related(run: TransferRun, corpus: ParallelCorpus) -> dict[str, Any]:
    """Similarity before and after tuning, what it has to do with gaps, and what neurons have."""
    how, place = run.how, run.folder
    before, _ = measured(
        run.model, corpus, run.source, how.measures, place, BEFORE, loading=how.loading, stage=run.stage
    )
    after, reps = measured(
        str(run.whole() / "model"), corpus, run.source, how.measures, place, AFTER, loading=how.loading, stage=run.stage
    )
    scores = TransferTables.of({"train": [[run.source]]}, run.rows).by_language().set_index("language")
    others = [lang for lang in scores.index if lang != run.source]
    gaps, values = ({lang: float(scores[name][lang]) for lang in others} for name in ("gap", "value"))
    similar = [*before, *after]
    return {
        "similarities": similar,
        "relations": list(relations(similar, gaps, seed=how.tuning.seed)),
        "foretold": list(foretold(similar, values)),
        "neurons": list(_neurons(run, reps)) if how.neurons else [],
    }


def _neurons(run: TransferRun, reps: Representations) -> Iterator[dict[str, Any]]:
    """What every language's score changes by where neurons are held at their means: a row a layer, kind and language.

    Of random neurons the mean over sets, `low` and `high` being the lowest and highest of them. Means are those of the
    source's sentences. Where a norm follows the last block, what it gives is not what is held: it is left out.
    """
    tuned, how = run.opened(), run.how
    reader = cast("ModelReader", tuned.network.body)  # what `tune` made of a task with a head
    parts = {run.task.language(test): Part.of(tuned.network, test[:JUDGED]) for test in run.tests}

    def scores() -> dict[str, float]:
        answers = {lang: tuned.network.answers(part.encoded) for lang, part in parts.items()}
        counts = {lang: counted(run.task, part.gold, answers[lang]).sum(0) for lang, part in parts.items()}
        return {lang: float(_main(run.task, each)) for lang, each in counts.items()}

    blocks = reader.model.layers.blocks - reader.model.layers.final_norm
    kept = {layer: kept_found(_silence(run, reps, layer)) for layer in range(1, blocks + 1)}
    undone = [layer for layer, found in kept.items() if found is None]
    own_scores = scores() if undone else {}
    with run.stage("putting neurons to silence") as progress:
        for layer in undone:
            rows: list[dict[str, Any]] = []
            means = np.asarray(reps[run.source, layer]).mean(0)
            kinds = chosen_neurons(reps, run.source, layer, how.neurons, draws=SETS, seed=how.tuning.seed)
            for kind, sets in kinds.items():
                found = []
                for neurons in sets:
                    with silenced(reader.model, layer, neurons, means):
                        found.append(scores())
                for lang, own in own_scores.items():
                    changes = [each[lang] - own for each in found]
                    ends = {"low": min(changes), "high": max(changes)} if kind == RANDOM else {}
                    rows.append({"layer": layer, "kind": kind, "neurons": len(sets[0]), "language": lang,
                                 "change": float(np.mean(changes)), **ends})  # fmt: skip
            kept[layer] = keep_found(_silence(run, reps, layer), rows)
            progress(layer, blocks)
    for found in kept.values():
        yield from found


def _silence(run: TransferRun, reps: Representations, layer: int) -> Path:
    """Where what was found of a layer's neurons is kept; it is of one share and one parallel text."""
    text = str(reps.signature.get("corpus", ""))[:12]
    return run.folder / CACHE / f"neurons.{run.how.neurons:g}.{text}.{layer}.json"


def dropped(
    task: Task[Any, Any], counts: Mapping[tuple[str, int], Mapping[str, Array]], source: str, seed: int = 0
) -> Iterator[dict[str, Any]]:
    """What is lost without layers: score without them less score with them, the mean over seeds.

    The same sentences are drawn again for both, so intervals are of the difference. Layers are critical for transfer
    if the mean over the other languages drops and the source does not (Muller et al. 2021), which is taken to mean that
    its drop is within chance, or at most a fifth of theirs: with many sentences no drop is within chance.
    """
    seeds = sorted({s for _, s in counts})
    for name in dict.fromkeys(name for name, _ in counts if name):
        drawn: dict[str, Array] = {}
        exact: dict[str, float] = {}
        for lang in counts[WHOLE, seeds[0]]:
            pairs = [(counts[name, s][lang], counts[WHOLE, s][lang]) for s in seeds if (name, s) in counts]
            exact[lang], drawn[lang] = differences(task, pairs, seed=seed)
        others = [lang for lang in drawn if lang != source]
        ends = {lang: np.quantile(values, [0.025, 0.975]).tolist() for lang, values in drawn.items()}
        falls = bool(others) and np.quantile(np.mean([drawn[lang] for lang in others], axis=0), 0.975) < 0
        verdict = "not needed"
        if falls:
            spared = ends[source][1] >= 0 or exact[source] >= SPARED * np.mean([exact[lang] for lang in others])
            verdict = "critical" if spared else "hurts both"
        for lang in drawn:
            low, high = ends[lang]
            yield {"init": name, "language": lang, "source": source, "drop": exact[lang], "low": low, "high": high,
                   "verdict": verdict if others else ""}  # fmt: skip


def _main(task: Task[Any, Any], counts: Array) -> Array:
    return np.asarray(task.score(counts))[..., 0]


def _config(
    task: Task[Any, Any],
    model: Model,
    train: Sequence[Any],
    development: Sequence[Any],
    tests: Sequence[Any],
    how: Attempt,
    parallel: ParallelCorpus | None,
) -> dict[str, Any]:
    def described(records: Sequence[Any]) -> list[Any]:
        return [[task.language(r), r.name, len(r), r.hash] for r in records]

    config = {
        "kind": "transfer",
        "model": model.name,
        "weights": model.weights,
        "train": described(train),
        "development": described(development),
        "tests": described(tests),
        "parallel": None if parallel is None else [parallel.name, len(parallel), parallel.hash],
        **asdict(how),
        "loading": {k: v for k, v in how.loading.items() if v and k != "device"},
        "versions": made_with(),
    }
    plain: dict[str, Any] = json.loads(json.dumps(config))
    return plain
