"""`compare`: how alike are the languages inside a model, layer by layer, and how sure is that?

All layers x all pairs x all measures in one sweep over the representations. Every value comes with its interval, where
the measure has one, and with the value that shuffled pairs give.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlingua.analyses.comparison import DEFAULT, NEURON_WISE, Comparison
from interlingua.analyses.sweep import Cache, Pair, Plan, sweep
from interlingua.errors import InputError, UnknownNameError
from interlingua.languages import Language
from interlingua.measures.catalog import CATALOG, find
from interlingua.measures.joined import Joined, View
from interlingua.measures.papers import Paper, paper
from interlingua.measures.prepare import Preparation
from interlingua.report.tables import pandas
from interlingua.types import Representations

if TYPE_CHECKING:
    import pandas as pd

BLOCKS, NULLS = 20, 5


def compare(
    reps: Representations,
    *,
    source: str | Language = "",
    measures: Sequence[str] = DEFAULT,
    layers: Sequence[int] | None = None,
    baseline: Representations | None = None,
    preparation: Preparation | None = None,
    as_published: str = "",
    published: Representations | None = None,
    same_neurons: bool = False,
    blocks: int = BLOCKS,
    cca_intervals: bool = False,
    nulls: int = NULLS,
    seed: int = 0,
    cache: str | Path | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Comparison:
    """Compare languages, layer by layer.

    Args:
        reps: sentences in several languages, from `extract`.
        source: compare this language with every other; all pairs by default.
        measures: names from the catalogue.
        layers: only these; all by default.
        baseline: the same sentences through a random network; its values are in the table with `baseline` true.
        preparation: what to do to the vectors of each language first.
        as_published: del2022, muller2021 or wu2020: put what the paper's own code gives beside each value.
        published: the same sentences with that paper's pooling, where `reps` were pooled otherwise.
        same_neurons: two networks, of which neuron i of one is neuron i of the other (ANC refuses them otherwise).
        blocks: rows are cut into so many for the intervals.
        cca_intervals: intervals for the CCA family too: two decompositions a block.
        nulls: shuffles of the pairing, for the value that stands beside each; 199 give a p-value.
        seed: of the shuffles.
        cache: a folder where finished layers are kept and found again.
        progress: called with (done, total).
    """
    asked_for = [measures] if isinstance(measures, str) else measures
    names = tuple(dict.fromkeys(find(name).name for name in asked_for))
    _check_numbers(blocks, nulls, seed)
    if not names:
        raise InputError("no measure was asked for: there are " + ", ".join(m.name for m in CATALOG))
    if not isinstance(reps, Representations):
        raise InputError(f"{reps!r} holds no sentences in several languages: extract with level='sentence'")
    plan = Plan(
        pairs=tuple(_pairs(reps, source)),
        measures=names,
        preparation=preparation or Preparation(),
        blocks=blocks,
        nulls=nulls,
        seed=seed,
        same_neurons=same_neurons,
        cca_intervals=cca_intervals,
        paper=paper(as_published) if as_published else None,
    )
    sets = [(reps, False)] + ([(baseline, True)] if baseline is not None else [])
    for each, _ in sets:
        _check(each, reps, names, blocks, same_neurons=same_neurons)
    theirs = _pooled_as(plan.paper, reps, published)
    wanted = _layers(reps, layers)
    total, done, kept = len(sets) * len(wanted) * len(plan.pairs), 0, Cache(cache)
    rows: list[dict[str, Any]] = []
    for each, random in sets:
        for layer in wanted:
            # What a paper gives is for the model alone.
            beside, asked = (None, replace(plan, paper=None)) if random else (theirs, plan)
            key = kept.key("values", layer, asked, each, beside) if kept.keeps(each, beside) else ""
            found = kept.find(key) if key else None
            if found is None:
                found = sweep(each, layer, asked, beside)
                if key:
                    kept.keep(key, found)
            rows += [{**row, "baseline": random} for row in found]
            done += len(plan.pairs)
            progress(done, total)
    return Comparison(tuple(rows), reps, plan)


def _layers(reps: Representations, layers: Sequence[int] | None) -> list[int]:
    if layers is None:
        return list(range(reps.layers))
    there = range(reps.layers)
    if wrong := [layer for layer in layers if not isinstance(layer, int) or not -len(there) <= layer < len(there)]:
        raise InputError(f"there is no layer {wrong[0]!r}: layers run from 0 (embeddings) to {there[-1]}")
    return sorted({there[layer] for layer in layers})


def _check_numbers(blocks: int, nulls: int, seed: int) -> None:
    for name, value, least in (("blocks", blocks, 2), ("nulls", nulls, 0), ("seed", seed, 0)):
        if not isinstance(value, int) or value < least:
            raise InputError(f"{name} is a whole number from {least} up, not {value!r}")


def _pairs(reps: Representations, source: str | Language) -> list[Pair]:
    if not source:
        pairs = list(combinations(reps.langs, 2))
    else:
        first = Language.parse(source)
        if first not in reps.langs:
            raise UnknownNameError("language", str(first), map(str, reps.langs))
        pairs = [(first, other) for other in reps.langs if other != first]
    if not pairs:
        raise InputError("a comparison takes at least two languages")
    return pairs


def _check(
    each: Representations, first: Representations, names: Sequence[str], blocks: int, *, same_neurons: bool
) -> None:
    depths = {str(lang): int(array.shape[0]) for lang, array in each.arrays.items()}
    if len(set(depths.values())) > 1:
        told = ", ".join(f"{lang} {depth}" for lang, depth in depths.items())
        raise InputError(f"languages have unlike numbers of layers ({told}): compare_layers takes each with each")
    if each.layers != first.layers:
        raise InputError(f"the baseline has {each.layers} layers and the model {first.layers}")
    if each.ids != first.ids or set(each.langs) != set(first.langs):
        raise InputError("the baseline must hold the same sentences in the same languages")
    if len(each) < 2 * blocks:
        raise InputError(
            f"{len(each)} sentences cannot be cut into {blocks} blocks: give {2 * blocks} or more, or take fewer blocks"
        )
    if not each.signature.get("one_network", True):
        _check_neurons(names, same_neurons=same_neurons)


def _check_neurons(names: Sequence[str], *, same_neurons: bool) -> None:
    wise = sorted(set(names) & set(NEURON_WISE))
    if wise and not same_neurons:
        raise InputError(
            f"{', '.join(wise)} compares neuron i with neuron i, but these are two networks: leave it out, or say "
            "same_neurons=True if their neurons correspond"
        )


def _pooled_as(by: Paper | None, reps: Representations, published: Representations | None) -> Representations | None:
    """The vectors that a paper's own values come from; None where they are those of the comparison itself."""
    if by is None:
        if published is not None:
            raise InputError("published vectors are for as_published: say whose")
        return None
    chosen = published or reps
    pooling = chosen.signature.get("pooling", by.pooling)
    if pooling != by.pooling:
        raise InputError(
            f"{by.name} pools by {by.pooling} and these vectors are pooled by {pooling}: give "
            f"published=extract(..., pooling={by.pooling!r}) of the same sentences"
        )
    if published is not None and published.signature.get("model") != reps.signature.get("model"):
        raise InputError("the published vectors must be of the same model")
    if published is not None and (published.ids != reps.ids or set(published.langs) != set(reps.langs)):
        raise InputError("the published vectors must be of the same sentences in the same languages")
    return published


def compare_layers(
    reps: Representations,
    source: str,
    target: str,
    measure: str = "linear_cka",
    *,
    other: Representations | None = None,
    same_neurons: bool = False,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> pd.DataFrame:
    """One language at every layer against another at every layer: (layers of source, layers of target).

    With `other`, the source is read by one model and the target by another, of whatever depth and width, if the measure
    takes that; source and target may then be the same language. Neurons of two networks do not correspond, nor do those
    of two layers unless they write to one stream: ANC is refused, unless `same_neurons` (a network before and after
    tuning, say).
    """
    find(measure)
    beside = reps if other is None else other
    if beside.ids != reps.ids:
        raise InputError("two models are compared on the same sentences, and these are not the same")
    if measure in NEURON_WISE and not same_neurons:
        if other is not None:
            _check_neurons([measure], same_neurons=False)
        raise InputError(f"{measure} compares neuron i with neuron i: neurons of two layers do not correspond")
    left, right = ([View(vectors) for vectors in each[tag]] for each, tag in ((reps, source), (beside, target)))
    total, values = len(left) * len(right), []
    for i, a in enumerate(left):
        values.append([Joined(a, b).measure_or_why(measure).value for b in right])
        progress((i + 1) * len(right), total)
    return pandas().DataFrame(values)
