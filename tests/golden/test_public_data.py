"""Every treebank and every BIO file of the public data sets, against the packages the field uses to read them."""

import warnings

import conllu
import pytest

from interlingua.corpora.bio import read_tagged
from interlingua.corpora.conllu import read_conllu
from interlingua.corpora.files import lines
from interlingua.corpora.places import find
from interlingua.errors import FormatError
from interlingua.types import Language, spans

EN = Language.parse("en")


def reference(path):
    """Words, tags, heads and relations as the conllu package reads them."""
    text = "\n".join(line for _, line in lines(path)) + "\n"
    for sentence in conllu.parse(text):
        words = [token for token in sentence if isinstance(token["id"], int)]
        ranges = [token for token in sentence if isinstance(token["id"], tuple) and token["id"][1] == "-"]
        yield (
            tuple(t["form"] for t in words),
            tuple(t["upos"] for t in words),
            tuple(t["head"] for t in words),
            tuple(t["deprel"] for t in words),
            tuple((t["form"], t["id"][0] - 1, t["id"][2]) for t in ranges),
            sentence.metadata.get("text"),
        )


SHARES = 8


@pytest.mark.parametrize("share", range(SHARES))
def test_every_treebank_equals_the_conllu_package(data_root, share):
    """All of them, dealt out to several tests so that they run side by side."""
    files = find("ud")[0].scan(data_root / "ud")
    assert len(files) > 50
    by_size = sorted(files, key=lambda f: f.bytes)
    for file in by_size[share::SHARES]:
        if "ud1.x" in file.path.name and file.part == "gsd":
            continue
        treebank = read_conllu(file.path, file.languages[0])
        expected = list(reference(file.path))
        assert len(treebank) == len(expected), file.path
        for tree, (words, upos, heads, relations, multiwords, text) in zip(treebank.trees, expected, strict=True):
            assert (tree.words, tree.upos, tree.heads, tree.relations) == (words, upos, heads, relations), file.path
            assert tree.multiwords == multiwords
            assert tree.text == text


def test_the_treebanks_have_what_is_hard_to_read(data_root):
    """Multiword tokens and empty nodes occur in them, so that the test above means something."""
    ewt = read_conllu(next((data_root / "ud" / "UD_English-EWT").glob("*test*")), EN)
    assert sum(len(tree.multiwords) for tree in ewt.trees) > 100
    estonian = next((data_root / "ud" / "UD_Estonian-EDT").glob("*test*"))
    assert sum("." in line.split("\t")[0] for _, line in lines(estonian) if not line.startswith("#")) >= 50


def test_a_version_1_treebank_is_refused(data_root):
    (path,) = (data_root / "ud" / "UD_Chinese-GSD").glob("*ud1.x-train*")
    with pytest.raises(FormatError, match=r"version 1 \(dobj"):
        read_conllu(path, Language.parse("zh"))


def tags_of(path, column, tabs):
    """Sentences of tags by the plainest possible reading."""
    sentence, result = [], []
    for _, line in lines(path):
        if not line.strip():
            if sentence:
                result.append(sentence)
            sentence = []
        elif not ((line.startswith("# ") and " = " in line) or line.startswith("# new")):
            sentence.append(line.split("\t" if tabs else " ")[column].strip())
    return [*result, sentence] if sentence else result


@pytest.mark.parametrize(
    ("name", "column", "tabs"),
    [
        ("panx", 1, True),
        ("wikineural", 2, True),
        ("uner", 2, True),
        ("conll2002", -1, False),
        ("masakhaner", -1, False),
    ],
)
def test_every_bio_file_has_the_spans_of_seqeval(data_root, name, column, tabs):
    from seqeval.metrics.sequence_labeling import get_entities

    dataset, *_ = find(name)
    files = dataset.scan(data_root / dataset.directory)
    assert files
    for file in files:
        corpus = read_tagged(file.path, file.languages[0])  # the columns are found, not told
        raw = tags_of(file.path, column, tabs)
        assert len(raw) == len(corpus), file.path
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            entities = [get_entities(tags) for tags in raw]
        for row, (tags, converted, found) in enumerate(zip(raw, corpus.tags, entities, strict=True)):
            expected = [(label, start, end + 1) for label, start, end in found]
            assert [tuple(s) for s in spans(tags)] == expected, (file.path, row)
            assert [tuple(s) for s in spans(converted)] == expected, (file.path, row)
