"""`unseen`: a language that a model has not seen. Fine-tune, adapt, transliterate, or train from scratch?

A folder holds `config.json`, `expectation.json` (written before any arm is run), `plan.json`, `scores.parquet` and
`.csv` (a row a score), `comparisons.csv`, `verdicts.csv`, `outcome.csv`, `coverage.csv`, `pretrained.csv`,
`pretrained/` (the language models that were made, which every verb takes), `arms/` (what was answered), `raw/` (the
text they were made of), and what a run that was killed goes on from.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from interlingua.analyses.diagnosis import (
    ADAPT,
    BOTH,
    DIRECTLY,
    SCRATCH,
    TRANSLITERATE,
    Diagnosis,
    Expectation,
    diagnose,
    expected,
)
from interlingua.analyses.survey import made_with, same_run
from interlingua.analyses.transfer_run import check_apart
from interlingua.analyses.unseen_plan import Step, plan
from interlingua.analyses.unseen_run import ORDER, Split, Stage, Trial, UnseenRun
from interlingua.corpora.transliterate import scheme as scheme_named
from interlingua.errors import FormatError, InputError, UnknownNameError
from interlingua.extract.words import sentences
from interlingua.folders import claimed, whole
from interlingua.models.load import Model, load_model
from interlingua.pretrain.prepare import source_lines
from interlingua.report.tables import EXPECTATION, PLAN
from interlingua.report.unseen_tables import UnseenTables, write_unseen
from interlingua.transfer.task import HeadTask, Task
from interlingua.transfer.tasks import task as task_named
from interlingua.transfer.verdicts import (
    ADAPTED,
    BILSTM,
    EASY,
    MONOLINGUAL,
    MULTILINGUAL,
    NOT_EASY,
    RULES,
    TIE,
    compared,
    judged,
)
from interlingua.types import ParallelCorpus

__all__ = ["Trial", "expect", "foreseen", "unseen"]

Array = np.ndarray[Any, Any]
Counts = Mapping[tuple[str, str], Sequence[Array]]
# A scheme that changes fewer words than this is for another script.
LEAST_CHANGED = 0.2
# One that leaves more of the letters than this is for another language; all schemes write Latin.
MOST_LEFT = 0.05
LATIN = ("LATIN", "MODIFIER LETTER")
# What may be asked for later, of a trial that was run: nothing that was found depends on it.
LATER = ("seeds", "arms", "budget", "scheme", "parallel")
# Arms from the least work to the most, and what they stand for: in the language's own script, and in another.
ADVICE: dict[str, tuple[str, str]] = {
    MULTILINGUAL: (DIRECTLY, TRANSLITERATE),
    BILSTM: (f"{SCRATCH}, without pretraining", f"transliterate and {SCRATCH}, without pretraining"),
    ADAPTED: (ADAPT, BOTH),
    MONOLINGUAL: (SCRATCH, f"transliterate and {SCRATCH}"),
}


def unseen(
    model: str,
    splits: Mapping[str, Split],
    beside: ParallelCorpus,
    out: str | Path,
    how: Trial,
    *,
    raw: Sequence[str] = (),
    parallel: ParallelCorpus | None = None,
    force: bool = False,
    stage: Stage = lambda _name: nullcontext(lambda _done, _total: None),
    tell: Callable[[Expectation, Sequence[Step]], None] = lambda _expectation, _plan: None,
) -> UnseenTables:
    """Look at a language, say what is expected, run the arms that there is text and time for, and judge.

    `splits`: by task, what is tuned on, what the epoch is chosen by, and what is judged by. `raw`: sources of text
    without labels; without any, the sentences that are tuned on. `beside`: sentences of languages that the model has
    seen. `tell` hears what is expected, and what every arm will take, before the first is run.
    """
    _check(splits, how, raw)
    loaded, folder = load_model(model, **how.loading), Path(out)
    run = UnseenRun(model, splits, raw, folder, how, stage)
    with claimed(folder):
        config, found, hoped = _expected(loaded, run, beside, parallel, force=force)
        steps = plan(run)
        whole(folder / PLAN, json.dumps([asdict(step) for step in steps], indent=2).encode())
        tell(hoped, steps)
        if all(step.left_out for step in steps):
            why = f": {steps[0].arm}: {steps[0].left_out}" if steps else ""
            raise InputError(f"there is no arm to run{why}")
        rows, counts, pretrained = _run(run, steps)
        tables = UnseenTables.of(
            config,
            hoped.facts(),
            [asdict(step) for step in steps],
            [*rows, *run.usual()],
            coverage=list(_coverage(found)),
            pretrained=pretrained,
            **_judged(counts, hoped, how.scheme),
        )
        write_unseen(tables, folder)
    return tables


def expect(
    model: str,
    splits: Mapping[str, Split],
    beside: ParallelCorpus,
    out: str | Path,
    how: Trial,
    *,
    raw: Sequence[str] = (),
    parallel: ParallelCorpus | None = None,
    stage: Stage = lambda _name: nullcontext(lambda _done, _total: None),
) -> tuple[Diagnosis, Expectation]:
    """The first part of `unseen`: look at a language and write down what is expected, before any arm is run."""
    _check(splits, how, raw)
    loaded, folder = load_model(model, **how.loading), Path(out)
    with claimed(folder):
        return _expected(loaded, UnseenRun(model, splits, raw, folder, how, stage), beside, parallel)[1:]


def _expected(
    loaded: Model, run: UnseenRun, beside: ParallelCorpus, parallel: ParallelCorpus | None, *, force: bool = False
) -> tuple[dict[str, Any], Diagnosis, Expectation]:
    """What is asked for, what is seen of the language, and what is expected; in the folder."""
    config = _config(loaded, run, beside, parallel)
    same_run(run.folder, config, force=force, may_differ=LATER)
    found = _diagnosed(loaded, run, beside, parallel)
    return config, found, _expectation(run.folder, found)


def foreseen(
    model: str,
    splits: Mapping[str, Split],
    beside: ParallelCorpus,
    how: Trial,
    *,
    raw: Sequence[str] = (),
    parallel: ParallelCorpus | None = None,
    stage: Stage = lambda _name: nullcontext(lambda _done, _total: None),
) -> tuple[Diagnosis, Expectation, list[Step]]:
    """What is seen of a language, what is expected of it, and what every arm will take; nothing is run or written."""
    _check(splits, how, raw)
    with TemporaryDirectory() as place:
        run = UnseenRun(model, splits, raw, Path(place), how, stage)
        found = _diagnosed(load_model(model, **how.loading), run, beside, parallel)
        return found, expected(found), plan(run)


def _check(splits: Mapping[str, Split], how: Trial, raw: Sequence[str]) -> None:
    """An error before anything is run, where parts of what was asked for do not go together."""
    if not splits:
        raise InputError("there is nothing with labels to tune on and be judged by")
    if how.scheme:
        scheme_named(how.scheme)
    if other := [arm for arm in how.arms if arm not in ORDER]:
        raise UnknownNameError("arm", other[0], ORDER)
    if how.budget < 0 or how.seeds < 1 or how.updates < 1 or how.passes < 1:
        raise InputError("seeds, updates and passes are 1 or more, and a budget is not below 0 minutes")
    langs = set()
    for name, (train, development, test) in splits.items():
        task = about_words(name)
        check_apart([train], [test, development])
        langs |= {task.language(record) for record in (train, development, test)}
    if len(langs) > 1:
        raise InputError(f"there are sentences of {', '.join(sorted(langs))}: one language is looked at")
    for source in raw:
        if not any(line.strip() for line in source_lines(source, next(iter(langs)))):
            raise InputError(f"{source} holds no text: name another, or leave raw text out")
    train = next(iter(splits.values()))[0]
    changed, left = _changed(train, how.scheme) if how.scheme else (1.0, 0.0)
    if changed < LEAST_CHANGED:
        raise InputError(
            f"{how.scheme} changes {changed:.0%} of the words of {train.name}: it is for another script, or the text "
            "is in Latin letters already"
        )
    if left > MOST_LEFT:
        raise InputError(
            f"{how.scheme} leaves {left:.0%} of the letters of {train.name} as they are: it is for another language"
        )


def about_words(name: str) -> Task[Any, Any]:
    """A task that every arm can learn; an error where there is none for a BiLSTM."""
    task = task_named(name)
    if not isinstance(task, HeadTask) or not task.words:
        raise InputError(f"{name} is not about words, which a BiLSTM reads: choose from pos, parsing and ner")
    return task


def _changed(record: Any, scheme: str) -> tuple[float, float]:
    """The share of words that are written otherwise in another script, and of letters that are not Latin then."""
    words = [word for rows in sentences(record[:200]).values() for row in rows for word in row.words]
    written = [scheme_named(scheme)(word) for word in words]
    letters = [letter for word in written for letter in word if letter.isalpha()]
    left = sum(not unicodedata.name(letter, "").startswith(LATIN) for letter in letters)
    changed = sum(one != other for one, other in zip(words, written, strict=True))
    return changed / max(len(words), 1), left / max(len(letters), 1)


def _config(model: Model, run: UnseenRun, beside: ParallelCorpus, parallel: ParallelCorpus | None) -> dict[str, Any]:
    digest, lines, characters = hashlib.sha256(), 0, 0
    for line in run.lines():
        digest.update(f"{line}\n".encode())
        lines, characters = lines + 1, characters + len(line)
    config = {
        "kind": "unseen",
        "model": model.name,
        "weights": model.weights,
        "language": run.lang,
        "tasks": {task: [[r.name, len(r), r.hash] for r in split] for task, split in run.splits[""].items()},
        "raw": {"sources": [Path(s).name for s in run.raw], "lines": lines, "characters": characters,
                "hash": digest.hexdigest()},
        "beside": [beside.name, [str(lang) for lang in beside.langs], beside.hash],
        "parallel": None if parallel is None else [parallel.name, len(parallel), parallel.hash],
        **asdict(run.how),
        "loading": {k: v for k, v in run.how.loading.items() if v and k != "device"},
        "versions": made_with(),
    }  # fmt: skip
    plain: dict[str, Any] = json.loads(json.dumps(config))
    return plain


def _diagnosed(model: Model, run: UnseenRun, beside: ParallelCorpus, parallel: ParallelCorpus | None) -> Diagnosis:
    """By the sentences that are tuned on; none that are judged by are looked at."""
    with run.stage("looking at the language"):
        record = next(iter(run.splits[""].values()))[0]
        return diagnose(model, record, beside, scheme=run.how.scheme, parallel=parallel)


def _expectation(folder: Path, found: Diagnosis) -> Expectation:
    """What is expected; once written it stays, whatever came of it."""
    place = folder / EXPECTATION
    if not place.exists():
        whole(place, (json.dumps(expected(found).facts(), indent=2, ensure_ascii=False) + "\n").encode())
    try:
        facts = json.loads(place.read_text(encoding="utf-8"))
        return Expectation(facts["kind"], facts["advice"], facts["scheme"], tuple(facts["reasons"]))
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(place, None, "it is damaged: delete it, and what is expected is written anew") from error


def _run(
    run: UnseenRun, steps: Sequence[Step]
) -> tuple[list[dict[str, Any]], dict[str, dict[tuple[str, str], list[Array]]], list[dict[str, Any]]]:
    """Every arm of the plan: rows of scores, what they are made of by task and arm, and what was pretrained."""
    rows: list[dict[str, Any]] = []
    counts: dict[str, dict[tuple[str, str], list[Array]]] = {task: {} for task in run.splits[""]}
    pretrained = []
    for step in steps:
        if step.left_out:
            continue
        for task, (some, each) in run.tuned(step.arm, step.scheme).items():
            rows += some
            counts[task][step.arm, step.scheme] = each
        if step.arm in (MONOLINGUAL, ADAPTED):
            pretrained.append(run.pretrained(step.arm, step.scheme))
    return rows, counts, pretrained


def _judged(counts: Mapping[str, Counts], hoped: Expectation, scheme: str) -> dict[str, list[dict[str, Any]]]:
    """Comparisons, verdicts by every rule that its arms were run for, and what was expected beside what came."""
    found: dict[str, list[dict[str, Any]]] = {"comparisons": [], "verdicts": [], "outcome": []}
    for name, arms in counts.items():
        task, kinds = task_named(name), {}
        found["comparisons"] += [{"task": name, **row} for row in _comparisons(task, arms, scheme)]
        for script in dict.fromkeys(("", scheme)):
            mine = {arm: each for (arm, where), each in arms.items() if where == script}
            for rule, needed in RULES.items():
                if all(arm in mine for arm in (MULTILINGUAL, *needed)):
                    verdict = judged(task, mine, rule)
                    kinds[script, rule] = verdict.kind
                    found["verdicts"].append(
                        {"task": name, "scheme": script, "rule": rule, "kind": verdict.kind, "tie": verdict.tie}
                    )
        if arms:
            best = advised(task, arms)
            kind = kinds.get(("", "muller"), "")
            found["outcome"].append(
                {"task": name, "expected": hoped.kind, "found": kind, "expected_advice": hoped.advice,
                 "found_advice": ADVICE[best[0]][bool(best[1])], "best_arm": best[0], "best_scheme": best[1],
                 "kept": kind == hoped.kind or (kind == NOT_EASY and hoped.kind != EASY)}
            )  # fmt: skip
    return found


def _comparisons(task: Task[Any, Any], arms: Counts, scheme: str) -> Iterator[dict[str, Any]]:
    """What rules ask, what adaptation adds, what the other script does to every arm, and to the better model."""
    pairs = [
        ((arm, script), (against, script))
        for script in dict.fromkeys(("", scheme))
        for arm, others in ((MULTILINGUAL, (BILSTM, MONOLINGUAL)), (ADAPTED, (BILSTM, MONOLINGUAL, MULTILINGUAL)))
        for against in others
    ]
    pairs += [((arm, scheme), (arm, "")) for arm in ORDER if scheme]
    if scheme:
        pairs.append((_better(task, arms, scheme), _better(task, arms, "")))
    for one, other in dict.fromkeys(pairs):
        if one in arms and other in arms:
            made = _compared(task, arms, one, other)
            sides = {"arm": one[0], "scheme": one[1], "against": other[0], "against_scheme": other[1]}
            yield {**sides, "difference": made.difference, "low": made.low, "high": made.high, "outcome": made.outcome}


def _better(task: Task[Any, Any], arms: Counts, script: str) -> tuple[str, str]:
    """The model tuned as it is, or adapted: the better of them in a script."""
    some = [(arm, script) for arm in (MULTILINGUAL, ADAPTED) if (arm, script) in arms]
    return max(some, key=lambda arm: _score(task, arms[arm]), default=(MULTILINGUAL, script))


def _score(task: Task[Any, Any], found: Sequence[Array]) -> float:
    """The mean over seeds."""
    return float(np.mean([task.score(each.sum(0))[0] for each in found]))


def _compared(task: Task[Any, Any], arms: Counts, one: tuple[str, str], other: tuple[str, str]) -> Any:
    return compared(task, {".".join(arm): each for arm, each in arms.items()}, ".".join(one), ".".join(other))


def advised(task: Task[Any, Any], arms: Counts) -> tuple[str, str]:
    """The arm to take: of the best, and those that it does not beat beyond chance, the one that is the least work."""
    best = max(arms, key=lambda arm: _score(task, arms[arm]))
    good = [arm for arm in arms if arm == best or _compared(task, arms, best, arm).outcome == TIE]
    return min(good, key=lambda arm: (list(ADVICE).index(arm[0]), bool(arm[1])))


def _coverage(found: Diagnosis) -> Iterator[dict[str, Any]]:
    """How the language is read in both scripts, then those that the model has seen, the nearest first."""
    yield {"what": "the language", "scheme": "", **asdict(found.own)}
    if found.written is not None:
        yield {"what": "transliterated", "scheme": found.scheme, **asdict(found.written)}
    near, written, match = dict(found.nearest), dict(found.nearest_written), dict(found.matching)
    for each in sorted(found.seen, key=lambda one: -near[one.language]):
        lang = each.language
        yield {"what": "seen", "scheme": "", **asdict(each), "near": near[lang], "near_written": written.get(lang),
               "matching": match.get(lang)}  # fmt: skip
    for text in found.example:
        yield {"what": "example", "language": text}
