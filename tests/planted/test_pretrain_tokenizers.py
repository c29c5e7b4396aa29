"""Are anchors exactly those that each kind of vocabulary promises, and does a vocabulary come back as it was saved?"""

import json
import re
import unicodedata

import numpy as np
import pytest

import interlingua
from interlingua.errors import DataNotFoundError, FormatError, InputError, UnknownNameError
from interlingua.pretrain import subwords
from interlingua.pretrain import tokenizers as made
from interlingua.pretrain.subwords import LEARN, LONGEST, SPECIAL
from interlingua.pretrain.tokenizers import open_vocabulary, overlap, save, train

EVERYDAY = interlingua.parallel("everyday", "en", "fr", "zh")


def everyday(*langs):
    return {lang: (lambda lang=lang: EVERYDAY[lang]) for lang in langs}


def repeated(**sentences):
    return {lang: (lambda text=text: [text] * 10) for lang, text in sentences.items()}


def merges_of(tokenizer):
    return json.loads(tokenizer.to_str())["model"]["merges"]


def strings(vocabulary, lang):
    return {vocabulary.tokens[i] for i in vocabulary.words(lang)}


def test_two_merges_by_hand():
    found = train(repeated(x="ab ab abc"), kind="joint", merges=2)
    assert found.tokens == (*SPECIAL, "a", "b", "c", "▁", "ab", "▁ab")
    assert found.encode("x", ["abc  ab", "cab", ""]) == [[10, 7, 10], [8, 7, 9], []]
    assert (found.joint, found.size, found.merges, found.special) == (True, 11, 2, 5)


def test_prefixed_shares_the_special_tokens_and_nothing_else():
    found = train(everyday("en", "fr"), kind="prefixed", merges=600, sentinels=3)
    en, fr = found.words("en"), found.words("fr")
    assert found.tokens[:8] == (*SPECIAL, "<extra_0>", "<extra_1>", "<extra_2>")
    assert not set(en) & set(fr)
    np.testing.assert_array_equal(np.sort(np.concatenate([en, fr])), np.arange(8, found.size))
    assert all(token.startswith("en:") for token in strings(found, "en"))
    assert "fr:▁le" in strings(found, "fr")
    assert len(set(found.tokens)) == found.size
    whole = [set(found.of(lang).get_vocab().values()) for lang in ("en", "fr")]
    assert whole[0] & whole[1] == set(range(8))


def test_separate_shares_exactly_the_strings_both_learn():
    found = train(everyday("en", "fr"), kind="separate", merges=600)
    alone = {lang: train(everyday(lang), kind="joint", merges=300) for lang in ("en", "fr")}
    for lang, one in alone.items():
        assert strings(found, lang) == set(one.tokens[5:])
        # the same pieces as alone, under other numbers
        names = [[found.tokens[i] for i in ids] for ids in found.encode(lang, EVERYDAY[lang])]
        assert names == [[one.tokens[i] for i in ids] for ids in one.encode(lang, EVERYDAY[lang])]
    shared = set(alone["en"].tokens[5:]) & set(alone["fr"].tokens[5:])
    both = set(found.words("en")) & set(found.words("fr"))
    assert {found.tokens[i] for i in both} == shared
    assert 20 < len(shared) < 300
    assert found.size == 5 + len(set(alone["en"].tokens[5:]) | set(alone["fr"].tokens[5:]))


@pytest.mark.parametrize("merges", [600, 601])
def test_joint_merges_are_the_sum_of_separate_ones(merges):
    joint, separate = (train(everyday("en", "fr"), kind=kind, merges=merges) for kind in ("joint", "separate"))
    assert joint.merges == separate.merges == merges
    assert joint.of("en") is joint.of("fr")
    assert len(merges_of(joint.of("en"))) == merges
    assert [len(merges_of(separate.of(lang))) for lang in ("en", "fr")] == [merges - merges // 2, merges // 2]


def test_no_more_merges_than_the_text_holds():
    found = train(repeated(x="sun moon", y="star"), kind="separate", merges=1000)
    # three, four and four merges make `▁sun`, `▁moon` and `▁star` whole
    assert found.merges == 11


@pytest.mark.parametrize("kind", made.KINDS)
def test_bpe_is_the_same_every_time(kind):
    first, second = (train(everyday("en", "zh"), kind=kind, merges=400) for _ in range(2))
    assert first.tokens == second.tokens
    assert [t.to_str() for t in first.tokenizers.values()] == [t.to_str() for t in second.tokenizers.values()]


@pytest.mark.parametrize("model", sorted(LEARN))
@pytest.mark.parametrize("kind", made.KINDS)
def test_saved_and_opened_gives_the_same_ids(kind, model, tmp_path):
    from transformers import AutoTokenizer

    langs = ("en", "zh")
    found = train(everyday(*langs), kind=kind, merges=4000, model=model, sentinels=2)
    save(found, tmp_path, model_max_length=77)
    back = open_vocabulary(tmp_path)
    assert (back.kind, back.tokens, back.merges, back.sentinels) == (kind, found.tokens, found.merges, 2)
    assert list(back.tokenizers) == list(langs)
    assert (back.of("en") is back.of("zh")) == found.joint == back.joint
    for lang in langs:
        ids = found.encode(lang, EVERYDAY[lang])
        assert back.encode(lang, EVERYDAY[lang]) == ids
        assert set().union(*ids) <= set(found.words(lang))
        np.testing.assert_array_equal(back.words(lang), found.words(lang))
        plain = AutoTokenizer.from_pretrained(tmp_path if found.joint else tmp_path / "tokenizers" / lang)
        assert plain(list(EVERYDAY[lang]))["input_ids"] == [[0, *row, 2] for row in ids]
        assert plain.model_max_length == 77
        assert [plain.bos_token_id, plain.pad_token_id, plain.eos_token_id, plain.unk_token_id] == [0, 1, 2, 3]
        assert [plain.cls_token_id, plain.sep_token_id, plain.mask_token_id] == [0, 2, 4]
        assert plain.convert_tokens_to_ids("<extra_1>") == 6
        assert plain("<mask><extra_0>", add_special_tokens=False)["input_ids"] == [4, 5]
    # the first language's stands in the folder itself
    assert (
        AutoTokenizer.from_pretrained(tmp_path)(EVERYDAY["en"][0])["input_ids"][1:-1]
        == found.encode("en", EVERYDAY["en"][:1])[0]
    )


@pytest.mark.parametrize("model", sorted(LEARN))
def test_decoding_gives_the_text_back_up_to_normalisation(model):
    found = train(everyday("en", "zh"), kind="joint", merges=3000, model=model)
    for lang in ("en", "zh"):
        texts = [unicodedata.normalize("NFKC", text) for text in EVERYDAY[lang]]
        ids = found.encode(lang, EVERYDAY[lang])
        assert found.of(lang).decode_batch(ids) == texts
    ids = found.encode("zh", [" 我 用\u3000the\t\u2581 phone。 "])
    assert found.of("zh").decode_batch(ids) == ["我 用 the phone。"]


def test_no_piece_joins_what_is_kept_apart():
    found = train(everyday("en", "zh"), kind="joint", merges=3000)
    pieces = [token.removeprefix("▁") for token in found.tokens[5:]]
    assert max(map(len, pieces)) < LONGEST
    assert [p for p in pieces if len(p) > 1 and any(unicodedata.category(c)[0] in "NPS" for c in p)] == []
    assert [p for p in pieces if re.search(r"[a-z]", p) and re.search(r"[\u4e00-\u9fff]", p)] == []
    # some words of several characters are learned, and no whole sentence is
    assert {"我们", "▁我", "▁the"} <= set(found.tokens)
    assert not {unicodedata.normalize("NFKC", s).rstrip(".。") for s in EVERYDAY["zh"]} & set(pieces)


def test_unknown_characters_and_special_tokens_in_the_text():
    found = train(repeated(x="ab ab", y="cd"), kind="separate", merges=8)
    whole = found.tokens.index("▁ab")
    # a run of unknown characters is one unknown token; the other language's letters are unknown
    assert found.encode("x", ["ab cd", "ab<s>"]) == [[whole, found.tokens.index("▁"), 3], [whole, 3, 3, 3]]
    assert SPECIAL[3] == "<unk>"


def test_rare_characters_are_left_out_by_each_languages_own_text():
    texts = {"x": lambda: ["a" * 999 + "é"], "y": lambda: ["é" * 10], "z": lambda: ["a" * 998 + "öö"]}
    assert set("aéö") <= set(train(texts, kind="joint", merges=3).tokens)
    found = train(texts, kind="joint", merges=3, coverage=0.998)
    assert "é" in found.tokens
    assert "ö" not in found.tokens
    assert "é" not in train({"x": texts["x"]}, kind="joint", merges=3, coverage=0.998).tokens
    assert "ö" in train({"z": texts["z"]}, kind="joint", merges=3, coverage=0.9985).tokens


@pytest.mark.parametrize("kind", ["joint", "separate", "prefixed"])
def test_overlap_by_hand(kind):
    found = train(repeated(x="sun moon sun", y="moon star"), kind=kind, merges=1000)
    texts = {"x": lambda: ["sun moon sun", "sun"], "y": lambda: ["moon star ☃"]}
    (row,) = overlap(found, texts)
    shared = kind != "prefixed"
    # the space before the snowman is a token of y, which x does not use
    assert row == {
        "left": "x", "right": "y", "shared_types": int(shared), "left_types": 2, "right_types": 3,
        "left_tokens": 4, "right_tokens": 3, "left_shared": 0.25 * shared, "right_shared": shared / 3,
    }  # fmt: skip
    assert overlap(found, {"x": lambda: ["sun"], "y": lambda: []})[0]["right_shared"] is None


def test_more_is_shared_the_more_is_learned_together():
    shares = {}
    for kind in made.KINDS:
        (row,) = overlap(train(everyday("en", "fr"), kind=kind, merges=1000), everyday("en", "fr"))
        shares[kind] = row["left_shared"]
    assert shares["joint"] > shares["separate"] > shares["prefixed"] == 0


def test_the_fast_normaliser_is_the_tokenizers_own():
    found = train(everyday("en"), kind="joint", merges=10).of("en")
    odd = [
        "ﬁne … ① ｆｕｌｌ",
        "a\x00b\x85c\u200bd\ufeffe",
        " e\u0301\u00a0x\u3000 y ",
        "می\u200cخواهم",
        "▁▁",
        "",
        "\r\n",
    ]
    for text in [*odd, *EVERYDAY["fr"], *EVERYDAY["zh"]]:
        assert subwords._clean(text) == found.normalizer.normalize_str(text)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": "joined"}, "did you mean joint"),
        ({"model": "wordpiece"}, "there are bpe, unigram"),
        ({"merges": 1}, "1 merges for 2 languages"),
        ({"sentinels": -1}, "sentinels is -1"),
        ({"coverage": 0.0}, "coverage is 0.0"),
        ({"model": "unigram", "merges": 4}, "characters alone need as many"),
    ],
)
def test_what_cannot_be_learned_is_refused(change, says):
    with pytest.raises(InputError, match=says):
        train(repeated(x="sun moon", y="star"), **({"kind": "joint", "merges": 10} | change))


def test_texts_that_cannot_be_used_are_refused():
    with pytest.raises(InputError, match="no texts"):
        train({}, kind="joint", merges=10)
    with pytest.raises(InputError, match="the text of y is empty"):
        train(repeated(x="sun", y=" \n"), kind="joint", merges=10)
    with pytest.raises(InputError, match="'../x' cannot name"):
        train({"../x": lambda: ["sun"]}, kind="joint", merges=10)


def test_a_language_that_is_not_there_and_a_folder_that_is_not_one(tmp_path):
    found = train(repeated(en="sun", fr="soleil"), kind="separate", merges=10)
    with pytest.raises(UnknownNameError, match="unknown language of this vocabulary 'de': there are en, fr"):
        found.encode("de", ["Sonne"])
    with pytest.raises(DataNotFoundError, match="holds no vocabulary"):
        open_vocabulary(tmp_path)
    save(found, tmp_path)
    (tmp_path / "tokenizers" / "fr" / "tokenizer.json").unlink()
    with pytest.raises(DataNotFoundError, match="holds no tokenizer"):
        open_vocabulary(tmp_path)
    (tmp_path / "tokenizers" / "vocabulary.json").write_text("{}")
    with pytest.raises(FormatError, match="not the record of a vocabulary"):
        open_vocabulary(tmp_path)
