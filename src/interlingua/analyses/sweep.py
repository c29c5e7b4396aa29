"""One layer of a comparison: every pair and every measure, each with its interval, its null and its signature."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from interlingua import __version__
from interlingua.errors import InputError, UndefinedError
from interlingua.languages import Language
from interlingua.measures.catalog import find
from interlingua.measures.joined import FROM_CANONICAL, FROM_MOMENTS, Joined, View
from interlingua.measures.moments import Moments
from interlingua.measures.papers import Paper
from interlingua.measures.prepare import Preparation
from interlingua.measures.results import Retrieval, Similarity
from interlingua.report.tables import keep_found, kept_found
from interlingua.stats import Interval, jackknife, p_value, share_interval, without_blocks
from interlingua.types import Representations

# Measures that have an interval by the jackknife over blocks; retrieval has one from its hits.
JACKKNIFED = ("anc", "linear_cka", "debiased_cka")

Pair = tuple[Language, Language]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to compute at every layer."""

    pairs: tuple[Pair, ...]
    measures: tuple[str, ...]
    preparation: Preparation
    blocks: int
    nulls: int
    seed: int
    same_neurons: bool = False
    cca_intervals: bool = False
    paper: Paper | None = None

    def facts(self) -> dict[str, Any]:
        """What the numbers depend on, apart from the vectors."""
        return {
            "pairs": [[str(a), str(b)] for a, b in self.pairs],
            "measures": {name: find(name).revision for name in self.measures},
            "preparation": self.preparation.signature(),
            "blocks, nulls, seed": [self.blocks, self.nulls, self.seed],
            "cca_intervals": self.cca_intervals,
            "paper": [self.paper.name, {v: find(v).revision for v in self.paper.variants.values()}]
            if self.paper
            else [],
        }


@dataclass(frozen=True)
class Uncertainty:
    """The interval of a value, where its measure has one; and the values of single blocks, and without each of them."""

    interval: Interval | None = None
    blocks: tuple[float, ...] | None = None
    left_out: tuple[float, ...] | None = None


def sweep(
    reps: Representations, layer: int, plan: Plan, published: Representations | None = None
) -> list[dict[str, Any]]:
    """Every pair at one layer; each language is read and worked on once."""
    langs = list(dict.fromkeys(lang for pair in plan.pairs for lang in pair))
    views = _views(reps, layer, langs, plan)
    # A paper takes its vectors as they are.
    as_they_are = published or (reps if plan.preparation != Preparation() else None)
    plain = replace(plan, preparation=Preparation(), blocks=1)
    theirs = views if plan.paper is None or as_they_are is None else _views(as_they_are, layer, langs, plain)
    rows = []
    for pair in plan.pairs:
        left, right = views[pair[0]], views[pair[1]]
        if isinstance(left, str) or isinstance(right, str):
            why = left if isinstance(left, str) else right
            rows += [
                _row(reps, layer, pair, name, plan, Similarity(math.nan, len(reps), (str(why),)))
                for name in plan.measures
            ]
            continue
        joined = Joined(left, right)
        # Of the pair itself, so that a shuffle is the same whatever else is compared.
        named = [crc32(str(lang).encode()) for lang in pair]
        streams = np.random.SeedSequence([plan.seed, layer, *named]).spawn(plan.nulls)
        orders = (np.random.default_rng(stream).permutation(len(reps)) for stream in streams)
        shuffles = [joined.shuffled(plan.measures, order) for order in orders]
        how_sure = uncertainties(joined, plan.measures, cca=plan.cca_intervals)
        other = (theirs[pair[0]], theirs[pair[1]])
        paper = _published(joined if theirs is views else other, plan)
        for name in plan.measures:
            null = [values[name] for values in shuffles if math.isfinite(values[name])]
            result, sure = joined.measure_or_why(name), how_sure[name]
            rows.append({**_row(reps, layer, pair, name, plan, result, sure, null), **paper.get(name, {})})
    return rows


def _views(reps: Representations, layer: int, langs: Sequence[Language], plan: Plan) -> dict[Language, View | str]:
    """Each language at a layer, prepared; or why it cannot be."""
    found: dict[Language, View | str] = {}
    for lang in langs:
        vectors = reps[lang, layer]
        if not np.isfinite(vectors).all():
            row = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
            raise InputError(
                f"{model_name(reps)}, layer {layer}: not a finite number for {lang} sentence {reps.ids[row]}"
            )
        try:
            found[lang] = View(plan.preparation(vectors), plan.blocks)
        except UndefinedError as error:
            found[lang] = f"{lang}: {error}"
    return found


def _row(
    reps: Representations,
    layer: int,
    pair: Pair,
    name: str,
    plan: Plan,
    result: Similarity,
    sure: Uncertainty | None = None,
    null: Sequence[float] = (),
) -> dict[str, Any]:
    interval = sure.interval if sure else None
    return {
        "model": model_name(reps),
        "pooling": str(reps.signature.get("pooling", "")),
        "layer": layer,
        "source": str(pair[0]),
        "target": str(pair[1]),
        "measure": name,
        "value": result.value,
        "low": None if interval is None else interval.low,
        "high": None if interval is None else interval.high,
        "null": float(np.mean(null)) if null else None,
        "p": p_value(result.value, tuple(null)),
        "n": result.n,
        "notes": "; ".join(result.notes),
        "signature": signature(reps, layer, pair, name, plan),
        "blocks": sure.blocks if sure else None,
        "left_out": sure.left_out if sure else None,
    }


def uncertainties(joined: Joined, names: Sequence[str], *, cca: bool = False) -> dict[str, Uncertainty]:
    """How sure the value of each measure is."""
    linear = [name for name in names if name in JACKKNIFED or (cca and name in FROM_CANONICAL)]
    without = list(joined.left_out(linear)) if linear else []
    found = {}
    for name in names:
        result = joined.measure_or_why(name)
        left_out = tuple(values[name] for values in without if name in linear)
        if left_out and all(map(math.isfinite, (result.value, *left_out))):
            blocks = tuple(value_of_block(name, part) for part in joined.parts) if name in FROM_MOMENTS else None
            found[name] = Uncertainty(jackknife(result.value, left_out), blocks, left_out)
        elif isinstance(result, Retrieval):
            hits = np.asarray(result.hits, np.float64).mean(0)
            cuts = joined.x.cuts
            blocks = tuple(float(hits[rows].mean()) for rows in cuts)
            found[name] = Uncertainty(share_interval(hits), blocks, without_blocks(hits, len(cuts)))
        else:
            found[name] = Uncertainty()
    return found


def value_of_block(name: str, part: Moments) -> float:
    """A linear measure on one block of rows; NaN where it has no value there."""
    try:
        return FROM_MOMENTS[name](part).value
    except UndefinedError:
        return math.nan


def _published(joined: Joined | tuple[View | str, View | str], plan: Plan) -> dict[str, dict[str, Any]]:
    """What a paper's code gives for each measure it has, and how; or why it gives nothing."""
    paper = plan.paper
    if paper is None:
        return {}
    if not isinstance(joined, Joined):
        left, right = joined
        if isinstance(left, str) or isinstance(right, str):
            why = str(left if isinstance(left, str) else right)
            return {name: {"published": None, "published_as": f"{paper.name}: {why}"} for name in plan.measures}
        joined = Joined(left, right)
    found: dict[str, dict[str, Any]] = {}
    for name in plan.measures:
        if name not in paper.variants:
            found[name] = {"published": None, "published_as": None}
            continue
        result = joined.measure_or_why(paper.variants[name])
        value = paper.value(result)
        why = "" if math.isfinite(value) else f": {'; '.join(result.notes)}"
        found[name] = {"published": value, "published_as": paper.how(name) + why}
    return found


def signature(reps: Representations, layer: int, pair: Pair, measure: str, plan: Plan) -> str:
    """Everything a number depends on, in one line."""
    known = reps.signature
    corpus = known.get("corpus", {})
    done = [f"{k}={v}" for k, v in plan.preparation.signature().items() if v]
    facts = {
        "measure": measure,
        "revision": find(measure).revision,
        "pair": f"{pair[0]}-{pair[1]}",
        "layer": layer,
        "n": len(reps),
        "level": known.get("level", "unknown"),
        "pooling": known.get("pooling", "unknown"),
        "truncated": known.get("truncate", False),
        "vectors": " ".join(filter(None, [str(known.get("dtype", "unknown")), str(known.get("autocast", ""))])),
        "prepared": ",".join(done).replace(" ", "") or "no",
        "dtype": "float64",
        "blocks": plan.blocks,
        "nulls": plan.nulls,
        "seed": plan.seed,
        "intervals": "cca too" if plan.cca_intervals else "usual",
        "published": plan.paper.name if plan.paper else "no",
        "corpus": _short([corpus.get(str(lang)) for lang in pair]) if corpus else "unknown",
        "rows": _short(reps.ids),
        "only": known.get("only", "") or "all",
        "model": _short(known["model"]) if "model" in known else "unknown",
        "version": __version__,
    }
    return "|".join(f"{key}:{value}" for key, value in facts.items())


def _short(facts: Any) -> str:
    return _hash(facts)[:12]


def _hash(facts: Any) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()


def model_name(reps: Representations) -> str:
    """The name of the model, or the names of one model a language."""
    found = reps.signature.get("model", {})
    if not isinstance(found, Mapping):
        return str(found)
    if "model" in found:
        return str(found["model"]) + (" (random)" if found.get("random") else "")
    return ", ".join(dict.fromkeys(str(model["model"]) for model in found.values())) or "unnamed"


class Cache:
    """Finished layers, kept in a folder under what they depend on."""

    def __init__(self, folder: str | Path | None) -> None:
        self._folder = None if folder is None else Path(folder)

    def keeps(self, *vectors: Representations | None) -> bool:
        """Whether rows can be told apart: vectors that say nothing of their model and sentences are never kept."""
        known = all({"model", "corpus"} <= set(each.signature) for each in vectors if each is not None)
        return self._folder is not None and known

    def key(self, what: str, layer: int, plan: Plan, *vectors: Representations | None) -> str:
        """What the rows of a layer depend on."""
        known = [[dict(each.signature), each.ids] for each in vectors if each is not None]
        return _hash([what, known, layer, plan.facts()])

    def find(self, key: str) -> list[dict[str, Any]] | None:
        """The rows of a layer; None where they are not there, or are not what was written."""
        path = None if self._folder is None else self._folder / f"{key}.json"
        rows = None if path is None else kept_found(path)
        if not rows:
            return None
        return [{k: tuple(v) if isinstance(v, list) else v for k, v in row.items()} for row in rows]

    def keep(self, key: str, rows: list[dict[str, Any]]) -> None:
        """Write the rows of a layer, whole or not at all."""
        if self._folder is None:
            return
        if self._folder.exists() and not self._folder.is_dir():
            raise InputError(f"{self._folder} is a file: the cache takes a folder")
        self._folder.mkdir(parents=True, exist_ok=True)
        keep_found(self._folder / f"{key}.json", rows)
