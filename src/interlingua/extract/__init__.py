"""Corpus x model -> Representations. The package can be called: `interlingua.extract(model, corpus)`."""

import inspect
import sys
from types import ModuleType
from typing import Any

from interlingua.extract.cost import Cost, cost
from interlingua.extract.extraction import extract
from interlingua.extract.options import Extraction
from interlingua.extract.store import open_store

__all__ = ["Cost", "Extraction", "cost", "extract", "open_store"]


class _Callable(ModuleType):
    """`interlingua.extract` is the name of this package and of the function that users call."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return extract(*arguments, **options)


_module = sys.modules[__name__]
_module.__class__ = _Callable
_module.__signature__ = inspect.signature(extract)  # type: ignore[attr-defined]
