"""Run a study cell by cell, keep what each found, and read it all again.

A folder of results holds, for every cell that was finished, `cells/NAME.csv` (its rows) and `cells/NAME.json` (its
settings, signatures, versions and time), and `runs.jsonl`, a line for every attempt, those that failed too. What cells
share is in `prepared/`, what a cell has under way in `work/NAME/`; a cell that is finished has no work left.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlingua import __version__
from interlingua.analyses.survey import made_with
from interlingua.errors import FormatError, InputError, InterlinguaError, UnknownNameError
from interlingua.folders import claimed
from interlingua.report.tables import pandas, whole
from interlingua.studies.catalog import find
from interlingua.studies.study import MODELS, Cell, Row, Say, Study

if TYPE_CHECKING:
    import pandas as pd

CELLS, WORK, PREPARED, RUNS, SETTINGS = "cells", "work", "prepared", "runs.jsonl", "settings.json"
# The columns of a study's table; the settings of cells stand before them.
COLUMNS = (
    "state", "corpus", "pooling", "layer", "source", "target", "measure", "value", "low", "high", "null", "published",
    "n", "notes", "signature",
)  # fmt: skip
TEXT = ("state", "corpus", "pooling", "source", "target", "measure", "notes")
# What a signature says once for many rows: the row says it too.
_VARIES = re.compile(r"\b(layer|pair):[^|]*")


@dataclass(frozen=True)
class Results:
    """What a study found: its table, its settings, and every attempt."""

    study: Study
    settings: Any
    table: pd.DataFrame
    cells: tuple[str, ...]
    missing: tuple[Cell, ...]

    @property
    def scale(self) -> str:
        """How large, in a few words."""
        return f"{self.settings.size}, {len(self.cells)} of {len(self.cells) + len(self.missing)} cells"


def run(
    study: Study,
    settings: Any,
    out: str | Path,
    *,
    only: Sequence[str] = (),
    workers: int = 1,
    keep: bool = False,
    prepare_only: bool = False,
    say: Say = lambda _: None,
) -> Results:
    """Run the cells that are not done yet, so many at once; a cell that fails is written down and the others go on."""
    folder = Path(out)
    cells = {cell.name: cell for cell in study.cells(settings)}
    if unknown := [name for name in only if name not in cells]:
        raise UnknownNameError(f"cell of {study.name}", unknown[0], cells)
    with claimed(folder):
        _same(study, settings, folder)
        (folder / CELLS).mkdir(exist_ok=True)
        left = _left(cells, only, folder)
        if prepare_only:
            study.prepare(left, settings, folder / PREPARED, say)
        else:
            wrong = list(_worked(study, settings, folder, left, workers, keep, say))
            if wrong and len(wrong) == len(left):
                raise InputError(f"no cell of {study.name} could be run; the first: {wrong[0]}")
            if not keep and not wrong and not only:
                shutil.rmtree(folder / PREPARED, ignore_errors=True)
    return read(study, folder)


def _left(cells: Mapping[str, Cell], only: Sequence[str], folder: Path) -> list[Cell]:
    """What is not done of what was asked for, and before it what it looks at, where a model is no longer there."""
    wanted = {name for name in cells if (not only or name in only) and not _done(folder, name)}
    for cell in reversed(list(cells.values())):
        if cell.name in wanted:
            wanted |= {name for name in cell.after if not (folder / PREPARED / MODELS / name).exists()}
    return [cell for name, cell in cells.items() if name in wanted]


def _worked(
    study: Study, settings: Any, folder: Path, left: Sequence[Cell], workers: int, keep: bool, say: Say
) -> Iterable[str]:
    """What went wrong, a line a cell. A cell begins when those that it looks at are done."""
    asked = settings.model_dump_json()

    def finished(cell: Cell, rows: Sequence[Row], seconds: float) -> None:
        _attempt(folder, study, cell, settings, seconds, None)
        _keep(folder, study, cell, settings, seconds, rows)
        if not keep:
            shutil.rmtree(folder / WORK / cell.name, ignore_errors=True)
        say(f"{cell.name}: done, {len(rows):,} rows, {seconds:.0f} s")

    def failed(cell: Cell, error: BaseException) -> str:
        _attempt(folder, study, cell, settings, 0.0, error)
        say(f"{cell.name} failed: {error}")
        return f"{cell.name}: {error}"

    waiting, broken = list(left), set[str]()
    under_way: dict[Future[tuple[list[Row], float]], Cell] = {}
    pool = _pool(min(workers, len(left)))

    def next_one() -> Cell | None:
        """A cell that waits for no other, if there is room for it."""
        before = {cell.name for cell in (*waiting, *under_way.values())}
        free = (cell for cell in waiting if not before & set(cell.after))
        return next(free, None) if len(under_way) < workers else None

    try:
        while waiting or under_way:
            while cell := next_one():
                waiting.remove(cell)
                if lost := broken & set(cell.after):
                    broken.add(cell.name)
                    yield failed(cell, InputError(f"it looks at {min(lost)}, which failed"))
                else:
                    say(f"{cell.name}: begun")
                    under_way[pool.submit(_cell, study.name, asked, cell.name, folder)] = cell
            done, _ = wait(under_way, return_when=FIRST_COMPLETED)
            for each in done:
                cell, wrong = under_way.pop(each), each.exception()
                if wrong:
                    broken.add(cell.name)
                    yield failed(cell, wrong)
                else:
                    finished(cell, *each.result())
    finally:
        # an interrupted run does not wait for what is under way: it goes on from there another time
        for process in list((getattr(pool, "_processes", None) or {}).values()):
            process.terminate()
        pool.shutdown(wait=False, cancel_futures=True)


class _Here(Executor):
    """One at a time, in this process: nothing to start, and what goes wrong is seen where it went wrong."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Done at once."""
        made: Future[Any] = Future()
        try:
            made.set_result(fn(*args, **kwargs))
        except InterlinguaError as error:
            made.set_exception(error)
        return made


def _pool(workers: int) -> Executor:
    if workers <= 1:
        return _Here()
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))


def _cell(name: str, settings: str, cell: str, folder: Path) -> tuple[list[Row], float]:
    """In this process or another: the rows of one cell, and how long it took."""
    began = time.monotonic()
    study = find(name)
    how = study.settings.model_validate_json(settings)
    asked = next(each for each in study.cells(how) if each.name == cell)
    place = folder / WORK / cell
    place.mkdir(parents=True, exist_ok=True)

    def told(words: str) -> None:
        _stderr(f"{cell}: {words}")

    rows = list(study.run(asked, how, place, folder / PREPARED, told))
    return rows, time.monotonic() - began


def _stderr(words: str) -> None:
    sys.stderr.write(words + "\n")
    sys.stderr.flush()


def signature(study: Study, cell: Cell, settings: Any) -> str:
    """What a cell's rows depend on, in a line: a cell can be run again from it."""
    facts = [dict(cell.settings), settings.model_dump(mode="json", exclude=set(settings.axes))]
    made = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]
    return f"study:{study.name}|cell:{cell.name}|size:{settings.size}|settings:{made}|version:{__version__}"


def _keep(folder: Path, study: Study, cell: Cell, settings: Any, seconds: float, rows: Sequence[Row]) -> None:
    """A cell's table and facts; the facts last, for they say that the table is whole."""
    signatures: list[str] = []
    short = []
    for row in rows:
        told = _VARIES.sub(r"\1:*", str(row.get("signature", "")))
        if told not in signatures:
            signatures.append(told)
        short.append({**row, "signature": signatures.index(told)})
    frame = pandas().DataFrame(short, columns=list(COLUMNS))
    whole(folder / CELLS / f"{cell.name}.csv", frame.to_csv(index=False, float_format="%.6g").encode())
    facts = {
        "cell": cell.name,
        "signature": signature(study, cell, settings),
        "settings": dict(cell.settings),
        "seconds": round(seconds),
        "date": _today(),
        "versions": made_with(),
        "signatures": signatures,
    }
    whole(folder / CELLS / f"{cell.name}.json", (json.dumps(facts, indent=1, ensure_ascii=False) + "\n").encode())


def _attempt(
    folder: Path, study: Study, cell: Cell, settings: Any, seconds: float, error: BaseException | None
) -> None:
    line = {
        "date": _today(),
        "signature": signature(study, cell, settings),
        "seconds": round(seconds),
        "error": " ".join(f"{type(error).__name__}: {error}".split())[:300] if error else "",
    }
    with (folder / RUNS).open("a", encoding="utf-8") as runs:
        runs.write(json.dumps(line, ensure_ascii=False) + "\n")


def _today() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d")


def _done(folder: Path, cell: str) -> bool:
    return (folder / CELLS / f"{cell}.json").exists()


def _same(study: Study, settings: Any, folder: Path) -> None:
    """An error where the folder holds the cells of other settings."""
    asked = {"study": study.name, **settings.model_dump(mode="json")}
    place = folder / SETTINGS
    if place.exists():
        held = json.loads(place.read_text(encoding="utf-8"))
        unlike = [key for key in {**held, **asked} if held.get(key) != asked.get(key) and key not in settings.axes]
        if unlike:
            key = unlike[0]
            raise InputError(
                f"{folder} holds another run ({key} was {held.get(key)!r} and is {asked.get(key)!r}): name another "
                "folder with --out"
            )
    whole(place, (json.dumps(asked, indent=1, ensure_ascii=False) + "\n").encode())


def read(study: Study, folder: str | Path) -> Results:
    """What a folder of results holds of a study."""
    place = Path(folder)
    if not (place / SETTINGS).exists():
        raise InputError(f"{place} holds no results of a study: `interlingua study run {study.name} --out {place}`")
    held = json.loads((place / SETTINGS).read_text(encoding="utf-8"))
    if held.pop("study", "") != study.name:
        raise InputError(f"{place} holds another study than {study.name}")
    settings = study.settings.model_validate(held)
    cells = study.cells(settings)
    done = [cell.name for cell in cells if _done(place, cell.name)]
    frames = [_table(place / CELLS, name) for name in done]
    pd = pandas()
    table = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=["cell", *COLUMNS])
    return Results(study, settings, table, tuple(done), tuple(cell for cell in cells if cell.name not in done))


def _table(place: Path, name: str) -> pd.DataFrame:
    """The rows of a cell, with its settings and with signatures in full."""
    try:
        facts: Mapping[str, Any] = json.loads((place / f"{name}.json").read_text(encoding="utf-8"))
        rows = pandas().read_csv(
            place / f"{name}.csv", keep_default_na=False, na_values=[""], dtype=dict.fromkeys(TEXT, str)
        )
    except (OSError, ValueError) as error:
        raise FormatError(place / f"{name}.csv", None, f"it cannot be read ({error}): run the cell again") from error
    rows[list(TEXT)] = rows[list(TEXT)].fillna("")
    templates = [facts["signatures"][int(i)] for i in rows["signature"]]
    pairs = [f"{s}-{t}" for s, t in zip(rows["source"], rows["target"], strict=True)]
    rows["signature"] = [
        each.replace("layer:*", f"layer:{layer:g}").replace("pair:*", f"pair:{pair}")
        for each, layer, pair in zip(templates, rows["layer"].fillna(-1), pairs, strict=True)
    ]
    for column, (key, value) in enumerate([("cell", name), *facts["settings"].items()]):
        rows.insert(column, key, [value] * len(rows))
    return rows


def attempts(folder: str | Path) -> list[dict[str, Any]]:
    """Every attempt at a cell, those that failed too."""
    place = Path(folder) / RUNS
    if not place.exists():
        return []
    return [json.loads(line) for line in place.read_text(encoding="utf-8").splitlines()]


def again(told: str, kept: str | Path, out: str | Path, say: Say = lambda _: None) -> pd.DataFrame:
    """Run a cell once more from its signature, in another folder, and lay its values beside those that are kept.

    A row a value that has an interval: what is kept, its interval, what was found now, and whether that lies inside.
    """
    facts = dict(part.partition(":")[::2] for part in told.split("|"))
    if missing := [key for key in ("study", "cell", "settings") if not facts.get(key)]:
        raise InputError(f"{told!r} is no signature of a cell: it has no {missing[0]}; they are in cells/*.json")
    held = read(find(facts["study"]), kept)
    if facts["cell"] not in held.cells:
        raise UnknownNameError(f"cell in {kept}", facts["cell"], held.cells)
    asked = next(cell for cell in held.study.cells(held.settings) if cell.name == facts["cell"])
    if (now := signature(held.study, asked, held.settings)).split("|")[:4] != told.split("|")[:4]:
        raise InputError(f"{kept} holds the cell with other settings: its signature is {now}")
    if Path(out).resolve() == Path(kept).resolve():
        raise InputError("what is kept would be found done: name another folder with --out")
    fresh = run(held.study, held.settings, out, only=[asked.name], say=say)
    keys = ["state", "corpus", "pooling", "layer", "source", "target", "measure"]
    mine = [table[table["cell"] == asked.name] for table in (held.table, fresh.table)]
    both = mine[0].merge(mine[1][[*keys, "value"]], on=keys, suffixes=("", "_again"), how="left")
    both = both[both["low"].notna() & both["value"].notna()][[*keys, "value", "low", "high", "value_again"]]
    return both.assign(inside=both["value_again"].between(both["low"], both["high"])).reset_index(drop=True)
