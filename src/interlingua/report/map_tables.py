"""The tables of `interlingua map`: a row a score, and the nearest words of every query."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from interlingua.errors import FormatError, InputError
from interlingua.folders import whole
from interlingua.report.tables import CONFIG, NEIGHBOURS, SCORES, harmless, pandas

if TYPE_CHECKING:
    import pandas as pd

# What could not stand beside the models, and why.
LEFT_OUT = "left-out.json"
COLUMNS = (
    "level", "space", "layer", "way", "by", "direction", "pairs", "p1", "low", "high", "p5", "p10", "same_type",
    "n", "candidates", "chance", "coverage",
)  # fmt: skip
# Precision at 1 without each twentieth of the queries (without each one of fewer than 20): for differences of layers
# and ways on the same queries.
WITHOUT = "without"
FOUND = ("space", "layer", "way", "by", "query", "nearest", "gold")


@dataclass(frozen=True)
class MapTables:
    """What came out: a row a score, the nearest words of every query (word level), and what was asked for."""

    scores: pd.DataFrame
    neighbours: pd.DataFrame
    config: Mapping[str, Any]

    @classmethod
    def of(cls, config: Mapping[str, Any], scores: Sequence[Any], neighbours: Sequence[Any] = ()) -> MapTables:
        """From rows."""
        pd = pandas()
        columns = [*COLUMNS, WITHOUT]
        frames = (pd.DataFrame(scores, columns=columns), pd.DataFrame(neighbours, columns=list(FOUND)))
        return cls(*frames, config)


def write_map(tables: MapTables, folder: Path) -> None:
    """Into a folder, each file whole or not at all."""
    whole(folder / f"{SCORES}.parquet", tables.scores.to_parquet(index=False))
    whole(folder / f"{SCORES}.csv", harmless(tables.scores[list(COLUMNS)]).to_csv(index=False).encode())
    if len(tables.neighbours):
        whole(folder / NEIGHBOURS, tables.neighbours.to_parquet(index=False))
    whole(folder / LEFT_OUT, json.dumps(tables.config.get("left_out", {}), ensure_ascii=False).encode())


def read_map(folder: Path) -> MapTables:
    """The tables of a folder that `interlingua map` wrote."""
    pd = pandas()
    if not (folder / f"{SCORES}.parquet").exists():
        raise InputError(f"{folder} holds no map: it has no {SCORES}.parquet")
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        scores = pd.read_parquet(folder / f"{SCORES}.parquet")
        near = folder / NEIGHBOURS
        found = pd.read_parquet(near) if near.exists() else pd.DataFrame(columns=list(FOUND))
        without = json.loads((folder / LEFT_OUT).read_text(encoding="utf-8")) if (folder / LEFT_OUT).exists() else {}
    except (OSError, ValueError) as error:
        raise FormatError(folder, None, f"it cannot be read ({error}): run the map again") from error
    if lacking := [c for c in COLUMNS if c not in scores]:
        raise FormatError(folder / f"{SCORES}.parquet", None, f"it has no column {lacking[0]!r}: run the map again")
    return MapTables(scores, found, {**{k: v for k, v in config.items() if k != "schema"}, "left_out": without})


def full(tables: MapTables) -> pd.DataFrame:
    """The scores of maps fitted on all pairs, the mean of both directions, by the first way of finding neighbours."""
    scores = tables.scores[tables.scores["by"] == tables.scores["by"].iloc[0]]
    most = scores.groupby(["space", "layer", "way"])["pairs"].transform("max")
    grouped = scores[scores["pairs"] == most].groupby(["space", "layer", "way"], sort=False)
    means = grouped.mean(numeric_only=True).reset_index()
    if WITHOUT not in scores or scores[WITHOUT].isna().any():  # of an earlier version
        return means
    return means.assign(**{WITHOUT: [np.mean(list(each[WITHOUT]), axis=0).tolist() for _, each in grouped]})


def best(tables: MapTables) -> pd.Series[Any]:
    """The layer and way at which the models' own vectors do best."""
    rows = full(tables)
    mine = rows[rows["space"] == "model"]
    found: pd.Series[Any] = mine.loc[mine["p1"].idxmax()]
    return found
