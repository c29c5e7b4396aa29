"""The training loop: short and plain. `accelerate` says which process this is and where it computes, and nothing more.

A run's folder holds `config.yaml`, `data/` (vocabulary and tokens), `log.jsonl`, `checkpoint.pt` (everything needed to
go on), `model/` (the model, for `load_model` and `transformers`) and, where a language was named to select by, `best/`.
"""

from __future__ import annotations

import json
import math
import queue
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from interlingua import __version__
from interlingua.errors import InputError, MissingExtraError
from interlingua.folders import claimed
from interlingua.models import architecture
from interlingua.models.export import to_stock
from interlingua.models.load import seeded
from interlingua.pretrain.config import Config, read_config, write_config
from interlingua.pretrain.evaluate import Score, evaluate
from interlingua.pretrain.mixture import Mixture, generator
from interlingua.pretrain.objectives import Masked, Next, Objective, Spans
from interlingua.pretrain.prepare import SENTINELS, Borrowed, Own, Prepared, Reading, prepare
from interlingua.pretrain.tokenizers import SPECIAL, open_vocabulary
from interlingua.pretrain.update import Batch, Updater, rate_at

FORMS: dict[str, tuple[Any, Any]] = {
    "mlm": (architecture.LabEncoderConfig, architecture.LabForMaskedLM),
    "clm": (architecture.LabDecoderConfig, architecture.LabForCausalLM),
    "span": (architecture.LabSeq2SeqConfig, architecture.LabForSeq2SeqLM),
}
# Batches made ahead.
AHEAD = 16


@dataclass(frozen=True)
class Line:
    """What is known at some point of a run, for the log and the progress line."""

    update: int
    loss: float
    rate: float
    updates_per_second: float
    tokens_per_second: float
    seconds_left: float
    scores: tuple[Score, ...] = ()


Progress = Callable[[Line], None]


@dataclass(frozen=True)
class Run:
    """A finished run."""

    folder: Path
    updates: int
    loss: float
    scores: tuple[Score, ...]
    updates_per_second: float = field(compare=False, default=0.0)
    # of several processes, the one that writes
    main: bool = True

    @property
    def model(self) -> Path:
        """Where the model is."""
        return self.folder / "model"


def pretrain(
    config: Config,
    out: str | Path,
    *,
    device: str = "",
    force: bool = False,
    stop_at: int = 0,
    prepare_only: bool = False,
    say: Callable[[str], None] = lambda _: None,
    progress: Progress = lambda _: None,
) -> Run:
    """Train a model as the settings say, or go on with a run that was interrupted.

    `stop_at` ends early, with a checkpoint and a model, for a run that is to go on elsewhere or later; `prepare_only`
    ends before training, with the vocabulary and the tokens in the folder.
    """
    config = config.resolved()
    place = _places(device)
    folder = _folder(Path(out), config, force=force, alone=place.is_main_process)
    with claimed(folder) if place.is_main_process else nullcontext():
        place.wait_for_everyone()
        network, reading = _start(config)
        if place.is_main_process:
            prepare(config, folder, reading, say)
        place.wait_for_everyone()
        if prepare_only:
            return Run(folder, 0, float("nan"), (), main=place.is_main_process)
        prepared = prepare(config, folder, reading)
        if network is None:
            network = build(config, prepared.reading)
        return Training(config, folder, prepared, network, place).run(stop_at or config.updates, say, progress)


def build(config: Config, reading: Reading) -> Any:
    """A new network of the shape that the settings name, drawn from their seed."""
    kind, make = FORMS[config.objective]
    shape = kind(
        vocab_size=reading.size,
        hidden_size=config.width,
        num_hidden_layers=config.depth,
        num_attention_heads=config.heads,
        max_position_embeddings=config.length,
        norm=config.norm,
        scale_residual=config.scale_residual,
        dropout=config.dropout,
        languages=list(config.text),
        separate_embeddings=config.separate_embeddings,
        separate_layers=config.separate_layers,
    )
    with seeded(config.seed):
        return make(shape)


def objectives_of(config: Config, prepared: Prepared) -> dict[str, Objective]:
    """What is asked about each language's text; by "" about text of two."""
    reading, langs = prepared.reading, list(config.text)
    if config.objective == "clm":
        return dict.fromkeys([*langs, ""], Next())
    if config.objective == "span":
        first = len(SPECIAL)
        words = torch.arange(first, first + SENTINELS).numpy()
        return dict.fromkeys([*langs, ""], Spans(words, reading.end, reading.end))
    if reading.mask < 0:
        raise InputError("the tokenizer has no mask token: its model is trained with objective: clm")
    never = prepared.never(langs)
    every = np.unique(np.concatenate([reading.words(lang) for lang in langs]))
    within = config.random_words == "language"
    found: dict[str, Objective] = {
        lang: Masked(reading.mask, reading.words(lang) if within else every, never, config.masked) for lang in langs
    }
    return {**found, "": Masked(reading.mask, every, never, config.masked)}


def _start(config: Config) -> tuple[Any, Reading | None]:
    """The network and vocabulary of a model to go on from, if one is named."""
    if not config.init:
        return None, None
    import transformers

    named = {"mlm": "AutoModelForMaskedLM", "clm": "AutoModelForCausalLM", "span": "AutoModelForSeq2SeqLM"}
    auto = getattr(transformers, named[config.objective])
    try:
        network = auto.from_pretrained(config.init, dtype=torch.float32)
        if Path(config.init, "tokenizers", "vocabulary.json").exists():
            return network, Own(open_vocabulary(config.init))
        return network, Borrowed(transformers.AutoTokenizer.from_pretrained(config.init))
    except (OSError, ValueError) as error:
        raise InputError(f"init: {config.init} cannot be loaded: {' '.join(str(error).split())[:300]}") from error


class Training:
    """A run that is under way: the network, the mixture, the update, and how far it got."""

    def __init__(self, config: Config, folder: Path, prepared: Prepared, network: Any, place: Any) -> None:
        self.config, self.folder, self.prepared, self.place = config, folder, prepared, place
        self.device = place.device
        torch.manual_seed(config.seed)
        self.network = network.to(self.device).train()
        self.objectives = objectives_of(config, prepared)
        self.mixture = Mixture(
            prepared.streams,
            config.length,
            config.batch // config.length,
            prepared.reading.start,
            config.seed,
            config.sampling,
            config.sampled_by,
            _shares(config),
        )
        if self.mixture.rows % place.num_processes:
            raise InputError(
                f"{self.mixture.rows} sequences a batch cannot be shared by {place.num_processes} processes"
            )
        self.update = Updater(self.network, config, self.device, self._reduce)
        self.update.graphs = self.update.graphs and place.num_processes == 1
        self.done, self.best, self.whole = 0, float("inf"), False
        self._resume()

    def run(self, last: int, say: Callable[[str], None], progress: Progress) -> Run:
        """Updates up to `last`, with a log, evaluations and checkpoints on the way."""
        config, main = self.config, self.place.is_main_process
        every = max(1, min(50, config.updates // 100))
        scores: tuple[Score, ...] = ()
        loss, first, started = float("nan"), self.done, time.monotonic()
        mark, marked = started, self.done
        self.update.total.zero_()
        try:
            with _Log(self.folder, say, progress) if main else nullcontext(lambda _: None) as log:
                for number, batch in self._batches(self.done, last):
                    self.whole = False
                    self.update(batch, number)
                    self.done, self.whole = number + 1, True
                    due = self.done == last or self.done % config.evaluate_every == 0
                    if due or self.done % every == 0:
                        loss = float(self.update.total) / (self.done - marked)
                        self.update.total.zero_()
                        if not math.isfinite(loss):
                            self.whole = False
                            raise InputError(f"the loss is not finite at update {self.done}: take a lower rate")
                        now = time.monotonic()
                        speed = (self.done - marked) / max(now - mark, 1e-9)
                        left = (last - self.done) * (now - started) / max(self.done - first, 1)
                        scores = self._evaluate() if due else ()
                        log(Line(self.done, loss, rate_at(number, config), speed, speed * config.batch, left, scores))
                        mark, marked = time.monotonic(), self.done
                    if self.done == last or self.done % config.checkpoint_every == 0:
                        self._checkpoint()
        except BaseException:
            # Interrupted between two updates, nothing is lost; inside one, what came after the last checkpoint.
            if self.whole and self.place.num_processes == 1:
                self._checkpoint()
            raise
        overall = (self.done - first) / max(time.monotonic() - started, 1e-9)
        scores = scores or self._evaluate()
        if main:
            self._save(self.folder / "model")
        self.place.wait_for_everyone()
        return Run(self.folder, self.done, loss, scores, overall, main)

    def _evaluate(self) -> tuple[Score, ...]:
        held = self.prepared.held
        length, start = self.config.length, self.prepared.reading.start
        found = evaluate(self.network, held, self.objectives, length, start, self.device, bf16=self.update.bf16)
        chosen = next((s.perplexity for s in found if s.language == self.config.select), float("inf"))
        if chosen < self.best:
            self.best = chosen
            if self.place.is_main_process:
                self._save(self.folder / "best")
        return tuple(found)

    def _batches(self, first: int, last: int) -> Iterator[tuple[int, Batch]]:
        """Batches, made ahead in a thread of their own."""
        pin, ready = self.device.type == "cuda", queue.Queue[Any](AHEAD)
        separate = bool(getattr(self.network.config, "separate", False))
        stopped = threading.Event()

        def make() -> None:
            try:
                for number, stream, ids in self.mixture.batches(first, last):
                    language = self.prepared.streams[stream].language
                    asked = self.objectives[language](ids, generator(self.config.seed, 4, number))
                    mine = self._mine(asked, len(ids))
                    ready.put((number, Batch.of(mine, language if separate else None, pin=pin)))
                    if stopped.is_set():
                        return
                ready.put(None)
            except BaseException as error:
                ready.put(error)

        thread = threading.Thread(target=make, daemon=True)
        thread.start()
        try:
            while (found := ready.get()) is not None:
                if isinstance(found, BaseException):
                    raise found
                yield found
        finally:
            stopped.set()
            with suppress(queue.Empty):
                while True:
                    ready.get_nowait()

    def _mine(self, asked: Any, rows: int) -> Any:
        """The share of a batch that is this process's: some of its rows, and how many places count over all."""
        if self.place.num_processes == 1:
            return asked
        share = rows // self.place.num_processes
        low, high = self.place.process_index * share, (self.place.process_index + 1) * share
        ids, width = asked.ids[low:high], asked.ids.shape[1]
        if asked.places is None:
            each = len(asked.targets) // rows
            decoder = None if asked.decoder_ids is None else asked.decoder_ids[low:high]
            return replace(asked, ids=ids, targets=asked.targets[low * each : high * each], decoder_ids=decoder)
        inside = (asked.places >= low * width) & (asked.places < high * width) & (asked.targets >= 0)
        places, targets = np.zeros_like(asked.places), np.full_like(asked.targets, -100)
        places[: inside.sum()], targets[: inside.sum()] = asked.places[inside] - low * width, asked.targets[inside]
        return replace(asked, ids=ids, places=places, targets=targets)

    def _reduce(self, gradients: list[Tensor]) -> None:
        """Sum gradients over processes: each has its share of one batch."""
        if self.place.num_processes > 1:
            flat = torch.cat([g.reshape(-1) for g in gradients])
            torch.distributed.all_reduce(flat)
            for gradient, part in zip(gradients, torch.split(flat, [g.numel() for g in gradients]), strict=True):
                gradient.copy_(part.view_as(gradient))

    def _checkpoint(self) -> None:
        if not self.place.is_main_process:
            return
        state = {
            "update": self.done,
            "best": self.best,
            "network": self.network.state_dict(),
            "optimizer": self.update.optimizer.state_dict(),
            "random": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state(self.device) if self.device.type == "cuda" else None,
        }
        partial = self.folder / "checkpoint.partial"
        try:
            torch.save(state, partial)
        except (OSError, RuntimeError) as error:
            partial.unlink(missing_ok=True)
            self.whole = False
            raise InputError(
                f"the checkpoint cannot be written to {self.folder} ({str(error).splitlines()[0][:80]}): free some "
                "space and run it again"
            ) from error
        partial.replace(self.folder / "checkpoint.pt")

    def _resume(self) -> None:
        path = self.folder / "checkpoint.pt"
        if not path.exists():
            return
        try:
            state = torch.load(path, map_location=self.device, weights_only=True)
            self.network.load_state_dict(state["network"])
            self.update.optimizer.load_state_dict(state["optimizer"])
        except (RuntimeError, KeyError, ValueError, EOFError) as error:
            raise InputError(
                f"{path} cannot be gone on from ({str(error).splitlines()[0][:120]}): use --force"
            ) from error
        if self.update.rate is not None:
            # the rate is a tensor that captured updates read
            for group in self.update.optimizer.param_groups:
                group["lr"] = self.update.rate
        self.done, self.best = state["update"], state["best"]
        torch.set_rng_state(state["random"].cpu())
        if state["cuda"] is not None and self.device.type == "cuda":
            torch.cuda.set_rng_state(state["cuda"].cpu(), self.device)

    def _save(self, folder: Path) -> None:
        """The model and its tokenizer, whole or not at all."""
        partial = folder.with_name(folder.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        network = to_stock(self.network) if self.config.stock else self.network
        network.save_pretrained(partial)
        self.prepared.reading.save(partial, self.config.length)
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)


def _shares(config: Config) -> dict[str, float]:
    """Pairs of parallel text share what translation gets."""
    return {pair: config.tlm / len(config.parallel) for pair in config.parallel} if config.tlm else {}


def _places(device: str) -> Any:
    try:
        from accelerate import PartialState
    except ImportError as error:
        raise MissingExtraError("accelerate", "pretrain", "pretraining") from error
    return PartialState(cpu=device == "cpu")


def _folder(out: Path, config: Config, *, force: bool, alone: bool) -> Path:
    """The run's folder; one that holds another run is refused, or emptied by force."""
    path = out / "config.yaml"
    if alone:
        if force and path.exists():
            for name in ("checkpoint.pt", "log.jsonl", "model", "best", "data", "tensorboard"):
                shutil.rmtree(out / name, ignore_errors=True)
                (out / name).unlink(missing_ok=True)
        elif path.exists():
            before, now = read_config(str(path)).model_dump(mode="json"), config.model_dump(mode="json")
            other = [k for k in now if k not in _MAY_DIFFER and before.get(k) != now[k]]
            if other:
                told = "; ".join(f"{k} was {before.get(k)} and is {now[k]}" for k in other[:3])
                raise InputError(f"{out} holds another run ({told}): choose another folder, or --force to replace it")
        elif out.exists() and any(p.name != ".lock" for p in out.iterdir()):
            raise InputError(f"{out} is not empty and holds no run: choose another folder")
        out.mkdir(parents=True, exist_ok=True)
        write_config(config, path)
        (out / "version.json").write_text(json.dumps({"interlingua": __version__, "torch": torch.__version__}))
    return out


# What a run may differ in without being another: how it is computed and watched, not what.
_MAY_DIFFER = ("preset", "evaluate_every", "checkpoint_every", "bf16", "compile", "cuda_graphs", "stock")


class _Log:
    """Lines go to `log.jsonl`, to TensorBoard where it is installed, and to whoever watches."""

    def __init__(self, folder: Path, say: Callable[[str], None], progress: Progress) -> None:
        self.progress = progress
        self.file = (folder / "log.jsonl").open("a", encoding="utf-8")
        self.board: Any = None
        try:
            from torch.utils.tensorboard import SummaryWriter

            self.board = SummaryWriter(str(folder / "tensorboard"))
        except ImportError:
            say("tensorboard is not installed: the log is log.jsonl alone")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.file.close()
        if self.board is not None:
            self.board.close()

    def __call__(self, line: Line) -> None:
        facts = asdict(line)
        del facts["seconds_left"]
        self.file.write(json.dumps(facts) + "\n")
        self.file.flush()
        self.progress(line)
        if self.board is None:
            return
        for name in ("loss", "rate", "tokens_per_second"):
            self.board.add_scalar(name, facts[name], line.update)
        for score in line.scores:
            self.board.add_scalar(f"perplexity/{score.language}", score.perplexity, line.update)
            self.board.add_scalar(f"bits/{score.language}", score.bits, line.update)
