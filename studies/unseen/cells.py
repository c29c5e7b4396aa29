"""Languages that the built-in model has not seen, and two that it has, out of their script. Tables go into a folder.

    python studies/unseen/cells.py expect OUT          what is expected of every language, before anything is run
    python studies/unseen/cells.py run OUT 15 pos      every arm and seed of a task, so many at once; languages and arms
                                                       can be named too
    python studies/unseen/cells.py join OUT            what was found, as `interlingua unseen` writes it; a table of all

Cells are parts of one trial a language, so that many share a GPU: `join` finds everything done. What an earlier run
finished (`done.tar.xz` beside this file: rows and counts, no models) is not done again.
"""

from __future__ import annotations

import multiprocessing
import sys
import tarfile
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from interlingua.analyses.unseen import Trial, unseen
from interlingua.analyses.unseen_run import ORDER, UnseenRun
from interlingua.cli.unseen import both_of, split_of
from interlingua.corpora.loading import parallel
from interlingua.transfer.finetune import Tuning
from interlingua.transfer.tasks import task
from interlingua.transfer.verdicts import ADAPTED, BILSTM, MONOLINGUAL, MULTILINGUAL

SEEDS = 3


@dataclass(frozen=True)
class Case:
    """A language: what is tuned on and judged by, raw text (none: what is tuned on), and another script."""

    train: str
    test: str = ""
    raw: tuple[str, ...] = ()
    scheme: str = ""
    tasks: tuple[str, ...] = ("pos", "parsing")
    arms: tuple[str, ...] = ORDER
    parallel: str = ""


SEEN = (BILSTM, MULTILINGUAL)  # of languages that it has seen, only what another script costs
CASES = {
    "ug": Case("ud/ug_udt", raw=("mono",), scheme="uyghur-turkish", parallel="ntrex"),
    "wo": Case("ud/wo_wtb", raw=("mono",), parallel="ntrex"),
    "mt": Case("ud/mt_mudt", raw=("mono",), parallel="ntrex"),
    "fo": Case("ud/fo_farpahc", raw=("mono",), parallel="ntrex"),
    "myv": Case("ud/myv_jr", scheme="cyrillic-latin"),
    "sd": Case("ud/sd_isra:dev", "ud/sd_isra:test", scheme="latin"),
    "ru": Case("ud/ru_gsd:dev", "ud/ru_gsd:test", ("mono/rusdracor",), "cyrillic-latin", arms=SEEN),
    "ar": Case("ud/ar_pud:test", raw=("mono/common_voice",), scheme="latin", arms=SEEN),
}


def trial(case: Case, *, quick: bool = False) -> Trial:
    """The same for every language. Quick: to see that everything runs."""
    if quick:
        return Trial(tuning=Tuning(epochs=1), seeds=SEEDS, arms=case.arms, scheme=case.scheme, size="nano", updates=2)
    return Trial(tuning=Tuning(epochs=15), seeds=SEEDS, arms=case.arms, scheme=case.scheme, updates=3_000, passes=200)


def splits(lang: str, *, quick: bool = False) -> dict[str, Any]:
    """Records by task."""
    case = CASES[lang]
    found = {name: split_of(task(name), case.train, case.test, lang, 0) for name in case.tasks}
    return {name: tuple(record[:200] for record in each) for name, each in found.items()} if quick else found


def cell(out: Path, lang: str, scheme: str, arm: str, name: str, seed: int, quick: bool) -> str:
    """One tuning; or, without a task, one language model."""
    started = time.monotonic()
    how = trial(CASES[lang], quick=quick)
    own = {name: splits(lang, quick=quick)[name]} if name else splits(lang, quick=quick)
    run = UnseenRun("built-in", own, CASES[lang].raw, out / lang, how, _silent)
    if name:
        made = [row["value"] for row in run.tuned(arm, scheme, [seed])[name][0][:1]]
    else:
        made = [run.pretrained(arm, scheme)["bits"]]
    return f"{lang} {scheme or 'own'} {arm} {name} {seed}: {made[0]:.3f}, {time.monotonic() - started:.0f} s"


def _silent(_name: str) -> Any:
    from contextlib import nullcontext

    return nullcontext(lambda _done, _total: None)


def run(out: Path, workers: int, langs: list[str], names: list[str], arms: list[str], *, quick: bool) -> None:
    """Language models first; then the first seed, which chooses the rate, of what there is; then the others."""
    with tarfile.open(Path(__file__).with_name("done.tar.xz")) as kept:
        kept.extractall(out, [each for each in kept if not (out / each.name).exists()], filter="data")
    models = [
        (lang, scheme, arm)
        for lang in langs
        for scheme in dict.fromkeys(("", CASES[lang].scheme))
        for arm in CASES[lang].arms
        if arm in arms
    ]
    for lang, scheme, arm in models:  # texts are written before several read them
        (out / lang / "cache").mkdir(parents=True, exist_ok=True)
        if arm in (ADAPTED, MONOLINGUAL):
            own = UnseenRun(
                "built-in", splits(lang, quick=quick), CASES[lang].raw, out / lang, trial(CASES[lang]), _silent
            )
            print(lang, scheme, arm, own.config(arm, scheme).updates, "updates", flush=True)
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        waiting: dict[Future[str], list[tuple[Any, ...]]] = {}

        def submit(lang: str, scheme: str, arm: str, name: str, seed: int) -> None:
            one = (lang, scheme, arm)
            then = [(*one, each, 0) for each in names] if not name else []
            if name and not seed:
                then = [(*one, name, more) for more in range(1, SEEDS)]
            waiting[pool.submit(cell, out, lang, scheme, arm, name, seed, quick)] = then

        for one in [each for each in models if each[2] in (ADAPTED, MONOLINGUAL)]:
            submit(*one, "", 0)
        for one in [each for each in models if each[2] not in (ADAPTED, MONOLINGUAL)]:
            for name in names:
                submit(*one, name, 0)
        while waiting:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for each in done:
                then = waiting.pop(each)
                error = each.exception()
                print(f"{len(waiting)} left; {error if error else each.result()}", flush=True)
                for more in then if not error else ():
                    submit(*more)


def trials(out: Path, langs: list[str], *, quick: bool, expect: bool) -> None:
    """Every language as `interlingua unseen` runs it; to expect only, it is stopped before its first arm."""

    class Stopped(Exception):
        pass

    def stop(*_: Any) -> None:
        if expect:
            raise Stopped

    for lang in langs:
        case, beside = CASES[lang], parallel("everyday")
        how = trial(case, quick=quick)
        if expect:
            how = replace(how, arms=())
        try:
            found = unseen(
                "built-in", splits(lang, quick=quick), beside, out / lang, how, raw=case.raw, tell=stop,
                parallel=both_of(case.parallel, lang, beside),
            )  # fmt: skip
        except Stopped:
            print(lang, (out / lang / "expectation.json").read_text(encoding="utf-8"))
            continue
        for name in found.tasks:
            print(lang, name, found.by_arm(name).round(4).to_string(), sep="\n")
        for table in (found.verdicts, found.outcome, found.comparisons, found.pretrained):
            print(table.round(4).to_string())
        print(found.signature, flush=True)


if __name__ == "__main__":
    what, place, *rest = sys.argv[1:]
    quick = "quick" in rest
    chosen = [lang for lang in CASES if lang in rest] or list(CASES)
    if what == "run":
        names = [name for name in ("pos", "parsing") if name in rest] or ["pos", "parsing"]
        arms = [arm for arm in ORDER if arm in rest] or list(ORDER)
        run(Path(place), int(rest[0]), chosen, names, arms, quick=quick)
    else:
        trials(Path(place), chosen, quick=quick, expect=what == "expect")
