"""Tables as the page carries them: columns, each text once, runs of the same written as one, five digits of a number.

What is written here is read again by `page/data.js`.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from interlingua.report.rows import distinct, explained, of_baseline, plain, printable, symmetric, text, with_series
from interlingua.report.tables import Tables

if TYPE_CHECKING:
    import pandas as pd

# Longer texts are cut.
LONGEST = 400
# Rows of details that a page carries; where there are more, each layer and pair has fewer.
NEURONS, SENTENCES = 100_000, 40_000
# What stands in a signature for the row's own measure, pair and layer.
OWN = "\ue000"
_ESCAPED = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}

Column = list[Any] | dict[str, Any]


class Dictionary:
    """Each text once, by number in the order of their coming."""

    def __init__(self, known: Iterable[Hashable] = ()) -> None:
        self.numbers: dict[Hashable, int] = {}
        for each in known:
            self(each)

    def __call__(self, key: Hashable) -> int:
        """The number of a text."""
        return self.numbers.setdefault(key, len(self.numbers))

    def list(self) -> list[Any]:
        """All of them, in order."""
        return list(self.numbers)


def as_json(content: Any) -> str:
    """JSON that can stand inside a script element: nothing in it ends one, or starts anything."""
    written = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # half of a surrogate pair is no text, and cannot be written to a file
    return written.encode("utf-8", "replace").decode("utf-8").translate(_ESCAPED)


def embedded(tables: Tables) -> dict[str, Any]:
    """Everything the page's charts and tables are drawn from."""
    named = {name: with_series(getattr(tables, name)) for name in ("values", *_DETAILS, "geometry", "layers")}
    values = named["values"]
    series, pairs = Dictionary(), Dictionary()
    where: dict[int, tuple[str, str]] = {}
    for frame in named.values():
        combos = frame[["series", "model", "pooling"]].drop_duplicates().itertuples(index=False)
        for name, model, pooling in combos:
            where.setdefault(series(str(name)), (text(model), text(pooling)))
        if "source" in frame:
            for pair in frame[["source", "target"]].drop_duplicates().itertuples(index=False):
                pairs((text(pair[0]), text(pair[1])))
    measures, texts = Dictionary(map(text, distinct([*values["measure"], *named["layers"]["measure"]]))), Dictionary()
    keys = _Keys(series, pairs, measures)
    kept = {
        "neurons": _ends(named["neurons"], NEURONS),
        "worst": _first(named["worst"], SENTENCES),
    }
    return {
        "series": printable(
            [{"name": n, "model": where[i][0], "pooling": where[i][1]} for i, n in enumerate(series.list())]
        ),
        "pairs": printable(pairs.list()),
        "measures": printable(
            [{"name": name, "symmetric": symmetric(name), "explained": explained(name)} for name in measures.list()]
        ),
        "values": _values(values, keys, texts),
        "geometry": _geometry(named["geometry"], keys, texts),
        "layers": _table(named["layers"], keys, ("source_layer", "target_layer", "value"), texts),
        **{name: _table(kept.get(name, named[name]), keys, own, texts) for name, own in _DETAILS.items()},
        "texts": printable(texts.list()),
    }


_DETAILS = {
    "neurons": ("neuron", "correlation"),
    "histograms": ("from", "to", "neurons"),
    "worst": ("place", "id", "text", "translation", "score", "nearest", "nearest_score"),
    "prepared": ("preparation", "value", "low", "high"),
}
_TEXTS = {"id", "text", "translation", "nearest", "preparation", "notes", "published_as", "lang", "outliers"}


class _Keys:
    """The columns that say which rows these are, as numbers."""

    def __init__(self, series: Dictionary, pairs: Dictionary, measures: Dictionary) -> None:
        self._series, self._pairs, self._measures = series, pairs, measures

    def __call__(self, frame: pd.DataFrame) -> dict[str, list[Any]]:
        found = {"series": [self._series(str(v)) for v in frame["series"].tolist()]}
        if "source" in frame:
            both = zip(map(text, frame["source"].tolist()), map(text, frame["target"].tolist()), strict=True)
            found["pair"] = [self._pairs(pair) for pair in both]
        if "measure" in frame:
            found["measure"] = [self._measures(text(v)) for v in frame["measure"].tolist()]
        if "layer" in frame:
            found["layer"] = [int(v) for v in frame["layer"].tolist()]
        return found


def _values(frame: pd.DataFrame, keys: _Keys, texts: Dictionary) -> dict[str, Column]:
    # curve by curve, models, pairs and measures in the order in which they were given
    codes = {f"{name} code": column for name, column in keys(frame).items()}
    frame = frame.assign(baseline=of_baseline(frame).astype(int), **codes)
    order = ["series code", "pair code", "measure code", "baseline", "layer"]
    frame = frame.sort_values(order, kind="stable")
    signatures = Dictionary()
    signature = [
        signatures(_shared(text(s), f"measure:{m}", f"pair:{a}-{b}", f"layer:{at}"))
        for s, m, a, b, at in zip(
            *(frame[c].tolist() for c in ("signature", "measure", "source", "target", "layer")), strict=True
        )
    ]
    own = ("baseline", "value", "low", "high", "null", "p", "n", "notes", "published", "published_as")
    return {
        **_table(frame, keys, own, texts),
        "signature": packed([texts(s) for s in (signatures.list()[i] for i in signature)]),
    }


def _shared(signature: str, *own: str) -> str:
    """A signature without what the row says itself."""
    parts = signature.split("|")
    return "|".join(part.split(":", 1)[0] + ":" + OWN if part in own else part for part in parts)


def _geometry(frame: pd.DataFrame, keys: _Keys, texts: Dictionary) -> dict[str, Column]:
    frame = frame.assign(baseline=of_baseline(frame).astype(int))
    own = ("lang", "baseline", "anisotropy", "effective_rank", "outliers", "outlier_share", "language_share")
    return _table(frame, keys, own, texts)


def _table(frame: pd.DataFrame, keys: _Keys, own: Sequence[str], texts: Dictionary) -> dict[str, Column]:
    columns: Mapping[str, list[Any]] = keys(frame)
    found: dict[str, Column] = {name: packed(values) for name, values in columns.items()}
    for name in own:
        cells = frame[name].tolist()
        found[name] = packed([texts(cut(text(v))) for v in cells] if name in _TEXTS else [number(v) for v in cells])
    return found


def packed(values: list[Any]) -> Column:
    """A column as it is; or as runs [value, how often, ...], or as what comes again and again, if that is shorter."""
    runs: list[Any] = []
    for value in values:
        if runs and runs[-2] == value and type(runs[-2]) is type(value):
            runs[-1] += 1
        else:
            runs += [value, 1]
    cycle = _cycle(values)
    if len(cycle) < min(len(runs), len(values)):
        return {"cycle": cycle, "times": len(values) // len(cycle)}
    return {"runs": runs} if len(runs) < len(values) else values


def _cycle(values: list[Any]) -> list[Any]:
    """The shortest start that makes up all values when it is repeated; all of them where none does."""
    for at in range(1, min(len(values) // 2, 1000) + 1):
        if values[at] == values[0] and len(values) % at == 0 and values[:at] * (len(values) // at) == values:
            return values[:at]
    return values


def number(value: Any) -> int | float | None:
    """A number to five digits; nothing where it is none."""
    found = plain(value)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None if not isinstance(found, bool) else int(found)
    if isinstance(found, int):
        return found
    short = float(f"{found:.5g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def cut(words: str) -> str:
    """Not longer than the page shows."""
    return words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"


def _ends(neurons: pd.DataFrame, most: int) -> pd.DataFrame:
    """The neurons at either end of the correlations of each layer and pair, as many as fit."""
    if len(neurons) <= most:
        return neurons
    ordered = neurons.sort_values("correlation", key=abs, ascending=False, kind="stable")
    groups = ordered.groupby(_GROUP, sort=False)
    each = max(2, most // groups.ngroups // 2)
    kept = (groups.cumcount() < each) | (groups.cumcount(ascending=False) < each)
    return ordered[kept].sort_values(_GROUP, kind="stable")


def _first(worst: pd.DataFrame, most: int) -> pd.DataFrame:
    """The sentences that are farthest off, as many of each layer and pair as fit."""
    if len(worst) <= most:
        return worst
    each = max(2, most // worst.groupby(_GROUP).ngroups)
    return worst[worst.groupby(_GROUP).cumcount() < each]


_GROUP = ["series", "source", "target", "layer"]
