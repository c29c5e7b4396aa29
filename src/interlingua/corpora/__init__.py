"""Text on disk or on the Hub becomes typed records: readers by format, a catalogue by name, downloads, checks."""

from interlingua.corpora.catalog import CATALOG
from interlingua.corpora.loading import bitext, dictionary, labelled, load, parallel, tagged, text, treebank

__all__ = ["CATALOG", "bitext", "dictionary", "labelled", "load", "parallel", "tagged", "text", "treebank"]
