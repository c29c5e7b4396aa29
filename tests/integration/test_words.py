"""Words from their tokens: the word map on many scripts and tokenizers, vectors against naive ones, types, tables."""

import unicodedata
from collections import Counter

import numpy as np
import pytest
import tiny
import torch
import transformers as hf

import interlingua as il
from interlingua.corpora.segment import join, locate, segment
from interlingua.errors import InputError
from interlingua.extract import extract, open_store, tally
from interlingua.extract.words import Members, sentences, tokenise_words, weights
from interlingua.models.load import wrap
from interlingua.types import Language

EN = Language.parse("en")
ROWS = tuple(map(tuple, tiny.SCRIPTS.values()))
WORDS = il.TaggedCorpus(language=EN, words=ROWS, tags=None)
MARKS = "▁Ġ"


@pytest.fixture(scope="module", params=tiny.TOKENIZERS)
def model(request):
    tokenizer = tiny.TOKENIZERS[request.param]()
    return wrap(tiny.network("bert", len(tokenizer)), tokenizer, name=request.param)


@pytest.fixture(scope="module")
def bert():
    return wrap(tiny.network("bert"), tiny.tokenizer(), name="bert")


def naive_map(tokenizer, sentence):
    """For each word, the tokens that cover one of its characters, found by going through all characters."""
    encoded = tokenizer(sentence.text, return_offsets_mapping=True, return_special_tokens_mask=True)
    names = tokenizer.convert_ids_to_tokens(encoded["input_ids"])
    result = []
    for start, end in sentence.spans:
        own = [
            i
            for i, (a, b) in enumerate(encoded["offset_mapping"])
            if not encoded["special_tokens_mask"][i] and set(range(a, b)) & set(range(start, end))
        ]
        result.append([i for i in own if names[i].strip(MARKS)] or own)
    return result


def as_lists(members, rows):
    found = [[[] for _ in sentence.words] for sentence in rows]
    for s, w, p in zip(members.sentence, members.word, members.position, strict=True):
        found[s][w].append(int(p))
    return found


def test_the_word_map_equals_a_naive_one_on_every_script(model):
    rows = sentences(WORDS)[EN]
    _, members = tokenise_words(model, EN, rows)
    for script, sentence, found in zip(tiny.SCRIPTS, rows, as_lists(members, rows), strict=True):
        assert found == naive_map(model.tokenizer, sentence), script
        assert all(found), f"{script}: every word has a token"


def test_tokens_spell_their_words(model):
    """Independently of offsets: decoded, the tokens of a word contain it, but for what normalisation changes."""
    rows = sentences(WORDS)[EN]
    tokens, members = tokenise_words(model, EN, rows)

    def plain(text):
        letters = unicodedata.normalize("NFKD", text).lower()
        return "".join(c for c in letters if not unicodedata.category(c).startswith(("M", "Z", "C")))

    checked = 0
    for number, (sentence, found) in enumerate(zip(rows, as_lists(members, rows), strict=True)):
        ids = tokens.ids[tokens.starts[number] : tokens.starts[number + 1]]
        for word, positions in zip(sentence.words, found, strict=True):
            numbers = ids[positions].tolist()
            if model.tokenizer.unk_token_id in numbers:
                continue
            names = model.tokenizer.convert_ids_to_tokens(numbers)
            if model.name.startswith("byte-level"):
                decoder = {v: k for k, v in _bytes_to_unicode().items()}
                spelt = bytes(decoder[c] for c in "".join(names)).decode("utf-8", "ignore")
            else:
                spelt = "".join(name.removeprefix("##").replace("▁", " ") for name in names)
            assert plain(word) in plain(spelt), (word, names)
            checked += 1
    assert checked > 60


def _bytes_to_unicode():
    """The table by which byte-level tokenizers write bytes as characters (GPT-2)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in printable]
    return {**{b: chr(b) for b in printable}, **{b: chr(256 + i) for i, b in enumerate(rest)}}


def naive_vectors(model, sentence, how):
    """Vectors of the words of one sentence, from transformers' own hidden states: (layers, words, neurons)."""
    inputs = model.tokenizer(sentence.text, return_tensors="pt")
    inputs.pop("token_type_ids", None)
    with torch.no_grad():
        states = [h[0] for h in model.network(**inputs, output_hidden_states=True).hidden_states]
    pick = {"mean": lambda h: h.mean(0), "first": lambda h: h[0], "last": lambda h: h[-1]}[how]
    words = naive_map(model.tokenizer, sentence)
    return np.stack([np.stack([pick(h[own]).numpy() for own in words]) for h in states])


@pytest.mark.parametrize("how", ["mean", "first", "last"])
def test_word_vectors_equal_naive_ones(model, how):
    reps = extract(model, WORDS, level="word", join=how, budget=64, block=7)
    expected = np.concatenate([naive_vectors(model, s, how) for s in sentences(WORDS)[EN]], axis=1)
    np.testing.assert_allclose(reps["en"], expected, atol=1e-5)
    assert reps.words("en") == tuple(w for row in ROWS for w in row)
    assert [tuple(p) for p in reps.places("en")] == [(s, w) for s, row in enumerate(ROWS) for w in range(len(row))]
    assert len(reps.dropped("en")) == 0


@pytest.mark.parametrize("name", ["xlm-roberta", "gpt2", "llama", "modernbert"])
def test_word_vectors_of_other_families(name):
    tokenizer = tiny.byte_level()
    model = wrap(tiny.network(name, len(tokenizer)), tokenizer, name=name)
    reps = extract(model, WORDS, level="word", budget=100)
    expected = np.concatenate([naive_vectors(model, s, "mean") for s in sentences(WORDS)[EN]], axis=1)
    np.testing.assert_allclose(reps["en"], expected, atol=1e-5)


def test_a_tokenizer_without_offsets_is_given_one_word_after_another():
    tokenizer = hf.ByT5Tokenizer()
    model = wrap(tiny.network("mt5", len(tokenizer)), tokenizer, name="bytes")
    reps = extract(model, WORDS[:9], level="word", budget=100)
    assert reps.signature["word_map"] == {"en": "word by word"}
    row = 0
    for sentence in sentences(WORDS[:9])[EN]:
        # A byte a token, so the tokens of a word follow from the length of what is before it.
        ids = tokenizer(sentence.text).input_ids
        assert len(ids) == len(sentence.text.encode()) + 1
        with torch.no_grad():
            states = model.network.get_encoder()(torch.tensor([ids]), output_hidden_states=True).hidden_states
        for start, end in sentence.spans:
            a, b = (len(sentence.text[:i].encode()) for i in (start, end))
            for layer, h in enumerate(states):
                np.testing.assert_allclose(reps["en", layer][row], h[0, a:b].mean(0).numpy(), atol=1e-5)
            row += 1


def test_a_letter_that_looks_like_a_mark_for_a_space_is_a_letter():
    """Maltese writes Ġ: only byte-level tokenizers mean a space by it."""
    tokenizer = tiny.unigram()
    tokenizer.add_tokens(["Ġ"])
    model = wrap(tiny.network("bert", len(tokenizer)), tokenizer, name="unigram")
    rows = sentences(il.TaggedCorpus(language=Language.parse("mt"), words=(("Ġor",),), tags=None))[Language.parse("mt")]
    tokens, members = tokenise_words(model, Language.parse("mt"), rows)
    names = tokenizer.convert_ids_to_tokens(tokens.ids[members.position].tolist())
    assert "Ġ" in names


def test_words_the_tokenizer_drops_are_reported():
    tokenizer = tiny.wordpiece()
    model = wrap(tiny.network("bert", len(tokenizer)), tokenizer, name="wordpiece")
    corpus = il.TaggedCorpus(language=EN, words=(("the", "\x07", "touch"), ("\x07",), ("the",)), tags=None)
    reps = extract(model, corpus, level="word")
    assert reps.words("en") == ("the", "touch", "the")
    assert reps.places("en").tolist() == [[0, 0], [0, 2], [2, 0]]
    assert reps.dropped("en").tolist() == [[0, 1], [1, 0]]
    with pytest.raises(InputError, match="en: no word has a vector"):
        extract(model, corpus[1:2], level="word")


@pytest.mark.parametrize("make", [tiny.wordpiece, hf.ByT5Tokenizer])
def test_words_that_are_cut_off_are_reported(make):
    tokenizer = make()
    network = tiny.network("bert" if tokenizer.is_fast else "mt5", len(tokenizer))
    tokenizer.model_max_length = 8
    model = wrap(network, tokenizer, name="short")
    corpus = il.TaggedCorpus(language=EN, words=(("touch", "the", "touch", "the"),), tags=None)
    with pytest.raises(InputError, match=r"en: 1 sentence \(row 1\) is longer than the 8 tokens short takes"):
        extract(model, corpus, level="word")
    reps = extract(model, corpus, level="word", truncate=True)
    # Six or seven tokens are left: the word that is cut in two has no vector, nor have those behind it.
    kept = len(reps.words("en"))
    assert 1 <= kept <= 2
    assert reps.dropped("en").tolist() == [[0, i] for i in range(kept, 4)]


def test_treebank_words_are_found_in_the_text(bert):
    trees = il.treebank("everyday-trees", "fr")
    reps = extract(bert, trees, level="word")
    assert reps.words("fr") == tuple(w for tree in trees.trees for w in tree.words)
    for number, (sentence, tree) in enumerate(zip(sentences(trees)[trees.language], trees.trees, strict=True)):
        assert sentence.text == tree.text
        inside = {i for m in tree.multiwords for i in range(m.start, m.end)}
        for i, (word, (a, b)) in enumerate(zip(tree.words, sentence.spans, strict=True)):
            assert i in inside or sentence.text[a:b].replace("\xa0", " ") == word.replace("\xa0", " ")
        for m in tree.multiwords:
            rows = [list(map(list, reps.places("fr"))).index([number, i]) for i in range(m.start, m.end)]
            assert {sentence.spans[i] for i in range(m.start, m.end)} == {sentence.spans[m.start]}
            np.testing.assert_array_equal(reps["fr", 2][rows[0]], reps["fr", 2][rows[1]])


def test_records_of_several_kinds(bert):
    parallel = il.parallel("everyday", "en", "zh")[:5]
    reps = extract(bert, parallel, level="word")
    assert reps.words("zh")[:3] == tuple(parallel["zh"][0][:3])
    bitext = il.Bitext(source=EN, target=Language.parse("fr"), source_words=(("a", "b"),), target_words=(("c",),))
    reps = extract(bert, bitext, level="word")
    assert (reps.words("en"), reps.words("fr")) == (("a", "b"), ("c",))
    lines = il.TextCorpus(language=EN, lines=("One line.", "", "Another one"))
    reps = extract(bert, [lines, il.tagged("everyday-ner", "fr")[:3]], level="word")
    assert reps.words("en") == ("One", "line", ".", "Another", "one")
    assert reps["fr", 0].shape == (sum(map(len, il.tagged("everyday-ner", "fr")[:3].words)), 16)
    with pytest.raises(InputError, match="en is there twice"):
        extract(bert, [lines, lines], level="word")
    with pytest.raises(InputError, match="no words can be read from <LabelledCorpus"):
        extract(bert, il.labelled("everyday-nli", "en"), level="word")
    with pytest.raises(InputError, match="are no parallel text"):
        extract(bert, lines)


def test_a_store_of_words_gives_back_what_was_extracted(bert, tmp_path):
    corpus = il.parallel("everyday", "en", "ar")[:40]
    held = extract(bert, corpus, level="word", block=50)
    extract(bert, corpus, level="word", block=50, out=tmp_path / "w")
    opened = open_store(tmp_path / "w")
    assert repr(opened).startswith("<WordRepresentations word level, 4 layers, en ")
    for lang in ("en", "ar"):
        np.testing.assert_array_equal(opened[lang], held[lang])
        np.testing.assert_array_equal(opened.places(lang), held.places(lang))
        assert opened.words(lang) == held.words(lang)


class TestTypes:
    CORPUS = il.parallel("everyday", "en", "zh")[:60]

    def expected(self, model, lang, least=1, most=10**9):
        words = extract(model, self.CORPUS, level="word")
        occurrences = {}
        for i, word in enumerate(words.words(lang)):
            occurrences.setdefault(word, []).append(i)
        chosen = {w: rows for w, rows in occurrences.items() if least <= len(rows) <= most}
        means = np.stack([words[lang][:, rows].astype(np.float64).mean(1) for rows in chosen.values()], axis=1)
        return chosen, means

    @pytest.mark.parametrize(("least", "most"), [(1, None), (3, None), (2, 5)])
    def test_a_type_is_the_mean_over_its_contexts(self, bert, least, most):
        reps = extract(bert, self.CORPUS, level="type", min_count=least, max_count=most, block=33)
        for lang in ("en", "zh"):
            chosen, means = self.expected(bert, lang, least, most or 10**9)
            assert reps.words(lang) == tuple(chosen)
            assert reps.counts(lang).tolist() == list(map(len, chosen.values()))
            np.testing.assert_allclose(reps[lang], means, atol=1e-6)
        with pytest.raises(InputError, match="a word type has no place"):
            reps.places("en")

    def test_word_level_takes_the_same_filter(self, bert):
        reps = extract(bert, self.CORPUS, level="word", min_count=2, max_count=5)
        chosen, _ = self.expected(bert, "en", 2, 5)
        assert set(reps.words("en")) == set(chosen)
        assert reps.counts("en").sum() == sum(map(len, chosen.values()))

    def test_a_run_that_breaks_off_goes_on_from_what_was_saved(self, bert, tmp_path, monkeypatch):
        monkeypatch.setattr(tally, "SAVE_EVERY", 0.0)
        extract(bert, self.CORPUS, level="type", block=40, out=tmp_path / "whole")

        def stop(done, total):
            if done > total / 3:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            extract(bert, self.CORPUS, level="type", block=40, out=tmp_path / "broken", progress=stop)
        assert len(list((tmp_path / "broken").glob("tally.*.npy"))) == 1
        seen = []
        extract(
            bert, self.CORPUS, level="type", block=40, out=tmp_path / "broken", progress=lambda d, _t: seen.append(d)
        )
        assert seen[0] > 0
        files = {
            name: {
                str(p.relative_to(tmp_path / name)): p.read_bytes() for p in (tmp_path / name).rglob("*") if p.is_file()
            }
            for name in ("whole", "broken")
        }
        assert files["whole"] == files["broken"]
        np.testing.assert_array_equal(
            open_store(tmp_path / "broken")["zh"], extract(bert, self.CORPUS, level="type", block=40)["zh"]
        )

    @pytest.mark.parametrize("damage", ["flip", "cut"])
    def test_a_damaged_saving_is_added_up_anew(self, bert, tmp_path, monkeypatch, damage):
        monkeypatch.setattr(tally, "SAVE_EVERY", 0.0)
        whole = extract(bert, self.CORPUS, level="type", block=40)

        def stop(done, total):
            if done > total / 3:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            extract(bert, self.CORPUS, level="type", block=40, out=tmp_path / "r", progress=stop)
        saved = next((tmp_path / "r").glob("tally.*.npy"))
        data = bytearray(saved.read_bytes())
        data[-9] ^= 64
        saved.write_bytes(bytes(data) if damage == "flip" else bytes(data[:-5]))
        extract(bert, self.CORPUS, level="type", block=40, out=tmp_path / "r")
        np.testing.assert_array_equal(open_store(tmp_path / "r")["en"], whole["en"])
        assert not list((tmp_path / "r").glob("tally.*"))

    def test_no_word_is_left(self, bert):
        with pytest.raises(InputError, match="en: no word occurs 10000 times: lower min_count"):
            extract(bert, self.CORPUS, level="type", min_count=10_000)


class TestTable:
    def test_vectors_are_means_of_rows_of_the_table(self, bert, tmp_path):
        dictionary = il.dictionary("everyday-words", "en", "ar")[:50]
        reps = extract(bert, dictionary, level="table")
        table = bert.network.embeddings.word_embeddings.weight.detach().numpy()
        assert reps["en"].shape == (1, 50, 16)
        for lang, words in (("en", dictionary.words), ("ar", [t.word for row in dictionary.translations for t in row])):
            assert reps.words(lang) == tuple(dict.fromkeys(words))
            for row, word in enumerate(reps.words(lang)):
                ids = bert.tokenizer(word, add_special_tokens=False).input_ids
                names = bert.tokenizer.convert_ids_to_tokens(ids)
                own = [i for i, name in zip(ids, names, strict=True) if name.strip(MARKS)]
                np.testing.assert_allclose(reps[lang, 0][row], table[own].mean(0), atol=1e-6)
        extract(bert, dictionary, level="table", out=tmp_path / "t")
        np.testing.assert_array_equal(open_store(tmp_path / "t")["ar"], reps["ar"])

    def test_only_words_of_one_token(self, bert):
        reps = extract(bert, il.parallel("everyday", "en"), level="table", single=True, min_count=2)
        assert len(reps.words("en")) > 10
        assert all(len(bert.tokenizer(w, add_special_tokens=False).input_ids) <= 2 for w in reps.words("en"))
        assert min(reps.counts("en")) >= 2
        assert len(reps.dropped("en")) == 0

    def test_a_decoder_has_a_table_of_its_own(self):
        config = tiny.FAMILIES["marian"][0](400)
        config.share_encoder_decoder_embeddings = False
        config.tie_word_embeddings = False
        config.decoder_vocab_size = 400
        torch.manual_seed(0)
        network = hf.MarianModel(config).eval()
        model = wrap(network, tiny.tokenizer(), name="marian", stack="decoder")
        reps = extract(model, il.parallel("everyday", "en")[:3], level="table", single=True)
        ids = model.tokenizer(reps.words("en")[0], add_special_tokens=False).input_ids
        names = model.tokenizer.convert_ids_to_tokens(ids)
        own = [i for i, name in zip(ids, names, strict=True) if name.strip(MARKS)]
        table = network.decoder.embed_tokens.weight.detach().numpy()
        np.testing.assert_allclose(reps["en", 0][0], table[own].mean(0), atol=1e-6)


class TestSegment:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("Don't pay 3.14, no!", ["Don't", "pay", "3.14", ",", "no", "!"]),
            ("我爱北京iPhone", ["我", "爱", "北", "京", "iPhone"]),
            ("สวัสดีครับ ไทย", ["สวัสดีครับ", "ไทย"]),
            ("a 👩‍👩‍👧 🇫🇷", ["a", "👩‍👩‍👧", "🇫🇷"]),
            ("cafe\u0301 नमस्ते दुनिया", ["cafe\u0301", "नमस्ते", "दुनिया"]),
            ("مرحبا، بالعالم", ["مرحبا", "،", "بالعالم"]),
            ("  ", []),
            ("", []),
        ],
    )
    def test_words_of_running_text(self, text, words):
        assert [text[a:b] for a, b in segment(text)] == words

    def test_joining_puts_spaces_where_the_script_has_them(self):
        assert join(("Hello", ",", "world")) == ("Hello , world", ((0, 5), (6, 7), (8, 13)))
        assert join(("我", "爱", "iPhone", "X", "。"))[0] == "我爱iPhone X 。"
        assert join(("ภาษา", "ไทย"))[0] == "ภาษาไทย"

    def test_words_are_located_only_where_they_are_all_there_is(self):
        assert locate(("a", "b"), "a  b") == ((0, 1), (3, 4))
        assert locate(("a", "c"), "a b c") is None
        assert locate(("a", "x"), "a b") is None
        assert locate(("a",), "a b") is None
        assert locate(("60 000", "m"), "60\u202f000m") == ((0, 6), (6, 7))


def test_weights_of_tokens():
    members = Members(np.array([0, 0, 0, 1]), np.array([0, 0, 2, 0]), np.array([1, 2, 3, 1]))
    assert weights(members, "mean").tolist() == [0.5, 0.5, 1, 1]
    assert weights(members, "first").tolist() == [1, 0, 1, 1]
    assert weights(members, "last").tolist() == [0, 1, 1, 1]


def test_at_most_so_many_occurrences_of_a_word_are_kept(bert):
    rows = [("the", "dog", "and", "the", "cat"), ("the", "dog"), ("the", "end", "the")]
    text = il.TaggedCorpus(language=EN, words=tuple(rows), tags=None)
    every = extract(bert, text, level="word")
    some = extract(bert, text, level="word", keep=2, seed=3)
    assert Counter(some.words("en")) == {"the": 2, "dog": 2, "and": 1, "cat": 1, "end": 1}
    where = {tuple(place): i for i, place in enumerate(every.places("en").tolist())}
    chosen = [where[tuple(place)] for place in some.places("en").tolist()]
    assert chosen == sorted(chosen)
    np.testing.assert_allclose(some["en", 1], every["en", 1][chosen], atol=1e-5)
    again, other = (extract(bert, text, level="word", keep=2, seed=seed) for seed in (3, 4))
    assert again.places("en").tolist() == some.places("en").tolist()
    assert some.signature != other.signature
    assert "keep" not in every.signature
    with pytest.raises(InputError, match="at least 1"):
        extract(bert, text, level="word", keep=0)
    with pytest.raises(InputError, match="keep is for level word"):
        extract(bert, text, level="type", keep=2)
