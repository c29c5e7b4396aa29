"""Sub-words learnt from text: how text is cut into words, which pieces words are made of, and a tokenizer of them.

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
from itertools import islice
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from interlingua.errors import InputError

START, PAD, END, UNKNOWN, MASK = SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
# No piece has as many characters as this: what is longer is a boilerplate phrase of an unspaced script, or a rule.
LONGEST = 16
# Lines at a time.
BATCH = 1000

# Texts that are read more than once: a function that starts from the beginning.
Texts = Mapping[str, Callable[[], Iterable[str]]]

_BLANK = "[\\s\\x00-\\x1f\\x7f-\\x9f\u2581\u200b\ufeff]+"
_BLANKS = re.compile(_BLANK)
_UNSPACED = "\\p{Han}\\p{Hiragana}\\p{Katakana}ー"
_WORD = f"▁?[{_UNSPACED}]+|▁?[^▁\\p{{N}}\\p{{P}}\\p{{S}}{_UNSPACED}]+|▁?[\\p{{N}}\\p{{P}}\\p{{S}}]"


@dataclass(frozen=True)
class Learned:
    """What one training gave: pieces by rank, with log probabilities for a unigram model, with merges for BPE."""

    pieces: tuple[str, ...]
    scores: tuple[float, ...] | None
    merges: tuple[tuple[str, str], ...]


def learn_bpe(texts: Texts, merges: int, coverage: float) -> Learned:
    """Byte-pair encoding over characters: so many merges, fewer where no pair is seen twice any more."""
    kept, lines = _kept(texts, coverage)
    trainer = trainers.BpeTrainer(
        vocab_size=len(kept) + merges, min_frequency=2, show_progress=False, max_token_length=LONGEST
    )
    state = _trained(models.BPE(), trainer, lines)
    # Two merges can give one string, which the trainer counts once: it may have learned more than were asked for.
    pairs = tuple((left, right) for left, right in state["merges"][:merges])
    pieces = dict.fromkeys([*sorted(kept), *(left + right for left, right in pairs)])
    return Learned(tuple(pieces), None, pairs)


def learn_unigram(texts: Texts, pieces: int, coverage: float) -> Learned:
    """A unigram language model over so many pieces, characters included."""
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
    return Learned(tuple(piece for _, piece in found), tuple(-score for score, _ in found), ())


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
            while batch := list(islice(lines, BATCH)):
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


def tokenizer_of(learned: Learned, ids: Mapping[str, int], special: Sequence[str], size: int) -> Tokenizer:
    """What was learnt as a tokenizer that gives these ids."""
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


# The kinds of model.
LEARN: dict[str, Callable[[Texts, int, float], Learned]] = {"bpe": learn_bpe, "unigram": learn_unigram}
