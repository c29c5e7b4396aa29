"""Which layers does transfer need, and does similarity tell the gap?

Muller et al. 2021. A cell is a task, a source language and a seed: a multilingual model tuned whole and with pairs of
consecutive blocks drawn anew before tuning, judged in every language that has a test, with the similarity of languages
before and after tuning beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from interlingua.analyses.relate import AFTER, BEFORE
from interlingua.analyses.transfer import Attempt, transfer
from interlingua.corpora.loading import parallel
from interlingua.errors import InputError
from interlingua.report.transfer_tables import TransferTables
from interlingua.stats import spearman
from interlingua.studies.claims import Part
from interlingua.studies.estimates import Estimate, MissingRowsError, chosen, curve, each, fisher, mean
from interlingua.studies.measured import scored
from interlingua.studies.records import Records, entities, shortened, trees
from interlingua.studies.study import Cell, Row, Say, Settings, Study
from interlingua.transfer.finetune import Tuning

if TYPE_CHECKING:
    import pandas as pd

MEASURES = ("linear_cka", "rbf_cka", "anc", "matching")
# The paper's CKA: a Gaussian kernel with the median distance for its width.
CKA = "rbf_cka"
DROP = "drop"
# Sentences with entities that are asked about, and that choose the epoch, where settings do not say fewer.
ASKED, CHOOSING = 2_000, 2_000


class RandomInit(Settings):
    """What is tuned. `sources`: languages to tune on, by task; `groups`: which blocks are drawn anew.

    `asked` and `choosing`: at most so many sentences are asked about in each language, and choose the epoch; 0 for all
    there are (of entities 2,000). `sentences`: of parallel text, for similarity.
    """

    axes: ClassVar[tuple[str, ...]] = ("seeds",)
    sources: dict[str, tuple[str, ...]]
    model: str
    treebanks: dict[str, str] = Field(default_factory=dict)
    entities: str
    langs: tuple[str, ...]
    parallel: str
    epochs: dict[str, int]
    rows: int = Field(ge=0)
    asked: int = Field(default=0, ge=0)
    choosing: int = Field(default=0, ge=0)
    bf16: bool = False
    sentences: int = Field(default=0, ge=0)
    groups: str = "pairs"


def cells(how: RandomInit) -> list[Cell]:
    """Seeds one after the other."""
    return [
        Cell(f"{name}.{source}.{seed}", {"task": name, "language": source, "seed": seed})
        for seed in range(how.seeds)
        for name, sources in how.sources.items()
        for source in sources
    ]


def _records(how: RandomInit, name: str, source: str) -> Records:
    langs = [source, *(lang for lang in how.langs if lang != source)]
    if name == "ner":
        return entities(how.entities, source, langs, asked=how.asked or ASKED, choosing=how.choosing or CHOOSING)
    train, development, tests = trees(name, how.treebanks, source, langs)
    return train, [each[: how.choosing or None] for each in development], [each[: how.asked or None] for each in tests]


def prepare(left: Sequence[Cell], how: RandomInit, shared: Path, say: Say) -> None:
    """Nothing is shared but the model."""


def run(cell: Cell, how: RandomInit, place: Path, shared: Path, say: Say) -> Iterator[Row]:
    """Tune whole, tune without, judge, look."""
    name, source = cell.settings["task"], cell.settings["language"]
    train, development, tests = _records(how, name, source)
    say("tuning")
    attempt = Attempt(
        task=name,
        tuning=Tuning(epochs=how.epochs[name], bf16=how.bf16, seed=cell.settings["seed"]),
        random_init=how.groups,
        measures=MEASURES,
    )
    text = parallel(how.parallel, *how.langs)
    text = text[: how.sentences] if how.sentences else text
    made = transfer(how.model, shortened(train, how.rows), development, tests, place / name, attempt, parallel=text)
    yield from scored(made)
    yield from _beside(made, len(text))


def _beside(made: TransferTables, sentences: int) -> Iterator[Row]:
    """What is lost without layers, and similarities before and after tuning."""
    for row in made.drops.itertuples():
        yield {"state": f"without {row.init}", "source": row.source, "target": row.language, "measure": DROP,
               "value": row.drop, "low": row.low, "high": row.high, "notes": row.verdict,
               "signature": made.signature}  # fmt: skip
    for row in made.similarities.itertuples():
        yield {"state": row.state, "pooling": "mean", "layer": row.layer, "source": made.source,
               "target": row.language, "measure": row.measure, "value": row.value, "low": row.low,
               "high": row.high, "n": sentences, "signature": made.signature}  # fmt: skip


def _keys(table: pd.DataFrame) -> list[tuple[str, str]]:
    return list(dict.fromkeys(zip(table["task"], table["language"], strict=True)))


def _drops(rows: pd.DataFrame, name: str, source: str, *, own: bool) -> dict[str, Estimate]:
    """By blocks: of the source, or the mean over the other languages."""
    mine = chosen(rows, task=name, language=source, measure=DROP)
    mine = mine[(mine["target"] == source) == own]
    groups = sorted(dict.fromkeys(mine["state"]), key=lambda state: int(state.split()[-1].partition("-")[0]))
    return {group: mean(curve(mine[mine["state"] == group])) for group in groups}


def _first(table: pd.DataFrame, *, own: bool) -> Iterator[Part]:
    def made(rows: pd.DataFrame, name: str, source: str) -> Estimate:
        found = list(_drops(rows, name, source, own=own).values())
        if not found:
            raise MissingRowsError
        return found[0]

    return each(table, _keys(table), made)


def _last(table: pd.DataFrame) -> Iterator[Part]:
    """The last third of the pairs, at least one: four of twelve layers."""

    def made(rows: pd.DataFrame, name: str, source: str) -> Estimate:
        found = list(_drops(rows, name, source, own=False).values())
        return mean(found[-max(1, len(found) // 3) :])

    return each(table, _keys(table), made)


def _similar(rows: pd.DataFrame, name: str, source: str, state: str) -> dict[str, list[float]]:
    """Curves over layers, by language."""
    mine = chosen(rows, task=name, language=source, state=state, measure=CKA)
    return {
        lang: mine[mine["target"] == lang]["value"].astype(float).tolist() for lang in dict.fromkeys(mine["target"])
    }


def _survives(table: pd.DataFrame) -> Iterator[Part]:
    """CKA in the lower half after tuning less that before; the mean over languages, and how they vary around it."""

    def made(rows: pd.DataFrame, name: str, source: str) -> Estimate:
        before, after = (_similar(rows, name, source, state) for state in (BEFORE, AFTER))
        changes = [
            float(np.mean(after[lang][: len(some) // 2 + 1]) - np.mean(some[: len(some) // 2 + 1]))
            for lang, some in before.items()
            if lang in after
        ]
        if len(changes) < 3:
            raise MissingRowsError
        value, half = float(np.mean(changes)), 1.96 * float(np.std(changes, ddof=1)) / math.sqrt(len(changes))
        return Estimate(value, value - half, value + half)

    return each(table, _keys(table), made)


def _related(table: pd.DataFrame) -> Iterator[Part]:
    """Spearman of CKA after tuning and the gap over languages, the mean over layers, with Fisher's interval."""

    def made(rows: pd.DataFrame, name: str, source: str) -> Estimate:
        mine = chosen(rows, task=name, language=source, state=AFTER)
        scores = mine[mine["measure"].str.startswith(f"{name} ")].set_index("target")["value"].astype(float)
        curves = {lang: some for lang, some in _similar(rows, name, source, AFTER).items() if lang in scores}
        if len(curves) < 5:
            raise MissingRowsError
        gaps = [float(scores[lang] - scores[source]) for lang in curves]
        found = []
        for layer in zip(*curves.values(), strict=True):
            try:
                found.append(spearman(list(layer), gaps, rng=0).value)
            except InputError:  # constant
                continue
        rho = sum(found) / len(found)
        return fisher(rho, len(gaps), 1.06)

    return each(table, _keys(table), made)


def figures(table: pd.DataFrame) -> dict[str, Any]:
    """What is lost without each pair of blocks, a bar a source; similarity before and after."""
    from interlingua.studies.drawn import beside_published, by_layer

    drops = table[table["measure"] == DROP]
    others = drops[drops["target"] != drops["source"]]
    made = {}
    for name in dict.fromkeys(table["task"]):
        mine = chosen(others, task=name)
        mean_of = mine.assign(target="from " + mine["source"])
        made[f"drops-{name}"] = beside_published(
            mean_of, "state", f"random-init {name}", f"{name}: what other languages lose without blocks"
        )
    similar = chosen(table, measure="linear_cka")
    for name in dict.fromkeys(table["task"]):
        made[f"similarity-{name}"] = by_layer(
            chosen(similar[similar["state"].isin([BEFORE, AFTER])], task=name), "state",
            f"{name}: linear CKA before and after tuning", "Mean over sources.",
        )  # fmt: skip
    return made


STUDY = Study(
    name="random-init",
    title="Which layers transfer needs, and whether similarity tells the gap",
    source="Muller et al. 2021",
    settings=RandomInit,
    cells=cells,
    run=run,
    prepare=prepare,
    estimates={
        "M1.others": lambda table: _first(table, own=False),
        "M1.source": lambda table: _first(table, own=True),
        "M2.top": _last,
        "M3.survives": _survives,
        "M4.related": _related,
    },
    figures=figures,
)
