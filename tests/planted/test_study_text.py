"""Text that studies read: so many characters, from all over what there is."""

from pathlib import Path

from interlingua.pretrain.config import Config
from interlingua.pretrain.prepare import prepared_key
from interlingua.studies.measured import cut


def test_lines_come_from_all_sources_and_once_made_stay(tmp_path):
    sources = []
    for name, letter in (("first", "a"), ("second", "b")):
        path = tmp_path / f"{name}.txt"
        path.write_text("".join(f"{letter}{i:03d} with some words\n" for i in range(300)), encoding="utf-8")
        sources.append(str(path))
    place = tmp_path / "cut" / "en.txt"
    assert cut(sources, "en", 3_000, place) == str(place)
    lines = place.read_text(encoding="utf-8").splitlines()
    assert abs(sum(map(len, lines)) - 3_000) < 20
    assert len(set(lines)) == len(lines)
    assert sorted({line[0] for line in lines}) == ["a", "b"]
    assert abs(sum(line[0] == "a" for line in lines) - len(lines) / 2) <= 1
    # as much as there is where more is asked for; and what is there is not made again
    whole = cut(sources, "en", 10**6, tmp_path / "all.txt")
    assert len(Path(whole).read_text(encoding="utf-8").splitlines()) == 600
    place.write_text("kept\n", encoding="utf-8")
    cut(sources, "en", 3_000, place)
    assert place.read_text(encoding="utf-8") == "kept\n"


def test_prepared_text_is_known_by_what_files_hold(tmp_path):
    def key(place, held):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(held, encoding="utf-8")
        return prepared_key(Config(text={"en": [str(place)]}).resolved())

    here = key(tmp_path / "here" / "en.txt", "a line\n")
    assert key(tmp_path / "there" / "other.txt", "a line\n") == here
    assert key(tmp_path / "here" / "en.txt", "a lime\n") != here
