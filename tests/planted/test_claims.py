"""Do rules decide as they say, and does every rule have its estimate?"""

import math
from dataclasses import replace

import pandas as pd
import pytest

from interlingua.errors import InputError, UnknownNameError
from interlingua.studies.catalog import STUDIES, find
from interlingua.studies.claims import (
    FAILS,
    HOLDS,
    NO,
    NOT_RUN,
    OPEN,
    UNCLEAR,
    YES,
    Part,
    Rule,
    claim,
    claims,
    decided,
    judge,
    judge_all,
    written,
)
from interlingua.studies.estimates import Estimate, curve, deeper, each, mean, slope
from interlingua.studies.results import Results
from interlingua.studies.study import Cell, settings_of


def rule(direction=">", margin=0.0, *, n=2, given=False, name="r"):
    return Rule("D1", name, "a statistic", direction, margin, n, given)


def part(low, high, *, of="fr", seed=0):
    return Part(of, seed, (low + high) / 2, low, high, 100)


@pytest.mark.parametrize(
    ("direction", "margin", "low", "high", "answer"),
    [
        (">", 0.3, 0.31, 0.5, YES),
        (">", 0.3, 0.30, 0.5, UNCLEAR),  # the margin itself is not above it
        (">", 0.3, 0.1, 0.3, NO),
        (">", 0.3, 0.1, 0.31, UNCLEAR),
        ("<", 0.3, 0.1, 0.29, YES),
        ("<", 0.3, 0.1, 0.30, UNCLEAR),
        ("<", 0.3, 0.3, 0.4, NO),
        ("within", 0.03, -0.03, 0.03, YES),
        ("within", 0.03, -0.01, 0.04, UNCLEAR),
        ("within", 0.03, 0.031, 0.04, NO),
        ("within", 0.03, -0.09, -0.04, NO),
        ("within", 0.03, -0.5, 0.5, UNCLEAR),  # nothing is known: that is not equality
        (">", 0.0, math.nan, math.nan, UNCLEAR),
    ],
)
def test_an_answer_is_by_the_whole_interval(direction, margin, low, high, answer):
    assert rule(direction, margin).answer(part(low, high)) == answer


def test_a_claim_holds_if_every_part_and_seed_says_so():
    both = [part(0.1, 0.2, seed=s, of=of) for s in (0, 1) for of in ("fr", "bg")]
    assert decided([rule()], {"r": both}) == (HOLDS, "")


def test_one_part_that_every_seed_denies_breaks_it():
    parts = [part(0.1, 0.2, seed=s) for s in (0, 1)] + [part(-0.2, -0.1, seed=s, of="bg") for s in (0, 1)]
    verdict, why = decided([rule()], {"r": parts})
    assert verdict == FAILS
    assert "bg" in why
    assert "fr" not in why


def test_seeds_that_disagree_leave_it_open():
    parts = [part(0.1, 0.2, seed=0), part(-0.2, -0.1, seed=1)]
    assert decided([rule()], {"r": parts})[0] == OPEN


def test_one_seed_decides_nothing_where_two_are_needed():
    assert decided([rule()], {"r": [part(0.1, 0.2)]}) == (OPEN, "2 seeds are needed: r (fr)")
    # two seeds of two parts are one seed of each
    apart = [part(0.1, 0.2, seed=0), part(0.1, 0.2, seed=1, of="bg")]
    assert decided([rule()], {"r": apart})[0] == OPEN
    assert decided([rule(n=1)], {"r": [part(0.1, 0.2)]})[0] == HOLDS


def test_what_is_presupposed_comes_first():
    rules = [rule(given=True, name="g"), rule(name="r")]
    broken = [part(-0.2, -0.1, seed=s) for s in (0, 1)]
    good = [part(0.1, 0.2, seed=s) for s in (0, 1)]
    assert decided(rules, {"g": broken, "r": broken})[0] == OPEN
    assert decided(rules, {"g": good, "r": broken})[0] == FAILS
    assert decided(rules, {"g": good, "r": good})[0] == HOLDS


def test_all_43_claims_are_there_once():
    names = [each.id for each in claims()]
    assert len(names) == len(set(names)) == 43
    assert names == [
        f"{paper}{i}" for paper, n in (("D", 11), ("W", 15), ("M", 4), ("U", 3), ("C", 10)) for i in range(1, n + 1)
    ]
    with pytest.raises(UnknownNameError, match="D1"):
        claim("D111")


@pytest.mark.parametrize("name", STUDIES)
def test_every_rule_of_a_study_has_an_estimate_and_every_estimate_a_rule(name):
    rules = {rule.key for each in claims() if each.study == name for rule in each.rules}
    assert set(find(name).estimates) == rules
    assert all(each.rules for each in claims() if each.study == name)


def test_estimates_of_a_curve():
    some = [Estimate(float(i), i - 1.0, i + 1.0, 7) for i in range(9)]
    assert [e.value for e in deeper(some)] == [4, 5, 6, 7, 8]
    assert mean(deeper(some)) == Estimate(6, 5, 7, 7)
    assert slope(some).value == pytest.approx(1)
    assert slope(some).half == pytest.approx(1 / math.sqrt(60))
    apart = some[3] - some[1]
    assert (apart.value, apart.half) == (2, pytest.approx(math.sqrt(2)))


def planted(norm, seed, target, state, pooling, measure, values):
    return [
        {"norm": norm, "seed": seed, "target": target, "state": state, "pooling": pooling, "measure": measure,
         "layer": layer, "value": v, "low": v - 0.01, "high": v + 0.01, "published": v, "n": 500, "source": "en"}
        for layer, v in enumerate(values)
    ]  # fmt: skip


def results(study, rows, missing=(), size="mini"):
    settings = settings_of(study, size)
    return Results(study, settings, pd.DataFrame(rows), (), tuple(missing))


def collapse(deep, *, seeds=(0, 1), pos=0.8, missing=(), size="mini"):
    """CKA of 0.8 everywhere but in the deeper half of the Normformer, which transfers as well as the others."""
    rows = []
    for seed in seeds:
        for norm in ("post", "pre", "normformer"):
            for target in ("fr", "bg"):
                cka = [0.8] * 4 + [deep if norm == "normformer" else 0.8] * 5
                rows += planted(norm, seed, target, "before", "mean", "linear_cka", cka)
                rows += planted(norm, seed, target, "before", "mean", "matching", [0.1] + [0.6] * 8)
                rows += planted(norm, seed, target, "random", "mean", "matching", [0.1] * 9)
                score = pos if norm == "normformer" else 0.8
                rows += planted(norm, seed, target, "after", "", "pos accuracy", [score])
    return results(find("normalisation"), rows, missing, size)


def inference(en, fr, *, post=None, seeds=(0, 1)):
    rows = []
    for seed in seeds:
        for norm in ("post", "pre", "normformer"):
            rows += planted(norm, seed, "en", "after", "", "nli accuracy", [en])
            for target in ("fr", "bg"):
                score = post if post is not None and norm == "post" else fr
                rows += planted(norm, seed, target, "after", "", "nli accuracy", [score])
    return results(find("normalisation"), rows)


def test_a_planted_collapse_is_found():
    assert judge(claim("D1"), collapse(0.05)).verdict == HOLDS
    assert judge(claim("D2"), collapse(0.05)).verdict == HOLDS
    assert judge(claim("D1"), collapse(0.8)).verdict == FAILS
    # where CKA does not collapse, what happens where it does cannot be said
    assert judge(claim("D2"), collapse(0.8)).verdict == OPEN
    assert judge(claim("D1"), collapse(0.05, seeds=(0,))).verdict == OPEN
    # a Normformer that transfers far worse is no case against CKA
    assert judge(claim("D1"), collapse(0.05, pos=0.5)).verdict == FAILS


def test_equal_transfer_is_found_where_there_is_any():
    assert judge(claim("D3"), inference(0.75, 0.7)).verdict == HOLDS
    assert judge(claim("D3"), inference(0.75, 0.7, post=0.6)).verdict == FAILS
    # nothing was learnt, or nothing was transferred: equally bad is no evidence of equality
    assert judge(claim("D3"), inference(0.34, 0.33)).verdict == OPEN
    assert judge(claim("D3"), inference(0.45, 0.333)).verdict == OPEN
    # equal, and far below English
    assert judge(claim("D3"), inference(0.75, 0.4)).verdict == FAILS


def test_without_results_nothing_is_decided():
    assert judge(claim("D1"), None).verdict == NOT_RUN
    assert judge(replace(claim("C1"), rules=()), None).why == "its rule is still to be written"
    # with one cell missing nothing is decided, whatever the others say; the numbers so far are shown
    found = judge(claim("D1"), collapse(0.05, missing=[Cell("pre.1", {"norm": "pre", "seed": 1})]))
    assert (found.verdict, found.why) == (NOT_RUN, "cells that it needs are not done: 1, such as pre.1")
    assert "collapsed" in found.measured
    assert judge(claim("D1"), collapse(0.05, size="smoke")).verdict == NOT_RUN


def given(value, shape="xlm-roberta-base", shapes=1):
    return [
        {"objective": "given", "shape": name, "seed": 0, "state": "before", "pooling": "mean", "target": "",
         "measure": f"anc.{end}", "layer": 4, "value": value, "low": value - 0.05, "high": value + 0.05, "n": 500}
        for end in ("rise", "fall")
        for name in (shape, "bert-base-multilingual-cased")[:shapes]
    ]  # fmt: skip


def test_a_claim_waits_for_its_own_cells_only():
    study = find("scaling")
    missing = [Cell("mlm.4x128.0", {"objective": "mlm"})]
    assert judge(claim("D5"), results(study, given(0.1, shapes=2), missing)).verdict == HOLDS
    assert judge(claim("D6"), results(study, given(0.1, shapes=2), missing)).verdict == NOT_RUN
    assert judge(claim("D5"), results(study, given(-0.1, shapes=2), missing)).verdict == FAILS
    # another model than the paper's decides nothing of it
    found = judge(claim("D5"), results(study, given(0.1, "built-in"), missing))
    assert found.verdict == OPEN
    assert "mBERT, XLM-R" in found.why


def test_the_page_has_every_claim_with_its_rule():
    held = {"normalisation": [collapse(0.05)]}
    page = written([judge_all(each, held.get(each.study, ())) for each in claims()])
    assert page.count("\n| ") == 43 + 4  # and four headings
    assert "**holds**" in page
    assert "collapsed: fr 0.050 (0.040 to 0.060)" in page
    assert "2 seeds, 500 examples" in page


def test_sizes_stand_beside_each_other_and_a_claim_counts_once():
    lacking = [Cell("pre.1", {"norm": "pre", "seed": 1})]
    whole, begun = collapse(0.5), collapse(0.05, size="xlmr-base", missing=lacking)
    found = judge_all(claim("D1"), [begun, whole])
    assert [each.verdict for each in found] == [NOT_RUN, FAILS]
    page = written([found])
    assert "holds: 0, does not hold: 1, not decidable at this scale: 0, not run: 0; 1 in all." in page
    lines = [line for line in page.splitlines() if line.startswith("| D1 ")]
    assert ["xlmr-base, " in lines[0], "mini, " in lines[1]] == [True, True]
    assert ["collapsed: fr 0.050" in lines[0], "collapsed: fr 0.500" in lines[1]] == [True, True]
    assert page.count("\n- D1: ") == 1
    # the larger one decides where it can
    assert "holds: 1, does not hold: 0" in written([judge_all(claim("D1"), [collapse(0.05), whole])])
    # a size that says nothing yet has no line
    empty = replace(whole, table=whole.table[:0])
    assert judge_all(claim("D1"), [empty, begun]) == [judge(claim("D1"), begun)]
    assert [each.verdict for each in judge_all(claim("D1"), [empty])] == [NOT_RUN]


def test_keys_without_rows_are_left_out():
    table = pd.DataFrame({"seed": [0, 1]})
    seen = list(each(table, ["a", ("b", "c")], lambda rows, *key: Estimate(len(key), 0, 1)))
    assert [(p.of, p.seed, p.value) for p in seen] == [("a", 0, 1), ("a", 1, 1), ("b, c", 0, 2), ("b, c", 1, 2)]


def test_a_direction_that_is_none_is_an_error():
    with pytest.raises(InputError, match="'>=' is none of >, < and within"):
        rule(">=")


def test_what_has_no_interval_meets_no_rule():
    frame = pd.DataFrame(planted("post", 0, "fr", "before", "mean", "svcca", [0.5, 0.6])).assign(low=None, high=None)
    found = curve(frame)
    assert [one.value for one in found] == [0.5, 0.6]
    assert rule().answer(found[0].part("fr", 0)) == UNCLEAR


def unseen_rows(lang, *, seen=False, scheme="", kinds=None, tie=False, scores=None):
    """A language of the study `unseen`: what it is judged to be by task, and scores by task and arm."""
    about = {
        "language": lang,
        "seen": seen,
        "arm": "",
        "scheme": "",
        "seed": 0,
        "target": lang,
        "layer": None,
        "n": 300,
    }
    rows = []
    for task, kind in (kinds or {}).items():
        rows.append({**about, "state": "own", "measure": f"{task} muller", "value": float(not tie), "notes": kind})
        rows.append({**about, "state": "found", "measure": f"{task} kind", "notes": kind})
    for task, by_arm in (scores or {}).items():
        for state, value in by_arm.items():
            measure = f"{task} difference" if " less " in state else f"{task} accuracy"
            rows.append({**about, "state": state, "measure": measure, "value": value, "low": value - 0.01,
                         "high": value + 0.01, "published": None, "notes": ""})  # fmt: skip
    if scheme:
        rows.append({**about, "arm": "multilingual", "scheme": scheme, "state": "seed 0", "measure": "pos accuracy"})
    return rows


def test_all_three_kinds_must_occur_in_one_task_and_ties_do_not_count():
    def rarest(*languages):
        table = pd.DataFrame([row for rows in languages for row in rows])
        return [part.value for part in find("unseen").estimates["U1.kinds"](table)]

    easy, between, hard = (unseen_rows(kind, kinds={"pos": kind}) for kind in ("easy", "intermediate", "hard"))
    assert rarest(easy, between, hard) == [1]
    (part,) = find("unseen").estimates["U1.kinds"](pd.DataFrame([*easy, *between, *hard]))
    assert part.n == 3  # languages
    assert rarest(easy, between, unseen_rows("d", kinds={"pos": "hard"}, tie=True)) == [0]
    assert rarest(hard, unseen_rows("d", kinds={"pos": "hard"})) == [0]
    assert rarest(unseen_rows("ru", seen=True, kinds={"pos": "easy"}), between, hard) == [0]  # it was seen
    trees = [unseen_rows(kind, kinds={"parsing": kind}) for kind in ("easy", "intermediate", "hard")]
    assert rarest(hard, *trees) == [1]  # in one of the tasks


def test_gains_are_of_hard_languages_and_losses_of_seen_ones():
    scores = {"multilingual": 0.7, "adapted": 0.6, "multilingual.latin": 0.65, "adapted.latin": 0.8, "bilstm": 0.9,
              "adapted.latin less multilingual": 0.1, "adapted.latin less adapted": 0.2}  # fmt: skip
    lost = {"multilingual.latin less multilingual": -0.1, "bilstm.latin less bilstm": -0.2,
            "multilingual.latin less bilstm.latin": 0.3}  # fmt: skip
    table = [
        *unseen_rows("ug", scheme="latin", kinds={"pos": "hard"}, scores={"pos": scores}),
        *unseen_rows("myv", scheme="latin", kinds={"pos": "easy"}, scores={"pos": scores}),
        *unseen_rows("wo", kinds={"pos": "hard"}, scores={"pos": {"multilingual": 0.7, "adapted": 0.6}}),
        *unseen_rows("ru", seen=True, scheme="latin", kinds={"pos": "easy"}, scores={"pos": lost}),
    ]
    estimates = find("unseen").estimates
    # the better arm in each script, and no language without another script
    assert [(part.of, part.value) for part in estimates["U2.gain"](pd.DataFrame(table))] == [("ug, pos", 0.1)]
    assert [(part.of, part.value) for part in estimates["U3.loss"](pd.DataFrame(table))] == [("ru, pos", -0.1)]


def test_every_premise_that_is_not_met_is_told_of():
    rules = [rule(given=True, name="learnt"), rule(given=True, name="apart"), rule(name="other")]
    found = decided(rules, {"learnt": [part(-2, -1)], "apart": [part(-2, -1, of="a, b"), part(-2, -1, of="c")],
                            "other": [part(1, 2), part(1, 2, seed=1)]})  # fmt: skip
    assert found == (OPEN, "what it presupposes is not met: a statistic (fr), nor a statistic (a, b; c)")


LAYERS = (0, 1, 2, 4, 6, 8)
UNTUNED = ("encoder", "span")


def concept_rows(kind, measure, values, *, to="de", pair="", state="", stack="", seeds=(0, 1), source="en", half=0.004):
    state = state or ("before" if kind in UNTUNED else "after")
    return [
        {"kind": kind, "pair": pair, "seed": seed, "state": state, "pooling": stack, "layer": layer, "source": source,
         "target": to, "measure": measure, "value": value, "low": value - half, "high": value + half, "n": 600}
        for seed in seeds
        for layer, value in zip(LAYERS, values, strict=False)
    ]  # fmt: skip


def concepts(*, gain=0.1, decoder=0.01, last=0.1, form=0.1, swept=1.0, overlap=0.1, apart=0.02):
    """A study in which everything is as published, unless one thing is said to be otherwise."""
    rising = [0.0, 0.02, 0.05, 0.1, 0.12, 0.11]
    rows = []
    for kind, score in (("ner", "ner f1"), ("sentiment", "sentiment accuracy")):
        rows += concept_rows(kind, score, [0.8], to="en")
    # what is without labels scores by how near it is, and gains by it
    near = {"de": 0.0, "fr": 0.02, "es": 0.01, "ar": 0.0}
    for to, more in near.items():
        curves = {"encoder": rising, "ner": [value + gain + more * (gain > 0) for value in rising]}
        rows += concept_rows("ner", "ner f1", [0.5 + more], to=to)
        for kind, values in curves.items():
            rows += concept_rows(kind, "calign", values, to=to)
            rows += concept_rows(kind, "calign, match 0.7", [swept * value for value in values], to=to)
            rows += concept_rows(kind, "colap", [0.5, 0.5, 0.5, 0.5, 0.5, 0.45], to=to)
        tuned = [value + gain + more * (gain > 0) for value in rising]
        rows += concept_rows("span", "calign", rising, to=to, stack="encoder")
        rows += concept_rows("span", "calign", [0.0] * 6, to=to, stack="encoder", state="random")
        rows += concept_rows("span", "calign", [decoder] * 6, to=to, stack="decoder")
        rows += concept_rows("translation", "calign", tuned, to=to, stack="encoder", pair="de-en")
        rows += concept_rows("translation", "translation bleu", [0.2 + more], to=f"{to}-en", pair="de-en")
    rows += concept_rows("sentiment", "calign", [value + gain for value in rising])
    for kind in ("encoder", "ner"):
        rows += concept_rows(kind, "suffix", [0.2 + form, 0.2 + form, 0.2 + form, 0.2, 0.2, 0.2], to="")
    for to, height in {"fr": 0.8, "de": 0.5, "ar": 0.25}.items():
        rows += concept_rows("span", "colap", [height] * 6, to=to, stack="decoder")
        rows += concept_rows("span", "colap", [0.3] * 6, to=to, stack="encoder")
        own = {"stack": "encoder", "pair": f"{to}-en", "to": to}
        rows += concept_rows("translation", "colap", [0.3 + overlap] * 6, **own)
        if to != "de":
            rows += concept_rows("translation", "translation bleu", [0.2], to=f"{to}-en", pair=f"{to}-en")
            rows += concept_rows(
                "translation", "colap", [0.3 + overlap + apart] * 6, to=to, stack="encoder", pair="de-en"
            )
    rows += concept_rows("translation", "colap", [0.5] * 5 + [last], stack="decoder", pair="de-en")
    return results(find("concepts"), rows)


@pytest.mark.parametrize("name", [f"C{i}" for i in range(1, 11)])
def test_what_was_published_of_concepts_holds_where_it_is_planted(name):
    assert judge(claim(name), concepts()).verdict == HOLDS


@pytest.mark.parametrize(
    ("name", "planted_", "verdict"),
    [
        ("C2", {"gain": -0.1}, FAILS),
        ("C3", {"gain": -0.1}, FAILS),
        ("C4", {"decoder": 0.08}, FAILS),
        ("C4", {"decoder": 0.2}, FAILS),
        ("C6", {"last": 0.45}, FAILS),
        ("C7", {"form": -0.1}, FAILS),
        ("C8", {"swept": -1.0}, FAILS),
        ("C9", {"overlap": -0.1}, FAILS),
        ("C10", {"apart": 0.3}, FAILS),
        ("C10", {"apart": 0.1}, OPEN),
    ],
)
def test_what_is_otherwise_is_found_to_be(name, planted_, verdict):
    assert judge(claim(name), concepts(**planted_)).verdict == verdict
