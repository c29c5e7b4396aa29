"""Easy, intermediate or hard: what a pretrained model is worth for a language it has not seen (Muller et al. 2021).

Arms are told apart by their names; each has the counts of every test sentence, one table a seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from interlingua.errors import InputError, UnknownNameError
from interlingua.transfer.evaluate import differences
from interlingua.transfer.task import Array, Task

BILSTM, MONOLINGUAL, MULTILINGUAL, ADAPTED = "bilstm", "monolingual", "multilingual", "adapted"
EASY, INTERMEDIATE, HARD = "easy", "intermediate", "hard"
# What is not easy, where adaptation was not tried.
NOT_EASY = "not easy"
# Rule -> the arms that a multilingual model has to beat.
RULES: Mapping[str, tuple[str, ...]] = {"muller": (BILSTM,), "strict": (BILSTM, MONOLINGUAL)}
BETTER, TIE, WORSE = "better", "a tie", "worse"


@dataclass(frozen=True)
class Comparison:
    """One arm less another on the same sentences, the mean over seeds, with the interval (95 %) of drawn sentences."""

    arm: str
    against: str
    difference: float
    low: float
    high: float

    @property
    def outcome(self) -> str:
        """Better, worse, or a tie where the interval holds 0."""
        return BETTER if self.low > 0 else WORSE if self.high < 0 else TIE


@dataclass(frozen=True)
class Verdict:
    """What a language is by a rule. `tie`: what it hangs on is within chance, so that the easier kind may be true."""

    rule: str
    kind: str
    tie: bool
    because: tuple[Comparison, ...]


def compared(task: Task[Any, Any], counts: Mapping[str, Sequence[Array]], arm: str, against: str) -> Comparison:
    """An arm against another."""
    sides = [counts[name] for name in (arm, against)]
    if len(sides[0]) != len(sides[1]) or not sides[0]:
        raise InputError(
            f"{arm} was tuned {len(sides[0])} times and {against} {len(sides[1])}: as many seeds are needed"
        )
    value, drawn = differences(task, list(zip(*sides, strict=True)))
    low, high = np.quantile(drawn, [0.025, 0.975]).tolist()
    return Comparison(arm, against, value, low, high)


def judged(task: Task[Any, Any], counts: Mapping[str, Sequence[Array]], rule: str = "muller") -> Verdict:
    """Easy if the model is better as it is than all that the rule names, intermediate if it is once adapted, else hard.

    A tie is not better. Without an adapted arm a language that is not easy is just that.
    """
    if rule not in RULES:
        raise UnknownNameError("rule", rule, RULES)
    if missing := [name for name in (MULTILINGUAL, *RULES[rule]) if name not in counts]:
        raise InputError(f"{rule} needs the arm {missing[0]}: it was not run")
    made: list[Comparison] = []
    tie = False
    for kind, arm in ((EASY, MULTILINGUAL), (INTERMEDIATE, ADAPTED)):
        if arm not in counts:
            continue
        found = [compared(task, counts, arm, against) for against in RULES[rule]]
        made += found
        if all(each.outcome == BETTER for each in found):
            return Verdict(rule, kind, tie, tuple(made))
        tie = tie or all(each.outcome != WORSE for each in found)
    return Verdict(rule, HARD if ADAPTED in counts else NOT_EASY, tie, tuple(made))
