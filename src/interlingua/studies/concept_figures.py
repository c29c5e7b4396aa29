"""Figures of the study `concepts`, in the form of the paper's own: from its table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlingua.models.load import DECODER, ENCODER
from interlingua.report.concept_tables import ACROSS
from interlingua.studies.concept_claims import BASE, MANY, NER, SCORES, SECOND, SENTIMENT, SPAN, TRANSLATION
from interlingua.studies.estimates import chosen
from interlingua.studies.measured import AFTER, RANDOM

if TYPE_CHECKING:
    import pandas as pd

NAMED = {"": "one-stack", ACROSS: "between"}
STACKS = {
    "": "an encoder",
    ENCODER: "an encoder-decoder: its encoder",
    DECODER: "an encoder-decoder: its decoder",
    ACROSS: "an encoder-decoder: between its stacks",
}
# What the paper's figures show, by measure and stack.
PUBLISHED = {
    ("calign", ""): "Published, tuned on entities: up to 0.42 in German.",
    ("calign", ENCODER): "Published: up to 0.2 before tuning.",
    ("calign", DECODER): "Published: below 0.03 before tuning.",
    ("calign", ACROSS): "The encoder's concepts of English against the decoder's of the other language.",
    ("colap", ""): "Published: about 0.5 at its highest.",
    ("colap", ENCODER): "Published: about 0.5 at its highest.",
    ("colap", DECODER): "Published: fr about 0.8, ar about 0.25 before tuning; below 0.2 at the end when tuned.",
}


def figures(table: pd.DataFrame) -> dict[str, Any]:
    """As in the paper: CALIGN and COLAP by layer, base and tuned; form and meaning; BLEU beside the published."""
    from interlingua.studies.drawn import CALLED, beside_published, by_layer

    english = table[(table["source"] == "en") | table["measure"].isin(SCORES.values())]
    named = english.assign(model=[_called(*row) for row in zip(english["kind"], english["pair"], strict=True)])
    trained_, random = named[named["state"] != RANDOM], named[named["state"] == RANDOM]
    one_stack = [BASE, NER, SENTIMENT]
    made = {}
    for (measure, stack), note in PUBLISHED.items():
        mine, untrained = (chosen(some, measure=measure, pooling=stack) for some in (trained_, random))
        number = {"calign": "Figures 2 and 4: CALIGN", "colap": "Figures 7 and 24: COLAP"}[measure]
        made[f"{measure}-{NAMED.get(stack, stack)}"] = by_layer(
            mine, "model", f"{number}, {STACKS[stack]}", note, random=untrained
        )  # fmt: skip
    form = trained_[trained_["measure"].isin(["suffix", "lexical"]) & trained_["kind"].isin(one_stack)]
    form = form[form["target"] == ""].drop_duplicates(["model", "seed", "measure", "layer"])
    made["form"] = by_layer(
        form.assign(target=form["measure"] + " concepts"), "model", "Figure 9: concepts of form, English",
        "Published: falling with depth.", head="",
    )  # fmt: skip
    for measure in ("calign", "colap"):
        made[f"thresholds-{measure}"] = by_layer(
            _swept(table, measure), "threshold", f"Figure 30: {CALLED[measure]} under other thresholds",
            "The encoder tuned on entities, English and German. Published: the same order.", head="",
        )  # fmt: skip
    made["bleu"] = _translated(chosen(table, measure=SCORES[TRANSLATION]))
    for kind in (NER, SENTIMENT):
        made[f"{kind}-scores"] = beside_published(
            chosen(trained_, measure=SCORES[kind]), "model", "", f"Scores: {kind}"
        )
    return made


def _swept(table: pd.DataFrame, measure: str) -> pd.DataFrame:
    """A panel a threshold, from its lowest setting to its highest."""
    mine = table[table["measure"].str.startswith(f"{measure}, ") & (table["state"] == AFTER)]
    mine = mine[(mine["kind"] == NER) & (mine["source"] == "en") & (mine["target"] == SECOND)]
    if not len(mine):
        return mine
    told = mine["measure"].str.removeprefix(f"{measure}, ").str.partition(" ")
    panels = {name: sorted(dict.fromkeys(some), key=float) for name, some in told.groupby(0, sort=False)[2]}
    orders = ("lowest", "second", "third", "highest")
    found = mine.assign(
        measure=measure,
        target=[f"{name}: {', '.join(panels[name])}" for name in told[0]],
        threshold=[
            orders[-1] if value == panels[name][-1] else orders[panels[name].index(value)]
            for name, value in zip(told[0], told[2], strict=True)
        ],
    )
    # the legend names what it meets first first
    return found.sort_values("target", key=lambda names: -names.str.count(","), kind="stable")


def _translated(table: pd.DataFrame) -> Any:
    from interlingua.studies.drawn import beside_published

    tuned = set(table["pair"]) - {MANY}
    shown = table[table["target"].str.endswith("-en")]
    setups = [
        "many-to-many" if pair == MANY and target in tuned else "tuned" if pair == target else "zero-shot"
        for pair, target in zip(shown["pair"], shown["target"], strict=True)
    ]
    return beside_published(
        shown.assign(setup=setups), "setup", "concepts bleu", "Translation into English: BLEU (TED was published)",
        langs=list(dict.fromkeys(shown["target"])),
    )  # fmt: skip


def _called(kind: str, pair: str) -> str:
    usual = {BASE: "base", SPAN: "base", NER: "tuned on entities", SENTIMENT: "tuned on sentiment"}
    return usual.get(kind) or (f"tuned {pair}" if pair != MANY else "tuned many-to-many")
