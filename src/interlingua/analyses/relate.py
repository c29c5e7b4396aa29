"""`relate`: does the similarity of languages inside a model tell how well a task carries over?

Similarity is taken before and after tuning at every layer, and set against the gap (Spearman, Muller et al. 2021); and
the score of every language is foretold from its similarity by a line through the other languages, beside the mean of
these, so that a language without labels gets a number and an interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from interlingua.analyses.compare import compare
from interlingua.errors import InputError, UndefinedError, UnknownNameError
from interlingua.extract import extract
from interlingua.languages import Language
from interlingua.models.load import load_model
from interlingua.report.tables import CACHE, REPRESENTATIONS
from interlingua.stats.correlation import adjusted, spearman
from interlingua.types import ParallelCorpus, Representations

Array = np.ndarray[Any, Any]
BEFORE, AFTER = "before", "after"
MEASURES = ("anc", "linear_cka", "matching")
# A line needs three languages beside the one it foretells.
FEWEST = 4
# The share of languages that an interval is made to hold.
LEVEL = 0.8


def measured(
    name: str,
    corpus: ParallelCorpus,
    source: str,
    measures: Sequence[str],
    folder: Path,
    state: str,
    *,
    loading: Mapping[str, Any] | None = None,
    stage: Any = lambda _name: nullcontext(lambda _done, _total: None),
) -> tuple[list[dict[str, Any]], Representations]:
    """Similarities of every language of a corpus to the source, a row a layer and measure; and what they are of."""
    if Language.parse(source) not in corpus.langs:
        raise UnknownNameError(f"language of {corpus.name}", source, map(str, corpus.langs))
    place = folder / REPRESENTATIONS / f"{state}.{corpus.hash[:12]}.zarr"
    place.parent.mkdir(parents=True, exist_ok=True)
    with stage(f"extracting, {state} tuning") as progress:
        reps = extract(load_model(name, **(loading or {})), corpus, out=place, truncate=True, progress=progress)
    with stage(f"comparing, {state} tuning") as progress:
        found = compare(reps, source=source, measures=measures, nulls=1, cache=folder / CACHE, progress=progress)
    rows = [
        {"state": state, "measure": row["measure"], "layer": row["layer"], "language": row["target"],
         "value": row["value"], "low": row["low"], "high": row["high"]}
        for row in found.rows
    ]  # fmt: skip
    return rows, reps


def relations(
    similarities: Sequence[Mapping[str, Any]], gaps: Mapping[str, float], *, seed: int = 0
) -> Iterator[dict[str, Any]]:
    """Spearman's correlation of similarity and gap over languages, by state, measure and layer.

    A p-value is by permutation, from six languages up; `p_adjusted` (Holm) is for the layers of one state and measure.
    Where one side is constant, or there are fewer than three languages, there is none.
    """
    for (state, measure), table in tables_of(similarities).items():
        langs = [lang for lang in table.languages if lang in gaps]
        rows: list[dict[str, Any]] = []
        for layer, values in zip(table.layers, table.of(langs), strict=True):
            try:
                found = spearman(values.tolist(), [gaps[lang] for lang in langs], rng=seed)
            except InputError:
                continue
            rows.append({"state": state, "measure": measure, "layer": layer, "n": found.n, "rho": found.value,
                         "p": found.p})  # fmt: skip
        known = [float(row["p"]) for row in rows if row["p"] is not None]
        corrected = iter(adjusted(known)) if known else iter(())
        for row in rows:
            yield {**row, "p_adjusted": None if row["p"] is None else next(corrected)}


@dataclass(frozen=True)
class Table:
    """Similarities of one state and measure: (layers, languages)."""

    layers: tuple[int, ...]
    languages: tuple[str, ...]
    values: Array

    def of(self, languages: Sequence[str]) -> Array:
        """The columns of some languages."""
        return self.values[:, [self.languages.index(lang) for lang in languages]]


def tables_of(similarities: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], Table]:
    """By state and measure."""
    groups: dict[tuple[str, str], dict[tuple[int, str], float]] = {}
    for row in similarities:
        groups.setdefault((row["state"], row["measure"]), {})[row["layer"], row["language"]] = row["value"]
    made = {}
    for key, cells in groups.items():
        layers = tuple(sorted({layer for layer, _ in cells}))
        langs = tuple(dict.fromkeys(lang for _, lang in cells))
        made[key] = Table(layers, langs, np.array([[cells[layer, lang] for lang in langs] for layer in layers]))
    return made


@dataclass(frozen=True)
class Foretold:
    """A score foretold. `layer` None: no layer told more than the mean of the other languages, which it then is."""

    value: float
    low: float
    high: float
    layer: int | None


def foretell(known_ln: Array, scores_n: Sequence[float] | Array, new_l: Array) -> Foretold:
    """The score of a language from its similarities by layer, and an interval that is to hold 80 % of languages.

    A straight line through the other languages at the layer where lines foretell best, each language being left out in
    turn; more similar is never worse, so a falling line is none, and where no line does better than the mean of the
    other languages it is that mean. The interval is the jackknife+ (Barber et al. 2021): no normal errors are assumed,
    but that languages are exchangeable, which relatives of the source and strangers to it are not.
    """
    x, y, new = np.asarray(known_ln, float), np.asarray(scores_n, float), np.asarray(new_l, float)
    n = len(y)
    if x.ndim != 2 or x.shape[1] != n or new.shape != (len(x),):
        raise InputError(f"similarities of {x.shape}, {n} scores and {new.shape} of the new language do not fit")
    if n < FEWEST:
        raise UndefinedError(f"{n} languages with labels: foretelling another takes at least {FEWEST}")
    layer, line = _line(x, y)
    lows, highs = [], []
    for i in range(n):
        rest = np.arange(n) != i
        at, own = _line(x[:, rest], y[rest])
        off = abs(y[i] - _at(own, x[:, i], at))
        lows.append(_at(own, new, at) - off)
        highs.append(_at(own, new, at) + off)
    # the ceil((1 - α)(n + 1))-th of n, or the last where there are too few for it
    place = min(n, int(np.ceil(LEVEL * (n + 1)))) - 1
    low, high = np.sort(lows)[::-1][place], np.sort(highs)[place]
    value, low, high = (float(np.clip(v, 0, 1)) for v in (_at(line, new, layer), low, high))
    return Foretold(value, min(low, value), max(high, value), layer)


def _line(x_ln: Array, y: Array) -> tuple[int | None, tuple[float, float]]:
    """The layer and line that foretell best by leaving one out, or None and a flat line at the mean."""
    n = len(y)
    mean = float(y.mean())
    best, layer, line = float(np.sum(((y - mean) * n / (n - 1)) ** 2)), None, (0.0, mean)
    for number, x in enumerate(x_ln):
        away = x - x.mean()
        spread = float(away @ away)
        if spread <= 1e-12 * max(1.0, float(x @ x)) or n < 3:
            continue
        slope = float(away @ (y - mean)) / spread
        if slope <= 0:
            continue
        left = 1 - 1 / n - away**2 / spread
        if (left <= 1e-9).any():
            continue
        error = float(np.sum(((y - mean - slope * away) / left) ** 2))
        if error < best:
            best, layer, line = error, number, (slope, mean - slope * float(x.mean()))
    return layer, line


def _at(line: tuple[float, float], x_l: Array, layer: int | None) -> float:
    return line[1] + (0.0 if layer is None else line[0] * float(x_l[layer]))


def foretold(
    similarities: Sequence[Mapping[str, Any]], scores: Mapping[str, float], *, state: str = BEFORE
) -> Iterator[dict[str, Any]]:
    """Every language with labels foretold from the others, and every one without from all; a row each and measure.

    `usual` is the mean of the languages it was foretold from. Nothing where fewer than five languages have labels.
    """
    for (when, measure), table in tables_of(similarities).items():
        known = [lang for lang in table.languages if lang in scores]
        if when != state or len(known) <= FEWEST:
            continue
        for lang in table.languages:
            others = [o for o in known if o != lang]
            y = np.array([scores[o] for o in others])
            made = foretell(table.of(others), y, table.of([lang])[:, 0])
            yield {
                "measure": measure, "language": lang, "foretold": made.value, "low": made.low, "high": made.high,
                "layer": None if made.layer is None else table.layers[made.layer], "score": scores.get(lang),
                "usual": float(y.mean()), "languages": len(others),
            }  # fmt: skip
