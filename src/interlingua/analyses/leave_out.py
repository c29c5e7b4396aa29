"""Leaving out the sentences that can be matched by what they share with their translation on the surface."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

from interlingua.corpora.shared import shared_rows
from interlingua.errors import InputError
from interlingua.languages import Language
from interlingua.types import ParallelCorpus, Representations


def leave_out_shared(
    reps: Representations,
    corpus: ParallelCorpus,
    *,
    source: str | Language = "",
    digits: bool = True,
    names: bool = True,
    tokenizer: Any = None,
    letters: int = 3,
) -> Representations:
    """The representations without sentences that share numbers, names or sub-words with their translation.

    A row is left out if it shares something in any pair that will be compared, so that all pairs keep the same
    sentences: those of `source` with every other language, or all pairs. `corpus` is the text they were extracted from;
    `tokenizer` is the model's, and only with it sub-words (of at least `letters` letters or digits) count.
    """
    langs = reps.langs
    place = _places(reps, corpus)
    first = Language.parse(source) if source else None
    pairs = [(first, lang) for lang in langs if lang != first] if first else list(combinations(langs, 2))
    split = pieces(tokenizer) if tokenizer is not None else None
    shared = shared_rows(corpus, pairs, digits=digits, names=names, subwords=split, letters=letters)[place]
    kinds = [
        kind
        for kind, asked in (("digits", digits), ("names", names), (f"sub-words of {letters} letters", split))
        if asked
    ]
    if not kinds:
        raise InputError("nothing to leave out by: ask for digits, names or a tokenizer's sub-words")
    if shared.all():
        raise InputError(f"all {len(reps)} sentences share {' or '.join(kinds)}: none would be left")
    why = f"{int(shared.sum())} left out that share {' or '.join(kinds)}"
    return reps.only(~shared, why=why + (f" with {first}" if first else ""))


def _places(reps: Representations, corpus: ParallelCorpus) -> list[int]:
    """The row of the corpus that each example comes from."""
    hashes = reps.signature.get("corpus")
    here = {name: i for i, name in enumerate(corpus.ids)}
    same = hashes is None or all(
        lang in corpus.langs and corpus.hash_of(lang) == hashes.get(str(lang)) for lang in reps.langs
    )
    if not same or any(name not in here for name in reps.ids) or (hashes is None and reps.ids != corpus.ids):
        raise InputError("the corpus is not the one these vectors were extracted from: give the same sentences")
    return [here[name] for name in reps.ids]


def pieces(tokenizer: Any) -> Callable[[str], Iterator[tuple[str, str]]]:
    """A function from text to tokens, each with the characters it covers: the token of a byte-level one shows none."""
    if not hasattr(tokenizer, "tokenize"):
        raise InputError(f"{tokenizer!r} is no tokenizer: give the model's own")
    if getattr(tokenizer, "is_fast", False):

        def from_offsets(text: str) -> Iterator[tuple[str, str]]:
            found = tokenizer.backend_tokenizer.encode(text, add_special_tokens=False)
            return ((token, text[a:b]) for token, (a, b) in zip(found.tokens, found.offsets, strict=True))

        return from_offsets
    return lambda text: ((token, token) for token in tokenizer.tokenize(text))
