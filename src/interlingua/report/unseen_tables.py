"""What `interlingua unseen` writes and reads: tables, a file each, and what was expected."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlingua import __version__
from interlingua.errors import FormatError, InputError
from interlingua.report.tables import CONFIG, EXPECTATION, PLAN, SCORES, pandas, write_scores
from interlingua.report.transfer_tables import tuning_facts

if TYPE_CHECKING:
    import pandas as pd

# Columns that are text, and may be empty: in its own script, not judged.
TEXTS = ("scheme", "against_scheme", "best_scheme", "found")
COLUMNS = (
    "task", "arm", "scheme", "setting", "seed", "language", "set", "metric", "value", "low", "high", "sentences",
    "unknown", "lost", "new", "development", "epoch", "highest_rate",
)  # fmt: skip
# What stands beside scores, a file each.
BESIDE: dict[str, tuple[str, ...]] = {
    # an arm less another on the same sentences
    "comparisons": ("task", "arm", "scheme", "against", "against_scheme", "difference", "low", "high", "outcome"),
    # easy, intermediate or hard by each rule, in each script
    "verdicts": ("task", "scheme", "rule", "kind", "tie"),
    # what was expected and what came of it
    "outcome": ("task", "expected", "found", "expected_advice", "found_advice", "best_arm", "best_scheme", "kept"),
    # how the tokenizer reads the language, in both scripts, and those that the model has seen
    "coverage": (
        "what", "language", "scheme", "words", "fertility", "unknown", "single", "letters", "script", "vocabulary",
        "near", "near_written", "matching",
    ),
    "pretrained": ("arm", "scheme", "lines", "updates", "at", "perplexity", "bits"),
}  # fmt: skip


@dataclass(frozen=True)
class UnseenTables:
    """Everything that was found, what was expected before, and what was asked for."""

    scores: pd.DataFrame
    comparisons: pd.DataFrame
    verdicts: pd.DataFrame
    outcome: pd.DataFrame
    coverage: pd.DataFrame
    pretrained: pd.DataFrame
    expectation: Mapping[str, Any]
    plan: Sequence[Mapping[str, Any]]
    config: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        config: Mapping[str, Any],
        expectation: Mapping[str, Any],
        plan: Sequence[Mapping[str, Any]],
        scores: Sequence[Any],
        **beside: Sequence[Any],
    ) -> UnseenTables:
        """From rows."""
        pd = pandas()
        frames = {name: pd.DataFrame(beside.get(name, ()), columns=list(some)) for name, some in BESIDE.items()}
        return cls(
            pd.DataFrame(scores, columns=list(COLUMNS)), **frames, expectation=expectation, plan=plan, config=config
        )

    @property
    def language(self) -> str:
        """The language that is new."""
        return str(self.config["language"])

    @property
    def tasks(self) -> list[str]:
        """What was tried."""
        return list(self.config["tasks"])

    def metric(self, task: str) -> str:
        """The score that is the task's own: the first of each run."""
        return str(self.scores[self.scores["task"] == task]["metric"].iloc[0])

    def by_arm(self, task: str) -> pd.DataFrame:
        """The task's own score of every arm in each script, the mean over seeds, and how far seeds lie apart."""
        mine = self.scores[(self.scores["task"] == task) & (self.scores["metric"] == self.metric(task))]
        groups = mine.groupby(["arm", "scheme"], sort=False)
        found = groups[["value", "low", "high"]].mean()
        found["lowest"], found["highest"] = groups["value"].min(), groups["value"].max()
        return found.reset_index()

    @property
    def signature(self) -> str:
        """What scores depend on, in one line; data and weights by the beginning of their hashes."""
        config = self.config
        parts = {
            "language": self.language,
            "model": config["weights"][:12],
            **{task: "+".join(row[2][:8] for row in rows) for task, rows in config["tasks"].items()},
            "raw": config["raw"]["hash"][:12],
            "scheme": config["scheme"] or "no",
            **tuning_facts(config),
            **{key: config[key] for key in ("size", "updates", "passes")},
            "rates": "+".join(map(str, config["rates"])),
            "seeds": f"{config['tuning']['seed']}+{config['seeds']}",
            "version": __version__,
        }
        return "|".join(f"{key}:{value}" for key, value in parts.items())


def write_unseen(tables: UnseenTables, folder: Path) -> None:
    """Into a folder, each file whole or not at all."""
    write_scores(folder, tables.scores, **{name: getattr(tables, name) for name in BESIDE})


def read_unseen(folder: Path) -> UnseenTables:
    """The tables of a folder that `interlingua unseen` wrote."""
    pd = pandas()
    if not (folder / f"{SCORES}.parquet").exists():
        raise InputError(f"{folder} holds no results of `interlingua unseen`: it has no {SCORES}.parquet")
    try:
        config, expectation, plan = (
            json.loads((folder / name).read_text(encoding="utf-8")) for name in (CONFIG, EXPECTATION, PLAN)
        )
        frames = {name: pd.read_csv(folder / f"{name}.csv", dtype=dict.fromkeys(TEXTS, str)) for name in BESIDE}
        for frame in frames.values():
            for column in set(TEXTS) & set(frame.columns):
                frame[column] = frame[column].fillna("")
        scores = pd.read_parquet(folder / f"{SCORES}.parquet").reindex(columns=list(COLUMNS))
        return UnseenTables(scores, **frames, expectation=expectation, plan=plan, config=config)
    except (OSError, ValueError) as error:
        raise FormatError(folder, None, f"it cannot be read ({error}): run it again") from error
