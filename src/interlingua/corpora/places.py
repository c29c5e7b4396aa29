"""Where data sets are looked for: an explicit path, `INTERLINGUA_DATA`, the cache; built-in ones in the package."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from interlingua.corpora.catalog import CATALOG
from interlingua.corpora.dataset import Dataset
from interlingua.errors import InputError, UnknownNameError


def data_root() -> Path | None:
    """The folder named by `INTERLINGUA_DATA`, if it is set; an error if it is set and is no folder."""
    value = os.environ.get("INTERLINGUA_DATA")
    if not value:
        return None
    root = Path(value).expanduser()
    if not root.is_dir():
        raise InputError(f"INTERLINGUA_DATA is {value}, which is not a folder: correct or unset it")
    return root


def cache_root() -> Path:
    """Where fetched data sets are kept: `INTERLINGUA_CACHE`, else the user's cache folder."""
    value = os.environ.get("INTERLINGUA_CACHE")
    if value:
        return Path(value).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "interlingua"


def assets() -> Path:
    """The folder of what ships with the package."""
    return Path(str(files("interlingua") / "assets"))


def find(name: str) -> tuple[Dataset, str, str]:
    """The entry of the catalogue for `name`, `name/part` or `name/part:split`, with part and split ("": default)."""
    whole, _, split = name.partition(":")
    head, _, part = whole.partition("/")
    for dataset in CATALOG:
        if head in (dataset.name, dataset.directory):
            return dataset, part, split
    raise UnknownNameError("data set", name, (d.name for d in CATALOG), "interlingua data ls shows all")


def places(dataset: Dataset, path: Path | None = None) -> Iterator[tuple[str, Path]]:
    """The places to look in, in order, each with a word that says which it is."""
    if path is not None:
        yield "path", path
        return
    if dataset.built_in:
        yield "built in", assets() / dataset.directory
        return
    if root := data_root():
        yield "INTERLINGUA_DATA", root / dataset.directory
    yield "cache", cache_root() / dataset.directory


def locate(dataset: Dataset, path: Path | None = None) -> tuple[str, Path] | None:
    """The first place that holds the data set; None where none does."""
    return next(((where, folder) for where, folder in places(dataset, path) if folder.is_dir()), None)
