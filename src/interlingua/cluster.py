"""More than one machine: a Ray cluster, or one of its own on this machine.

Work is cut into tasks that depend on nothing but their arguments. Ray runs a task again whose worker died, so a death
changes nothing but the time; what a task raises is raised here.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlingua.errors import InputError, InterlinguaError, MissingExtraError, UnknownNameError

LOCAL, RAY = "local", "ray"
ENGINES = (LOCAL, RAY)
# How often a task is run again whose worker died.
RETRIES = 3
# Seconds for a cluster to answer.
PATIENCE = 15.0


class DiedError(InterlinguaError):
    """A task whose workers died, again and again."""


@dataclass(frozen=True)
class Engine:
    """Where work is done: here, or by `workers` of a Ray cluster (0: as many as it has GPUs, or else processors).

    `address` is that of a cluster (`auto`, `HOST:6379`, `ray://HOST:10001`); without one, a cluster is started on this
    machine and stopped in the end. `device`: what workers compute on, cpu or cuda; by default GPUs where it has some.
    """

    name: str = LOCAL
    address: str = ""
    workers: int = 0
    device: str = ""

    def __post_init__(self) -> None:
        if self.name not in ENGINES:
            raise UnknownNameError("engine", self.name, ENGINES)
        if self.workers < 0:
            raise InputError(f"{self.workers} workers are none: name at least 1, or 0 for all there are")
        if self.name == LOCAL and self.address:
            raise InputError("an address is that of a Ray cluster: say --engine ray as well")
        if self.spread and self.device not in ("", "cpu", "cuda"):
            raise InputError(
                f"workers compute on cpu or on cuda, not on {self.device}: leave --device out, or name one"
            )

    @property
    def spread(self) -> bool:
        """Whether work goes to a cluster."""
        return self.name == RAY


HERE = Engine()


class Workers:
    """A cluster that work can be given to."""

    def __init__(self, ray: Any, asked: int, device: str = "") -> None:
        self.ray = ray
        there = ray.cluster_resources()
        self.gpus, processors = int(there.get("GPU", 0)), there.get("CPU", 1)
        if device == "cuda" and not self.gpus:
            raise InputError("the cluster has no GPU: leave --device out, or say --device cpu")
        if device == "cpu":
            self.gpus = 0
        self.number = asked or self.gpus or max(1, int(processors))
        self.needs: dict[str, float] = {"num_cpus": min(1.0, processors / self.number)}
        if self.gpus:
            self.needs["num_gpus"] = min(1.0, self.gpus / self.number)

    @property
    def device(self) -> str:
        """What workers compute on."""
        return "cuda" if self.gpus else "cpu"

    def each(self, do: Callable[..., Any], given: Iterable[tuple[Any, ...]]) -> Generator[Any]:
        """What `do` makes of each, in their order; as many at once as there are workers."""
        remote = self._remote(do)
        under_way: deque[Any] = deque()
        running: list[Any] = []
        try:
            for arguments in given:
                while len(running) >= self.number:
                    _, running = self.ray.wait(running, num_returns=1)
                running.append(remote.remote(*arguments))
                under_way.append(running[-1])
                if len(under_way) > 2 * self.number:
                    yield self.result(under_way.popleft())
            while under_way:
                yield self.result(under_way.popleft())
        finally:
            if self.ray.is_initialized():  # asked after the end, ray would begin another cluster
                for ref in under_way:
                    self.ray.cancel(ref, force=True)

    def begun(self, do: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """One task, under way."""
        made: Future[Any] = self._remote(do).remote(*arguments).future()
        return made

    def _remote(self, do: Callable[..., Any]) -> Any:
        """As a task. Its worker is kept, and with it what it has loaded; by default one with a GPU is not."""
        return self.ray.remote(max_retries=RETRIES, max_calls=0, **self.needs)(do)

    def result(self, ref: Any) -> Any:
        """What a task made; what it raised is raised."""
        errors = self.ray.exceptions
        try:
            return self.ray.get(ref)
        except errors.RayTaskError as error:
            raise error.cause or DiedError(f"a worker failed: {str(error).splitlines()[-1][:200]}") from None
        except (errors.WorkerCrashedError, errors.OutOfMemoryError, errors.NodeDiedError) as error:
            raise DiedError(
                f"a task was run {RETRIES + 1} times and its worker died each time: too little memory?"
            ) from error
        except errors.RayError as error:
            raise DiedError(
                f"the cluster was lost ({type(error).__name__}): what is finished is kept, run it again"
            ) from error


def _answers(address: str) -> None:
    """An error where nobody listens at HOST:PORT, which Ray would wait for, for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if host and port.isdigit():
        with socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE):
            pass


@contextmanager
def workers(engine: Engine) -> Iterator[Workers]:
    """Connected to a cluster, or with one of its own; an error where there is none at an address."""
    # read when ray is imported: what is asked for by address is not asked whether it wants a token
    tokens = (os.environ.get("RAY_AUTH_TOKEN_PATH", ""), Path("~/.ray/auth_token").expanduser())
    if engine.address and (os.environ.get("RAY_AUTH_TOKEN") or any(Path(place).is_file() for place in tokens)):
        os.environ.setdefault("RAY_AUTH_MODE", "token")
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError("ray", "ray", "work on several machines") from error
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    # a worker of our own is as nice as we are, or it waits for whatever else runs here
    os.environ.setdefault("RAY_worker_niceness", "0")
    connected = ray.is_initialized()
    if not connected:
        own: dict[str, Any] = {"num_cpus": max(engine.workers, os.cpu_count() or 1)} if not engine.address else {}
        try:
            _answers(engine.address)
            ray.init(
                address=engine.address or "local",
                include_dashboard=None if engine.address else False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                **own,
            )
        except (OSError, ValueError, RuntimeError) as error:
            why = (str(error).splitlines() or [type(error).__name__])[0][:200]
            hint = "is it there, and is its token here (RAY_AUTH_TOKEN_PATH)?" if engine.address else "see above"
            raise InputError(f"no Ray cluster answers at {engine.address or 'this machine'}: {why}: {hint}") from error
    try:
        with _interruptible():
            yield Workers(ray, engine.workers, engine.device)
    finally:
        if not connected:
            ray.shutdown()


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C ends a wait for workers at once, as ray knows KeyboardInterrupt alone; then it is what it usually is."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        if callable(usual):
            usual(signal.SIGINT, None)
        raise
    finally:
        signal.signal(signal.SIGINT, usual)
