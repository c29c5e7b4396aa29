"""What a study is: cells that are run one by one, the table they make, and what is estimated and drawn from it.

A study is a module here with a `STUDY`, a file of settings beside it (`settings/NAME.yaml`), and a line in the
catalogue. One dial, the size, decides everything that costs time; `smoke` is the smallest, for a look at whether it
runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from interlingua.errors import InputError, MissingExtraError, UnknownNameError

try:
    import yaml
    from pydantic import BaseModel, ConfigDict, Field, ValidationError
except ImportError as _error:
    raise MissingExtraError("pydantic and pyyaml", "studies", "studies") from _error

if TYPE_CHECKING:
    import pandas as pd

    from interlingua.studies.claims import Part

SMOKE = "smoke"
# What is run unless another size is asked for.
USUAL = "mini"
# Where models that other cells look at are left, under what cells share.
MODELS = "models"
Row = dict[str, Any]
# Of models that are trained.
Size = Literal["nano", "micro", "mini", "small", "wu-base", "xlmr-base"]
Say = Callable[[str], None]


class Settings(BaseModel):
    """What every study has settings for; each has more of its own.

    `axes` are settings that say which cells there are and nothing about any of them: results of other seeds or sizes
    can be added to those that are kept. `later` are those that are younger than results that are kept, each with the
    value these were made with, as JSON has it: with it, a signature is theirs.
    """

    axes: ClassVar[tuple[str, ...]] = ("seeds",)
    later: ClassVar[Mapping[str, Any]] = {}
    model_config = ConfigDict(extra="forbid", frozen=True)

    size: str
    seeds: int = Field(default=2, ge=1)


@dataclass(frozen=True)
class Cell:
    """One model trained or tuned, and measured. `settings` is all that sets it apart from the other cells.

    `after`: cells whose models it looks at. They stand before it, and leave their models in `models/`, whole: it begins
    as soon as they are there.
    """

    name: str
    settings: Mapping[str, Any]
    after: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Study:
    """A published experiment.

    `run` trains and measures a cell in a folder of its own, where it goes on after a kill, and returns rows. What cells
    share is made by the first that needs it; `prepare` makes it beforehand. `estimates` are by claim and rule
    ("D1.collapsed"): from the table of all rows, each with the settings of its cell, to numbers that rules judge.
    `needs`: which cells decide a claim, where not all do.
    """

    name: str
    title: str
    source: str
    settings: type[Settings]
    cells: Callable[[Any], Sequence[Cell]]
    run: Callable[[Cell, Any, Path, Path, Say], Iterable[Row]]
    prepare: Callable[[Sequence[Cell], Any, Path, Say], None]
    estimates: Mapping[str, Callable[[pd.DataFrame], Iterable[Part]]]
    figures: Callable[[pd.DataFrame], Mapping[str, Any]]
    needs: Mapping[str, Callable[[Cell], bool]] = field(default_factory=dict)


def sizes(study: Study) -> list[str]:
    """The settings of the dial, from the paper's own to the smallest."""
    return list(_file(study).get("sizes", {}))


def settings_of(study: Study, size: str = "", changes: Sequence[str] = ()) -> Any:
    """The settings of a size (by default the usual one), changed by `key=value`."""
    found = _file(study)
    by_size: dict[str, Any] = found.pop("sizes")
    size = size or USUAL
    if size not in by_size:
        raise UnknownNameError(f"size of {study.name}", size, by_size)
    asked = {"size": size, **found, **(by_size[size] or {})}
    for change in changes:
        key, sign, value = change.partition("=")
        if not sign:
            raise InputError(f"{change!r} changes nothing: say key=value")
        if key not in study.settings.model_fields:
            raise UnknownNameError(f"setting of {study.name}", key, study.settings.model_fields)
        try:
            asked[key] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise InputError(f"{change!r}: the value is not YAML") from error
    try:
        return study.settings.model_validate(asked)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{study.name}: {where}: {first['msg'].removeprefix('Value error, ')}") from error


def _file(study: Study) -> dict[str, Any]:
    place = files("interlingua.studies") / "settings" / f"{study.name}.yaml"
    found: dict[str, Any] = yaml.safe_load(place.read_text(encoding="utf-8"))
    return found
