"""What can be done to vectors before any index: each step is named, and recorded with the result."""

from __future__ import annotations

from dataclasses import dataclass

from interlingua.errors import InputError
from interlingua.measures.arrays import Array, matrix, namespace
from interlingua.measures.geometry import outlier_neurons
from interlingua.measures.moments import side_moments
from interlingua.measures.spectra import spectrum


@dataclass(frozen=True, kw_only=True, slots=True)
class Preparation:
    """Steps in the order they are taken: leave neurons out, remove the mean, drop components, standardise."""

    without_neurons: tuple[int, ...] = ()
    remove_mean: bool = False
    drop_components: int = 0
    standardise: bool = False

    def __call__(self, x: Array, *, dtype: str = "float64") -> Array:
        """The prepared vectors of one language; fitted on them alone."""
        a = matrix(x, dtype=dtype)
        xp = namespace(a)
        if self.without_neurons:
            a = _without(a, self.without_neurons)
        if self.remove_mean or self.drop_components:
            a = a - xp.mean(a, axis=0)
        if self.drop_components:
            axes = spectrum(side_moments(a, dtype=dtype)).axes[:, : self.drop_components]
            a = a - (a @ axes) @ axes.T
        if self.standardise:
            spread = xp.std(a, axis=0)
            still = xp.min(a, axis=0) == xp.max(a, axis=0)
            a = (a - xp.mean(a, axis=0)) / xp.where(still, xp.ones_like(spread), spread)
        return a

    def signature(self) -> dict[str, object]:
        """What was done, for the record."""
        return {
            "without_neurons": list(self.without_neurons),
            "remove_mean": self.remove_mean,
            "drop_components": self.drop_components,
            "standardise": self.standardise,
        }


def _without(a: Array, neurons: tuple[int, ...]) -> Array:
    width = int(a.shape[1])
    if wrong := [i for i in neurons if not 0 <= i < width]:
        raise InputError(f"there is no neuron {wrong[0]}: there are {width}")
    xp = namespace(a)
    left_out = set(neurons)
    kept = [i for i in range(width) if i not in left_out]
    if not kept:
        raise InputError("no neuron is left")
    return xp.take(a, xp.asarray(kept, device=a.device), axis=1)


def outliers_of(*sides: Array) -> tuple[int, ...]:
    """Neurons that stand out on any side: leave the same ones out of all."""
    return tuple(sorted({i for side in sides for i in outlier_neurons(side).neurons}))
