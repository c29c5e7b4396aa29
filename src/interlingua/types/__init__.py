"""The records that flow through the package: frozen, typed, cheap to slice.

Every record has `name`, `licence`, `ids` (one per row, kept when rows are selected) and `notes` (what
a reader had to do to the text). Rows are selected with `corpus[:1000]`, `corpus.take([3, 5])` and
`corpus.sample(500, rng)`; all three give a record of the same type. `corpus.hash` depends on content and
languages only, never on names, paths or the order of languages. TextCorpus is a stream: it has slices, samples and a
hash, but no ids.
"""

from interlingua.languages import Language
from interlingua.types.annotated import LabelledCorpus, Multiword, Span, TaggedCorpus, Tree, Treebank, spans
from interlingua.types.bilingual import Bitext, Dictionary, Links, Translation
from interlingua.types.corpus import Corpus, Words
from interlingua.types.parallel import ParallelCorpus
from interlingua.types.representations import Labels, Layered, Representations, WordRepresentations
from interlingua.types.text import TextCorpus

__all__ = [
    "Bitext",
    "Corpus",
    "Dictionary",
    "LabelledCorpus",
    "Labels",
    "Language",
    "Layered",
    "Links",
    "Multiword",
    "ParallelCorpus",
    "Representations",
    "Span",
    "TaggedCorpus",
    "TextCorpus",
    "Translation",
    "Tree",
    "Treebank",
    "WordRepresentations",
    "Words",
    "spans",
]
