"""What cells found, in a folder: kept, read again, and every attempt written down.

For every cell that is done there are `cells/NAME.csv` (its rows) and `cells/NAME.json` (its settings, signatures,
versions and time, and the hash of its table); `settings.json`; and `runs.jsonl`, a line where a cell begins and one
where it ends, well or not: an attempt without an end was interrupted.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlingua import __version__
from interlingua.analyses.survey import made_with
from interlingua.errors import FormatError, InputError
from interlingua.folders import whole
from interlingua.report.tables import pandas
from interlingua.studies.study import USUAL, Cell, Row, Study, settings_of, sizes

if TYPE_CHECKING:
    import pandas as pd

CELLS, RUNS, SETTINGS = "cells", "runs.jsonl", "settings.json"
BEGUN, DONE, FAILED = "begun", "done", "failed"
# The columns of a study's table; the settings of cells stand before them.
COLUMNS = (
    "state", "corpus", "pooling", "layer", "source", "target", "measure", "value", "low", "high", "null", "published",
    "n", "notes", "signature", "sample", "without",
)  # fmt: skip
# Values without each block of a sample, with spaces between them: `estimates` take intervals of differences from them.
SAMPLE, WITHOUT = "sample", "without"
TEXT = ("state", "corpus", "pooling", "source", "target", "measure", "notes", SAMPLE, WITHOUT)
# What a signature says once for many rows: the row says it too.
_VARIES = re.compile(r"\b(layer|pair):[^|]*")


@dataclass(frozen=True)
class Results:
    """What a study found: its table, which cells are done, which are missing, and which of those are damaged.

    Missing is what the study's own settings ask for: a folder in which less was asked for is not complete, and one in
    which more was (other seeds, that are not done) is.
    """

    study: Study
    settings: Any
    table: pd.DataFrame
    cells: tuple[str, ...]
    missing: tuple[Cell, ...]
    damaged: tuple[str, ...] = ()

    @property
    def scale(self) -> str:
        """How large, in a few words."""
        return f"{self.settings.size}, {len(self.cells)} of {len(self.cells) + len(self.missing)} cells"


def signature(study: Study, cell: Cell, settings: Any) -> str:
    """What a cell's rows depend on, in a line."""
    told = settings.model_dump(mode="json", exclude=set(settings.axes))
    facts = [dict(cell.settings), {key: told[key] for key in told if (key, told[key]) not in settings.later.items()}]
    made = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]
    return f"study:{study.name}|cell:{cell.name}|size:{settings.size}|settings:{made}|version:{__version__}"


def note(folder: Path, told: str, event: str, seconds: float = 0.0, error: str = "") -> None:
    """A line about an attempt."""
    line = {"at": _now(), "event": event, "signature": told, "seconds": round(seconds), "error": error}
    with (folder / RUNS).open("a", encoding="utf-8") as runs:
        runs.write(json.dumps(line, ensure_ascii=False) + "\n")


def attempts(folder: str | Path) -> list[dict[str, Any]]:
    """Every line about an attempt."""
    place = Path(folder) / RUNS
    lines = place.read_text(encoding="utf-8").splitlines() if place.exists() else []
    return [json.loads(line) for line in lines]


def keep(folder: Path, study: Study, cell: Cell, settings: Any, seconds: float, rows: Sequence[Row]) -> None:
    """A cell's table and facts; the facts last, for they say that the table is whole."""
    signatures: list[str] = []
    short = []
    for row in rows:
        told = _VARIES.sub(r"\1:*", str(row.get("signature", "")))
        if told not in signatures:
            signatures.append(told)
        without = " ".join(f"{value:.6g}" for value in row.get(WITHOUT) or ())
        short.append({**row, "signature": signatures.index(told), WITHOUT: without})
    table = pandas().DataFrame(short, columns=list(COLUMNS)).to_csv(index=False, float_format="%.6g").encode()
    whole(folder / CELLS / f"{cell.name}.csv", table)
    facts = {
        "cell": cell.name,
        "signature": signature(study, cell, settings),
        "settings": dict(cell.settings),
        "seconds": round(seconds),
        "at": _now(),
        "versions": made_with(),
        "table": hashlib.sha256(table).hexdigest(),
        "signatures": signatures,
    }
    whole(folder / CELLS / f"{cell.name}.json", (json.dumps(facts, indent=1, ensure_ascii=False) + "\n").encode())


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%MZ")


def is_done(folder: Path, cell: str) -> bool:
    """Whether a cell's table is there and whole."""
    try:
        rows_of(folder, cell)
    except (FormatError, FileNotFoundError):
        return False
    return True


def rows_of(folder: Path, cell: str) -> pd.DataFrame:
    """The rows of a cell, with its settings and with signatures in full; an error where they are damaged."""
    place = folder / CELLS / f"{cell}.json"
    try:
        facts: Mapping[str, Any] = json.loads(place.read_text(encoding="utf-8"))
        content = place.with_suffix(".csv").read_bytes()
        if hashlib.sha256(content).hexdigest() != facts["table"]:
            raise FormatError(place.with_suffix(".csv"), None, "it is not what was written: run the study again")
        rows = pandas().read_csv(
            io.BytesIO(content), keep_default_na=False, na_values=[""], dtype=dict.fromkeys(TEXT, str)
        )
        templates = [facts["signatures"][int(i)] for i in rows["signature"]]
        about = [("cell", cell), *facts["settings"].items()]
    except FileNotFoundError:
        if place.exists():
            raise FormatError(place, None, "its table is not there: run the study again") from None
        raise
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(place, None, "it is damaged: run the study again") from error
    rows = rows.assign(**{column: "" for column in (SAMPLE, WITHOUT) if column not in rows})  # of earlier versions
    rows[list(TEXT)] = rows[list(TEXT)].fillna("")
    pairs = [f"{s}-{t}" for s, t in zip(rows["source"], rows["target"], strict=True)]
    rows["signature"] = [
        each.replace("layer:*", f"layer:{layer:g}").replace("pair:*", f"pair:{pair}")
        for each, layer, pair in zip(templates, rows["layer"].fillna(-1), pairs, strict=True)
    ]
    for column, (key, value) in enumerate(about):
        rows.insert(column, key, [value] * len(rows))
    return rows


def joined(study: Study, settings: Any, folder: Path) -> Any:
    """The settings of a folder with what is asked for now added; an error where it holds the cells of others.

    Axes may differ: cells are added to those that are there. Before the first cell is done anything may.
    """
    held = held_by(folder, study)
    asked = settings.model_dump(mode="json")
    if held is not None and any((folder / CELLS).glob("*.json")):
        for key, value in asked.items():
            if key not in settings.axes and held.get(key) != value:
                raise InputError(
                    f"{folder} holds another run ({key} was {held.get(key)!r} and is {value!r}): name another folder "
                    "with --out"
                )
        asked |= {axis: _union(held.get(axis), asked[axis]) for axis in settings.axes}
    try:
        made = study.settings.model_validate(asked)
    except ValueError as error:
        why = str(error).splitlines()[2].strip().removeprefix("Value error, ").partition(" [type=")[0]
        raise InputError(f"{folder} holds another run, and both together: {why}: name another folder") from error
    text = json.dumps({"study": study.name, **made.model_dump(mode="json")}, indent=1, ensure_ascii=False)
    whole(folder / SETTINGS, f"{text}\n".encode())
    return made


def _union(held: Any, asked: Any) -> Any:
    if isinstance(asked, list):
        return [*(held or []), *(each for each in asked if each not in (held or []))]
    return max(held or 0, asked)


def held_by(folder: Path, study: Study) -> dict[str, Any] | None:
    """The settings of a folder; an error where they are of another study."""
    place = folder / SETTINGS
    if not place.exists():
        return None
    try:
        held: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
        name = held.pop("study")
    except (ValueError, KeyError, AttributeError) as error:
        raise FormatError(
            place, None, "it holds no settings of a study: put it back, or take the folder away"
        ) from error
    if name != study.name:
        raise InputError(f"{folder} holds results of {name}, not of {study.name}: name another folder")
    return {**study.settings.later, **held}


def read(study: Study, folder: str | Path) -> Results:
    """What a folder of results holds of a study."""
    place = Path(folder)
    held = held_by(place, study)
    if held is None:
        raise InputError(f"{place} holds no results of a study: `interlingua study run {study.name} --out {place}`")
    try:
        settings = study.settings.model_validate(held)
    except ValueError as error:
        raise FormatError(place / SETTINGS, None, f"it holds no settings of {study.name}") from error
    own = study.cells(whole_of(study, settings))
    cells = {cell.name: cell for cell in (*study.cells(settings), *own)}
    frames, damaged = {}, []
    for name in cells:
        try:
            frames[name] = rows_of(place, name)
        except FileNotFoundError:
            continue
        except FormatError as error:
            damaged.append(str(error))
    pd = pandas()
    table = pd.concat(list(frames.values()), ignore_index=True) if frames else pd.DataFrame(columns=["cell", *COLUMNS])
    missing = tuple(cell for cell in own if cell.name not in frames)
    return Results(study, settings, table, tuple(frames), missing, tuple(damaged))


def folder_of(root: str | Path, name: str, size: str = "") -> Path:
    """Where results of a study are kept by default: in NAME, and in NAME.SIZE at another size than the usual one."""
    return Path(root) / (name if size in ("", USUAL) else f"{name}.{size}")


def places_in(root: str | Path, study: Study) -> list[tuple[str, Path]]:
    """The folders of a study, each after the size that it holds, from the paper's own size down."""
    order = list(sizes(study))
    places = [folder_of(root, study.name, size) for size in order]
    found = [(held.get("size", ""), place) for place in places if (held := held_by(place, study)) is not None]
    return sorted(found, key=lambda each: order.index(each[0]) if each[0] in order else len(order))


def held_in(root: str | Path, study: Study) -> list[Results]:
    """What is kept of a study, from the paper's own size down."""
    return [read(study, place) for _, place in places_in(root, study)]


def whole_of(study: Study, settings: Any) -> Any:
    """Settings with every axis as the study's own file has it: what all its claims need."""
    if settings.size not in sizes(study):
        return settings
    usual = settings_of(study, settings.size)
    return settings.model_copy(update={axis: getattr(usual, axis) for axis in settings.axes})
