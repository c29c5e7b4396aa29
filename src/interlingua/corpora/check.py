"""What is wrong with a user's files: every problem, with file and line.

Errors make a corpus unusable (rows missing, bytes that are no text); warnings make its numbers less meaningful
(an untranslated row counts as a perfect match). Nothing stops at the first problem.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from statistics import median

import regex

from interlingua.corpora.aligned import language_columns
from interlingua.corpora.bio import read_tagged
from interlingua.corpora.columns import JSON, KINDS, TAB, open_table
from interlingua.corpora.conllu import read_conllu
from interlingua.corpora.files import byte_problem, open_bytes, plain_suffix
from interlingua.corpora.own import TAGGED, files_by_language, is_labelled, language_of, read_own, read_own_labelled
from interlingua.errors import DataNotFoundError, FormatError, InputError, InterlinguaError
from interlingua.languages import Language

ERROR, WARNING = "error", "warning"

# A row is extreme when its length ratio is this many times the usual one of the pair, and one side is long enough.
RATIO = 4.0
RATIO_FROM = 20
# The letters a script is written with, where the code stands for several.
LETTERS = {"Hans": "Hani", "Hant": "Hani", "Jpan": "Hani Hira Kana", "Kore": "Hang Hani", "Hrkt": "Hira Kana"}
# Letters that must be of the language's script, of those in a row that has at least LETTERS_FROM of them.
SCRIPT_SHARE = 0.5
LETTERS_FROM = 4
# Control characters and overrides of direction; joiners and soft hyphens belong to the spelling of some languages.
CONTROL = regex.compile(r"[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069\uFEFF]")

# Called with (rows looked at, rows in all).
Progress = Callable[[int, int], None]


@dataclass(frozen=True, order=True)
class Problem:
    """One finding. `line` 0 speaks of the whole file."""

    path: str
    line: int
    severity: str
    rule: str
    message: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.severity}: {self.message}"


@dataclass(frozen=True)
class Report:
    """What was checked and what was found, in order of file and line."""

    files: tuple[str, ...]
    languages: tuple[str, ...]
    rows: int
    problems: tuple[Problem, ...]

    @property
    def errors(self) -> int:
        """How many problems make the corpus unusable."""
        return sum(p.severity == ERROR for p in self.problems)

    @property
    def warnings(self) -> int:
        """How many problems make its numbers less meaningful."""
        return len(self.problems) - self.errors


@dataclass
class Columns:
    """Text by language with the line each row stands on, and the problems found so far."""

    path: dict[Language, Path] = field(default_factory=dict)
    text: dict[Language, list[str]] = field(default_factory=dict)
    lines: list[int] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def add(self, path: Path, line: int, severity: str, rule: str, message: str) -> None:
        """Note a problem."""
        self.problems.append(Problem(str(path), line, severity, rule, message))

    def at(self, lang: Language, row: int, severity: str, rule: str, message: str) -> None:
        """Note a problem of one row."""
        self.add(self.path[lang], self.line(row), severity, rule, message)

    def line(self, row: int) -> int:
        """The line a row stands on."""
        return self.lines[row] if self.lines else row + 1

    def report(self) -> Report:
        """The findings in order."""
        return Report(
            tuple(dict.fromkeys(map(str, self.path.values()))),
            tuple(map(str, self.path)),
            max(map(len, self.text.values()), default=0),
            tuple(sorted(set(self.problems))),
        )


def check(
    paths: Sequence[Path], languages: Sequence[str | Language] = (), progress: Progress = lambda _done, _all: None
) -> Report:
    """Check line-aligned files or a folder of them, a table, a TMX file, a CoNLL-U file or a file of tagged words."""
    langs = tuple(map(Language.parse, languages))
    if not paths:
        raise InputError("name a folder or files to check")
    if missing := [p for p in paths if not p.exists()]:
        raise DataNotFoundError(f"{missing[0]} does not exist")
    columns = Columns()
    if len(paths) == 1 and paths[0].is_dir():
        paths = _files_of(paths[0], columns)
    if len(paths) == 1 and plain_suffix(paths[0]) in {".tmx", ".conllu", *TAGGED, *KINDS}:
        return _check_one(paths[0], langs, columns, progress)
    columns.path = files_by_language(paths, langs)
    damaged = set()
    for lang, path in columns.path.items():
        columns.text[lang], whole = _scan(path, columns)
        if not whole:
            damaged.add(lang)
    if len(columns.path) == 1:
        columns.add(paths[0], 0, WARNING, "one language", "only one language: there is nothing to compare it with")
    _lengths(columns, damaged)
    _rows(columns, progress)
    return columns.report()


def _files_of(folder: Path, columns: Columns) -> list[Path]:
    """The files of a folder that say their language; the others become warnings."""
    inside = [p for p in sorted(folder.iterdir()) if not p.name.startswith(".")]
    chosen = [p for p in inside if p.is_file() and language_of(p) is not None]
    if not chosen:
        raise DataNotFoundError(f"{folder} holds no files named by a language, such as en.txt and fr.txt")
    for path in inside:
        if path not in chosen and path.name.partition(".")[0] != "ids":
            what = "a folder" if path.is_dir() else "a file whose name says no language"
            columns.add(path, 0, WARNING, "passed over", f"passed over: {what}")
    return chosen


def _check_one(path: Path, langs: tuple[Language, ...], columns: Columns, progress: Progress) -> Report:
    """One file that its reader understands."""
    suffix = plain_suffix(path)
    some = langs[0] if langs else Language.parse("en")
    found: list[FormatError] = []
    rows = 0
    try:
        if suffix == ".conllu":
            rows = len(read_conllu(path, some, damaged=found))
        elif suffix in TAGGED:
            rows = len(read_tagged(path, some))
        elif KINDS.get(suffix) in (TAB, JSON) and not is_labelled(path):
            _table(path, langs, columns)
            _rows(columns, progress)
            return columns.report()
        elif suffix in KINDS and is_labelled(path):
            rows = len(read_own_labelled(path, some))
        else:
            corpus = read_own(path, langs)
            columns.path = dict.fromkeys(corpus.langs, path)
            columns.text = {lang: list(corpus[lang]) for lang in corpus.langs}
            _rows(columns, progress)
            return columns.report()
    except FormatError as error:
        found.append(error)
    problems = [Problem(str(path), e.line or 0, ERROR, "format", e.problem) for e in found]
    return Report((str(path),), tuple(map(str, langs)), rows, tuple(sorted(problems)))


def _table(path: Path, langs: tuple[Language, ...], columns: Columns) -> None:
    """The rows of a TSV or JSONL file; each bad one becomes a problem, and the others are looked at all the same."""
    lines, _ = _scan(path, columns)
    bad = {p.line for p in columns.problems if p.severity == ERROR}
    if not lines:
        return
    records = list(_records(path, lines, bad, columns))
    names = records[0][1] if records and open_table(path).delimiter == TAB else None
    if names is not None:
        records = records[1:]
    found = language_columns(path, names if names is not None else list(records[0][2]) if records else [])
    ids = Language.parse("id")
    if ids in found and ids not in langs and len(found) > 2:
        del found[ids]
    if missing := [str(lang) for lang in langs if lang not in found]:
        raise InputError(
            f"{path} has no column for {', '.join(missing)}: it has {', '.join(map(str, found)) or 'none'}"
        )
    if len(found) < 2:
        raise FormatError(path, 1, "no two columns are named by a language tag such as en or fr")
    chosen = {lang: str(found[lang]) for lang in langs or found}
    columns.path = dict.fromkeys(chosen, path)
    columns.text = {lang: [] for lang in chosen}
    for line, cells, record in records:
        values = dict(zip(names, cells, strict=True)) if names is not None else record
        wrong = [key for key in chosen.values() if not isinstance(values.get(key), str)]
        for key in wrong:
            what = f"{key!r} is {values[key]!r}, not text" if key in values else f"no {key!r}"
            columns.add(path, line, ERROR, "format", what)
        if not wrong:
            columns.lines.append(line)
            for lang, key in chosen.items():
                columns.text[lang].append(str(values[key]))


def _records(
    path: Path, lines: Sequence[str], bad: set[int], columns: Columns
) -> Iterator[tuple[int, list[str], dict[str, object]]]:
    """Line number, cells and JSON object of every line that has them."""
    delimiter = open_table(path).delimiter
    width = lines[0].count(TAB) + 1
    for number, line in enumerate(lines, 1):
        if number in bad or (delimiter == JSON and not line.strip()):
            continue
        if delimiter == TAB:
            cells = line.split(TAB)
            if len(cells) == width:
                yield number, cells, {}
            else:
                columns.add(path, number, ERROR, "format", f"{len(cells)} columns where the first row has {width}")
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            columns.add(path, number, ERROR, "format", f"not JSON: {str(error).splitlines()[0]}")
            continue
        if isinstance(record, dict):
            yield number, [], record
        else:
            kind = type(record).__name__
            columns.add(path, number, ERROR, "format", f"a JSON {kind} where an object was expected")


def _scan(path: Path, columns: Columns) -> tuple[list[str], bool]:
    """The lines of a file, and whether it could be read to its end; bytes that are no text become problems."""
    rows: list[str] = []
    try:
        with open_bytes(path) as stream:
            for number, raw in enumerate(stream, 1):
                if number == 1 and raw.startswith(b"\xef\xbb\xbf"):
                    columns.add(path, 1, WARNING, "bom", "starts with a byte order mark")
                    raw = raw[3:]
                if wrong := byte_problem(raw, number):
                    rule = "nul" if wrong.startswith("NUL") else "encoding"
                    columns.add(path, number, ERROR, rule, wrong)
                    if "UTF-16" in wrong:
                        return rows, False
                rows.append(raw.decode("utf-8", "replace").rstrip("\n").removesuffix("\r"))
    except InterlinguaError as error:
        line = error.line if isinstance(error, FormatError) else 0
        columns.add(path, line or 0, ERROR, "format", error.problem if isinstance(error, FormatError) else str(error))
        return rows, False
    if not rows:
        columns.add(path, 0, ERROR, "empty file", "the file is empty")
        return rows, False
    if len(rows) == 1 and rows[0].count("\r") > 0:
        columns.add(path, 1, ERROR, "line ends", "lines end in a carriage return alone (old Mac): save it with \\n")
    return rows, True


def _lengths(columns: Columns, damaged: set[Language]) -> None:
    counts = {lang: len(rows) for lang, rows in columns.text.items() if lang not in damaged}
    if not counts:
        return
    usual = Counter(counts.values()).most_common(1)[0][0]
    reference = next(lang for lang, n in counts.items() if n == usual)
    for lang, n in counts.items():
        if n != usual:
            message = f"{lang} has {n} lines and {reference} has {usual}: line i must translate line i"
            columns.add(columns.path[lang], min(n, usual) + 1, ERROR, "unequal lengths", message)


def _rows(columns: Columns, progress: Progress) -> None:
    """Checks of every row on its own, then of its languages against one another."""
    total = sum(map(len, columns.text.values()))
    done = 0
    for lang, column in columns.text.items():
        first: dict[str, int] = {}
        for row, text in enumerate(column):
            done += 1
            if done % 4096 == 0:
                progress(done, total)
            _row(columns, lang, row, text, first)
    langs = list(columns.text)
    for lang in langs[1:]:
        _ratios(columns, langs[0], lang)
    for row in range(max(map(len, columns.text.values()), default=0)):
        _untranslated(columns, row)


def _row(columns: Columns, lang: Language, row: int, text: str, first: dict[str, int]) -> None:
    key = text.strip()
    if not key:
        columns.at(lang, row, ERROR, "empty line", f"{lang} is empty")
        return
    earlier = first.setdefault(key, row)
    if earlier != row:
        columns.at(lang, row, WARNING, "duplicate", f"{lang} repeats line {columns.line(earlier)}")
    if not text.isprintable() and (control := CONTROL.search(text)) and control.group() not in "\x00\t":
        columns.at(lang, row, WARNING, "control", f"{lang} holds the control character U+{ord(control.group()):04X}")
    if wrong := wrong_script(text, lang):
        columns.at(lang, row, WARNING, "script", f"{lang} is written in {wrong}")


def _untranslated(columns: Columns, row: int) -> None:
    """A text that stands in two languages of one row."""
    seen: dict[str, Language] = {}
    for lang, column in columns.text.items():
        text = column[row].strip() if row < len(column) else ""
        other = seen.setdefault(text.casefold(), lang)
        if text and other != lang and sum(map(str.isalpha, text)) >= LETTERS_FROM:
            columns.at(lang, row, WARNING, "untranslated", f"{lang} is the same as {other}: {text[:40]!r}")


def _ratios(columns: Columns, source: Language, target: Language) -> None:
    lengths = [(len(a), len(b)) for a, b in zip(columns.text[source], columns.text[target], strict=False)]
    usual = median([b / a for a, b in lengths if a and b] or [1.0])
    for row, (a, b) in enumerate(lengths):
        if not a or not b or max(a, b) < RATIO_FROM:
            continue
        off = b / a / usual
        if not 1 / RATIO < off < RATIO:
            more = "longer" if off > 1 else "shorter"
            message = f"{target} is {max(off, 1 / off):.1f} times {more} than usual beside {source}"
            columns.at(target, row, WARNING, "length ratio", message)


_SCRIPTS = {
    code: regex.compile(rf"\p{{Script={code}}}")
    for code in "Latn Cyrl Arab Hani Hira Kana Hang Deva Grek Hebr Thai Beng Taml Telu Geor Armn Ethi Khmr Mymr Laoo "
    "Guru Gujr Knda Mlym Sinh Tibt Orya Cher Syrc Thaa Nkoo Tfng Olck Mong".split()
}
_LETTER = regex.compile(r"\p{L}")


@lru_cache(maxsize=65536)
def script_of(letter: str) -> str:
    """The script of a character: its ISO 15924 code where it is in the list above, else its Unicode name."""
    for code, pattern in _SCRIPTS.items():
        if pattern.fullmatch(letter):
            return code
    return unicodedata.name(letter, "?").split(" ")[0].title()


@lru_cache(maxsize=64)
def _right(script: str) -> regex.Pattern[str] | None:
    """A pattern for the letters a language is written with; None where its script is not in the list above."""
    codes = LETTERS.get(script, script).split()
    if not set(codes) <= set(_SCRIPTS):
        return None
    return regex.compile("[" + "".join(rf"\p{{Script={code}}}" for code in codes) + "]")


def wrong_script(text: str, lang: Language) -> str | None:
    """The script most letters are in, where that is not the language's; None where all is well or nothing is known."""
    pattern = _right(lang.script) if lang.script else None
    if pattern is None:
        return None
    if text.isascii() and lang.script == "Latn":
        return None
    letters = _LETTER.findall(text)
    if len(letters) < LETTERS_FROM or len(pattern.findall(text)) >= SCRIPT_SHARE * len(letters):
        return None
    return Counter(map(script_of, letters)).most_common(1)[0][0]
