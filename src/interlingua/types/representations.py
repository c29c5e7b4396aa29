"""Labelled arrays: language x layer x example x neuron."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, overload

from interlingua.errors import InputError, UnknownNameError
from interlingua.languages import Language

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Representations:
    """Vectors of the same examples in several languages, at every layer; read from disk only where they are asked for.

    `reps["fr", 8]` is the array (examples, neurons) of one language and layer, `reps["fr"]` all its layers,
    `reps[:100]` the same for the first hundred examples. Layer 0 is the embedding output.
    """

    arrays: Mapping[Language, Any]
    ids: tuple[str, ...]
    signature: Mapping[str, Any] = field(default_factory=dict)
    rows: slice = field(default_factory=lambda: slice(None))

    @property
    def langs(self) -> tuple[Language, ...]:
        """The languages."""
        return tuple(self.arrays)

    @property
    def layers(self) -> int:
        """The number of layers, the embeddings counted in; those of the deepest model where there are several."""
        return max(int(array.shape[0]) for array in self.arrays.values())

    def __len__(self) -> int:
        return len(self.ids)

    def width(self, tag: str | Language) -> int:
        """The number of neurons of the model that read a language."""
        return int(self._array(tag).shape[2])

    @overload
    def __getitem__(self, key: slice) -> Self: ...
    @overload
    def __getitem__(self, key: str | Language | tuple[str | Language, int]) -> np.ndarray[Any, Any]: ...
    def __getitem__(self, key: slice | str | Language | tuple[str | Language, int]) -> Self | np.ndarray[Any, Any]:
        import numpy as np

        if isinstance(key, slice):
            chosen = range(*self.rows.indices(len(next(iter(self.arrays.values()))[0])))[key]
            if chosen.step < 1:
                raise InputError("examples are sliced forwards")
            rows = slice(chosen.start, chosen.stop, chosen.step)
            return replace(self, ids=self.ids[key], rows=rows)
        tag, layer = key if isinstance(key, tuple) else (key, None)
        array = self._array(tag)
        if layer is None:
            return np.asarray(array[:, self.rows])
        if not -array.shape[0] <= layer < array.shape[0]:
            raise InputError(f"there is no layer {layer}: layers run from 0 (embeddings) to {array.shape[0] - 1}")
        return np.asarray(array[layer % array.shape[0], self.rows])

    def _array(self, tag: str | Language) -> Any:
        lang = Language.parse(tag)
        if lang not in self.arrays:
            raise UnknownNameError("language", str(lang), map(str, self.arrays))
        return self.arrays[lang]
