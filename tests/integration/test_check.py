"""`check` finds every planted problem, names its line, and finds nothing in good data."""

import pytest

from interlingua.corpora.check import check, wrong_script
from interlingua.corpora.places import assets
from interlingua.errors import DataNotFoundError, InputError
from interlingua.types import Language

GOOD = {
    "en": ["The cat sleeps.", "Where is my red umbrella?", "It rained all day.", "She bought two books."],
    "fr": ["Le chat dort.", "Où est mon parapluie rouge ?", "Il a plu toute la journée.", "Elle a acheté deux livres."],
    "ru": ["Кошка спит.", "Где мой красный зонт?", "Весь день шел дождь.", "Она купила две книги."],
}


def write(folder, texts):
    folder.mkdir(exist_ok=True)
    for lang, rows in texts.items():
        data = rows if isinstance(rows, bytes) else "".join(row + "\n" for row in rows).encode()
        (folder / f"{lang}.txt").write_bytes(data)
    return folder


def found(report):
    return {(p.path.rpartition("/")[2], p.line, p.severity, p.rule) for p in report.problems}


def test_good_files_have_no_problems(tmp_path):
    report = check([write(tmp_path / "c", GOOD)])
    assert report.problems == ()
    assert (report.rows, report.languages) == (4, ("en", "fr", "ru"))


def test_every_planted_problem_is_found(tmp_path):
    texts = {lang: list(rows) for lang, rows in GOOD.items()}
    texts["en"].insert(0, "\ufeffThe first line.")
    texts["fr"].insert(0, "La première ligne.")
    texts["ru"].insert(0, "Первая строка.")
    texts["fr"][1] = "The cat sleeps."  # untranslated
    texts["ru"][2] = "Gde moy krasnyy zont?"  # transliterated
    texts["fr"][3] = ""  # empty
    texts["en"][4] = texts["en"][3]  # repeated
    texts["ru"].append("Лишняя строка.")  # one too many
    folder = write(tmp_path / "c", texts)
    with (folder / "fr.txt").open("ab") as stream:
        stream.write(b"caf\xe9\n\x00\n")
    for lang in ("en", "ru"):
        with (folder / f"{lang}.txt").open("ab") as stream:
            stream.write("Конец.\n".encode() if lang == "ru" else b"The end.\nThe very end.\n")
    report = check([folder])
    assert found(report) >= {
        ("en.txt", 1, "warning", "bom"),
        ("fr.txt", 2, "warning", "untranslated"),
        ("ru.txt", 3, "warning", "script"),
        ("fr.txt", 4, "error", "empty line"),
        ("en.txt", 5, "warning", "duplicate"),
        ("fr.txt", 6, "error", "encoding"),
        ("fr.txt", 7, "error", "nul"),
    }
    assert report.errors >= 3


def test_unequal_lengths(tmp_path):
    texts = {**GOOD, "ru": GOOD["ru"][:2]}
    report = check([write(tmp_path / "c", texts)])
    assert found(report) == {("ru.txt", 3, "error", "unequal lengths")}
    assert "ru has 2 lines and en has 4" in str(report.problems[0])


def test_extreme_lengths(tmp_path):
    texts = {"en": GOOD["en"] * 5, "fr": GOOD["fr"] * 5}
    texts["fr"][7] = "Non." + " Et encore une phrase qui n'a rien à faire ici" * 8
    report = check([write(tmp_path / "c", texts)])
    assert ("fr.txt", 8, "warning", "length ratio") in found(report)


def test_untranslated_rows_are_found_between_any_two_languages(tmp_path):
    texts = {"ar": ["القط نائم"], "en": ["The cat sleeps."], "fr": ["The cat sleeps."]}
    assert found(check([write(tmp_path / "c", texts)])) == {("fr.txt", 1, "warning", "untranslated")}


def test_what_is_passed_over_is_said(tmp_path):
    folder = write(tmp_path / "c", {"fr": ["Bonjour."]})
    (folder / "xx.txt").write_text("?\n")
    (folder / "de.txt").mkdir()
    rules = {(p.path.rpartition("/")[2], p.rule) for p in check([folder]).problems}
    assert rules == {("xx.txt", "passed over"), ("de.txt", "passed over"), ("fr.txt", "one language")}


def test_control_characters_and_old_line_ends(tmp_path):
    folder = write(tmp_path / "c", {"en": ["a\x1b[31m word", "\u202eabcd"], "fr": ["un mot", "abdc"]})
    assert {(p.line, p.rule) for p in check([folder]).problems} == {(1, "control"), (2, "control")}
    mac = write(tmp_path / "mac", {"en": b"one\rtwo\r", "fr": b"un\ndeux\n"})
    assert "line ends" in {p.rule for p in check([mac]).problems}


def test_utf16_is_said_once(tmp_path):
    folder = write(tmp_path / "c", {"en": "one\ntwo\n".encode("utf-16"), "fr": ["un", "deux"]})
    assert [(p.line, p.rule) for p in check([folder]).problems] == [(1, "encoding")]


def test_labelled_tables_are_checked_as_such(tmp_path):
    path = tmp_path / "nli.tsv"
    path.write_text("premise\thypothesis\tlabel\na\tb\tneutral\n", encoding="utf-8")
    assert check([path]).problems == ()
    path.write_text("premise\thypothesis\tlabel\na\tb\t\n", encoding="utf-8")
    assert [p.message for p in check([path]).problems] == ["the label is empty"]


def test_progress_is_reported(tmp_path):
    folder = write(
        tmp_path / "c", {"en": [f"Sentence {i}." for i in range(6000)], "fr": [f"Phrase {i}." for i in range(6000)]}
    )
    seen = []
    check([folder], progress=lambda done, total: seen.append((done, total)))
    assert seen == [(4096, 12000), (8192, 12000)]


def test_files_with_languages_in_order(tmp_path):
    folder = write(tmp_path / "c", GOOD)
    (folder / "en.txt").rename(folder / "first.text")
    (folder / "fr.txt").rename(folder / "second.text")
    report = check([folder / "first.text", folder / "second.text"], ["en", "fr"])
    assert report.problems == ()
    with pytest.raises(InputError, match="does not say its language"):
        check([folder / "first.text", folder / "second.text"])


def test_tables_report_every_bad_line(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_bytes(b"en\tfr\na\tb\nc\nd\te\tf\ng\t\xff\n")
    report = check([path])
    assert [p.line for p in report.problems] == [3, 4, 5]
    assert report.rows == 1
    mixed = tmp_path / "m.jsonl"
    mixed.write_text(
        '{"en": "a", "fr": "b"}\n{"en": "c"}\n{"en": "d", "fr": null}\n[1]\n{"en": "same text", "fr": "same text"}\n{\n'
    )
    assert [(p.line, p.severity) for p in check([mixed]).problems] == [
        (2, "error"), (3, "error"), (4, "error"), (5, "warning"), (6, "error"),
    ]  # fmt: skip
    bom = tmp_path / "bom.tsv"
    bom.write_text("\ufeffen\tfr\nHello.\tBonjour.\n", encoding="utf-8")
    assert [p.rule for p in check([bom]).problems] == ["bom"]
    good = tmp_path / "u.tsv"
    good.write_text("en\tfr\nThe cat sleeps.\tThe cat sleeps.\n\tVide\n", encoding="utf-8")
    assert found(check([good])) == {("u.tsv", 2, "warning", "untranslated"), ("u.tsv", 3, "error", "empty line")}


def test_treebanks_report_every_bad_sentence(tmp_path):
    row = "1\ta\ta\tNOUN\t_\t_\t{}\troot\t_\t_\n\n"
    path = tmp_path / "a.conllu"
    path.write_text(row.format(0) + row.format(5) + row.format(0) + row.format("x"), encoding="utf-8")
    assert [p.line for p in check([path], ["en"]).problems] == [3, 7]


def test_damaged_and_empty_files(tmp_path):
    folder = write(tmp_path / "c", {"en": b"", "fr": ["a"]})
    (folder / "de.txt.gz").write_bytes(b"no gzip")
    rules = {(p.path.rpartition("/")[2], p.rule) for p in check([folder]).problems}
    assert {("en.txt", "empty file"), ("de.txt.gz", "format")} <= rules


def test_paths_that_cannot_be_checked(tmp_path):
    with pytest.raises(DataNotFoundError, match="does not exist"):
        check([tmp_path / "nothing"])
    with pytest.raises(DataNotFoundError, match="no files named by a language"):
        check([tmp_path])
    with pytest.raises(InputError, match="name a folder or files"):
        check([])


@pytest.mark.parametrize(
    ("text", "lang", "expected"),
    [
        ("Hello there", "en", None),
        ("Привет", "bg", None),
        ("Zdraveyte", "bg", "Latn"),
        ("東京タワーです", "ja", None),
        ("这是一个句子", "zh", None),
        ("this is English", "zh", "Latn"),
        ("한국어 문장", "ko", None),
        ("مرحبا بكم", "ug", None),
        ("1234 !!", "ru", None),
        ("OK", "ru", None),
        ("Anything at all", "abc", None),
        ("สวัสดีครับ", "th", None),
        ("कैसे हो", "hi", None),
    ],
)
def test_scripts(text, lang, expected):
    assert wrong_script(text, Language.parse(lang)) == expected


def test_the_built_in_corpus_is_clean():
    assert check([assets() / "everyday"]).problems == ()


def test_real_data_has_few_false_alarms(data_root):
    """News translated by people: nothing is wrong with its encoding, rows or, but for a few names, its scripts."""
    files = [data_root / "ntrex128" / f"{tag}.txt.xz" for tag in ("eng", "fra", "rus", "zho-CN", "arb", "tha", "jpn")]
    report = check(files)
    assert report.errors == 0
    assert report.warnings < 0.02 * 7 * report.rows
