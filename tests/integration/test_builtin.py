"""The built-in corpus: enough of it, in the right scripts, parallel, not templated; trees that are trees."""

import csv
import itertools
import re
import unicodedata
from statistics import median

import pytest

import interlingua as il
from interlingua.corpora.check import script_of
from interlingua.corpora.places import assets

LANGUAGES = ["en", "fr", "de", "es", "ru", "zh", "ar", "bg", "et", "tr"]
SCRIPT = {"ru": "Cyrl", "bg": "Cyrl", "ar": "Arab", "zh": "Hani"}
FOUR = ["en", "fr", "de", "ru"]


@pytest.fixture(scope="module")
def everyday():
    return il.parallel("everyday", *LANGUAGES)


def words(text):
    return re.findall(r"[\w'’-]+", text.lower())


def test_size_and_ids(everyday):
    assert len(everyday) >= 400
    assert len(set(everyday.ids)) == len(everyday)
    topics = {i.rpartition("-")[0] for i in everyday.ids}
    assert len(topics) >= 20


def test_lengths_are_varied(everyday):
    lengths = [len(words(text)) for text in everyday["en"]]
    assert min(lengths) >= 3
    assert max(lengths) <= 25
    assert all(sum(low <= n <= high for n in lengths) >= 40 for low, high in ((3, 6), (7, 12), (13, 18), (19, 25)))


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_sentence_is_clean_and_unique(everyday, lang):
    column = everyday[lang]
    assert len(set(column)) == len(column)
    for text in column:
        assert text == text.strip() == unicodedata.normalize("NFC", text)
        assert "  " not in text
        assert not any(unicodedata.category(c) in ("Cc", "Cf", "Co", "Cn") for c in text), text
        assert re.search(r"[.?!。？！؟]$", text), text


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_letter_is_of_the_right_script(everyday, lang):
    letters = {c for text in everyday[lang] for c in text if c.isalpha() and c != "\u0640"}  # tatweel is of no script
    foreign = {c for c in letters if script_of(c) != SCRIPT.get(lang, "Latn")}
    assert foreign <= ({"X"} if lang == "zh" else set())  # X-ray is written with a Latin X


@pytest.mark.parametrize("lang", LANGUAGES[1:])
def test_translations_are_about_as_long_as_usual(everyday, lang):
    ratios = [len(b) / len(a) for a, b in zip(everyday["en"], everyday[lang], strict=True)]
    usual = median(ratios)
    assert all(0.45 < ratio / usual < 2.2 for ratio in ratios)


@pytest.mark.parametrize("lang", LANGUAGES[1:])
def test_questions_and_numbers_are_kept(everyday, lang):
    for a, b in zip(everyday["en"], everyday[lang], strict=True):
        assert a.endswith("?") == b.endswith(("?", "？", "؟")), (a, b)
        numbers = re.findall(r"\d+", a.replace(",", ""))
        found = re.findall(r"\d+", re.sub(r"(?<=\d)[.,\u00a0\u202f ](?=\d{3})", "", b))
        assert set(numbers) <= set(found), (a, b)


def test_no_two_english_rows_share_more_than_half_their_trigrams(everyday):
    grams = []
    for text in everyday["en"]:
        row = words(text)
        grams.append(set(zip(row, row[1:], row[2:], strict=False)))
    for (i, a), (j, b) in itertools.combinations(enumerate(grams), 2):
        assert len(a & b) <= 0.5 * min(len(a), len(b)), (everyday["en"][i], everyday["en"][j])


def test_variety(everyday):
    english = everyday["en"]
    share = {
        "questions": sum(t.endswith("?") for t in english),
        "negations": sum(
            bool(re.search(r"n't\b|\b(not|no|never|nobody|nothing|none|without)\b", t.lower())) for t in english
        ),
        "digits": sum(any(c.isdigit() for c in t) for t in english),
        "names": sum(bool(re.search(r"(?<=[a-z,] )[A-Z][a-z]+", t)) for t in english),
        "past": sum(bool(re.search(r"\b(was|were|had|did|\w+ed)\b", t)) for t in english),
        "future": sum(bool(re.search(r"\b(will|going to|shall)\b", t)) for t in english),
        "first person": sum(bool(re.search(r"\b(I|we|my|our|me|us)\b", t, re.IGNORECASE)) for t in english),
    }
    assert all(n >= 25 for n in share.values()), share


@pytest.mark.parametrize("lang", LANGUAGES)
def test_dictionary(lang):
    lines = (assets() / "everyday-words" / f"{lang}.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) >= 800
    for line in lines:
        alternatives = line.split("|")
        assert 1 <= len(alternatives) <= 4
        assert len(set(alternatives)) == len(alternatives)
        assert all(a and a == a.strip() for a in alternatives)
        assert {script_of(c) for a in alternatives for c in a if c.isalpha()} == {SCRIPT.get(lang, "Latn")}, line


def test_dictionary_senses_match():
    with (assets() / "everyday-words" / "senses.tsv").open(encoding="utf-8") as stream:
        senses = list(csv.DictReader(stream, delimiter="\t"))
    english = (assets() / "everyday-words" / "en.txt").read_text(encoding="utf-8").splitlines()
    assert [s["word"].lower() for s in senses] == [w.lower() for w in english]
    assert len(set(english)) == len(english) >= 800
    assert all(s["pos"] and s["gloss"] for s in senses)
    book = il.dictionary("everyday-words", "de", "fr")
    assert "chien" in book.lookup("Hund")


@pytest.mark.parametrize("lang", ["en", "fr", "de"])
def test_trees(everyday, lang):
    bank = il.treebank("everyday-trees", lang)
    assert len(bank) >= 30
    row = dict(zip(everyday.ids, everyday[lang], strict=True))
    universal = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split()
    relations = (
        "acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse dislocated expl fixed "
        "flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis punct reparandum root vocative xcomp"
    ).split()
    for key, tree in zip(bank.ids, bank.trees, strict=True):
        assert tree.text == row[key]
        assert set(tree.upos) <= set(universal)
        assert {r.partition(":")[0] for r in tree.relations} <= set(relations)
        assert tree.relations[tree.heads.index(0)] == "root"
        joined = "".join(tree.tokens)
        assert re.sub(r"\s", "", joined) == re.sub(r"\s", "", tree.text)


def test_the_trees_are_parallel():
    corpus = il.parallel("everyday-trees", "en", "fr", "de")
    banks = [il.treebank("everyday-trees", lang).ids for lang in ("en", "fr", "de")]
    assert banks[0] == banks[1] == banks[2]
    assert len(corpus) == len(banks[0])


@pytest.mark.parametrize("lang", FOUR)
def test_entities(lang):
    train, test = (il.tagged("everyday-ner", lang, split=s) for s in ("train", "test"))
    english = [il.tagged("everyday-ner", "en", split=s) for s in ("train", "test")]
    assert (len(train), len(test)) == (80, 40)
    assert not set(train.words) & set(test.words)
    for mine, reference in zip((train, test), english, strict=True):
        assert mine.notes == ()
        for row in range(len(mine)):
            kinds = [sorted(s.label for s in c.spans(row)) for c in (mine, reference)]
            assert kinds[0] == kinds[1], mine.words[row]
    labels = {s.label for row in range(80) for s in train.spans(row)}
    assert labels == {"PER", "LOC", "ORG"}


@pytest.mark.parametrize("lang", FOUR)
def test_inference(lang):
    record, english = il.labelled("everyday-nli", lang), il.labelled("everyday-nli", "en")
    assert len(record) >= 60
    assert record.labels == english.labels
    assert {record.labels.count(label) for label in record.classes} == {len(record) // 3}
    assert len(set(record.column("premise"))) == len(record) // 3
    assert len(set(record.column("hypothesis"))) == len(record)


def test_every_language_was_proofread_and_the_corrections_logged():
    with (assets() / "CORRECTIONS.tsv").open(encoding="utf-8") as stream:
        log = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert {tag for row in log for tag in row["language"].split()} == set(LANGUAGES)
    assert all(row["before"] != row["after"] and row["reason"] for row in log)
    corpus = il.parallel("everyday", *LANGUAGES)
    position = {key: i for i, key in enumerate(corpus.ids)}
    last = {(r["language"], r["key"]): r["after"] for r in log if r["set"] == "sentences"}
    for (lang, key), after in last.items():
        assert corpus[lang][position[key]] == after
