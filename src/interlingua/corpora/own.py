"""A user's own files: which languages their names say, and which reader their suffix asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from interlingua.corpora.aligned import read_lines, read_table
from interlingua.corpora.columns import KINDS, open_table
from interlingua.corpora.files import plain_suffix
from interlingua.corpora.labels import read_labelled
from interlingua.corpora.tmx import read_tmx
from interlingua.errors import DataNotFoundError, FormatError, InputError, LanguageError
from interlingua.languages import Language
from interlingua.types import LabelledCorpus, ParallelCorpus

# What stands behind the language in a file name and says nothing about it.
SUFFIXES_OF_DATA = frozenset(
    "txt text tsv tab csv jsonl ndjson json tmx conllu conll bio iob iob2 gz bz2 xz zst "
    "train dev devtest test val valid validation".split()
)
# Words in file names and headings that happen to be language codes.
NO_LANGUAGE = frozenset(
    "all bak bpe cfg doc ids key log low new num old out raw ref row set sh src tar tex tgt tmp tok url xml zip".split()
)
TEXT_FIELDS = (("premise", "hypothesis"), ("sentence1", "sentence2"), ("sentence",), ("text",))
TAGGED = frozenset({".conll", ".bio", ".iob", ".iob2"})
LABEL_FIELDS = ("label", "gold_label", "labels", "class")


def language_of(path: Path) -> Language | None:
    """The language in a file name, if any: `en.txt`, `news.fr.txt.gz`, `corpus.de-en.en`, `eng_Latn.devtest`."""
    words = path.name.split(".")
    if path.name.startswith(".") or path.name.endswith("~"):
        return None
    while len(words) > 1 and words[-1].lower() in SUFFIXES_OF_DATA:
        words.pop()
    tag = words[-1]
    # A bare last suffix may be that of anything: three letters are a language only behind a pair, as in x.deu-eng.deu.
    bare = len(words) > 1 and words[-1] == path.suffix[1:] and len(tag) == 3
    if tag.lower() in NO_LANGUAGE or (bare and tag not in ".".join(words[:-1]).replace("-", ".").split(".")):
        return None
    try:
        return Language.parse(tag)
    except LanguageError:
        return None


def files_by_language(paths: Sequence[Path], languages: Sequence[Language] = ()) -> dict[Language, Path]:
    """Each file under its language: as its name says or, where no name says otherwise, as given in order."""
    named = [language_of(path) for path in paths]
    if len(languages) == len(paths) and all(n in (None, lang) for n, lang in zip(named, languages, strict=True)):
        return dict(zip(languages, paths, strict=True))
    found: dict[Language, Path] = {}
    for path in paths:
        lang = language_of(path)
        if lang is None:
            raise InputError(
                f"{path.name} does not say its language: name it like en.txt, or pass the languages in order"
            )
        if lang in found:
            raise InputError(f"{found[lang].name} and {path.name} are both {lang}: pass one file a language")
        found[lang] = path
    if missing := [str(lang) for lang in languages if lang not in found]:
        raise InputError(f"no file for {', '.join(missing)}: there are {', '.join(p.name for p in found.values())}")
    return {lang: found[lang] for lang in languages} if languages else found


def read_own(source: Path | Mapping[str, str | Path], languages: Sequence[Language] = ()) -> ParallelCorpus:
    """Parallel text from a folder of line-aligned files, a mapping of language to file, a table, or a TMX file."""
    if isinstance(source, Mapping):
        files = {Language.parse(tag): Path(path) for tag, path in source.items()}
        if missing := [str(lang) for lang in languages if lang not in files]:
            raise InputError(f"no file was given for {', '.join(missing)}: there are {', '.join(map(str, files))}")
        return read_lines({lang: files[lang] for lang in languages or files}, name="+".join(map(str, files)) or "{}")
    if not source.exists():
        raise DataNotFoundError(f"{source} does not exist")
    if source.is_dir():
        paths = [p for p in sorted(source.iterdir()) if p.is_file() and language_of(p) is not None]
        if not paths:
            raise DataNotFoundError(f"{source} holds no files named by a language, such as en.txt and fr.txt")
        return read_lines(files_by_language(paths, languages), name=source.name)
    if plain_suffix(source) == ".tmx":
        return read_tmx(source, languages, name=source.name)
    if plain_suffix(source) in KINDS:
        return read_table(source, languages, name=source.name)
    raise InputError(
        f"{source} is one file of plain text: parallel text is a folder of such files, a .tsv, .csv or .jsonl with "
        "a column a language, or a .tmx"
    )


def is_labelled(path: Path) -> bool:
    """Whether the header of a table names a text and a label rather than languages."""
    names = set(open_table(path, header=True).names())
    return any(set(f) <= names for f in TEXT_FIELDS) and bool(names & set(LABEL_FIELDS))


def read_own_labelled(path: Path, language: Language) -> LabelledCorpus:
    """A table with a header: premise and hypothesis, sentence1 and sentence2, sentence, or text; and a label."""
    names = open_table(path, header=True).names()
    fields = next((f for f in TEXT_FIELDS if set(f) <= set(names)), None)
    label = next((f for f in LABEL_FIELDS if f in names), None)
    if fields is None:
        wanted = " or ".join(" and ".join(f) for f in TEXT_FIELDS)
        raise FormatError(path, 1, f"no columns named {wanted}: it has {', '.join(names)}")
    ids = "id" if "id" in names else None
    return read_labelled(path, language, {f: f for f in fields}, label, header=True, ids=ids, name=path.name)
