"""What is wrong with a user's parallel files: every problem, with file and line.

Errors make a corpus unusable (rows missing, bytes that are no text); warnings make its numbers less meaningful
(an untranslated row counts as a perfect match). Nothing is read twice and nothing stops at the first problem.
"""

from __future__ import annotations

import json
import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import median

import regex

from interlingua.corpora.bio import read_tagged
from interlingua.corpora.columns import JSON, KINDS, TAB, open_table
from interlingua.corpora.conllu import read_conllu
from interlingua.corpora.files import byte_problem, open_bytes, plain_suffix
from interlingua.corpora.own import TAGGED, files_by_language, language_of, read_own
from interlingua.errors import DataNotFoundError, FormatError, InputError
from interlingua.languages import Language

# A row is extreme when its length ratio is this many times the usual one of the pair, and one side is long enough.
RATIO = 4.0
RATIO_FROM = 20
# The letters a script is written with, where the code stands for several.
LETTERS = {"Hans": "Hani", "Hant": "Hani", "Jpan": "Hani Hira Kana", "Kore": "Hang Hani", "Hrkt": "Hira Kana"}
# Letters that must be of the language's script, of those in a row that has at least LETTERS_FROM of them.
SCRIPT_SHARE = 0.5
LETTERS_FROM = 4


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
        return sum(p.severity == "error" for p in self.problems)

    @property
    def warnings(self) -> int:
        """How many problems make its numbers less meaningful."""
        return len(self.problems) - self.errors


def check(paths: Sequence[Path], languages: Sequence[str | Language] = ()) -> Report:
    """Check line-aligned files or a folder of them, a table, a TMX file, a CoNLL-U file or files of tagged words."""
    langs = tuple(map(Language.parse, languages))
    if not paths:
        raise InputError("name a folder or files to check")
    if missing := [p for p in paths if not p.exists()]:
        raise DataNotFoundError(f"{missing[0]} does not exist")
    if len(paths) == 1 and paths[0].is_dir():
        paths = [p for p in sorted(paths[0].iterdir()) if p.is_file() and language_of(p) is not None]
        if not paths:
            raise DataNotFoundError("the folder holds no files named by a language, such as en.txt and fr.txt")
    if len(paths) == 1 and plain_suffix(paths[0]) in {".tmx", ".conllu", *TAGGED, *KINDS}:
        return _check_structured(paths[0], langs)
    files = files_by_language(paths, langs)
    problems: list[Problem] = []
    texts = {lang: _scan(path, problems) for lang, path in files.items()}
    problems += _lengths(files, texts)
    problems += _rows(files, texts)
    return _report(files, texts, problems)


def _report(
    files: Mapping[Language, Path], texts: Mapping[Language, Sequence[str]], problems: Sequence[Problem]
) -> Report:
    return Report(
        tuple(dict.fromkeys(map(str, files.values()))),
        tuple(map(str, files)),
        max(map(len, texts.values()), default=0),
        tuple(sorted(problems)),
    )


def _check_structured(path: Path, langs: tuple[Language, ...]) -> Report:
    """One file that its reader understands: the reader's errors, then the checks of rows on what it read."""
    found: list[FormatError] = []
    rows = 0
    suffix = plain_suffix(path)
    try:
        if suffix == ".conllu":
            rows = len(read_conllu(path, langs[0] if langs else Language.parse("en"), damaged=found))
        elif suffix in TAGGED:
            rows = len(read_tagged(path, langs[0] if langs else Language.parse("en")))
        else:
            corpus = read_own(path, langs)
            files = dict.fromkeys(corpus.langs, path)
            texts = dict(zip(corpus.langs, corpus.columns, strict=True))
            return _report(files, texts, list(_rows(files, texts, [int(i) for i in corpus.ids])))
    except FormatError as error:
        found.append(error)
    problems = [Problem(str(path), e.line or 0, "error", "format", e.problem) for e in found]
    if KINDS.get(suffix) in (TAB, JSON):
        problems = _bad_lines(path, problems)
    return Report((str(path),), tuple(map(str, langs)), rows, tuple(sorted(problems)))


def _bad_lines(path: Path, problems: list[Problem]) -> list[Problem]:
    """The reader stops at the first bad line of a table: find the others of its kind too."""
    listed = {p.line for p in problems}
    scanned: list[Problem] = []
    lines = _scan(path, scanned)
    table = open_table(path, header=True)
    width = lines[0].count(TAB) + 1 if lines else 0
    for number, line in enumerate(lines, 1):
        if table.delimiter == TAB and line.count(TAB) + 1 != width:
            message = f"{line.count(TAB) + 1} columns where the first row has {width}"
            scanned.append(Problem(str(path), number, "error", "format", message))
        elif table.delimiter == JSON and line.strip():
            try:
                json.loads(line)
            except (json.JSONDecodeError, RecursionError) as error:
                scanned.append(Problem(str(path), number, "error", "format", f"not JSON: {error}"))
    return problems + [p for p in scanned if p.line not in listed]


def _scan(path: Path, problems: list[Problem]) -> list[str]:
    """The lines of a file; bytes that are no text become problems and an empty row, so that rows keep their places."""
    rows = []
    try:
        with open_bytes(path) as stream:
            for number, raw in enumerate(stream, 1):
                if number == 1 and raw.startswith(b"\xef\xbb\xbf"):
                    problems.append(Problem(str(path), 1, "warning", "bom", "starts with a byte order mark"))
                    raw = raw[3:]
                if wrong := byte_problem(raw, number):
                    rule = "nul" if wrong.startswith("NUL") else "encoding"
                    problems.append(Problem(str(path), number, "error", rule, wrong))
                rows.append(raw.decode("utf-8", "replace").rstrip("\r\n"))
    except FormatError as error:
        problems.append(Problem(str(path), error.line or 0, "error", "format", error.problem))
    if not rows:
        problems.append(Problem(str(path), 0, "error", "empty file", "the file is empty"))
    return rows


def _lengths(files: Mapping[Language, Path], texts: Mapping[Language, Sequence[str]]) -> Iterator[Problem]:
    counts = {lang: len(rows) for lang, rows in texts.items()}
    usual = Counter(counts.values()).most_common(1)[0][0]
    reference = next(lang for lang, n in counts.items() if n == usual)
    for lang, n in counts.items():
        if n != usual:
            message = f"{lang} has {n} lines and {reference} has {usual}: line i must translate line i"
            yield Problem(str(files[lang]), min(n, usual) + 1, "error", "unequal lengths", message)


def _rows(
    files: Mapping[Language, Path], texts: Mapping[Language, Sequence[str]], lines: Sequence[int] = ()
) -> Iterator[Problem]:
    """Checks of each row; `lines` are the rows' line numbers where they are not 1, 2, 3, ..."""

    def problem(lang: Language, row: int, severity: str, rule: str, message: str) -> Problem:
        return Problem(str(files[lang]), lines[row] if lines else row + 1, severity, rule, message)

    for lang, column in texts.items():
        first: dict[str, int] = {}
        for row, text in enumerate(column):
            key = " ".join(text.split())
            if not key:
                yield problem(lang, row, "error", "empty line", f"{lang} is empty")
                continue
            if key in first:
                earlier = lines[first[key]] if lines else first[key] + 1
                yield problem(lang, row, "warning", "duplicate", f"{lang} repeats line {earlier}")
            first.setdefault(key, row)
            if wrong := wrong_script(text, lang):
                yield problem(lang, row, "warning", "script", f"{lang} is written in {wrong}")
    langs = list(texts)
    for lang in langs[1:]:
        yield from _pair_problems(problem, langs[0], lang, texts)


def _pair_problems(
    problem: Callable[[Language, int, str, str, str], Problem],
    source: Language,
    target: Language,
    texts: Mapping[Language, Sequence[str]],
) -> Iterator[Problem]:
    rows = list(zip(texts[source], texts[target], strict=False))
    ratios = [math.log(len(b) / len(a)) for a, b in rows if a.strip() and b.strip()]
    usual = median(ratios) if ratios else 0.0
    for row, (a, b) in enumerate(rows):
        left, right = " ".join(a.split()), " ".join(b.split())
        if not left or not right:
            continue
        if left.casefold() == right.casefold() and sum(map(str.isalpha, left)) >= LETTERS_FROM:
            yield problem(target, row, "warning", "untranslated", f"{target} is the same as {source}: {left[:40]!r}")
            continue
        off = math.log(len(b) / len(a)) - usual
        if max(len(a), len(b)) >= RATIO_FROM and abs(off) > math.log(RATIO):
            more = "longer" if off > 0 else "shorter"
            message = f"{target} is {math.exp(abs(off)):.1f} times {more} than usual beside {source}"
            yield problem(target, row, "warning", "length ratio", message)


@lru_cache(maxsize=65536)
def script_of(letter: str) -> str:
    """The script of a character: its ISO 15924 code where it is in the list below, else its Unicode name."""
    for code in _SCRIPTS:
        if _SCRIPTS[code].fullmatch(letter):
            return code
    return unicodedata.name(letter, "?").split(" ")[0].title()


_SCRIPTS = {
    code: regex.compile(rf"\p{{Script={code}}}")
    for code in "Latn Cyrl Arab Hani Hira Kana Hang Deva Grek Hebr Thai Beng Taml Telu Geor Armn Ethi Khmr Mymr Laoo "
    "Guru Gujr Knda Mlym Sinh Tibt Orya Cher Syrc Thaa Nkoo Tfng Olck Mong".split()
}


def wrong_script(text: str, lang: Language) -> str | None:
    """The script most letters are in, where that is not the language's; None where all is well or nothing is known."""
    if lang.script is None:
        return None
    right = LETTERS.get(lang.script, lang.script).split()
    letters = [c for c in text if c.isalpha()]
    counts = Counter(map(script_of, letters))
    if len(letters) < LETTERS_FROM or not set(right) & set(_SCRIPTS):
        return None
    if sum(counts[s] for s in right) >= SCRIPT_SHARE * len(letters):
        return None
    return counts.most_common(1)[0][0]
