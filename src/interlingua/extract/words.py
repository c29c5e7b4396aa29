"""Words and the tokens they are made of.

A token belongs to every word it shares a character with, by the offsets that a fast tokenizer tells. A token that is
nothing but a mark for a space (a lone `▁` or `Ġ`) belongs to none, unless a word has no other. Tokenizers
without offsets are given one word after another, each with the space before it, and the signature says so. A word
without any token (its characters were dropped by the tokenizer, or cut off) has no vector and is reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from interlingua.corpora.segment import Spans, join, locate, segment
from interlingua.errors import InputError
from interlingua.extract.plan import Array, Tokens, started, tokenise
from interlingua.languages import Language
from interlingua.models import Model
from interlingua.models.codes import speak
from interlingua.types import Bitext, Dictionary, ParallelCorpus, TaggedCorpus, TextCorpus, Tree, Treebank, Words

JOINS = ("mean", "first", "last")
BY_OFFSETS, ONE_BY_ONE = "offsets", "word by word"

Record = ParallelCorpus | Bitext | TaggedCorpus | Treebank | TextCorpus | Dictionary


@dataclass(frozen=True)
class Sentence:
    """A sentence, its words, and the characters of it that each word covers."""

    text: str
    words: Words
    spans: Spans


def sentences(records: Record | Sequence[Record]) -> dict[Language, tuple[Sentence, ...]]:
    """The sentences of one or several records, by language, as words.

    Words are the record's own where it has some (treebanks, tagged words, bitext); plain text is segmented by Unicode's
    rule; an entry of a dictionary is a sentence of one word. A sentence whose text nobody kept is written with spaces
    between words, where its script has spaces.
    """
    found: dict[Language, tuple[Sentence, ...]] = {}
    for record in records if isinstance(records, Sequence) else (records,):
        for lang, rows in _by_language(record):
            if lang in found:
                raise InputError(f"{lang} is there twice: give each language once")
            found[lang] = tuple(rows)
    return found


def _by_language(record: Record) -> list[tuple[Language, Iterable[Sentence]]]:
    if isinstance(record, ParallelCorpus):
        return [(lang, map(_segmented, record[lang])) for lang in record.langs]
    if isinstance(record, Bitext):
        return [
            (record.source, map(_joined, record.source_words)),
            (record.target, map(_joined, record.target_words)),
        ]
    if isinstance(record, TaggedCorpus):
        return [(record.language, map(_joined, record.words))]
    if isinstance(record, Treebank):
        return [(record.language, map(_from_tree, record.trees))]
    if isinstance(record, TextCorpus):
        return [(record.language, map(_segmented, record))]
    if isinstance(record, Dictionary):
        targets = dict.fromkeys(t.word for row in record.translations for t in row)
        return [(record.source, map(alone, record.words)), (record.target, map(alone, targets))]
    raise InputError(f"no words can be read from {record!r}: give text, tagged words, a treebank or a bitext")


def _segmented(text: str) -> Sentence:
    spans = segment(text)
    return Sentence(text, tuple(text[a:b] for a, b in spans), spans)


def alone(word: str) -> Sentence:
    """A word as a sentence of its own."""
    return Sentence(word, (word,), ((0, len(word)),))


def _joined(words: Words) -> Sentence:
    text, spans = join(words)
    return Sentence(text, words, spans)


def _from_tree(tree: Tree) -> Sentence:
    """Words of a tree in its text; words that share a surface token (`de` and `le` in `du`) share its characters."""
    spans = None if tree.text is None else locate(tree.tokens, tree.text)
    text, places = join(tree.tokens) if spans is None or tree.text is None else (tree.text, spans)
    inside = {i for m in tree.multiwords for i in range(m.start + 1, m.end)}
    token_of = np.cumsum([i not in inside for i in range(len(tree.words))]) - 1
    return Sentence(text, tree.words, tuple(places[t] for t in token_of))


@dataclass(frozen=True)
class Members:
    """Which tokens each word is made of: parallel arrays, one entry for each (sentence, word, token position)."""

    sentence: Array
    word: Array
    position: Array


def how_mapped(model: Model) -> str:
    """How this model's tokens are told to belong to words."""
    return BY_OFFSETS if model.tokenizer.is_fast else ONE_BY_ONE


def tokenise_words(
    model: Model, lang: Language, rows: Sequence[Sentence], *, truncate: bool = False, target: bool = False
) -> tuple[Tokens, Members]:
    """Tokens of sentences, and the words they belong to."""
    if how_mapped(model) == ONE_BY_ONE:
        return _one_by_one(model, lang, rows, truncate=truncate, target=target)
    tokens = tokenise(model, lang, [s.text for s in rows], truncate=truncate, target=target, offsets=True)
    members = by_offsets(tokens, rows)
    if truncate and model.limit is not None:
        members = whole_words(tokens, rows, members, model.limit)
    return tokens, without_blanks(model, tokens, members)


def whole_words(tokens: Tokens, rows: Sequence[Sentence], members: Members, limit: int) -> Members:
    """Leave out words that go on behind the last token of a sentence that was cut."""
    if tokens.offsets is None:
        return members
    ends = np.full(len(rows), np.iinfo(np.int64).max)
    for s in np.flatnonzero(tokens.lengths >= limit):
        own = slice(tokens.starts[s], tokens.starts[s + 1])
        ends[s] = tokens.offsets[own, 1][tokens.content[own]].max(initial=0)
    last = np.array([rows[s].spans[w][1] for s, w in zip(members.sentence, members.word, strict=True)], np.int64)
    keep = last <= ends[members.sentence]
    return Members(members.sentence[keep], members.word[keep], members.position[keep])


def by_offsets(tokens: Tokens, rows: Sequence[Sentence]) -> Members:
    """Every pair of a word and a token that share a character.

    All sentences are put end to end, so that two searches find, for each word, the run of tokens outside of which none
    can touch it; inside the run each pair is then looked at.
    """
    if tokens.offsets is None:
        raise InputError("this tokenizer tells no offsets")
    bases = np.concatenate([[0], np.cumsum([len(s.text) + 1 for s in rows])])
    sentence_of = np.repeat(np.arange(len(rows)), tokens.lengths)
    real = np.flatnonzero(tokens.content & (tokens.offsets[:, 1] > tokens.offsets[:, 0]))
    start, end = (tokens.offsets[real, side] + bases[sentence_of[real]] for side in (0, 1))
    counts = [len(s.spans) for s in rows]
    total = sum(counts)
    spans = np.array(list(chain.from_iterable(s.spans for s in rows)), np.int64).reshape(total, 2)
    word_sentence = np.repeat(np.arange(len(rows)), counts)
    word_start, word_end = (spans[:, side] + bases[word_sentence] for side in (0, 1))
    first = np.searchsorted(np.maximum.accumulate(end), word_start, side="right")
    stop = np.searchsorted(np.minimum.accumulate(start[::-1])[::-1], word_end, side="left")
    size = np.maximum(stop - first, 0)
    word = np.repeat(np.arange(total), size)
    token = np.repeat(first, size) + _within(size)
    touching = (start[token] < word_end[word]) & (end[token] > word_start[word])
    word, token = word[touching], real[token[touching]]
    return Members(word_sentence[word], _within(counts)[word], token - tokens.starts[sentence_of[token]])


def _within(counts: Array | Sequence[int]) -> Array:
    """0, 1, 2, ... anew for every count."""
    sizes = np.asarray(counts, np.int64)
    return np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def without_blanks(model: Model, tokens: Tokens, members: Members) -> Members:
    """Leave out tokens that are only a mark for a space, except in words that have no others."""
    numbers = tokens.ids[tokens.starts[members.sentence] + members.position]
    unique, inverse = np.unique(numbers, return_inverse=True)
    names = model.tokenizer.convert_ids_to_tokens(unique.tolist())
    blank = np.array([not name.strip(model.space_marks + " \t\n") for name in names], bool)[inverse]
    key = np.stack([members.sentence, members.word])
    word = np.unique(key, axis=1, return_inverse=True)[1].ravel()  # NumPy 2.0.0 gives it two axes
    solid = np.bincount(word, weights=~blank, minlength=1)[word] > 0
    keep = ~(blank & solid)
    return Members(members.sentence[keep], members.word[keep], members.position[keep])


def _one_by_one(
    model: Model, lang: Language, rows: Sequence[Sentence], *, truncate: bool, target: bool
) -> tuple[Tokens, Members]:
    """Each word tokenised by itself, with the space before it where there is one."""
    tokenizer = model.tokenizer
    speak(tokenizer, lang, target=target)
    if target:
        tokenizer._switch_to_target_mode()
    room = None if model.limit is None else model.limit - target - tokenizer.num_special_tokens_to_add()
    ids, special, members = [], [], []
    try:
        for number, sentence in enumerate(rows):
            pieces: list[int] = []
            owners: list[tuple[int, int]] = []
            # Words that share their characters (`de` and `le` in `du`) are read once.
            for start, end in dict.fromkeys(sentence.spans):
                before = sentence.text[max(start - 1, 0) : start]
                text = (before if before.isspace() else "") + sentence.text[start:end]
                found = tokenizer.encode(text, add_special_tokens=False, verbose=False)
                pieces += found
                owners += [(start, end)] * len(found)
            cut = owners[room] if truncate and room is not None and len(owners) > room else None
            if truncate and room is not None:
                del pieces[room:], owners[room:]
            mask = tokenizer.get_special_tokens_mask(pieces)
            places: dict[tuple[int, int], list[int]] = {}
            for span, place in zip(owners, (i for i, s in enumerate(mask) if not s), strict=True):
                places.setdefault(span, []).append(place)
            members += [
                (number, w, p) for w, span in enumerate(sentence.spans) if span != cut for p in places.get(span, ())
            ]
            ids.append(tokenizer.build_inputs_with_special_tokens(pieces))
            special.append(mask)
    finally:
        if target:
            tokenizer._switch_to_input_mode()
    tokens = Tokens.of(ids, special)
    table = np.array(members, np.int64).reshape(-1, 3)
    if target:
        begun = started(model, tokens)
        table[:, 2] += begun.lengths[table[:, 0]] - tokens.lengths[table[:, 0]]
        tokens = begun
    return tokens, without_blanks(model, tokens, Members(*table.T))


def weights(members: Members, how: str) -> Array:
    """How much each token counts in its word: the mean over them, the first alone or the last alone."""
    key = np.stack([members.sentence, members.word])
    new = np.ones(len(members.word), bool)
    new[1:] = (key[:, 1:] != key[:, :-1]).any(0)
    if how == "first":
        return new.astype(np.float32)
    if how == "last":
        return np.append(new[1:], True)[: len(new)].astype(np.float32)
    run = np.cumsum(new) - 1
    sizes: Array = np.bincount(run, minlength=1)[run]
    return np.asarray(1 / sizes, np.float32)


def places_of(rows: Sequence[Sentence]) -> Array:
    """(sentence, word in the sentence) of every word."""
    counts = [len(s.words) for s in rows]
    return np.stack([np.repeat(np.arange(len(rows)), counts), _within(counts)], axis=1)
