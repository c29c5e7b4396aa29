"""From tables to the rows a chart is drawn from: one name for a model, its baseline beside it, missing as missing."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from interlingua.errors import UnknownNameError
from interlingua.measures.catalog import find

if TYPE_CHECKING:
    import pandas as pd

Pair = tuple[str, str]

_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

# How the name of a random network ends.
RANDOM_NAME = " (random)"
# The facts of a signature that a caption tells, and how it calls them.
_CAPTION = {"n": "n = ", "pooling": "pooling ", "prepared": "prepared: ", "corpus": "corpus ", "version": "version "}


def pair_name(source: str, target: str) -> str:
    """A pair as every figure writes it."""
    return f"{source} – {target}"


def with_series(frame: pd.DataFrame) -> pd.DataFrame:
    """With a column `series`: the model, and its pooling where there are several; a baseline has its model's."""
    both = list(zip(frame["model"].tolist(), frame["pooling"].tolist(), strict=True))
    several = len({text(pooling) for _, pooling in set(both)}) > 1
    names = {
        (m, p): f"{_trained(m)} · {text(p)}" if several and text(p) else _trained(m) for m, p in dict.fromkeys(both)
    }
    return frame.assign(series=[names[each] for each in both])


def _trained(model: Any) -> str:
    return str(model).removesuffix(RANDOM_NAME)


def of_baseline(frame: pd.DataFrame) -> pd.Series[bool]:
    """Which rows are those of a random network."""
    found: pd.Series[bool] = frame["baseline"].eq(True)
    return found


def beside_random(values: pd.DataFrame) -> pd.DataFrame:
    """The measured rows, with `series`, `pair` and, in `random`, what the random network gives for the same."""
    named = with_series(values)
    named = named.assign(pair=[pair_name(str(a), str(b)) for a, b in zip(named.source, named.target, strict=True)])
    keys = ["series", "pair", "measure", "layer"]
    baseline = named[of_baseline(named)]
    random = baseline.groupby(keys, as_index=False)["value"].mean().rename(columns={"value": "random"})
    measured = named[~of_baseline(named)]
    if not len(random):
        return measured.assign(random=math.nan)
    return measured.merge(random, on=keys, how="left")


def chosen(frame: pd.DataFrame, **wanted: Any) -> pd.DataFrame:
    """The rows whose columns hold what is wanted; None wants nothing."""
    for column, value in wanted.items():
        if value is not None:
            frame = frame[frame[column] == value]
    return frame


def of_pair(frame: pd.DataFrame, pair: Pair | None) -> pd.DataFrame:
    """The rows of one pair of languages, or all of them."""
    return frame if pair is None else chosen(frame, source=pair[0], target=pair[1])


def of_model(frame: pd.DataFrame, model: str | None) -> pd.DataFrame:
    """The rows of one model, called by its name or as legends call it."""
    if model is None:
        return frame
    named = with_series(frame)
    kept: pd.DataFrame = named[(named.series == model) | (named.model == model)]
    return kept


def records(frame: pd.DataFrame, columns: Sequence[str]) -> list[dict[str, Any]]:
    """Rows as a chart takes them: plain numbers and text, None for what is missing."""
    lists = [[plain(v) for v in frame[c].tolist()] for c in columns]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def plain(value: Any) -> Any:
    """A cell as JSON can hold it."""
    if hasattr(value, "item"):
        value = value.item()
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return None if value != value else str(value)  # pandas has missing values of its own, unequal to themselves


def text(value: Any) -> str:
    """A cell as text; nothing where it is missing."""
    found = plain(value)
    return "" if found is None else str(found)


def printable(content: Any) -> Any:
    """Without characters that no XML may hold (controls, halves of pairs), in all text of a nested value.

    The converter that draws figures does not refuse them: it ends the process.
    """
    if isinstance(content, str):
        return _NO_XML.sub("\ufffd", content)
    if isinstance(content, dict):
        return {printable(key): printable(value) for key, value in content.items()}
    return [printable(each) for each in content] if isinstance(content, list | tuple) else content


def distinct(values: Iterable[Any]) -> list[Any]:
    """Each once, in the order of their first coming."""
    return list(dict.fromkeys(values))


def symmetric(measure: str) -> bool:
    """Whether a measure gives the same for (a, b) and (b, a); not assumed of one that is not in the catalogue."""
    try:
        return find(measure).symmetric
    except UnknownNameError:
        return False


def explained(measure: str) -> str:
    """What a measure is, its equation and when it misleads; nothing of one that is not in the catalogue."""
    try:
        return inspect.getdoc(find(measure).function) or ""
    except UnknownNameError:
        return ""


def signed(signature: str) -> Mapping[str, str]:
    """The facts of a signature."""
    return dict(part.split(":", 1) for part in signature.split("|") if ":" in part)


def caption(frame: pd.DataFrame) -> str:
    """What the numbers come from, shortened from their signatures."""
    signatures = [signed(s) for s in distinct(map(text, frame["signature"]))]
    told = []
    for key, lead in _CAPTION.items():
        found = distinct(s[key] for s in signatures if s.get(key, "no") not in ("no", "unknown"))
        # each pair has a hash of its own: many say nothing
        if found and not (key == "corpus" and len(found) > 1):
            told.append(lead + (", ".join(found) if len(found) < 4 else f"{found[0]}, … ({len(found)} different)"))
    if not any(word.startswith("n =") for word in told):
        told[:0] = [f"n = {n}" for n in distinct(frame["n"].dropna().tolist())][:1]
    notes = [note for note in distinct(map(text, frame["notes"])) if note]
    return " · ".join([*told, *notes[:1]])


def peak(values: pd.DataFrame, measure: str, model: str | None = None) -> int | None:
    """The layer at which a measure is highest on average over pairs."""
    measured = of_model(values[~of_baseline(values)], model)
    means = chosen(measured, measure=measure).dropna(subset=["value"]).groupby("layer")["value"].mean()
    return int(means.idxmax()) if len(means) else None
