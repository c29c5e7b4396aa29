"""Three normalisations: does CKA collapse in a Normformer whose languages are as aligned as in the others?

Del & Fishel 2022, figures 1, 2, 4, 7, 8, 9 and table 1. A cell is a normalisation and a seed: a model of en, fr, et and
bg pretrained from nothing, looked into with every measure and three poolings, tuned on English inference and parts of
speech, judged in the other languages, and looked into again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from interlingua.analyses.transfer import Attempt, transfer
from interlingua.corpora.loading import parallel
from interlingua.pretrain.config import Config
from interlingua.studies.claims import Part
from interlingua.studies.estimates import Estimate, best, chosen, curve, deeper, each, mean, pattern, slope
from interlingua.studies.measured import (
    AFTER,
    BEFORE,
    RANDOM,
    config_of,
    looked_into,
    prepared,
    scored,
    sentences_of,
    trained,
    untouched,
)
from interlingua.studies.study import Cell, Row, Say, Settings, Study
from interlingua.transfer.finetune import Tuning
from interlingua.transfer.tasks import task
from interlingua.types import ParallelCorpus

if TYPE_CHECKING:
    import pandas as pd

POST, NORMFORMER = "post", "normformer"
MEASURES = ("linear_cka", "debiased_cka", "anc", "svcca", "pwcca", "matching")
# Languages that the paper's figures show, and table 1.
SHOWN = ("fr", "bg")
NLI = "nli accuracy"


class Normalisation(Settings):
    """What is trained, on what it is judged. `wide`: a set for inference, whose sentences are compared."""

    axes: ClassVar[tuple[str, ...]] = ("seeds", "norms")
    norms: tuple[str, ...]
    langs: tuple[str, ...]
    model: str
    updates: int = Field(ge=0)
    rate: float = Field(ge=0)
    text: str
    held_out: int = 400
    wide: str = ""
    narrow: str
    inference: tuple[tuple[str, str], ...] = ()
    judged: str
    treebanks: dict[str, str] = Field(default_factory=dict)
    rows: int = Field(default=0, ge=0)
    epochs: int = Field(ge=1)
    blocks: int = Field(default=20, ge=8)


def cells(how: Normalisation) -> list[Cell]:
    """A normalisation and a seed each, the seeds one after the other."""
    return [Cell(f"{norm}.{seed}", {"norm": norm, "seed": seed}) for seed in range(how.seeds) for norm in how.norms]


def _config(cell: Cell, how: Normalisation, shared: Path) -> Config:
    return config_of(
        preset=cell.settings["norm"],
        size=how.model,
        seed=cell.settings["seed"],
        text={lang: [how.text] for lang in how.langs},
        held_out=how.held_out,
        without=untouched(shared, _judged_by(how)) if how.wide else "",
        updates=how.updates or None,
        rate=how.rate or None,
    )


def prepare(left: Sequence[Cell], how: Normalisation, shared: Path, say: Say) -> None:
    """The text is the same for all."""
    prepared(_config(left[0], how, shared), shared, say)


def _corpora(how: Normalisation) -> list[ParallelCorpus]:
    """English with every other language: the wide set where it has it, the narrow one else."""
    wide = [lang for lang in how.langs[1:] if lang in SHOWN] if how.wide else []
    found = [sentences_of(how.wide, ("en", *wide))] if wide else []
    return [*found, parallel(how.narrow, "en", *(lang for lang in how.langs[1:] if lang not in wide))]


def _records(how: Normalisation, name: str) -> tuple[list[Any], list[Any], list[Any]]:
    """What is tuned on, what the epoch is chosen by, and what is judged by."""
    asked = task(name)
    if name == "nli" and how.inference:
        train = [asked.read(source, "en", split) for source, split in how.inference]
        tests = [asked.read(how.judged, lang, "test") for lang in ("en", *SHOWN)]
        return train, [asked.read(how.judged, "en", "dev")], tests
    if name == "nli":  # one small set is all there is
        own = asked.read(how.judged, "en", "")
        return [own[:-24]], [own[-24:-12]], [own[-12:], asked.read(how.judged, "fr", "")]
    banks = how.treebanks
    tests = [asked.read(bank, lang, "test") for lang, bank in banks.items()]
    return [asked.read(banks["en"], "en", "train")], [asked.read(banks["en"], "en", "dev")], tests


def _judged_by(how: Normalisation) -> Iterator[Any]:
    yield from _corpora(how)
    for name in ("nli", "pos"):
        yield from _records(how, name)[2]


def run(cell: Cell, how: Normalisation, place: Path, shared: Path, say: Say) -> Iterator[Row]:
    """Train, look, tune, judge, look again."""
    model, rows = trained(_config(cell, how, shared), place / "model", shared, say)
    yield from rows
    look = partial(looked_into, blocks=how.blocks, cca_intervals=bool(how.wide))
    for corpus in _corpora(how):
        say(f"looking into it: {corpus.name}")
        yield from look(model, corpus, BEFORE, MEASURES, published="del2022")
        yield from look(model, corpus, BEFORE, MEASURES, pooling="first")
        yield from look(model, corpus, RANDOM, MEASURES)
    for name in ("nli", "pos") if how.treebanks else ("nli",):
        say(f"tuning: {name}")
        train, development, tests = _records(how, name)
        if how.rows:
            share = -(-how.rows // len(train))
            train = [record[:share] for record in train]
        attempt = Attempt(task=name, tuning=Tuning(epochs=how.epochs, seed=cell.settings["seed"]))
        tuned = transfer(model, train, development, tests, place / name, attempt)
        yield from scored(tuned)
        if name == "nli":
            after = str(next((place / name / "tuned").rglob("tuned.json")).parent / "model")
            for corpus in _corpora(how):
                for pooling in ("mean", "mixed"):
                    yield from look(after, corpus, AFTER, ("linear_cka", "anc"), pooling=pooling)


def _curve(
    rows: pd.DataFrame, norm: str, measure: str, target: str, state: str = BEFORE, pooling: str = "mean",
    *, published: bool = False,
) -> list[Estimate]:  # fmt: skip
    found = chosen(rows, norm=norm, state=state, pooling=pooling, measure=measure, target=target)
    return curve(found, published=published)


def _deep(rows: pd.DataFrame, *what: str, published: bool = False) -> Estimate:
    """The mean over the deeper half."""
    return mean(deeper(_curve(rows, *what, published=published)))


def _norms(table: pd.DataFrame, *, without: str = "") -> list[str]:
    return [norm for norm in dict.fromkeys(table["norm"]) if norm != without]


def _collapsed(table: pd.DataFrame) -> Iterator[Part]:
    return each(table, SHOWN, lambda rows, to: _deep(rows, NORMFORMER, "linear_cka", to))


def _below(table: pd.DataFrame) -> Iterator[Part]:
    def made(rows: pd.DataFrame, norm: str, to: str) -> Estimate:
        return _deep(rows, norm, "linear_cka", to) - _deep(rows, NORMFORMER, "linear_cka", to)

    return each(table, product(_norms(table, without=NORMFORMER), SHOWN), made)


def _trained(table: pd.DataFrame) -> Iterator[Part]:
    def made(rows: pd.DataFrame, norm: str) -> Estimate:
        return best(_curve(rows, norm, "matching", "fr")) - best(_curve(rows, norm, "matching", "fr", RANDOM))

    return each(table, _norms(table), made)


def _above(table: pd.DataFrame) -> Iterator[Part]:
    def made(rows: pd.DataFrame, to: str) -> Estimate:
        return _deep(rows, NORMFORMER, "matching", to) - _deep(rows, NORMFORMER, "matching", to, RANDOM)

    return each(table, SHOWN, made)


def _decline(table: pd.DataFrame) -> Iterator[Part]:
    def made(rows: pd.DataFrame, to: str) -> Estimate:
        return _deep(rows, NORMFORMER, "matching", to) / best(_curve(rows, NORMFORMER, "matching", to))

    return each(table, SHOWN, made)


def _accuracy(rows: pd.DataFrame, norm: str, to: str) -> Estimate:
    return curve(chosen(rows, norm=norm, measure=NLI, target=to))[0]


def _learnt(table: pd.DataFrame) -> Iterator[Part]:
    return each(table, _norms(table), lambda rows, norm: _accuracy(rows, norm, "en"))


def _equal(table: pd.DataFrame) -> Iterator[Part]:
    def made(rows: pd.DataFrame, norm: str, to: str) -> Estimate:
        return _accuracy(rows, norm, to) - _accuracy(rows, POST, to)

    return each(table, product(_norms(table, without=POST), SHOWN), made)


def _aligned(table: pd.DataFrame) -> Iterator[Part]:
    def made(rows: pd.DataFrame, norm: str, to: str) -> Estimate:
        return pattern(chosen(rows, norm=norm, state=BEFORE, pooling="mean"), "anc", to)

    return each(table, product(_norms(table), SHOWN), made)


def _kept(table: pd.DataFrame, *, published: bool) -> Iterator[Part]:
    def made(rows: pd.DataFrame, measure: str, to: str) -> Estimate:
        return _deep(rows, NORMFORMER, measure, to, published=published)

    return each(table, product(("svcca", "pwcca"), SHOWN), made)


def _mixed(table: pd.DataFrame, measure: str, where: Callable[[list[Estimate]], Estimate]) -> Iterator[Part]:
    """After tuning, the first token at the last layer and the mean below."""
    return each(table, SHOWN, lambda rows, to: where(_curve(rows, NORMFORMER, measure, to, AFTER, "mixed")))


def _hidden(table: pd.DataFrame, measure: str) -> Iterator[Part]:
    def made(rows: pd.DataFrame, to: str) -> Estimate:
        return _deep(rows, POST, measure, to) - _deep(rows, POST, measure, to, BEFORE, "first")

    return each(table, SHOWN, made)


def _slopes(table: pd.DataFrame, measure: str) -> Iterator[Part]:
    return each(table, SHOWN, lambda rows, to: slope(_curve(rows, POST, measure, to, BEFORE, "first")[1:]))


def figures(table: pd.DataFrame) -> dict[str, Any]:
    """As in the paper: a measure by layer, a colour a normalisation, a panel a language; and table 1 as bars."""
    from interlingua.studies.drawn import beside_published, by_layer

    before = chosen(table, state=BEFORE, pooling="mean")
    random = chosen(table, state=RANDOM, pooling="mean")
    shown = {
        "figure-1": ("linear_cka", "Figure 1: linear CKA", "Published: the Normformer near 0 from layer 6 of 12 on."),
        "figure-2": ("matching", "Figure 2: sentence matching", "Published: the Normformer above 0.5 in French."),
        "figure-4": ("anc", "Figure 4: ANC", "Published: all three rise and fall."),
        "figure-9-svcca": ("svcca", "Figure 9: SVCCA", "Published: 0.5 to 0.8 where CKA is near 0."),
        "figure-9-pwcca": ("pwcca", "Figure 9: PWCCA", "Published: 0.5 to 0.8 where CKA is near 0."),
    }
    made = {
        name: by_layer(chosen(before, measure=m), "norm", title, note, random=chosen(random, measure=m))
        for name, (m, title, note) in shown.items()
    }
    after = chosen(table, state=AFTER, pooling="mixed")
    for measure in ("linear_cka", "anc"):
        note = "Tuned on English inference; the first token at the last layer, the mean below."
        made[f"figure-8-{measure}"] = by_layer(chosen(after, measure=measure), "norm", f"Figure 8: {measure}", note)
    first = chosen(table, state=BEFORE, pooling="first")
    for measure in ("linear_cka", "svcca", "pwcca"):
        made[f"first-token-{measure}"] = by_layer(
            chosen(first, measure=measure), "norm", f"Figure 7 and section 4.3: {measure}, first token",
            "The first token instead of the mean.",
        )  # fmt: skip
    made["table-1"] = beside_published(
        chosen(table, measure=NLI), "norm", "normalisation", "Table 1: inference, accuracy"
    )
    return made


STUDY = Study(
    name="normalisation",
    title="Three normalisations: CKA against ANC, CCA and matching",
    source="Del & Fishel 2022, figures 1, 2, 4, 7, 8, 9, table 1",
    settings=Normalisation,
    cells=cells,
    run=run,
    prepare=prepare,
    estimates={
        "D1.trained": _trained,
        "D1.collapsed": _collapsed,
        "D1.below": _below,
        "D2.collapsed": _collapsed,
        "D2.above": _above,
        "D2.decline": _decline,
        "D3.learnt": _learnt,
        "D3.equal": _equal,
        "D4.trained": _trained,
        "D4.pattern": _aligned,
        "D7.collapsed": _collapsed,
        "D7.exact": partial(_kept, published=False),
        "D7.published": partial(_kept, published=True),
        "D8.learnt": _learnt,
        "D8.last": partial(_mixed, measure="linear_cka", where=lambda some: some[-1]),
        "D8.misses": partial(_mixed, measure="linear_cka", where=lambda some: mean(deeper(some)[:-1] or some[-1:])),
        "D8.anc": partial(_mixed, measure="anc", where=lambda some: mean(deeper(some))),
        "D9.trained": _trained,
        "D9.cka": partial(_hidden, measure="linear_cka"),
        "D9.pwcca": partial(_hidden, measure="pwcca"),
        "D11.pwcca": partial(_slopes, measure="pwcca"),
        "D11.svcca": partial(_slopes, measure="svcca"),
        "D11.cka": partial(_slopes, measure="linear_cka"),
    },
    figures=figures,
)
