"""Run a study cell by cell, several at once, so that whatever happens nothing that is finished is lost.

What cells share is in `prepared/` of the folder of results, what a cell has under way in `work/NAME/`; a cell that is
done has no work left. Each runs in a process of its own where several run at once: one that dies takes no other along.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlingua.cluster import HERE, Engine, Workers
from interlingua.cluster import workers as cluster
from interlingua.errors import InputError, InterlinguaError, UnknownNameError
from interlingua.folders import claimed
from interlingua.studies.catalog import find
from interlingua.studies.results import (
    BEGUN,
    CELLS,
    DONE,
    FAILED,
    Results,
    is_done,
    joined,
    keep,
    note,
    read,
    signature,
)
from interlingua.studies.study import MODELS, Cell, Row, Say, Study

if TYPE_CHECKING:
    import pandas as pd

WORK, PREPARED = "work", "prepared"
# Seconds between two looks for models that cells under way have left.
LOOK = 2.0


@dataclass(frozen=True)
class Outcome:
    """What came of a cell: rows, or what went wrong."""

    rows: tuple[Row, ...]
    seconds: float
    error: str = ""


def run(
    study: Study,
    settings: Any,
    out: str | Path,
    *,
    only: Sequence[str] = (),
    workers: int = 1,
    engine: Engine = HERE,
    keep_work: bool = False,
    prepare_only: bool = False,
    say: Say = lambda _: None,
) -> tuple[Results, list[str]]:
    """Run the cells that are not done yet, so many at once: all results, and what went wrong, a line a cell.

    With a Ray cluster as `engine`, its workers run them; they see the same folder and the same data.
    """
    folder = Path(out)
    asked = named(study, settings, only)
    with claimed(folder):
        (folder / CELLS).mkdir(exist_ok=True)
        settings = joined(study, settings, folder)
        left = left_of({cell.name: cell for cell in study.cells(settings)}, asked, folder)
        if prepare_only:
            study.prepare(left, settings, folder / PREPARED, say)
            return read(study, folder), []
        for cell in left:  # what an earlier run has left is not what this one will: others are to wait for it
            if not (folder / WORK / cell.name).exists():
                shutil.rmtree(_model(folder, cell.name), ignore_errors=True)
        with cluster(engine) if engine.spread else nullcontext() as there:
            wrong = _Frame(study, settings, folder, there.number if there else workers, keep_work, say, there).all(left)
        if not keep_work and not wrong and not only:
            shutil.rmtree(folder / PREPARED, ignore_errors=True)
            with suppress(OSError):  # it is not empty where a cell failed before
                (folder / WORK).rmdir()
    return read(study, folder), wrong


def named(study: Study, settings: Any, only: Sequence[str]) -> list[str]:
    """The cells that are asked for, all by default; an error where one is not there."""
    names = [cell.name for cell in study.cells(settings)]
    if unknown := [name for name in only if name not in names]:
        raise UnknownNameError(f"cell of {study.name}", unknown[0], names)
    return list(only) or names


def left_of(cells: Mapping[str, Cell], asked: Sequence[str], folder: Path) -> list[Cell]:
    """What is not done of what was asked for, and before it what it looks at, where a model is no longer there."""
    wanted = {name for name in asked if not is_done(folder, name)}
    for cell in reversed(list(cells.values())):
        if cell.name in wanted:
            wanted |= {name for name in cell.after if not _model(folder, name).exists()}
    return [cell for name, cell in cells.items() if name in wanted]


def _model(folder: Path, name: str) -> Path:
    """Where a cell leaves its model for others; the cell itself may still be looking into it."""
    return folder / PREPARED / MODELS / name


class _Frame:
    """Cells under way. One begins when what it looks at has been left by the cells before it, and there is room."""

    def __init__(
        self,
        study: Study,
        settings: Any,
        folder: Path,
        workers: int,
        keep_work: bool,
        say: Say,
        there: Workers | None = None,
    ) -> None:
        self.study, self.settings, self.folder, self.there = study, settings, folder, there
        self.workers, self.keep_work, self.say = workers, keep_work, say
        self.waiting: list[Cell] = []
        self.under_way: dict[Future[Outcome], tuple[Cell, ProcessPoolExecutor | None]] = {}
        self.wrong: dict[str, str] = {}

    def all(self, left: Sequence[Cell]) -> list[str]:
        """What went wrong."""
        self.waiting = list(left)
        if len(left) <= 1:
            self.workers = 1
        try:
            while self.waiting or self.under_way:
                while cell := self._next():
                    self._begin(cell)
                # a model is left while its own cell goes on, and nothing tells of it
                room = self.waiting and len(self.under_way) < self.workers
                done, _ = wait(self.under_way, LOOK if room else None, return_when=FIRST_COMPLETED)
                for each in done:
                    cell, pool = self.under_way.pop(each)
                    died = each.exception() is not None  # what goes wrong in a cell is an outcome
                    self._end(cell, Outcome((), 0, "its process died, for lack of memory?") if died else each.result())
                    if pool:
                        pool.shutdown(wait=False)
        finally:
            # an interrupted run does not wait for what is under way: it goes on from there another time
            for _, pool in self.under_way.values():
                for process in list((getattr(pool, "_processes", None) or {}).values()):
                    process.terminate()
        return [f"{name}: {error}" for name, error in self.wrong.items()]

    def _next(self) -> Cell | None:
        before = {cell.name for cell in (*self.waiting, *(cell for cell, _ in self.under_way.values()))}
        missing = {name for name in before if not _model(self.folder, name).exists()}
        free = (cell for cell in self.waiting if not missing & set(cell.after))
        return next(free, None) if len(self.under_way) < self.workers else None

    def _begin(self, cell: Cell) -> None:
        self.waiting.remove(cell)
        if lost := [name for name in cell.after if name in self.wrong and not _model(self.folder, name).exists()]:
            self._end(cell, Outcome((), 0, f"it looks at {lost[0]}, which failed"))
            return
        self.say(f"{cell.name}: begun")
        note(self.folder, signature(self.study, cell, self.settings), BEGUN)
        arguments = (self.study.name, self.settings.model_dump_json(), cell.name, self.folder.resolve())
        if self.there is not None:
            self.under_way[self.there.begun(work, *arguments)] = cell, None
        elif self.workers > 1:
            pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"), initializer=end_with_parent)
            self.under_way[pool.submit(work, *arguments)] = cell, pool
        else:
            made: Future[Outcome] = Future()
            made.set_result(work(*arguments))
            self.under_way[made] = cell, None

    def _end(self, cell: Cell, made: Outcome) -> None:
        told = signature(self.study, cell, self.settings)
        if made.error:
            self.wrong[cell.name] = made.error
            self.say(f"{cell.name} failed: {made.error}")
            note(self.folder, told, FAILED, made.seconds, made.error)
            return
        # rows that claims may have been judged by stay as they are where a cell was run again for its model alone
        if again := is_done(self.folder, cell.name):
            self.say(f"{cell.name} was done: its model is there again, its rows stay as they are")
        else:
            keep(self.folder, self.study, cell, self.settings, made.seconds, made.rows)
        note(self.folder, told, DONE, made.seconds)
        if not self.keep_work:
            shutil.rmtree(self.folder / WORK / cell.name, ignore_errors=True)
        if not again:
            self.say(f"{cell.name}: done, {len(made.rows):,} rows, {made.seconds:.0f} s")


def end_with_parent() -> None:
    """In a process of a cell: end when the one that began it is gone, however it went, and let go of the folder."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def work(name: str, settings: str, cell: str, folder: Path) -> Outcome:
    """In this process or another: one cell. Whatever goes wrong in it is an outcome: the other cells go on."""
    began = time.monotonic()
    study = find(name)
    how = study.settings.model_validate_json(settings)
    asked = next(each for each in study.cells(how) if each.name == cell)

    def told(words: str) -> None:
        sys.stderr.write(f"{cell}: {words}\n")
        sys.stderr.flush()

    try:
        place = folder / WORK / cell
        place.mkdir(parents=True, exist_ok=True)
        rows = tuple(study.run(asked, how, place, folder / PREPARED, told))
    except Exception as error:
        why = " ".join(str(error).replace(f"{folder}/", "").split())[:300]
        kind = "" if isinstance(error, InterlinguaError) else f"{type(error).__name__}: "
        return Outcome((), time.monotonic() - began, f"{kind}{why}")
    return Outcome(rows, time.monotonic() - began)


def again(told: str, kept: str | Path, out: str | Path, say: Say = lambda _: None) -> pd.DataFrame:
    """Run a cell once more from its signature, in another folder, and lay its values beside those that are kept.

    The signature says which cell, and the settings beside what is kept are checked against it. A row a value: what is
    kept, its interval where it has one, what was found now, and whether that lies inside.
    """
    facts = dict(part.partition(":")[::2] for part in told.split("|"))
    if missing := [key for key in ("study", "cell", "settings") if not facts.get(key)]:
        raise InputError(f"{told!r} is no signature of a cell: it has no {missing[0]}; they are in cells/*.json")
    held = read(find(facts["study"]), kept)
    if facts["cell"] not in held.cells:
        raise UnknownNameError(f"cell in {kept}", facts["cell"], held.cells)
    asked = next(cell for cell in held.study.cells(held.settings) if cell.name == facts["cell"])
    now = dict(part.partition(":")[::2] for part in signature(held.study, asked, held.settings).split("|"))
    if now["settings"] != facts["settings"]:
        raise InputError(f"{kept} holds the cell with other settings: {now['settings']}, not {facts['settings']}")
    if now["version"] != facts.get("version", now["version"]):
        say(f"the signature is of version {facts['version']}, and this is {now['version']}: values may differ")
    if is_done(Path(out), asked.name):
        raise InputError(f"{out} has {asked.name} done already: name a new folder with --out")
    fresh, wrong = run(held.study, held.settings, out, only=[asked.name], say=say)
    if wrong:
        raise InputError(f"it could not be run: {wrong[0]}")
    keys = ["state", "corpus", "pooling", "layer", "source", "target", "measure"]
    mine = [table[table["cell"] == asked.name].copy() for table in (held.table, fresh.table)]
    for each in mine:  # where a pattern has its peak is no name for it
        each.loc[each["measure"].str.endswith((".rise", ".fall")), "layer"] = -1
    for each in mine:  # what is said several times under one name (of English, in each pair's text) is said in order
        each["number"] = each.groupby(keys, dropna=False).cumcount()
    same = [*keys, "number"]
    both = mine[0].merge(mine[1][[*same, "value"]], on=same, suffixes=("", "_again"), how="left")
    both = both[both["value"].notna()][[*keys, "value", "low", "high", "value_again"]].reset_index(drop=True)
    inside = both["value_again"].between(both["low"], both["high"])
    return both.assign(inside=inside.astype(object).where(both["low"].notna(), None))
