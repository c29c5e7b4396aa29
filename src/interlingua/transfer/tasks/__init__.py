"""The catalogue of tasks."""

from typing import Any

from interlingua.errors import UnknownNameError
from interlingua.transfer.task import Task
from interlingua.transfer.tasks.classification import Nli, Sentiment
from interlingua.transfer.tasks.ner import Ner
from interlingua.transfer.tasks.parsing import Parsing
from interlingua.transfer.tasks.pos import Pos
from interlingua.transfer.tasks.translation import Translation

TASKS: tuple[Task[Any, Any], ...] = (Pos(), Ner(), Parsing(), Nli(), Sentiment(), Translation())


def task(name: str) -> Task[Any, Any]:
    """A task by its name."""
    for each in TASKS:
        if each.name == name:
            return each
    raise UnknownNameError("task", name, (each.name for each in TASKS))
