"""Corpus x model -> Representations. The package can be called: `interlingua.extract(model, corpus)`."""

import sys
from types import ModuleType
from typing import Any

from interlingua.extract.extraction import Extraction, extract
from interlingua.extract.store import open_store

__all__ = ["Extraction", "extract", "open_store"]


class _Callable(ModuleType):
    """`interlingua.extract` is the name of this package and of the function that users call."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return extract(*arguments, **options)


_Callable.__call__.__doc__ = extract.__doc__
sys.modules[__name__].__class__ = _Callable
