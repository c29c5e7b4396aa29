"""Text that studies read: so many characters, from all over what there is."""

from pathlib import Path

from interlingua.pretrain.config import Config
from interlingua.pretrain.prepare import prepared_key
from interlingua.studies import concepts, monolingual
from interlingua.studies.catalog import find
from interlingua.studies.measured import cut
from interlingua.studies.study import settings_of


def test_lines_come_from_all_sources_and_once_made_stay(tmp_path):
    sources = []
    for name, letter in (("first", "a"), ("second", "b")):
        path = tmp_path / f"{name}.txt"
        path.write_text("".join(f"{letter}{i:03d} with some words\n" for i in range(300)), encoding="utf-8")
        sources.append(str(path))
    place = tmp_path / "cut" / "en.3000.txt"
    assert cut(sources, "en", 3_000, tmp_path / "cut" / "en.txt") == str(place)
    lines = place.read_text(encoding="utf-8").splitlines()
    assert abs(sum(map(len, lines)) - 3_000) < 20
    assert len(set(lines)) == len(lines)
    assert sorted({line[0] for line in lines}) == ["a", "b"]
    assert abs(sum(line[0] == "a" for line in lines) - len(lines) / 2) <= 1
    # as much as there is where more is asked for; and what is there is not made again
    whole = cut(sources, "en", 10**6, tmp_path / "all.txt")
    assert len(Path(whole).read_text(encoding="utf-8").splitlines()) == 600
    place.write_text("kept\n", encoding="utf-8")
    cut(sources, "en", 3_000, tmp_path / "cut" / "en.txt")
    assert place.read_text(encoding="utf-8") == "kept\n"


def test_prepared_text_is_known_by_what_files_hold(tmp_path):
    def key(place, held):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(held, encoding="utf-8")
        return prepared_key(Config(text={"en": [str(place)]}).resolved())

    here = key(tmp_path / "here" / "en.txt", "a line\n")
    assert key(tmp_path / "there" / "other.txt", "a line\n") == here
    assert key(tmp_path / "here" / "en.txt", "a lime\n") != here


def sorted_text(path, lines):
    path.write_text("".join(f"{'en' if path.stem == 'en' else 'de'} {i:04d}\n" for i in range(lines)), encoding="utf-8")
    return path


def test_words_are_read_from_all_over_a_text(tmp_path):
    source = sorted_text(tmp_path / "en.txt", 1000)
    how = settings_of(find("monolingual"), "smoke", [f"text={source}", "lines=100"])
    numbers = [int(line.split()[1]) for line in monolingual._read(how, "en", tmp_path)]
    assert len(numbers) == 100
    assert min(numbers) < 100 < 900 < max(numbers)
    # no more than there is
    assert len(list(monolingual._read(how.model_copy(update={"lines": 2000}), "en", tmp_path))) == 1000


def test_concepts_are_looked_at_in_pairs_from_all_over_a_corpus(tmp_path):
    for lang in ("en", "de"):
        sorted_text(tmp_path / f"{lang}.txt", 1000)
    changes = [f"parallel={tmp_path}", f"translated={{de: {tmp_path}}}", "looked=100", "judged=50"]
    how = settings_of(find("concepts"), "smoke", changes)
    looked, judged, learnt = (
        concepts._looked(how, "de"),
        concepts._judged(how, "de-en"),
        concepts._training(how, "de"),
    )
    for corpus, many in ((looked, 100), (judged, 50), (learnt[:100], 100)):
        numbers = [int(text.split()[1]) for text in corpus["en"]]
        assert len(corpus) == many
        assert [text.split()[1] for text in corpus["de"]] == [text.split()[1] for text in corpus["en"]]
        assert min(numbers) < 100 < 900 < max(numbers)
    assert not set(looked["en"]) & set(judged["en"])
    assert not set(learnt["en"]) & set(judged["en"])


def test_no_translation_of_what_chooses_the_epoch_is_learnt(tmp_path):
    for lang in ("en", "de"):  # every English sentence has five translations, one of them with other marks
        lines = (f"{lang} {i // 5 if lang == 'en' else i:04d}{'!' * (i % 2)}\n" for i in range(1000))
        (tmp_path / f"{lang}.txt").write_text("".join(lines), encoding="utf-8")
    changes = [f"translated={{de: {tmp_path}}}", "looked=100", "judged=50"]
    (learnt,), (end,), _ = concepts._texts(settings_of(find("concepts"), "smoke", changes), "de-en")
    assert len(end) == 50
    said = {text.rstrip("!") for text in end["en"]}
    assert len(said) > 20
    assert len(learnt) > 400
    assert not said & {text.rstrip("!") for text in learnt["en"]}


def test_many_ways_are_judged_by_as_many_sentences_as_one(tmp_path):
    for lang in ("en", "de", "fr"):
        (tmp_path / f"{lang}.txt").write_text("".join(f"{lang} {i:04d}\n" for i in range(1000)), encoding="utf-8")
    changes = [f"parallel={tmp_path}", f"translated={{de: {tmp_path}, fr: {tmp_path}}}", "looked=100", "judged=50"]
    how = settings_of(find("concepts"), "smoke", [*changes, "langs=[de, fr]"])
    for pair, ways in (("de-en", 1), (concepts.MANY, 4)):
        learnt, ends, _ = concepts._texts(how, pair)
        assert len(learnt) == len(ends) == ways
        assert {len(end) for end in ends} == {-(-50 // ways)}
        said = {text for end in ends for column in end.columns for text in column}
        assert not said & {text for each in learnt for column in each.columns for text in column}


def test_the_encoder_decoder_reads_so_many_characters_of_a_language(tmp_path):
    for lang in ("en", "de"):
        sorted_text(tmp_path / f"{lang}.txt", 1000)
    how = settings_of(find("concepts"), "smoke", [f"text={tmp_path / 'en.txt'}", "characters=700"])
    cell = next(cell for cell in concepts.cells(how) if cell.name == "span.0")
    text = concepts._config(cell, how, tmp_path / "shared").text
    assert [Path(files[0]).name for files in text.values()] == ["en.700.txt", "de.700.txt"]
    lines = Path(text["en"][0]).read_text(encoding="utf-8").splitlines()
    assert 90 <= len(lines) <= 110
    assert concepts._config(cell, how.model_copy(update={"characters": 0}), tmp_path).text["en"] == [how.text]
