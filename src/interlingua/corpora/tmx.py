"""Translation memories (TMX 1.1 to 1.4) as parallel text, read as a stream.

Text inside `bpt`, `ept`, `it`, `ph` and `ut` is mark-up of the translated document and left out; text inside `hi`
is text. External DTDs are never fetched and entity declarations are refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from xml.parsers import expat

from interlingua.corpora.files import open_bytes
from interlingua.errors import FormatError, LanguageError
from interlingua.languages import Language
from interlingua.types import ParallelCorpus

MARKUP = frozenset({"bpt", "ept", "it", "ph", "ut"})


class _Units:
    """Collects, for every translation unit, its first segment in each language."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.units: list[dict[Language, str]] = []
        self.repeated = 0
        self._stack: list[str] = []
        self._language: Language | None = None
        self._text: list[str] = []
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.EntityDeclHandler = self._entity

    def _entity(self, *_: object) -> None:
        raise FormatError(self.path, self.parser.CurrentLineNumber, "declares XML entities: refused")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if not self._stack and name != "tmx":
            raise FormatError(self.path, self.parser.CurrentLineNumber, f"the root is <{name}>, not <tmx>")
        self._stack.append(name)
        if name == "tu":
            self.units.append({})
        elif name == "tuv":
            tag = attributes.get("xml:lang") or attributes.get("lang")
            if not tag:
                raise FormatError(self.path, self.parser.CurrentLineNumber, "a <tuv> without xml:lang")
            try:
                self._language = Language.parse(tag)
            except LanguageError as error:
                raise FormatError(self.path, self.parser.CurrentLineNumber, str(error)) from error
        elif name == "seg":
            self._text = []

    def _end(self, name: str) -> None:
        self._stack.pop()
        if name == "seg" and self._language is not None and self.units:
            # Line breaks inside a segment are layout of the file.
            unit = self.units[-1]
            self.repeated += self._language in unit
            unit.setdefault(self._language, " ".join("".join(self._text).split()))

    def _characters(self, data: str) -> None:
        if "seg" in self._stack and not MARKUP.intersection(self._stack):
            self._text.append(data)


def read_tmx(
    path: Path, languages: Sequence[Language] = (), *, name: str = "unnamed", licence: str = "unknown"
) -> ParallelCorpus:
    """The units that have every wanted language (by default: every language that most units have)."""
    found = _Units(path)
    with open_bytes(path) as stream:
        try:
            found.parser.ParseFile(stream)
        except expat.ExpatError as error:
            raise FormatError(path, error.lineno, f"not XML: {expat.ErrorString(error.code)}") from error
        except (LookupError, ValueError) as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError(
                path, 1, f"declares an encoding that cannot be read ({error}): save it as UTF-8"
            ) from error
    if not found.units:
        raise FormatError(path, None, "holds no translation units (<tu>)")
    counts = Counter(lang for unit in found.units for lang in unit)
    wanted = tuple(languages) or tuple(lang for lang, n in counts.items() if 2 * n > len(found.units))
    rows = [(i, unit) for i, unit in enumerate(found.units, 1) if all(lang in unit for lang in wanted)]
    if len(wanted) < 2 or not rows:
        have = ", ".join(f"{lang} ({n})" for lang, n in counts.most_common()) or "no language at all"
        asked = " and ".join(map(str, wanted)) or "two languages"
        raise FormatError(path, None, f"no units with {asked}: it has {have}")
    left_out = len(found.units) - len(rows)
    notes = [f"{left_out} of {len(found.units)} units lack a language and were left out"] if left_out else []
    if found.repeated:
        notes.append(f"{found.repeated} second segments in the same language were left out")
    return ParallelCorpus(
        langs=wanted,
        columns=tuple(tuple(unit[lang] for _, unit in rows) for lang in wanted),
        ids=tuple(str(i) for i, _ in rows),
        name=name,
        licence=licence,
        notes=tuple(notes),
    )
