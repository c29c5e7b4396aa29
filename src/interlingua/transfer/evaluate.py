"""One tuned model in every language given: scores, gaps, intervals."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from interlingua.errors import InputError
from interlingua.transfer.finetune import Part, Tuned
from interlingua.transfer.network import counted
from interlingua.transfer.task import Array, Task, known

DRAWS = 1000


@dataclass(frozen=True)
class Score:
    """How well a task is done in one language.

    `gap`: this score less the source's (so higher is better; 0 for the source itself). `low` and `high`: 95 % of what
    sentences drawn again give. `unknown`: the share of tokens without a name; `lost`: words without a token; `new`:
    classes that training never showed, and which cannot be right.
    """

    language: str
    name: str
    metric: str
    value: float
    low: float
    high: float
    gap: float
    sentences: int
    unknown: float
    lost: int
    new: tuple[str, ...]
    also: tuple[tuple[str, float], ...]
    counts: Array
    answers: tuple[Any, ...]


def evaluate(tuned: Tuned, records: Iterable[Any], source: str, *, seed: int = 0) -> tuple[Score, ...]:
    """Scores of records, one a language; the source's own must be among them, for gaps are from it."""
    found = [score(tuned, record, seed=seed) for record in records]
    own = [each for each in found if each.language == source]
    if len(own) != 1:
        raise InputError(
            f"{len(own)} of the evaluated sets are in {source}, the source: one is needed, gaps are from it"
        )
    return tuple(replace(each, gap=each.value - own[0].value) for each in found)


def score(tuned: Tuned, record: Any, *, seed: int = 0) -> Score:
    """The score of one record, without a gap."""
    task, part = tuned.task, Part.of(tuned.network, record)
    new = known(tuned.labels, part.gold, task, record.name)
    answers = tuned.network.answers(part.encoded)
    counts = counted(task, part.gold, answers)
    value, *more = task.score(counts.sum(0)).tolist()
    low, high = bootstrap(task, counts, seed=seed)
    return Score(
        language=task.language(record),
        name=record.name,
        metric=task.metric,
        value=value,
        low=low,
        high=high,
        gap=0.0,
        sentences=len(counts),
        unknown=part.encoded.unknown,
        lost=part.encoded.words_lost,
        new=new,
        also=tuple(zip(task.also, more, strict=True)),
        counts=counts,
        answers=tuple(answers),
    )


def bootstrap(task: Task[Any, Any], counts: Array, *, seed: int = 0, draws: int = DRAWS) -> tuple[float, float]:
    """95 % of the scores of as many sentences drawn again with replacement."""
    rng = np.random.default_rng(seed)
    n = len(counts)
    often = rng.multinomial(n, np.full(n, 1 / n), size=draws)
    low, high = np.quantile(task.score(often @ counts)[:, 0], [0.025, 0.975])
    return float(low), float(high)


def differences(
    task: Task[Any, Any], pairs: Sequence[tuple[Array, Array]], *, seed: int = 0, draws: int = DRAWS
) -> tuple[float, Array]:
    """The first score less the second, the mean over pairs of counts (one a seed); and what drawn sentences give.

    Both sides are asked about the same sentences, and the same are drawn for both: what is hard for either cancels.
    """
    n = len(pairs[0][0])
    if any(len(side) != n for pair in pairs for side in pair):
        raise InputError("both sides must be asked about the same sentences")
    often = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=draws)

    def main(counts: Array) -> Array:
        return np.asarray(task.score(counts))[..., 0]

    drawn = np.mean([main(often @ a) - main(often @ b) for a, b in pairs], axis=0)
    return float(np.mean([main(a.sum(0)) - main(b.sum(0)) for a, b in pairs])), drawn


def most_frequent(task: Task[Any, Any], train: Sequence[Any], record: Any, *, by_word: bool = True) -> float:
    """The score of giving every word the tag it had most often in training; to words not seen there, the commonest.

    Not `by_word`: the commonest tag of all, to every word.
    """
    if not task.words or not hasattr(record, "tags"):
        raise InputError(f"{task.name} has no tags: only words with tags have a most frequent one")
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    overall: Counter[str] = Counter()
    for each in train:
        for words, tags in zip(each.words, task.gold(each), strict=True):
            overall.update(tags)
            for word, tag in zip(words, tags, strict=True):
                seen[word][tag] += 1
    usual = overall.most_common(1)[0][0]
    best = {word: tags.most_common(1)[0][0] for word, tags in seen.items()} if by_word else {}
    answers = [tuple(best.get(word, usual) for word in words) for words in record.words]
    return float(task.score(counted(task, task.gold(record), answers).sum(0))[0])
