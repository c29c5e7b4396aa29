"""Mixtures and objectives: shares to within sampling error, the same batches after a stop, planted spans found again."""

from collections import Counter

import numpy as np
import pytest

from interlingua.errors import InterlinguaError
from interlingua.pretrain.mixture import CHUNK, Mixture, Stream, generator, in_order
from interlingua.pretrain.objectives import NONE, Masked, Next, Spans, _cut


def stream(name, n, *, low=10, high=90, sentences=100):
    return Stream(name, name, (np.arange(n) % (high - low) + low).astype(np.uint16), sentences, n * 4)


def mixture(**how):
    streams = [stream("en", 5000, sentences=1000), stream("fr", 3000, sentences=200)]
    return Mixture(**{"streams": streams, "length": 16, "rows": 4, "start": 0, **how})


@pytest.mark.parametrize(
    ("exponent", "by", "share"),
    [
        (0.7, "sentences", 1000**0.7 / (1000**0.7 + 200**0.7)),
        (0.0, "sentences", 0.5),
        (1.0, "tokens", 5000 / 8000),
    ],
)
def test_languages_come_by_size_to_a_power(exponent, by, share):
    mixed = mixture(exponent=exponent, by=by)
    assert mixed.probabilities()[0] == pytest.approx(share)
    drawn = np.concatenate([mixed.serving(chunk) for chunk in range(5)])
    assert abs((drawn == 0).mean() - share) < 4 * np.sqrt(share * (1 - share) / drawn.size)


def test_translation_gets_its_share_and_pairs_divide_it_by_size():
    pairs = [Stream(name, "", np.arange(5000) % 80 + 10, n, 5) for name, n in (("en-fr", 400), ("en-de", 100))]
    streams = [stream("en", 5000), stream("fr", 5000), *pairs]
    found = mixture(streams=streams, tlm=0.6, exponent=0.5).probabilities()
    assert found == pytest.approx([0.2, 0.2, 0.4, 0.2])


def test_the_same_batches_wherever_a_run_goes_on():
    whole = list(mixture(seed=3).batches(0, 60))
    for start in (1, 37):
        again = list(mixture(seed=3).batches(start, 60))
        for (a, b, x), (c, d, y) in zip(whole[start:], again, strict=True):
            assert (a, b) == (c, d)
            assert np.array_equal(x, y)
    other = list(mixture(seed=4).batches(0, 60))
    assert any(not np.array_equal(x, y) for (_, _, x), (_, _, y) in zip(whole, other, strict=True))
    # across the place where streams are drawn anew
    far = mixture(seed=3)
    assert far.at(CHUNK + 5) == mixture(seed=3).at(CHUNK + 5)
    served = np.concatenate([far.serving(0), far.serving(1)])[: CHUNK + 6]
    assert far.at(CHUNK + 5) == (served[-1], np.count_nonzero(served[:-1] == served[-1]))


def test_an_epoch_is_every_block_once():
    tokens = np.arange(1000, dtype=np.uint16)
    mixed = Mixture([Stream("en", "en", tokens, 1, 1)], length=11, rows=3, start=7)
    blocks = len(tokens) // 10 - 1
    seen = np.concatenate([mixed.block(0, number) for number in range(blocks // 3)])
    assert (seen[:, 0] == 7).all()
    starts = seen[:, 1]
    assert len(set(starts)) == len(starts) == blocks
    assert set(np.diff(np.sort(starts))) == {10}
    assert (np.diff(seen[:, 1:], axis=1) == 1).all()
    second = np.concatenate([mixed.block(0, number) for number in range(blocks // 3, 2 * blocks // 3)])
    assert not np.array_equal(second, seen)
    held = in_order(tokens, 11, 7, 3)
    assert held.shape == (3, 11)
    assert held[1, 1:].tolist() == list(range(10, 20))


def test_too_little_text_is_told():
    with pytest.raises(InterlinguaError, match="en has 20 tokens: at least two sequences of 16"):
        mixture(streams=[stream("en", 20)])
    with pytest.raises(InterlinguaError, match="nothing to draw from"):
        mixture(streams=[])


def test_fifteen_percent_and_eighty_ten_ten():
    never = np.zeros(1000, dtype=bool)
    never[:5] = True
    ids = np.random.default_rng(0).integers(0, 1000, (64, 256))
    ask = Masked(4, np.arange(500, 600), never)
    counts = np.zeros(4)
    total = 0
    for step in range(30):
        asked = ask(ids, generator(0, step))
        flat, changed = ids.reshape(-1), asked.ids.reshape(-1)
        assert len(asked.places) == len(asked.targets) == ask.room(flat.size)
        places = asked.places[: asked.count]
        assert (asked.targets[asked.count :] == NONE).all()
        assert np.array_equal(asked.targets[: asked.count], flat[places])
        assert not never[flat[places]].any()
        untouched = np.ones(flat.size, dtype=bool)
        untouched[places] = False
        assert np.array_equal(changed[untouched], flat[untouched])
        now = changed[places]
        same = now == flat[places]
        masked = now == 4
        other = ~same & ~masked
        assert set(now[other]) <= set(range(500, 600))
        counts += [masked.sum(), other.sum(), same.sum(), len(places)]
        total += (~never[flat]).sum()
    masked, other, same, all_ = counts
    for found, n, expected in ((all_, total, 0.15), (masked, all_, 0.8), (other, all_, 0.1), (same, all_, 0.1)):
        # a random word is now and then the word itself: one in a thousand
        assert abs(found / n - expected) < 4.5 * np.sqrt(expected * (1 - expected) / n) + 2e-4


def test_the_next_word():
    ids = np.arange(12).reshape(3, 4)
    asked = Next()(ids, generator(0))
    assert asked.targets.reshape(3, 4).tolist() == [[1, 2, 3, NONE], [5, 6, 7, NONE], [9, 10, 11, NONE]]
    assert asked.count == 9


def test_spans_can_be_put_back():
    ids = np.random.default_rng(1).integers(100, 1000, (20, 128))
    spans = Spans(np.arange(5, 69), end=2, start=2)
    taken, number = spans.counts(128)
    assert (taken, number) == (19, 6)
    asked = spans(ids, generator(1))
    assert asked.ids.shape == (20, 128 - 19 + 6)
    targets = asked.targets.reshape(20, -1)
    assert np.array_equal(asked.decoder_ids[:, 1:], targets[:, :-1])
    for row, read, wrote in zip(ids, asked.ids, targets, strict=True):
        pieces, now = {}, None
        for token in wrote[:-1]:
            if 5 <= token < 69:
                now = int(token)
                pieces[now] = []
            else:
                pieces[now].append(int(token))
        assert wrote[-1] == 2
        whole = [word for token in read for word in (pieces[int(token)] if 5 <= token < 69 else [int(token)])]
        assert whole == row.tolist()
    with pytest.raises(InterlinguaError, match="6 spans a sequence, and there are 3 sentinels"):
        Spans(np.arange(5, 8), end=2, start=2)(ids, generator(1))


def test_spans_are_of_any_length_alike():
    """Eight tokens in four spans: 35 ways, each as often as any other."""
    rows = 7_000
    found = Counter(map(tuple, _cut(rows, 8, 4, np.random.default_rng(0)).tolist()))
    assert len(found) == 35
    assert all(sum(way) == 8 and min(way) >= 1 for way in found)
    expected = rows / 35
    assert sum((n - expected) ** 2 / expected for n in found.values()) < 64  # chi-squared, 34 degrees, p = 0.001
    assert _cut(2, 5, 1, np.random.default_rng(0)).tolist() == [[5], [5]]
    assert _cut(1, 3, 3, np.random.default_rng(0)).tolist() == [[1, 1, 1]]
    with pytest.raises(ValueError, match="out of bounds"):  # three tokens are no five spans
        _cut(1, 3, 5, np.random.default_rng(0))
