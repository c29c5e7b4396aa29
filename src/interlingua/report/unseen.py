"""The page of `interlingua unseen`: what a language needs, in words that a linguist can read, and figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from interlingua.report.framed import Framed, table_of
from interlingua.report.rows import printable
from interlingua.report.theme import MARKED, Figure, Rows, alt, themed
from interlingua.report.transfer_tables import FREQUENT
from interlingua.report.unseen_tables import COLUMNS, UnseenTables

PAGE = "unseen.html"
OWN = "its own script"
# Room for long labels, where a browser's letters are wider than those the picture was measured with.
ROOM = {"left": 45, "right": 45, "top": 6, "bottom": 6}
# Arms in words, from what knows least to what knows most.
NAMES = {
    "bilstm": "BiLSTM, no pretraining",
    "monolingual": "model of this language alone",
    "multilingual": "the model, fine-tuned",
    "adapted": "the model, adapted, fine-tuned",
}
_MEANT = {
    "easy": "fine-tuned as it is, the model beats what was trained without it",
    "intermediate": "the model beats what was trained without it, but only once it is adapted to raw text",
    "hard": "even adapted, the model does not beat what was trained without it",
    "not easy": "as it is, the model does not beat what was trained without it; adapting it was not tried",
}
_AGAINST = {"muller": "a BiLSTM without pretraining", "strict": "a BiLSTM, and a model of this language alone"}


def told(tables: UnseenTables) -> list[tuple[str, str]]:
    """What was found, in words: a heading and a sentence or two each."""
    return [*_advice(tables), *_kinds(tables), *_changes(tables), *_expected(tables), *_read(tables), *_careful(tables)]


def _advice(tables: UnseenTables) -> Iterator[tuple[str, str]]:
    for r in tables.outcome.itertuples():
        rows = tables.by_arm(r.task).set_index(["arm", "scheme"])
        best = rows.loc[(r.best_arm, r.best_scheme)]
        others = ", ".join(
            f"{NAMES[arm]}{f' ({scheme})' if scheme else ''} {row.value:.1%}"
            for (arm, scheme), row in rows.iterrows()
            if arm in NAMES and (arm, scheme) != (r.best_arm, r.best_scheme)
        )
        where = f" ({r.best_scheme})" if r.best_scheme else ""
        usual = rows["value"].get((FREQUENT, ""), 0.0)
        low = f" That is no more than the most frequent tag of each word ({usual:.1%}): little was learnt."
        yield (
            f"{tables.language}, {r.task}: {r.found_advice}",
            f"{_capital(NAMES[r.best_arm])}{where}: {best.value:.1%} {tables.metric(r.task)}"
            + (
                f", the best, or no worse than the best beyond chance and less work. Others: {others}."
                if others
                else ". Nothing else was run to set it beside."
            )
            + (low if best.value <= usual else ""),
        )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _kinds(tables: UnseenTables) -> Iterator[tuple[str, str]]:
    for (task, scheme), rows in tables.verdicts.groupby(["task", "scheme"], sort=False):
        by_rule = {r.rule: r for r in rows.itertuples()}
        first = by_rule["muller"]
        tie = " It hangs on a tie: with more test sentences it may turn out easier." if first.tie else ""
        also = ""
        if "strict" in by_rule:
            strict = by_rule["strict"]
            by = ", by a tie" if strict.tie else ""
            also = f" Set against {_AGAINST['strict']} (rule strict) it is {strict.kind}{by}."
        yield (
            f"{first.kind.capitalize()}: {task}, in {scheme or OWN}",
            f"By the rule of Muller et al. 2021 ({_AGAINST['muller']}): {_MEANT[first.kind]}.{tie}{also}",
        )


def _changes(tables: UnseenTables) -> Iterator[tuple[str, str]]:
    rows = tables.comparisons
    within = rows[rows["scheme"] == rows["against_scheme"]]
    for what, chosen in (
        ("Adapting to raw text", within[(within["arm"] == "adapted") & (within["against"] == "multilingual")]),
        ("Another script", rows[(rows["arm"] == rows["against"])]),
    ):
        if not len(chosen):
            continue
        each = "; ".join(
            f"{r.task}, {NAMES[r.arm] if r.arm == r.against else r.scheme or OWN}: {100 * r.difference:+.1f} points "
            f"({100 * r.low:+.1f} to {100 * r.high:+.1f}), {r.outcome}"
            for r in chosen.itertuples()
        )
        scheme = f" ({tables.config['scheme']})" if what == "Another script" else ""
        yield f"{what}{scheme}: {_sign(chosen)}", f"{each}. Intervals (95%) are of sentences drawn again."


def _sign(rows: Any) -> str:
    found = set(rows["outcome"])
    if found == {"better"}:
        return "helps"
    if found == {"worse"}:
        return "harms"
    return "no difference beyond chance" if found == {"a tie"} else "it depends"


def _expected(tables: UnseenTables) -> Iterator[tuple[str, str]]:
    hoped = tables.expectation
    came = ", ".join(f"{r.task} {r.found or 'not judged'}" for r in tables.outcome.itertuples())
    right = [bool(r.kept) for r in tables.outcome.itertuples() if r.found == r.found and r.found]
    verdict = "in part" if any(right) and not all(right) else "as it came" if all(right) else "not as it came"
    advice = ", ".join(dict.fromkeys(tables.outcome["found_advice"]))
    yield (
        f"Expected before anything was run: {hoped['kind']}, {verdict if right else 'and not judged'}",
        f"{_capital('; '.join(hoped['reasons']))}. Found: {came}. Advice then: {hoped['advice']}; now: {advice}.",
    )


def _read(tables: UnseenTables) -> Iterator[tuple[str, str]]:
    rows = tables.coverage
    own = rows[rows["what"] == "the language"].iloc[0]
    seen = rows[rows["what"] == "seen"]
    near = ", ".join(f"{r.language} {r.near:.0%}" for r in seen[:3].itertuples())
    written = seen.dropna(subset=["near_written"]).sort_values("near_written", ascending=False)[:3]
    other = ", ".join(f"{r.language} {r.near_written:.0%}" for r in written.itertuples())
    match = seen.sort_values("matching", ascending=False)[:3] if seen["matching"].notna().any() else seen[:0]
    found = ", ".join(f"{r.language} {r.matching:.1%}" for r in match.itertuples())
    yield (
        f"A word is cut into {own['fertility']:.1f} pieces, and {own['unknown']:.0%} of the pieces are unknown",
        f"Seen languages: {seen['fertility'].min():.1f} to {seen['fertility'].max():.1f}. {own['letters']:.0%} of its "
        f"letters are in the vocabulary. The sentences nearest to its own are {near}"
        + (f"; transliterated {other}." if other else ".")
        + (f" Sentences that find their translation: {found}." if found else ""),
    )
    example = rows[rows["what"] == "example"]["language"].tolist()
    for i in range(0, len(example) - 1, 2):
        where = f"in {rows[rows['what'] == 'transliterated']['scheme'].iloc[0]}" if i else "as it is written"
        yield (
            f"How the model reads a sentence, {where}",
            f"{example[i]} — {example[i + 1]} (?: a piece it has no name for)",
        )


def _careful(tables: UnseenTables) -> Iterator[tuple[str, str]]:
    config = tables.config
    if left := [step for step in tables.plan if step["left_out"]]:
        each = "; ".join(
            f"{step['arm']}{', ' + step['scheme'] if step['scheme'] else ''}: {step['left_out']}" for step in left
        )
        yield "Not everything was run", f"{each}."
    for task in tables.tasks:
        rows = tables.by_arm(task)
        usual = rows[rows["arm"] == FREQUENT]["value"]
        below = [r.arm for r in rows.itertuples() if r.arm in NAMES and len(usual) and r.value < usual.iloc[0]]
        if below:
            yield (
                f"{task}: below the most frequent tag of each word ({usual.iloc[0]:.1%})",
                f"{', '.join(dict.fromkeys(below))}: tuned too little, perhaps; more --epochs may change it.",
            )
        mine = tables.scores[(tables.scores["task"] == task) & tables.scores["highest_rate"].eq(other=True)]
        if len(mine):
            arms = ", ".join(dict.fromkeys(f"{r.arm}{f' ({r.scheme})' if r.scheme else ''}" for r in mine.itertuples()))
            yield (
                f"{task}: tuned best at the highest rate that was tried",
                f"{arms}: more --epochs, or a higher --rate, may do better still.",
            )
    if tables.language in config["beside"][1] and config["scheme"]:
        yield f"{tables.language} is among the languages taken to be seen", "This is a test of the script."
    if len(tables.pretrained):
        yield (
            "Language models were made once",
            "Another draw may be better or worse: differences from adapted and monolingual models have that in them.",
        )
    if not config["raw"]["sources"] and len(tables.pretrained):
        yield "No raw text was given", "What the language models learnt from is the sentences that were tuned on."
    few = min(rows[2][1] for rows in config["tasks"].values())
    if few < 200:
        yield f"Judged by {few} sentences", "Few: ties are likely, and not because arms are equal."
    if config["seeds"] == 1:
        yield (
            "One seed",
            "Another draw of heads and of the order of sentences may move every score by a point or two.",
        )


def scores(tables: UnseenTables) -> Figure:
    """Every arm in each script, with the interval of sentences; dots are seeds, a tick the most frequent tag."""
    made: list[dict[str, Any]] = []
    for task in tables.tasks:
        mine = tables.scores[(tables.scores["task"] == task) & (tables.scores["metric"] == tables.metric(task))]
        usual = mine[mine["arm"] == FREQUENT]["value"]
        for r in tables.by_arm(task).itertuples():
            if r.arm in NAMES:
                seeds = mine[(mine["arm"] == r.arm) & (mine["scheme"] == r.scheme)]["value"].tolist()
                made += [
                    {"task": f"{task}, {tables.metric(task)}", "arm": NAMES[r.arm], "script": r.scheme or OWN,
                     "value": float(r.value), "low": float(r.low), "high": float(r.high), "seed": float(seed),
                     "usual": float(usual.iloc[0]) if len(usual) else None}
                    for seed in seeds
                ]  # fmt: skip
    scripts = [OWN, *([tables.config["scheme"]] if tables.config["scheme"] else [])]
    y = alt.Y("arm:N", sort=list(NAMES.values()), title=None, axis=alt.Axis(labelLimit=260))
    colour = alt.Color("script:N", sort=scripts, title=None, legend=alt.Legend() if len(scripts) > 1 else None)
    base = alt.Chart().encode(y)
    shifted = base.encode(alt.YOffset("script:N", sort=scripts)) if len(scripts) > 1 else base
    layers = [
        shifted.mark_bar().encode(alt.X("mean(value):Q", title=None, scale=alt.Scale(domainMin=0)), color=colour),
        shifted.mark_rule().encode(alt.X("mean(low):Q"), alt.X2("mean(high):Q")),
        shifted.mark_point(style=MARKED, size=18, filled=True, opacity=0.8).encode(alt.X("seed:Q")),
    ]
    said = ["Mean over seeds; line: 95% interval of test sentences; dots: seeds."]
    if any(row["usual"] is not None for row in made):
        layers.append(alt.Chart().mark_rule(style=MARKED, strokeDash=[4, 3]).encode(alt.X("mean(usual):Q")))
        said.append("Dashed: the most frequent tag of each word.")
    chart = alt.layer(*layers, data=Rows(printable(made))).properties(width=360, height=alt.Step(20))
    panels = chart.facet(alt.Row("task:N", sort=None, title=None))
    return themed(panels.properties(padding=ROOM, title=printable({"text": _title(tables), "subtitle": said})))


def changes(tables: UnseenTables) -> Figure | None:
    """What one arm has over another, in points, with intervals: beyond the line of 0 it is beyond chance."""
    if not len(tables.comparisons):
        return None
    made = [
        {"task": str(r.task), "what": _pair(r), "points": 100 * float(r.difference), "low": 100 * float(r.low),
         "high": 100 * float(r.high), "outcome": str(r.outcome)}
        for r in tables.comparisons.itertuples()
    ]  # fmt: skip
    base = alt.Chart().encode(
        alt.Y("what:N", sort=None, title=None, axis=alt.Axis(labelLimit=420)),
        color=alt.Color("outcome:N", sort=["better", "a tie", "worse"], title=None),
    )
    x = alt.X("points:Q", title="points")
    zero = alt.Chart().mark_rule(style=MARKED).encode(x=alt.datum(0))
    layers = (zero, base.mark_rule(strokeWidth=2).encode(alt.X("low:Q", title="points"), alt.X2("high:Q")),
              base.mark_point(filled=True, size=50).encode(x))  # fmt: skip
    chart = alt.layer(*layers, data=Rows(printable(made))).properties(width=320, height=alt.Step(20))
    said = ["The first less the second, on the same sentences; line: 95% interval."]
    panels = chart.facet(alt.Row("task:N", sort=None, title=None))
    return themed(panels.properties(padding=ROOM, title={"text": "Which arm is better", "subtitle": said}))


def _pair(r: Any) -> str:
    if r.arm == r.against:
        return f"{r.arm}: {r.scheme} over {OWN}"
    if r.scheme != r.against_scheme:
        return f"{r.arm}, {r.scheme or OWN} over {r.against}, {r.against_scheme or OWN}"
    return f"{r.arm} over {r.against}{f', {r.scheme}' if r.scheme else ''}"


def reading(tables: UnseenTables) -> Figure:
    """Sub-words a word and unknown ones, beside languages that the model has seen."""
    rows = tables.coverage[tables.coverage["what"] != "example"]
    made = [
        {"language": f"{r.language}{f' ({r.scheme})' if r.scheme else ''}", "what": str(r.what),
         "measure": measure, "value": float(value)}
        for r in rows.itertuples()
        for measure, value in (("sub-words a word", r.fertility), ("unknown, %", 100 * r.unknown),
                               ("single letters, %", 100 * r.single))
    ]  # fmt: skip
    order = list(dict.fromkeys(row["language"] for row in made))
    chart = alt.Chart(Rows(printable(made))).mark_bar().encode(
        alt.X("value:Q", title=None),
        alt.Y("language:N", sort=order, title=None),
        color=alt.Color("what:N", sort=["the language", "transliterated", "seen"], title=None),
    ).properties(width=170, height=alt.Step(17))  # fmt: skip
    panels = chart.facet(
        alt.Column("measure:N", sort=["sub-words a word", "unknown, %", "single letters, %"], title=None)
    ).resolve_scale(x="independent")
    said = [f"Seen languages: {tables.config['beside'][0]}, the nearest first."]
    return themed(panels.properties(padding=ROOM, title={"text": "How the tokenizer reads it", "subtitle": said}))


def _title(tables: UnseenTables) -> str:
    seen = tables.language in tables.config["beside"][1]
    return f"{tables.language}, {'seen by' if seen else 'new to'} {tables.config['model']}"


def publish_unseen(tables: UnseenTables, folder: Path, *, formats: Sequence[str] = ("svg", "png")) -> Path:
    """The figures and the page into the folder; where the page is."""
    figures = {"scores": scores(tables), "comparisons": changes(tables), "coverage": reading(tables)}
    made = Framed(
        name="",
        brand="Interlingua unseen",
        title=_title(tables),
        over="Over arms",
        told=told(tables),
        figures={name: figure for name, figure in figures.items() if figure is not None},
        data={},
        table=table_of(tables.scores, COLUMNS),
        methods=methods(tables),
        config=tables.config,
    )
    return made.publish(folder / PAGE, formats)


def methods(tables: UnseenTables) -> str:
    """A paragraph for a paper."""
    config = tables.config
    how, raw = config["tuning"], config["raw"]
    sets = "; ".join(
        f"{task}: {rows[0][1]:,} sentences of {rows[0][0]}, {rows[1][1]:,} chose the epoch, judged by {rows[2][1]:,}"
        for task, rows in config["tasks"].items()
    )
    text = ", ".join(raw["sources"]) or "the sentences that were tuned on"
    made = "; ".join(
        f"{r.arm}{f' ({r.scheme})' if r.scheme else ''} {int(r.lines):,} lines, {int(r.updates):,} updates, best after "
        f"{int(r.at):,}, {r.bits:.2f} bits a character of held-out lines"
        for r in tables.pretrained.itertuples()
    )
    seeds = "one seed" if config["seeds"] == 1 else f"{config['seeds']} seeds of tuning"
    also = f" Text was also written in another script ({config['scheme']})." if config["scheme"] else ""
    models = (
        f" Raw text: {raw['lines']:,} lines, {raw['characters']:,} characters ({text}), less the lines that hold a "
        f"sentence which is judged by. A monolingual model has the size {config['size']} and a vocabulary of its own; "
        f"adaptation goes on with the model's own objective and vocabulary ({made}); each was made once."
        if made
        else ""
    )
    rates = "the rate that was asked for" if how["rate"] else (
        f"the best of {len(config['rates'])} rates on development sentences (with the first seed)"
    )  # fmt: skip
    return (
        f"{sets}.{also}{models} Models were tuned for {how['epochs']} epochs in batches of {how['batch']}, AdamW, "
        f"{how['warmup']:.0%} warm-up, a {how['schedule']} schedule, {rates}; the BiLSTM for {max(30, how['epochs'])} "
        f"epochs, or until 5 were no better; {seeds}. Intervals (95%) are of test sentences drawn again, of "
        f"differences on the same ones; a difference is a tie where its interval holds 0. "
        f"Signature: {tables.signature}."
    )
