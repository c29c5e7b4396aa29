"""Each reader on files made here: what it accepts, and the one line it says about what it does not."""

import bz2
import gzip
import lzma

import pytest
import zstandard

import interlingua as il
from interlingua.corpora import aligned, alignments, bio, conllu, labels, lexicon, mining
from interlingua.corpora.files import FileLines, lines, read_all
from interlingua.errors import DataNotFoundError, FormatError, InputError, InterlinguaError, MissingExtraError
from interlingua.types import Language

EN, FR, DE = map(Language.parse, ("en", "fr", "de"))


@pytest.fixture
def file(tmp_path):
    def make(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


TREE = (
    "# sent_id = s1\n# text = Du vin.\n1-2\tDu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tDe\tde\tADP\t_\t_\t3\tcase\t_\t_\n"
    "2\tle\tle\tDET\t_\t_\t3\tdet\t_\t_\n3\tvin\tvin\tNOUN\t_\t_\t0\troot\t_\t_\n3.1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "4\t.\t.\tPUNCT\t_\t_\t3\tpunct\t_\t_\n\n"
)


# -- text files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [
        ("", bytes),
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
        (".zst", zstandard.ZstdCompressor().compress),
    ],
)
def test_lines_of_any_compression(file, suffix, compress):
    content = "\ufeffone\r\ntwo\u2028half\x1d\n\nfour".encode()
    path = file(f"a.txt{suffix}", compress(content))
    assert list(lines(path)) == [(1, "one"), (2, "two\u2028half\x1d"), (3, ""), (4, "four")]


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [(".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress), (".zst", zstandard.compress)],
)
def test_damaged_compression_is_named(file, suffix, compress):
    whole = compress(b"text of some length\n" * 1000)
    for damaged in (whole[: len(whole) // 2], b"not compressed at all", whole[:8] + b"\xff" * 8 + whole[16:]):
        path = file(f"a.txt{suffix}", damaged)
        try:
            list(lines(path))
        except FormatError as error:
            assert str(error).startswith(str(path))
        else:
            raise AssertionError("damage went unnoticed")


def test_a_compression_bomb_is_refused(file, monkeypatch):
    monkeypatch.setattr("interlingua.corpora.files.RATIO_FROM", 1 << 20)
    path = file("bomb.txt.xz", lzma.compress(b"0" * (64 << 20)))
    with pytest.raises(FormatError, match="grows past .* bytes when decompressed: refused"):
        list(lines(path))


def test_zst_without_its_package_says_what_to_install(file, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'interlingua\[zstd\]'"):
        list(lines(file("a.zst", b"")))


def test_several_files_are_one_stream(file):
    stream = FileLines((file("a", "1\n2"), file("b", "3\n")))
    assert list(stream) == list(stream) == ["1", "2", "", "3"]


# -- parallel text ---------------------------------------------------------------------------------------------------


def test_line_aligned_files_moses_pairs_and_folders(file, tmp_path):
    file("moses/news.de-en.en", "a\nb\n")
    file("moses/news.de-en.de", "x\ny\n")
    corpus = il.parallel(tmp_path / "moses")
    assert set(map(str, corpus.langs)) == {"en", "de"}
    mapped = il.parallel({"de": tmp_path / "moses" / "news.de-en.de", "en": tmp_path / "moses" / "news.de-en.en"})
    assert mapped["de"] == ("x", "y")
    assert mapped.hash == corpus.hash
    assert il.parallel(str(tmp_path / "moses"), "en").langs == (EN,)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.tsv", 'en\tfr\tid\na "quoted\tb\t1\nc\td\t2\n'),
        ("t.csv", 'en,fr,id\n"a ""quoted",b,1\nc,d,2\n'),
        ("t.jsonl", '{"en": "a \\"quoted", "fr": "b", "id": 1}\n\n{"fr": "d", "en": "c", "id": 2}\n'),
    ],
)
def test_tables_with_a_column_a_language(file, name, content):
    corpus = il.parallel(file(name, content))
    assert corpus["en"] == ('a "quoted', "c")
    assert list(map(str, corpus.langs)) == ["en", "fr"]  # `id` is a column of ids, not Indonesian
    assert corpus.ids == ("1", "2")
    assert corpus["fr"] == ("b", "d")
    assert il.parallel(file(name, content), "fr", "en").langs == (FR, EN)


def test_csv_fields_may_hold_line_breaks(file):
    corpus = il.parallel(file("t.csv", 'en,fr\n"a\nb",c\nd,e\n'))
    assert corpus["en"] == ("a\nb", "d")
    assert corpus.ids == ("1", "2")


def test_headings_that_are_no_languages(file):
    assert list(map(str, il.parallel(file("a.tsv", "id\ten\n1\ta\n")).langs)) == [
        "id",
        "en",
    ]  # nothing else to pair with
    assert list(map(str, il.parallel(file("b.tsv", "id\ten\tfr\na\tb\tc\n"), "id", "en").langs)) == ["id", "en"]
    assert list(map(str, il.parallel(file("c.tsv", "doc\ten\tfr\tsrc\na\tb\tc\td\n")).langs)) == ["en", "fr"]
    with pytest.raises(FormatError, match="the columns 'en' and 'eng' are both en"):
        il.parallel(file("d.tsv", "en\teng\na\tb\n"))


def test_a_table_without_a_header_by_position(file):
    path = file("a.tsv", "Hello.\tBonjour.\nBye.\tSalut.\n")
    assert il.parallel(path, "en", "fr")["fr"] == ("Bonjour.", "Salut.")
    with pytest.raises(
        InputError, match="has no column for en: it has no language at all: its first row is Hello., Bonjour."
    ):
        il.parallel(path, "en", "fr", "de")


def test_a_folder_is_read_by_names(file, tmp_path):
    file("c/en.txt", "Hello.\n")
    file("c/fr.txt", "Bonjour.\n")
    assert il.parallel(tmp_path / "c", "fr", "en")["fr"] == ("Bonjour.",)
    with pytest.raises(InputError, match="no file for de"):
        il.parallel(tmp_path / "c", "en", "de")
    with pytest.raises(InputError, match="no file was given for de"):
        il.parallel({"en": tmp_path / "c" / "en.txt"}, "de")


def test_frames_of_zst_one_after_the_other(file):
    one = zstandard.compress(b"one\n")
    assert list(lines(file("a.zst", one + zstandard.compress(b"two\n")))) == [(1, "one"), (2, "two")]
    with pytest.raises(FormatError, match="cut-off"):
        list(lines(file("b.zst", one[:4])))


@pytest.mark.parametrize("source", [None, 3, "", ["en", "fr"]])
def test_what_is_neither_a_name_nor_a_path(source):
    with pytest.raises(InputError):
        il.parallel(source)
    with pytest.raises(InputError):
        il.parallel("everyday", ["en", "fr"])


def test_the_layout_of_tagged_words_is_not_guessed_from_one_sentence(file):
    years = "1 CD I-NP O\n\nEU NNP B-NP B-ORG\nlaw NN I-NP O\n"
    assert bio.read_tagged(file("a.bio", years), EN).tags == (("O",), ("B-ORG", "O"))
    trailing = "EU B-ORG \nlaw O \n"
    assert bio.read_tagged(file("b.bio", trailing), EN).tags == (("B-ORG", "O"),)
    with pytest.raises(FormatError, match=":1: 1 columns where 2 are needed"):
        bio.read_tagged(file("c.bio", "Title\n\nEU\tB-ORG\nlaw\tO\n"), EN)


def test_bars_and_named_columns(file):
    corpus = aligned.read_columns(file("x.txt", "a b ||| c d\ne ||| f\n"), {EN: 0, FR: 1})
    assert corpus["fr"] == ("c d", "f")
    table = file("y.tsv", "id\tsrc\ttgt\n1\ta\tb\n")
    assert aligned.read_columns(table, {EN: "src", FR: "tgt"})["fr"] == ("b",)


def test_rows_in_other_languages_are_left_out(file):
    table = file("x.tsv", "eng\tcmn_Hans\ta\t一\neng\tyue_Hant\tb\t二\neng\tcmn_Hant\tc\t三\n")
    zh = Language.parse("zh")
    assert aligned.read_pair(table, EN, zh, columns=(2, 3), tags=(0, 1))[zh] == ("一",)


TMX = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header/><body>
<tu><tuv xml:lang="en-US"><seg>Press <bpt i="1">&lt;b&gt;</bpt>OK<ept i="1">&lt;/b&gt;</ept> &amp; <hi>go</hi></seg></tuv>
<tuv xml:lang="fr"><seg>Appuyez
  sur OK</seg></tuv></tu>
<tu><tuv lang="EN"><seg>Only English</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>Two</seg></tuv><tuv xml:lang="fr-CA"><seg>Deux</seg></tuv><tuv xml:lang="de"><seg>Zwei</seg></tuv></tu>
</body></tmx>"""


def test_tmx(file):
    corpus = il.parallel(file("m.tmx", TMX))
    assert corpus["en"] == ("Press OK & go", "Two")
    assert corpus["fr"] == ("Appuyez sur OK", "Deux")
    assert corpus.ids == ("1", "3")
    assert "1 of 3 units lack a language" in corpus.notes[0]
    assert il.parallel(file("m.tmx", TMX), "de", "en")["de"] == ("Zwei",)
    utf16 = TMX.replace('encoding="utf-8"', 'encoding="utf-16"').encode("utf-16")
    assert il.parallel(file("utf16.tmx", utf16)).hash == corpus.hash


def test_squad(file):
    def squad(question, context):
        return '{"data": [{"paragraphs": [{"context": "%s", "qas": [{"id": "q1", "question": "%s"}]}]}]}' % (
            context,
            question,
        )

    files = {EN: file("en.json", squad("Who?", "Ann.")), FR: file("fr.json", squad("Qui ?", "Anne."))}
    assert aligned.read_squad(files)["fr"] == ("Qui ?",)
    assert aligned.read_squad(files, part="paragraphs")["en"] == ("Ann.",)
    assert aligned.read_squad(files).ids == ("q1",)


def test_bucc(file):
    en = file("zh-en.dev.en", "en-1\tOne\nen-2\tTwo\n")
    zh = file("zh-en.dev.zh", "zh-1\t一\nzh-9\t九\n")
    file("zh-en.dev.gold", "zh-1\ten-1\n")
    corpus = mining.read_bucc({EN: en, Language.parse("zh"): zh})
    assert (corpus["en"], corpus["zh"]) == (("One",), ("一",))


# -- annotated text --------------------------------------------------------------------------------------------------


def test_trees(file):
    bank = il.treebank(file("a.conllu", TREE + TREE.replace("s1", "s2").rstrip("\n")), "fr")
    assert len(bank) == 2
    tree = bank.trees[0]
    assert tree.words == ("De", "le", "vin", ".")
    assert tree.heads == (3, 3, 0, 3)
    assert tree.tokens == ("Du", "vin", ".")
    assert tree.text == "Du vin."
    assert bank.ids == ("s1", "s2")


@pytest.mark.parametrize(
    ("content", "words", "tags"),
    [
        ("EU\tB-ORG\nrejects\tO\n\nPeter\tB-PER\n", ("EU", "rejects"), ("B-ORG", "O")),
        ("EU NNP B-NP B-ORG\nrejects VBZ B-VP O\n", ("EU", "rejects"), ("B-ORG", "O")),
        ("-DOCSTART- -X- -X- O\n\nEU NNP I-NP I-ORG\nCo NNP I-NP I-ORG\n", ("EU", "Co"), ("B-ORG", "I-ORG")),
        ("0\tEU\tB-ORG\n1\trejects\tO\n", ("EU", "rejects"), ("B-ORG", "O")),
        ("# text = EU x\n1\tEU\tB-ORG\t-\tann\n2\tx\tO\t-\tann\n", ("EU", "x"), ("B-ORG", "O")),
        ("de:Berlin\tB-LOC\nde::\tO\n", ("Berlin", ":"), ("B-LOC", "O")),
        ("# O\n10 000 O\nEU B-ORG\n", ("#", "10 000", "EU"), ("O", "O", "B-ORG")),
        ("New York\tB-LOC\n", ("New York",), ("B-LOC",)),
    ],
)
def test_flavours_of_tagged_words(file, content, words, tags):
    corpus = il.tagged(file("a.bio", content), "en")
    assert corpus.words[0] == words
    assert corpus.tags[0] == tags


def test_words_without_tags(file):
    corpus = bio.read_tagged(file("a.bio", "EU\nrejects\n\nx\n"), EN)
    assert corpus.tags is None
    assert corpus.words == (("EU", "rejects"), ("x",))


def test_iob1_becomes_iob2_and_says_so(file):
    corpus = bio.read_tagged(file("a.bio", "a I-X\nb I-X\nc B-X\nd I-Y\n"), EN)
    assert corpus.tags[0] == ("B-X", "I-X", "B-X", "B-Y")
    assert corpus.notes == ("2 tags rewritten as IOB2",)


def test_labelled_tables(file):
    nli = il.labelled(file("x.tsv", "gold_label\tpremise\thypothesis\nneutral\ta\tb\n"), "en")
    assert (nli.fields, nli.texts, nli.labels) == (("premise", "hypothesis"), (("a", "b"),), ("neutral",))
    sentiment = il.labelled(file("x.jsonl", '{"text": "good", "label": 1}\n'), "en")
    assert (sentiment.column("text"), sentiment.labels) == (("good",), ("1",))
    plain = il.labelled(file("x.csv", "sentence\nhello\n"), "en")
    assert plain.labels is None


# -- two languages ---------------------------------------------------------------------------------------------------


def test_dictionaries(file):
    book = il.dictionary(file("d.txt", "cat chat\ncat minou\ndog chien\n\n"), "en", "fr")
    assert book.lookup("cat") == ("chat", "minou")
    weighted = il.dictionary(file("e.txt", "ice cream\tglace\t0.4\nice cream\tcrème glacée\t0.6\n"), "en", "fr")
    assert weighted.lookup("ice cream", 1) == ("crème glacée",)


def test_pharaoh(file):
    paths = file("a.en", "a b c\nd\n"), file("a.fr", "x y\nz\n"), file("a.links", "0-0 1p1 2-1\n\n")
    bitext = alignments.read_pharaoh(*paths, EN, FR)
    assert bitext.sure == (frozenset({(0, 0), (2, 1)}), frozenset())
    assert bitext.possible[0] == frozenset({(0, 0), (1, 1), (2, 1)})
    one = alignments.read_pharaoh(*paths[:2], file("b.links", "1-1 3-2\n1-1\n"), EN, FR, first=1)
    assert one.sure[0] == frozenset({(0, 0), (2, 1)})
    assert alignments.read_pharaoh(*paths[:2], None, EN, FR).sure is None


def test_aligned_tables(file):
    tsv = il.bitext(file("a.tsv", "a b\tx\t0-0 1-0\n"), "en", "fr")
    assert tsv.sure[0] == frozenset({(0, 0), (1, 0)})
    row = '{"src_words": ["a"], "tgt_words": ["x", "y"], "alignment": [[0, 1], [-1, 0]]}\n'
    assert il.bitext(file("a.jsonl", row), "en", "fr").sure[0] == frozenset({(0, 1)})
    damaged = file("b.jsonl", row.replace("[0, 1]", "[0, 2]"))
    assert "1 links in 1 sentences" in alignments.read_aligned_jsonl(damaged, EN, FR, lenient=True).notes[0]


def test_plain_text(file, tmp_path):
    file("t/a.txt", "one\n\ntwo\n")
    file("t/b.txt.gz", gzip.compress(b"three\n"))
    assert list(il.text(tmp_path / "t", "en")) == ["one", "two", "three"]
    assert len(list(il.text(tmp_path / "t", "en").documents())) == 3
    assert list(il.text(tmp_path / "t" / "a.txt", "en")[:1]) == ["one"]


# -- malformed files: one line, with the file and where there is one the line -----------------------------------------

ROW = "1\ta\ta\tNOUN\t_\t_\t0\troot\t_\t_\n"
BAD = {
    "empty.tsv": ("", "the file is empty"),
    "header.csv": ("en,fr\n", "no rows"),
    "latin1.tsv": (b"en\tfr\na\tcaf\xe9\n", ":2: not UTF-8 (byte 0xe9 at column 6)"),
    "utf16.tsv": ("en\tfr\n".encode("utf-16"), ":1: looks like UTF-16"),
    "nul.tsv": (b"en\tfr\na\x00\tb\n", ":2: NUL byte at column 2"),
    "ragged.tsv": ("en\tfr\na\tb\tc\n", ":2: 3 columns where the first row has 2"),
    "short.tsv": ("en\tfr\na\n", ":2: 1 columns where the first row has 2"),
    "nolang.tsv": ("source\ttarget\na\tb\n", ":1: no two columns are named by a language tag"),
    "onelang.csv": ("en,text\na,b\n", ":1: no two columns are named by a language tag"),
    "quote.csv": ('en,fr\n"a,b\n', ":2: not CSV"),
    "array.jsonl": ("[1, 2]\n", ":1: a JSON list where an object was expected"),
    "broken.jsonl": ('{"en": "a", "fr": "b"}\n{"en": \n', ":2: not JSON"),
    "missing.jsonl": ('{"en": "a", "fr": "b"}\n{"en": "c"}\n', ":2: no 'fr'"),
    "null.jsonl": ('{"en": "a", "fr": null}\n', ":1: 'fr' is None, not text"),
    "deep.jsonl": ("[" * 100000 + "\n", ":1: not JSON"),
    "empty.tmx": ("", "not XML"),
    "cut.tmx": (TMX[:300], "not XML"),
    "html.tmx": ("<html></html>", ":1: the root is <html>, not <tmx>"),
    "entity.tmx": ('<!DOCTYPE tmx [<!ENTITY a "b">]><tmx/>', "declares XML entities: refused"),
    "nolang.tmx": ("<tmx><body><tu><tuv><seg>a</seg></tuv></tu></body></tmx>", ":1: a <tuv> without xml:lang"),
    "badlang.tmx": (TMX.replace('"fr"', '"xx"'), "is not a registered language code"),
    "encoding.tmx": (TMX.replace("utf-8", "foo"), ":1: declares an encoding that cannot be read"),
    "gb2312.tmx": (TMX.replace("utf-8", "gb2312"), ":1: declares an encoding that cannot be read"),
    "digits.jsonl": ('{"en": "a", "fr": %s}\n' % ("9" * 5000), ":1: not JSON"),
    "digits.fr.conllu": (ROW.replace("\t0\t", "\t" + "9" * 5000 + "\t"), ":1: the head of 'a' is"),
    "manydigits.fr.conllu": (ROW.replace("1\t", "9" * 5000 + "\t", 1), ":1: word 999"),
    "nounits.tmx": ("<tmx><body/></tmx>", "holds no translation units"),
    "onelang.tmx": ('<tmx><tu><tuv xml:lang="en"><seg>a</seg></tuv></tu></tmx>', "no units with en"),
    "empty.fr.conllu": ("\n\n", "holds no sentences"),
    "columns.fr.conllu": ("1\ta\ta\n", ":1: 3 columns where CoNLL-U has 10"),
    "spaces.fr.conllu": (ROW.replace("\t", " "), ":1: 1 columns where CoNLL-U has 10"),
    "jump.fr.conllu": (ROW + ROW.replace("1\t", "3\t", 1), ":2: word 3 where word 2 was expected"),
    "head.fr.conllu": (ROW.replace("\t0\t", "\t_\t"), ":1: the head of 'a' is '_', not a number"),
    "range.fr.conllu": (ROW.replace("\t0\t", "\t7\t") + ROW.replace("1\t", "2\t", 1), ":1: head 7 in a sentence of 2"),
    "roots.fr.conllu": (ROW + ROW.replace("1\t", "2\t", 1), ":2: 2 roots where a tree has one"),
    "noroot.fr.conllu": (ROW.replace("\t0\t", "\t1\t"), ":1: 0 roots where a tree has one"),
    "cycle.fr.conllu": (
        ROW + ROW.replace("1\t", "2\t", 1).replace("\t0\t", "\t3\t") + ROW.replace("1\t", "3\t", 1).replace("\t0\t", "\t2\t"),
        ":2: word 2 is part of a cycle",
    ),
    "multi.fr.conllu": ("2-1\tab\t_\t_\t_\t_\t_\t_\t_\t_\n" + ROW, ":1: '2-1' is no range of words"),
    "version1.fr.conllu": (
        ROW + ROW.replace("1\t", "2\t", 1).replace("0\troot", "1\tdobj"),
        "Universal Dependencies version 1 (dobj (1))",
    ),
    "empty.fr.bio": ("\n", "holds no words"),
    "tag.fr.bio": ("a O\nb PER\n", ":2: 'PER' is not an entity tag"),
    "columns.fr.bio": ("a O\nb\n", ":2: 1 columns where 2 are needed"),
    "word.fr.bio": ("a\tO\n\tO\n", ":2: an empty word"),
    "label.fr.tsv": ("label\ttext\n\ta\n", ":2: the label is empty"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_malformed_files_get_one_line(file, name):
    content, expected = BAD[name]
    path = file(name, content)
    with pytest.raises(InterlinguaError) as caught:
        record = il.corpora.loading.own(path) if name.count(".") == 1 else il.corpora.loading.own(path, "fr")
        assert not record
    assert expected in str(caught.value)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_malformed_files_on_the_command_line(file, here, cli):
    """Every one of them, shown and checked: an error line, exit code 2 or 1, never a traceback, nothing written."""
    paths = {name: file(f"bad/{name}", content) for name, (content, _) in BAD.items()}
    # one of each format in a process of its own too
    apart = {name.rpartition(".")[2]: name for name in BAD}.values()
    for run, names in ((here, BAD), (cli, apart)):
        for name in names:
            shown = run("data", "show", paths[name], "--langs", "fr" if name.count(".") == 2 else "")
            checked = run("data", "check", paths[name])
            assert shown.returncode == 2, (name, shown.stdout, shown.stderr)
            assert shown.stderr.startswith("error: "), name
            assert len(shown.stderr.splitlines()) == 1, (name, shown.stderr)
            assert checked.returncode in (1, 2), (name, checked.stdout, checked.stderr)
            assert name in checked.stdout + checked.stderr, name
            assert "Traceback" not in checked.stderr + shown.stderr, name


@pytest.mark.parametrize(
    ("read", "files", "expected"),
    [
        (lambda p: il.dictionary(p[0], "en", "fr"), ["cat\n"], ":1: 1 columns where a pair of words was expected"),
        (lambda p: il.dictionary(p[0], "en", "fr"), ["a b c d\n"], ":1: 4 columns"),
        (lambda p: il.dictionary(p[0], "en", "fr"), ["a b 1.5\n"], ":1: 1.5 is no probability"),
        (lambda p: il.dictionary(p[0], "en", "fr"), ["a b nan\n"], ":1: nan is no probability"),
        (lambda p: il.dictionary(p[0], "en", "fr"), ["a b x\n"], ":1: 'x' is no probability"),
        (lambda p: il.dictionary(p[0], "en", "fr"), [""], "the file is empty"),
        (lambda p: aligned.read_lines({EN: p[0], FR: p[1]}), ["a\nb\n", "c\n"], ":2: en has 2 lines and fr has 1"),
        (lambda p: aligned.read_lines({EN: p[0], FR: p[1]}), ["a\n", ""], "the file is empty"),
        (lambda p: alignments.read_pharaoh(*p, EN, FR), ["a\n", "b\n", "0-1\n"], ":1: link 0-1 in a pair of 1 and 1"),
        (lambda p: alignments.read_pharaoh(*p, EN, FR), ["a\n", "b\n", "0:0\n"], ":1: '0:0' is no link"),
        (lambda p: alignments.read_pharaoh(*p, EN, FR), ["a\nc\n", "b\n", "0-0\n"], "1 lines where"),
        (lambda p: alignments.read_pharaoh(*p, EN, FR), ["a\n", "b\n", "0-0\n\n"], "2 lines where"),
        (lambda p: alignments.read_aligned_jsonl(p[0], EN, FR), ['{"src_words": "a"}\n'], ":1: 'src_words' must be"),
        (
            lambda p: alignments.read_aligned_jsonl(p[0], EN, FR),
            ['{"src_words": ["a"], "tgt_words": ["b"], "alignment": [[0]]}\n'],
            ":1: 'alignment' must be a list of pairs",
        ),
        (
            lambda p: alignments.read_aligned_jsonl(p[0], EN, FR),
            ['{"src_words": ["a"], "tgt_words": ["b"], "alignment": [[0, 1]]}\n'],
            ":1: link 0-1",
        ),
        (lambda p: aligned.read_squad({EN: p[0]}), ["{}"], "not SQuAD-style JSON: KeyError('data')"),
        (lambda p: aligned.read_squad({EN: p[0]}), ['{"data": 3}'], "not SQuAD-style JSON"),
        (lambda p: aligned.read_squad({EN: p[0]}), ['{"data": []}'], "holds no questions"),
        (lambda p: aligned.read_squad({EN: p[0]}), ["{"], "not JSON"),
        (
            lambda p: lexicon.read_concepts({EN: p[0], FR: p[1]}, EN, FR),
            ["a\n", "b\nc\n"],
            "en has 1 lines and fr has 2",
        ),
        (
            lambda p: labels.read_labelled(p[0], EN, {"text": 0}, 1, header=False, classes={"0": "no"}),
            ["a\t7\n"],
            ":1: label '7' is none of 0",
        ),
        (lambda p: aligned.read_columns(p[0], {EN: 0, FR: 1}), ["no delimiter\n"], "no tab and no ' ||| '"),
        (lambda p: aligned.read_columns(p[0], {EN: 0, FR: 5}), ["a\tb\n"], ":1: 2 columns: there is no column 6"),
        (lambda p: conllu.read_conllu(p[0], FR), ["x\ta\ta\tNOUN\t_\t_\t0\troot\t_\t_\n"], ":1: 'x' is no word number"),
        (lambda p: bio.read_tagged(p[0], EN, word=0, tag=3), ["a b c\n"], ":1: 3 columns where 4 are needed"),
    ],
)
def test_other_malformed_files(file, read, files, expected):
    paths = [file(f"f{i}", content) for i, content in enumerate(files)]
    with pytest.raises(InterlinguaError) as caught:
        read(paths)
    assert expected in str(caught.value)
    assert str(caught.value).startswith(str(paths[0].parent))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda d: il.parallel(d / "nothing"), DataNotFoundError, "does not exist"),
        (lambda d: il.parallel("no-such-name-or-file"), InputError, "unknown data set"),
        (lambda d: il.parallel(d), DataNotFoundError, "holds no files named by a language"),
        (lambda d: read_all(d), InputError, "is a folder where a file was expected"),
        (lambda d: il.parallel({"en": d / "missing.txt"}), DataNotFoundError, "missing.txt does not exist"),
        (lambda d: aligned.read_lines({}), InputError, "no files to read"),
        (lambda d: il.treebank(d / "x.conllu", "fr"), DataNotFoundError, "x.conllu does not exist"),
    ],
)
def test_paths_that_are_not_there(tmp_path, call, error, message):
    with pytest.raises(error, match=message):
        call(tmp_path)


def test_a_single_text_file_is_not_parallel_text(file):
    with pytest.raises(InputError, match="is one file of plain text: parallel text is a folder"):
        il.parallel(file("en.txt", "a\n"))


def test_files_that_do_not_say_their_language(file, tmp_path):
    from interlingua.corpora.own import files_by_language, language_of

    said = {
        "en.txt": "en", "a.fr.txt.gz": "fr", "x.de-en.en": "en", "x.deu-eng.deu": "de", "pt-BR.txt": "pt", "src.txt": "None",
        "eng_Latn.devtest": "en", "news.fr.bio": "fr", "news.fr.conllu": "fr", "news.fr.jsonl": "fr", "x.bio": "None",
        "run.sh": "None", "x.log": "None", "x.tar": "None", "x.bak": "None", "README.md": "None", "fr.txt~": "None",
        ".en.txt": "None", "id.txt": "id", "train.txt": "None", "dev.en": "en",
    }  # fmt: skip
    assert {name: str(language_of(tmp_path / name)) for name in said} == said
    with pytest.raises(InputError, match="does not say its language"):
        files_by_language([tmp_path / "train.txt"])
    with pytest.raises(InputError, match="are both en"):
        files_by_language([tmp_path / "en.txt", tmp_path / "eng.txt"])
    with pytest.raises(InputError, match="no file for de"):
        files_by_language([tmp_path / "en.txt"], (EN, DE))


def test_an_unreadable_file(file, monkeypatch):
    from pathlib import Path

    path = file("x.conllu", TREE)

    def refuse(self, *_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match="cannot be read: permission denied"):
        il.treebank(path, "fr")
