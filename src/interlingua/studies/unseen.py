"""Languages that a model has not seen: easy, intermediate or hard; and what another script does to them.

Muller et al. 2021. Cells are the arms of `interlingua unseen`, one a language, a script and an arm: what is pretrained
on raw text and tuned on labels. A cell of the language's own name then compares and judges them. What is expected of a
language is written before its first arm is run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from filelock import FileLock
from pydantic import BaseModel, ConfigDict, Field

from interlingua.analyses.unseen import Trial, unseen
from interlingua.analyses.unseen_run import ORDER, Split, UnseenRun, arm_name
from interlingua.corpora.loading import parallel
from interlingua.report.tables import EXPECTATION
from interlingua.report.unseen_tables import UnseenTables
from interlingua.studies.claims import Part
from interlingua.studies.estimates import Estimate, MissingRowsError, best, chosen, curve, each
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

    def named(self, lang: str) -> Language:
        """The language of a cell."""
        return next(case for case in self.languages if case.lang == lang)


def cells(how: Unseen) -> list[Cell]:
    """Every arm of a language, then the language."""
    found = []
    for case in how.languages:
        about = {"language": case.lang, "seen": case.seen, "seed": 0}
        arms = [
            Cell(f"{case.lang}.{arm_name(arm, scheme)}", {**about, "arm": arm, "scheme": scheme})
            for scheme in case.schemes
            for arm in case.arms
        ]
        whole = Cell(case.lang, {**about, "arm": "", "scheme": ""}, after=tuple(arm.name for arm in arms))
        found += [*arms, whole]
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


def _stages(say: Say) -> Any:
    def stage(name: str) -> AbstractContextManager[Any]:
        say(name)
        return nullcontext(lambda _done, _total: None)

    return stage


class _Expected(Exception):
    """What is expected is written: no arm is run yet."""


def _whole(case: Language, how: Unseen, folder: Path, say: Say, *, expect: bool = False) -> UnseenTables:
    """The trial of a language, as `interlingua unseen` runs it; to expect only, it ends before its first arm."""
    beside = parallel(how.beside, *how.known)

    def told(*_: Any) -> None:
        if expect:
            raise _Expected

    trial = _trial(case, how)
    return unseen(
        how.model, _splits(case, how), beside, folder, replace(trial, arms=()) if expect else trial, raw=case.raw,
        parallel=both_of(case.parallel, case.lang, beside), stage=_stages(say), tell=told,
    )  # fmt: skip


def _expected(case: Language, how: Unseen, shared: Path, say: Say) -> Path:
    """The folder of a language, in which what is expected of it is written; the first cell that comes by does it."""
    folder = shared / case.lang
    shared.mkdir(parents=True, exist_ok=True)
    with FileLock(shared / f"{case.lang}.lock"):
        if not (folder / EXPECTATION).exists():
            try:
                _whole(case, how, folder, say, expect=True)
            except _Expected:
                say(f"what is expected is in {folder / EXPECTATION}")
    return folder


def prepare(left: Sequence[Cell], how: Unseen, shared: Path, say: Say) -> None:
    """What is expected of every language."""
    for lang in dict.fromkeys(cell.settings["language"] for cell in left):
        _expected(how.named(lang), how, shared, say)


def run(cell: Cell, how: Unseen, place: Path, shared: Path, say: Say) -> Iterator[Row]:
    """An arm with every seed, or what all arms of a language come to."""
    case, arm = how.named(cell.settings["language"]), cell.settings["arm"]
    folder = _expected(case, how, shared, say)
    if arm:
        yield from _arm(case, how, arm, cell.settings["scheme"], folder, say)
        (shared / MODELS / cell.name).mkdir(parents=True, exist_ok=True)
    else:
        yield from _judged(_whole(case, how, folder, say))


def _arm(case: Language, how: Unseen, arm: str, scheme: str, folder: Path, say: Say) -> Iterator[Row]:
    run = UnseenRun(how.model, _splits(case, how), case.raw, folder, _trial(case, how), _stages(say))
    if arm in (ADAPTED, MONOLINGUAL):
        made = run.pretrained(arm, scheme)
        for name in ("bits", "perplexity", "updates", "lines"):
            yield {"state": "pretrained", "source": case.lang, "measure": name, "value": made[name]}
    for name, (rows, _) in run.tuned(arm, scheme).items():
        for row in rows:
            yield {"state": f"seed {row['seed']}", "corpus": row["set"], "target": case.lang,
                   "measure": f"{name} {row['metric']}", "value": row["value"], "low": row.get("low"),
                   "high": row.get("high"), "n": row["sentences"], "notes": row["setting"]}  # fmt: skip


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
        yield {**common, "state": r.scheme or OWN, "measure": f"{r.task} {r.rule}",
               "notes": f"{r.kind}{', by a tie' if r.tie else ''}"}  # fmt: skip
    for r in tables.outcome.itertuples():
        yield {**common, "state": EXPECTED, "measure": f"{r.task} kind", "notes": f"{r.expected}: {r.expected_advice}"}
        yield {**common, "state": FOUND, "measure": f"{r.task} kind", "value": float(r.kept),
               "notes": f"{r.found}: {r.found_advice}"}  # fmt: skip
    for r in tables.coverage[tables.coverage["what"].isin(["the language", "transliterated"])].itertuples():
        for what, value in (("unknown", r.unknown), ("sub-words a word", r.fertility)):
            yield {**common, "state": r.scheme or OWN, "measure": what, "value": value}


def _tasks(table: pd.DataFrame) -> list[str]:
    return [name.removesuffix(" kind") for name in dict.fromkeys(table["measure"]) if name.endswith(" kind")]


def _kind(table: pd.DataFrame, name: str) -> dict[str, str]:
    """By language, in its own script, where it hangs on no tie."""
    rows = chosen(table, measure=f"{name} muller", state=OWN)
    return dict(zip(rows["target"], rows["notes"], strict=True))


def _kinds(table: pd.DataFrame) -> Iterator[Part]:
    """How many languages there are of the rarest kind, in the task with more."""
    new = table[~table["seen"].astype(bool)]
    found = {name: list(_kind(new, name).values()) for name in _tasks(new)}
    some = [min(kinds.count(kind) for kind in (EASY, INTERMEDIATE, HARD)) for kinds in found.values() if kinds]
    if some:
        yield Part("any task", 0, max(some), max(some), max(some), 0)


def _score(rows: pd.DataFrame, name: str, lang: str, *states: str) -> Estimate:
    """The best of some arms."""
    mine = chosen(rows, arm="", target=lang)
    own = mine["measure"].str.startswith(f"{name} ") & ~mine["measure"].str.endswith((" difference", " kind"))
    return best(curve(mine[own & mine["state"].isin(states)]))


def _gains(table: pd.DataFrame) -> Iterator[Part]:
    """Of hard languages: the better of tuned and adapted, written otherwise less in its own script."""
    schemes = {row.language: row.scheme for row in table.itertuples() if row.scheme}

    def made(rows: pd.DataFrame, lang: str, name: str) -> Estimate:
        arms = (MULTILINGUAL, ADAPTED)
        otherwise = _score(rows, name, lang, *(arm_name(arm, schemes[lang]) for arm in arms))
        return otherwise - _score(rows, name, lang, *arms)

    new = table[~table["seen"].astype(bool)]
    hard = [
        (lang, name)
        for name in _tasks(new)
        for lang, kind in _kind(new, name).items()
        if kind == HARD and lang in schemes
    ]
    return each(new, hard, made)


def _losses(table: pd.DataFrame) -> Iterator[Part]:
    """Of languages that were seen: tuned as it is, out of its script less in it, on the same sentences."""
    seen = table[table["seen"].astype(bool)]

    def made(rows: pd.DataFrame, lang: str, name: str) -> Estimate:
        mine = chosen(rows, target=lang, measure=f"{name} difference")
        both = mine["state"].str.startswith(f"{MULTILINGUAL}.") & mine["state"].str.endswith(f" less {MULTILINGUAL}")
        if not both.any():
            raise MissingRowsError
        return curve(mine[both])[0]

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
            "Mean over seeds of tuning; line: 95% interval of test sentences.", order=ORDER,
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
    estimates={"U1.kinds": _kinds, "U2.gain": _gains, "U3.loss": _losses},
    figures=figures,
)
