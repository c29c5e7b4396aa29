"""What a task is: records in, answers as numbers, a head over hidden states, a loss, decoding, and a score.

A score is made of counts that are kept for every sentence, so that intervals are sums over sentences drawn again and
not predictions made again. A new task is one file in `tasks/` and one line in its catalogue.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import torch

from interlingua.errors import InputError
from interlingua.transfer.encode import IGNORED, Encoded
from interlingua.transfer.readers import Reader

Array = np.ndarray[Any, Any]
Labels = tuple[str, ...]

R = TypeVar("R")
G = TypeVar("G")


class Task(ABC, Generic[R, G]):
    """A task over records `R` whose answer for a sentence is a `G`."""

    name: ClassVar[str]
    # the name of the score, higher being better, and those that are shown beside it
    metric: ClassVar[str]
    also: ClassVar[tuple[str, ...]] = ()
    # whether words are asked about, and not sentences
    words: ClassVar[bool] = True
    # the ending of a file of answers
    suffix: ClassVar[str] = "tsv"

    def language(self, record: R) -> str:
        """What a score is of: the language of a record."""
        return str(record.language)  # type: ignore[attr-defined]

    @abstractmethod
    def read(self, source: str, language: str, split: str) -> R:
        """A record, from a data set's name or a file."""

    @abstractmethod
    def gold(self, record: R) -> tuple[G, ...]:
        """The right answer of every sentence."""

    @abstractmethod
    def labels(self, gold: Sequence[G]) -> Labels:
        """The names of classes that answers are made of."""

    @abstractmethod
    def written(self, record: R, answers: Sequence[G]) -> Iterator[str]:
        """Answers beside what is right, as the lines of a file; the file's ending is `suffix`."""

    @abstractmethod
    def counts(self, gold: G, answer: G) -> tuple[int, ...]:
        """What a score is a function of, for one sentence."""

    @abstractmethod
    def score(self, counts: Array) -> Array:
        """Scores of sums of counts: (..., counts) -> (..., 1 + `also`), between 0 and 1."""


class HeadTask(Task[R, G]):
    """A task that a head over hidden states learns: all but those whose answers a model writes itself."""

    @abstractmethod
    def encode(self, reader: Reader, record: R) -> Encoded:
        """Token numbers, as a reader has them."""

    @abstractmethod
    def head(self, width: int, labels: Labels, dropout: float) -> torch.nn.Module:
        """Hidden states (sentences, words or 1, width) -> scores."""

    @abstractmethod
    def targets(self, answers: Sequence[G], lost: Sequence[Array], labels: Labels) -> dict[str, torch.Tensor]:
        """Answers as numbers; what is lost, padded, or of no known class is not trained on."""

    @abstractmethod
    def loss(self, scores: Any, targets: dict[str, torch.Tensor]) -> torch.Tensor:
        """Mean loss over what is asked."""

    @abstractmethod
    def decode(self, scores: Any, lengths: Sequence[int], labels: Labels) -> list[G]:
        """An answer for every sentence of a batch."""


def known(labels: Labels, gold: Sequence[Any], task: Task[Any, Any], where: str) -> tuple[str, ...]:
    """The classes of answers that are not among those of training; an error if none of them is."""
    there = task.labels(gold) if isinstance(task, HeadTask) else ()
    new = tuple(label for label in there if label not in set(labels))
    if there and len(new) == len(there):
        raise InputError(
            f"{where} has none of the {len(labels)} labels of training ({_few(labels)}), but {_few(there)}: "
            "both must be annotated alike"
        )
    return new


def _few(labels: Labels) -> str:
    return ", ".join(labels[:6]) + (", ..." if len(labels) > 6 else "")


def numbers(row: Sequence[str], lost: Array, labels: Labels) -> Array:
    """Classes as numbers; `IGNORED` for what is lost or unknown."""
    of = {label: i for i, label in enumerate(labels)}
    found = np.array([of.get(label, IGNORED) for label in row], np.int64)
    found[np.asarray(lost, bool)] = IGNORED
    return found


def divided(part: Array, whole: Array) -> Array:
    """The share that a part is of a whole, 0 of nothing."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(whole > 0, part / np.where(whole > 0, whole, 1), 0.0)
