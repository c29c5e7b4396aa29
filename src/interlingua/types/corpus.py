"""What every record shares: ids, notes, a content hash, and selecting rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar

from interlingua.errors import InputError

if TYPE_CHECKING:
    import numpy as np

Words = tuple[str, ...]
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, repr=False)
class Corpus:
    """What all records share: a name, a licence, row ids, and selecting rows."""

    name: str = "unnamed"
    licence: str = "unknown"
    ids: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    # The fields that hold one element a row (a field may be None), and those that name the languages.
    per_row: ClassVar[tuple[str, ...]] = ()
    identity: ClassVar[tuple[str, ...]] = ("language",)

    def __post_init__(self) -> None:
        n = len(self)
        if not self.ids:
            object.__setattr__(self, "ids", tuple(str(i) for i in range(1, n + 1)))
        for column in ("ids", *self.per_row):
            values = getattr(self, column)
            if values is not None and len(values) != n:
                raise InputError(f"{self.name}: {n} rows but {len(values)} {column.replace('_', ' ')}")

    def __len__(self) -> int:
        return len(getattr(self, self.per_row[0]))

    def __repr__(self) -> str:
        languages = ", ".join(str(getattr(self, name)) for name in self.identity)
        return f"<{type(self).__name__} {self.name}: {len(self):,} rows, {languages}>"

    def take(self, rows: Iterable[int]) -> Self:
        """The rows with these positions, in this order."""
        chosen = list(rows)
        n = len(self)
        for i in chosen:
            if isinstance(i, bool) or not hasattr(i, "__index__"):
                raise InputError(f"rows are chosen by position, a whole number, not {i!r}")
            if not -n <= i < n:
                raise InputError(f"{self.name} has {n} rows: there is no row {i}")
        return self._select(lambda values: tuple(values[i] for i in chosen))

    def _select(self, pick: Pick) -> Self:
        columns: dict[str, Any] = {c: getattr(self, c) for c in ("ids", *self.per_row)}
        chosen: dict[str, Any] = {c: v if v is None else pick(v) for c, v in columns.items()}
        return replace(self, **chosen)

    def sample(self, n: int, rng: np.random.Generator | int) -> Self:
        """`n` rows drawn without replacement, in their original order; `rng` is a generator or a seed."""
        import numpy as np

        if not 0 <= n <= len(self):
            raise InputError(f"{self.name} has {len(self)} rows: cannot draw {n} without replacement")
        drawn = np.random.default_rng(rng).choice(len(self), size=n, replace=False)
        return self.take(sorted(int(i) for i in drawn))

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the content, in hexadecimal."""
        return digest(self._content())

    def _content(self) -> Iterator[str]:
        """The strings that make up the content; lengths are mixed in, so the borders between them count."""
        for lang in self.identity:
            yield str(getattr(self, lang))
        for column in self.per_row:
            yield column
            yield from strings(getattr(self, column))


class Pick(Protocol):
    """A function from one tuple to a tuple of some of its elements."""

    def __call__(self, values: tuple[T, ...], /) -> tuple[T, ...]:
        """Some of the elements."""
        ...


def digest(strings: Iterable[str]) -> str:
    """SHA-256 over strings, each preceded by its length in bytes."""
    state = hashlib.sha256()
    for text in strings:
        data = text.encode("utf-8", "surrogatepass")
        state.update(b"%d:" % len(data))
        state.update(data)
    return state.hexdigest()


def strings(value: object) -> Iterator[str]:
    """Every string inside nested tuples, with their lengths; other values as Python writes them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple | list):
        yield f"({len(value)}"
        for item in value:
            yield from strings(item)
    elif isinstance(value, frozenset):
        yield from strings(tuple(sorted(value)))
    else:
        yield repr(value)


class Rows(Corpus):
    """Slicing for the records whose rows have a type of their own."""

    def __getitem__(self, key: slice) -> Self:
        if not isinstance(key, slice):
            raise InputError(f"{self.name}: select rows with a slice, or one row with take([{key!r}])")
        return self._select(lambda values: values[key])
