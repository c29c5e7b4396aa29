"""Three normalisations: does CKA collapse in a Normformer whose languages are as aligned as in the others?

Del & Fishel 2022, figures 1, 2, 4, 7, 8, 9 and table 1. A cell is a normalisation and a seed: a model of en, fr, et and
bg pretrained from nothing, looked into with every measure and three poolings, tuned on English inference and parts of
speech, judged in the other languages, and looked into again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

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
    tuned_model,
    untouched,
)
from interlingua.studies.records import Records, inference, shortened, trees
from interlingua.studies.study import Cell, Row, Say, Settings, Size, Study
from interlingua.transfer.finetune import Tuning
from interlingua.transfer.tasks import task
from interlingua.types import ParallelCorpus

if TYPE_CHECKING:
    import pandas as pd

POST, NORMFORMER = "post", "normformer"
MEASURES = ("linear_cka", "debiased_cka", "anc", "svcca", "pwcca", "matching")
# Languages that the paper's figures show, and table 1.
SHOWN = ("fr", "bg")
NLI, POS = "nli accuracy", "pos accuracy"


class Normalisation(Settings):
    """What is trained, on what it is judged. `wide`: a set for inference, whose sentences are compared."""

    axes: ClassVar[tuple[str, ...]] = ("seeds", "norms")
    norms: tuple[Literal["post", "pre", "normformer"], ...]
    langs: tuple[str, ...]
    model: Size
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


def _records(how: Normalisation, name: str) -> Records:
    if name == "pos":
        return trees("pos", how.treebanks, "en", how.langs)
    if how.inference:
        return inference(how.inference, how.judged, ("en", *SHOWN))
    own, other = (task("nli").read(how.judged, lang, "") for lang in ("en", "fr"))  # one small set is all there is
    return [own[:-24]], [own[-24:-12]], [own[-12:], other]


def _tasks(how: Normalisation) -> tuple[str, ...]:
    return ("nli", "pos") if how.treebanks else ("nli",)


def _judged_by(how: Normalisation) -> Iterator[Any]:
    yield from _corpora(how)
    for name in _tasks(how):
        yield from _records(how, name)[2]


def run(cell: Cell, how: Normalisation, place: Path, shared: Path, say: Say) -> Iterator[Row]:
    """Train, look, tune, judge, look again."""
    model, rows = trained(_config(cell, how, shared), place / "model", shared, say)
    yield from rows
    look = partial(looked_into, blocks=how.blocks, cca_intervals=bool(how.wide), seed=cell.settings["seed"])
    for corpus in _corpora(how):
        say(f"looking into it: {corpus.name}")
        yield from look(model, corpus, BEFORE, MEASURES, published="del2022")
        yield from look(model, corpus, BEFORE, MEASURES, pooling="first")
        yield from look(model, corpus, RANDOM, MEASURES)
    for name in _tasks(how):
        say(f"tuning: {name}")
        train, development, tests = _records(how, name)
        attempt = Attempt(task=name, tuning=Tuning(epochs=how.epochs, seed=cell.settings["seed"]))
        tuned = transfer(model, shortened(train, how.rows), development, tests, place / name, attempt)
        yield from scored(tuned)
        if name == "nli":
            after = tuned_model(place / name)
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


def _has_learnt(table: pd.DataFrame, *norms: str) -> Iterator[Part]:
    def made(rows: pd.DataFrame, norm: str) -> Estimate:
        return best(_curve(rows, norm, "matching", "fr")) - best(_curve(rows, norm, "matching", "fr", RANDOM))

    return each(table, norms or _norms(table), made)


def _unharmed(table: pd.DataFrame) -> Iterator[Part]:
    def made(rows: pd.DataFrame, norm: str, to: str) -> Estimate:
        return _accuracy(rows, NORMFORMER, to, POS) - _accuracy(rows, norm, to, POS)

    return each(table, product(_norms(table, without=NORMFORMER), SHOWN), made)


def _above(table: pd.DataFrame) -> Iterator[Part]:
    def made(rows: pd.DataFrame, to: str) -> Estimate:
        return _deep(rows, NORMFORMER, "matching", to) - _deep(rows, NORMFORMER, "matching", to, RANDOM)

    return each(table, ["fr"], made)


def _decline(table: pd.DataFrame) -> Iterator[Part]:
    def made(rows: pd.DataFrame, to: str) -> Estimate:
        return _deep(rows, NORMFORMER, "matching", to) / best(_curve(rows, NORMFORMER, "matching", to))

    return each(table, ["fr"], made)


def _accuracy(rows: pd.DataFrame, norm: str, to: str, measure: str = NLI) -> Estimate:
    return curve(chosen(rows, norm=norm, measure=measure, target=to))[0]


def _learnt(table: pd.DataFrame, *norms: str) -> Iterator[Part]:
    return each(table, norms or _norms(table), lambda rows, norm: _accuracy(rows, norm, "en"))


def _transferred(table: pd.DataFrame) -> Iterator[Part]:
    return each(table, product(_norms(table), SHOWN), _accuracy)


def _equal(table: pd.DataFrame) -> Iterator[Part]:
    def made(rows: pd.DataFrame, norm: str, other: str, to: str) -> Estimate:
        return _accuracy(rows, norm, to) - _accuracy(rows, other, to)

    pairs = combinations(_norms(table), 2)
    return each(table, [(*pair, to) for pair, to in product(pairs, SHOWN)], made)


def _gap(table: pd.DataFrame) -> Iterator[Part]:
    def made(rows: pd.DataFrame, norm: str, to: str) -> Estimate:
        return _accuracy(rows, norm, "en") - _accuracy(rows, norm, to)

    return each(table, product(_norms(table), SHOWN), made)


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


def _change(rows: pd.DataFrame, measure: str, to: str) -> Estimate:
    """From the first block to the last, along a straight line; the embedding of the first token says nothing."""
    blocks = _curve(rows, POST, measure, to, BEFORE, "first")[1:]
    return slope(blocks) * (len(blocks) - 1)


def _changes(table: pd.DataFrame, measure: str) -> Iterator[Part]:
    return each(table, SHOWN, lambda rows, to: _change(rows, measure, to))


def _apart(table: pd.DataFrame) -> Iterator[Part]:
    return each(table, SHOWN, lambda rows, to: _change(rows, "pwcca", to) - _change(rows, "svcca", to))


def figures(table: pd.DataFrame) -> dict[str, Any]:
    """As in the paper: a measure by layer, a colour a normalisation, a panel a language; and table 1 as bars."""
    import pandas as pd

    from interlingua.studies.drawn import CALLED, beside_published, by_layer

    before = chosen(table, state=BEFORE, pooling="mean")
    random = chosen(table, state=RANDOM, pooling="mean")
    shown: dict[str, tuple[str, str, str, dict[str, tuple[float, float]]]] = {
        "figure-1": ("linear_cka", "Figure 1", "Published: the Normformer near 0 from layer 6 of 12 on.", {}),
        "figure-2": ("matching", "Figure 2", "Grey: the Normformer was above 0.5 in French.", {"fr": (0.5, 0.5)}),
        "figure-4": ("anc", "Figure 4", "Published: all three rise and fall.", {}),
    }
    made = {
        name: by_layer(
            chosen(before, measure=measure), "norm", f"{title}: {CALLED[measure]}", note,
            random=chosen(random, measure=measure), published=marks,
        )
        for name, (measure, title, note, marks) in shown.items()
    }  # fmt: skip
    theirs = {f"{to} (the paper's code)": (0.5, 0.8) for to in SHOWN}
    for measure in ("svcca", "pwcca"):
        exact = chosen(before, measure=measure)
        coded = exact[exact["published"].notna()]
        coded = coded.assign(target=coded["target"] + " (the paper's code)", value=coded["published"])
        made[f"figure-9-{measure}"] = by_layer(
            pd.concat([exact, coded.assign(low=None, high=None)]), "norm", f"Figure 9: {CALLED[measure]}",
            "Grey: 0.5 to 0.8 was published.", random=chosen(random, measure=measure), published=theirs,
        )  # fmt: skip
    after = chosen(table, state=AFTER, pooling="mixed")
    for measure in ("linear_cka", "anc"):
        note = "Tuned on English inference; the first token at the last layer, the mean below."
        made[f"figure-8-{measure}"] = by_layer(
            chosen(after, measure=measure), "norm", f"Figure 8: {CALLED[measure]}", note
        )
    first = chosen(table, state=BEFORE, pooling="first")
    for measure in ("linear_cka", "svcca", "pwcca"):
        made[f"first-token-{measure}"] = by_layer(
            chosen(first, measure=measure), "norm", f"Figure 7 and section 4.3: {CALLED[measure]}, first token",
            "The first token instead of the mean; its embedding is the same in every sentence, and has no value.",
        )  # fmt: skip
    made["table-1"] = beside_published(
        chosen(table, measure=NLI), "norm", "normalisation", "Table 1: inference", chance=1 / 3, langs=("en", *SHOWN)
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
        "D1.trained": _has_learnt,
        "D1.collapsed": _collapsed,
        "D1.below": _below,
        "D1.unharmed": _unharmed,
        "D2.trained": lambda table: _has_learnt(table, NORMFORMER),
        "D2.collapsed": lambda table: (part for part in _collapsed(table) if part.of == "fr"),
        "D2.above": _above,
        "D2.decline": _decline,
        "D3.learnt": _learnt,
        "D3.transferred": _transferred,
        "D3.equal": _equal,
        "D3.gap": _gap,
        "D4.trained": _has_learnt,
        "D4.pattern": _aligned,
        "D7.trained": lambda table: _has_learnt(table, NORMFORMER),
        "D7.collapsed": _collapsed,
        "D7.exact": partial(_kept, published=False),
        "D7.published": partial(_kept, published=True),
        "D8.learnt": lambda table: _learnt(table, NORMFORMER),
        "D8.last": partial(_mixed, measure="linear_cka", where=lambda some: some[-1]),
        "D8.misses": partial(_mixed, measure="linear_cka", where=lambda some: mean(deeper(some)[:-1])),
        "D8.anc": partial(_mixed, measure="anc", where=lambda some: mean(deeper(some))),
        "D9.trained": lambda table: _has_learnt(table, POST),
        "D9.cka": partial(_hidden, measure="linear_cka"),
        "D9.pwcca": partial(_hidden, measure="pwcca"),
        "D11.trained": lambda table: _has_learnt(table, POST),
        "D11.pwcca": partial(_changes, measure="pwcca"),
        "D11.svcca": partial(_changes, measure="svcca"),
        "D11.cka": partial(_changes, measure="linear_cka"),
        "D11.apart": _apart,
    },
    figures=figures,
)
