"""Sentences longer than a network takes: every token once, from a window that it lies well inside."""

import numpy as np
import pytest
import torch

import interlingua as il
from interlingua.languages import Language
from interlingua.transfer.encode import encode_words
from interlingua.transfer.readers import ModelReader
from interlingua.transfer.windows import read_long, starts_of
from interlingua.types import TaggedCorpus

AROUND = (1, 1)


@pytest.mark.parametrize(("length", "room"), [(11, 10), (20, 10), (23, 10), (100, 7), (5, 1), (10, 2)])
def test_windows_cover_everything(length, room):
    starts = starts_of(length, room)
    assert starts[0] == 0
    assert starts[-1] == length - room
    assert sorted(starts) == starts
    assert {p for s in starts for p in range(s, s + room)} == set(range(length))


def batch(*lengths, vocabulary=50, pad=0):
    rng = np.random.default_rng(0)
    ids = np.full((len(lengths), max(lengths)), pad)
    for row, n in zip(ids, lengths, strict=True):
        row[:n] = rng.integers(3, vocabulary, n)
    made = torch.from_numpy(ids)
    return {"input_ids": made, "attention_mask": (made != pad).long()}


def test_a_network_that_looks_at_single_tokens_sees_no_difference():
    table = torch.nn.Embedding(50, 4)
    both = batch(5, 40, 8, 23)
    seen = []

    def read(part):
        seen.append(part)
        assert part["input_ids"].shape[1] <= 8
        assert torch.equal(part["attention_mask"].bool(), part["input_ids"] != 0)
        return table(part["input_ids"])

    found = read_long(read, both, 8, AROUND, 0)
    present = both["attention_mask"].bool()
    assert torch.equal(found[present], table(both["input_ids"])[present])
    assert len(seen) == 1
    # every window begins and ends with the special tokens of its sentence
    for row in seen[0]["input_ids"]:
        words = row[row != 0]
        assert any(
            words[0] == ids[0] and words[-1] == ids[n - 1]
            for ids, n in zip(both["input_ids"], both["attention_mask"].sum(1), strict=True)
        )
    found.sum().backward()
    assert table.weight.grad is not None


def test_every_token_has_been_read_with_something_on_either_side():
    """A network that tells where in its window a token stood."""
    both = batch(60)

    def read(part):
        places = torch.arange(part["input_ids"].shape[1]).float()
        return places.expand_as(part["input_ids"])[..., None]

    (where,) = read_long(read, both, 22, AROUND, 0)[..., 0]
    inner = where[12:-12]
    assert ((inner >= 5) & (inner <= 17)).all()
    assert where[0] == 0
    assert where[-1] == 21


def test_no_word_of_a_long_sentence_is_lost():
    model = il.load_model("built-in")
    words = tuple("The minister said that nothing of the kind had been discussed".split() * 15)
    record = TaggedCorpus(language=Language.parse("en"), words=(words, words[:11]), tags=(("X",) * len(words), ("X",) * 11),
                          entities=False)  # fmt: skip
    whole, cut = encode_words(model, record), encode_words(model, record, cut=True)
    assert whole.words_lost == 0
    assert cut.words_lost > 20
    reader = ModelReader(model)
    assert reader.around == (1, 1)
    both = whole.batch([0, 1], reader.pad)
    with torch.no_grad():
        found = reader({name: both[name] for name in ("input_ids", "attention_mask")})
        alone = whole.batch([1], reader.pad)
        single = reader({name: alone[name] for name in ("input_ids", "attention_mask")})
    n = int(alone["attention_mask"].sum())
    assert torch.allclose(found[1, :n], single[0, :n], atol=1e-4)
    assert (found[0].norm(dim=-1) > 0).all()
    # the same words again, far into the sentence, are read much as the first ones in the middle
    first, later = found[0, both["firsts"][0, 33]], found[0, both["firsts"][0, 143]]
    assert torch.nn.functional.cosine_similarity(first, later, dim=0) > 0.9
