"""What `interlingua transfer` writes and reads: tables, a file each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlingua import __version__
from interlingua.errors import FormatError, InputError
from interlingua.report.tables import CONFIG, SCORES, pandas, write_scores

if TYPE_CHECKING:
    import pandas as pd

# The rows of a model as it is; of a BiLSTM; of the tag that each word had most often; and of the commonest tag of all.
WHOLE, BILSTM, FREQUENT, COMMON = "", "bilstm", "most frequent tag", "commonest tag"
COLUMNS = (
    "init", "setting", "seed", "language", "set", "metric", "value", "low", "high", "gap", "sentences", "unknown",
    "lost", "new", "development", "epoch",
)  # fmt: skip
# What stands behind scores, a file each: what is lost without layers, and what parallel text tells.
BESIDE: dict[str, tuple[str, ...]] = {
    "drops": ("init", "language", "source", "drop", "low", "high", "verdict"),
    "similarities": ("state", "measure", "layer", "language", "value", "low", "high"),
    "relations": ("state", "measure", "layer", "n", "rho", "p", "p_adjusted"),
    "foretold": ("measure", "language", "foretold", "low", "high", "layer", "score", "usual", "languages"),
    "neurons": ("layer", "kind", "neurons", "language", "change", "low", "high"),
}


@dataclass(frozen=True)
class TransferTables:
    """Scores, what stands behind them, and what was asked for."""

    scores: pd.DataFrame
    drops: pd.DataFrame
    similarities: pd.DataFrame
    relations: pd.DataFrame
    foretold: pd.DataFrame
    neurons: pd.DataFrame
    config: Mapping[str, Any]

    @classmethod
    def of(cls, config: Mapping[str, Any], scores: Sequence[Any], **beside: Sequence[Any]) -> TransferTables:
        """From rows."""
        pd = pandas()
        frames = {name: pd.DataFrame(beside.get(name, ()), columns=list(some)) for name, some in BESIDE.items()}
        # nothing is a number that is none, here as in a file
        for name, missing in (("relations", ["p", "p_adjusted"]), ("foretold", ["layer", "score"])):
            frames[name] = frames[name].astype(dict.fromkeys(missing, float))
        return cls(pd.DataFrame(scores, columns=list(COLUMNS)), **frames, config=config)

    @property
    def metric(self) -> str:
        """The score that is the task's own."""
        return str(self.scores["metric"].iloc[0])

    @property
    def source(self) -> str:
        """The language that was tuned on, or the first of them."""
        return str(self.config["train"][0][0])

    @property
    def signature(self) -> str:
        """What scores depend on, in one line; data and weights by the beginning of their hashes."""
        config = self.config
        parts = {
            "task": config["task"],
            "metric": self.metric,
            "model": config.get("weights", "unknown")[:12],
            **{name: "+".join(row[3][:8] for row in config[name]) for name in ("train", "development", "tests")},
            **tuning_facts(config),
            "frozen": "+".join(map(str, config["tuning"]["frozen"])) or "no",
            "grid": f"best {config['grid']['best']} of {len(config['grid']['settings'])}" if config["grid"] else "no",
            **({"beams": config["beams"]} if config["task"] == "translation" else {}),
            **({"stack": config["loading"]["stack"]} if config["loading"].get("stack") else {}),
            "seeds": f"{config['tuning']['seed']}+{config['seeds']}",
            "version": __version__,
        }
        return "|".join(f"{key}:{value}" for key, value in parts.items())

    @property
    def settings(self) -> list[str]:
        """The settings that are reported: the best ones by the development score of the source."""
        mine = self.scores[self.scores["init"] == WHOLE]
        best = (self.config.get("grid") or {}).get("best", 1)
        ordered = mine.groupby("setting", sort=False)["development"].mean().sort_values(ascending=False, kind="stable")
        return list(ordered.index[:best])

    def by_language(self, init: str = WHOLE) -> pd.DataFrame:
        """The task's own score of every language, the mean over seeds and over the settings that are reported."""
        rows = self.scores[(self.scores["metric"] == self.metric) & (self.scores["init"] == init)]
        if init == WHOLE:
            rows = rows[rows["setting"].isin(self.settings)]
        return rows.groupby("language", sort=False).mean(numeric_only=True).reset_index()

    def strongest(self, state: str, measure: str = "") -> Any:
        """The row of relations where similarity goes with the gap most, of one measure or the first; None without."""
        rows = self.relations[self.relations["state"] == state]
        if not len(rows):
            return None
        rows = rows[rows["measure"] == (measure or rows["measure"].iloc[0])]
        return next(rows.loc[[rows["rho"].astype(float).idxmax()]].itertuples()) if len(rows) else None

    def beside(self, init: str) -> dict[str, float]:
        """The score of something that stands beside the model, by language."""
        rows = self.by_language(init)
        return dict(zip(rows["language"], rows["value"].astype(float), strict=True))


def tuning_facts(config: Mapping[str, Any]) -> dict[str, Any]:
    """How a model was tuned, for a signature; frozen layers and seeds stand elsewhere in it."""
    tuning = {key: value for key, value in config["tuning"].items() if key not in ("frozen", "seed")}
    return tuning | {key: "usual" for key in ("rate", "head_rate") if not tuning[key]}


def write_transfer(tables: TransferTables, folder: Path) -> None:
    """Into a folder, each file whole or not at all; tables that hold nothing have none."""
    frames = {name: getattr(tables, name) for name in BESIDE}
    write_scores(folder, tables.scores, **{name: frame for name, frame in frames.items() if len(frame)})


def read_transfer(folder: Path) -> TransferTables:
    """The tables of a folder that `interlingua transfer` wrote."""
    pd = pandas()
    if not (folder / f"{SCORES}.parquet").exists():
        raise InputError(f"{folder} holds no transfer: it has no {SCORES}.parquet")
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        frames = {
            name: pd.read_csv(folder / f"{name}.csv", dtype={"init": str})
            if (folder / f"{name}.csv").exists()
            else pd.DataFrame(columns=list(columns))
            for name, columns in BESIDE.items()
        }
        return TransferTables(pd.read_parquet(folder / f"{SCORES}.parquet"), **frames, config=config)
    except (OSError, ValueError) as error:
        raise FormatError(folder, None, f"it cannot be read ({error}): run it again") from error
