"""Tune a model on a task in one language or several, and keep the best epoch by a development set of the source.

A folder holds a checkpoint an epoch while it is tuned (a killed run goes on from the last), and then `model/` (the
tuned network with its tokenizer, which every verb of the tool takes), `head.safetensors` and `tuned.json`.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from interlingua.errors import DataNotFoundError, InputError, MissingExtraError
from interlingua.folders import whole
from interlingua.models import Model, load_model
from interlingua.models.attention import hasten
from interlingua.models.layers import blocks_of
from interlingua.models.load import seeded
from interlingua.models.weights import quiet
from interlingua.transfer.encode import FILLING, Encoded
from interlingua.transfer.network import Answering, TaskNetwork, counted
from interlingua.transfer.readers import ModelReader, open_reader
from interlingua.transfer.task import HeadTask, Labels, Task, known
from interlingua.transfer.tasks import task as task_named
from interlingua.transfer.translator import Translator

FACTS, HEAD, MODEL, STEPS = "tuned.json", "head.safetensors", "model", "steps"
# What a checkpoint has when it is whole; the state of the trainer is written last.
WHOLE = ("model.safetensors", "optimizer.pt", "scheduler.pt", "trainer_state.json")
EMBEDDINGS = 0
Progress = Callable[[int, int], None]


# Setting -> its kind, and from where to where it goes.
_RANGES: dict[str, tuple[Any, float, float]] = {
    "epochs": (int, 1, math.inf),
    "batch": (int, 1, math.inf),
    "patience": (int, 0, math.inf),
    "rate": (int | float, 0, 1),
    "head_rate": (int | float, 0, 1),
    "warmup": (int | float, 0, 1),
    "weight_decay": (int | float, 0, 1),
    "dropout": (int | float, 0, 0.95),
}


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """How a model is tuned. `rate` 0: what suits the network (5e-5 if 768 wide); `head_rate` 0: the same.

    `frozen`: layers that stay as they are, 0 being the embeddings. Parts of a language's own are frozen unless
    `tune_own` is said. `patience`: stop after so many epochs without a better score, 0 for never.
    """

    epochs: int = 10
    batch: int = 32
    rate: float = 0.0
    head_rate: float = 0.0
    warmup: float = 0.1
    schedule: str = "linear"
    weight_decay: float = 0.01
    dropout: float = 0.1
    frozen: tuple[int, ...] = ()
    tune_own: bool = False
    patience: int = 0
    bf16: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for name, (kind, low, high) in _RANGES.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, kind) or not low <= value <= high:
                many = "a whole number" if kind is int else "a number"
                end = f" to {high:g}" if high < math.inf else " or more"
                raise InputError(f"{name} {value!r} is not {many}, {low:g}{end}")
        if self.schedule not in ("linear", "constant", "cosine"):
            raise InputError(f"schedule {self.schedule!r} is none of linear, constant, cosine")

    def rates(self, usual: float) -> tuple[float, float]:
        """Of the network and of the head."""
        rate = self.rate or usual
        return rate, self.head_rate or rate


@dataclass(frozen=True)
class Part:
    """Sentences to learn from or to be judged by, as a network reads them."""

    encoded: Encoded
    gold: tuple[Any, ...]

    @classmethod
    def of(cls, network: Answering, record: Any) -> Part:
        """From a record."""
        if not len(record):
            raise InputError(f"{record.name} has no rows")
        return cls(network.encode(record), network.task.gold(record))


@dataclass(frozen=True)
class Tuned:
    """A tuned network, and the score it was chosen by."""

    network: Answering
    labels: Labels
    development: float
    epoch: int

    @property
    def task(self) -> Task[Any, Any]:
        """What it was tuned for."""
        return self.network.task


def tune(
    model: Model,
    task: Task[Any, Any],
    train: Sequence[Any],
    development: Sequence[Any],
    out: str | Path,
    how: Tuning | None = None,
    *,
    progress: Progress = lambda _done, _total: None,
) -> Tuned:
    """Tune on records (one a language), choose the epoch by others; what was done in the folder is not done again.

    The model given is changed. Its layers may have been drawn anew before (`reinitialise`).
    """
    asked, folder = how or Tuning(), Path(out)
    if (folder / FACTS).exists():
        return open_tuned(folder, device=str(model.device))
    if len({task.language(record) for record in train}) > 1 and getattr(model.network.config, "separate", False):
        raise InputError(f"{model.name} has parts for each language: tune it on one language at a time")
    labels = learnt_labels(task, train, development)
    with seeded(asked.seed):
        network = network_of(model, task, labels, asked.dropout)
    freeze(model, asked)
    return fit(network.to(model.device), train, development, folder, asked, progress=progress)


def network_of(model: Model, task: Task[Any, Any], labels: Labels, dropout: float = 0.1) -> Answering:
    """A model with a head of the task on it; one that translates has had its own since it was pretrained."""
    if isinstance(task, HeadTask):
        return TaskNetwork(ModelReader(model), task, labels, dropout)
    return Translator(model, task, labels)


def learnt_labels(task: Task[Any, Any], train: Sequence[Any], development: Sequence[Any]) -> Labels:
    """The classes of training; an error where what the epoch is chosen by has none of them."""
    for record in (*train, *development):
        if not len(record):
            raise InputError(f"{record.name} has no rows")
    labels = task.labels([answer for record in train for answer in task.gold(record)])
    for record in development:
        known(labels, task.gold(record), task, record.name)
    return labels


def fit(
    network: Answering,
    train: Sequence[Any],
    development: Sequence[Any],
    out: str | Path,
    how: Tuning,
    *,
    progress: Progress = lambda _done, _total: None,
) -> Tuned:
    """Train any network that answers, and keep its best epoch; it goes on from what is in the folder."""
    folder = Path(out)
    if (folder / FACTS).exists():
        return open_tuned(folder, device=str(next(network.parameters()).device))
    parts, judged = ([Part.of(network, record) for record in records] for records in (train, development))
    network.language = network.spoken(parts[0].encoded)
    if how.bf16:
        hasten(network)
    trainer = _trainer(network, parts, judged, folder, how, progress)
    begun = _begun(folder / STEPS)
    trainer.train(resume_from_checkpoint=str(begun) if begun else None)
    score, epoch = float(trainer.state.best_metric or 0.0), _best_epoch(trainer)
    found = Tuned(network, network.labels, score, epoch)
    save_tuned(found, folder, how)
    shutil.rmtree(folder / STEPS, ignore_errors=True)
    return found


def _begun(steps: Path) -> Path | None:
    """The last checkpoint that was written whole; those that a kill cut short are taken away."""
    for place in sorted(steps.glob("checkpoint-*"), key=lambda each: -int(each.name.rpartition("-")[2])):
        if all((place / name).exists() for name in WHOLE) and any(place.glob("rng_state*")):
            try:
                json.loads((place / WHOLE[-1]).read_text(encoding="utf-8"))
            except ValueError:
                pass
            else:
                return place
        shutil.rmtree(place)
    return None


def freeze(model: Model, how: Tuning) -> None:
    """Leave layers as they are: those that are named, and parts of a language's own."""
    model.network.requires_grad_(requires_grad=True)
    blocks = blocks_of(model.part)
    if wrong := [n for n in how.frozen if not 0 <= n <= len(blocks)]:
        raise InputError(f"there is no layer {wrong[0]}: layers run from 0 (embeddings) to {len(blocks)}")
    inside = {id(parameter) for parameter in blocks.parameters()}
    for number in how.frozen:
        if number == EMBEDDINGS:
            before = [p for name, p in model.part.named_parameters() if id(p) not in inside and "emb" in name.lower()]
            for parameter in before:
                parameter.requires_grad = False
        else:
            blocks[number - 1].requires_grad_(requires_grad=False)
    if not how.tune_own and getattr(model.network.config, "separate", False):
        for parameter in _own(model.network):
            parameter.requires_grad = False


def _own(network: Any) -> list[torch.nn.Parameter]:
    """Parameters that belong to one language: those under a name that is a language of the network."""
    languages = set(network.config.languages)
    return [p for name, p in network.named_parameters() if languages & set(name.split("."))]


def _trainer(
    network: Answering, parts: Sequence[Part], judged: Sequence[Part], folder: Path, how: Tuning, progress: Progress
) -> Any:
    try:
        import accelerate  # noqa: F401
        import transformers
    except ImportError as error:
        raise MissingExtraError("accelerate", "transfer", "tuning") from error
    where = [(part, row) for part in parts for row in range(len(part.encoded))]
    task = network.task

    def development() -> float:
        counts = np.concatenate(
            [counted(task, part.gold, network.answers(part.encoded)) for part in judged or parts]
        ).sum(0)
        return float(task.score(counts)[0])

    class Trainer(transformers.Trainer):
        """Judges by the task's own score, and has two rates."""

        def evaluate(self, *_args: Any, **_kwargs: Any) -> dict[str, float]:
            metrics = {"eval_score": development(), "epoch": float(self.state.epoch or 0)}
            self.log(dict(metrics))
            self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
            return metrics

        def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
            if self.optimizer is None:
                self.optimizer = torch.optim.AdamW(_groups(network, how), fused=True)
            return self.optimizer

    class Told(transformers.TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            progress(state.global_step, state.max_steps)

    callbacks: list[transformers.TrainerCallback] = [Told()]
    if how.patience:
        callbacks.append(transformers.EarlyStoppingCallback(early_stopping_patience=how.patience))
    arguments = transformers.TrainingArguments(
        output_dir=str(folder / STEPS),
        num_train_epochs=how.epochs,
        per_device_train_batch_size=how.batch,
        learning_rate=how.rates(network.rate())[0],
        lr_scheduler_type=how.schedule,
        warmup_steps=how.warmup,
        max_grad_norm=1.0,
        eval_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=2,
        load_best_model_at_end=True,
        metric_for_best_model="score",
        greater_is_better=True,
        logging_strategy="epoch",
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
        seed=how.seed,
        data_seed=how.seed,
        bf16=how.bf16,
        use_cpu=next(network.parameters()).device.type == "cpu",
        dataloader_pin_memory=False,
    )
    made = Trainer(
        model=network,
        args=arguments,
        train_dataset=list(range(len(where))),
        eval_dataset=[0],
        data_collator=lambda rows: batch_of(network, [where[i] for i in rows]),
        callbacks=callbacks,
    )
    made.remove_callback(transformers.PrinterCallback)
    return made


def batch_of(network: Answering, chosen: Sequence[tuple[Part, int]]) -> dict[str, torch.Tensor]:
    """One batch of sentences, of several languages too, with what is to be answered."""
    single = [part.encoded.batch([row], network.pad) for part, row in chosen]
    filling = {"input_ids": 0 if network.pad is None else network.pad, **FILLING}
    pile = torch.nn.utils.rnn.pad_sequence
    made = {name: pile([each[name][0] for each in single], True, filling.get(name, 0)) for name in single[0]}
    lost = [part.encoded.lost[row] if part.encoded.lost else np.zeros(0, bool) for part, row in chosen]
    return made | network.targets([part.gold[row] for part, row in chosen], lost)


def _groups(network: Answering, how: Tuning) -> list[dict[str, Any]]:
    """Network and head, each with and without weight decay (none on biases, norms and other vectors)."""
    rate, head_rate = how.rates(network.rate())
    groups = []
    for part, speed in ((network.body, rate), (network.head, head_rate)):
        if part is None:
            continue
        learnt = [p for p in part.parameters() if p.requires_grad]
        for decayed in (True, False):
            chosen = [p for p in learnt if (p.ndim > 1) is decayed]
            if chosen:
                groups.append({"params": chosen, "lr": speed, "weight_decay": how.weight_decay * decayed})
    return groups


def _best_epoch(trainer: Any) -> int:
    best = trainer.state.best_metric
    scores = [row for row in trainer.state.log_history if row.get("eval_score") == best]
    return math.ceil(float(scores[0]["epoch"])) if scores else 0


def save_tuned(tuned: Tuned, folder: Path, how: Tuning) -> None:
    """Write a tuned network so that it can be opened again; the facts last, for they say that the rest is whole."""
    import transformers
    from safetensors.torch import save_model

    with quiet(transformers):
        tuned.network.save(folder / MODEL)
    if tuned.network.head is not None:
        save_model(tuned.network.head, str(folder / HEAD))
    facts = {
        "task": tuned.task.name,
        "labels": list(tuned.labels),
        "development": tuned.development,
        "epoch": tuned.epoch,
        **tuned.network.facts(),
        "tuning": asdict(how),
    }
    whole(folder / FACTS, (json.dumps(facts, indent=2, ensure_ascii=False) + "\n").encode())


def open_tuned(folder: str | Path, *, device: str = "") -> Tuned:
    """A tuned network from its folder."""
    from safetensors.torch import load_model as load_head

    place = Path(folder)
    if not (place / FACTS).exists():
        raise DataNotFoundError(f"{place} holds no tuned model: {FACTS} is not there")
    facts = json.loads((place / FACTS).read_text(encoding="utf-8"))
    labels, task = tuple(facts["labels"]), task_named(facts["task"])
    network: Answering
    if not isinstance(task, HeadTask):
        network = Translator(load_model(place / MODEL, device=device), task, labels)
    else:
        reader = open_reader(facts["reader"], place / MODEL, stack=facts.get("stack", ""), device=device)
        network = TaskNetwork(reader, task, labels, facts["tuning"]["dropout"])
        load_head(network.head, str(place / HEAD))
    network.to(next(network.body.parameters()).device).eval()
    return Tuned(network, labels, facts["development"], facts["epoch"])
