"""The page of `interlingua transfer`: what was found, in words and figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from interlingua.report.framed import Framed, table_of
from interlingua.report.transfer_figures import figures
from interlingua.report.transfer_tables import BILSTM, COLUMNS, COMMON, FREQUENT, WHOLE, TransferTables

if TYPE_CHECKING:
    pass

PAGE = "transfer.html"
# A share of unknown tokens above which a tokenizer does not know a language.
UNKNOWN = 0.05


def told(tables: TransferTables) -> list[tuple[str, str]]:
    """What was found, in words: a heading and a sentence or two each."""
    return [*_scores(tables), *_layers(tables), *_similar(tables), *_neurons(tables), *_careful(tables)]


def _scores(tables: TransferTables) -> Iterator[tuple[str, str]]:
    rows, usual, common = tables.by_language(), tables.beside(FREQUENT), tables.beside(COMMON)
    own = rows[rows["language"] == tables.source].iloc[0]
    others = rows[rows["language"] != tables.source].sort_values("value", ascending=False)
    best = tables.settings
    known = (
        "no more than the most frequent tag of each word, which" if own["low"] <= usual.get(tables.source, -1) else ""
    )
    yield (
        f"{own['value']:.1%} in {tables.source}, where it was tuned",
        f"{tables.metric}, 95% interval {own['low']:.1%} to {own['high']:.1%}, {int(own['sentences']):,} sentences."
        + (f" Mean of the best {len(best)} settings: {'; '.join(best)}." if len(best) > 1 else "")
        + (
            f" That is {known} gives {usual[tables.source]:.1%}; the commonest tag of all {common[tables.source]:.1%}."
            if known
            else f" The most frequent tag of each word gives {usual[tables.source]:.1%}, the commonest tag of all "
            f"{common[tables.source]:.1%}."
            if usual
            else ""
        ),
    )
    if len(others):
        each = ", ".join(
            f"{r.language} {r.value:.1%} ({r.gap * 100:+.1f} points)"
            + (", no more than the most frequent tag" if r.low <= usual.get(r.language, -1) else "")
            for r in others.itertuples()
        )
        what = "pairs it was not tuned on" if tables.config["task"] == "translation" else "languages without labels"
        yield f"{others['value'].mean():.1%} in {what}", f"{each}."
    if scratch := tables.beside(BILSTM):
        more = own["value"] - scratch[tables.source]
        also = ", ".join(f"{lang} {value:.1%}" for lang, value in scratch.items() if lang != tables.source)
        yield (
            f"Pretraining is worth {100 * more:+.1f} points in {tables.source}",
            f"A BiLSTM that knows nothing, trained on the same sentences, reaches {scratch[tables.source]:.1%}"
            + (f"; in other languages {also}." if also else "."),
        )


def _layers(tables: TransferTables) -> Iterator[tuple[str, str]]:
    for verdict, parts in tables.drops.drop_duplicates("init").groupby("verdict", sort=False):
        names = ", ".join(map(str, parts["init"]))
        yield f"Blocks {names}: {verdict}", _MEANT["" if verdict != verdict else str(verdict)]


def _similar(tables: TransferTables) -> Iterator[tuple[str, str]]:
    if not len(tables.similarities):
        return
    measure = str(tables.similarities["measure"].iloc[0])
    mine = tables.similarities[tables.similarities["measure"] == measure]
    mean = mine.groupby(["state", "layer"])["value"].mean()
    last = int(mine["layer"].max())
    tops = {state: int(mean[state].idxmax()) for state in ("before", "after")}
    yield (
        f"Tuning takes {measure} at the last layer from {mean['before', last]:.2f} to {mean['after', last]:.2f}",
        f"Mean over {mine['language'].nunique()} languages. It is highest at layer {tops['before']} before "
        f"({mean['before', tops['before']]:.2f}) and {tops['after']} after ({mean['after', tops['after']]:.2f}).",
    )
    for state in ("before", "after"):
        found = tables.strongest(state, measure)
        if found is None:
            continue
        sure = "too few languages for a p-value" if found.p != found.p else (
            f"p {found.p:.3f}, {found.p_adjusted:.3f} for all layers looked at"
        )  # fmt: skip
        yield (
            f"{measure} {state} tuning goes with the gap at rho {found.rho:+.2f}",
            f"Spearman over {int(found.n)} languages at layer {int(found.layer)}, where it is highest; {sure}.",
        )
    yield from _foretold(tables, measure)


def _foretold(tables: TransferTables, measure: str) -> Iterator[tuple[str, str]]:
    mine = tables.foretold[tables.foretold["measure"] == measure]
    if not len(mine):
        return
    known = mine[mine["score"].notna()]
    error, usual = ((known[name] - known["score"]).abs().mean() for name in ("foretold", "usual"))
    held = int(((known["low"] <= known["score"]) & (known["score"] <= known["high"])).sum())
    verdict = "better than" if error < usual else "no better than"
    yield (
        f"Scores are foretold {verdict} by the mean of other languages",
        f"From {measure} before tuning they are off by {100 * error:.1f} points, by the mean of the others by "
        f"{100 * usual:.1f}. Intervals hold {held} of {len(known)}. Few languages: chance may do as well.",
    )
    for r in mine[mine["score"].isna()].itertuples():
        yield (
            f"{r.language}, which has no labels: {r.foretold:.1%}",
            f"Foretold from {int(r.languages)} languages; 80% interval {r.low:.1%} to {r.high:.1%}.",
        )


def _neurons(tables: TransferTables) -> Iterator[tuple[str, str]]:
    others = tables.neurons[tables.neurons["language"] != tables.source]
    if not len(others):
        return
    mean = others.groupby("kind")["change"].mean() * 100
    many = int(others["neurons"].iloc[0])
    yield (
        f"Neurons that languages share: {mean['shared']:+.1f} points without them",
        f"{many} a layer held at their means, mean over layers and languages without labels. Those of one language: "
        f"{mean['specific']:+.1f}; random ones: {mean['random']:+.1f}.",
    )


def _careful(tables: TransferTables) -> Iterator[tuple[str, str]]:
    first = tables.scores[tables.scores["init"] == WHOLE].drop_duplicates("language")
    for r in first.itertuples():
        if r.unknown > UNKNOWN:
            yield f"Be careful with {r.language}", f"{r.unknown:.0%} of its tokens are unknown to the tokenizer."
        if r.new:
            yield f"Be careful with {r.language}", f"Training never showed {r.new}, which it has."
    lost = ", ".join(f"{r.language} {int(r.lost):,}" for r in first.itertuples() if r.lost)
    if lost:
        text = "They were dropped by the tokenizer, or cut off, and are asked about all the same."
        yield f"Words without a token of their own: {lost}", text


_MEANT = {
    "critical": "Drawn anew, other languages lose and the source hardly: what they hold is what transfer needs.",
    "hurts both": "Drawn anew, the source loses too: what they hold is needed for the task.",
    "not needed": "Drawn anew, other languages do not lose beyond chance.",
    "": "There is no other language to lose anything.",
}


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
        figures=figures(tables, _title(tables)),
        data={},
        table=table_of(tables.scores, COLUMNS),
        methods=methods(tables),
        config=tables.config,
    )
    return made.publish(folder / PAGE, formats)


def methods(tables: TransferTables) -> str:
    """A paragraph for a paper."""
    config = tables.config
    how = config["tuning"]
    learnt = " and ".join(f"{rows:,} sentences of {name} ({lang})" for lang, name, rows, _ in config["train"])
    seeds = "one seed" if config["seeds"] == 1 else f"{config['seeds']} seeds"
    again = (
        " Blocks were drawn anew by the network's own initialiser before tuning (Muller et al. 2021)."
        if len(tables.drops)
        else ""
    )
    tried = (
        f" Of {len(config['grid']['settings'])} settings the best {config['grid']['best']} by development score are "
        "reported, as their mean."
        if config.get("grid")
        else ""
    )
    sure = "; p-values are by permutation of languages" if tables.relations["p"].notna().any() else ""
    near = (
        f" Similarity to {tables.source} is that of {config['parallel'][1]:,} rows of {config['parallel'][0]}, "
        f"mean pooling{sure}."
        if config.get("parallel")
        else ""
    )
    return (
        f"{config['model']} was tuned for {config['task']} on {learnt}, "
        f"{how['epochs']} {'epochs' if how['epochs'] > 1 else 'epoch'} in batches of {how['batch']}, "
        f"AdamW with {how['warmup']:.0%} warm-up and a "
        f"{how['schedule']} schedule, the epoch chosen on development sentences of the source, {seeds}.{again}{tried}"
        f"{near} Scores are {tables.metric}; intervals (95%) are of sentences drawn again; a gap is a score less that "
        f"of the source. Signature: {tables.signature}."
    )
