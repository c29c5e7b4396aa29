"""What every arm of a trial will take, and which are left out: those that there is no text or no time for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from interlingua.analyses.transfer_run import from_nothing, longer
from interlingua.analyses.unseen_run import ORDER, Split, UnseenRun, arm_name, said
from interlingua.errors import InputError
from interlingua.models.load import load_model
from interlingua.pretrain.train import pretrain
from interlingua.report.tables import ARMS, CACHE
from interlingua.report.transfer_tables import BILSTM as SCRATCH
from interlingua.transfer.finetune import learnt_labels, network_of
from interlingua.transfer.tasks import task as task_named
from interlingua.transfer.timing import tuning_seconds
from interlingua.transfer.verdicts import ADAPTED, BILSTM, MONOLINGUAL

# The least raw text that is worth learning from, in characters; updates of a short run that shows how long one takes.
LEAST, TRIED = 10_000, 3


@dataclass(frozen=True)
class Step:
    """An arm, what it is expected to take in seconds (0: it is done), and why it is left out, if it is."""

    arm: str
    scheme: str
    seconds: float
    left_out: str = ""


def plan(run: UnseenRun) -> list[Step]:
    """What every arm will take, and which are left out: those that there is no text or no time for."""
    (run.folder / CACHE).mkdir(exist_ok=True)
    wanted = [(arm, scheme) for scheme in run.splits for arm in ORDER if arm in run.how.arms]
    # what decides comes first: a budget is spent on arms in their order, in both scripts
    wanted.sort(key=lambda each: ORDER.index(each[0]))
    left = 60 * run.how.budget if run.how.budget else math.inf
    steps = []
    for arm, scheme in wanted:
        why = _impossible(run, arm, scheme)
        took = 0.0
        if not why and not _done(run, arm, scheme):
            try:
                took = _expected(run, arm, scheme)
            except InputError as error:
                if arm not in (MONOLINGUAL, ADAPTED):
                    raise
                why = str(error)
        if not why and took > left:
            why = f"it would take {_minutes(took)}, and {_minutes(left)} of the budget are left"
        if not why:
            left -= took
        steps.append(Step(arm, scheme, took, why))
    return steps


def _impossible(run: UnseenRun, arm: str, scheme: str) -> str:
    if arm not in (MONOLINGUAL, ADAPTED):
        return ""
    many = len(run.text(scheme).read_text(encoding="utf-8"))
    if many < LEAST:
        return f"{many:,} characters of raw text are too few to learn a language from: give {LEAST:,} or more"
    if arm == ADAPTED and run.loaded().two_stacks:
        return "a model with an encoder and a decoder is not pretrained on: name an encoder or a decoder"
    return ""


def _done(run: UnseenRun, arm: str, scheme: str) -> bool:
    places = [run.folder / ARMS / arm_name(arm, scheme) / task / CACHE for task in run.splits[scheme]]
    seeds = range(run.how.tuning.seed, run.how.tuning.seed + run.how.seeds)
    many = 1 if run.how.tuning.rate else len(run.how.rates)
    names = [SCRATCH] if arm == BILSTM else [f"whole.setting-{i}" for i in range(many)]
    # every rate with the first seed, and one with all
    return all(
        all((place / f"{name}.{seeds[0]}.json").exists() for name in names)
        and any(all((place / f"{name}.{seed}.json").exists() for seed in seeds) for name in names)
        for place in places
    )


def _expected(run: UnseenRun, arm: str, scheme: str) -> float:
    """Seconds, by a few updates of everything."""
    with run.stage(f"{said(arm, scheme)}: how long it takes"), TemporaryDirectory(dir=run.folder) as place:
        seconds, name = _tried(run, arm, scheme, Path(place) / "trial")
        for task, split in run.splits[scheme].items():
            more = 0 if arm == BILSTM or run.how.tuning.rate else len(run.how.rates) - 1
            seconds += (run.how.seeds + more) * _tuning(run, arm, name, task, split)
    return seconds


def _tuning(run: UnseenRun, arm: str, name: str, task: str, split: Split) -> float:
    asked, how = task_named(task), run.how.tuning
    if arm == BILSTM:
        network: Any = from_nothing(asked, split[:1], split[1:2], how.seed)
        network.to(run.device)
        return tuning_seconds(network, *split, longer(how))
    model = load_model(name, **run.loading(arm))
    network = network_of(model, asked, learnt_labels(asked, split[:1], split[1:2])).to(model.device)
    return tuning_seconds(network, *split, how)


def _tried(run: UnseenRun, arm: str, scheme: str, place: Path) -> tuple[float, str]:
    """What pretraining will take, by a few updates on the beginning of the text; and a model of its size."""
    if arm not in (MONOLINGUAL, ADAPTED):
        return 0.0, run.name
    if run.kept(arm, scheme).exists():
        return 0.0, str(run.pretrained(arm, scheme)["model"])
    config = run.config(arm, scheme).model_copy(update={"compile": False})
    few = min(TRIED, config.updates)
    made = pretrain(config, place, device=run.place, stop_at=few)
    return config.updates / made.updates_per_second, str(made.model)


def _minutes(seconds: float) -> str:
    return f"{seconds:.{1 if seconds < 10 else 0}f} seconds" if seconds < 100 else f"{seconds / 60:.0f} minutes"
