"""What every record promises: frozen, sliced consistently, hashed by content alone."""

import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlingua.errors import InputError
from interlingua.types import (
    Bitext,
    Dictionary,
    LabelledCorpus,
    Language,
    ParallelCorpus,
    Span,
    TaggedCorpus,
    TextCorpus,
    Tree,
    Treebank,
    spans,
)

EN, FR = Language.parse("en"), Language.parse("fr")
WORDS = tuple((f"a{i}", f"b{i}") for i in range(6))

RECORDS = {
    "parallel": ParallelCorpus.from_texts({"en": [f"en {i}" for i in range(6)], "fr": [f"fr {i}" for i in range(6)]}),
    "labelled": LabelledCorpus(language=EN, fields=("p", "h"), texts=WORDS, labels=tuple("abcabc")),
    "unlabelled": LabelledCorpus(language=EN, fields=("p", "h"), texts=WORDS, labels=None),
    "tagged": TaggedCorpus(language=EN, words=WORDS, tags=(("B-X", "I-X"),) * 6),
    "treebank": Treebank(language=EN, trees=tuple(Tree(w, ("NOUN", "VERB"), (2, 0), ("nsubj", "root")) for w in WORDS)),
    "dictionary": Dictionary.from_pairs("en", "fr", [(f"w{i}", f"m{i}", None) for i in range(6)]),
    "bitext": Bitext(source=EN, target=FR, source_words=WORDS, target_words=WORDS, sure=(frozenset({(0, 0)}),) * 6),
}


@pytest.fixture(params=RECORDS, name="record")
def _record(request):
    return RECORDS[request.param]


def test_records_are_frozen(record):
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.name = "other"


def test_rows_have_ids_that_travel_with_them(record):
    assert record.ids == tuple("123456")
    assert record[2:4].ids == ("3", "4")
    assert record.take([5, 0]).ids == ("6", "1")
    assert record[2:4].take([1]).ids == ("4",)


def test_slices_samples_and_takes_agree(record):
    rng = np.random.default_rng(7)
    assert len(record[:0]) == 0
    assert record[:] == record
    assert record[1:5:2] == record.take([1, 3])
    assert record[::-1] == record.take(range(5, -1, -1))
    drawn = record.sample(4, rng)
    positions = [int(i) - 1 for i in drawn.ids]
    assert positions == sorted(set(positions))
    assert drawn == record.take(positions)
    assert record.sample(6, rng) == record


@pytest.mark.parametrize("rows", [[6], [-7], [0, 99]])
def test_rows_that_are_not_there(record, rows):
    with pytest.raises(InputError, match="there is no row"):
        record.take(rows)


@pytest.mark.parametrize("n", [7, -1])
def test_samples_that_cannot_be_drawn(record, n):
    with pytest.raises(InputError, match="cannot draw"):
        record.sample(n, np.random.default_rng(0))


def test_the_hash_is_of_content_alone(record):
    renamed = dataclasses.replace(record, name="other", licence="other", notes=("x",), ids=tuple("abcdef"))
    assert renamed.hash == record.hash
    assert record[:5].hash != record.hash
    assert record.take([1, 0, 2, 3, 4, 5]).hash != record.hash
    assert pickle.loads(pickle.dumps(record)) == record
    assert len(record.hash) == 64


def test_one_row_of_a_record_without_row_type(record):
    if not isinstance(record, ParallelCorpus):
        with pytest.raises(InputError, match="select rows with a slice"):
            record[0]


class TestParallel:
    corpus = RECORDS["parallel"]

    def test_columns_rows_and_languages(self):
        assert self.corpus["fr"] == self.corpus[FR] == tuple(f"fr {i}" for i in range(6))
        assert self.corpus[3] == {"en": "en 3", "fr": "fr 3"}
        assert self.corpus[3]["fra"] == self.corpus[3][FR] == "fr 3"
        assert [row["fr"] for row in self.corpus][-1] == "fr 5"
        assert self.corpus.languages("fr", "en").langs == (FR, EN)
        assert self.corpus.languages("fra").langs == (FR,)

    def test_the_order_of_languages_does_not_change_the_hash(self):
        assert self.corpus.languages("fr", "en").hash == self.corpus.hash
        assert self.corpus.hash_of("fr") == self.corpus.languages("fr").hash_of("fr")
        assert self.corpus.languages("fr").hash != self.corpus.hash

    def test_borders_between_sentences_count(self):
        a = ParallelCorpus.from_texts({"en": ["ab", "c"]})
        b = ParallelCorpus.from_texts({"en": ["a", "bc"]})
        assert a.hash != b.hash

    def test_unequal_lengths_say_what_is_wrong(self):
        with pytest.raises(InputError, match="en has 2 sentences and fr has 1: row i of one must translate row i"):
            ParallelCorpus.from_texts({"en": ["a", "b"], "fr": ["c"]})

    def test_a_language_can_be_there_once(self):
        with pytest.raises(InputError, match="pt-BR and pt-PT are both pt"):
            ParallelCorpus.from_texts({"pt-BR": ["a"], "pt-PT": ["b"]})

    def test_unknown_language_says_what_there_is(self):
        with pytest.raises(InputError, match=r"unknown language in unnamed 'de'.*en"):
            self.corpus["de"]

    @pytest.mark.parametrize("key", [6, -7, None, 1.5])
    def test_what_is_no_row(self, key):
        with pytest.raises(InputError):
            self.corpus[key]

    def test_a_row_says_which_languages_it_has(self):
        with pytest.raises(InputError, match="unknown language in this row 'de': there are en, fr"):
            self.corpus[0]["de"]

    def test_no_languages(self):
        with pytest.raises(InputError, match="0 languages"):
            ParallelCorpus(langs=(), columns=())


def test_a_wrong_number_of_ids_or_labels():
    with pytest.raises(InputError, match="6 rows but 2 ids"):
        dataclasses.replace(RECORDS["labelled"], ids=("1", "2"))
    with pytest.raises(InputError, match="6 rows but 1 labels"):
        dataclasses.replace(RECORDS["labelled"], labels=("a",))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TaggedCorpus(language=EN, words=(("a", "b"),), tags=(("O",),)), "2 words but 1 tags"),
        (lambda: LabelledCorpus(language=EN, fields=("p", "h"), texts=(("a",),), labels=None), "1 texts for 2 fields"),
        (lambda: Treebank(language=EN, trees=(Tree(("a",), ("X",), (0, 1), ("root",)),)), "differ in number"),
        (
            lambda: Bitext(
                source=EN, target=FR, source_words=(("a",),), target_words=(("b",),), sure=(frozenset({(5, 5)}),)
            ),
            "link \\(5, 5\\) in a pair of 1 and 1 words",
        ),
    ],
)
def test_rows_that_do_not_fit_together(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_the_hash_covers_everything_a_record_says():
    tree = RECORDS["treebank"].trees[0]
    for changed in (dataclasses.replace(tree, text="a0 b0"), dataclasses.replace(tree, words=("a0", "x"))):
        assert Treebank(language=EN, trees=(changed,)).hash != RECORDS["treebank"][:1].hash
    renamed = dataclasses.replace(RECORDS["labelled"], fields=("q", "h"))
    assert renamed.hash != RECORDS["labelled"].hash


def test_a_record_is_short_when_printed(record):
    assert len(repr(record)) < 100
    assert "6 rows" in repr(record)


@pytest.mark.parametrize("rows", [["home-01"], [True, False], [None]])
def test_rows_are_chosen_by_position(record, rows):
    with pytest.raises(InputError, match="rows are chosen by position"):
        record.take(rows)


def test_a_seed_will_do_for_a_generator(record):
    assert record.sample(3, 5) == record.sample(3, np.random.default_rng(5))


def test_labelled_columns_and_classes():
    record = RECORDS["labelled"]
    assert record.classes == ("a", "b", "c")
    assert record.column("h")[0] == "b0"
    with pytest.raises(InputError, match="unknown field"):
        record.column("premise")


def test_dictionary_order_lookup_and_inverse():
    pairs = [("cat", "chat", 0.2), ("cat", "minou", 0.7), ("dog", "chien", None), ("cat", "chat", 0.9)]
    book = Dictionary.from_pairs("en", "fr", pairs)
    assert book.lookup("cat") == ("minou", "chat")
    assert book.lookup("cat", best=1) == ("minou",)
    assert book.lookup("cow") == ()
    assert "dog" in book
    assert "cow" not in book
    back = book.inverse()
    assert (back.source, back.target) == (FR, EN)
    assert back.lookup("chat") == ("cat",)
    assert len(book) == 2
    assert next(iter(book.pairs())) == ("cat", "minou", 0.7)


def test_a_treebank_as_tags_and_a_bitext_as_parallel_text():
    tagged = RECORDS["treebank"].tagged()
    assert tagged.tags[0] == ("NOUN", "VERB")
    assert not tagged.entities
    with pytest.raises(InputError, match="no entity tags"):
        tagged.spans(0)
    assert RECORDS["bitext"].parallel()["fr"][0] == "a0 b0"


def test_surface_tokens_of_a_tree():
    from interlingua.types import Multiword

    tree = Tree(("vino", "de", "el", "mar"), ("NOUN",) * 4, (0, 4, 4, 1), ("x",) * 4, (Multiword("del", 1, 3),))
    assert tree.tokens == ("vino", "del", "mar")


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("B-A I-A O B-A", [("A", 0, 2), ("A", 3, 4)]),
        ("I-A I-A B-A I-B", [("A", 0, 2), ("A", 2, 3), ("B", 3, 4)]),
        ("B-A B-A", [("A", 0, 1), ("A", 1, 2)]),
        ("S-A B-A I-A E-A S-B", [("A", 0, 1), ("A", 1, 4), ("B", 4, 5)]),
        ("O O", []),
        ("O I-A", [("A", 1, 2)]),
        ("B-A-B I-A-B I-A", [("A-B", 0, 2), ("A", 2, 3)]),
    ],
)
def test_spans_by_hand(tags, expected):
    assert spans(tags.split()) == tuple(Span(*e) for e in expected)


class TestText:
    lines = ("a", "b", "", "c", "  ", "", "d", "e")
    corpus = TextCorpus(language=EN, lines=lines)

    def test_paragraphs_documents_and_slices(self):
        assert list(self.corpus) == list("abcde")
        assert list(self.corpus.documents()) == [["a", "b"], ["c"], ["d", "e"]]
        assert list(self.corpus[1:4]) == list("bcd")
        assert list(self.corpus[1:4].documents()) == [["b"], ["c"], ["d"]]
        assert list(self.corpus[1:][1:2]) == ["c"]
        assert list(self.corpus[2:][:99]) == list("cde")
        assert list(self.corpus[:2][5:]) == []

    def test_sampling_reads_once_and_keeps_order(self):
        many = TextCorpus(language=EN, lines=tuple(f"{i:04}" for i in range(1000)))
        drawn = list(many.sample(100, np.random.default_rng(3)))
        assert drawn == sorted(set(drawn))
        assert len(drawn) == 100
        with pytest.raises(InputError, match="has 5 paragraphs"):
            self.corpus.sample(6, np.random.default_rng(3))

    def test_sampling_is_uniform(self):
        many = TextCorpus(language=EN, lines=tuple(map(str, range(20))))
        counts = np.zeros(20)
        for seed in range(400):
            for line in many.sample(5, np.random.default_rng(seed)):
                counts[int(line)] += 1
        assert counts.min() > 60  # expected 100, standard deviation 8.7
        assert counts.max() < 140

    @pytest.mark.parametrize("key", [slice(-3, None), slice(0, 4, 2), 3])
    def test_what_a_stream_cannot_do(self, key):
        with pytest.raises(InputError, match="is a stream"):
            self.corpus[key]

    def test_hash(self):
        assert self.corpus.hash == TextCorpus(language=EN, lines=list("abcde"), name="x").hash
        assert self.corpus.hash != TextCorpus(language=FR, lines=list("abcde")).hash


@settings(derandomize=True, max_examples=50)
@given(st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=8), st.data())
def test_any_text_is_kept_as_it_is(rows, data):
    corpus = ParallelCorpus.from_texts({"en": [a for a, _ in rows], "fr": [b for _, b in rows]})
    part = corpus[: data.draw(st.integers(0, len(rows)))]
    assert list(part["fr"]) == [b for _, b in rows][: len(part)]
    assert len(corpus.hash) == 64
