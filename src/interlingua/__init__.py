"""Interlingua asks whether there is a common language inside a multilingual language model."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
# The name of the model that ships with the package.
BUILT_IN = "built-in"

# Loaded on first use, so that `import interlingua` stays instant.
_HOMES = {
    "Bitext": "types",
    "Dictionary": "types",
    "InterlinguaError": "errors",
    "LabelledCorpus": "types",
    "Language": "types",
    "ParallelCorpus": "types",
    "PerLanguage": "models",
    "Representations": "types",
    "TaggedCorpus": "types",
    "TextCorpus": "types",
    "Treebank": "types",
    "WordRepresentations": "types",
    "bitext": "corpora",
    "compare": "analyses",
    "compare_layers": "analyses",
    "dictionary": "corpora",
    "enough": "analyses",
    "extract": "extract",
    "labelled": "corpora",
    "leave_out_shared": "analyses",
    "load": "corpora",
    "load_model": "models",
    "open_store": "extract",
    "parallel": "corpora",
    "planted": "analyses",
    "tagged": "corpora",
    "text": "corpora",
    "treebank": "corpora",
}

__all__ = [*_HOMES, "__version__"]

if TYPE_CHECKING:
    from interlingua.analyses.compare import compare as compare
    from interlingua.analyses.compare import compare_layers as compare_layers
    from interlingua.analyses.enough import enough as enough
    from interlingua.analyses.enough import planted as planted
    from interlingua.analyses.leave_out import leave_out_shared as leave_out_shared
    from interlingua.corpora import bitext as bitext
    from interlingua.corpora import dictionary as dictionary
    from interlingua.corpora import labelled as labelled
    from interlingua.corpora import load as load
    from interlingua.corpora import parallel as parallel
    from interlingua.corpora import tagged as tagged
    from interlingua.corpora import text as text
    from interlingua.corpora import treebank as treebank
    from interlingua.errors import InterlinguaError as InterlinguaError
    from interlingua.extract import extract as extract
    from interlingua.extract import open_store as open_store
    from interlingua.models import PerLanguage as PerLanguage
    from interlingua.models import load_model as load_model
    from interlingua.types import Bitext as Bitext
    from interlingua.types import Dictionary as Dictionary
    from interlingua.types import LabelledCorpus as LabelledCorpus
    from interlingua.types import Language as Language
    from interlingua.types import ParallelCorpus as ParallelCorpus
    from interlingua.types import Representations as Representations
    from interlingua.types import TaggedCorpus as TaggedCorpus
    from interlingua.types import TextCorpus as TextCorpus
    from interlingua.types import Treebank as Treebank
    from interlingua.types import WordRepresentations as WordRepresentations


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'interlingua' has no attribute {name!r}")
    return getattr(import_module(f"interlingua.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
