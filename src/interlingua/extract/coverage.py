"""How a tokenizer reads a language: what it has no name for, how finely it cuts, and whether it knows the script.

Needs no labels and no network: the first thing to look at where a language is new to a model.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from interlingua.errors import InputError
from interlingua.extract.words import Record, sentences, tokenise_words
from interlingua.models import Model


@dataclass(frozen=True)
class Coverage:
    """How one language is read.

    `fertility`: sub-words a word (1: every word is in the vocabulary). `unknown`: share of sub-words without a name.
    `single`: share of the sub-words of words of two letters or more that are a single letter (1: spelt, not read).
    `letters`: share of the text's letters that are a token by themselves. `script`: the one most letters are in, and
    `vocabulary` the share of the tokenizer's tokens with letters that are in it.
    """

    language: str
    words: int
    fertility: float
    unknown: float
    single: float
    letters: float
    script: str
    vocabulary: float


def coverage(model: Model, record: Record) -> Coverage:
    """How a model's tokenizer reads the words of a record, which is of one language."""
    found = sentences(record)
    if len(found) != 1:
        raise InputError(f"{len(found)} languages: coverage is of one at a time")
    ((language, rows),) = found.items()
    own = model.of(language)
    tokens, members = tokenise_words(own, language, rows, truncate=True)
    if not len(members.word):
        raise InputError(f"no word of {language} has a token: there is nothing to look at")
    numbers = tokens.ids[tokens.starts[members.sentence] + members.position]
    _, words = np.unique(np.stack([members.sentence, members.word]), axis=1, return_counts=True)
    nameless = own.tokenizer.unk_token_id
    letters = Counter(c for row in rows for word in row.words for c in word if c.isalpha())
    at = zip(members.sentence, members.word, strict=True)
    many = np.array([_letters(rows[s].words[w]) > 1 for s, w in at])
    short = np.array([_letters(text) == 1 for text in own.tokenizer.convert_ids_to_tokens(numbers.tolist())])
    short &= numbers != (-1 if nameless is None else nameless)
    script = _commonest(letters)
    return Coverage(
        language=str(language),
        words=len(words),
        fertility=float(words.mean()),
        unknown=float(np.mean(numbers == nameless)) if nameless is not None else 0.0,
        single=float(short[many].mean()) if many.any() else 0.0,
        letters=_share(letters, _alone(own, letters)),
        script=script,
        vocabulary=_vocabulary(own).get(script, 0.0),
    )


def _letters(token: str) -> int:
    return sum(c.isalpha() for c in token)


@lru_cache(maxsize=65_536)
def _script(letter: str) -> str:
    """The script of a letter: the first word of its Unicode name."""
    return unicodedata.name(letter, "UNKNOWN").partition(" ")[0].capitalize()


def _commonest(letters: Counter[str]) -> str:
    found: Counter[str] = Counter()
    for letter, n in letters.items():
        found[_script(letter)] += n
    return found.most_common(1)[0][0] if found else ""


def _alone(model: Model, letters: Mapping[str, int]) -> set[str]:
    """The letters that are one token with a name."""
    tokenizer: Any = model.tokenizer
    known = set()
    for letter in letters:
        ids = tokenizer(letter, add_special_tokens=False, verbose=False)["input_ids"]
        named = [t for t in tokenizer.convert_ids_to_tokens(ids) if t not in ("▁", "Ġ")]
        if len(named) == 1 and tokenizer.unk_token_id not in ids:
            known.add(letter)
    return known


def _share(letters: Counter[str], known: set[str]) -> float:
    total = sum(letters.values())
    return sum(n for letter, n in letters.items() if letter in known) / total if total else 0.0


def _vocabulary(model: Model) -> dict[str, float]:
    """The share of tokens with letters that each script has; of byte-level tokenizers by what their bytes spell."""
    tokenizer: Any = model.tokenizer
    counts: Counter[str] = Counter()
    for number in sorted({*range(len(tokenizer))} - {*tokenizer.all_special_ids}):
        text = tokenizer.convert_tokens_to_string([tokenizer.convert_ids_to_tokens(number)])
        scripts = {_script(c) for c in text if c.isalpha()}
        if len(scripts) == 1:
            counts[scripts.pop()] += 1
    total = sum(counts.values())
    return {script: n / total for script, n in counts.items()} if total else {}
