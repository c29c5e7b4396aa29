"""Text in several languages -> sub-words with ids: one joint vocabulary, one a language, or one with nothing shared.

What two languages have in common before any training is the rows of the embedding table that both use, the anchors.
Three kinds of vocabulary set how many there are, after Wu, Conneau et al. (2020):

    joint      one set of merges learned on all languages together: the most is shared
    separate   each language learns its own merges; equal strings share an id (the paper's default anchors)
    prefixed   as separate, with the language written before every string: special tokens only are shared (no anchors)
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import AddedToken, Tokenizer

from interlingua.errors import DataNotFoundError, FormatError, InputError, MissingExtraError, UnknownNameError
from interlingua.pretrain.subwords import (
    BATCH,
    END,
    LEARN,
    MASK,
    PAD,
    SPECIAL,
    START,
    UNKNOWN,
    Texts,
    tokenizer_of,
)

KINDS = ("joint", "separate", "prefixed")
_RECORD = "tokenizers/vocabulary.json"


@dataclass(frozen=True, kw_only=True, eq=False)
class Vocabulary:
    """A tokenizer for each language, over one table of ids.

    `tokens[i]` is the string of id i, with its language before it where the kind is prefixed (`en:▁the`). `tokenizers`
    holds the very same object for every language where the kind is joint. `merges` is how many were learned, over
    all languages: fewer than asked for where the text holds no more (for a unigram model, pieces).
    """

    kind: str
    tokenizers: Mapping[str, Tokenizer]
    tokens: tuple[str, ...]
    merges: int
    sentinels: int = 0

    @property
    def joint(self) -> bool:
        """Whether all languages use one tokenizer."""
        return self.kind == "joint"

    @property
    def size(self) -> int:
        """Rows an embedding table needs: the highest id and one."""
        return len(self.tokens)

    @property
    def special(self) -> int:
        """How many ids, counted from 0, are special tokens and sentinels."""
        return len(SPECIAL) + self.sentinels

    def of(self, lang: str) -> Tokenizer:
        """The tokenizer of a language; a joint one reads any."""
        if self.joint and self.tokenizers:
            return next(iter(self.tokenizers.values()))
        if lang not in self.tokenizers:
            raise UnknownNameError("language of this vocabulary", lang, self.tokenizers)
        return self.tokenizers[lang]

    def encode(self, lang: str, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text; special tokens are neither added nor read from the text, where `<s>` is three signs."""
        tokenizer = self.of(lang)
        tokenizer.encode_special_tokens = True
        return [found.ids for found in tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    def words(self, lang: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The sorted ids of the ordinary tokens that a language's tokenizer can give."""
        entries = self.of(lang).get_vocab(with_added_tokens=False).items()
        ids = sorted(number for piece, number in entries if number >= self.special and not piece.startswith(" "))
        return np.array(ids, np.int64)


def train(
    texts: Texts, *, kind: str, merges: int, model: str = "bpe", sentinels: int = 0, coverage: float = 0.99999
) -> Vocabulary:
    """Learn a vocabulary from texts, each given as a function that starts it from the beginning.

    `merges` is the total: a joint vocabulary learns that many, a separate or prefixed one an equal part of it for each
    language. Languages weigh in a joint vocabulary as much as their text. `sentinels` adds `<extra_0>` and so on
    after the special tokens, for span corruption. With `model="unigram"`, `merges` is the number of pieces,
    characters included. BPE gives the same ids every time; a unigram model can differ in the last digits of its
    scores, because the library sums them in no fixed order.
    """
    _check(texts, kind=kind, merges=merges, model=model, sentinels=sentinels, coverage=coverage)
    groups = [tuple(texts)] if kind == "joint" else [(lang,) for lang in texts]
    whole, left = divmod(merges, len(groups))
    learn = LEARN[model]
    special = (*SPECIAL, *(f"<extra_{i}>" for i in range(sentinels)))
    union = {token: i for i, token in enumerate(special)}
    learned, numbers = [], []
    for i, group in enumerate(groups):
        found = learn({lang: texts[lang] for lang in group}, whole + (i < left), coverage)
        prefix = f"{group[0]}:" if kind == "prefixed" else ""
        learned.append(found)
        numbers.append({piece: union.setdefault(prefix + piece, len(union)) for piece in found.pieces})
    tokenizers: dict[str, Tokenizer] = {}
    for group, found, ids in zip(groups, learned, numbers, strict=True):
        tokenizer = tokenizer_of(found, ids, special, len(union))
        tokenizers.update(dict.fromkeys(group, tokenizer))
    total = sum(len(found.merges if model == "bpe" else found.pieces) for found in learned)
    return Vocabulary(kind=kind, tokenizers=tokenizers, tokens=tuple(union), merges=total, sentinels=sentinels)


def _check(texts: Texts, *, kind: str, merges: int, model: str, sentinels: int, coverage: float) -> None:
    if kind not in KINDS:
        raise UnknownNameError("kind of vocabulary", kind, KINDS)
    if model not in LEARN:
        raise UnknownNameError("sub-word model", model, LEARN)
    if not texts:
        raise InputError("no texts to learn a vocabulary from: give {language: function that gives its sentences}")
    for lang in texts:
        if not re.fullmatch(r"[\w'@-]+", lang):
            raise InputError(f"{lang!r} cannot name a language of a vocabulary: letters, digits, -, _ and @ can")
    if merges < len(texts):
        raise InputError(f"{merges} merges for {len(texts)} languages: at least one each is needed")
    if sentinels < 0:
        raise InputError(f"sentinels is {sentinels}: none (0) or more are needed")
    if not 0 < coverage <= 1:
        raise InputError(f"coverage is {coverage}: a share above 0 and up to 1 is needed")


def save(vocabulary: Vocabulary, folder: str | Path, *, model_max_length: int = 512) -> None:
    """Write a vocabulary so that `transformers.AutoTokenizer.from_pretrained(folder)` opens it with no code of ours.

    Where every language has its own tokenizer, `folder` holds that of the first language, and
    `folder/tokenizers/<language>` each one.
    """
    place = Path(folder)
    (place / _RECORD).parent.mkdir(parents=True, exist_ok=True)
    first = next(iter(vocabulary.tokenizers.values()))
    _save_one(first, place, model_max_length)
    if not vocabulary.joint:
        for lang, tokenizer in vocabulary.tokenizers.items():
            _save_one(tokenizer, place / "tokenizers" / lang, model_max_length)
    record = {
        "kind": vocabulary.kind,
        "languages": list(vocabulary.tokenizers),
        "size": vocabulary.size,
        "merges": vocabulary.merges,
        "sentinels": vocabulary.sentinels,
        "tokens": vocabulary.tokens,
    }
    (place / _RECORD).write_text(json.dumps(record, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


def _save_one(tokenizer: Tokenizer, folder: Path, model_max_length: int) -> None:
    try:
        import transformers
    except ImportError as error:
        raise MissingExtraError("transformers", "models", "saving a vocabulary") from error
    wrap: Any = transformers.PreTrainedTokenizerFast
    named = {"bos": START, "cls": START, "eos": END, "sep": END, "pad": PAD, "unk": UNKNOWN}
    wrap(
        tokenizer_object=Tokenizer.from_str(tokenizer.to_str()),
        mask_token=AddedToken(MASK, lstrip=True, special=True, normalized=False),
        model_max_length=model_max_length,
        **{f"{name}_token": token for name, token in named.items()},
    ).save_pretrained(folder)


def open_vocabulary(folder: str | Path) -> Vocabulary:
    """A vocabulary as `save` wrote it: the same ids for the same text."""
    place = Path(folder)
    path = place / _RECORD
    if not path.is_file():
        raise DataNotFoundError(f"{place} holds no vocabulary: {_RECORD} is not there")
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        kind, languages, tokens = record["kind"], record["languages"], tuple(record["tokens"])
        merges, sentinels = record["merges"], record["sentinels"]
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(path, None, f"not the record of a vocabulary ({error!r}): save it again") from error
    if kind == "joint":
        tokenizers = dict.fromkeys(languages, _open_one(place))
    else:
        tokenizers = {lang: _open_one(place / "tokenizers" / lang) for lang in languages}
    return Vocabulary(kind=kind, tokenizers=tokenizers, tokens=tokens, merges=merges, sentinels=sentinels)


def _open_one(folder: Path) -> Tokenizer:
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise DataNotFoundError(f"{folder} holds no tokenizer: tokenizer.json is not there")
    return Tokenizer.from_file(str(path))


def overlap(vocabulary: Vocabulary, texts: Texts) -> list[dict[str, Any]]:
    """How much each pair of languages shares in these texts, special tokens and unknown characters left out.

    One row a pair: `left_types` and `right_types`, how many ids each language uses; `shared_types`, how many both use;
    `left_tokens` and `right_tokens`, running tokens; `left_shared` and `right_shared`, the share of a language's
    running tokens whose id the other uses too (None where it has none). 0 is what a prefixed vocabulary gives.
    """
    return shared({lang: _usage(vocabulary, lang, text()) for lang, text in texts.items()})


def shared(counts: Mapping[str, Counter[int]]) -> list[dict[str, Any]]:
    """`overlap` from how often each language uses each token."""
    rows: list[dict[str, Any]] = []
    for left, right in combinations(counts, 2):
        both = counts[left].keys() & counts[right].keys()
        row: dict[str, Any] = {"left": left, "right": right, "shared_types": len(both)}
        for side, lang in (("left", left), ("right", right)):
            total = counts[lang].total()
            row[f"{side}_types"], row[f"{side}_tokens"] = len(counts[lang]), total
            row[f"{side}_shared"] = sum(counts[lang][i] for i in both) / total if total else None
        rows.append(row)
    return rows


def _usage(vocabulary: Vocabulary, lang: str, text: Iterable[str]) -> Counter[int]:
    counts: Counter[int] = Counter()
    lines = iter(text)
    while batch := list(islice(lines, BATCH)):
        for ids in vocabulary.encode(lang, batch):
            counts.update(ids)
    return Counter({number: count for number, count in counts.items() if number >= vocabulary.special})
