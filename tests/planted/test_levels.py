"""Words, words in context and sentences of two planted spaces find each other, and only after what was planted."""

import numpy as np
import pytest
import scipy.linalg
import tiny
import torch

import interlingua as il
from interlingua.errors import InterlinguaError
from interlingua.languages import Language
from interlingua.mapping.alignment import fit_alignment
from interlingua.mapping.composed import Composed
from interlingua.mapping.induce import Words, mutual
from interlingua.mapping.levels import context_scores, occurrences, sentence_scores, vocabulary, word_scores
from interlingua.mapping.static import static_words
from interlingua.models.load import wrap
from interlingua.types import Dictionary, Representations, WordRepresentations
from interlingua.types.representations import Labels

RNG = np.random.default_rng(3)
EN, FR = Language.parse("en"), Language.parse("fr")
N, D = 600, 24
ROTATION = scipy.linalg.qr(RNG.normal(size=(D, D)))[0]
MEANING = RNG.normal(size=(N, D))
FRENCH = MEANING @ ROTATION + 0.7 * RNG.normal(size=(N, D)) + 0.3


def dictionary(places):
    return Dictionary.from_pairs("en", "fr", [(f"e{i}", f"f{i}", None) for i in places])


def scores(found):
    return {(s.way, s.direction, s.pairs): s for _, s in found}


def test_words():
    english, french = Words(tuple(f"e{i}" for i in range(N)), MEANING), Words(tuple(f"f{i}" for i in range(N)), FRENCH)
    ways = ("identity", "shift", "normalised", "rotation", "refined", "ridge", "least_squares")
    found = list(
        word_scores(
            english, french, dictionary(range(300)), dictionary(range(300, 500)), layer=4, ways=ways, sizes=(20, 900)
        )
    )
    by = {(s.way, s.pairs): s.precision[1] for _, s in found}
    assert by["rotation", 300] > 0.95
    assert by["refined", 300] >= by["rotation", 300] - 0.02
    assert by["ridge", 300] > 0.6
    assert by["least_squares", 300] > 0.6
    assert max(by[way, n] for way, n in by if way in ("identity", "shift", "normalised")) < 0.05
    assert by["rotation", 20] < by["rotation", 300]
    assert ("rotation", 900) not in by
    score = found[0][1]
    assert (score.n, score.coverage, score.candidates, score.layer) == (200, 1.0, N, 4)
    assert score.row()["p1"] == score.precision[1]
    right = [score.found[word][0] in score.gold[word] for word in score.found]
    assert list(score.hits) == right
    # without each twentieth of the queries
    assert score.row()["without"][3] == pytest.approx(np.mean(right[:30] + right[40:]))
    with pytest.raises(InterlinguaError, match="in both dictionaries"):
        list(word_scores(english, french, dictionary(range(300)), dictionary(range(299, 400)), layer=0))


def test_words_that_are_each_others_nearest():
    english, french = Words(tuple(f"e{i}" for i in range(N)), MEANING), Words(tuple(f"f{i}" for i in range(N)), MEANING)
    pairs = mutual(english, french)
    assert [(i, j) for i, j, _ in pairs if i == j] == [(i, j) for i, j, _ in pairs]
    assert len(pairs) == N
    assert pairs[0][2] == pytest.approx(1)


def test_case_is_folded_by_contexts():
    labels = Labels(("The", "cat", "the"), None, np.array([1, 5, 3]), np.zeros((0, 2), int))
    reps = WordRepresentations({EN: np.arange(9, dtype=np.float32).reshape(1, 3, 3)}, {}, {EN: labels})
    words = vocabulary(reps, "en", 0)
    assert words.words == ("cat", "the")
    np.testing.assert_allclose(words.vectors[1], (reps["en", 0][0] + 3 * reps["en", 0][2]) / 4)
    assert vocabulary(reps, "en", 0, fold=False).words == ("cat", "the", "The")


def test_words_in_context():
    # ten words a sentence, each sentence's words linked one to one in another order
    places = np.array([(i // 10, i % 10) for i in range(N)])
    order = np.array([10 * (i // 10) + (i % 10 * 3) % 10 for i in range(N)])
    words = tuple(f"w{i % 50}" for i in range(N))
    labels = {
        EN: Labels(words, places, None, np.zeros((0, 2), int)),
        FR: Labels(words, places, None, np.zeros((0, 2), int)),
    }
    french = np.empty_like(FRENCH)
    french[order] = FRENCH
    reps = WordRepresentations({EN: MEANING[None].astype(np.float32), FR: french[None].astype(np.float32)}, {}, labels)
    links = [[(w, (w * 3) % 10) for w in range(10)] + [(99, 0)] for _ in range(N // 10)]
    linked = occurrences(reps, (EN, FR), links)
    assert len(linked) == N
    np.testing.assert_array_equal(linked.target, order)
    found = scores(context_scores(reps, (EN, FR), linked, layer=0))
    rotated = next(s for (way, *_), s in found.items() if way == "rotation")
    assert rotated.precision[1] > 0.95
    assert rotated.same_type >= rotated.precision[1]
    assert rotated.direction == "fr>en"
    assert (rotated.n, rotated.pairs) == (120, 480)
    assert max(s.precision[1] for (way, *_), s in found.items() if way != "rotation") < 0.1
    few = next(s for _, s in context_scores(reps, (EN, FR), linked, layer=0, most=30))
    assert few.n == few.candidates == 30
    with pytest.raises(InterlinguaError, match="no word is linked"):
        occurrences(reps, (EN, FR), [[] for _ in range(5)])
    with pytest.raises(InterlinguaError, match="share between 0 and 1"):
        list(context_scores(reps, (EN, FR), linked, layer=0, held=1.5))


def test_sentences_and_their_learning_curve():
    reps = Representations({EN: MEANING[None].astype(np.float32), FR: FRENCH[None].astype(np.float32)})
    found = scores(sentence_scores(reps[:400], reps[400:], (EN, FR), layer=0, sizes=(8, 30, 400)))
    curve = [found["rotation", "en>fr", n].precision[1] for n in (8, 30, 400)]
    assert curve[0] < curve[1] < curve[2]
    assert curve[2] > 0.95
    assert found["rotation", "fr>en", 400].precision[1] > 0.95
    assert found["identity", "en>fr", 0].precision[1] < 0.05
    assert found["identity", "en>fr", 0].chance == pytest.approx(1 / 200)


def test_static_vectors_know_which_words_stand_in_the_same_places():
    rng = np.random.default_rng(0)
    kinds = [[f"animal{i}" for i in range(6)], [f"tool{i}" for i in range(6)]]
    lines = []
    for _ in range(3000):
        kind = int(rng.integers(2))
        lines.append(" ".join([*rng.choice(kinds[kind], 2), ("runs", "cuts")[kind], ("home", "wood")[kind]]))
    words = static_words(lines, width=20, epochs=8)
    unit = words.vectors / np.linalg.norm(words.vectors, axis=1, keepdims=True)
    near = unit @ unit.T
    animals, tools = ([words.places[w] for w in kind] for kind in kinds)
    assert near[np.ix_(animals, animals)].mean() > near[np.ix_(animals, tools)].mean() + 0.1
    again = static_words(lines, width=20, epochs=8, only=("runs", "animal1"))
    assert set(again.words) == {"runs", "animal1"}
    np.testing.assert_array_equal(again.vectors[again.places["runs"]], words.vectors[words.places["runs"]])
    with pytest.raises(InterlinguaError, match="occurs 5 times"):
        static_words(["only once"], width=4)
    with pytest.raises(InterlinguaError, match="no word in common"):
        static_words(lines, width=4, epochs=1, only=("nothing",))


@pytest.mark.parametrize("way", ["identity", "rotation", "ridge"])
def test_a_model_and_a_map_are_one_network(tmp_path, way):
    models = [wrap(tiny.network("bert"), tiny.tokenizer(), name=name) for name in "ab"]
    with torch.no_grad():
        for weight in models[1].network.parameters():
            weight.add_(0.1 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(1)))
    corpus = il.parallel("everyday", "en", "fr")[:60]
    reps = il.extract(il.PerLanguage({EN: models[0], FR: models[1]}), corpus, level="word")
    x, y = reps["en", 1], reps["fr", 1]
    n = min(len(x), len(y))
    facts = [{"weights": m.weights, "layer": 1} for m in models]
    aligned = fit_alignment(x[:n], y[:n], (range(n), range(n)), way, source=facts[0], target=facts[1])
    for side, model, lang in (("source", models[0], "en"), ("target", models[1], "fr")):
        composed = Composed(model, aligned, side, 1)
        batch = model.tokenizer([corpus[lang][0]], return_tensors="pt")
        plain = model.hidden_states(batch)[1][0].numpy(force=True)
        wanted = aligned.of_source(plain) if side == "source" else aligned.of_target(plain)
        np.testing.assert_allclose(composed(**batch)[0].numpy(force=True), wanted, atol=2e-4)
        assert not any(p.requires_grad for p in composed.parameters())
    for call, message in (
        (lambda: Composed(models[0], aligned, "target", 1), "is for weights"),
        (lambda: Composed(models[1], aligned, "target", 2), "is for layer 1, and this is 2"),
        (lambda: Composed(models[1], aligned, "other", 1), "side of an alignment"),
    ):
        with pytest.raises(InterlinguaError, match=message):
            call()
    torch.save(Composed(models[1], aligned, "target", 1).state_dict(), tmp_path / "state.pt")
