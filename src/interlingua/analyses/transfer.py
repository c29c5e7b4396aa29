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
from interlingua.analyses.transfer_run import Attempt, Stage, TransferRun
from interlingua.errors import InputError
from interlingua.folders import claimed
from interlingua.models.load import Model, load_model
from interlingua.report.transfer_tables import WHOLE, TransferTables, write_transfer
from interlingua.transfer.ablate import chosen
from interlingua.transfer.evaluate import differences
from interlingua.transfer.finetune import Part
from interlingua.transfer.network import counted
from interlingua.transfer.neurons import RANDOM, chosen_neurons, silenced
from interlingua.transfer.readers import ModelReader
from interlingua.transfer.task import HeadTask, Task
from interlingua.transfer.tasks import task as task_named
from interlingua.types import ParallelCorpus, Representations, TaggedCorpus, Treebank

__all__ = ["Attempt", "dropped", "transfer"]

Array = np.ndarray[Any, Any]
# Random sets of neurons that the chosen ones are set against, and sentences a language that they are judged by.
SETS, JUDGED = 5, 300
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
    force: bool = False,
    stage: Stage = lambda _name: nullcontext(lambda _done, _total: None),
) -> TransferTables:
    """Tune on records of one language or several; score records of any, the first training language's among them.

    With `parallel` text, similarity before and after tuning is set against gaps, and languages of it that have no test
    are foretold a score.
    """
    if not train or not development:
        raise InputError("there is nothing to tune on, or nothing to choose the epoch by")
    _check_apart(train, tests)
    task, folder = task_named(how.task), Path(out)
    langs = [task.language(record) for record in tests]
    if twice := [lang for lang in langs if langs.count(lang) > 1]:
        raise InputError(f"two sets are to be judged by in {twice[0]}: name one a language")
    _check(task, how, parallel)
    loaded = load_model(model, **how.loading)
    groups = chosen(how.random_init, loaded.layers.blocks)
    config = _config(task, loaded, train, development, tests, how, parallel)
    with claimed(folder):
        same_run(folder, config, force=force)
        run = TransferRun(model, (train, development, tests), folder, how, stage)
        run.all(groups)
        made: dict[str, Any] = {"drops": list(dropped(task, run.counts, run.source, how.tuning.seed))}
        if parallel is not None:
            made |= _related(run, parallel)
        tables = TransferTables.of(config, run.rows, **made)
        write_transfer(tables, folder)
    return tables


def _check_apart(train: Sequence[Any], tests: Sequence[Any]) -> None:
    seen = {row for each in train for row in _content(each)}
    for test in tests:
        if 2 * sum(row in seen for row in _content(test)) > len(test):
            raise InputError(f"{test.name} is tuned on and judged by: name other sentences, or another split")


def _check(task: Task[Any, Any], how: Attempt, parallel: ParallelCorpus | None) -> None:
    """An error before anything is tuned, where parts of what was asked for do not go together."""
    if parallel is not None and not how.keep:
        raise InputError("similarity after tuning is that of the tuned model: keep it")
    if parallel is not None and not isinstance(task, HeadTask):
        raise InputError(f"scores of {task.name} are of pairs of languages: similarity is not set against them")
    if how.neurons and parallel is None:
        raise InputError("which neurons languages share is seen in parallel text: name some")
    if how.baseline and not (isinstance(task, HeadTask) and task.words):
        raise InputError(f"the BiLSTM reads words, and {task.name} is about sentences: leave the baseline out")


def _content(record: Any) -> Sequence[Any]:
    """What is asked about: the words or texts of every sentence."""
    if isinstance(record, Treebank):
        return [tree.words for tree in record.trees]
    if isinstance(record, ParallelCorpus):
        return record.columns[0]
    return record.words if isinstance(record, TaggedCorpus) else record.texts


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

    Of random neurons the mean over sets, `low` and `high` being the lowest and highest of them.
    """
    tuned, how = run.opened(), run.how
    reader = cast("ModelReader", tuned.network.body)  # what `tune` made of a task with a head
    parts = {run.task.language(test): Part.of(tuned.network, test[:JUDGED]) for test in run.tests}

    def scores() -> dict[str, float]:
        answers = {lang: tuned.network.answers(part.encoded) for lang, part in parts.items()}
        counts = {lang: counted(run.task, part.gold, answers[lang]).sum(0) for lang, part in parts.items()}
        return {lang: float(_main(run.task, each)) for lang, each in counts.items()}

    whole = scores()
    blocks = reader.model.layers.blocks
    with run.stage("putting neurons to silence") as progress:
        for layer in range(1, blocks + 1):
            means = np.asarray(reps[run.source, layer]).mean(0)
            kinds = chosen_neurons(reps, run.source, layer, how.neurons, draws=SETS, seed=how.tuning.seed)
            for kind, sets in kinds.items():
                found = []
                for neurons in sets:
                    with silenced(reader.model, layer, neurons, means):
                        found.append(scores())
                for lang, own in whole.items():
                    changes = [each[lang] - own for each in found]
                    ends = {"low": min(changes), "high": max(changes)} if kind == RANDOM else {}
                    yield {"layer": layer, "kind": kind, "neurons": len(sets[0]), "language": lang,
                           "change": float(np.mean(changes)), **ends}  # fmt: skip
            progress(layer, blocks)


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
