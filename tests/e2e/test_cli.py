"""The command line as a user runs it."""

import json
import os
import pty
import re
import signal
import subprocess
import sys

import pytest

from interlingua import __version__
from interlingua.cli.terminal import ISOLATE, POP, cell, visible, wrap

VERBS = [(), ("doctor",), ("data",), ("data", "ls"), ("data", "show"), ("data", "check"), ("data", "fetch")]


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_help_is_there_with_an_example(cli, verb):
    out = cli(*verb, "--help")
    assert out.returncode == 0
    assert "Usage:" in out.stdout
    assert re.search(r"Example: interlingua \w+", out.stdout)


def test_version(cli):
    assert cli("--version").stdout.strip() == f"interlingua {__version__}"


def test_no_arguments_shows_help(cli):
    assert "Commands:" in cli().stdout + cli().stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("data", "show", "evryday"), "unknown data set 'evryday': did you mean everyday"),
        (("data", "show", "everyday", "--langs", "en,cz"), "'cz' is not a language code: did you mean cs?"),
        (("data", "show", "everyday", "--langs", "en,sw"), "unknown language in everyday 'sw'"),
        (("data", "show", "everyday-ner", "--split", "dev"), "unknown split of everyday-ner 'dev'"),
        (("data", "show", "conll2002"), "conll2002 is not in"),
        (("data", "check", "nothing.txt"), "nothing.txt does not exist"),
        (("data", "fetch", "conll2002"), "has no address to download from"),
        (("data", "fetch", "ntrex"), "say which languages of ntrex to fetch"),
        (("data", "fetch", "mono", "--langs", "fr", "--dry-run"), "mono has no address to download from"),
        (("data", "fetch", "muse", "--langs", "en,fr", "--split", "../x", "--dry-run"), "'../x' is no split"),
        (("data", "show", "everyday", "--langs", "en,eng"), "en, eng: the same language twice"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(here, monkeypatch, arguments, message):
    monkeypatch.delenv("INTERLINGUA_DATA", raising=False)
    out = here(*arguments)
    assert out.returncode == 2, out.stderr
    assert message in out.stderr
    assert len(out.stderr.splitlines()) == 1


@pytest.mark.parametrize("arguments", [("nothing",), ("data", "nothing"), ("data", "show"), ("data", "ls", "--no")])
def test_wrong_usage_exits_2(cli, arguments):
    out = cli(*arguments)
    assert out.returncode == 2
    assert "Traceback" not in out.stderr


class TestLs:
    def test_built_in_data_sets_without_any_data(self, cli):
        out = cli("data", "ls", env={"INTERLINGUA_DATA": None})
        assert out.returncode == 0
        assert "everyday" in out.stdout
        assert "not here" in out.stdout
        found = json.loads(cli("data", "ls", "--found", "--json", env={"INTERLINGUA_DATA": None}).stdout)
        assert {row["name"] for row in found} == {
            "everyday", "everyday-words", "everyday-trees", "everyday-ner", "everyday-nli",
        }  # fmt: skip
        assert all(row["bytes"] > 0 and row["languages"] for row in found)

    def test_every_data_set_of_the_manifest(self, cli, data_root):
        rows = json.loads(cli("data", "ls", "--json", env={"INTERLINGUA_DATA": str(data_root)}).stdout)
        listed = {row["folder"]: row for row in rows if row["found"]}
        names = {line.split("\t")[0] for line in (data_root / "MANIFEST.tsv").read_text().splitlines()[1:]}
        assert names <= set(listed)
        for name in names:
            assert listed[name]["languages"]
            assert listed[name]["bytes"] > 0
            assert listed[name]["licence"]
        table = cli("data", "ls", env={"INTERLINGUA_DATA": str(data_root)}).stdout
        assert all(name in table for name in names)


class TestShow:
    def test_parallel_rows_side_by_side(self, cli):
        out = cli("data", "show", "everyday", "--langs", "en,zh,ar", "-n", "3").stdout
        lines = out.splitlines()
        assert lines[0].startswith("everyday: 440 rows, en, zh-Hans, ar; licence: Apache-2.0")
        assert "The kitchen window does not" in out
        assert "厨房" in out

    def test_columns_line_up(self, cli):
        """Whatever the script, the second column starts in the same cell of every line."""
        from rich.cells import cell_len

        for langs in ("zh,en", "ru,en", "et,en", "ar,en"):
            lines = cli("data", "show", "everyday", "--langs", langs, "-n", "6").stdout.splitlines()
            heading = lines[1]
            column = cell_len(heading[: heading.index("en")])
            for line in lines[3:]:
                plain = line.replace(ISOLATE, "").replace(POP, "")
                for position in range(len(plain)):
                    if cell_len(plain[:position]) == column:
                        assert plain[position - 1] == " ", (langs, line)

    def test_a_narrow_window_puts_languages_below_one_another(self, cli):
        out = cli("data", "show", "everyday", "--langs", "en,fr,de,ru", "-n", "1", env={"COLUMNS": "60"}).stdout
        assert re.search(r"^  en  The kitchen", out, re.MULTILINE)
        assert re.search(r"^  ru  Окно", out, re.MULTILINE)

    @pytest.mark.parametrize("name", ["everyday-words", "everyday-trees", "everyday-ner", "everyday-nli"])
    def test_every_built_in_set_shows_without_options(self, here, monkeypatch, name):
        monkeypatch.delenv("INTERLINGUA_DATA", raising=False)
        out = here("data", "show", name)
        assert out.returncode == 0, out.stderr
        assert out.stdout.startswith("showing en")
        assert len(out.stdout.splitlines()) >= 7

    def test_json(self, cli):
        shown = json.loads(cli("data", "show", "everyday", "--langs", "en,ar", "-n", "2", "--json").stdout)
        assert shown["size"] == 440
        assert shown["rows"][0]["id"] == "home-01"
        assert set(shown["rows"][0]) == {"id", "en", "ar"}

    def test_the_example_of_the_documentation(self, cli, data_root):
        out = cli("data", "show", "ntrex", "--langs", "en,fr,zh,ar", env={"INTERLINGUA_DATA": str(data_root)})
        assert out.returncode == 0
        assert "Welsh AMs worried" in out.stdout

    @pytest.mark.parametrize(
        "name",
        ["tatoeba", "xnli", "xquad", "pawsx", "ud", "wikineural", "panx", "conll2002", "sst2", "muse", "mono", "bucc",
         "word_alignment", "xl_wa", "narabizi", "umsab", "ntrex", "quran", "udpos", "uner", "masakhaner"],
    )  # fmt: skip
    def test_every_kind_of_public_data_shows(self, here, monkeypatch, data_root, name):
        monkeypatch.setenv("INTERLINGUA_DATA", str(data_root))
        out = here("data", "show", name, "-n", "2")
        if out.returncode:
            # More than one candidate: the error names them, and the first of them works.
            named = re.search(r"say (\S+) or", out.stderr)
            assert named, out.stderr
            langs = out.stderr.split(" has ")[1].split(" more")[0].replace("-", ",")
            name = named[1]
            out = here("data", "show", name, "-n", "2", "--langs", langs)
        assert out.returncode == 0, out.stderr
        assert len(out.stdout.splitlines()) >= 3

    def test_own_files(self, cli, tmp_path):
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "en.txt").write_text("Hello\tthere\x1b[31m\n", encoding="utf-8")
        (tmp_path / "mine" / "he.txt").write_text("שלום\u202eabc\n", encoding="utf-8")
        out = cli("data", "show", tmp_path / "mine")
        assert out.returncode == 0, out.stderr
        assert "Hello␉there␛[31m" in out.stdout
        assert "<U+202E>" in out.stdout
        assert "\x1b" not in out.stdout


class TestCheck:
    def test_exit_codes(self, cli, tmp_path):
        (tmp_path / "en.txt").write_text("The cat.\nThe dog.\n", encoding="utf-8")
        (tmp_path / "fr.txt").write_text("Le chat.\nThe dog.\n", encoding="utf-8")
        warned = cli("data", "check", "en.txt", "fr.txt", cwd=tmp_path)
        assert warned.returncode == 0
        assert "fr.txt:2: warning: fr is the same as en" in warned.stdout
        assert warned.stdout.splitlines()[-1] == "2 rows in en, fr: no errors, 1 warning"
        (tmp_path / "fr.txt").write_text("Le chat.\n", encoding="utf-8")
        failed = cli("data", "check", "en.txt", "fr.txt", cwd=tmp_path)
        assert failed.returncode == 1
        assert "fr.txt:2: error: fr has 1 lines and en has 2" in failed.stdout
        found = json.loads(cli("data", "check", "en.txt", "fr.txt", "--json", cwd=tmp_path).stdout)
        assert (found["errors"], found["problems"][0]["line"]) == (1, 2)

    def test_long_reports_are_cut_and_say_so(self, cli, tmp_path):
        for lang in ("en", "fr"):
            (tmp_path / f"{lang}.txt").write_text("\n" * 50, encoding="utf-8")
        out = cli("data", "check", "en.txt", "fr.txt", "--limit", "5", cwd=tmp_path)
        assert "... and 95 more (--limit 0 shows all)" in out.stdout
        assert len(cli("data", "check", "en.txt", "fr.txt", "--limit", "0", cwd=tmp_path).stdout.splitlines()) == 101


def test_own_folders_are_read_by_name_not_by_order(cli, tmp_path):
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "en.txt").write_text("Hello.\n", encoding="utf-8")
    (tmp_path / "c" / "fr.txt").write_text("Bonjour.\n", encoding="utf-8")
    shown = json.loads(cli("data", "show", tmp_path / "c", "--langs", "fr,en", "--json").stdout)
    assert shown["rows"] == [{"id": "1", "fr": "Bonjour.", "en": "Hello."}]
    refused = cli("data", "show", tmp_path / "c", "--langs", "en,de")
    assert refused.returncode == 2
    assert "no file for de: there are en.txt, fr.txt" in refused.stderr


def test_a_wrong_data_root_does_not_hide_what_is_built_in(cli):
    out = cli("data", "ls", "--found", env={"INTERLINGUA_DATA": "/no/such/folder"})
    assert out.returncode == 0
    assert out.stderr.count("warning: INTERLINGUA_DATA is /no/such/folder") == 1
    assert "5 of 39 data sets are on this machine" in out.stdout


@pytest.mark.parametrize("name", ["nothing.tsv", "no/such/folder"])
def test_a_path_that_is_not_there_is_not_called_a_data_set(cli, name):
    out = cli("data", "show", name)
    assert out.returncode == 2
    assert out.stderr.strip() == f"error: {name} does not exist, and is no data set of the catalogue"


def test_json_of_annotated_data_is_for_programs(cli):
    tree = json.loads(cli("data", "show", "everyday-trees", "--langs", "fr", "-n", "1", "--json").stdout)["rows"][0]
    assert tree["id"] == "home-01"
    assert len(tree["words"]) == len(tree["heads"]) == len(tree["relations"])
    word = json.loads(cli("data", "show", "everyday-words", "--langs", "en,fr", "-n", "1", "--json").stdout)["rows"][0]
    assert word == {"id": "1", "word": "body", "translations": ["corps"]}


def test_a_very_long_row_is_cut(cli, tmp_path):
    (tmp_path / "en.txt").write_text("word " * 100_000 + "\n", encoding="utf-8")
    assert len(cli("data", "show", tmp_path / "en.txt").stdout) < 4000


def test_fetch_prints_the_licence_and_what_it_would_do(cli):
    out = cli("data", "fetch", "ntrex", "--langs", "en,fr", "--dry-run")
    assert out.returncode == 0
    assert "licence of ntrex: CC-BY-SA-4.0" in out.stdout
    assert "unverified" in out.stdout
    assert "newstest2019-ref.fra.txt ->" in out.stdout
    assert "newstest2019-src.eng.txt ->" in out.stdout
    assert "is built in: nothing to fetch" in cli("data", "fetch", "everyday").stdout


def test_doctor(cli, here, monkeypatch):
    out = cli("doctor", env={"INTERLINGUA_DATA": None})
    assert out.returncode == 0
    assert f"interlingua {__version__}" in out.stdout
    assert "data sets: 5 of" in out.stdout
    monkeypatch.delenv("INTERLINGUA_DATA", raising=False)
    found = json.loads(here("doctor", "--json").stdout)
    assert found["packages"]["numpy"]
    assert found["extras"]["hub"]["version"]
    monkeypatch.setenv("INTERLINGUA_DATA", "/no/such/folder")
    wrong = here("doctor")
    assert "advice: INTERLINGUA_DATA is /no/such/folder, which is not a folder" in wrong.stdout


def test_help_feels_instant():
    """Counted in modules, not in seconds: nothing heavy is loaded to print help."""
    code = "import sys; sys.argv = ['interlingua', '--help']\nfrom interlingua.cli.main import app\n"
    code += "try: app()\nexcept SystemExit: pass\nprint('LOADED', *sorted(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    loaded = out.split("LOADED")[1].split()
    assert not {"numpy", "torch", "datasets", "regex", "langcodes", "interlingua.corpora"} & set(loaded)


def test_a_closed_pipe_is_no_error(tmp_path):
    command = f"{sys.executable} -m interlingua data show everyday -n 400 | head -1"
    out = subprocess.run(
        ["bash", "-c", command + "; exit ${PIPESTATUS[0]}"], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert out.returncode in (0, 1)  # 1 is what a closed pipe is worth to most programs
    assert out.stderr == ""
    assert out.stdout.startswith("showing en")


def test_an_interrupt_is_one_line(tmp_path):
    """Ctrl-C while a check is reading: it reads from a pipe, so we know that it is at work."""
    os.mkfifo(tmp_path / "en.txt")
    (tmp_path / "fr.txt").write_text("Bonjour.\n", encoding="utf-8")
    command = [sys.executable, "-m", "interlingua", "data", "check", str(tmp_path / "en.txt"), str(tmp_path / "fr.txt")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with (tmp_path / "en.txt").open("w") as pipe:  # returns when the other end is opened
        pipe.write("Good morning.\n")
        pipe.flush()
        errors = None
        while errors is None:  # a signal that arrives inside a callback is lost in Python: people press again
            process.send_signal(signal.SIGINT)
            try:
                _, errors = process.communicate(timeout=5)
            except subprocess.TimeoutExpired:
                continue
    assert process.returncode == 130
    assert errors.startswith("error: interrupted")
    assert len(errors.splitlines()) == 1


def test_in_a_real_terminal(tmp_path):
    """With a terminal on the other end there is no crash and nothing but text."""
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "interlingua", "data", "ls", "--found"],
        stdout=child,
        stderr=child,
        env={**os.environ, "COLUMNS": "100"},
    )
    os.close(child)
    output = b""
    while True:
        try:
            piece = os.read(parent, 4096)
        except OSError:
            break
        if not piece:
            break
        output += piece
    os.close(parent)
    assert process.wait(timeout=60) == 0
    assert b"everyday" in output
    assert b"\x1b" not in output


# -- the pieces that put text into cells ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("one two three", 7, ["one two", "three"]),
        ("abcdefghij", 4, ["abcd", "efgh", "ij"]),
        ("这是一个句子", 4, ["这是", "一个", "句子"]),
        ("a 这是一个句子", 5, ["a 这", "是一", "个句", "子"]),
        ("", 5, [""]),
        ("这是一个句子。", 4, ["这是", "一个", "句", "子。"]),
        ("e\u0301e\u0301e\u0301", 2, ["e\u0301e\u0301", "e\u0301"]),
    ],
)
def test_wrapping(text, width, expected):
    assert wrap(text, width) == expected


def test_cells_have_exactly_their_width():
    from rich.cells import cell_len

    for text in ("plain", "中文字符很宽", "نص عربي", "mixed 中 text", "\x00\x07"):
        for line in cell(text, 9, right_to_left="عربي" in text):
            assert cell_len(line.replace(ISOLATE, "").replace(POP, "")) == 9


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\tb", "a␉b"),
        ("\x7f", "␡"),
        ("\u200bx", "<U+200B>x"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("\ue000", "<U+E000>"),
    ],
)
def test_invisible_characters_are_shown(text, expected):
    assert visible(text) == expected
