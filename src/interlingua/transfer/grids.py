"""Small grids of settings: those of the papers by name, or a YAML file of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any

from interlingua.errors import FormatError, InputError, MissingExtraError, UnknownNameError
from interlingua.transfer.finetune import Tuning

# What a setting may change; layers that are frozen and seeds are no part of a grid.
KEYS = tuple(f.name for f in fields(Tuning) if f.name not in ("seed", "frozen", "tune_own", "bf16"))
BEST = "best"


@dataclass(frozen=True)
class Grid:
    """Settings to try; what is reported is the mean over the `best` of them by the development score of the source."""

    settings: tuple[Mapping[str, Any], ...]
    best: int = 2


# Wu et al. 2020: "the mean of the best two settings is reported".
GRIDS: Mapping[str, Mapping[str, Any]] = {
    "wu2020-words": {"epochs": 10, "batch": [16, 32], "rate": [2e-5, 3e-5, 5e-5], "warmup": 0.1},
    "wu2020-nli": {
        "epochs": 200, "batch": [4, 8], "rate": [1.25e-6, 2.5e-6, 5e-6], "head_rate": [5e-6, 2.5e-5, 1.25e-4],
        "schedule": "constant", "warmup": 0.0,
    },
}  # fmt: skip


def read_grid(source: str) -> Grid:
    """A grid by its name, or from a YAML file: keys of `Tuning` with one value or a list of them, and `best`."""
    if source in GRIDS:
        return grid(GRIDS[source], source)
    path = Path(source)
    if not path.is_file():
        raise UnknownNameError("grid, and no file", source, GRIDS)
    try:
        import yaml
    except ImportError as error:
        raise MissingExtraError("pyyaml", "transfer", "grids from files") from error
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise FormatError(path, None, "it is not UTF-8 text: a grid is written as YAML") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise FormatError(path, mark.line + 1 if mark else None, "it is not YAML") from error
    if not isinstance(found, dict):
        raise FormatError(path, None, "it holds no grid: write keys and values such as batch: [16, 32]")
    return grid(found, source)


def grid(said: Mapping[str, Any], name: str = "a grid") -> Grid:
    """Every combination of the values said."""
    values = {
        key: [_number(each) for each in (value if isinstance(value, list | tuple) else [value])]
        for key, value in said.items()
        if key != BEST
    }
    for key, some in values.items():
        if key not in KEYS:
            raise UnknownNameError(f"key of {name}", key, (*KEYS, BEST))
        if not some:
            raise InputError(f"{name}: {key} has no value")
    settings = tuple(dict(zip(values, each, strict=True)) for each in product(*values.values()))
    best = said.get(BEST, min(2, len(settings)))
    if isinstance(best, bool) or not isinstance(best, int) or not 1 <= best <= len(settings):
        raise InputError(f"{name}: the best {best} of {len(settings)} settings cannot be reported")
    for setting in settings:
        try:
            Tuning(**setting)
        except InputError as error:
            raise InputError(f"{name}: {error}") from error
    return Grid(settings, best)


def _number(value: Any) -> Any:
    """YAML takes 5e-5 for text, as it has no point."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def named(setting: Mapping[str, Any]) -> str:
    """A setting in words: `batch 16, rate 2e-05`."""
    return ", ".join(f"{key} {value}" for key, value in setting.items())
