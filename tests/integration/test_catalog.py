"""The catalogue against the data sets themselves: everything it knows is found, loads, and says its licence."""

import csv
import itertools
from pathlib import Path

import pytest

import interlingua as il
from interlingua.corpora import CATALOG, load, parallel
from interlingua.corpora.choice import Choice
from interlingua.corpora.dataset import Kind
from interlingua.corpora.fetch import file_sha256
from interlingua.corpora.places import find, locate
from interlingua.errors import DataNotFoundError, FormatError, InputError

NAMES = [d.name for d in CATALOG]
PUBLIC = [d for d in CATALOG if not d.built_in]
AT_HAND = [d for d in PUBLIC if d.name != "europarl_v7"]  # too large for a data root of samples


def test_names_are_unique_and_findable():
    assert len(set(NAMES)) == len(NAMES)
    for dataset in CATALOG:
        assert find(dataset.name)[0] is dataset
        assert find(f"{dataset.name}/part") == (dataset, "part", "")
        assert find(f"{dataset.name}/part:dev") == (dataset, "part", "dev")
        assert find(dataset.directory)[0].directory == dataset.directory


@pytest.mark.parametrize("dataset", CATALOG, ids=lambda d: d.name)
def test_every_entry_is_complete(dataset):
    assert dataset.licence
    assert dataset.citation
    assert dataset.note
    assert dataset.origin.page
    # No hash without bytes that were compared, no claim of verification without a hash.
    assert not dataset.origin.sha256 or dataset.origin.verified
    assert dataset.built_in or not dataset.origin.verified
    assert bool(dataset.origin.url) == bool(dataset.origin.path)


def test_the_names_the_field_uses_are_there():
    wanted = "ntrex tatoeba xnli xquad pawsx ud wikineural panx conll2002 sst2 nli_en ocnli muse multi30k europarl"
    assert set(wanted.split()) <= set(NAMES)


def test_a_name_that_is_not_there_says_what_is_close():
    with pytest.raises(InputError, match=r"unknown data set 'ntrx': did you mean ntrex"):
        load("ntrx", "en")


def manifest(root: Path):
    with (root / "MANIFEST.tsv").open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


def test_every_file_of_the_manifest_belongs_to_an_entry(data_root):
    described = {str(file.path.relative_to(data_root)) for d in PUBLIC for file in d.scan(data_root / d.directory)}
    beside = {"conll2002/README", "bucc2018/zh-en.dev.gold", "ntrex128/DOCUMENT_IDS.tsv", "quran/ids.txt"}
    assert {row["file"] for row in manifest(data_root)} - described == beside


def test_the_data_at_hand_is_the_data_of_the_manifest(data_root):
    for row in manifest(data_root)[::37]:
        assert file_sha256(data_root / row["file"]) == row["sha256"], row["file"]


def one_per_language(dataset, files):
    """A representative set of requests: every language or pair, split and part."""
    seen = set()
    for file in files:
        key = (file.languages, file.split, file.part)
        if key not in seen:
            seen.add(key)
            yield key


# Files that hold no valid record, and what is said about them.
REFUSED = {("ud", "zh-Hant", "train", "gsd"): "version 1"}


@pytest.mark.parametrize("dataset", AT_HAND, ids=lambda d: d.name)
def test_every_file_of_every_data_set_loads(data_root, dataset):
    files = dataset.scan(data_root / dataset.directory)
    assert files
    if dataset.name == "udpos":
        assert len(files) == len(list(one_per_language(dataset, files))) == 25
    for languages, split, part in one_per_language(dataset, files):
        if dataset.kind is Kind.PARALLEL and len(languages) == 1:
            continue  # read below, all languages at once
        wanted = [f"{lang.language}-{lang.script}-{lang.region}" if lang.region else lang for lang in languages]
        name = f"{dataset.name}/{part}" if part else dataset.name
        refused = REFUSED.get((dataset.name, str(languages[0]), split, part))
        if refused:
            with pytest.raises(FormatError, match=refused):
                load(name, *wanted, split=split)
            continue
        record = load(name, *wanted, split=split)
        first = next(iter(record)) if isinstance(record, il.TextCorpus) else record[:1]
        assert first
        assert record.licence == dataset.licence
        if dataset.name == "udpos":
            assert len(record.tagset) <= 18, (languages, record.tagset)


@pytest.mark.parametrize(
    "dataset", [d for d in PUBLIC if d.kind is Kind.PARALLEL and "{source}" not in d.files[0]], ids=lambda d: d.name
)
def test_n_way_corpora_load_whole(data_root, dataset):
    files = dataset.scan(data_root / dataset.directory)
    for split in sorted({f.split for f in files}):
        record = load(dataset.name, split=split)
        languages = {f.languages[0] for f in files if f.split == split}
        assert set(record.langs) == languages
        assert all(any(text.strip() for text in column) for column in record.columns)


def test_numbers_of_rows_that_the_papers_state(data_root):
    assert len(load("ntrex", "en", "fr")) == 1997
    assert len(load("xnli", "sw", split="test")) == 5010
    assert len(load("xnli", "sw", split="dev")) == 2490
    assert len(load("xquad", "en", "ar")) == 1190
    assert len(load("xquad_paragraphs", "en", "ar")) == 240
    assert len(load("tatoeba", "fr", "en")) == 1000
    assert len(load("ud/en_pud", "en")) == 1000
    assert len(load("muse", "en", "fr")) == 1500
    assert len(load("quran")) == 6236
    assert load("quran").ids[0] == "1:1"
    assert len(load("panx", "de", split="train")) == 20000


def test_labels_come_out_by_name(data_root):
    assert load("xnli", "fr").classes == ("contradiction", "entailment", "neutral")
    assert load("sst2", "en").classes == ("negative", "positive")
    assert load("umsab", "pt").classes == ("negative", "neutral", "positive")
    assert load("xcopa", "et").classes == ("choice1", "choice2")
    assert load("pawsx", "de").classes == ("different", "paraphrase")
    assert load("pawsx", "de", split="test").labels is None


def test_lines_with_unusual_characters_do_not_shift_rows(data_root):
    """xnli.test.el and pawsx.dev.ko hold characters at which str.splitlines would split."""
    assert len(load("xnli", "el")) == 5010
    assert len(load("pawsx", "ko")) == 2000


def test_row_aligned_data_sets_serve_as_parallel_text(data_root):
    xnli = parallel("xnli", "en", "fr", "sw")
    assert len(xnli) == len(set(xnli["en"])) == 1670
    assert "3340 of 5010 rows repeat" in xnli.notes[0]
    pud = parallel("ud/pud", "en", "fr", "zh")
    assert [str(lang) for lang in pud.langs] == ["en", "fr", "zh-Hant"]
    assert pud.ids[0] == "n01001011"
    assert len(parallel("pawsx", "en", "fr")) == len(parallel("pawsx", "fr", "en"))
    with pytest.raises(InputError, match="do not hold the same sentences"):
        parallel("ud", "wo", "ug")
    assert len(pud) == 1000


def test_regions_of_one_language(data_root):
    with pytest.raises(InputError, match="say gsw-BE or gsw-ZH"):
        load("ntrex", "en", "gsw")
    bern, zurich = (load("ntrex", "en", tag)["gsw"] for tag in ("gsw-BE", "gsw-ZH"))
    assert bern != zurich


def test_rows_of_other_languages_in_a_file_are_left_out(data_root):
    corpus = load("tatoeba_challenge", "en", "zh")
    assert len(corpus) == 4812
    assert corpus.notes == ("6532 of 11344 rows are in other languages or scripts and were left out",)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tatoeba", "fr", "de"), "unknown pair in tatoeba 'fr-de'"),
        (("tatoeba", "fr"), "comes in pairs of languages"),
        (("panx", "de", "fr"), "read one language at a time"),
        (("panx", "sw"), "unknown language in panx 'sw'"),
        (("uner", "en"), "say uner/en_ewt or uner/en_pud"),
        (("ud/xx_none", "en"), "unknown part of ud 'xx_none'"),
        (("word_alignment", "en", "fr"), "say word_alignment/fr_golden or word_alignment/hansards"),
        (("word_alignment", "en", "de"), "unknown pair"),
        (("muse", "en", "en"), "the same language twice"),
        (("mono",), "read one language at a time"),
    ],
)
def test_requests_that_cannot_be_met_say_what_can(data_root, arguments, message):
    with pytest.raises(InputError, match=message):
        load(*arguments)


def test_an_unknown_split_says_which_there_are(data_root):
    with pytest.raises(InputError, match=r"unknown split of xnli 'train'.*dev.*test"):
        load("xnli", "fr", split="train")


def test_kinds_are_not_confused(data_root):
    with pytest.raises(InputError, match="xnli is labelled sentences, not a treebank"):
        il.treebank("xnli", "fr")
    assert isinstance(il.tagged("ud/en_pud", "en"), il.TaggedCorpus)
    assert isinstance(il.bitext("xl_wa", "en", "et"), il.Bitext)
    assert isinstance(il.dictionary("muse", "et", "en"), il.Dictionary)
    assert isinstance(il.text("mono/europarl", "fr"), il.TextCorpus)
    assert isinstance(il.labelled("xnli", "fr"), il.LabelledCorpus)


def test_a_dictionary_in_the_other_direction_is_inverted(data_root, tmp_path):
    (tmp_path / "en-fr.txt").write_text("cat chat\ndog chien\n", encoding="utf-8")
    book = load("muse", "fr", "en", path=tmp_path)
    assert book.lookup("chat") == ("cat",)
    assert "inverted" in book.notes[0]


def test_gold_alignments_stay_inside_their_sentences(data_root):
    hansards = load("word_alignment/hansards", "en", "fr")
    for source, target, sure in zip(hansards.source_words, hansards.target_words, hansards.sure, strict=True):
        assert all(i < len(source) and j < len(target) for i, j in sure)


def test_the_bucc_pairs_are_the_gold_pairs(data_root):
    corpus = load("bucc", "zh", "en")
    assert len(corpus) == 257
    assert corpus.ids[0] == "zh-000000057|en-000008530"


def test_an_explicit_path_comes_first(data_root, monkeypatch, tmp_path):
    (tmp_path / "en.txt").write_text("one\n", encoding="utf-8")
    (tmp_path / "fr.txt").write_text("un\n", encoding="utf-8")
    assert load("ntrex", "en", "fr", path=tmp_path)["fr"] == ("un",)
    monkeypatch.setenv("INTERLINGUA_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache" / "ntrex128").mkdir(parents=True)
    for lang, text in (("en", "two"), ("fr", "deux")):
        (tmp_path / "cache" / "ntrex128" / f"{lang}.txt").write_text(text + "\n", encoding="utf-8")
    assert len(load("ntrex", "en", "fr")) == 1997
    monkeypatch.delenv("INTERLINGUA_DATA")
    assert load("ntrex", "en", "fr")["fr"] == ("deux",)


def test_what_is_nowhere_says_where_it_was_looked_for(no_data):
    with pytest.raises(DataNotFoundError, match=r"conll2002 is not in .*cache.*set INTERLINGUA_DATA"):
        load("conll2002", "es")


def test_a_data_root_that_is_no_folder(monkeypatch):
    monkeypatch.setenv("INTERLINGUA_DATA", "/no/such/folder")
    with pytest.raises(InputError, match="INTERLINGUA_DATA is /no/such/folder, which is not a folder"):
        load("ntrex", "en", "fr")


def test_built_in_data_needs_nothing(no_data):
    for dataset in (d for d in CATALOG if d.built_in):
        where, folder = locate(dataset)
        assert where == "built in"
        assert Choice(dataset, dataset.scan(folder)).files


def test_every_pair_of_the_built_in_dictionary(no_data):
    languages = sorted(
        {str(f.languages[0]) for f in find("everyday-words")[0].scan(locate(find("everyday-words")[0])[1])}
    )
    for source, target in itertools.permutations(languages, 2):
        assert len(il.dictionary("everyday-words", source, target)) > 700
