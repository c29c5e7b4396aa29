"""The table of `interlingua mapped-transfer`: scores by the layer that was mapped."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlingua.errors import FormatError, InputError
from interlingua.report.tables import CONFIG, SCORES, pandas, write_scores

if TYPE_CHECKING:
    import pandas as pd

MAPPED, SHARED, SHARED_MAPPED = "two models, mapped", "one model, as it is", "one model, mapped"
COLUMNS = ("setup", "layer", "seed", "language", "set", "metric", "value", "low", "high", "sentences", "development")


@dataclass(frozen=True)
class GraftTables:
    """Scores, and what was asked for."""

    scores: pd.DataFrame
    config: Mapping[str, Any]

    @classmethod
    def of(cls, config: Mapping[str, Any], scores: Sequence[Any]) -> GraftTables:
        """From rows."""
        return cls(pandas().DataFrame(scores, columns=list(COLUMNS)), config)

    @property
    def langs(self) -> tuple[str, str]:
        """Where it was tuned, and where it was judged."""
        return self.config["languages"][0], self.config["languages"][1]

    def curve(self, language: str) -> pd.DataFrame:
        """Scores of a language by setup and layer, the mean over seeds."""
        mine = self.scores[self.scores["language"] == language]
        return mine.groupby(["setup", "layer"], sort=False).mean(numeric_only=True).reset_index()


def write_graft(tables: GraftTables, folder: Path) -> None:
    """Into a folder."""
    write_scores(folder, tables.scores)


def read_graft(folder: Path) -> GraftTables:
    """The tables of a folder that `interlingua mapped-transfer` wrote."""
    if not (folder / f"{SCORES}.parquet").exists():
        raise InputError(f"{folder} holds no mapped transfer: it has no {SCORES}.parquet")
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        return GraftTables(pandas().read_parquet(folder / f"{SCORES}.parquet"), config)
    except (OSError, ValueError) as error:
        raise FormatError(folder, None, f"it cannot be read ({error}): run it again") from error
