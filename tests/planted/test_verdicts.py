"""Easy, intermediate, hard: planted scores, ties called ties, and what is missing."""

import numpy as np
import pytest

from interlingua.errors import InputError, UnknownNameError
from interlingua.transfer.tasks import task
from interlingua.transfer.verdicts import BETTER, TIE, WORSE, compared, judged

POS = task("pos")


def arm(share, seeds=2, sentences=400, seed=0):
    rng = np.random.default_rng(seed)
    return [np.stack([rng.binomial(10, share, size=sentences), np.full(sentences, 10)], 1) for _ in range(seeds)]


@pytest.mark.parametrize(
    ("bilstm", "monolingual", "multilingual", "adapted", "muller", "strict"),
    [
        (0.6, 0.7, 0.8, 0.85, "easy", "easy"),
        (0.6, 0.8, 0.7, 0.85, "easy", "intermediate"),
        (0.7, 0.8, 0.6, 0.75, "intermediate", "hard"),
        (0.8, 0.8, 0.6, 0.7, "hard", "hard"),
    ],
)
def test_planted_languages(bilstm, monolingual, multilingual, adapted, muller, strict):
    counts = {
        "bilstm": arm(bilstm),
        "monolingual": arm(monolingual),
        "multilingual": arm(multilingual),
        "adapted": arm(adapted),
    }
    assert judged(POS, counts).kind == muller
    assert judged(POS, counts, "strict").kind == strict
    assert not judged(POS, counts).tie


def test_a_tie_is_called_one():
    same = arm(0.7, sentences=60)
    counts = {"bilstm": same, "multilingual": arm(0.7, sentences=60, seed=1), "adapted": arm(0.4, sentences=60)}
    found = judged(POS, counts)
    assert (found.kind, found.tie) == ("hard", True)
    assert [each.outcome for each in found.because] == [TIE, WORSE]
    assert compared(POS, counts, "multilingual", "adapted").outcome == BETTER
    assert compared(POS, {"a": same, "b": same}, "a", "b").difference == 0


def test_pairing_narrows_the_interval():
    """Sentences that are hard for both: the difference is surer than the two scores are."""
    rng = np.random.default_rng(0)
    hard = rng.beta(1, 1, size=500)
    first = [np.stack([rng.binomial(40, hard), np.full(500, 40)], 1)]
    second = [np.stack([rng.binomial(40, 0.93 * hard), np.full(500, 40)], 1)]
    found = compared(POS, {"a": first, "b": second}, "a", "b")
    assert found.outcome == BETTER
    assert found.high - found.low < 0.02


def test_what_is_missing_is_told():
    counts = {"bilstm": arm(0.5), "multilingual": arm(0.6)}
    with pytest.raises(InputError, match="monolingual"):
        judged(POS, counts, "strict")
    with pytest.raises(UnknownNameError, match="muller"):
        judged(POS, counts, "mueller")
    with pytest.raises(InputError, match="as many seeds"):
        judged(POS, {"bilstm": arm(0.5), "multilingual": arm(0.6, seeds=3)})
    assert judged(POS, {"bilstm": arm(0.7), "multilingual": arm(0.6)}).kind == "not easy"
