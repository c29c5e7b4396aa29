"""Records from `datasets` data sets made here (no network): any columns, classes by name, nested fields."""

import sys

import datasets
import pytest

import interlingua as il
from interlingua.corpora import hub
from interlingua.corpora.dataset import Kind
from interlingua.corpora.hub import open_hub, read_hub
from interlingua.errors import DataNotFoundError, InputError, MissingExtraError


def dataset(features=None, **columns):
    return datasets.Dataset.from_dict(columns, features=features)


def test_parallel_text_in_nested_columns():
    rows = dataset(translation=[{"en": "a", "fr": "b"}, {"en": "c", "fr": "d"}])
    corpus = read_hub(rows, Kind.PARALLEL, {"en": "translation.en", "fr": "translation.fr"}, "en")
    assert corpus["fr"] == ("b", "d")
    features = datasets.Features({"translation": datasets.Translation(languages=["en", "fr"])})
    typed = dataset(features, translation=[{"en": "a", "fr": "b"}, {"en": "c", "fr": "d"}])
    assert read_hub(typed, Kind.PARALLEL, {"en": "translation.en", "fr": "translation.fr"}, "en").hash == corpus.hash


def test_classes_by_name():
    features = datasets.Features(
        {
            "premise": datasets.Value("string"),
            "hypothesis": datasets.Value("string"),
            "label": datasets.ClassLabel(names=["yes", "no"]),
        }
    )
    rows = dataset(features, premise=["a", "b"], hypothesis=["c", "d"], label=[1, 0])
    columns = {"premise": "premise", "hypothesis": "hypothesis", "label": "label"}
    record = read_hub(rows, Kind.LABELLED, columns, "fr")
    assert record.labels == ("no", "yes")
    assert record.texts == (("a", "c"), ("b", "d"))


@pytest.mark.parametrize("sequence", [datasets.Sequence, datasets.List])
def test_tags_by_name_and_as_iob2(sequence):
    names = ["O", "B-PER", "I-PER"]
    features = datasets.Features(
        {"tokens": sequence(datasets.Value("string")), "ner_tags": sequence(datasets.ClassLabel(names=names))}
    )
    rows = dataset(features, tokens=[["Ann", "Lee", "ran"], ["x"]], ner_tags=[[2, 2, 0], [0]])
    record = read_hub(rows, Kind.TAGGED, {"words": "tokens", "tags": "ner_tags"}, "en")
    assert record.tags == (("B-PER", "I-PER", "O"), ("O",))


def test_trees():
    rows = dataset(tokens=[["a", "b"]], upos=[["DET", "NOUN"]], head=[["2", "0"]], deprel=[["det", "root"]])
    columns = {"words": "tokens", "upos": "upos", "heads": "head", "relations": "deprel"}
    record = read_hub(rows, Kind.TREEBANK, columns, "en")
    assert record.trees[0].heads == (2, 0)


@pytest.mark.parametrize(
    ("kind", "columns", "message"),
    [
        (Kind.PARALLEL, {"en": "english"}, "unknown column 'english'"),
        (Kind.TAGGED, {"words": "text"}, "say which column holds tags"),
        (Kind.TREEBANK, {"words": "text"}, "say which column holds upos and heads and relations"),
        (Kind.PARALLEL, {"en": "text.en"}, "has no field en"),
    ],
)
def test_columns_that_are_not_there(kind, columns, message):
    with pytest.raises(InputError, match=message):
        read_hub(dataset(text=["a"]), kind, columns, "en")


def test_a_file_through_the_library(tmp_path, monkeypatch):
    """`datasets` itself reads a local file; what comes out is a record."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "hub"))
    (tmp_path / "x.jsonl").write_text('{"text": "good", "label": 1}\n', encoding="utf-8")
    rows = datasets.load_dataset("json", data_files=str(tmp_path / "x.jsonl"), split="train", cache_dir=str(tmp_path))
    record = read_hub(rows, Kind.LABELLED, {"text": "text", "label": "label"}, "en")
    assert record.labels == ("1",)


def test_a_data_set_of_the_catalogue_comes_from_the_hub_where_it_is_nowhere_else(no_data, monkeypatch):
    asked = []

    def fake(identifier, config, split):
        asked.append((identifier, config, split))
        return dataset(premise=["a"], hypothesis=["b"], label=["neutral"])

    monkeypatch.setattr(hub, "open_hub", fake)
    record = il.labelled("xnli", "zh", split="dev")
    assert asked == [("facebook/xnli", "zh", "validation")]
    assert (record.name, record.licence) == ("xnli:dev", "CC-BY-NC-4.0")
    with pytest.raises(DataNotFoundError, match="one language at a time"):
        il.load("xnli", "en", "fr")


def test_labels_are_named_as_in_the_files(no_data, monkeypatch):
    monkeypatch.setattr(hub, "open_hub", lambda *_: dataset(sentence1=["a"], sentence2=["b"], label=[1]))
    assert il.labelled("pawsx", "de").labels == ("paraphrase",)


def test_missing_values():
    features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["no", "yes"])})
    columns = {"text": "text", "label": "label"}
    unlabelled = dataset(features, text=["a", "b"], label=[-1, -1])
    assert read_hub(unlabelled, Kind.LABELLED, columns, "en").labels is None
    with pytest.raises(InputError, match="no label in row 2"):
        read_hub(dataset(features, text=["a", "b"], label=[0, -1]), Kind.LABELLED, columns, "en")
    with pytest.raises(InputError, match="no text in row 2"):
        read_hub(dataset(features, text=["a", None], label=[0, 1]), Kind.LABELLED, columns, "en")
    with pytest.raises(InputError, match="no fr in row 1"):
        read_hub(dataset(en=["a"], fr=[None]), Kind.PARALLEL, {"en": "en", "fr": "fr"}, "en")
    with pytest.raises(InputError, match="cannot be read as dictionary"):
        read_hub(dataset(en=["a"]), Kind.DICTIONARY, {"en": "en"}, "en")


def test_trees_from_the_hub_are_checked_like_any_others():
    columns = {"words": "tokens", "upos": "upos", "heads": "head", "relations": "deprel"}

    def bank(heads, relations, words=("a", "b")):
        rows = dataset(tokens=[list(words)], upos=[["X"] * len(words)], head=[heads], deprel=[relations])
        return read_hub(rows, Kind.TREEBANK, columns, "en", name="bank")

    merged = bank(["None", "2", "0"], ["_", "det", "root"], ("du", "de", "vin"))
    assert merged.trees[0].words == ("de", "vin")
    with pytest.raises(InputError, match="bank row 1: 0 roots"):
        bank(["2", "1"], ["x", "y"])
    with pytest.raises(InputError, match="version 1"):
        bank(["2", "0"], ["dobj", "root"])


def test_treebanks_are_asked_for_by_their_code(no_data, monkeypatch):
    asked = []

    def fake(*arguments):
        asked.append(arguments)
        return dataset(tokens=[["a"]], upos=[["X"]], head=[["0"]], deprel=[["root"]])

    monkeypatch.setattr(hub, "open_hub", fake)
    il.treebank("ud/en_ewt", "en")
    assert asked == [("universal-dependencies/universal_dependencies", "en_ewt", "test")]
    with pytest.raises(DataNotFoundError, match="say which part of ud to read"):
        il.treebank("ud", "en")


def test_without_the_extra_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'interlingua\[hub\]'"):
        open_hub("x/y")


def test_what_the_hub_cannot_give_is_one_line(monkeypatch):
    def fail(*_args, **_kwargs):
        raise ConnectionError("no route to host\nmany more lines")

    monkeypatch.setattr(datasets, "load_dataset", fail)
    with pytest.raises(DataNotFoundError, match=r"could not be had from the Hub: no route to host$"):
        open_hub("x/y")
