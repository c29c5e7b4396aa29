"""What can be done to vectors before any index: each step is named, and recorded with the result."""

from __future__ import annotations

from dataclasses import dataclass

from interlingua.errors import InputError, UndefinedError
from interlingua.measures.arrays import Array, matrix, namespace
from interlingua.measures.geometry import outlier_neurons
from interlingua.measures.moments import centred, side_of
from interlingua.measures.spectra import spectrum


@dataclass(frozen=True, kw_only=True, slots=True)
class Preparation:
    """Steps in the order they are taken: leave neurons out, remove the mean, drop components, standardise."""

    without_neurons: tuple[int, ...] = ()
    remove_mean: bool = False
    drop_components: int = 0
    standardise: bool = False

    def __post_init__(self) -> None:
        if any(not isinstance(i, int) or i < 0 for i in self.without_neurons):
            raise InputError(f"neurons are numbered from 0: {self.without_neurons} are no numbers of neurons")
        if not isinstance(self.drop_components, int) or self.drop_components < 0:
            raise InputError(f"{self.drop_components!r} components cannot be dropped: give a whole number")

    def __call__(self, x: Array, *, dtype: str = "float64") -> Array:
        """The prepared vectors of one language; fitted on them alone. A constant neuron stays exactly constant."""
        a = matrix(x, dtype=dtype)
        xp = namespace(a)
        if self.without_neurons:
            a = _without(a, self.without_neurons)
        if not (self.remove_mean or self.drop_components or self.standardise):
            return a
        c = centred(a, dtype=dtype)
        if not self.standardise and not self.drop_components:
            return c.rows
        a = c.rows if self.remove_mean or self.drop_components else a
        if self.drop_components:
            found = spectrum(side_of(c))
            if found.rank <= self.drop_components:
                raise UndefinedError(
                    f"vectors have {found.rank} directions: without the top {self.drop_components} nothing is left"
                )
            axes = found.axes[:, : self.drop_components]
            a = xp.where(c.constant, xp.zeros_like(a), a - (a @ axes) @ axes.T)
        if self.standardise:
            spread = xp.std(a, axis=0)
            a = (a - xp.mean(a, axis=0)) / xp.where(c.constant, xp.ones_like(spread), spread)
            a = xp.where(c.constant, xp.zeros_like(a), a)
        return a

    def kept(self, width: int) -> list[int]:
        """The numbers, in the network, of the neurons that are left."""
        return [i for i in range(width) if i not in set(self.without_neurons)]

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
