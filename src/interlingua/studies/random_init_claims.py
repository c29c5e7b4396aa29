"""What claims on layers drawn anew are judged by, and figures: from the table of the study `random-init`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from interlingua.analyses.relate import AFTER, BEFORE
from interlingua.errors import InputError
from interlingua.stats import spearman
from interlingua.studies.claims import Part
from interlingua.studies.estimates import Estimate, MissingRowsError, chosen, curve, each, fisher, mean

if TYPE_CHECKING:
    import pandas as pd

# The paper's CKA: a Gaussian kernel with the median distance for its width.
CKA = "rbf_cka"
DROP = "drop"


def _keys(table: pd.DataFrame) -> list[tuple[str, str]]:
    return list(dict.fromkeys(zip(table["task"], table["language"], strict=True)))


def _drops(rows: pd.DataFrame, name: str, source: str, *, own: bool) -> dict[str, Estimate]:
    """By blocks: of the source, or the mean over the other languages; of as many sentences as were asked about."""
    mine = chosen(rows, task=name, language=source)
    asked = mine[mine["measure"].str.startswith(f"{name} ")].drop_duplicates("target").set_index("target")["n"]
    mine = mine[(mine["measure"] == DROP) & ((mine["target"] == source) == own)]
    mine = mine.assign(n=mine["target"].map(asked))
    groups = sorted(dict.fromkeys(mine["state"]), key=lambda state: int(state.split()[-1].partition("-")[0]))
    return {group: mean(curve(mine[mine["state"] == group])) for group in groups}


def _first(table: pd.DataFrame, *, own: bool) -> Iterator[Part]:
    def made(rows: pd.DataFrame, name: str, source: str) -> Estimate:
        found = list(_drops(rows, name, source, own=own).values())
        if not found:
            raise MissingRowsError
        return found[0]

    return each(table, _keys(table), made)


def _last(table: pd.DataFrame) -> Iterator[Part]:
    """The last third of the pairs, at least one: four of twelve layers."""

    def made(rows: pd.DataFrame, name: str, source: str) -> Estimate:
        found = list(_drops(rows, name, source, own=False).values())
        return mean(found[-max(1, len(found) // 3) :])

    return each(table, _keys(table), made)


def _similar(rows: pd.DataFrame, name: str, source: str, state: str) -> dict[str, list[float]]:
    """Curves over layers, by language."""
    mine = chosen(rows, task=name, language=source, state=state, measure=CKA)
    return {
        lang: mine[mine["target"] == lang]["value"].astype(float).tolist() for lang in dict.fromkeys(mine["target"])
    }


def _survives(table: pd.DataFrame) -> Iterator[Part]:
    """CKA in the lower half after tuning less that before; the mean over languages, and how they vary around it."""

    def made(rows: pd.DataFrame, name: str, source: str) -> Estimate:
        before, after = (_similar(rows, name, source, state) for state in (BEFORE, AFTER))
        changes = [
            float(np.mean(after[lang][: len(some) // 2 + 1]) - np.mean(some[: len(some) // 2 + 1]))
            for lang, some in before.items()
            if lang in after
        ]
        if len(changes) < 3:
            raise MissingRowsError
        value, half = float(np.mean(changes)), 1.96 * float(np.std(changes, ddof=1)) / math.sqrt(len(changes))
        return Estimate(value, value - half, value + half, len(changes))

    return each(table, _keys(table), made)


def _related(table: pd.DataFrame) -> Iterator[Part]:
    """Spearman of CKA after tuning and the gap over languages, the mean over layers, with Fisher's interval."""

    def made(rows: pd.DataFrame, name: str, source: str) -> Estimate:
        mine = chosen(rows, task=name, language=source, state=AFTER)
        scores = mine[mine["measure"].str.startswith(f"{name} ")].set_index("target")["value"].astype(float)
        curves = {lang: some for lang, some in _similar(rows, name, source, AFTER).items() if lang in scores}
        if len(curves) < 5 or source not in scores or len(set(map(len, curves.values()))) > 1:
            raise MissingRowsError
        gaps = [float(scores[lang] - scores[source]) for lang in curves]
        found = []
        for layer in zip(*curves.values(), strict=True):
            try:
                found.append(spearman(list(layer), gaps, rng=0).value)
            except InputError:  # constant
                continue
        if not found:
            raise MissingRowsError
        rho = sum(found) / len(found)
        return fisher(rho, len(gaps), 1.06)

    return each(table, _keys(table), made)


def figures(table: pd.DataFrame) -> dict[str, Any]:
    """What is lost without each pair of blocks, similarity before and after tuning, and what it has to do with gaps."""
    from interlingua.studies.drawn import beside_published, by_layer, published

    drops = table[table["measure"] == DROP]
    own = drops["target"] == drops["source"]
    drops = drops.assign(target=np.where(own, drops["source"] + " itself", "from " + drops["source"]))
    similar = table[(table["measure"] == CKA) & table["state"].isin([BEFORE, AFTER])]
    made = {}
    for name in dict.fromkeys(table["task"]):
        mine = chosen(drops, task=name)
        panels = [f"{start}{source}{end}" for source in dict.fromkeys(mine["source"])
                  for start, end in (("from ", ""), ("", " itself"))]  # fmt: skip
        made[f"drops-{name}"] = beside_published(
            mine, "state", f"random-init {name}", f"{name}: what is lost without pairs of blocks",
            note="“from en”: the mean over the other languages, of models that were tuned on en."
            + " Published: of a model of 12 blocks." * bool(published(f"random-init {name}")),
            langs=panels, columns=2,
        )  # fmt: skip
        made[f"similarity-{name}"] = by_layer(
            chosen(similar, task=name), "state", f"{name}: CKA (Gaussian kernel) before and after tuning",
            "Mean over the languages that were tuned on, but for the panel's own.",
        )  # fmt: skip
    made["related"] = beside_published(
        _correlations(table), "source", "random-init related", "Similarity after tuning and the gap, over languages",
        note="Spearman of CKA (Gaussian kernel), the mean over layers. Published: over 17 languages.",
    )  # fmt: skip
    return made


def _correlations(table: pd.DataFrame) -> pd.DataFrame:
    """Those of M4, a row a task, source and seed."""
    import pandas as pd

    rows = []
    for part in _related(table):
        name, source = part.of.split(", ")
        rows.append({"measure": "Spearman", "target": name, "source": source, "seed": part.seed, "value": part.value,
                     "low": part.low, "high": part.high})  # fmt: skip
    return pd.DataFrame(rows)


ESTIMATES: dict[str, Callable[[pd.DataFrame], Iterable[Part]]] = {
    "M1.others": lambda table: _first(table, own=False),
    "M1.source": lambda table: _first(table, own=True),
    "M2.top": _last,
    "M3.survives": _survives,
    "M4.related": _related,
}
