"""Does code-switching replace as many words as it says, by the translations it should, and nothing else?"""

import math
from itertools import islice

import pytest

import interlingua
from interlingua.errors import InputError
from interlingua.pretrain.anchors import code_switch
from interlingua.types import Dictionary


def words(*pairs, source="en", target="fr"):
    return Dictionary.from_pairs(source, target, [(*pair, None)[:3] for pair in pairs])


CAT = words(("cat", "chat"))


def switched(text, dictionary, **options):
    return next(code_switch([text], dictionary, **({"replace": 1.0, "limit": 1.0} | options)))


def test_three_words_in_ten_with_an_entry_are_replaced():
    n = 20_000
    found = " ".join(code_switch(["cat is here"] * n, CAT))
    share = found.count("chat") / n
    # under the cap: a third of the words have an entry, and a tenth of all are replaced
    assert abs(share - 0.3) < 4 * math.sqrt(0.3 * 0.7 / n)
    assert found.count("chat") + found.count("cat") == n


def test_the_cap_holds_at_every_sentence():
    seen = replaced = 0
    for sentence in code_switch(["cat cat cat"] * 3000, CAT):
        seen += 3
        replaced += sentence.count("chat")
        assert replaced <= 0.15 * seen
    assert replaced == pytest.approx(0.15 * seen, abs=3)


def test_the_cap_takes_replacements_away_and_moves_none():
    text = list(interlingua.parallel("everyday", "en", "fr")["en"])
    dictionary = interlingua.dictionary("everyday-words", "en", "fr")
    free, capped = (list(code_switch(text, dictionary, limit=limit)) for limit in (1.0, 0.05))
    changed = [[a != b for a, b in zip(text, found, strict=True)] for found in (free, capped)]
    assert sum(changed[0]) > sum(changed[1]) > 0
    assert all(before or not after for before, after in zip(*changed, strict=True))


def test_one_seed_gives_one_text():
    text = ["The cat saw a cat near the other cats"] * 200
    first, again, other = (list(code_switch(text, CAT, seed=seed)) for seed in (1, 1, 2))
    assert first == again != other


def test_translations_are_drawn_by_weight_or_evenly():
    n = 10_000
    weighed = words(("cat", "chat", 3.0), ("cat", "matou", 1.0), ("cat", "chien", 0.0))
    even = words(("cat", "chat", 3.0), ("cat", "matou"))
    for dictionary, expected in ((weighed, 0.75), (even, 0.5)):
        found = list(code_switch(["cat"] * n, dictionary, replace=1, limit=1))
        assert "chien" not in found
        assert abs(found.count("chat") / n - expected) < 4 * math.sqrt(0.25 / n)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("(cat), «Cat»... CAT!", "(chat), «Chat»... CHAT!"),
        ("a cat,cat  cat\tcats cat7", "a chat,chat  chat\tcats cat7"),
        ("cat's cat-like", "chat's chat-like"),
        ("don't know", "ne pas know"),
        ("Don’t", "Ne pas"),
        ("I am I", "je am je"),
        ("cafe\u0301", "bistrot"),
    ],
)
def test_case_and_what_stands_around_words(before, after):
    dictionary = words(("cat", "chat"), ("don't", "ne pas"), ("i", "je"), ("Café", "bistrot"))
    expected = after.replace("je", "Je") if "I" in before else after
    assert switched(before, dictionary) == expected


def test_an_elided_article_does_not_hide_a_word():
    assert switched("L'eau, l’Eau", words(("eau", "water"), source="fr", target="en")) == "L'water, l’Water"


def test_sentences_without_an_entry_come_as_they_were():
    odd = ["", "  spaces  \n", "e\u0301te\u0301 …", "\ufeff«»"]
    assert list(code_switch(odd, CAT, replace=1, limit=1)) == odd
    assert list(code_switch(["cat"] * 5, CAT, replace=0)) == ["cat"] * 5


def test_it_streams():
    def endless():
        while True:
            yield "a cat is a cat"

    assert len(list(islice(code_switch(endless(), CAT), 10))) == 10


def test_where_there_are_no_spaces_the_longest_entries_are_the_words():
    dictionary = words(
        ("猫", "cat"), ("熊猫", "panda"), ("大熊猫", "giant"), ("看见", "sees"), source="zh", target="en"
    )
    assert switched("我看见大熊猫。", dictionary) == "我 sees giant。"
    assert switched("我 看见 猫 。", dictionary) == "我 sees cat 。"
    assert switched("小熊猫和API看见abc", dictionary) == "小 panda 和API sees abc"
    assert switched("黑猫API猫", dictionary) == "黑猫API cat"  # a part of a word, and a word
    assert switched("没人", dictionary) == "没人"


def test_the_limit_counts_characters_between_entries_as_words():
    dictionary = words(("熊猫", "panda"), source="zh", target="en")
    text = ["大黑熊猫和人在家里"] * 500
    found = "".join(code_switch(text, dictionary, replace=1, limit=0.1)).count("panda")
    assert abs(found - 400) <= 1  # a tenth of 4,000


@pytest.mark.parametrize(
    ("options", "says"),
    [({"replace": 1.5}, "replace is 1.5: a share from 0 to 1"), ({"limit": -0.1}, "limit is -0.1")],
)
def test_shares_that_are_none_are_refused_at_once(options, says):
    with pytest.raises(InputError, match=says):
        code_switch([], CAT, **options)


def test_dictionaries_that_cannot_be_used_are_refused():
    with pytest.raises(InputError, match="has no entries"):
        code_switch([], words())
    with pytest.raises(InputError, match="cat -> chat has the weight -1"):
        code_switch([], words(("cat", "chat", -1.0)))
