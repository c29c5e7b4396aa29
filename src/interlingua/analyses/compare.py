"""`compare`: how alike are the languages inside a model, layer by layer, and how sure is that?

All layers x all pairs x all measures in one sweep over the representations. Every value comes with its interval, where
the measure has one, and with the value that shuffled pairs give.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from interlingua import __version__
from interlingua.errors import InputError, MissingExtraError, UnknownNameError
from interlingua.languages import Language
from interlingua.measures.catalog import CATALOG, find
from interlingua.measures.joined import FROM_MOMENTS, Joined, View
from interlingua.measures.moments import leave_one_out
from interlingua.measures.prepare import Preparation, outliers_of
from interlingua.measures.results import Retrieval
from interlingua.stats import Interval, Pattern, align_then_predict, jackknife, mean_interval
from interlingua.types import Representations

if TYPE_CHECKING:
    import pandas as pd

DEFAULT = ("anc", "linear_cka", "debiased_cka", "matching")
BLOCKS, NULLS = 20, 5
# Measures that have an interval by the jackknife over blocks; retrieval has one from its hits.
JACKKNIFED = ("anc", "linear_cka", "debiased_cka")
# Measures that pair neuron i of one side with neuron i of the other.
NEURON_WISE = ("anc", "anc_signed")

Pair = tuple[Language, Language]
Array = Any


@dataclass(frozen=True)
class Comparison:
    """Values by model, layer, pair and measure. `table` is long: one row each."""

    rows: tuple[dict[str, Any], ...]
    reps: Representations
    preparation: Preparation
    seed: int

    @property
    def table(self) -> pd.DataFrame:
        """A data frame with the columns model, layer, source, target, measure, value, low, high, null, n, notes, ..."""
        return _pandas().DataFrame([{k: v for k, v in row.items() if k != "blocks"} for row in self.rows])

    def matrix(self, measure: str, layer: int) -> pd.DataFrame:
        """Language x language, for one measure at one layer; what was not compared is missing."""
        chosen = self._rows(measure=measure, layer=layer)
        langs = sorted({row[side] for row in chosen for side in ("source", "target")})
        found = _pandas().DataFrame(np.nan, index=langs, columns=langs)
        symmetric = find(measure).symmetric
        for row in chosen:
            found.loc[row["source"], row["target"]] = row["value"]
            if symmetric:
                found.loc[row["target"], row["source"]] = row["value"]
        return found

    def neurons(self, layer: int, pair: tuple[str, str]) -> pd.DataFrame:
        """Correlation of every neuron between two languages at a layer, the most shared first."""
        x, y = (self.preparation(self.reps[tag, layer]) for tag in pair)
        signed = np.asarray(find("anc").function(x, y).signed)
        table = _pandas().DataFrame({"neuron": np.arange(len(signed)), "correlation": signed})
        return table.sort_values("correlation", key=abs, ascending=False, na_position="last", ignore_index=True)

    def pattern(self, measure: str = "anc") -> Pattern:
        """Whether similarity rises from the embeddings to a middle layer and falls to the last, over all pairs."""
        rows = self._rows(measure=measure)
        if any(row["blocks"] is None for row in rows):
            raise InputError(
                f"{measure} has no values by block to test a pattern on: use {', '.join(JACKKNIFED)} or matching"
            )
        layers = sorted({row["layer"] for row in rows})
        curves = np.stack(
            [np.mean([row["blocks"] for row in rows if row["layer"] == at], axis=0) for at in layers], axis=1
        )
        return align_then_predict(curves)

    def explain(self, layer: int, pair: tuple[str, str], measures: Sequence[str] = DEFAULT) -> pd.DataFrame:
        """What each measure becomes without outlier neurons, and without the largest directions: where they part ways.

        Linear CKA is a sum over pairs of principal directions, weighted by their variances; `top_share` is the part of
        it that the directions just left out account for. A CKA that falls apart without its first direction, where ANC
        and matching do not, was the agreement of that one direction.
        """
        x, y = (self.preparation(self.reps[tag, layer]) for tag in pair)
        outliers = outliers_of(x, y)
        rows = []
        steps = {"as it is": Preparation()}
        if outliers:
            steps[f"without outlier neurons {', '.join(map(str, outliers))}"] = Preparation(without_neurons=outliers)
        for k in (1, 2, 5):
            if k < min(x.shape[1], len(x) - 1):
                steps[f"without the top {k} direction{'s' if k > 1 else ''}"] = Preparation(drop_components=k)
        for name, step in steps.items():
            joined = Joined(View(step(x)), View(step(y)))
            values = {measure: joined.measure(measure).value for measure in measures}
            rows.append({"vectors": name, **values, "top_share": _top_share(x, y, step.drop_components)})
        return _pandas().DataFrame(rows)

    def _rows(self, **wanted: Any) -> list[dict[str, Any]]:
        chosen = [row for row in self.rows if not row["baseline"] and all(row[k] == v for k, v in wanted.items())]
        if not chosen:
            asked = ", ".join(f"{k} {v}" for k, v in wanted.items())
            raise InputError(
                f"nothing was compared for {asked}: there are {', '.join(sorted({r['measure'] for r in self.rows}))}"
            )
        return chosen


def compare(
    reps: Representations,
    *,
    source: str | Language = "",
    measures: Sequence[str] = DEFAULT,
    baseline: Representations | None = None,
    preparation: Preparation | None = None,
    same_neurons: bool = False,
    blocks: int = BLOCKS,
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
        baseline: the same sentences through a random network; its values are in the table with `baseline` true.
        preparation: what to do to the vectors of each language first.
        same_neurons: two networks, of which neuron i of one is neuron i of the other (ANC refuses them otherwise).
        blocks: rows are cut into so many for the intervals.
        nulls: shuffles of the pairing, for the value that stands beside each.
        seed: of the shuffles.
        cache: a folder where finished layers are kept and found again.
        progress: called with (done, total).
    """
    names = [find(name).name for name in measures]
    if not names:
        raise InputError("no measure was asked for: there are " + ", ".join(m.name for m in CATALOG))
    ready = preparation or Preparation()
    pairs = _pairs(reps, source)
    sets = [(reps, False)] + ([(baseline, True)] if baseline is not None else [])
    for each, _ in sets:
        _check(each, reps, names, blocks, same_neurons=same_neurons)
    total = sum(each.layers for each, _ in sets) * len(pairs)
    rows: list[dict[str, Any]] = []
    for each, random in sets:
        for layer in range(each.layers):
            key = _key(each, layer, pairs, names, ready, blocks, nulls, seed)
            found = _cached(cache, key)
            if found is None:
                found = _layer(each, layer, pairs, names, ready, blocks, nulls, seed)
                _keep(cache, key, found)
            rows += [{**row, "baseline": random} for row in found]
            progress(len({(r["baseline"], r["layer"], r["source"], r["target"]) for r in rows}), total)
    return Comparison(tuple(rows), reps, ready, seed)


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
    if each.ids != first.ids or set(each.langs) != set(first.langs):
        raise InputError("the baseline must hold the same sentences in the same languages")
    if blocks < 2 or len(each) < 2 * blocks:
        raise InputError(
            f"{len(each)} sentences cannot be cut into {blocks} blocks: give more, or ask for fewer blocks"
        )
    wise = sorted(set(names) & set(NEURON_WISE))
    if wise and not same_neurons and not each.signature.get("one_network", True):
        raise InputError(
            f"{', '.join(wise)} compares neuron i with neuron i, but these are two networks: leave it out, or say "
            "same_neurons=True if their neurons correspond"
        )


def _layer(
    reps: Representations,
    layer: int,
    pairs: Sequence[Pair],
    names: Sequence[str],
    ready: Preparation,
    blocks: int,
    nulls: int,
    seed: int,
) -> list[dict[str, Any]]:
    """Every pair at one layer; each language is read and worked on once."""
    views = {
        lang: View(ready(reps[lang, layer]), blocks) for lang in dict.fromkeys(lang for pair in pairs for lang in pair)
    }
    rows = []
    for number, (source, target) in enumerate(pairs):
        joined = Joined(views[source], views[target])
        streams = np.random.SeedSequence([seed, layer, number]).spawn(nulls)
        shuffles = [joined.shuffled(names, np.random.default_rng(stream).permutation(len(reps))) for stream in streams]
        for name in names:
            result = joined.measure(name)
            interval, by_block = _uncertainty(name, result, joined)
            rows.append(
                {
                    "model": _model(reps),
                    "layer": layer,
                    "source": str(source),
                    "target": str(target),
                    "measure": name,
                    "value": result.value,
                    "low": None if interval is None else interval.low,
                    "high": None if interval is None else interval.high,
                    "null": float(np.mean([values[name] for values in shuffles])) if shuffles else None,
                    "n": result.n,
                    "notes": "; ".join(result.notes),
                    "blocks": by_block,
                }
            )
    return rows


def _uncertainty(name: str, result: Any, joined: Joined) -> tuple[Interval | None, list[float] | None]:
    """The interval of a value, where its measure has one, and the values of single blocks."""
    if name in JACKKNIFED:
        function = FROM_MOMENTS[name]
        without = [function(rest).value for rest in leave_one_out(joined.parts)]
        return jackknife(result.value, without), [function(part).value for part in joined.parts]
    if isinstance(result, Retrieval):
        hits = np.asarray(result.hits, np.float64).mean(0)
        return mean_interval(hits), [float(hits[cut].mean()) for cut in joined.x.cuts]
    return None, None


def _top_share(x: Array, y: Array, k: int) -> float | None:
    """The share of linear CKA's numerator Σ λᵢμⱼ⟨uᵢ, vⱼ⟩² that pairs of the k leading directions make up."""
    if not k:
        return None
    joined = Joined(View(x), View(y))
    rotated = np.asarray(joined.x.spectrum.axes.T @ joined.moments.joint.cross @ joined.y.spectrum.axes) ** 2
    return float(rotated[:k, :k].sum() / rotated.sum())


def compare_layers(reps: Representations, source: str, target: str, measure: str = "linear_cka") -> pd.DataFrame:
    """One language at every layer against another at every layer: (layers of source, layers of target).

    The two may come from models of unlike depth and width, if the measure takes that.
    """
    if measure in NEURON_WISE:
        raise InputError(f"{measure} compares neuron i with neuron i: neurons of two layers do not correspond")
    left, right = ([View(vectors) for vectors in reps[tag]] for tag in (source, target))
    values = [[Joined(a, b).measure(measure).value for b in right] for a in left]
    return _pandas().DataFrame(values)


def _model(reps: Representations) -> str:
    found = reps.signature.get("model", {})
    if "model" in found:
        return str(found["model"]) + (" (random)" if found.get("random") else "")
    return ", ".join(dict.fromkeys(str(model["model"]) for model in found.values())) or "unnamed"


def _key(
    reps: Representations, layer: int, pairs: Sequence[Pair], names: Sequence[str], ready: Preparation, *rest: int
) -> str:
    """What the rows of a layer depend on."""
    facts = {
        "representations": dict(reps.signature),
        "ids": hashlib.sha256("\n".join(reps.ids).encode()).hexdigest(),
        "layer": layer,
        "pairs": [[str(a), str(b)] for a, b in pairs],
        "measures": {name: find(name).revision for name in names},
        "preparation": ready.signature(),
        "blocks, nulls, seed": rest,
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()


def _cached(cache: str | Path | None, key: str) -> list[dict[str, Any]] | None:
    path = None if cache is None else Path(cache, f"{key}.json")
    if path is None or not path.exists():
        return None
    try:
        found: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return list(found["rows"])
    except (ValueError, KeyError, TypeError):
        return None  # cut short: computed again


def _keep(cache: str | Path | None, key: str, rows: list[dict[str, Any]]) -> None:
    if cache is None:
        return
    folder = Path(cache)
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f"{key}.partial"
    partial.write_text(json.dumps({"interlingua": __version__, "rows": rows}), encoding="utf-8")
    partial.replace(folder / f"{key}.json")


def _pandas() -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("pandas", "compare", "tables of comparisons") from error
    return pd
