"""What a comparison found, and what can be asked of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interlingua.analyses.sweep import JACKKNIFED, Plan, model_name
from interlingua.errors import InputError, UndefinedError
from interlingua.languages import Language
from interlingua.measures.catalog import find
from interlingua.measures.joined import Joined, View
from interlingua.measures.prepare import Preparation, outliers_of
from interlingua.report.tables import pandas
from interlingua.stats import Difference, Interval, Pattern, adjusted, align_then_predict, difference
from interlingua.types import Representations

if TYPE_CHECKING:
    import pandas as pd

# Measures that pair neuron i of one side with neuron i of the other.
NEURON_WISE = ("anc", "anc_signed")
DEFAULT = ("anc", "linear_cka", "debiased_cka", "matching")
# Kept for tests of the comparison, and no part of its table.
_INSIDE = ("blocks", "left_out")

Array = Any


@dataclass(frozen=True)
class Comparison:
    """Values by model, layer, pair and measure. `table` is long: one row each."""

    rows: tuple[dict[str, Any], ...]
    reps: Representations
    plan: Plan

    def __repr__(self) -> str:
        names, pairs = ", ".join(self.plan.measures), len(self.plan.pairs)
        models = ", ".join(dict.fromkeys(row["model"] for row in self.rows))
        layers = len({row["layer"] for row in self.rows})
        return f"<Comparison of {pairs} pairs at {layers} layers of {models}: {names}; n = {len(self.reps):,}>"

    def _repr_html_(self) -> str:
        """For notebooks: the curves of the first measure."""
        from interlingua.report.figures import layer_curves, notebook_html
        from interlingua.report.tables import Tables

        # A baseline stands under the name of the model it belongs to.
        named = [{**row, "model": model_name(self.reps)} for row in self.rows]
        values = Tables.of({}, values=named).values
        return notebook_html(layer_curves(values, self.plan.measures[0]))

    @property
    def table(self) -> pd.DataFrame:
        """One row a number: model, pooling, layer, source, target, measure, value, low, high, null, p, n, signature.

        `null` is the value of shuffled pairs, `p` its p-value from 19 shuffles up; with a paper, also what its code
        gives (`published`) and how (`published_as`).
        """
        return pandas().DataFrame([{k: v for k, v in row.items() if k not in _INSIDE} for row in self.rows])

    def matrix(self, measure: str, layer: int) -> pd.DataFrame:
        """Language x language, for one measure at one layer; what was not compared is missing."""
        chosen = self._rows(measure=measure, layer=layer)
        langs = list(dict.fromkeys(row[side] for side in ("source", "target") for row in chosen))
        found = pandas().DataFrame(np.nan, index=langs, columns=langs)
        symmetric = find(measure).symmetric
        for row in chosen:
            found.loc[row["source"], row["target"]] = row["value"]
            if symmetric:
                found.loc[row["target"], row["source"]] = row["value"]
        return found

    def neurons(self, layer: int, pair: tuple[str, str]) -> pd.DataFrame:
        """Correlation of every neuron between two languages at a layer, the most shared first."""
        if not self._one_network:
            raise InputError("neurons of two networks do not correspond: there are none to list")
        x, y = (self.plan.preparation(self.reps[tag, layer]) for tag in _two(pair))
        signed = np.asarray(find("anc").function(x, y).signed)
        numbers = self.plan.preparation.kept(self.reps.width(pair[0]))
        table = pandas().DataFrame({"neuron": numbers, "correlation": signed})
        return table.sort_values("correlation", key=abs, ascending=False, na_position="last", ignore_index=True)

    def pattern(self, measure: str = "anc", *, pair: tuple[str, str] | None = None, inner: bool = False) -> Pattern:
        """Whether similarity rises from the embeddings to a middle layer and falls to the last.

        Over all pairs together, or for one. It is tested on blocks of sentences, so rise and fall are those of values
        at that size; where a measure moves with the number of sentences, they are not the differences in the table.
        """
        wanted = {} if pair is None else dict(zip(("source", "target"), map(_tag, _two(pair)), strict=True))
        rows = self._rows(measure=measure, **wanted)
        if without := next((row for row in rows if not math.isfinite(row["value"])), None):
            raise InputError(f"{measure} has no value at layer {without['layer']}: {without['notes']}")
        if any(row["blocks"] is None for row in rows):
            raise InputError(
                f"{measure} has no values by block to test a pattern on: use {', '.join(JACKKNIFED)} or matching"
            )
        if not all(math.isfinite(value) for row in rows for value in row["blocks"]):
            size = rows[0]["n"] // self.plan.blocks
            raise InputError(f"{measure} has no value for some blocks of {size} sentences: compare with fewer blocks")
        layers = sorted({row["layer"] for row in rows})
        curves = np.stack(
            [np.mean([row["blocks"] for row in rows if row["layer"] == at], axis=0) for at in layers], axis=1
        )
        return align_then_predict(curves, inner=inner)

    def explain(self, layer: int, pair: tuple[str, str], measures: Sequence[str] = DEFAULT) -> pd.DataFrame:
        """What each measure becomes without outlier neurons, and without the largest directions: where they part ways.

        Linear CKA is a sum over pairs of principal directions, weighted by their variances; `top_share` is the part of
        it that the directions just left out account for. A CKA that falls apart without its first direction, where ANC
        and matching do not, was the agreement of that one direction.
        """
        x, y = (self.plan.preparation(self.reps[tag, layer]) for tag in _two(pair))
        names = [find(m).name for m in measures if self._one_network or m not in NEURON_WISE]
        outliers = outliers_of(x, y)
        rows = []
        steps = {"as it is": Preparation()}
        if outliers:
            numbers = self.plan.preparation.kept(self.reps.width(pair[0]))
            told = ", ".join(str(numbers[i]) for i in outliers)
            steps[f"without outlier neurons {told}"] = Preparation(without_neurons=outliers)
        for k in (1, 2, 5):
            steps[f"without the top {k} direction{'s' if k > 1 else ''}"] = Preparation(drop_components=k)
        for name, step in steps.items():
            try:
                joined = Joined(View(step(x)), View(step(y)))
            except UndefinedError:
                continue  # fewer directions than would be left out
            values = {measure: joined.measure_or_why(measure).value for measure in names}
            rows.append({"vectors": name, **values, "top_share": _top_share(x, y, step.drop_components)})
        return pandas().DataFrame(rows)

    def versus(self, other: Comparison, measure: str = "anc") -> pd.DataFrame:
        """The difference to another model on the same sentences, layer by layer and pair by pair.

        The interval is that of the paired difference; p-values are two-sided, and adjusted for the number of rows
        (Holm). Layers are matched by number, as far as both models have them.
        """
        if not isinstance(other, Comparison):
            raise InputError(f"a comparison is held against another comparison, not {other!r}")
        if self.reps.ids != other.reps.ids:
            raise InputError("two models are compared on the same sentences, and these are not the same")
        second = {(r["layer"], r["source"], r["target"]): r for r in other._rows(measure=measure)}
        first = [r for r in self._rows(measure=measure) if (r["layer"], r["source"], r["target"]) in second]
        if not first:
            raise InputError("the two comparisons have no layer and pair in common")
        return _differences([(r, second[r["layer"], r["source"], r["target"]]) for r in first], measure)

    def between(self, first: int, second: int, measure: str = "anc") -> pd.DataFrame:
        """One layer less another, pair by pair, on the same sentences; like `versus`."""
        rows = {(r["source"], r["target"]): r for r in self._rows(measure=measure, layer=second)}
        return _differences(
            [(r, rows[r["source"], r["target"]]) for r in self._rows(measure=measure, layer=first)], measure
        )

    @property
    def _one_network(self) -> bool:
        return self.plan.same_neurons or bool(self.reps.signature.get("one_network", True))

    def _rows(self, **wanted: Any) -> list[dict[str, Any]]:
        chosen = [row for row in self.rows if not row["baseline"] and all(row[k] == v for k, v in wanted.items())]
        if not chosen:
            asked = ", ".join(f"{k} {v}" for k, v in wanted.items())
            wrong = next((k for k, v in wanted.items() if all(row[k] != v for row in self.rows)), "measure")
            there = ", ".join(str(v) for v in dict.fromkeys(row[wrong] for row in self.rows))
            raise InputError(f"nothing was compared for {asked}: the {wrong}s are {there}")
        return chosen


def _two(pair: tuple[str, str]) -> tuple[str, str]:
    if isinstance(pair, str) or len(pair) != 2:
        raise InputError(f'a pair is two languages like ("en", "fr"), not {pair!r}')
    return pair


def _tag(tag: str) -> str:
    return str(Language.parse(tag))


def _differences(pairs: Sequence[tuple[dict[str, Any], dict[str, Any]]], measure: str) -> pd.DataFrame:
    if all(row["left_out"] is None and math.isfinite(row["value"]) for both in pairs for row in both):
        hint = "" if measure not in ("cca_mean", "cca_r2", "svcca", "pwcca", "pwcca_symmetric") else ": compare with "
        hint += "cca_intervals=True" if hint else ""
        raise InputError(f"{measure} has no values without single blocks to test a difference on{hint}")
    found = [_difference(a, b) for a, b in pairs]
    table = pandas().DataFrame(
        [
            {
                "source": a["source"],
                "target": a["target"],
                "measure": measure,
                "first_model": a["model"],
                "first_layer": a["layer"],
                "second_model": b["model"],
                "second_layer": b["layer"],
                "first": a["value"],
                "second": b["value"],
                "difference": d.value,
                "low": d.interval.low,
                "high": d.interval.high,
                "p": d.p,
                "notes": "; ".join(filter(None, [a["notes"], b["notes"]])),
            }
            for (a, b), d in zip(pairs, found, strict=True)
        ]
    )
    tested = iter(adjusted(known, method="holm") if (known := [d.p for d in found if math.isfinite(d.p)]) else [])
    table["p_adjusted"] = [next(tested) if math.isfinite(d.p) else math.nan for d in found]
    return table


def _difference(a: dict[str, Any], b: dict[str, Any]) -> Difference:
    """The paired difference; NaN where one of the two has no value."""
    if a["left_out"] is None or b["left_out"] is None:
        return Difference(math.nan, Interval(math.nan, math.nan, math.nan), math.nan)
    return difference(a["value"], b["value"], a["left_out"], b["left_out"])


def _top_share(x: Array, y: Array, k: int) -> float | None:
    """The share of linear CKA's numerator Σ λᵢμⱼ⟨uᵢ, vⱼ⟩² that pairs of the k leading directions make up."""
    if not k:
        return None
    joined = Joined(View(x), View(y))
    rotated = np.asarray(joined.x.spectrum.axes.T @ joined.moments.joint.cross @ joined.y.spectrum.axes) ** 2
    return float(rotated[:k, :k].sum() / rotated.sum())
