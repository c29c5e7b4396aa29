"""What claims on models trained apart are judged by, and figures: from the table of the study `monolingual`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from interlingua.report.graft_tables import MAPPED, SHARED
from interlingua.report.tables import pandas
from interlingua.studies.claims import Part
from interlingua.studies.estimates import Estimate, chosen, curve, each, mean, together
from interlingua.studies.study import Cell

if TYPE_CHECKING:
    import pandas as pd

MONO, BI, TWIN, PAIR, CEILING, STATIC = "mono", "bi", "twin", "pair", "ceiling", "static"
BILINGUAL, MONOLINGUAL, ONE_RANDOM, ALL_RANDOM = "bilingual", "monolingual", "random", "both sides random"
# Two models of English, on the same sentences and on others that say the same.
SEEDS, VOICES, PARAPHRASES = "two seeds", "one model, two voices", "paraphrases"
CKA = "linear_cka"
# Taggers that run through a map, by kind of cell, and their scores.
TASKS = {"ner": "f1", "parsing": "las"}
CALLED = {"ner": "entities", "parsing": "trees"}


def _values(
    rows: pd.DataFrame, lang: str, state: str, measure: str, pooling: str = "mean", kind: str = PAIR
) -> list[Estimate]:
    """By layer, of the other language: as it is asked for, however its rows spell it (zh, zh-Hans)."""
    mine = chosen(rows, kind=kind, language=lang, state=state, measure=measure, pooling=pooling)
    return curve(mine[mine["target"] != "en"])


def _langs(table: pd.DataFrame) -> list[str]:
    return list(dict.fromkeys(table[table["kind"].isin([PAIR, *TASKS])]["language"]))


def _words(rows: pd.DataFrame, lang: str, state: str = "model", level: str = "word") -> list[Estimate]:
    return _values(rows, lang, state, f"{level} p1", "rotation")


def _by_pair(made: Callable[[pd.DataFrame, str], Estimate]) -> Callable[[pd.DataFrame], Iterator[Part]]:
    return lambda table: each(table, _langs(table), made)


def _upper(rows: pd.DataFrame, lang: str) -> Estimate:
    found = _words(rows, lang)
    half = len(found) // 2 + 1
    return mean(found[half:]) - mean(found[:half])


def _lower(rows: pd.DataFrame, lang: str) -> Estimate:
    found = _words(rows, lang, level="sentence")
    third = (len(found) - 1) // 3 + 1
    return mean(found[1 : 1 + third]) - mean(found[-third:])


def _over(rows: pd.DataFrame, langs: Sequence[str], state: str, layers: slice = slice(None)) -> Estimate:
    """Mean CKA over pairs and layers."""
    return mean([one for lang in langs for one in _values(rows, lang, state, CKA)[layers]])


def _order(table: pd.DataFrame, one: str, other: str) -> Iterator[Part]:
    langs = _langs(table)
    return each(table, ["all pairs"], lambda rows, _: _over(rows, langs, one) - _over(rows, langs, other))


def _low_layers(table: pd.DataFrame) -> Iterator[Part]:
    langs = _langs(table)

    def made(rows: pd.DataFrame, state: str) -> Estimate:
        return _over(rows, langs, state, slice(3)) - _over(rows, langs, state, slice(3, None))

    return each(table, [BILINGUAL, MONOLINGUAL], made)


def _together(rows: pd.DataFrame, lang: str) -> Estimate:
    """Pearson over layers of CKA and the accuracy of sentences."""
    return together(_values(rows, lang, MONOLINGUAL, CKA), _words(rows, lang, level="sentence"))


def _shrinks(table: pd.DataFrame) -> Iterator[Part]:
    """Of the four languages that the rule names, and no fewer."""

    def gap(rows: pd.DataFrame, langs: Sequence[str]) -> Estimate:
        return _over(rows, langs, BILINGUAL) - _over(rows, langs, MONOLINGUAL)

    return each(table, ["near less far"], lambda rows, _: gap(rows, ["fr", "de"]) - gap(rows, ["ru", "zh"]))


def _tagged(rows: pd.DataFrame, name: str, lang: str, state: str) -> list[Estimate]:
    """By layer, in the language without labels."""
    return _values(rows, lang, state, f"through a map, {name} {TASKS[name]}", "", kind=name)


def _middle(table: pd.DataFrame) -> Iterator[Part]:
    """The layers between, less the first and the last; the mean over pairs."""
    langs = _langs(table)

    def made(rows: pd.DataFrame, name: str) -> Estimate:
        curves = [_tagged(rows, name, lang, MAPPED) for lang in langs]
        inner = mean([one for some in curves for one in some[1:-1] or some])
        return inner - mean([one for some in curves for one in (some[0], some[-1])])

    return each(table, TASKS, made)


def _lost(rows: pd.DataFrame, name: str, langs: Sequence[str]) -> Estimate:
    """What a map loses against a bilingual model, the mean over layers and pairs."""
    both = [mean([one for lang in langs for one in _tagged(rows, name, lang, state)]) for state in (SHARED, MAPPED)]
    return both[0] - both[1]


def _worse(table: pd.DataFrame) -> Iterator[Part]:
    langs = _langs(table)
    some = {"ner": langs, "parsing": [lang for lang in langs if lang != "fr"]}
    return each(table, [name for name in TASKS if some[name]], lambda rows, name: _lost(rows, name, some[name]))


def _more(table: pd.DataFrame) -> Iterator[Part]:
    langs = _langs(table)
    return each(table, ["ner less parsing"], lambda rows, _: _lost(rows, "ner", langs) - _lost(rows, "parsing", langs))


def figures(table: pd.DataFrame) -> dict[str, Any]:
    """As in the paper: precision at 1 by layer, taggers through a map, and CKA of three kinds of encoders."""
    from interlingua.studies.drawn import by_layer, published

    pairs = table[table["kind"].isin([PAIR, STATIC, *TASKS]) & (table["target"] != "en")]
    shown = pairs.assign(encoder=pairs["state"], target=pairs["language"])
    turned = chosen(shown, pooling="rotation")
    made = {
        "figure-4": (
            chosen(turned, measure="word p1"),
            "Figure 4: words",
            "Published: higher layers are better. Dots: the table of pieces, and static vectors, which have no layers.",
        ),
        "words-in-context": (
            chosen(turned, measure="context p1"),
            "Words in context",
            "Through such maps as taggers go through.",
        ),
        "figure-6": (chosen(turned, measure="sentence p1"), "Figure 6: sentences", "Published: lower layers are best."),
    }
    for name, metric in TASKS.items():
        rows = chosen(shown, measure=f"through a map, {name} {metric}")
        note = "Trained above a layer of one model, run above another through a map. Published: the middle is best."
        made[f"figure-5-{name}"] = (rows, f"Figure 5: {CALLED[name]}", note)
    drawn = {name: by_layer(rows, "encoder", title, note) for name, (rows, title, note) in made.items()}
    theirs = pandas().DataFrame(
        {"encoder": row["series"], "target": row["target"], "layer": int(row["layer"]), "value": float(row["value"])}
        for row in published("monolingual cka")
    )
    drawn["figure-7"] = by_layer(
        chosen(shown, measure=CKA), "encoder", "Figure 7: linear CKA",
        "Random: the other language's side alone, as published, or both.", printed=theirs,
    )  # fmt: skip
    ceiling = table[table["kind"] == CEILING]
    same = ceiling.assign(target=ceiling["corpus"], encoder=ceiling["state"], corpus="")
    voices = {"monolingual": SEEDS, "bilingual": VOICES}
    drawn["ceiling"] = by_layer(
        same, "encoder", "English with English: linear CKA",
        "What two models of one language have. Published: of back-translations.", head="",
        printed=theirs[theirs["encoder"].isin(voices) & (theirs["target"] == "en'")].replace(
            {"encoder": voices, "target": {"en'": PARAPHRASES}}
        ),
    )  # fmt: skip
    return drawn


ESTIMATES: Mapping[str, Callable[[pd.DataFrame], Iterable[Part]]] = {
    "W5.table": _by_pair(lambda rows, lang: _words(rows, lang, "table")[0]),
    "W6.higher": _by_pair(_upper),
    "W7.middle": _middle,
    "W8.lower": _by_pair(_lower),
    "W9.bilingual": partial(_order, one=BILINGUAL, other=MONOLINGUAL),
    "W9.random": partial(_order, one=MONOLINGUAL, other=ONE_RANDOM),
    "W9.low": _low_layers,
    "W10.together": _by_pair(_together),
    "W11.shrinks": _shrinks,
    "W15.worse": _worse,
    "W15.more": _more,
}


def _of(*kinds: str) -> Callable[[Cell], bool]:
    return lambda cell: cell.settings["kind"] in kinds


# Which cells decide a claim.
NEEDS = {
    **dict.fromkeys(("W5", "W6", "W8", "W9", "W10", "W11"), _of(PAIR)),
    **dict.fromkeys(("W7", "W15"), _of(*TASKS)),
}
