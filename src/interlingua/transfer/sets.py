"""Data sets as they are asked for on a command line or in a study: which language, which split, how much."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from interlingua.corpora.loading import parallel
from interlingua.errors import InputError, UnknownNameError
from interlingua.transfer.task import Task
from interlingua.types import ParallelCorpus


def named_set(text: str, lang: str) -> tuple[str, str]:
    """A language and a data set: en=FILE says both, ud/en_ewt has the language in its name; :split may follow."""
    before, sign, name = text.strip().partition("=")
    if sign:
        return before, name
    # treebanks may be asked for as in the literature, ud:en_ewt
    name = re.sub(r"^ud:(?=\w+_)", "ud/", before)
    said = re.match(r"ud(?:pos)?/([a-z]{2,3})_", name)
    if not lang and not said:
        raise InputError(f"which language is {text}? Write fr={text}, or name the language beside it")
    return said[1] if said else lang, name


def learnt_from(task: Task[Any, Any], name: str, lang: str, rows: int) -> tuple[Any, Any]:
    """What to tune on and what to choose the epoch by: the split `dev`, or the last tenth of the rest.

    Where a data set has no split `test`, it is judged by `dev`, which is then not chosen by.
    """
    learnt = _first(task, name, lang, "train")
    learnt = learnt[:rows] if rows else learnt
    if ":" not in name and _first(task, name, lang, "test", needed=False) is not None:
        development = _first(task, name, lang, "dev", needed=False)
        if development is not None:
            return learnt, development
    if len(learnt) < 2:
        raise InputError(
            f"{learnt.name} has {len(learnt)} rows here: some are to tune on, and some to choose the epoch by"
        )
    many = max(1, len(learnt) // 10)
    return learnt[:-many], learnt[-many:]


def judged_by(task: Task[Any, Any], name: str, lang: str, rows: int = 0) -> Any:
    """What to judge by: the split that is said (`panx:train`), else `test`, else `dev`; all of it, or some rows."""
    found = _first(task, name, lang, "test", "dev")
    return found[:rows] if rows else found


def _first(task: Task[Any, Any], name: str, lang: str, *splits: str, needed: bool = True) -> Any:
    """A record of the first of these splits that there is; `nli_en/snli:dev` names it."""
    name, _, said = name.partition(":")
    missing: UnknownNameError | None = None
    for split in (said,) if said else splits:
        try:
            return task.read(name, lang, split)
        except UnknownNameError as error:
            if not error.what.startswith("split"):
                raise
            missing = missing or error
    if needed and missing is not None:
        raise missing
    return None


def split_of(task: Task[Any, Any], train: str, test: str, lang: str, rows: int) -> tuple[Any, Any, Any]:
    """What is tuned on, what the epoch is chosen by, and what is judged by; all from one set where it has no other."""
    spoken, name = named_set(train, lang)
    if "=" in train and spoken != lang:
        raise InputError(f"{train} is {spoken}, and the language is {lang}")
    if test:
        learnt, development = learnt_from(task, name, lang, rows)
        return learnt, development, judged_by(task, named_set(test, lang)[1], lang)
    if ":" not in name and not Path(name).exists():
        try:
            own = judged_by(task, name, lang)
            learnt, development = learnt_from(task, name, lang, rows)
        except UnknownNameError as error:
            if not error.what.startswith("split"):
                raise
            raise InputError(f"{error}; one split for everything is asked for as {name}:test") from error
        else:
            return learnt, development, own
    # one set: the last fifth is judged by, a tenth of the rest chooses the epoch
    everything = judged_by(task, name, lang)
    if len(everything) < 10:
        raise InputError(f"{everything.name} has {len(everything)} rows: some are to tune on, and some to judge by")
    last = len(everything) // 5
    rest = everything[:-last][:rows] if rows else everything[:-last]
    if len(rest) < 2:
        raise InputError(
            f"{len(rest)} row of {everything.name} is to be tuned on, and to choose the epoch by: take more"
        )
    many = max(1, len(rest) // 10)
    return rest[:-many], rest[-many:], everything[-last:]


def both_of(name: str, lang: str, known: ParallelCorpus) -> ParallelCorpus | None:
    """Parallel text of a language and those of the known ones that it has; none where no name is given."""
    if not name:
        return None
    found = parallel(name)
    there = [str(each) for each in known.langs if each in found.langs]
    return found.languages(lang, *(each for each in there if each != lang))
