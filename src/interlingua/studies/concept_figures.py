"""Figures of the study `concepts`, in the form of the paper's own: from its table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlingua.models.load import DECODER, ENCODER
from interlingua.report.concept_tables import ACROSS
from interlingua.studies.concept_claims import BASE, MANY, NER, SCORES, SECOND, SENTIMENT, SPAN, TRANSLATION, USUAL
from interlingua.studies.estimates import chosen
from interlingua.studies.measured import AFTER, RANDOM

if TYPE_CHECKING:
    import pandas as pd

# By measure and stack: what a figure is called, of what it is, and what the paper's shows.
CURVES = {
    ("calign", ""): ("one-stack", "an encoder", "Figures 2 and 4, tuned on entities: up to 0.42 in German."),
    ("calign", ENCODER): ("encoder", "the encoder of two stacks", "Figures 2 and 4: up to 0.2 before tuning."),
    ("calign", DECODER): ("decoder", "the decoder of two stacks", "Figures 2 and 4: below 0.03 before tuning."),
    ("calign", ACROSS): ("between", "English in the encoder, the other language in the decoder", ""),
    ("colap", ""): ("one-stack", "an encoder", "Figures 7 and 24: about 0.5 at its highest."),
    ("colap", ENCODER): ("encoder", "the encoder of two stacks", "Figures 7 and 24: about 0.5 at its highest."),
    ("colap", DECODER): (
        "decoder", "the decoder of two stacks",
        "Figures 7 and 24: fr about 0.8, ar about 0.25 before tuning; below 0.2 at the end when tuned.",
    ),
}  # fmt: skip
# Settings of a threshold, by how many of them lie between it and the usual one.
SETTINGS = {-1: "lower", 0: "usual", 1: "higher", 2: "highest"}


def figures(table: pd.DataFrame) -> dict[str, Any]:
    """As in the paper: CALIGN and COLAP by layer, base and tuned; form and meaning; BLEU beside the published."""
    from interlingua.studies.drawn import CALLED, beside_published, by_layer

    english = table[(table["source"] == "en") | table["measure"].isin(SCORES.values())]
    named = english.assign(model=[_called(*row) for row in zip(english["kind"], english["pair"], strict=True)])
    trained_, random = named[named["state"] != RANDOM], named[named["state"] == RANDOM]
    made = {}
    for (measure, stack), (name, what, shown) in CURVES.items():
        mine, untrained = (chosen(some, measure=measure, pooling=stack) for some in (trained_, random))
        note = f"Published in {shown[0].lower()}{shown[1:]}" if shown else ""
        made[f"{measure}-{name}"] = by_layer(
            mine, "model", f"{CALLED[measure]}: {what}", note, random=untrained
        )  # fmt: skip
    made["form"] = by_layer(
        _of_form(trained_), "model", "Figure 9: concepts of form, English in its text with German",
        "Published: falling with depth.", random=_of_form(random), head="",
    )  # fmt: skip
    for measure in ("calign", "colap"):
        made[f"thresholds-{measure}"] = by_layer(
            _swept(table, measure), "setting", f"Figure 30: {CALLED[measure]} under other thresholds",
            "The encoder tuned on entities, English and German; no intervals. Published: the same order.", head="",
        )  # fmt: skip
    made["bleu"] = _translated(chosen(table, measure=SCORES[TRANSLATION]))
    for kind, chance in ((NER, None), (SENTIMENT, 1 / 3)):
        made[f"{kind}-scores"] = beside_published(
            chosen(trained_, measure=SCORES[kind]), "model", "", f"Scores: {kind}", chance=chance
        )
    return made


def _of_form(table: pd.DataFrame) -> pd.DataFrame:
    """Of English, which has a text with each language: in the first, as the rule has it."""
    mine = table[table["measure"].isin(["suffix", "lexical"]) & table["kind"].isin([BASE, NER, SENTIMENT])]
    mine = mine[mine["target"] == ""].drop_duplicates(["model", "seed", "measure", "layer"])
    return mine.assign(target=mine["measure"] + " concepts")


def _swept(table: pd.DataFrame, measure: str) -> pd.DataFrame:
    """A panel a threshold, a line a setting of it."""
    mine = table[table["measure"].str.startswith(f"{measure}, ") & (table["state"] == AFTER)]
    mine = mine[(mine["kind"] == NER) & (mine["source"] == "en") & (mine["target"] == SECOND)]
    if not len(mine):
        return mine
    told = mine["measure"].str.removeprefix(f"{measure}, ").str.partition(" ")
    panels = {name: sorted(dict.fromkeys(some), key=float) for name, some in told.groupby(0, sort=False)[2]}

    usual = {name: next(at for at in some if f"{measure}, {name} {at}" in USUAL) for name, some in panels.items()}
    return mine.assign(
        measure=measure,
        target=[f"{name}: {', '.join(panels[name])}" for name in told[0]],
        setting=[
            SETTINGS[panels[name].index(value) - panels[name].index(usual[name])]
            for name, value in zip(told[0], told[2], strict=True)
        ],
    )


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
