"""Which files of a data set answer a request for languages, a split and a part."""

from __future__ import annotations

import re
from collections.abc import Sequence

from interlingua.corpora.dataset import Dataset, File
from interlingua.errors import DataNotFoundError, InputError, UnknownNameError
from interlingua.languages import Language


class Choice:
    """The files that have the wanted split and part; its methods pick among them by language."""

    def __init__(self, dataset: Dataset, files: Sequence[File], split: str = "", part: str = "") -> None:
        self.dataset = dataset
        # The part first: not every part has every split.
        self.files = self._split(self._part(files, part), split)

    def _part(self, files: Sequence[File], part: str) -> list[File]:
        if not part:
            default = [f for f in files if f.part == self.dataset.part]
            return default if self.dataset.part or default else list(files)
        chosen = [f for f in files if part.lower() in _part_names(f)]
        if not chosen:
            names = {name for f in files if f.part for name in (label(f),)}
            raise UnknownNameError(f"part of {self.dataset.name}", part, names)
        return chosen

    def _split(self, files: Sequence[File], split: str) -> list[File]:
        aliases = self.dataset.aliases
        if not files:
            raise DataNotFoundError(
                f"{self.dataset.name} is there, but none of its files is of the part {self.dataset.part!r}"
            )
        splits = sorted({f.split for f in files})
        default = aliases.get(self.dataset.split, self.dataset.split)
        wanted = aliases.get(split, split) if split else (default if default in splits else splits[0])
        if wanted not in splits:
            named = [s for s in splits if s]
            raise UnknownNameError(
                f"split of {self.dataset.name}", wanted, named, "" if named else "it has none: leave it out"
            )
        return [f for f in files if f.split == wanted]

    def labels(self, file: File | None = None) -> dict[str, str]:
        """Name and licence for the record of one file, or of all."""
        parts = {label(f) for f in ([file] if file else self.files) if f.part}
        part = f"/{parts.pop()}" if len(parts) == 1 else ""
        split = f":{self.files[0].split}" if self.files[0].split else ""
        return {"name": self.dataset.name + part + split, "licence": self.dataset.licence}

    def languages(self) -> list[Language]:
        """The languages at hand."""
        return sorted({f.side or lang for f in self.files for lang in f.languages})

    def for_language(self, lang: Language) -> list[File]:
        """The files in one language: of several regions the one asked for; `zh` alone finds either script."""
        found = [f for f in self.files if _language(f) == lang]
        if not found and not re.search("[-_]", lang.tag):
            found = [f for f in self.files if _language(f).language == lang.language]
        if not found:
            raise UnknownNameError(f"language in {self.dataset.name}", str(lang), map(str, self.languages()))
        return [f for f in found if _language(f).region == lang.region] or found

    def one_each(self, wanted: Sequence[Language]) -> list[File]:
        """One file a language; without languages, one for each there is (the first of several regions)."""
        if not wanted:
            return [self.for_language(lang)[0] for lang in self.languages()]
        return [self._only(lang) for lang in wanted]

    def single(self, wanted: Sequence[Language]) -> File:
        """The one file of a record in one language."""
        return self._only(self.one_language(wanted))

    def one_language(self, wanted: Sequence[Language]) -> Language:
        """The one language asked for, or the only one there is."""
        known = self.languages()
        if len(wanted) == 1 or (not wanted and len(known) == 1):
            return wanted[0] if wanted else known[0]
        names = ", ".join(map(str, known))
        raise InputError(f"{self.dataset.name} is read one language at a time: ask for one of {names}")

    def _only(self, lang: Language) -> File:
        found = self.for_language(lang)
        if len(found) > 1:
            prefix = f"{self.dataset.name}/" if found[0].part else ""
            names = " or ".join(sorted({prefix + label(f) for f in found}))
            raise InputError(f"{self.dataset.name} has {lang} more than once: say {names}")
        return found[0]

    def two(self, wanted: Sequence[Language]) -> tuple[Language, Language]:
        """The two languages asked for, or the only pair there is."""
        pairs = sorted({f.languages for f in self.files if len(f.languages) == 2})
        if not wanted and len(pairs) == 1:
            return pairs[0][0], pairs[0][1]
        if len(wanted) == 2 and wanted[0] != wanted[1]:
            return wanted[0], wanted[1]
        known = ", ".join(f"{a}-{b}" for a, b in pairs) or ", ".join(map(str, self.languages()))
        raise InputError(f"{self.dataset.name} comes in pairs of languages: ask for two of {known}")

    def pair(self, source: Language, target: Language, *, either_way: bool) -> list[File]:
        """The files of a pair, in this direction or, where allowed, the other."""
        orders = ((source, target), (target, source)) if either_way else ((source, target),)
        for order in orders:
            if found := [f for f in self.files if f.languages == order]:
                return found
        known = {f"{a}-{b}" for a, b in {f.languages for f in self.files}}
        raise UnknownNameError(f"pair in {self.dataset.name}", f"{source}-{target}", known)


def _language(file: File) -> Language:
    return file.side or file.languages[0]


def label(file: File) -> str:
    """How a part is cited: `en_ewt` where files are named so, else `mnli`; without a part, the file's tag."""
    if not file.part:
        return _language(file).tag
    named = re.match(rf"[a-z]{{2,3}}_{re.escape(file.part)}", file.path.name)
    return named.group() if named else file.part


def _part_names(file: File) -> set[str]:
    """What a part may be called: `ewt`, `en_ewt`, or the folder it lies in."""
    return {file.part.lower(), file.path.parent.name.lower(), label(file).lower()}
