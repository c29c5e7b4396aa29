"""Labelled arrays: language x layer x example x neuron."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, overload

from interlingua.errors import InputError, UnknownNameError
from interlingua.languages import Language

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

Tag = str | Language


@dataclass(frozen=True, repr=False)
class Layered:
    """Arrays (layer, example, neuron) by language, read from disk only where they are asked for.

    `reps["fr", 8]` is the array (examples, neurons) of one language and layer, `reps["fr"]` all its layers. Layer 0 is
    the embedding output. `signature` holds everything that the numbers depend on.
    """

    arrays: Mapping[Language, Any]
    signature: Mapping[str, Any] = field(default_factory=dict)

    @property
    def langs(self) -> tuple[Language, ...]:
        """The languages."""
        return tuple(self.arrays)

    @property
    def layers(self) -> int:
        """The number of layers, the embeddings counted in; those of the deepest model where there are several."""
        return max(int(array.shape[0]) for array in self.arrays.values())

    def width(self, tag: Tag) -> int:
        """The number of neurons of the model that read a language."""
        return int(self._of(self.arrays, tag).shape[2])

    def _read(self, key: Tag | tuple[Tag, int], rows: slice | tuple[int, ...]) -> Array:
        import numpy as np

        tag, layer = key if isinstance(key, tuple) and len(key) == 2 else (key, None)
        if not isinstance(tag, str | Language) or not (layer is None or hasattr(layer, "__index__")):
            raise InputError('ask for a language ("fr"), a language and a layer ("fr", 8), or a slice of rows')
        array = self._of(self.arrays, tag)
        if layer is None:
            return np.asarray(array[:, rows]) if isinstance(rows, slice) else np.asarray(array[:])[:, list(rows)]
        if not -array.shape[0] <= layer < array.shape[0]:
            raise InputError(f"there is no layer {layer}: layers run from 0 (embeddings) to {array.shape[0] - 1}")
        at = layer % array.shape[0]
        return np.asarray(array[at, rows]) if isinstance(rows, slice) else np.asarray(array[at])[list(rows)]

    def _of(self, values: Mapping[Language, Any], tag: Tag) -> Any:
        lang = Language.parse(tag)
        if lang not in values:
            raise UnknownNameError("language", str(lang), map(str, values))
        return values[lang]


@dataclass(frozen=True, repr=False)
class Representations(Layered):
    """Vectors of the same examples in several languages: row i of one language translates row i of every other.

    `reps[:100]` is the same for the first hundred examples, `reps.only([3, 5, 8])` for some; `reps.ids` are the ids of
    the corpus's rows.
    """

    ids: tuple[str, ...] = ()
    rows: slice | tuple[int, ...] = field(default_factory=lambda: slice(None))

    def __post_init__(self) -> None:
        parsed = {Language.parse(tag): array for tag, array in self.arrays.items()}
        if any(len(array.shape) != 3 for array in parsed.values()):
            raise InputError("representations are arrays of layers x examples x neurons, one for each language")
        object.__setattr__(self, "arrays", parsed)
        counts = {str(lang): self._count(int(array.shape[1])) for lang, array in self.arrays.items()}
        if len(set(counts.values())) > 1:
            told = " and ".join(f"{lang} has {n}" for lang, n in counts.items())
            raise InputError(f"{told} examples: row i of one must translate row i of the other")
        n = next(iter(counts.values()), 0)
        if not self.ids:
            object.__setattr__(self, "ids", tuple(map(str, range(1, n + 1))))
        elif len(self.ids) != n:
            raise InputError(f"{len(self.ids)} ids for {n} examples: give one for each")

    def _count(self, stored: int) -> int:
        return len(range(*self.rows.indices(stored))) if isinstance(self.rows, slice) else len(self.rows)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"<Representations {len(self):,} examples, {self.layers} layers, {', '.join(map(str, self.langs))}>"

    @overload
    def __getitem__(self, key: slice) -> Self: ...
    @overload
    def __getitem__(self, key: Tag | tuple[Tag, int]) -> Array: ...
    def __getitem__(self, key: slice | Tag | tuple[Tag, int]) -> Self | Array:
        if not isinstance(key, slice):
            return self._read(key, self.rows)
        here = range(len(self))[key]
        if here.step < 1:
            raise InputError("examples are sliced forwards")
        if not isinstance(self.rows, slice):
            return replace(self, ids=self.ids[key], rows=self.rows[key])
        chosen = range(*self.rows.indices(int(next(iter(self.arrays.values())).shape[1])))[key]
        return replace(self, ids=self.ids[key], rows=slice(chosen.start, chosen.stop, chosen.step))

    def languages(self, *tags: Tag) -> Self:
        """Only these languages, in this order."""
        return replace(self, arrays={Language.parse(tag): self._of(self.arrays, tag) for tag in tags})

    def only(self, rows: Sequence[int] | Sequence[bool] | Array, *, why: str = "") -> Self:
        """The same for some examples: their numbers, or a yes or no for each; `why` goes into the signature."""
        import numpy as np

        try:
            wanted = np.asarray(rows)
        except ValueError as error:
            raise InputError("examples are chosen by their numbers, or by a yes or no for each") from error
        if wanted.ndim != 1 or (wanted.dtype != bool and wanted.dtype.kind not in "iu" and wanted.size):
            raise InputError("examples are chosen by their numbers, or by a yes or no for each")
        if wanted.dtype == bool:
            if wanted.shape != (len(self),):
                raise InputError(f"{wanted.size} choices for {len(self)} examples: give one for each")
            wanted = np.flatnonzero(wanted)
        numbers = [int(i) for i in wanted.reshape(-1)]
        if not numbers:
            raise InputError("no example is left")
        if wrong := [i for i in numbers if not 0 <= i < len(self)]:
            raise InputError(f"there is no example {wrong[0]}: there are {len(self)}")
        stored = int(next(iter(self.arrays.values())).shape[1])
        before = range(*self.rows.indices(stored)) if isinstance(self.rows, slice) else self.rows
        signature = {**self.signature, "only": "; ".join(filter(None, [self.signature.get("only", ""), why]))}
        chosen = tuple(before[i] for i in numbers)
        return replace(self, ids=tuple(self.ids[i] for i in numbers), rows=chosen, signature=signature)


@dataclass(frozen=True)
class Labels:
    """What the rows of one language are: words in their places, or word types and how often each occurred.

    `places` (word level) has a row (sentence, word in the sentence) for every vector, both counted from 0; `counts`
    (type level) is the number of contexts each vector is the mean of. `dropped` lists the places of the words that the
    tokenizer gave no token for, or that were cut off: they have no vector.
    """

    words: tuple[str, ...]
    places: Array | None
    counts: Array | None
    dropped: Array


@dataclass(frozen=True, repr=False)
class WordRepresentations(Layered):
    """Vectors of words: each occurrence in its context, or one for every word type. Languages differ in their rows.

    `reps.words("fr")[i]` is the word of row i of `reps["fr", 8]`.
    """

    labels: Mapping[Language, Labels] = field(default_factory=dict)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{lang} {len(label.words):,}" for lang, label in self.labels.items())
        return f"<WordRepresentations {self.signature.get('level', 'word')} level, {self.layers} layers, {sizes}>"

    def __getitem__(self, key: Tag | tuple[Tag, int]) -> Array:
        return self._read(key, slice(None))

    def part(self, tag: Tag, layer: int, rows: slice) -> Array:
        """Some rows of one language and layer; the others are not read."""
        return self._read((tag, layer), rows)

    def words(self, tag: Tag) -> tuple[str, ...]:
        """The word of every row."""
        return self._label(tag).words

    def places(self, tag: Tag) -> Array:
        """(sentence, word in the sentence) of every row, counted from 0; word level only."""
        places = self._label(tag).places
        if places is None:
            raise InputError("a word type has no place: it is the mean over all; extract with level='word' for places")
        return places

    def counts(self, tag: Tag) -> Array:
        """How many contexts each row is the mean of."""
        import numpy as np

        label = self._label(tag)
        return np.ones(len(label.words), np.int64) if label.counts is None else label.counts

    def dropped(self, tag: Tag) -> Array:
        """(sentence, word in the sentence) of the words without a vector: the tokenizer dropped or cut them."""
        return self._label(tag).dropped

    def _label(self, tag: Tag) -> Labels:
        label: Labels = self._of(self.labels, tag)
        return label
