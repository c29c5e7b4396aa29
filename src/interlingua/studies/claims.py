"""Claims of the papers, the rule that decides each, and what results say of them.

A claim is decided by rules that were written down before its first run (`rules.tsv`): a statistic, which way it must
lie of a margin, and how many seeds that takes. A statistic has parts (a model, a language), and every part a value with
a 95 % interval for each seed.

    >        yes if the whole interval is above the margin, no if none of it is
    <        the other way round
    within   yes if the whole interval is between -margin and margin, no if it is all outside on one side

A part is met if every seed says yes, and broken if every seed says no. A claim **holds** if all parts of all its rules
are met, and **does not hold** if one is broken. It is **not decidable at this scale** otherwise, with fewer seeds than
the rule's `n`, or where what it presupposes (a rule that is `given`) is not met; and **not run** until its cells are.

Intervals are over sentences and pairs that were measured; what another seed would give is in the seeds, which are few.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from interlingua.errors import InputError, UnknownNameError
from interlingua.studies.study import SMOKE

if TYPE_CHECKING:
    from interlingua.studies.results import Results

HOLDS, FAILS, OPEN, NOT_RUN = "holds", "does not hold", "not decidable at this scale", "not run"
YES, NO, UNCLEAR = "yes", "no", "unclear"


@dataclass(frozen=True)
class Rule:
    """A statistic, which way it must lie of a margin, and whether it is only what the claim presupposes."""

    claim: str
    name: str
    statistic: str
    direction: str
    margin: float
    n: int
    given: bool

    def __post_init__(self) -> None:
        if self.direction not in (">", "<", "within"):
            raise InputError(f"{self.key}: {self.direction!r} is none of >, < and within")

    @property
    def key(self) -> str:
        """What its estimates are found by."""
        return f"{self.claim}.{self.name}"

    def answer(self, part: Part) -> str:
        """What one part of the statistic says."""
        low, high, margin = part.low, part.high, self.margin
        if not low <= high:  # an estimate that does not exist
            return UNCLEAR
        if self.direction == "within":
            inside, outside = -margin <= low and high <= margin, low > margin or high < -margin
        elif self.direction == ">":
            inside, outside = low > margin, high <= margin
        else:
            inside, outside = high < margin, low >= margin
        return YES if inside else NO if outside else UNCLEAR

    def __str__(self) -> str:
        sign = "within ±" if self.direction == "within" else f"{self.direction} "
        return f"{'given ' if self.given else ''}{self.statistic} {sign}{self.margin:g}" + (
            f", {self.n} seeds" if self.n > 1 and not self.given else ""
        )


@dataclass(frozen=True)
class Claim:
    """What a paper says, and how it is decided."""

    id: str
    study: str
    source: str
    text: str
    published: str
    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class Part:
    """An estimate: of what (a model, a language), with which seed, from how many sentences or concepts."""

    of: str
    seed: int
    value: float
    low: float
    high: float
    n: int = 0


@dataclass(frozen=True)
class Judgement:
    """A verdict, why it is what it is, the numbers behind it, and how large the models were that they are of."""

    claim: Claim
    verdict: str
    why: str
    parts: Mapping[str, tuple[Part, ...]]
    scale: str = ""

    @property
    def measured(self) -> str:
        """The numbers in a line: each rule with its parts, the mean over seeds, and what all their intervals span."""
        told = []
        for rule in self.claim.rules:
            by_name: dict[str, list[Part]] = {}
            for part in self.parts.get(rule.name, ()):
                by_name.setdefault(part.of, []).append(part)
            shown = []
            for name, some in by_name.items():
                mean = sum(part.value for part in some) / len(some)
                low, high = min(part.low for part in some), max(part.high for part in some)
                shown.append(f"{name} {mean:.3f} ({low:.3f} to {high:.3f})" if low <= high else f"{name} {mean:.3f}")
            if shown:
                told.append(f"{rule.name}: " + ", ".join(shown))
        return "; ".join(told)

    @property
    def n(self) -> str:
        """How many seeds, and how many sentences or concepts values are of."""
        some = [part for parts in self.parts.values() for part in parts]
        if not some:
            return ""
        counts = sorted({part.n for part in some if part.n})
        seeds = len({part.seed for part in some})
        many = f"{counts[0]:,}" + (f" to {counts[-1]:,}" if len(counts) > 1 else "") if counts else ""
        return f"{seeds} seed{'s' * (seeds != 1)}" + (f", {many} examples" if many else "")


def claims() -> tuple[Claim, ...]:
    """All of them, in the order of the papers."""
    by_claim: dict[str, list[Rule]] = {}
    for row in _rows("rules.tsv"):
        rule = Rule(
            row["claim"],
            row["name"],
            row["statistic"],
            row["direction"],
            float(row["margin"]),
            int(row["n"]),
            row["given"] == "given",
        )
        by_claim.setdefault(rule.claim, []).append(rule)
    return tuple(
        Claim(
            row["id"], row["study"], row["source"], row["claim"], row["published"], tuple(by_claim.get(row["id"], ()))
        )
        for row in _rows("claims.tsv")
    )


def claim(name: str) -> Claim:
    """One of them; an error that says what is close where there is none."""
    every = {each.id: each for each in claims()}
    if name not in every:
        raise UnknownNameError("claim", name, every)
    return every[name]


def _rows(name: str) -> list[dict[str, str]]:
    text = (files("interlingua.studies") / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))


def judge(asked: Claim, found: Results | None) -> Judgement:
    """What results say of a claim. It is not decided before all cells that it needs are there."""
    if not asked.rules:
        return Judgement(asked, NOT_RUN, "its rule is still to be written", {})
    if found is None or not len(found.table):
        return Judgement(asked, NOT_RUN, "", {})
    parts = {rule.name: tuple(found.study.estimates[rule.key](found.table)) for rule in asked.rules}
    if found.settings.size == SMOKE:
        return Judgement(asked, NOT_RUN, "the smallest size is there to see that it runs", parts, found.scale)
    needed = found.study.needs.get(asked.id)
    if left := [cell.name for cell in found.missing if needed is None or needed(cell)]:
        why = f"cells that it needs are not done: {len(left)}, such as {left[0]}"
        return Judgement(asked, NOT_RUN, why, parts, found.scale)
    verdict, why = decided(asked.rules, parts)
    return Judgement(asked, verdict, why, parts, found.scale)


def judge_all(asked: Claim, found: Sequence[Results]) -> list[Judgement]:
    """What results of every size say of a claim, as they are given; where none says anything, that it was not run."""
    every = [judge(asked, each) for each in found]
    return [each for each in every if any(each.parts.values())] or every[:1] or [judge(asked, None)]


def decided(rules: Sequence[Rule], parts: Mapping[str, Sequence[Part]]) -> tuple[str, str]:
    """The verdict of rules over their parts, and what decided it."""
    answers = {rule: dict(_answers(rule, parts[rule.name])) for rule in rules}
    unmet = []
    for rule, some in answers.items():
        lacking = [of for of, answer in some.items() if answer != YES] or ([] if some else ["no estimate"])
        if rule.given and lacking:
            unmet.append(f"{rule.statistic} ({'; '.join(lacking)})")
    if unmet:
        return OPEN, f"what it presupposes is not met: {', nor '.join(unmet)}"
    if nothing := [rule.name for rule, some in answers.items() if not some]:
        return OPEN, f"there is no estimate of {nothing[0]}"
    for rule in rules:
        seeds: dict[str, set[int]] = {}
        for part in parts[rule.name]:
            seeds.setdefault(part.of, set()).add(part.seed)
        if few := [of for of, some in seeds.items() if len(some) < rule.n]:
            return OPEN, f"{rule.n} seeds are needed: {rule.name} ({few[0]})"
    tests = {rule: some for rule, some in answers.items() if not rule.given}
    broken = [f"{rule.name} ({of})" for rule, some in tests.items() for of, answer in some.items() if answer == NO]
    if broken:
        return FAILS, "; ".join(broken)
    unclear = [f"{rule.name} ({of})" for rule, some in tests.items() for of, answer in some.items() if answer != YES]
    if unclear:
        return OPEN, f"intervals or seeds do not agree: {'; '.join(unclear)}"
    return HOLDS, ""


def _answers(rule: Rule, parts: Iterable[Part]) -> Iterable[tuple[str, str]]:
    """Each part by its seeds: yes if all say so, no if all say so."""
    by_name: dict[str, list[str]] = {}
    for part in parts:
        by_name.setdefault(part.of, []).append(rule.answer(part))
    for name, some in by_name.items():
        yield name, some[0] if len(set(some)) == 1 else UNCLEAR


def written(found: Sequence[Sequence[Judgement]]) -> str:
    """The page of claims, each with what every size says of it, the largest first: a table a paper, and the rules.

    A claim is counted once, with what the first size says at which it was decided or could have been.
    """
    papers: dict[str, list[Sequence[Judgement]]] = {}
    for some in found:
        papers.setdefault(some[0].claim.source.split()[0], []).append(some)
    first = [next((each.verdict for each in some if each.verdict != NOT_RUN), NOT_RUN) for some in found]
    counts = {verdict: first.count(verdict) for verdict in (HOLDS, FAILS, OPEN, NOT_RUN)}
    lines = [
        "# Claims",
        "",
        "Written by `interlingua study claims` from results, the papers' claims and the rules that decide them.",
        "",
        ", ".join(f"{verdict}: {n}" for verdict, n in counts.items()) + f"; {len(found)} in all. "
        "How a verdict comes about is in docs/replications.md; it is about models of the size that was run. A claim "
        "with a line for each of several sizes, the largest first, is counted by the largest at which all was run that "
        "it needs. What was measured is the mean over seeds, and in brackets what the 95 % intervals of all seeds "
        "span; examples are sentences, or what else is counted: concepts, and the layers or languages over which a "
        "mean or a correlation is taken.",
    ]
    for paper, theirs in papers.items():
        lines += [
            "",
            f"## {paper}",
            "",
            "| claim | what the paper says | published | measured here | n | scale | verdict |",
            "|---|---|---|---|---|---|---|",
        ]
        for each in (one for some in theirs for one in some):
            verdict = f"**{each.verdict}**" + (f": {each.why}" if each.why else "")
            where = each.claim.source.partition(" ")[2]
            cells = [
                each.claim.id + (f" ({where})" if where else ""), each.claim.text, each.claim.published,
                each.measured, each.n, each.scale, verdict,
            ]  # fmt: skip
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines += ["", "Rules:", ""]
        lines += [
            f"- {one.id}: " + ("; ".join(map(str, one.rules)) or "to be written before its first run")
            for one in (some[0].claim for some in theirs)
        ]
    return "\n".join(lines) + "\n"


def as_row(found: Judgement) -> dict[str, Any]:
    """For a program."""
    return {
        "claim": found.claim.id,
        "study": found.claim.study,
        "verdict": found.verdict,
        "why": found.why,
        "scale": found.scale,
        "measured": found.measured,
        "n": found.n,
        "rules": [
            {
                "name": rule.name,
                "statistic": rule.statistic,
                "direction": rule.direction,
                "margin": rule.margin,
                "seeds": rule.n,
                "given": rule.given,
                "parts": [asdict(part) for part in found.parts.get(rule.name, ())],
            }
            for rule in found.claim.rules
        ],
    }
