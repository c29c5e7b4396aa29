"""Arms of a trial: what is pretrained and tuned on a new language, and what came of it."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from interlingua.analyses.transfer_run import Attempt, TransferRun
from interlingua.corpora.transliterate import scheme as scheme_named
from interlingua.corpora.transliterate import transliterated
from interlingua.errors import InputError
from interlingua.extract.words import sentences
from interlingua.folders import whole
from interlingua.models.load import Model, blueprint, load_model
from interlingua.pretrain.config import SIZES, Config
from interlingua.pretrain.log import Line
from interlingua.pretrain.prepare import Never, source_lines
from interlingua.pretrain.train import pretrain
from interlingua.report.tables import ARMS, CACHE, PRETRAINED, RAW, keep_found, kept_found
from interlingua.report.transfer_tables import BILSTM as SCRATCH
from interlingua.transfer.finetune import Tuning
from interlingua.transfer.grids import Grid
from interlingua.transfer.readers import usual_rate
from interlingua.transfer.tasks import task as task_named
from interlingua.transfer.verdicts import ADAPTED, BILSTM, MONOLINGUAL, MULTILINGUAL

Array = np.ndarray[Any, Any]
Stage = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]
# What is tuned on, what the epoch is chosen by, what is judged by; of one task.
Split = tuple[Any, Any, Any]
# In the order in which a budget is spent on them.
ORDER = (BILSTM, MULTILINGUAL, ADAPTED, MONOLINGUAL)
# Characters that are about one token, whatever the script.
CHARACTERS = 3
# Tokens in an update and in a sequence of continued pretraining.
BATCH, LENGTH = 4_096, 128
# A model from nothing needs so many times the updates of one that goes on: it sits long on the plateau of common words.
FROM_NOTHING = 8
# Compiling takes as long as a few thousand updates on a GPU.
COMPILED = 10_000


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What is tried. `scheme`: also in another script.

    `rates`: of tuning, as multiples of the usual one for a network's width; every arm takes the one with the best
    development score, by the first seed. `updates` and `passes`: the most updates of adaptation, and the most times
    that the raw text is gone over; a monolingual model has `FROM_NOTHING` times as many of both. `size`: its size.
    `budget`: minutes, 0 for all that it takes.
    """

    tuning: Tuning = field(default_factory=lambda: Tuning(epochs=20))
    seeds: int = 3
    arms: tuple[str, ...] = ORDER
    scheme: str = ""
    rates: tuple[float, ...] = (1.0, 4.0)
    size: str = "micro"
    updates: int = 2_000
    passes: int = 100
    budget: float = 0.0
    loading: Mapping[str, Any] = field(default_factory=dict)


class UnseenRun:
    """A trial under way in its folder."""

    def __init__(
        self, model: str, splits: Mapping[str, Split], raw: Sequence[str], folder: Path, how: Trial, stage: Stage
    ) -> None:
        self.name, self.folder, self.how, self.stage = model, folder, how, stage
        self.splits = {"": dict(splits)}
        if how.scheme:
            self.splits[how.scheme] = {
                task: cast("Split", tuple(transliterated(record, how.scheme) for record in split))
                for task, split in splits.items()
            }
        first = next(iter(splits))
        self.lang = task_named(first).language(splits[first][0])
        self.raw = tuple(raw)

    def text(self, scheme: str) -> Path:
        """The raw text in a script, one file, without lines that hold a sentence which is judged by."""
        place = self.folder / RAW / f"{scheme or 'own'}.txt"
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            turn = scheme_named(scheme) if scheme else str
            never = Never(self._judged_by())
            whole(place, "".join(f"{turn(line)}\n" for line in self.lines() if not never.holds(line)).encode())
        return place

    def lines(self) -> Iterator[str]:
        """The raw text in the language's own script; where none was given, what is tuned on."""
        if not self.raw:
            first = next(iter(self.splits[""].values()))[0]
            yield from (row.text for rows in sentences(first).values() for row in rows)
        for source in self.raw:
            yield from (" ".join(line.split()) for line in source_lines(source, self.lang))

    def _judged_by(self) -> Iterator[str]:
        """The sentences that are judged by, and those that choose the epoch."""
        for _, *records in self.splits[""].values():
            for record in records:
                yield from (row.text for rows in sentences(record).values() for row in rows)

    def config(self, arm: str, scheme: str) -> Config:
        """How a language model is made of the raw text: from nothing, or from the multilingual model."""
        place = self.text(scheme)
        lines = place.read_text(encoding="utf-8").splitlines()
        characters = sum(map(len, lines))
        shape: dict[str, Any]
        if arm == MONOLINGUAL:
            shape, more = {"size": self.how.size}, FROM_NOTHING
            batch = SIZES[self.how.size]["batch"]
        else:
            model, more = self.loaded(), 1
            objective = "mlm" if model.tokenizer.mask_token_id is not None and model.stack == "encoder" else "clm"
            room = getattr(model.network.config, "max_position_embeddings", None)
            length = min(LENGTH, room - 2) if room else LENGTH  # two positions may be kept for padding
            batch = BATCH // length * length
            shape = {"init": self.name, "objective": objective, "length": length, "batch": batch,
                     "rate": usual_rate(model.layers.width), "size": "micro"}  # fmt: skip
        # held out: a twentieth, or what a few sequences take
        held = max(len(lines) // 20, math.ceil(4 * LENGTH * CHARACTERS * len(lines) / max(characters, 1)))
        updates = more * min(self.how.updates, max(1, math.ceil(self.how.passes * characters / CHARACTERS / batch)))
        return Config(
            **shape,
            seed=self.how.tuning.seed,
            text={self.lang: [str(place.resolve())]},
            updates=updates,
            warmup=updates // 10,
            held_out=max(1, min(400, held)),
            select=self.lang,
            compile=None if updates >= COMPILED else False,
        )

    def loaded(self) -> Model:
        """The multilingual model."""
        return load_model(self.name, **self.how.loading)

    def loading(self, arm: str) -> Mapping[str, Any]:
        """A model's own options are those of the multilingual one only."""
        return self.how.loading if arm != MONOLINGUAL else {"device": self.how.loading.get("device", "")}

    @property
    def device(self) -> str:
        """Where things are computed."""
        return str(self.how.loading.get("device") or ("cuda" if torch.cuda.is_available() else "cpu"))

    @property
    def place(self) -> str:
        """The same, as pretraining is told."""
        return "cpu" if self.device == "cpu" else ""

    def kept(self, arm: str, scheme: str) -> Path:
        """What is known of an arm's language model, once it is made."""
        return self.folder / CACHE / f"pretrained.{arm_name(arm, scheme)}.json"

    def pretrained(self, arm: str, scheme: str) -> dict[str, Any]:
        """The language model of an arm, made where it is not there yet: where it is, and how well it reads."""
        kept, place = self.kept(arm, scheme), self.folder / PRETRAINED / arm_name(arm, scheme)
        facts: dict[str, Any] | None = kept_found(kept)
        if facts is None:
            config = self.config(arm, scheme)
            for folder in (place.parent, kept.parent):
                folder.mkdir(parents=True, exist_ok=True)
            with self.stage(f"{said(arm, scheme)}: pretraining") as progress:

                def told(line: Line) -> None:
                    progress(line.update, config.updates)

                run = pretrain(config, place, device=self.place, progress=told)
            lines = len(self.text(scheme).read_text(encoding="utf-8").splitlines())
            best = min(_held(place), key=lambda row: row["bits"])
            found = {"arm": arm, "scheme": scheme, "updates": run.updates, "lines": lines, **best}
            facts = keep_found(kept, found)
            for name in ("checkpoint.pt", "data", "model", "tensorboard"):
                shutil.rmtree(place / name, ignore_errors=True)
                (place / name).unlink(missing_ok=True)
        return {**facts, "model": str(place / "best")}

    def tuned(
        self, arm: str, scheme: str, seeds: Sequence[int] = ()
    ) -> dict[str, tuple[list[dict[str, Any]], list[Array]]]:
        """An arm's rows of scores, and what they are made of with every seed (or those named); by task."""
        made = {}
        for task in self.splits[scheme]:
            run, highest = self._transfer(arm, scheme, task), False
            if arm == BILSTM:
                counts = run.tuned(SCRATCH, seeds=seeds)
            else:
                for setting in run.how.settings:
                    run.tuned(setting=setting, seeds=run.how.all_seeds[:1])
                best = run.best()
                highest = len(run.how.settings) > 1 and best["rate"] == max(each["rate"] for each in run.how.settings)
                run.rows.clear()
                counts = run.tuned(setting=best, seeds=seeds)
            about = {"task": task, "arm": arm, "scheme": scheme, "highest_rate": highest}
            rows = [{**about, **row} for row in run.rows]
            made[task] = rows, [each[self.lang] for each in counts]
        return made

    def _transfer(self, arm: str, scheme: str, task: str) -> TransferRun:
        """The tuning of an arm on a task."""
        name = self.pretrained(arm, scheme)["model"] if arm in (MONOLINGUAL, ADAPTED) else self.name
        train, development, test = self.splits[scheme][task]
        how = Attempt(
            task=task,
            tuning=self.how.tuning,
            seeds=self.how.seeds,
            grid=None if arm == BILSTM else self._grid(arm),
            keep=False,
            loading=self.loading(arm),
        )
        place = self.folder / ARMS / arm_name(arm, scheme) / task

        def stage(what: str) -> AbstractContextManager[Callable[[int, int], None]]:
            return self.stage(f"{said(arm, scheme)}, {task}: {what}")

        return TransferRun(name, ([train], [development], [test]), place, how, stage)

    def _grid(self, arm: str) -> Grid:
        """The rates that are tried; one that was asked for is the only one."""
        if arm == MONOLINGUAL:
            width = SIZES[self.how.size]["width"]
        else:
            width = blueprint(self.name, stack=str(self.how.loading.get("stack", ""))).layers.width
        some = (self.how.tuning.rate,) if self.how.tuning.rate else tuple(usual_rate(width) * m for m in self.how.rates)
        return Grid(tuple({"rate": float(f"{rate:.2g}")} for rate in some))

    def usual(self) -> Iterator[dict[str, Any]]:
        """What the most frequent tag of each word, and the commonest of all, would give; of tasks with tags."""
        for task in self.splits[""]:
            run = self._transfer(BILSTM, "", task)
            if hasattr(run.tests[0], "tags"):
                for row in run.frequent(run.tests[0]):
                    yield {"task": task, "arm": row["init"], "scheme": "", **row}


def _held(place: Path) -> list[dict[str, Any]]:
    """What was held out, at every evaluation: perplexity and bits a character, and after how many updates."""
    found = []
    for line in (place / "log.jsonl").read_text(encoding="utf-8").splitlines():
        facts = json.loads(line)
        found += [{"at": facts["update"], "perplexity": s["perplexity"], "bits": s["bits"]} for s in facts["scores"]]
    if not found:
        raise InputError(f"{place} has no evaluation in its log: it was pretrained by something else")
    return found


def arm_name(arm: str, scheme: str) -> str:
    """An arm in a script, as files are called."""
    return f"{arm}.{scheme}" if scheme else arm


def said(arm: str, scheme: str) -> str:
    """An arm in a script, in words."""
    return f"{arm}, {scheme}" if scheme else arm
