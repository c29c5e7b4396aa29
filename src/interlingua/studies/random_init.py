"""Which layers does transfer need, and does similarity tell the gap?

Muller et al. 2021. A cell is a task, a source language and a seed: a multilingual model tuned whole and with pairs of
consecutive blocks drawn anew before tuning, judged in every language that has a test, with the similarity of languages
before and after tuning beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from interlingua.analyses.transfer import Attempt, transfer
from interlingua.corpora.loading import parallel
from interlingua.report.transfer_tables import TransferTables
from interlingua.studies.measured import scored
from interlingua.studies.random_init_claims import DROP, ESTIMATES, figures
from interlingua.studies.records import Records, entities, shortened, trees
from interlingua.studies.study import Cell, Row, Say, Settings, Study
from interlingua.transfer.finetune import Tuning

MEASURES = ("linear_cka", "rbf_cka", "anc", "matching")
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


STUDY = Study(
    name="random-init",
    title="Which layers transfer needs, and whether similarity tells the gap",
    source="Muller et al. 2021",
    settings=RandomInit,
    cells=cells,
    run=run,
    prepare=prepare,
    estimates=ESTIMATES,
    figures=figures,
)
