"""Masked and causal language models of four sizes each: does ANC rise and fall in all of them?

Del & Fishel 2022, figures 3, 5 and 6. A cell is an objective, a shape and a seed: a model of en, fr, de, ru and et
pretrained from nothing and looked into; masked models are also tuned on English parts of speech and judged in the other
languages. Models that exist already are looked into as they are (figure 3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, field_validator

from interlingua.analyses.transfer import Attempt, transfer
from interlingua.corpora.loading import parallel
from interlingua.pretrain.config import Config
from interlingua.studies.claims import Part
from interlingua.studies.estimates import Estimate, MissingRowsError, chosen, curve, each, mean, pattern
from interlingua.studies.measured import BEFORE, RANDOM, config_of, looked_into, prepared, scored, trained, untouched
from interlingua.studies.records import shortened, trees
from interlingua.studies.study import Cell, Row, Say, Settings, Size, Study
from interlingua.transfer.finetune import Tuning

if TYPE_CHECKING:
    import pandas as pd

MLM, CLM, GIVEN = "mlm", "clm", "given"
MEASURES = ("anc", "linear_cka", "debiased_cka", "matching")
POS = "pos accuracy"
# The models of figure 3.
PAPERS = {"bert-base-multilingual-cased", "xlm-roberta-base"}


class Scaling(Settings):
    """What is trained. `shapes`: width, depth, heads, and the rate. `models`: those that exist already."""

    axes: ClassVar[tuple[str, ...]] = ("seeds", "models", "shapes")
    langs: tuple[str, ...]
    models: tuple[str, ...]
    model: Size
    shapes: tuple[tuple[int, int, int, float], ...]
    updates: int = Field(ge=0)
    text: str
    held_out: int = 400
    parallel: str
    treebanks: dict[str, str] = Field(default_factory=dict)
    rows: int = Field(default=0, ge=0)
    epochs: int = Field(ge=1)
    blocks: int = Field(default=20, ge=8)

    @field_validator("shapes")
    @classmethod
    def _once(cls, shapes: tuple[tuple[int, int, int, float], ...]) -> tuple[tuple[int, int, int, float], ...]:
        if len({shape[:2] for shape in shapes}) < len(shapes):
            raise ValueError("a width and a depth are named twice: give each one number of heads and one rate")
        return shapes


def cells(how: Scaling) -> list[Cell]:
    """The models that exist first, then the largest: they take longest."""
    given = [
        Cell(f"given.{name.replace('/', '-')}", {"objective": GIVEN, "shape": Path(name).name, "seed": 0, "name": name})
        for name in how.models
    ]
    return given + [
        Cell(
            f"{objective}.{depth}x{width}.{seed}",
            {"objective": objective, "shape": f"{depth} x {width}", "heads": heads, "rate": rate, "seed": seed},
        )
        for seed in range(how.seeds)
        for width, depth, heads, rate in sorted(how.shapes, reverse=True)
        for objective in (MLM, CLM)
    ]


def _config(cell: Cell, how: Scaling, shared: Path) -> Config:
    depth, width = map(int, cell.settings["shape"].split(" x "))
    return config_of(
        preset="post" if cell.settings["objective"] == MLM else "clm",
        sampling=0.0,
        size=how.model,
        seed=cell.settings["seed"],
        text={lang: [how.text] for lang in how.langs},
        held_out=how.held_out,
        without=untouched(shared, _judged_by(how)) if how.treebanks else "",
        width=width,
        depth=depth,
        heads=cell.settings["heads"],
        rate=cell.settings["rate"],
        updates=how.updates or None,
    )


def _judged_by(how: Scaling) -> Iterator[Any]:
    yield parallel(how.parallel, *how.langs)
    yield from trees("pos", how.treebanks, "en", how.langs)[2]


def prepare(left: Sequence[Cell], how: Scaling, shared: Path, say: Say) -> None:
    """The text is the same for all of an objective; models that exist need none."""
    first = {cell.settings["objective"]: cell for cell in reversed(left) if "name" not in cell.settings}
    for cell in first.values():
        prepared(_config(cell, how, shared), shared, say)


def run(cell: Cell, how: Scaling, place: Path, shared: Path, say: Say) -> Iterator[Row]:
    """Train and look; tune and judge a masked model."""
    model = cell.settings.get("name", "")
    if not model:
        model, rows = trained(_config(cell, how, shared), place / "model", shared, say)
        yield from rows
    corpus = parallel(how.parallel, *how.langs)
    for state in (BEFORE, RANDOM):
        say(f"looking into it, {state}")
        yield from looked_into(model, corpus, state, MEASURES, blocks=how.blocks, seed=cell.settings["seed"])
    if cell.settings["objective"] == CLM or not how.treebanks:
        return
    say("tuning: pos")
    train, development, tests = trees("pos", how.treebanks, "en", how.langs)
    attempt = Attempt(task="pos", tuning=Tuning(epochs=how.epochs, seed=cell.settings["seed"]))
    yield from scored(transfer(model, shortened(train, how.rows), development, tests, place / "pos", attempt))


def _aligned(table: pd.DataFrame, *, given: bool) -> Iterator[Part]:
    """The smaller of rise and fall of ANC, over all pairs."""
    mine = table[(table["objective"] == GIVEN) == given]
    keys = list(dict.fromkeys(zip(mine["objective"], mine["shape"], strict=True)))

    def made(rows: pd.DataFrame, objective: str, shape: str) -> Estimate:
        return pattern(chosen(rows, objective=objective, shape=shape, state=BEFORE))

    return each(mine, keys, made)


def _papers(table: pd.DataFrame) -> Iterator[Part]:
    """How many of the paper's own models were looked into."""
    many = len(set(table[table["objective"] == GIVEN]["shape"]) & PAPERS)
    return each(table[table["objective"] == GIVEN], ["models"], lambda _rows, _key: Estimate(many, many, many))


def _transfer(rows: pd.DataFrame, shape: str) -> Estimate:
    """Mean accuracy over the languages without labels."""
    mine = chosen(rows, shape=shape, measure=POS)
    return mean(curve(mine[mine["target"] != "en"]))


def _two(rows: pd.DataFrame) -> tuple[str, str]:
    """The masked models that transfer worst and best."""
    masked = rows[(rows["objective"] == MLM) & (rows["measure"] == POS)]
    shapes = list(dict.fromkeys(masked["shape"]))
    if len(shapes) < 2:
        raise MissingRowsError
    ordered = sorted(shapes, key=lambda shape: _transfer(masked, shape).value)
    return ordered[0], ordered[-1]


def _apart(table: pd.DataFrame) -> Iterator[Part]:
    def made(rows: pd.DataFrame, _: str) -> Estimate:
        masked = rows[rows["objective"] == MLM]
        worst, best = _two(rows)
        return _transfer(masked, best) - _transfer(masked, worst)

    return each(table, ["best and worst"], made)


def _order(table: pd.DataFrame) -> Iterator[Part]:
    def made(rows: pd.DataFrame, _: str) -> Estimate:
        anc = chosen(rows, objective=MLM, state=BEFORE, measure="anc")
        worst, best = (mean(curve(anc[anc["shape"] == shape])) for shape in _two(rows))
        return best - worst

    return each(table, ["best and worst"], made)


def figures(table: pd.DataFrame) -> dict[str, Any]:
    """As in the paper: ANC by layer, the mean over pairs with their spread; a colour a size."""
    from interlingua.studies.drawn import spread_by_layer

    shown = {
        "figure-3": (GIVEN, "Figure 3: models that exist", "Dashed: mBERT and XLM-R rise to about 0.7, and fall."),
        "figure-5": (MLM, "Figure 5: masked language models", "Published: XLM-R of four sizes rise and fall."),
        "figure-6": (CLM, "Figure 6: causal language models", "Published: XGLM of five sizes rise and fall."),
    }
    random = chosen(table, state=RANDOM, measure="anc")
    trained_ = chosen(table, state=BEFORE, measure="anc")
    return {
        name: spread_by_layer(
            chosen(trained_, objective=which), chosen(random, objective=which), "shape", f"{title}: ANC", note,
            peak=0.7 if which == GIVEN else None,
        )
        for name, (which, title, note) in shown.items()
    }  # fmt: skip


STUDY = Study(
    name="scaling",
    title="ANC in masked and causal language models of four sizes",
    source="Del & Fishel 2022, figures 3, 5, 6",
    settings=Scaling,
    cells=cells,
    run=run,
    prepare=prepare,
    estimates={
        "D5.models": _papers,
        "D5.pattern": lambda table: _aligned(table, given=True),
        "D6.pattern": lambda table: _aligned(table, given=False),
        "D10.apart": _apart,
        "D10.order": _order,
    },
    figures=figures,
    needs={
        "D5": lambda cell: cell.settings["objective"] == GIVEN,
        "D6": lambda cell: cell.settings["objective"] != GIVEN,
        "D10": lambda cell: cell.settings["objective"] == MLM,
    },
)
