"""A run that is under way: updates, evaluations and checkpoints, resumed where it stopped."""

from __future__ import annotations

import math
import pickle
import queue
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
import transformers
from torch import Tensor

from interlingua.errors import InputError
from interlingua.folders import writing
from interlingua.models.export import to_stock
from interlingua.models.weights import quiet
from interlingua.pretrain.config import Config
from interlingua.pretrain.evaluate import Score, evaluate
from interlingua.pretrain.log import Line, Log, Progress
from interlingua.pretrain.mixture import Mixture, generator
from interlingua.pretrain.objectives import Masked, Next, Objective, Spans
from interlingua.pretrain.prepare import SENTINELS, Prepared
from interlingua.pretrain.subwords import SPECIAL
from interlingua.pretrain.update import Batch, Updater, rate_at

# Batches made ahead.
AHEAD = 16


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


class Training:
    """A run that is under way: the network, the mixture, the update, and how far it got."""

    def __init__(self, config: Config, folder: Path, prepared: Prepared, network: Any, place: Any) -> None:
        self.config, self.folder, self.prepared, self.place = config, folder, prepared, place
        self.device = place.device
        # each process drops out other neurons
        torch.manual_seed(config.seed + place.process_index)
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
            config.tlm,
            config.mixed,
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
        if main and self.done:
            say(f"going on from update {self.done:,}")
        log_ = Log(self.folder, say, progress, after=self.done) if main else nullcontext(lambda _: None)
        try:
            with _Patience() as patience, log_ as log:
                for number, batch in self._batches(self.done, last):
                    self.whole = False
                    self.update(batch, number)
                    self.done, self.whole = number + 1, True
                    due = self.done == last or self.done % config.evaluate_every == 0
                    if due or self.done % every == 0:
                        # an evaluation that was interrupted is to be done again
                        self.whole = not due
                        loss = self._loss() / (self.done - marked)
                        self.update.total.zero_()
                        now = time.monotonic()
                        speed = (self.done - marked) / max(now - mark, 1e-9)
                        left = (last - self.done) * (now - started) / max(self.done - first, 1)
                        scores = self._evaluate() if due else ()
                        log(Line(self.done, loss, rate_at(number, config), speed, speed * config.batch, left, scores))
                        mark, marked, self.whole = time.monotonic(), self.done, True
                    if self.done == last or self.done % config.checkpoint_every == 0:
                        self._loss()
                        self._checkpoint()
                    patience.check()
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

    def _loss(self) -> float:
        """The sum of losses since it was last set to zero, over all processes."""
        total = self.update.total.clone()
        self._reduce([total.view(1)])
        if not math.isfinite(float(total)):
            self.whole = False
            raise InputError(
                f"the loss is not finite at update {self.done}: take a lower rate, or mask more than nothing"
            )
        return float(total)

    def _evaluate(self) -> tuple[Score, ...]:
        held = self.prepared.held
        length, start = self.config.length, self.prepared.reading.start
        found = evaluate(self.network, held, self.objectives, length, start, self.device, bf16=self.update.bf16)
        chosen = next((s.perplexity for s in found if s.language == self.config.select), float("inf"))
        if chosen < self.best:
            if self.place.is_main_process:
                self._save(self.folder / "best")
            self.best = chosen
        return tuple(found)

    def _batches(self, first: int, last: int) -> Iterator[tuple[int, Batch]]:
        """Batches, made ahead in a thread of their own."""
        pin, ready = self.device.type == "cuda", queue.Queue[Any](AHEAD)
        separate = bool(getattr(self.network.config, "separate", False))
        stopped = threading.Event()

        def make() -> None:
            try:
                for number, stream, ids in self.mixture.batches(first, last):
                    language = "" if stream < 0 else self.prepared.streams[stream].language
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
            "data": self.prepared.key,
            "best": self.best,
            "network": self.network.state_dict(),
            "optimizer": self.update.optimizer.state_dict(),
            "random": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state(self.device) if self.device.type == "cuda" else None,
        }
        place = self.folder / "checkpoint.pt"
        try:
            with writing(place) as file:
                torch.save(state, file)
        except (OSError, RuntimeError) as error:
            place.with_name(f"{place.name}.partial").unlink(missing_ok=True)
            self.whole = False
            raise InputError(
                f"the checkpoint cannot be written to {self.folder} ({' '.join(str(error).split())[:80]}): free some "
                "space and run it again"
            ) from error

    def _resume(self) -> None:
        path = self.folder / "checkpoint.pt"
        if not path.exists():
            return
        try:
            state = torch.load(path, map_location=self.device, weights_only=True)
            self.network.load_state_dict(state["network"])
            self.update.optimizer.load_state_dict(state["optimizer"])
        except (RuntimeError, KeyError, ValueError, EOFError, OSError, pickle.UnpicklingError) as error:
            what = " ".join(str(error).split())[:120] or type(error).__name__
            raise InputError(f"{path} cannot be gone on from ({what}): --force begins anew") from error
        if state["data"] != self.prepared.key:
            raise InputError(f"the text has changed since {self.folder} was begun: put it back, or --force begins anew")
        if self.update.rate is not None:
            # the rate is a tensor that captured updates read
            for group in self.update.optimizer.param_groups:
                group["lr"] = self.update.rate
        self.done, self.best = state["update"], state["best"]
        if self.place.process_index:
            torch.manual_seed(self.config.seed + self.place.process_index + self.done)
            return
        torch.set_rng_state(state["random"].cpu())
        if state["cuda"] is not None and self.device.type == "cuda":
            torch.cuda.set_rng_state(state["cuda"].cpu(), self.device)

    def _save(self, folder: Path) -> None:
        """The model and its tokenizer, whole or not at all."""
        partial = folder.with_name(folder.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        network = to_stock(self.network) if self.config.stock else self.network
        with quiet(transformers):
            network.save_pretrained(partial)
        self.prepared.reading.save(partial, self.config.length)
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)


class _Patience:
    """Ctrl-C and SIGTERM wait for the update that is under way, so that it can be kept; a second one does not wait."""

    def __init__(self) -> None:
        self.before: dict[int, Any] = {}
        self.caught = 0

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self.before[number] = signal.signal(number, self._catch)
        return self

    def __exit__(self, *_error: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def _catch(self, number: int, frame: Any) -> None:
        if self.caught:
            self._pass_on(number, frame)
        self.caught = number

    def check(self) -> None:
        """Between two updates: end here if somebody asked for it."""
        if self.caught:
            self._pass_on(self.caught, None)

    def _pass_on(self, number: int, frame: Any) -> None:
        handler = self.before[number]
        if callable(handler):
            handler(number, frame)
        raise SystemExit(128 + number)
