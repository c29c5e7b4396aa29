"""Names become records: a small data root made here stands for the public one, kind by kind."""

import lzma

import pytest

import interlingua as il
from interlingua.corpora import load
from interlingua.errors import FormatError, InputError

TREE = "# sent_id = s{0}\n# text = It rains {0}\n1\tIt\tit\tPRON\t_\t_\t2\tnsubj\t_\t_\n2\train{1}\train\tVERB\t_\t_\t0\troot\t_\t_\n\n"
FILES = {
    "ntrex128/NOTICE.txt": "not a language\n",
    "ntrex128/eng.txt": "one\r\ntwo\r\n",
    "ntrex128/fra.txt.xz": "un\ndeux\n",
    "ntrex128/zho-TW.txt": "一\n二\n",
    "ntrex128/gsw-BE.txt": "eis\nzwöi\n",
    "ntrex128/gsw-ZH.txt": "eis\nzwei\n",
    "tatoeba/fra-eng.fra.txt": "un\n",
    "tatoeba/fra-eng.eng.txt": "one\n",
    "tatoeba_challenge/eng-zho.test.tsv": "eng\tcmn_Hans\ta\t一\neng\tyue\tb\t二\n",
    "quran/en.txt": "verse\n",
    "quran/ar.txt": "آية\n",
    "quran/ids.txt": "1:1\n",
    "xnli/xnli.test.en.tsv": "gold_label\tpremise\thypothesis\nneutral\ta\tb\nentailment\ta\tc\n",
    "xnli/xnli.test.fr.tsv": "gold_label\tpremise\thypothesis\nneutral\tà\tb\nentailment\tà\tc\n",
    "pawsx/pawsx.dev.de.tsv": "a\tb\t1\n",
    "pawsx/pawsx.test.de.tsv": "a\tb\n",
    "panx/de/dev.tsv": "Berlin\tB-LOC\nruft\tO\n",
    "uner/UNER_English-EWT/en_ewt-ud-test.iob2": "1\tEU\tB-ORG\t-\tx\n",
    "uner/UNER_English-PUD/en_pud-ud-test.iob2": "1\tUN\tB-ORG\t-\tx\n",
    "ud/UD_English-PUD/en_pud-ud-test.conllu": TREE.format(1, "s"),
    "ud/UD_English-EWT/en_ewt-ud-test.conllu": TREE.format(2, "ed"),
    "ud/UD_German-PUD/de_pud-ud-test.conllu": TREE.format(1, "t"),
    "ud/UD_Chinese-GSD/zh_gsd-ud1.x-train.conllu": TREE.format(1, "t").replace("nsubj", "nsubjpass"),
    "muse/en-fr.5000-6500.txt": "cat chat\n",
    "muse/en-fr.0-5000.txt": "dog chien\n",
    "muse/en-fr.txt": "cat chat\ndog chien\n",
    "word_alignment/en-fr/hansards.valid.jsonl": '{"src_words": ["a"], "tgt_words": ["b"], "alignment": [[0, 0], [0, 9]]}\n',
    "word_alignment/en-fr/fr_golden.valid.jsonl": '{"src_words": ["a"], "tgt_words": ["b"], "alignment": []}\n',
    "word_alignment/xl-wa/en-et.test.tsv": "a\tb\t0-0\n",
    "mono/fr/europarl.txt": "un\n\ndeux\n",
    "mono/fr/mdn.txt.xz": "trois\n",
    "umsab_sentiment/portuguese.test.tsv": "label\ttext\n2\tbom\tstray\n",
    "narabizi/pos/test_NArabizi.conllu": "# sent_id = 1\n" + "1\tvive\t_\t_\t_\tINTJ\t_\t_\t0\troot\t_\t_\n\n" + "7\tx\t_\t_\t_\tX\t_\t_\t0\troot\t_\t_\n\n",
}  # fmt: skip


@pytest.fixture
def root(tmp_path, monkeypatch):
    for name, content in FILES.items():
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lzma.compress(content.encode()) if name.endswith(".xz") else content.encode())
    monkeypatch.setenv("INTERLINGUA_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("INTERLINGUA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "data"


def test_n_way_text(root):
    assert load("ntrex", "en", "fr")["fr"] == ("un", "deux")
    assert load("ntrex128", "en")["en"] == ("one", "two")
    everything = load("ntrex")
    assert [str(lang) for lang in everything.langs] == ["en", "fr", "gsw", "zh-Hant"]
    assert load("quran", "ar", "en").ids == ("1:1",)


def test_a_language_without_a_script_finds_the_one_there_is(root):
    assert [str(lang) for lang in load("ntrex", "zh", "en").langs] == ["zh-Hant", "en"]
    with pytest.raises(InputError, match="unknown language in ntrex 'zh-Hans'"):
        load("ntrex", "zh-Hans")


def test_regions(root):
    assert load("ntrex", "gsw-ZH")["gsw"][1] == "zwei"
    with pytest.raises(InputError, match="say gsw-BE or gsw-ZH"):
        load("ntrex", "gsw")


def test_pairs(root):
    assert load("tatoeba", "en", "fr").langs == load("tatoeba", "eng", "fra").langs
    assert load("tatoeba")["fr"] == ("un",)
    assert load("tatoeba_challenge", "zh", "en")["zh"] == ("一",)
    with pytest.raises(InputError, match="comes in pairs of languages: ask for two of fr-en"):
        load("tatoeba", "fr", "en", "de")
    with pytest.raises(InputError, match="unknown pair in tatoeba 'fr-de'"):
        load("tatoeba", "fr", "de")


def test_labelled(root):
    record = il.labelled("xnli", "fr")
    assert record.labels == ("neutral", "entailment")
    assert il.labelled("pawsx", "de").labels == ("paraphrase",)
    assert il.labelled("pawsx", "de", split="test").labels is None
    assert il.labelled("umsab", "pt").texts == (("bom",),)
    assert len(il.parallel("xnli", "en", "fr")) == 1
    assert il.parallel("xnli", "en", "fr").hash == il.parallel("xnli", "fr", "en").hash
    with pytest.raises(InputError, match="say which languages, at least two"):
        il.parallel("xnli", "en")
    with pytest.raises(InputError, match="unknown split of xnli 'dev'"):
        load("xnli", "fr", split="dev")


def test_tagged_and_trees(root):
    assert il.tagged("panx", "de").spans(0) == (("LOC", 0, 1),)
    with pytest.raises(InputError, match="say uner/en_ewt or uner/en_pud"):
        load("uner", "en")
    assert load("uner/en_pud", "en").words[0] == ("UN",)
    assert load("ud/en_ewt", "en").name == "ud/en_ewt:test"
    assert load("ud/en_ewt:test", "en").hash == load("ud/en_ewt", "en").hash
    assert load("ud/UD_English-EWT", "en").trees[0].words == ("It", "rained")
    assert load("ud/ewt").ids == ("s2",)
    assert il.tagged("ud/en_pud", "en").tags[0] == ("PRON", "VERB")
    assert il.parallel("ud/pud", "en", "de")["de"] == ("It rains 1",)
    with pytest.raises(FormatError, match="version 1"):
        load("ud/zh_gsd", "zh", split="train")
    with pytest.raises(InputError, match="unknown part of ud 'en_gum'"):
        load("ud/en_gum", "en")
    assert "1 sentences are no trees" in load("narabizi").notes[0]
    assert str(load("narabizi").language) == "arq-Latn"


def test_dictionaries_and_alignments(root):
    assert il.dictionary("muse", "en", "fr").words == ("cat",)
    assert il.dictionary("muse", "en", "fr", split="train").words == ("dog",)
    assert len(il.dictionary("muse", "en", "fr", split="full")) == 2
    back = il.dictionary("muse", "fr", "en")
    assert back.lookup("chat") == ("cat",)
    assert back.notes == ("inverted: the file is en-fr",)
    with pytest.raises(InputError, match="say word_alignment/fr_golden or word_alignment/hansards"):
        il.bitext("word_alignment", "en", "fr")
    hansards = il.bitext("word_alignment/hansards", "en", "fr")
    assert hansards.sure == (frozenset({(0, 0)}),)
    assert "1 links in 1 sentences point outside" in hansards.notes[0]
    assert il.bitext("xl_wa", "en", "et").source_words == (("a",),)
    with pytest.raises(InputError, match="unknown pair"):
        il.bitext("xl_wa", "et", "en")


def test_text(root):
    assert list(il.text("mono", "fr")) == ["un", "deux", "trois"]
    assert list(il.text("mono/mdn", "fr")) == ["trois"]
    with pytest.raises(InputError, match="unknown language in mono 'de'"):
        il.text("mono", "de")


def test_kinds_are_not_confused(root):
    for read, wanted in (
        (lambda: il.treebank("xnli", "fr"), "not a treebank"),
        (lambda: il.parallel("muse", "en", "fr"), "not parallel text"),
        (lambda: il.dictionary("tatoeba", "en", "fr"), "not a dictionary"),
        (lambda: il.labelled("panx", "de"), "not labelled sentences"),
        (lambda: il.tagged("xnli", "fr"), "not tagged words"),
        (lambda: il.bitext("muse", "en", "fr"), "not word alignments"),
        (lambda: il.text("panx", "de"), "not plain text"),
    ):
        with pytest.raises(InputError, match=wanted):
            read()
