"""Word alignment: a planted lexicon is recovered, the model equals a loop, symmetrisation and error rate equal the hand."""

import importlib
import importlib.util
import math
import random

import numpy as np
import pytest
import scipy.special

from interlingua.corpora import aligner
from interlingua.corpora.aligner import align
from interlingua.corpora.links import ErrorRate, error_rate, symmetrise
from interlingua.errors import InputError, MissingExtraError, UndefinedError, UnknownNameError


def planted(n=400, words=60, seed=0):
    """Sentences of a made-up lexicon, neighbours swapped in half of them, with words that translate nothing."""
    rng = random.Random(seed)
    source, target, gold = [], [], []
    for _ in range(n):
        s = rng.sample(range(words), rng.randint(3, 9))
        order = list(range(len(s)))
        if rng.random() < 0.5:
            k = rng.randrange(len(s) - 1)
            order[k], order[k + 1] = order[k + 1], order[k]
        t = [(f"t{s[i]}", i) for i in order]
        t.insert(rng.randint(0, len(t)), (f"particle{rng.randrange(2)}", None))
        source.append([f"S{w}" for w in s])
        target.append([w for w, _ in t])
        gold.append({(i, j) for j, (_, i) in enumerate(t) if i is not None})
    return source, target, gold


def installed(method):
    return importlib.util.find_spec(aligner.METHODS[method]) is not None


@pytest.mark.parametrize("how", aligner.SYMMETRISATIONS)
def test_a_planted_lexicon_is_recovered(how):
    source, target, gold = planted()
    found = error_rate(align(source, target, method="ours", symmetrise=how), gold, gold)
    assert found.value < (0.01 if how == "intersection" else 0.05)
    assert found.sure == sum(map(len, gold))


def test_sentences_that_do_not_translate_each_other_are_at_chance():
    source, target, gold = planted()
    rolled = target[1:] + target[:1]
    assert error_rate(align(source, rolled, method="ours"), gold, gold).value > 0.5


def test_many_blocks_give_what_one_gives_and_every_run_the_same(monkeypatch):
    source, target, _ = planted(100)
    whole = align(source, target, method="ours")
    assert align(source, target, method="ours") == whole
    monkeypatch.setattr(aligner, "CELLS", 64)
    assert align(source, target, method="ours") == whole


def test_swapping_the_sides_swaps_the_links():
    source, target, _ = planted(100)
    for how in ("intersection", "union"):
        there = align(source, target, method="ours", symmetrise=how)
        back = align(target, source, method="ours", symmetrise=how)
        assert [sorted((i, j) for j, i in row) for row in back] == [list(row) for row in there]


SOURCE = ["the house is red", "the red flower", "a house", "red", "the house the house"]
TARGET = ["das haus ist rot", "die rote blume da", "ein haus", "rot ja", "das haus das"]
TOY = [s.split() for s in SOURCE], [t.split() for t in TARGET]


def naive(source, target, iterations, beam):
    """fast_align's model in loops: the links of the target words, t, and λ."""
    t, tension = None, 4.0

    def chances(s, f, j):
        n, m = len(s), len(f)
        prior = [math.exp(-tension * abs((i + 1) / n - (j + 1) / m)) for i in range(n)]
        lexical = [1.0 if t is None else t[e, f[j]] for e in (None, *s)]
        return [0.08 * lexical[0], *(0.92 * p / sum(prior) * x for p, x in zip(prior, lexical[1:], strict=True))]

    for step in range(iterations):
        counts, far, aligned = {}, 0.0, 0.0
        for s, f in zip(source, target, strict=True):
            for j in range(len(f)):
                p = chances(s, f, j)
                for i, e in enumerate((None, *s)):
                    counts[e, f[j]] = counts.get((e, f[j]), 0.0) + p[i] / sum(p)
                    if i:
                        far += p[i] / sum(p) * abs(i / len(s) - (j + 1) / len(f))
                        aligned += p[i] / sum(p)
        if step:
            wanted = far / aligned
            for _ in range(8):
                total = tokens = 0.0
                for s, f in zip(source, target, strict=True):
                    for j in range(len(f)):
                        d = [abs((i + 1) / len(s) - (j + 1) / len(f)) for i in range(len(s))]
                        w = [math.exp(-tension * x) for x in d]
                        total += sum(a * b for a, b in zip(d, w, strict=True)) / sum(w)
                        tokens += 1
                tension = min(max(tension + 20 * (total / tokens - wanted), 0.1), 14.0)
        sums = {}
        for (e, _), c in counts.items():
            sums[e] = sums.get(e, 0.0) + c + 0.01
        psi = scipy.special.digamma
        t = {(e, w): math.exp(psi(c + 0.01) - psi(sums[e])) for (e, w), c in counts.items()}
    table = dict(t)
    for e, w in table:
        if e and table[e, w] < max(p for (given, _), p in table.items() if given == e) ** beam:
            t[e, w] = 0.0
    links = []
    for s, f in zip(source, target, strict=True):
        best = [int(np.argmax(chances(s, f, j))) for j in range(len(f))]
        links.append({(i - 1, j) for j, i in enumerate(best) if i})
    return links, table, tension


@pytest.mark.parametrize("beam", [4.0, math.inf])
@pytest.mark.parametrize("iterations", [1, 2, 5])
def test_the_model_equals_a_loop(iterations, beam, monkeypatch):
    tables, tensions = [], []
    variational, follow = aligner._variational, aligner._follow
    monkeypatch.setattr(aligner, "_variational", lambda *a: tables.append(variational(*a)) or tables[-1].copy())
    monkeypatch.setattr(aligner, "_follow", lambda *a: tensions.append(follow(*a)) or tensions[-1])
    monkeypatch.setattr(aligner, "BEAM", beam)
    rows = range(len(SOURCE))
    source, target = (aligner._encode(side, rows, lowercase=True) for side in TOY)
    forward, backward = aligner._ours(source, target, iterations)
    for links, (a, b), flip, at in ((forward, TOY, False, 0), (backward, TOY[::-1], True, 1)):
        wanted, t, tension = naive(a, b, iterations, beam)
        assert [{(j, i) for i, j in row} if flip else set(row) for row in links] == wanted
        last = 2 * iterations * (at + 1)
        lexical, null = tables[last - 2 : last]
        np.testing.assert_allclose(sorted(lexical), sorted(p for (e, _), p in t.items() if e), rtol=1e-9)
        np.testing.assert_allclose(sorted(null), sorted(p for (e, _), p in t.items() if not e), rtol=1e-9)
        if iterations > 1:
            assert tensions[(iterations - 1) * (at + 1) - 1] == pytest.approx(tension, rel=1e-9)


def test_the_prior_falls_from_the_diagonal_and_leaves_the_share_of_null():
    cells = next(aligner._blocks(np.array([3, 2]), np.array([2, 1])))
    assert [(int(i), int(j)) for i, j in zip(*cells.pair, strict=True)] == [
        (0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1), (3, 2), (4, 2),
    ]  # fmt: skip
    np.testing.assert_allclose(cells.distance, [1 / 6, 1 / 6, 1 / 2, 2 / 3, 1 / 3, 0, 1 / 2, 0])
    for group in cells.pair:
        words = int(group.max()) + 1
        p, nothing = aligner._joint(np.ones(8), np.ones(words), cells.distance, group, 4.0)
        np.testing.assert_allclose(np.bincount(group, p), 0.92)
        np.testing.assert_allclose(nothing, 0.08)
    p, _ = aligner._joint(np.ones(8), np.ones(3), cells.distance, cells.pair[1], 4.0)
    assert p[6] / p[7] == pytest.approx(math.exp(-2))


def test_digamma_is_scipys():
    x = np.concatenate([np.geomspace(1e-2, 1e7, 200), [1.0, 6.0]])
    np.testing.assert_allclose(aligner._digamma(x), scipy.special.digamma(x), rtol=1e-10, atol=1e-10)


# forward and backward share (0,0) and (4,4); (1,1) touches (0,0); (1,2) touches (1,1) and brings column 2;
# (2,2) then touches, and brings row 2; (6,4) and (4,6) touch nothing; (7,8) stands alone; (3,0) has a new row only.
FORWARD = [(0, 0), (1, 1), (2, 2), (4, 4), (6, 4), (7, 8)]
BACKWARD = [(0, 0), (1, 2), (4, 4), (4, 6), (3, 0)]


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("intersection", [(0, 0), (4, 4)]),
        ("union", [(0, 0), (1, 1), (1, 2), (2, 2), (3, 0), (4, 4), (4, 6), (6, 4), (7, 8)]),
        ("grow-diag", [(0, 0), (1, 1), (1, 2), (2, 2), (4, 4)]),
        ("grow-diag-final", [(0, 0), (1, 1), (1, 2), (2, 2), (3, 0), (4, 4), (4, 6), (6, 4), (7, 8)]),
        ("grow-diag-final-and", [(0, 0), (1, 1), (1, 2), (2, 2), (4, 4), (7, 8)]),
    ],
)
def test_symmetrisation_by_hand(how, expected):
    assert symmetrise(FORWARD, BACKWARD, how) == tuple(expected)
    assert symmetrise([], [], how) == ()


def test_final_adds_forward_links_before_backward_ones():
    # No intersection, so nothing grows. The forward (1,1) takes row 1 and column 1 from the backward links.
    assert symmetrise([(1, 1)], [(1, 3), (5, 1)], "grow-diag-final-and") == ((1, 1),)
    assert symmetrise([(1, 3), (5, 1)], [(1, 1)], "grow-diag-final-and") == ((1, 3), (5, 1))
    assert symmetrise([(1, 3), (5, 1)], [(1, 1)], "grow-diag-final") == ((1, 3), (5, 1))


def test_growing_goes_on_until_nothing_is_added():
    # In order (0,1) comes first and touches nothing until (1,2) is there, which needs a first round.
    assert symmetrise([(2, 2), (1, 2)], [(2, 2), (0, 1)], "grow-diag") == ((0, 1), (1, 2), (2, 2))


def test_error_rate_by_hand():
    links = [[(0, 0), (1, 1), (2, 3)], [(0, 1)]]
    sure = [[(0, 0), (1, 2)], [(0, 1)]]
    possible = [[(0, 0), (1, 2), (1, 1)], []]
    found = error_rate(links, sure, possible)
    assert found == ErrorRate(value=1 - (2 + 3) / (4 + 3), precision=3 / 4, recall=2 / 3, links=4, sure=3)
    assert error_rate(sure, sure, possible).value == 0
    assert error_rate([[], []], sure, possible) == ErrorRate(value=1, precision=None, recall=0, links=0, sure=3)
    with pytest.raises(UndefinedError, match="no sure link"):
        error_rate(links, [[], []], possible)
    with pytest.raises(InputError, match="links of 2 sentence pairs, sure ones of 1, possible of 2"):
        error_rate(links, sure[:1], possible)


def test_empty_sentences_have_no_links_and_change_no_others():
    source, target = TOY
    links = align(source, target, method="ours")
    assert align([[], *source, ["x"]], [["y"], *target, []], method="ours") == [(), *links, ()]
    assert align([[]], [[]], method="ours") == [()]


def test_letters_of_both_cases_are_one_word_unless_told():
    source = [["HAUS"], ["haus", "a"], ["b", "haus"]]
    cased = aligner._encode(source, range(3), lowercase=False)
    assert (cased.size, aligner._encode(source, range(3), lowercase=True).size) == (4, 3)
    assert cased.sentences() == [["0"], ["1", "2"], ["3", "1"]]


def test_bad_input_is_told():
    with pytest.raises(InputError, match="2 source and 1 target sentences: row i"):
        align([["a"], ["b"]], [["a"]])
    with pytest.raises(InputError, match="no sentences"):
        align([], [])
    with pytest.raises(InputError, match="sentence 1 is a string, 'ab': give"):
        align([["a"], "ab"], [["a"], ["b"]], method="ours")
    with pytest.raises(InputError, match="iterations is 0"):
        align([["a"]], [["a"]], iterations=0)
    with pytest.raises(UnknownNameError, match="alignment method 'eflomel': did you mean eflomal"):
        align([["a"]], [["a"]], method="eflomel")
    with pytest.raises(UnknownNameError, match="symmetrisation 'grow'"):
        align([["a"]], [["a"]], symmetrise="grow")
    with pytest.raises(UnknownNameError, match="symmetrisation 'gdfa'"):
        symmetrise([], [], "gdfa")
    with pytest.raises(InputError, match="fast_align gives grow-diag-final-and only, not union"):
        align([["a"]], [["a"]], method="fast_align", symmetrise="union")


@pytest.mark.parametrize(("method", "package"), [("eflomal", "eflomal"), ("fast_align", "systran-align")])
def test_a_missing_package_is_told_and_one_that_is_there_works(method, package, monkeypatch):
    source, target, gold = planted()
    if installed(method):
        assert error_rate(align(source, target, method=method), gold, gold).value < 0.1

    def missing(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(MissingExtraError, match=rf"needs {package}: pip install 'interlingua\[align\]'"):
        align(source, target, method=method)


def test_the_default_is_the_best_that_is_installed(monkeypatch):
    source, target, _ = planted(60)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert align(source, target) == align(source, target, method="ours")
