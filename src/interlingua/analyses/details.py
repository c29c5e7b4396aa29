"""What stands behind the numbers of one layer: its neurons, its geometry, the sentences that do not find each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from interlingua.analyses.sweep import Pair, Plan, model_name
from interlingua.errors import UndefinedError
from interlingua.languages import Language
from interlingua.measures.anc import anc
from interlingua.measures.geometry import average_cosine, effective_rank, language_share, outlier_neurons
from interlingua.measures.prepare import Preparation
from interlingua.measures.retrieval import matching, mismatches
from interlingua.stats import share_interval
from interlingua.types import ParallelCorpus, Representations

# Neurons kept at either end, sentences kept, and bins of correlations from -1 to 1.
EXTREME, WORST, BINS = 25, 20, 40
# What is tried on vectors to see whether it would help retrieval.
TRIED = {
    "as they are": Preparation(),
    "mean removed": Preparation(remove_mean=True),
    "mean and top direction removed": Preparation(remove_mean=True, drop_components=1),
    "mean and top 3 directions removed": Preparation(remove_mean=True, drop_components=3),
    "standardised": Preparation(standardise=True),
}

Rows = list[dict[str, Any]]
Array = np.ndarray[Any, Any]


def details(
    reps: Representations, layer: int, plan: Plan, corpus: ParallelCorpus, *, baseline: bool = False
) -> dict[str, Rows]:
    """Tables by name, for one layer; of a random baseline its geometry alone."""
    langs = list(dict.fromkeys(lang for pair in plan.pairs for lang in pair))
    vectors = {lang: reps[lang, layer] for lang in langs}
    at = {"model": model_name(reps), "pooling": str(reps.signature.get("pooling", "")), "layer": layer}
    found: dict[str, Rows] = {"geometry": [{**row, **at, "baseline": baseline} for row in _geometry(vectors)]}
    if baseline:
        return found
    for pair in plan.pairs:
        x, y = (vectors[lang] for lang in pair)
        here = {**at, "source": str(pair[0]), "target": str(pair[1])}
        same = reps.signature.get("one_network", True) and x.shape == y.shape
        for name, rows in {
            **(_neurons(x, y, plan.preparation) if same else {}),
            **(_retrieval(x, y, pair, corpus, reps.ids) if x.shape == y.shape else {}),
        }.items():
            found.setdefault(name, []).extend({**here, **row} for row in rows)
    return found


def _neurons(x: Array, y: Array, step: Preparation) -> dict[str, Rows]:
    try:
        signed = np.asarray(anc(step(x), step(y)).signed)
    except UndefinedError:
        return {}
    numbers = step.kept(x.shape[1])
    there = np.flatnonzero(np.isfinite(signed))
    order = there[np.argsort(-np.abs(signed[there]), kind="stable")]
    ends = order if len(order) <= 2 * EXTREME else np.concatenate([order[:EXTREME], order[-EXTREME:]])
    return {
        "neurons": [{"neuron": numbers[i], "correlation": float(signed[i])} for i in ends],
        "histograms": counted(signed),
    }


def counted(signed: Array) -> Rows:
    """How many neurons correlate how much; those without a correlation are left out."""
    counts, edges = np.histogram(signed[np.isfinite(signed)], bins=BINS, range=(-1, 1))
    return [
        {"from": round(float(low), 9), "to": round(float(high), 9), "neurons": int(count)}
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
    ]


def _geometry(vectors: dict[Language, Array]) -> Rows:
    share = _or_none(lambda: language_share({str(lang): v for lang, v in vectors.items()}))
    rows = []
    for lang, v in vectors.items():
        outliers = _or_none(lambda v=v: outlier_neurons(v))
        rows.append(
            {
                "lang": str(lang),
                "anisotropy": _or_none(lambda v=v: average_cosine(v)),
                "effective_rank": _or_none(lambda v=v: effective_rank(v)),
                "outliers": " ".join(map(str, outliers.neurons)) if outliers else "",
                "outlier_share": float(outliers.shares[list(outliers.neurons)].sum()) if outliers else None,
                "language_share": share,
            }
        )
    return rows


def _or_none(compute: Any) -> Any:
    """What is computed; None where it is not defined (constant vectors, widths that differ)."""
    try:
        return compute()
    except (UndefinedError, ValueError):
        return None


def _retrieval(x: Array, y: Array, pair: Pair, corpus: ParallelCorpus, ids: Sequence[str]) -> dict[str, Rows]:
    prepared = []
    for name, step in TRIED.items():
        if step.drop_components >= min(x.shape[1], len(x) - 1):
            continue
        if (result := _or_none(lambda step=step: matching(step(x), step(y)))) is not None:
            interval = share_interval(np.asarray(result.hits, np.float64).mean(0))
            prepared.append({"preparation": name, "value": result.value, "low": interval.low, "high": interval.high})
    worst = _or_none(lambda: mismatches(x, y, most=WORST))
    if worst is None:
        return {"prepared": prepared}
    place = {name: i for i, name in enumerate(corpus.ids)}
    source, target = corpus[pair[0]], corpus[pair[1]]
    rows = []
    for rank, (row, near, own, other) in enumerate(
        zip(worst.rows, worst.nearest, worst.own, worst.other, strict=True), start=1
    ):
        if own >= other:
            break  # the rest find their translation
        i, j = place[ids[int(row)]], place[ids[int(near)]]
        rows.append(
            {
                "place": rank,
                "id": ids[int(row)],
                "text": source[i],
                "translation": target[i],
                "score": float(own),
                "nearest_id": ids[int(near)],
                "nearest": target[j],
                "nearest_score": float(other),
            }
        )
    return {"prepared": prepared, "worst": rows}
