"""Concepts: planted ones are found with the exact percentages, every threshold at its boundary, naive loops agree."""

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from interlingua.concepts.align import RULES, Rules, calign, links
from interlingua.concepts.discover import Concepts, Mentions, discover, mentions, silhouette, stability
from interlingua.concepts.kmeans import _Blocks, _fits, kmeans
from interlingua.concepts.label import label, script_of
from interlingua.concepts.lexicon import Entry, Lexicon, from_dictionary, lexicon, read_moses, write_moses
from interlingua.concepts.overlap import colap
from interlingua.errors import FormatError, InterlinguaError
from interlingua.languages import Language
from interlingua.types import Dictionary, Labels, WordRepresentations

EN, DE = Language.parse("en"), Language.parse("de")


def concepts(clusters, *, lang=EN, k=None):
    """From {number: words}."""
    rows = [(number, word) for number, words in clusters.items() for word in words]
    n = len(rows)
    found = Mentions(tuple(w for _, w in rows), (lang,), np.zeros(n, np.int64), np.arange(n))
    return Concepts(found, np.array([number for number, _ in rows]), k or max(clusters) + 1)


def words(prefix, n):
    return [f"{prefix}{i}" for i in range(n)]


def lexicon_of(pairs):
    entries = {}
    for s, t, p in pairs:
        entries.setdefault(s, []).append(Entry(t, p))
    return Lexicon(EN, DE, {s: tuple(sorted(row, key=lambda e: -e.probability)) for s, row in entries.items()})


# What the published script printed for this case (its printed count is of all clusters).
TOY = {
    "source": {0: ["dog", "cat", "cow", "pig", "hen"], 1: ["red", "blue", "green", "black"], 2: ["run", "walk", "the"], 3: ["one", "two"]},
    "target": {0: ["hund", "katze", "kuh", "schwein", "auto"], 1: ["rot", "blau", "haus"], 2: ["laufen", "gehen", "rennen", "der", "die", "das"], 3: ["eins", "zwei"]},
    "lexicon": [("dog", "hund", 0.9), ("cat", "katze", 0.8), ("cow", "kuh", 0.9), ("pig", "schwein", 0.7), ("hen", "henne", 0.9), ("red", "rot", 0.9),
                ("blue", "blau", 0.9), ("green", "gruen", 0.9), ("black", "schwarz", 0.9), ("run", "laufen", 0.5), ("run", "rennen", 0.4), ("walk", "gehen", 0.9),
                ("the", "der", 0.4), ("the", "die", 0.3), ("one", "eins", 0.9), ("two", "zwei", 0.9)],
}  # fmt: skip


@pytest.mark.parametrize(
    ("best", "match", "types", "pairs"),
    [(1, 0.5, 2, {(0, 0), (2, 2)}), (5, 0.7, 3, {(0, 0)}), (1, 0.7, 0, {(0, 0), (2, 2), (3, 3)})],
)
def test_the_published_rules_give_what_the_script_printed(best, match, types, pairs):
    how = Rules(match=match, best=best, types=types, size=0.4, strict=True, one_sided=True)
    found = calign(concepts(TOY["source"]), concepts(TOY["target"], lang=DE), lexicon_of(TOY["lexicon"]), how)
    assert {(s, t) for s, t, _ in found.pairs} == pairs
    assert found.aligned == len({s for s, _ in pairs})
    assert found.all == 4


def planted(matching, mine=10, theirs=10):
    """One concept a side, so many of whose words translate into it."""
    source, target = concepts({0: words("s", mine)}), concepts({0: words("t", theirs)}, lang=DE)
    return source, target, lexicon_of([(f"s{i}", f"t{i}", 1.0) for i in range(matching)] or [("s0", "x", 1.0)])


@pytest.mark.parametrize("name", ["defined", "published"])
@pytest.mark.parametrize(("matching", "share"), [(8, 0.8), (7, 0.7), (9, 0.9), (10, 1.0)])
def test_the_share_of_matches_at_its_boundary(name, matching, share):
    rules = RULES[name]
    value = calign(*planted(matching), rules).value
    assert value == (share > rules.match if rules.strict else share >= rules.match)


@pytest.mark.parametrize("thirds", [(3, 5), (6, 10), (9, 15), (57, 95)])
def test_shares_are_compared_without_rounding(thirds):
    """0.6 of 5 and of 95 are whole numbers, whatever floating point makes of them."""
    matching, n = thirds
    source, target = concepts({0: words("s", n)}), concepts({0: words("t", n)}, lang=DE)
    found = lexicon_of([(f"s{i}", f"t{i}", 1.0) for i in range(matching)])
    assert calign(source, target, found, Rules(match=0.6, types=0)).value == 1
    assert calign(source, target, found, Rules(match=0.6, types=0, strict=True)).value == 0


@pytest.mark.parametrize(
    ("mine", "theirs", "defined", "published"),
    [
        (6, 10, True, True),     # 0.6 exactly
        (7, 12, False, True),    # 0.583
        (12, 7, False, True),    # the target too small: only the definition minds
        (10, 25, False, False),  # 0.4 exactly: strictly more is asked for
        (11, 25, False, True),
        (6, 6, True, True),
        (5, 6, False, False),    # more than five types
        (8, 5, False, True),     # the target has too few: only the definition minds
    ],
)  # fmt: skip
def test_sizes_and_types_at_their_boundaries(mine, theirs, defined, published):
    source, target = concepts({0: words("s", mine)}), concepts({0: words("t", theirs)}, lang=DE)
    every = lexicon_of([(f"s{i}", f"t{i % theirs}", 1.0) for i in range(mine)])
    for name, aligned in (("defined", defined), ("published", published)):
        found = calign(source, target, every, name)
        assert bool(found.pairs) == aligned, name
        assert found.considered == (mine > 5)


def test_only_the_best_translations_count_and_words_without_one_stay_in_the_denominator():
    source, target = concepts({0: words("s", 6)}), concepts({0: words("t", 6)}, lang=DE)
    entries = {f"s{i}": (Entry(f"x{i}", 0.6), Entry(f"t{i}", 0.4)) for i in range(5)}
    found = Lexicon(EN, DE, entries)
    assert calign(source, target, found, Rules(best=2)).value == 1  # 5 of 6
    assert calign(source, target, found, Rules(best=2, match=0.9)).value == 0
    assert calign(source, target, found, Rules(best=2)).covered == pytest.approx(5 / 6)
    with pytest.raises(InterlinguaError, match="cased and segmented alike"):
        calign(source, target, found, Rules(best=1))
    assert list(links(source, target, found, 0, 0, best=2))[:2] == [("s0", "t0"), ("s1", "t1")]


def test_planted_concepts_are_found_with_the_exact_percentages():
    """Aligned and not, in the share that was planted; the null is near zero; both directions."""
    source = concepts({c: words(f"s{c}_", 8) for c in range(40)})
    target = concepts({c: words(f"t{c}_", 8) for c in range(40)}, lang=DE)
    pairs = [(f"s{c}_{i}", f"t{c}_{i}", 1.0) for c in range(10) for i in range(7)]
    # words that translate into concepts all over the place
    pairs += [(f"s{c}_{i}", f"t{(c + 5 * i) % 40}_{i}", 1.0) for c in range(10, 40) for i in range(8)]
    there = lexicon_of(pairs)
    entries = {}
    for s, t, _ in pairs:
        entries.setdefault(t, []).append(Entry(s, 0.5))
    back = Lexicon(DE, EN, {t: tuple(row) for t, row in entries.items()})
    found = calign(source, target, there, nulls=5)
    assert (found.value, found.aligned, found.considered, found.all) == (0.25, 10, 40, 40)
    assert found.low < 0.25 < found.high
    assert found.null < 0.05
    assert {s: t for s, t, _ in found.pairs} == {c: c for c in range(10)}
    assert all(share == 7 / 8 for *_, share in found.pairs)
    assert calign(target, source, back).value == pytest.approx(0.25)


def naive(source, target, found, how):
    aligned = set()
    for i in range(source.k):
        mine = set(source.types(i))
        for j in range(target.k):
            theirs = set(target.types(j))
            if not mine or not theirs:
                continue
            count = sum(any(t in theirs for t in found.best(s, how.best)) for s in mine)
            small, large = (len(mine), len(theirs)) if how.one_sided else sorted((len(mine), len(theirs)))
            more = (lambda a, b: a > b) if how.strict else (lambda a, b: a >= b)
            sizes = len(mine) > how.types and (how.one_sided or len(theirs) > how.types)
            good = more(round(count * 100), round(how.match * 100) * len(mine)) and more(
                small * 100, round(how.size * 100) * large
            )
            if count and good and sizes:
                aligned.add((i, j))
    return aligned


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_equal_to_a_naive_triple_loop(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    k = data.draw(st.integers(1, 6))
    source = concepts({c: [f"s{i}" for i in rng.integers(0, 20, rng.integers(1, 9))] for c in range(k)})
    target = concepts({c: [f"t{i}" for i in rng.integers(0, 20, rng.integers(1, 9))] for c in range(k)}, lang=DE)
    found = Lexicon(
        EN, DE, {f"s{i}": tuple(Entry(f"t{j}", 0.2) for j in rng.permutation(20)[:4]) for i in range(20) if rng.random() < 0.8} | {"s0": (Entry("t0", 1.0),)}
    )  # fmt: skip
    how = Rules(
        match=data.draw(st.sampled_from([0, 0.25, 0.5, 0.8, 1])), best=data.draw(st.integers(1, 5)),
        types=data.draw(st.integers(0, 3)), size=data.draw(st.sampled_from([0, 0.4, 0.5, 0.6, 1])),
        strict=data.draw(st.booleans()), one_sided=data.draw(st.booleans()),
    )  # fmt: skip
    if found.matrix(source.mentions.types, target.mentions.types, how.best).nnz:
        assert {(s, t) for s, t, _ in calign(source, target, found, how).pairs} == naive(source, target, found, how)


# -- overlap ----------------------------------------------------------------------------------------------------------


def mixed(clusters):
    """From {number: [(word, language)]}."""
    rows = [(number, word, lang) for number, cells in clusters.items() for word, lang in cells]
    langs = tuple(dict.fromkeys(lang for *_, lang in rows))
    tags = np.array([langs.index(lang) for *_, lang in rows])
    found = Mentions(tuple(w for _, w, _ in rows), langs, tags, np.arange(len(rows)))
    return Concepts(found, np.array([n for n, *_ in rows]), max(clusters) + 1)


# The case that the published function was run on: 2 and 2, 2 and 1, 1 and 0, 3 and 1.
TOY_OVERLAP = mixed({
    0: [("dog", EN), ("hund", DE), ("cat", EN), ("katze", DE)], 1: [("red", EN), ("blue", EN), ("rot", DE)],
    2: [("run", EN)], 3: [("one", EN), ("two", EN), ("three", EN), ("zwei", DE)],
})  # fmt: skip


@pytest.mark.parametrize(
    ("threshold", "strict", "which"),
    [
        (0.3, True, (0, 1)),
        (0.25, True, (0, 1)),
        (0.2, True, (0, 1, 3)),
        (0.25, False, (0, 1, 3)),
        (0.3, False, (0, 1)),
        (0.5, False, (0,)),
        (0.51, False, ()),
    ],
)
def test_overlap_at_its_boundary_and_as_published(threshold, strict, which):
    found = colap(TOY_OVERLAP, threshold=threshold, strict=strict)
    assert found.concepts == which
    assert found.value == len(which) / 4


def test_overlap_by_types_and_of_several_languages():
    fr = Language.parse("fr")
    found = mixed(
        {0: [("a", EN)] * 6 + [("b", EN), ("x", DE)], 1: [("c", EN), ("y", DE), ("n", fr)], 2: [("d", EN), ("d", DE)]}
    )
    assert colap(found).concepts == (1, 2)
    assert colap(found, by="types").concepts == (0, 1, 2)  # 2 of 3 and 1 of 3 types
    assert colap(found, languages_needed="all").concepts == (1,)
    assert colap(found, languages_needed=3).concepts == (1,)
    assert colap(found).shares[0].tolist() == [7 / 8, 1 / 8, 0]
    for wrong in ({"languages_needed": 4}, {"by": "letters"}, {"threshold": 2}):
        with pytest.raises(InterlinguaError):
            colap(found, **wrong)
    with pytest.raises(InterlinguaError, match="alone"):
        colap(concepts({0: ["a", "b"]}))


def test_mixing_at_random_makes_large_concepts_overlap():
    """The null of COLAP is a ceiling: half of the mentions of every large concept would be of either language."""
    apart = mixed({c: [(f"w{i}", EN if c % 2 else DE) for i in range(40)] for c in range(20)})
    found = colap(apart, nulls=5)
    assert (found.value, found.concepts) == (0.0, ())
    assert found.null > 0.95


# -- lexicon -----------------------------------------------------------------------------------------------------------


def test_probabilities_are_relative_frequencies_of_links():
    pairs = [(["The", "dog"], ["Der", "Hund"]), (["the", "cat"], ["die", "Katze"]), (["the"], ["der"])]
    found = lexicon("en", "de", pairs, [[(0, 0), (1, 1)], [(0, 0), (1, 1)], [(0, 0)]])
    assert found.entries["the"] == (Entry("der", 2 / 3, 2), Entry("die", 1 / 3, 1))
    assert found.best("the", 1) == ("der",)
    assert found.best("house") == ()
    cased = lexicon("en", "de", pairs, [[(0, 0)], [(0, 0)], [(0, 0)]], fold=False)
    assert set(cased.entries) == {"The", "the"}
    with pytest.raises(InterlinguaError, match="line up"):
        lexicon("en", "de", pairs[:1], [[(2, 0)]])
    with pytest.raises(InterlinguaError, match="no entry"):
        lexicon("en", "de", pairs[:1], [[]])


def test_lexicons_travel_as_moses_tables_and_dictionaries(tmp_path):
    found = lexicon(
        "en", "de", [(["the", "dog"], ["der", "hund"])] * 3 + [(["the"], ["die"])], [[(0, 0), (1, 1)]] * 3 + [[(0, 0)]]
    )
    write_moses(found, tmp_path / "lex.e2f")
    assert (tmp_path / "lex.e2f").read_text().splitlines()[0] == "der the 0.7500000"
    again = read_moses(tmp_path / "lex.e2f", "en", "de")
    assert {w: [(e.word, e.probability) for e in row] for w, row in again.entries.items()} == {
        w: [(e.word, e.probability) for e in row] for w, row in found.entries.items()
    }
    assert from_dictionary(found.dictionary()).best("the") == ("der", "die")
    plain = Dictionary.from_pairs("en", "de", [("Dog", "Hund", None), ("Dog", "Köter", None)])
    assert from_dictionary(plain).entries["dog"] == (Entry("hund", 0.5), Entry("köter", 0.5))
    (tmp_path / "bad").write_text("der the\n")
    with pytest.raises(FormatError, match="bad:1"):
        read_moses(tmp_path / "bad", "en", "de")
    (tmp_path / "bad").write_text("der the 1.5\n")
    with pytest.raises(FormatError, match="between 0 and 1"):
        read_moses(tmp_path / "bad", "en", "de")
    (tmp_path / "bad").write_text("NULL the 0.5\n")
    with pytest.raises(FormatError, match="no pair"):
        read_moses(tmp_path / "bad", "en", "de")


# -- clusters ----------------------------------------------------------------------------------------------------------


def blobs(n=3000, d=16, k=12, seed=0, offset=200.0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(k, d)) * 8
    own = rng.integers(k, size=n)
    return (centres[own] + rng.normal(size=(n, d)) + offset).astype(np.float32), own


class Reader:
    """Rows that are only ever given in slices."""

    def __init__(self, rows):
        self.rows, self.shape, self.most = rows, rows.shape, 0

    def __getitem__(self, key):
        self.most = max(self.most, len(self.rows[key]))
        return self.rows[key]


def test_blocked_clusters_equal_scikit_learns_from_equal_centres():
    rows, _ = blobs()
    start = rows[::250]
    mine = kmeans(Reader(rows), 12, start=start, steps=30, device="cpu")
    theirs = kmeans(rows, 12, start=start, steps=30, method="sklearn")
    assert mine.inertia == pytest.approx(theirs.inertia, rel=1e-4)
    assert stability(of(mine), of(theirs)) == pytest.approx(1)
    np.testing.assert_allclose(mine.centres, theirs.centres, atol=1e-2)


def of(clusters):
    n = len(clusters.labels)
    return Concepts(
        Mentions(("w",) * n, (EN,), np.zeros(n, np.int64), np.arange(n)), clusters.labels, len(clusters.centres)
    )


def test_planted_clusters_are_found_from_blocks(monkeypatch):
    monkeypatch.setattr("interlingua.concepts.kmeans.HELD", 12 * 300)
    rows, own = blobs()
    reader = Reader(rows)
    found = kmeans(reader, 12, restarts=4, device="cpu")
    assert reader.most == 300
    assert stability(of(found), Concepts(of(found).mentions, own, 12)) > 0.99
    memory = kmeans(rows, 12, restarts=4)
    assert found.inertia <= 1.05 * memory.inertia
    assert silhouette(rows, found.labels) > 0.5
    assert np.isnan(silhouette(rows, np.zeros(len(rows))))


def test_blocks_that_stay_on_a_device_are_sent_there_once(monkeypatch):
    monkeypatch.setattr("interlingua.concepts.kmeans.HELD", 12 * 300)
    rows, _ = blobs()
    sent, held, made = [], _Blocks.held, {}
    monkeypatch.setattr(_Blocks, "held", lambda self, block: sent.append(len(block)) or held(self, block))
    for fits in (False, True):
        sent.clear()
        monkeypatch.setattr("interlingua.concepts.kmeans._fits", lambda *_, fits=fits: fits)
        made[fits] = kmeans(rows, 12, start=rows[::250], steps=5, tol=0.0, method="blocked", device="cpu")
        assert len(sent) == 1 + (10 if fits else 10 * 7)  # where to start; a look, five steps, the last assignment
    assert (made[True].labels == made[False].labels).all()
    assert made[True].inertia == made[False].inertia


def test_rows_stay_on_a_gpu_that_has_room_for_them_twice(monkeypatch):
    rows = np.zeros((1000, 16), np.float16)  # held in float32
    for free, fits in ((128_000, True), (127_999, False)):
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _, free=free: (free, 2**40))
        assert _fits(rows, torch.device("cuda")) is fits
    assert not _fits(rows, torch.device("cpu"))


def test_empty_clusters_find_a_place():
    rows, _ = blobs(k=4)
    start = np.concatenate([rows[:3], np.full((3, 16), 1e4, np.float32)])
    found = kmeans(Reader(rows), 6, start=start, device="cpu")
    assert len(np.unique(found.labels)) == 6


@pytest.mark.parametrize("method", ["sklearn", "blocked"])
def test_what_cannot_be_clustered_is_told(method):
    rows, _ = blobs(50)
    with pytest.raises(InterlinguaError, match="51 clusters of 50 rows"):
        kmeans(rows, 51, method=method)
    rows[7, 3] = np.nan
    with pytest.raises(InterlinguaError, match="row 7"):
        kmeans(rows, 3, method=method)


def representations(sizes=(300, 200)):
    rng = np.random.default_rng(0)
    arrays = {lang: rng.normal(size=(2, n, 8)).astype(np.float32) for lang, n in zip((EN, DE), sizes, strict=True)}
    labels = {
        lang: Labels(
            tuple(f"{lang}{i % 50}" for i in range(n)),
            np.stack([np.arange(n)] * 2, 1),
            None,
            np.zeros((0, 2), np.int64),
        )
        for lang, n in zip((EN, DE), sizes, strict=True)
    }
    return WordRepresentations(arrays, {"level": "word"}, labels)


def test_concepts_of_one_language_and_of_two():
    reps = representations()
    one = discover(reps, 1, "en", k=20)
    assert (len(one.mentions), one.k, len(one.mentions.types)) == (300, 20, 50)
    assert sum(len(one.types(c)) for c in range(20)) == one.counts.nnz == one.sizes.sum()
    both = discover(reps, 1, "en", "de", k=20)
    assert Counter(both.mentions.language.tolist()) == {0: 300, 1: 200}
    apart = discover(reps, 1, "en", "de", k=20, memory=1e-9, restarts=3, device="cpu")
    assert apart.inertia <= 1.05 * both.inertia
    with pytest.raises(InterlinguaError, match="600 concepts of 300 mentions"):
        discover(reps, 1, "en")
    with pytest.raises(InterlinguaError, match="no word of de is left"):
        mentions(representations((10, 0)))
    with pytest.raises(InterlinguaError, match="no vectors of fr"):
        mentions(reps, "fr")


# -- labels ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("types", "kind", "value"),
    [
        (["walking", "talking", "singing", "dog"], "semantic", ""),
        (["walking", "talking", "singing", "ringing", "dog"], "suffix", "ing"),
        (["undo", "unfit", "unwell", "unreal"], "semantic", ""),
        (["inter", "internet", "interior", "interval"], "prefix", "inte"),
        (["abcdx", "zbcdy", "qbcdw"], "infix", "bcd"),
        (["12", "3.5", "1990", "2,000"], "number", ""),
        ([".", "!", "..."], "punctuation", ""),
        (["dog"], "one word", "dog"),
        (["NATO", "USA", "WHO"], "capitals", ""),
        (["red", "dog", "tree"], "semantic", ""),
    ],
)
def test_what_types_have_in_common(types, kind, value):
    found = label(concepts({0: types}))[0]
    assert (found.kind, found.value) == (kind, value)
    assert found.lexical == (kind != "semantic")


def test_scripts_and_tags():
    found = label(
        concepts({0: ["дом", "лес"], 1: ["dog", "дом"], 3: ["1", "2"]}),
        tags=["NOUN", "NOUN", "NOUN", "VERB", "NUM", "NUM"],
    )
    assert [(each.concept, each.script, each.tag) for each in found] == [
        (0, "Cyrillic", "NOUN"),
        (1, "mixed", ""),
        (3, "none", "NUM"),
    ]
    assert [script_of(w) for w in ("日本", "aб", "ᚠ", "12")] == ["Han", "mixed", "other", "none"]
    with pytest.raises(InterlinguaError, match="one each"):
        label(concepts({0: ["a"]}), tags=["X", "Y"])
    with pytest.raises(InterlinguaError, match="more than half"):
        label(concepts({0: ["a"]}), cover=0.3)
