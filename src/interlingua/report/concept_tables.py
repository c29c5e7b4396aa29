"""The tables of `interlingua concepts`: a row a number, the same under other settings, and the concepts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlingua.errors import FormatError, InputError
from interlingua.folders import whole
from interlingua.report.tables import CONCEPTS, CONFIG, SCORES, SWEEPS, harmless, pandas

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "space", "stack", "layer", "measure", "source", "target", "value", "low", "high", "null", "n", "all", "covered",
    "k",
)  # fmt: skip
SWEPT = ("space", "stack", "layer", "measure", "source", "target", "parameter", "setting", "value", "k")
LISTED = (
    "space", "layer", "group", "concept", "kind", "value", "script", "tag", "types", "mentions", "overlaps", "words",
    "counts", "languages", "partners", "examples", "name",
)  # fmt: skip
# The stack of numbers that are of the encoder's concepts and the decoder's.
ACROSS = "encoder-decoder"


@dataclass(frozen=True)
class ConceptTables:
    """What came out: a row a number, the same under other settings, the concepts, and what was asked for."""

    scores: pd.DataFrame
    sweeps: pd.DataFrame
    concepts: pd.DataFrame
    config: Mapping[str, Any]

    @classmethod
    def of(
        cls, config: Mapping[str, Any], scores: Sequence[Any], sweeps: Sequence[Any] = (), concepts: Sequence[Any] = ()
    ) -> ConceptTables:
        """From rows."""
        pd = pandas()
        return cls(
            pd.DataFrame(scores, columns=list(COLUMNS)),
            pd.DataFrame(sweeps, columns=list(SWEPT)),
            pd.DataFrame(concepts, columns=list(LISTED)),
            config,
        )


def write_concepts(tables: ConceptTables, folder: Path) -> None:
    """Into a folder, each file whole or not at all."""
    whole(folder / f"{SCORES}.parquet", tables.scores.to_parquet(index=False))
    whole(folder / f"{SCORES}.csv", harmless(tables.scores).to_csv(index=False).encode())
    whole(folder / SWEEPS, tables.sweeps.to_parquet(index=False))
    whole(folder / CONCEPTS, tables.concepts.to_parquet(index=False))


def read_concept_tables(folder: Path) -> ConceptTables:
    """The tables of a folder that `interlingua concepts` wrote."""
    pd = pandas()
    if not (folder / CONCEPTS).exists():
        raise InputError(f"{folder} holds no concepts: it has no {CONCEPTS}")
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        scores = pd.read_parquet(folder / f"{SCORES}.parquet")
        found = ConceptTables(scores, pd.read_parquet(folder / SWEEPS), pd.read_parquet(folder / CONCEPTS), config)
    except (OSError, ValueError) as error:
        raise FormatError(folder, None, f"it cannot be read ({error}): run it again") from error
    if lacking := [c for c in COLUMNS if c not in scores]:
        raise FormatError(folder / f"{SCORES}.parquet", None, f"it has no column {lacking[0]!r}: run it again")
    return found


def named(tables: ConceptTables, names: Mapping[int, str]) -> ConceptTables:
    """With names for some concepts, by their row."""
    concepts = tables.concepts.assign(name=[names.get(i, "") for i in range(len(tables.concepts))])
    return replace(tables, concepts=concepts)


def worth_naming(tables: ConceptTables) -> list[tuple[int, list[str]]]:
    """Rows of concepts and their words, those first that tell most: of the best layer, with a partner, semantic."""
    scores = of_measure(tables, "calign")
    top = int(scores.loc[scores["value"].idxmax(), "layer"]) if len(scores) else -1
    rows = tables.concepts.reset_index(drop=True)
    rank = [
        (
            r.space != "base",
            int(r.layer) != top,
            "+" in r.group,
            r.partners == "[]",
            r.kind != "semantic",
            -int(r.mentions),
        )
        for r in rows.itertuples()
    ]
    order = sorted(range(len(rows)), key=lambda i: (rank[i], i))
    return [(i, list(rows["words"].iloc[i])) for i in order]


def of_measure(tables: ConceptTables, measure: str, space: str = "base") -> pd.DataFrame:
    """The numbers of one measure in one model, by layer; of the first stack, where there are two."""
    rows = tables.scores
    first = rows["stack"].iloc[0] if len(rows) else ""
    of = (rows["measure"] == measure) & (rows["space"] == space) & (rows["stack"] == first)
    found = rows[of].sort_values("layer")
    return found[found["value"].notna()]
