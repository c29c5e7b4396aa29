"""Progress of work that is counted: a bar on a terminal, a line now and then elsewhere; on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Seconds between two lines where there is no terminal.
EVERY = 30.0


@contextmanager
def bar(what: str, unit: str = "") -> Iterator[Callable[[int, int], None]]:
    """A function to call with (done, total); the bar vanishes when all is done. With a unit, the rate is shown."""
    if not sys.stderr.isatty():
        yield _lines(what, unit)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    rate = [TextColumn("{task.fields[rate]}")] if unit else []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), *rate, TimeRemainingColumn())
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as bars:
        task = bars.add_task(what, total=None, rate="")
        clock = _Clock()
        yield lambda done, total: bars.update(
            task, completed=done, total=total, rate=f"{clock.rate(done):,.1f} {unit}/s" if unit else ""
        )


class _Clock:
    """The rate since the first count: what was done before this run does not make it look fast."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._first: int | None = None

    def rate(self, done: int) -> float:
        """How many a second."""
        if self._first is None:
            self._first, self._start = done, time.monotonic()
        return (done - self._first) / max(time.monotonic() - self._start, 1e-9)


def _lines(what: str, unit: str) -> Callable[[int, int], None]:
    clock = _Clock()
    last = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal last
        rate = clock.rate(done)
        if time.monotonic() - last < EVERY:
            return
        last = time.monotonic()
        speed = f", {rate:,.1f} {unit}/s" if unit else ""
        left = f", {(total - done) / rate:,.0f} s left" if rate else ""
        sys.stderr.write(f"{what}: {done:,} of {total:,}{speed}{left}\n")
        sys.stderr.flush()

    return tell
