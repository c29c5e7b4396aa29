"""The report of `interlingua transfer`: scores by language, gaps, and what is lost where layers are drawn anew."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlingua.errors import FormatError, InputError
from interlingua.report.framed import Framed
from interlingua.report.page import shown
from interlingua.report.rows import printable
from interlingua.report.tables import CONFIG, SCORES, harmless, pandas, whole
from interlingua.report.theme import MARKED, Figure, Rows, alt, themed

if TYPE_CHECKING:
    import pandas as pd

PAGE, DROPS = "transfer.html", "drops.csv"
# The rows of a model as it is, and of the tag that each word had most often.
WHOLE, FREQUENT = "", "most frequent tag"
COLUMNS = (
    "init", "seed", "language", "set", "metric", "value", "low", "high", "gap", "sentences", "unknown", "lost", "new",
    "development", "epoch",
)  # fmt: skip
DROPPED = ("init", "language", "source", "drop", "low", "high", "verdict")
# A share of unknown tokens above which a tokenizer does not know a language.
UNKNOWN = 0.05


@dataclass(frozen=True)
class TransferTables:
    """Scores, what is lost without layers, and what was asked for."""

    scores: pd.DataFrame
    drops: pd.DataFrame
    config: Mapping[str, Any]

    @classmethod
    def of(cls, config: Mapping[str, Any], scores: Sequence[Any], drops: Sequence[Any]) -> TransferTables:
        """From rows."""
        pd = pandas()
        return cls(pd.DataFrame(scores, columns=list(COLUMNS)), pd.DataFrame(drops, columns=list(DROPPED)), config)

    @property
    def metric(self) -> str:
        """The score that is the task's own."""
        return str(self.scores["metric"].iloc[0])

    @property
    def source(self) -> str:
        """The language that was tuned on."""
        return str(self.config["train"][0][0])

    def by_language(self, init: str = WHOLE) -> pd.DataFrame:
        """The task's own score of every language, the mean over seeds."""
        rows = self.scores[(self.scores["metric"] == self.metric) & (self.scores["init"] == init)]
        return rows.groupby("language", sort=False).mean(numeric_only=True).reset_index()


def write_transfer(tables: TransferTables, folder: Path) -> None:
    """Into a folder, each file whole or not at all."""
    whole(folder / f"{SCORES}.parquet", tables.scores.to_parquet(index=False))
    whole(folder / f"{SCORES}.csv", harmless(tables.scores).to_csv(index=False).encode())
    whole(folder / DROPS, tables.drops.to_csv(index=False).encode())


def read_transfer(folder: Path) -> TransferTables:
    """The tables of a folder that `interlingua transfer` wrote."""
    pd = pandas()
    if not (folder / DROPS).exists():
        raise InputError(f"{folder} holds no transfer: it has no {DROPS}")
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        drops = pd.read_csv(folder / DROPS, dtype={"init": str})
        return TransferTables(pd.read_parquet(folder / f"{SCORES}.parquet"), drops, config)
    except (OSError, ValueError) as error:
        raise FormatError(folder, None, f"it cannot be read ({error}): run it again") from error


def told(tables: TransferTables) -> list[tuple[str, str]]:
    """What was found, in words: a heading and a sentence or two each."""
    rows, usual = tables.by_language(), tables.by_language(FREQUENT).set_index("language")["value"]
    own = rows[rows["language"] == tables.source].iloc[0]
    others = rows[rows["language"] != tables.source].sort_values("value", ascending=False)
    found = [
        (
            f"{own['value']:.1%} in {tables.source}, where it was tuned",
            f"{tables.metric}, 95% interval {own['low']:.1%} to {own['high']:.1%}, {int(own['sentences']):,} sentences."
            + (f" The most frequent tag of each word gives {usual[tables.source]:.1%}." if len(usual) else ""),
        )
    ]
    if len(others):
        each = ", ".join(
            f"{r.language} {r.value:.1%} ({r.gap * 100:+.1f} points)"
            + (" no more than the most frequent tag" if r.language in usual and r.low <= usual[r.language] else "")
            for r in others.itertuples()
        )
        found.append((f"{others['value'].mean():.1%} in languages without labels", f"{each}."))
    for verdict, parts in tables.drops.drop_duplicates("init").groupby("verdict", sort=False):
        names = ", ".join(map(str, parts["init"]))
        found.append((f"Blocks {names}: {verdict}", _MEANT[str(verdict)]))
    first = tables.scores[tables.scores["init"] == WHOLE].drop_duplicates("language")
    for r in first.itertuples():
        if r.unknown > UNKNOWN:
            text = f"{r.unknown:.0%} of its tokens are unknown to the tokenizer."
            found.append((f"Be careful with {r.language}", text))
        if r.lost:
            text = f"{int(r.lost):,} of its words have no token of their own, and are asked about all the same."
            found.append((f"Be careful with {r.language}", text))
        if r.new:
            found.append((f"Be careful with {r.language}", f"Training never showed {r.new}, which it has."))
    return found


_MEANT = {
    "critical": "Drawn anew, other languages lose and the source does not: what they hold is what transfer needs.",
    "hurts both": "Drawn anew, the source loses too: what they hold is needed for the task.",
    "not needed": "Drawn anew, other languages do not lose beyond chance.",
    "": "There is no other language to lose anything.",
}


def bars(tables: TransferTables) -> Figure:
    """The score of every language with its interval, the source first; a tick for the most frequent tag."""
    rows, usual = tables.by_language(), tables.by_language(FREQUENT).set_index("language")["value"]
    made = [
        {
            "language": str(r.language),
            "what": "source" if r.language == tables.source else "no labels",
            "value": float(r.value),
            "low": float(r.low),
            "high": float(r.high),
            "usual": float(usual[r.language]) if r.language in usual else None,
        }
        for r in rows.sort_values("value", ascending=False).itertuples()
    ]
    made.sort(key=lambda row: row["what"] != "source")
    x = alt.X("language:N", sort=None, title=None, axis=alt.Axis(labelAngle=0))
    scale = alt.Scale(domainMin=0)
    base = alt.Chart(Rows(printable(made))).encode(x)
    layers = [
        base.mark_bar().encode(
            alt.Y("value:Q", title=tables.metric, scale=scale), color=alt.Color("what:N", title=None)
        ),
        base.mark_rule().encode(alt.Y("low:Q"), alt.Y2("high:Q")),
    ]
    said = "Line: 95% interval."
    if len(usual):
        layers.append(base.mark_tick(style=MARKED, thickness=2, width=24).encode(alt.Y("usual:Q")))
        said += " Tick: the most frequent tag of each word."
    title = printable({"text": _title(tables), "subtitle": [said]})
    return themed(alt.layer(*layers).properties(title=title, width=alt.Step(44), height=260))


def heat(tables: TransferTables) -> Figure | None:
    """What every language loses where blocks are drawn anew."""
    if not len(tables.drops):
        return None
    made = [
        {
            "blocks": str(r.init),
            "language": str(r.language),
            "points": 100 * float(r.drop),
            "told": f"{100 * r.drop:+.1f}",
        }
        for r in tables.drops.itertuples()
    ]
    base = alt.Chart(Rows(printable(made))).encode(
        alt.X("blocks:N", sort=None, title="blocks drawn anew", axis=alt.Axis(labelAngle=0)),
        alt.Y("language:N", sort=None, title=None),
    )
    most = 100 * float(tables.drops["drop"].abs().max()) or 1.0
    colour = alt.Color("points:Q", title="points", scale=alt.Scale(scheme="redblue", domain=[-most, most]))
    text = base.mark_text().encode(text="told:N")
    title = printable(
        {"text": "What is lost without layers", "subtitle": ["Points of the score, less those of the whole model."]}
    )
    return themed(
        alt.layer(base.mark_rect().encode(colour), text).properties(
            title=title, width=alt.Step(54), height=alt.Step(26)
        )
    )


def figures(tables: TransferTables) -> dict[str, Figure]:
    """The figures that are worth a file."""
    lost = heat(tables)
    return {"scores": bars(tables), **({} if lost is None else {"drops": lost})}


def _title(tables: TransferTables) -> str:
    return f"{tables.config['task']}: {tables.config['model']}, tuned on {tables.source}"


def publish_transfer(tables: TransferTables, folder: Path, *, formats: Sequence[str] = ("svg", "png")) -> Path:
    """The figures and the page into the folder; where the page is."""
    made = Framed(
        name="",
        brand="Interlingua transfer",
        title=_title(tables),
        over="Over languages",
        told=told(tables),
        figures=figures(tables),
        data={},
        table=_table(tables.scores),
        methods=methods(tables),
        config=tables.config,
    )
    return made.publish(folder / PAGE, formats)


def _table(scores: pd.DataFrame) -> str:
    columns = [c for c in COLUMNS if scores[c].notna().any()]
    head = "".join(f'<th scope="col">{shown(c)}</th>' for c in columns)
    body = []
    for row in scores[columns].itertuples(index=False):
        cells = ("" if v is None or v != v else f"{v:.3f}" if isinstance(v, float) else str(v) for v in row)
        body.append("<tr>" + "".join(f'<td dir="auto">{shown(cell)}</td>' for cell in cells) + "</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def methods(tables: TransferTables) -> str:
    """A paragraph for a paper."""
    config = tables.config
    how = config["tuning"]
    _, name, rows, _ = config["train"][0]
    seeds = "one seed" if config["seeds"] == 1 else f"{config['seeds']} seeds"
    again = (
        " Blocks were drawn anew by the network's own initialiser before tuning (Muller et al. 2021)."
        if len(tables.drops)
        else ""
    )
    return (
        f"{config['model']} was tuned for {config['task']} on {rows:,} sentences of {name} ({tables.source}), "
        f"{how['epochs']} epochs in batches of {how['batch']}, AdamW with {how['warmup']:.0%} warm-up and a "
        f"{how['schedule']} schedule, the epoch chosen on development sentences of the source, {seeds}.{again} Scores "
        f"are {tables.metric}; intervals (95%) are of sentences drawn again; a gap is a score less that of the source."
    )
