"""Languages that a model has not seen: easy, intermediate or hard; and what another script does to them.

Muller et al. 2021. Of each language there is a cell that says what is expected, cells of the arms of `interlingua
unseen`, one a script and an arm (what is pretrained on raw text and tuned on labels), and a cell of the language's own
name that compares and judges them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, field_validator

from interlingua.analyses.diagnosis import Diagnosis, Expectation
from interlingua.analyses.unseen import Trial, expect, unseen
from interlingua.analyses.unseen_run import ORDER, Split, Stage, UnseenRun, arm_name
from interlingua.corpora.loading import parallel
from interlingua.report.unseen_tables import UnseenTables
from interlingua.studies.claims import Part, claim
from interlingua.studies.estimates import Estimate, MissingRowsError, chosen, curve, each
from interlingua.studies.study import MODELS, Cell, Row, Say, Settings, Size, Study
from interlingua.transfer.finetune import Tuning
from interlingua.transfer.sets import both_of, split_of
from interlingua.transfer.tasks import task
from interlingua.transfer.verdicts import ADAPTED, BILSTM, EASY, HARD, INTERMEDIATE, MONOLINGUAL, MULTILINGUAL

if TYPE_CHECKING:
    import pandas as pd

# Of a language that was seen, only what another script costs.
OF_SEEN = (BILSTM, MULTILINGUAL)
OWN, EXPECTED, FOUND = "own", "expected", "found"


class Language(BaseModel):
    """What is tuned on and judged by, raw text (none: what is tuned on), another script, and parallel text."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    lang: str
    train: str
    test: str = ""
    raw: tuple[str, ...] = ()
    scheme: str = ""
    parallel: str = ""
    seen: bool = False

    @property
    def sets(self) -> str:
        """All that is read, in a line."""
        return " ".join(filter(None, (self.train, self.test, *self.raw, self.parallel)))

    @property
    def schemes(self) -> tuple[str, ...]:
        """Its own script, and the other."""
        return tuple(dict.fromkeys(("", self.scheme)))

    @property
    def arms(self) -> tuple[str, ...]:
        """What is tried."""
        return OF_SEEN if self.seen else ORDER


class Unseen(Settings):
    """What is tried. `seeds` are of tuning, within a cell; `monolingual` is the size of models from nothing.

    `beside`: sentences of languages that the model has seen, or of those in `known`. `rates`: of tuning, as multiples
    of the usual one.
    """

    axes: ClassVar[tuple[str, ...]] = ("languages",)
    languages: tuple[Language, ...]
    model: str
    tasks: tuple[str, ...]
    beside: str
    known: tuple[str, ...] = ()
    rates: tuple[float, ...] = (1.0, 4.0)
    epochs: int = Field(ge=1)
    updates: int = Field(ge=1)
    passes: int = Field(ge=1)
    monolingual: Size
    rows: int = Field(default=0, ge=0)

    @field_validator("languages")
    @classmethod
    def _once(cls, languages: tuple[Language, ...]) -> tuple[Language, ...]:
        names = [case.lang for case in languages]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"{twice[0]} is there twice: with other data, name another folder")
        return languages

    def named(self, lang: str) -> Language:
        """The language of a cell."""
        return next(case for case in self.languages if case.lang == lang)


def cells(how: Unseen) -> list[Cell]:
    """What is expected of a language, its arms, then all of it."""
    found = []
    for case in how.languages:
        about = {"language": case.lang, "seen": case.seen, "sets": case.sets, "seed": 0}
        hoped = Cell(f"{case.lang}.{EXPECTED}", {**about, "arm": EXPECTED, "scheme": ""})
        arms = [
            Cell(f"{case.lang}.{arm_name(arm, scheme)}", {**about, "arm": arm, "scheme": scheme}, after=(hoped.name,))
            for scheme in case.schemes
            for arm in case.arms
        ]
        whole = Cell(case.lang, {**about, "arm": "", "scheme": ""}, after=(hoped.name, *(arm.name for arm in arms)))
        found += [hoped, *arms, whole]
    return found


def _trial(case: Language, how: Unseen) -> Trial:
    return Trial(
        tuning=Tuning(epochs=how.epochs),
        seeds=how.seeds,
        arms=case.arms,
        scheme=case.scheme,
        rates=how.rates,
        size=how.monolingual,
        updates=how.updates,
        passes=how.passes,
    )


def _splits(case: Language, how: Unseen) -> dict[str, Split]:
    return {name: split_of(task(name), case.train, case.test, case.lang, how.rows) for name in how.tasks}


def _stages(say: Say) -> Stage:
    def stage(name: str) -> AbstractContextManager[Any]:
        say(name)
        return nullcontext(lambda _done, _total: None)

    return stage


def _arguments(case: Language, how: Unseen, folder: Path, say: Say) -> tuple[Sequence[Any], dict[str, Any]]:
    """What `unseen` and its first part take."""
    beside = parallel(how.beside, *how.known)
    also = both_of(case.parallel, case.lang, beside)
    given = how.model, _splits(case, how), beside, folder, _trial(case, how)
    return given, {"raw": case.raw, "parallel": also, "stage": _stages(say)}


def prepare(left: Sequence[Cell], how: Unseen, shared: Path, say: Say) -> None:
    """What is expected of the languages."""
    for cell in left:
        if cell.settings["arm"] == EXPECTED:
            tuple(run(cell, how, shared, shared, say))


def run(cell: Cell, how: Unseen, place: Path, shared: Path, say: Say) -> Iterator[Row]:
    """What is expected of a language, an arm with every seed, or what all arms come to."""
    case, arm = how.named(cell.settings["language"]), cell.settings["arm"]
    folder = shared / case.lang
    given, options = _arguments(case, how, folder, say)
    if arm == EXPECTED:
        yield from _hoped(case, *expect(*given, **options))
    elif arm:
        yield from _arm(case, arm, cell.settings["scheme"], UnseenRun(how.model, given[1], case.raw, folder, given[-1],
                                                                      options["stage"]))  # fmt: skip
    else:
        yield from _judged(unseen(*given, **options))
    # what others look at is in the folder of the language: the frame is told that it is there
    (shared / MODELS / cell.name).mkdir(parents=True, exist_ok=True)


def _hoped(case: Language, found: Diagnosis, hoped: Expectation) -> Iterator[Row]:
    """What is expected, and how the tokenizer reads the language in each script."""
    yield {"state": EXPECTED, "target": case.lang, "measure": "kind", "notes": f"{hoped.kind}: {hoped.advice}"}
    for reason in hoped.reasons:
        yield {"state": EXPECTED, "target": case.lang, "measure": "reason", "notes": reason}
    for where, read in ((OWN, found.own), (found.scheme, found.written)):
        for what in ("unknown", "fertility", "letters") if read is not None else ():
            yield {"state": where, "target": case.lang, "measure": what, "value": getattr(read, what)}


def _arm(case: Language, arm: str, scheme: str, run: UnseenRun) -> Iterator[Row]:
    if arm in (ADAPTED, MONOLINGUAL):
        made = run.pretrained(arm, scheme)
        for name in ("bits", "perplexity", "updates", "lines"):
            yield {"state": "pretrained", "source": case.lang, "measure": name, "value": made[name]}
    for name, (rows, _) in run.tuned(arm, scheme).items():
        for row in rows:
            yield {"state": f"seed {row['seed']}", "corpus": row["set"], "target": case.lang,
                   "measure": f"{name} {row['metric']}", "value": row["value"], "low": row.get("low"),
                   "high": row.get("high"), "n": row["sentences"],
                   "notes": ", ".join(filter(None, (row["setting"], f"epoch {row['epoch']}")))}  # fmt: skip


def _judged(tables: UnseenTables) -> Iterator[Row]:
    """Scores over seeds, differences on the same sentences, verdicts, and what was expected beside what came."""
    common = {"target": tables.language, "signature": tables.signature}
    for name in tables.tasks:
        split = tables.config["tasks"][name]
        for r in tables.by_arm(name).itertuples():
            yield {**common, "state": arm_name(r.arm, r.scheme), "corpus": split[2][0],
                   "measure": f"{name} {tables.metric(name)}", "value": r.value, "low": r.low, "high": r.high,
                   "n": split[2][1], "notes": f"seeds {r.lowest:.4f} to {r.highest:.4f}"}  # fmt: skip
    for r in tables.comparisons.itertuples():
        yield {**common, "state": f"{arm_name(r.arm, r.scheme)} less {arm_name(r.against, r.against_scheme)}",
               "measure": f"{r.task} difference", "value": r.difference, "low": r.low, "high": r.high,
               "n": tables.config["tasks"][r.task][2][1], "notes": r.outcome}  # fmt: skip
    for r in tables.verdicts.itertuples():
        # 1 where it hangs on no tie
        yield {**common, "state": r.scheme or OWN, "measure": f"{r.task} {r.rule}", "value": float(not r.tie),
               "notes": r.kind}  # fmt: skip
    for r in tables.outcome.itertuples():
        yield {**common, "state": EXPECTED, "measure": f"{r.task} kind", "notes": f"{r.expected}: {r.expected_advice}"}
        yield {**common, "state": FOUND, "measure": f"{r.task} kind", "value": float(r.kept),
               "notes": f"{r.found}: {r.found_advice}"}  # fmt: skip


def _tasks(table: pd.DataFrame) -> list[str]:
    return [name.removesuffix(" kind") for name in dict.fromkeys(table["measure"]) if name.endswith(" kind")]


def _kind(table: pd.DataFrame, name: str) -> dict[str, str]:
    """By language, in its own script, where it hangs on no tie."""
    rows = chosen(table, measure=f"{name} muller", state=OWN, value=1)
    return dict(zip(rows["target"], rows["notes"], strict=True))


def _kinds(table: pd.DataFrame) -> Iterator[Part]:
    """How many languages there are of the rarest kind, by task."""
    new = table[~table["seen"].astype(bool)]
    for name in _tasks(new):
        by_kind: dict[str, list[str]] = {kind: [] for kind in (EASY, INTERMEDIATE, HARD)}
        for lang, kind in _kind(new, name).items():
            by_kind[kind].append(lang)
        least = min(map(len, by_kind.values()))
        told = "; ".join(f"{kind} {' '.join(langs) or 'none'}" for kind, langs in by_kind.items())
        yield Part(f"{name} ({told})", 0, least, least, least, sum(map(len, by_kind.values())))


def _some_task(table: pd.DataFrame) -> Iterator[Part]:
    """That of the task with more of them."""
    if found := list(_kinds(table)):
        yield max(found, key=lambda part: part.value)


def _gains(table: pd.DataFrame) -> Iterator[Part]:
    """Of hard languages: the better of tuned and adapted, written otherwise less in its own script."""
    new = table[~table["seen"].astype(bool)]

    def made(rows: pd.DataFrame, lang: str, name: str) -> Estimate:
        return _change(rows, lang, name, _better(rows, lang, name, otherwise=True), _better(rows, lang, name))

    hard = [(lang, name) for name in _tasks(new) for lang, kind in _kind(new, name).items() if kind == HARD]
    return each(new, hard, made)


def _better(rows: pd.DataFrame, lang: str, name: str, *, otherwise: bool = False) -> str:
    """Which of the model tuned as it is and adapted has the higher score in a script."""
    metric = task(name).metric
    mine = chosen(rows, arm="", target=lang, measure=f"{name} {metric}")
    parts = mine["state"].str.partition(".")
    some = mine[parts[0].isin([MULTILINGUAL, ADAPTED]) & ((parts[2] != "") == otherwise)]
    if not len(some):
        raise MissingRowsError
    return str(some.loc[some["value"].astype(float).idxmax(), "state"])


def _change(rows: pd.DataFrame, lang: str, name: str, one: str, other: str) -> Estimate:
    """One arm less another, on the same sentences."""
    return curve(chosen(rows, target=lang, measure=f"{name} difference", state=f"{one} less {other}"))[0]


def _losses(table: pd.DataFrame) -> Iterator[Part]:
    """Of languages that were seen: tuned as it is, out of its script less in it."""
    seen = table[table["seen"].astype(bool)]

    def made(rows: pd.DataFrame, lang: str, name: str) -> Estimate:
        other = [scheme for scheme in dict.fromkeys(rows[rows["language"] == lang]["scheme"]) if scheme]
        if not other:
            raise MissingRowsError
        return _change(rows, lang, name, arm_name(MULTILINGUAL, other[0]), MULTILINGUAL)

    return each(seen, [(lang, name) for lang in dict.fromkeys(seen["language"]) for name in _tasks(seen)], made)


def figures(table: pd.DataFrame) -> dict[str, Any]:
    """Scores of every arm in each script, a panel a task."""
    from interlingua.studies.drawn import dots

    rows = table[(table["arm"] == "") & table["low"].notna()]
    made = {}
    for name in _tasks(table):
        mine = rows[rows["measure"].str.startswith(f"{name} ") & ~rows["measure"].str.endswith(" difference")]
        parts = mine["state"].str.partition(".")
        where = [
            lang + (f", {scheme}" if scheme else "") for lang, scheme in zip(mine["target"], parts[2], strict=True)
        ]
        made[f"arms-{name}"] = dots(
            mine.assign(arm=parts[0], where=where), "where", "arm", f"{name}: every arm in each script",
            "Mean over seeds of tuning; line: 95% interval of test sentences. "
            f"Published, of mBERT: {claim('U1').published}.", order=ORDER,
        )  # fmt: skip
    return made


STUDY = Study(
    name="unseen",
    title="Languages that a model has not seen, and what another script does",
    source="Muller et al. 2021, unseen languages",
    settings=Unseen,
    cells=cells,
    run=run,
    prepare=prepare,
    estimates={"U1.kinds": _some_task, "U2.gain": _gains, "U3.loss": _losses},
    figures=figures,
)
