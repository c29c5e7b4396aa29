"""How a tokenizer reads a language: planted vocabularies, and a script it has never seen."""

import pytest
import transformers as hf
from tokenizers import Tokenizer, models, pre_tokenizers

import interlingua as il
from interlingua.errors import InputError
from interlingua.extract.coverage import coverage
from interlingua.languages import Language
from interlingua.models.load import wrap
from interlingua.types import TaggedCorpus
from support import tiny

PIECES = ["[UNK]", "[PAD]", "cat", "dog", "s", "##s", "##at", "c", "##a", "##t", "##o", "k", "##к", "к", "о"]


@pytest.fixture(scope="module")
def model():
    core = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(PIECES)}, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = hf.PreTrainedTokenizerFast(tokenizer_object=core, unk_token="[UNK]", pad_token="[PAD]")
    return wrap(tiny.network("bert", len(PIECES)), tokenizer, name="planted")


def words(*rows, lang="en"):
    tags = tuple(("X",) * len(row.split()) for row in rows)
    return TaggedCorpus(
        language=Language.parse(lang), words=tuple(tuple(r.split()) for r in rows), tags=tags, entities=False
    )


def test_hand_worked(model):
    """cat | dog ##s | [UNK] | k ##at ##o: 7 sub-words of 4 words, one unknown, three of one letter."""
    found = coverage(model, words("cat dogs zzz kato"))
    assert (found.words, found.fertility) == (4, 7 / 4)
    assert found.unknown == 1 / 7
    assert found.single == 3 / 7
    # of the letters c a t d o g s z z z k a t o those that are a token alone: c s k
    assert found.letters == pytest.approx(3 / 14)
    assert found.script == "Latin"
    assert found.vocabulary == pytest.approx(10 / 13)
    assert coverage(model, words("cat cat", "cat")).fertility == 1.0


def test_another_script(model):
    found = coverage(model, words("кот окно", lang="ru"))
    assert found.script == "Cyrillic"
    assert found.unknown == 1.0
    assert found.letters == pytest.approx(5 / 7)
    assert found.vocabulary == pytest.approx(3 / 13)


def test_the_model_that_ships_reads_its_languages_better_than_others():
    ours = il.load_model("built-in")
    of = {lang: coverage(ours, il.tagged("everyday-ner", lang, split="test")) for lang in ("en", "fr", "ru")}
    assert all(found.unknown < 0.02 and found.letters > 0.99 for found in of.values())
    georgian = coverage(ours, words("ქართული ენა არის ლამაზი", lang="ka"))
    assert georgian.letters == 0.0
    assert georgian.unknown > 0.5
    assert georgian.fertility > 0


def test_one_language_at_a_time(model):
    with pytest.raises(InputError, match="one at a time"):
        coverage(model, il.parallel("everyday", "en", "fr"))
