"""Corpus x model -> Representations."""

from interlingua.extract.forward import extract
from interlingua.extract.store import open_store

__all__ = ["extract", "open_store"]
