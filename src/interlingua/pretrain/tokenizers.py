"""Text in several languages -> sub-words with ids: one joint vocabulary, one a language, or one with nothing shared.

What two languages have in common before any training is the rows of the embedding table that both use, the anchors.
Three kinds of vocabulary set how many there are, after Wu, Conneau et al. (2020):

    joint      one set of merges learned on all languages together: the most is shared
    separate   each language learns its own merges; equal strings share an id (the paper's default anchors)
    prefixed   as separate, with the language written before every string: special tokens only are shared (no anchors)

Text is brought to NFKC and runs of white space become one space, as in XLM-R. A word carries the space before it as
`▁`. Punctuation, symbols and digits stand alone, one character each. Chinese and Japanese are cut at punctuation
and where another script begins; a piece there may span words, as in SentencePiece, but none grows to `LONGEST`
characters. Characters that make up the rarest 1 - `coverage` of a language's text are unknown.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from interlingua.errors import DataNotFoundError, FormatError, InputError, MissingExtraError, UnknownNameError

START, PAD, END, UNKNOWN, MASK = SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
KINDS = ("joint", "separate", "prefixed")
MODELS = ("bpe", "unigram")

# No piece has as many characters as this: what is longer is a boilerplate phrase of an unspaced script, or a rule.
LONGEST = 16

# Texts that are read more than once: a function that starts from the beginning.
Texts = Mapping[str, Callable[[], Iterable[str]]]

_BLANK = "[\\s\\x00-\\x1f\\x7f-\\x9f\u2581\u200b\ufeff]+"
_BLANKS = re.compile(_BLANK)
_UNSPACED = "\\p{Han}\\p{Hiragana}\\p{Katakana}ー"
_WORD = f"▁?[{_UNSPACED}]+|▁?[^▁\\p{{N}}\\p{{P}}\\p{{S}}{_UNSPACED}]+|▁?[\\p{{N}}\\p{{P}}\\p{{S}}]"
_BATCH = 1000
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
        """The tokenizer of a language."""
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


@dataclass(frozen=True)
class _Learned:
    """What one training gave: pieces by rank, with log probabilities for a unigram model, with merges for BPE."""

    pieces: tuple[str, ...]
    scores: tuple[float, ...] | None
    merges: tuple[tuple[str, str], ...]


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
    learn = _learn_bpe if model == "bpe" else _learn_unigram
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
        tokenizer = _tokenizer(found, ids, special, len(union))
        tokenizers.update(dict.fromkeys(group, tokenizer))
    total = sum(len(found.merges if model == "bpe" else found.pieces) for found in learned)
    return Vocabulary(kind=kind, tokenizers=tokenizers, tokens=tuple(union), merges=total, sentinels=sentinels)


def _check(texts: Texts, *, kind: str, merges: int, model: str, sentinels: int, coverage: float) -> None:
    if kind not in KINDS:
        raise UnknownNameError("kind of vocabulary", kind, KINDS)
    if model not in MODELS:
        raise UnknownNameError("sub-word model", model, MODELS)
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


def _learn_bpe(texts: Texts, merges: int, coverage: float) -> _Learned:
    kept, lines = _kept(texts, coverage)
    trainer = trainers.BpeTrainer(
        vocab_size=len(kept) + merges, min_frequency=2, show_progress=False, max_token_length=LONGEST
    )
    state = _trained(models.BPE(), trainer, lines)
    # Two merges can give one string, which the trainer counts once: it may have learned more than were asked for.
    pairs = tuple((left, right) for left, right in state["merges"][:merges])
    pieces = dict.fromkeys([*sorted(kept), *(left + right for left, right in pairs)])
    return _Learned(tuple(pieces), None, pairs)


def _learn_unigram(texts: Texts, pieces: int, coverage: float) -> _Learned:
    kept, lines = _kept(texts, coverage)
    if pieces < len(kept):
        raise InputError(f"{pieces} pieces for {', '.join(texts)}: its {len(kept)} characters alone need as many")
    trainer = trainers.UnigramTrainer(
        vocab_size=pieces + 1,
        show_progress=False,
        special_tokens=[UNKNOWN],
        unk_token=UNKNOWN,
        max_piece_length=LONGEST - 1,
    )
    state = _trained(models.Unigram(), trainer, lines)
    found = sorted((-round(score, 6), piece) for piece, score in state["vocab"] if piece != UNKNOWN)
    return _Learned(tuple(piece for _, piece in found), tuple(-score for score, _ in found), ())


def _trained(model: Any, trainer: Any, lines: Iterator[list[str]]) -> dict[str, Any]:
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = _pre_tokenizer()
    tokenizer.train_from_iterator(lines, trainer)
    state: dict[str, Any] = json.loads(tokenizer.to_str())["model"]
    return state


def _kept(texts: Texts, coverage: float) -> tuple[set[str], Iterator[list[str]]]:
    """The characters that stay known, by each language's own text, and that text without the others, in batches."""
    seen: set[str] = set()
    kept = {"▁"}
    for lang, text in texts.items():
        counts: Counter[str] = Counter()
        for line in text():
            counts.update(_clean(line))
        counts.pop(" ", None)
        if not counts:
            raise InputError(f"the text of {lang} is empty: a vocabulary cannot be learned from it")
        seen.update(counts)
        kept.update(_common(counts, coverage))
    rare = re.compile(f"[{re.escape(''.join(sorted(seen - kept)))}]") if seen - kept else None

    def batches() -> Iterator[list[str]]:
        for text in texts.values():
            lines = map(_clean, text())
            while batch := list(islice(lines, _BATCH)):
                yield [rare.sub(" ", line) for line in batch] if rare else batch

    return kept, batches()


def _common(counts: Counter[str], coverage: float) -> set[str]:
    """All but the rarest characters; those seen equally often stay or go together."""
    by_count = Counter(counts.values())
    spare = (1 - coverage) * counts.total()
    least = 0
    for count in sorted(by_count):
        spare -= count * by_count[count]
        if spare < 0:
            least = count
            break
    return {character for character, count in counts.items() if count >= least}


def _clean(line: str) -> str:
    """What the tokenizer's normaliser does, in half the time."""
    return _BLANKS.sub(" ", unicodedata.normalize("NFKC", line)).strip(" ")


def _pre_tokenizer() -> pre_tokenizers.PreTokenizer:
    space = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always", split=False)
    return pre_tokenizers.Sequence([space, pre_tokenizers.Split(Regex(_WORD), "isolated")])


def _tokenizer(learned: _Learned, ids: Mapping[str, int], special: Sequence[str], size: int) -> Tokenizer:
    if learned.scores is None:
        numbers = {token: i for i, token in enumerate(special)} | dict(ids)
        tokenizer = Tokenizer(models.BPE(numbers, list(learned.merges), unk_token=UNKNOWN, fuse_unk=True))
    else:
        # Ids are places in a list here: those of other languages are held by strings with a space, which match nothing.
        places = [(token, 0.0) for token in special] + [(f" {i}", 0.0) for i in range(len(special), size)]
        for piece, score in zip(learned.pieces, learned.scores, strict=True):
            places[ids[piece]] = (piece, score)
        tokenizer = Tokenizer(models.Unigram(places, SPECIAL.index(UNKNOWN), False))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(_BLANK), " "), normalizers.Strip()]
    )
    tokenizer.pre_tokenizer = _pre_tokenizer()
    tokenizer.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    ends = [(token, SPECIAL.index(token)) for token in (START, END)]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=ends
    )
    # As in XLM-R, the space before a mask belongs to the mask.
    tokenizer.add_special_tokens(
        [AddedToken(token, lstrip=token == MASK, special=True, normalized=False) for token in special]
    )
    return tokenizer


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
    while batch := list(islice(lines, _BATCH)):
        for ids in vocabulary.encode(lang, batch):
            counts.update(ids)
    return Counter({number: count for number, count in counts.items() if number >= vocabulary.special})
