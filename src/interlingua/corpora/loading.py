"""A name or a path becomes a typed record.

`load("ntrex", "en", "fr")` gives what the catalogue says the data set is. The functions named after a kind
(`parallel`, `labelled`, `tagged`, `treebank`, `dictionary`, `bitext`, `text`) also read a user's own files, and say
so where a data set is of another kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from interlingua.corpora.alignments import read_aligned_jsonl, read_aligned_tsv
from interlingua.corpora.bio import read_tagged
from interlingua.corpora.choice import Choice
from interlingua.corpora.columns import KINDS
from interlingua.corpora.conllu import read_conllu
from interlingua.corpora.dataset import Dataset, Kind
from interlingua.corpora.files import plain_suffix
from interlingua.corpora.lexicon import read_dictionary
from interlingua.corpora.own import TAGGED, is_labelled, language_of, read_own, read_own_labelled
from interlingua.corpora.places import find, places
from interlingua.corpora.plain import read_text
from interlingua.errors import DataNotFoundError, DownloadError, InputError, MissingExtraError, UnknownNameError
from interlingua.languages import Language
from interlingua.types import (
    Bitext,
    Corpus,
    Dictionary,
    LabelledCorpus,
    ParallelCorpus,
    TaggedCorpus,
    TextCorpus,
    Treebank,
)

Record = Corpus | TextCorpus
_ENTITY = re.compile(r"O$|[BIESLU]-")
R = TypeVar("R", bound=Record)
Tag = str | Language


def load(name: str, *languages: Tag, split: str = "", path: str | Path | None = None) -> Record:
    """The record of a data set of the catalogue.

    `name` may name a part and a split (`ud/en_ewt:dev`, `mono/europarl`). Parallel text takes any number of languages
    (all by default, where there is one n-way corpus), dictionaries and alignments two, everything else one.
    `path` is the data set's folder, where it is in none of the usual places.
    """
    dataset, part, named = find(name)
    split = split or named
    wanted = tuple(map(Language.parse, languages))
    if len(set(wanted)) < len(wanted):
        raise InputError(f"{', '.join(lang.tag for lang in wanted)}: the same language twice")
    folder = None if path is None else Path(path)
    unmet: UnknownNameError | None = None
    # The first place that can answer this request: one that holds other languages of the data set does not count.
    for _, place in places(dataset, folder):
        files = dataset.scan(place) if place.is_dir() else []
        if not files:
            continue
        try:
            return _READERS[dataset.kind](Choice(dataset, files, split, part), wanted)
        except UnknownNameError as error:
            unmet = unmet or error
    # Its address may have what is missing here; the Hub, slow to say no, is asked only where nothing is here.
    if folder is None and (dataset.origin.url or (dataset.hub and unmet is None)):
        try:
            return _from_afar(dataset, wanted, split, part)
        except (DownloadError, DataNotFoundError, MissingExtraError, InputError) as error:
            if unmet is None:
                hint = "set INTERLINGUA_DATA to a folder that holds " + dataset.directory
                raise DataNotFoundError(f"{dataset.name} is not on this machine ({hint}) and: {error}") from error
    if unmet is not None:
        raise unmet
    looked = " or ".join(str(place) for _, place in places(dataset, folder))
    raise DataNotFoundError(
        f"{dataset.name} is not in {looked}: get it from {dataset.origin.page}, put it in a folder {dataset.directory} "
        "and set INTERLINGUA_DATA to the folder above that"
    )


def _from_afar(dataset: Dataset, wanted: tuple[Language, ...], split: str, part: str) -> Record:
    """The record from the data set's address or from the Hub."""
    if dataset.origin.url:
        from interlingua.corpora.fetch import fetch_dataset

        files = dataset.scan(fetch_dataset(dataset, wanted, split=split, part=part))
        return _READERS[dataset.kind](Choice(dataset, files, split, part), wanted)
    from interlingua.corpora.hub import load_from_hub

    return load_from_hub(dataset, wanted, split=split, part=part)


def _read_parallel(choice: Choice, wanted: tuple[Language, ...]) -> ParallelCorpus:
    dataset = choice.dataset
    if len(choice.files[0].languages) == 2:
        return _read_pair(choice, wanted)
    chosen = choice.one_each(wanted)
    files = {f.languages[0]: f.path for f in chosen}
    ids = {"ids": next(iter(files.values())).with_name(dataset.ids)} if dataset.ids else {}
    corpus: ParallelCorpus = dataset.read(files, **ids, **choice.labels())
    passed = [f.languages[0].tag for f in choice.files if f.languages[0] in files and f not in chosen]
    note = (f"read without {', '.join(passed)}: a second text in the same language",) if passed else ()
    return replace(corpus, notes=(*corpus.notes, *note))


def _read_pair(choice: Choice, wanted: tuple[Language, ...]) -> ParallelCorpus:
    found = choice.pair(*choice.two(wanted), either_way=True)
    if found[0].side is not None:
        corpus = choice.dataset.read({f.side: f.path for f in found}, **choice.labels())
    else:
        corpus = choice.dataset.read(found[0].path, *found[0].languages, **choice.labels())
    return corpus.languages(*wanted) if wanted else corpus  # type: ignore[no-any-return]


def _read_one(choice: Choice, wanted: tuple[Language, ...]) -> Record:
    """Everything that is in one language at a time."""
    file = choice.single(wanted)
    return choice.dataset.read(file.path, file.languages[0], **choice.labels(file))  # type: ignore[no-any-return]


def _read_dictionary(choice: Choice, wanted: tuple[Language, ...]) -> Dictionary:
    dataset = choice.dataset
    source, target = choice.two(wanted)
    if choice.files[0].side is not None:
        files = {f.languages[0]: f.path for f in choice.one_each((source, target))}
        return dataset.read(files, *files, **choice.labels())  # type: ignore[no-any-return]
    file = choice.pair(source, target, either_way=True)[0]
    dictionary: Dictionary = dataset.read(file.path, *file.languages, **choice.labels())
    if file.languages == (source, target):
        return dictionary
    note = f"inverted: the file is {target}-{source}"
    return replace(dictionary.inverse(), notes=(*dictionary.notes, note))


def _read_bitext(choice: Choice, wanted: tuple[Language, ...]) -> Bitext:
    source, target = choice.two(wanted)
    found = choice.pair(source, target, either_way=False)
    if len(found) > 1:
        names = " or ".join(f"{choice.dataset.name}/{f.part}" for f in found)
        raise InputError(f"{choice.dataset.name} has {source}-{target} more than once: say {names}")
    return choice.dataset.read(found[0].path, source, target, **choice.labels())  # type: ignore[no-any-return]


def _read_text(choice: Choice, wanted: tuple[Language, ...]) -> TextCorpus:
    files = choice.for_language(choice.one_language(wanted))
    return choice.dataset.read([f.path for f in files], files[0].languages[0], **choice.labels())  # type: ignore[no-any-return]


_READERS: dict[Kind, Callable[[Choice, tuple[Language, ...]], Record]] = {
    Kind.PARALLEL: _read_parallel,
    Kind.LABELLED: _read_one,
    Kind.TAGGED: _read_one,
    Kind.TREEBANK: _read_one,
    Kind.DICTIONARY: _read_dictionary,
    Kind.BITEXT: _read_bitext,
    Kind.TEXT: _read_text,
}


def _of_type(kind: type[R], record: Record, name: str, wanted: str) -> R:
    if not isinstance(record, kind):
        raise InputError(f"{name} is {find(name)[0].kind}, not {wanted}")
    return record


def own_path(source: str | Path) -> Path | None:
    """The path `source` names, or None where it is the name of a data set; an error where it is neither."""
    if not isinstance(source, str | Path) or not str(source):
        raise InputError(f"{source!r} is neither the name of a data set nor a path")
    if isinstance(source, Path):
        return source
    try:
        find(source)
    except UnknownNameError:
        path = Path(source)
        if not path.exists() and (path.suffix or path.parent != Path()):
            raise DataNotFoundError(f"{source} does not exist, and is no data set of the catalogue") from None
        if path.exists():
            return path
        raise
    return None


def parallel(
    source: str | Path | Mapping[str, str | Path], *languages: Tag, split: str = "", path: str | Path | None = None
) -> ParallelCorpus:
    """Parallel text: a data set by name, a folder of line-aligned files, {language: file}, a table, or a TMX file.

    Data sets whose row i is the same sentence in every language (xnli, pawsx, xcopa, PUD treebanks) serve too:
    their first field, or their sentences; rows that repeat an earlier one in all languages are left out and counted.
    """
    wanted = tuple(map(Language.parse, languages))
    own = None if isinstance(source, Mapping) else own_path(source)
    if isinstance(source, Mapping):
        return read_own(source, wanted)
    if own is not None:
        return read_own(own, wanted)
    name = str(source)
    dataset = find(name)[0]
    if dataset.row_aligned:
        return _from_rows(dataset, name, wanted, split, path)
    return _of_type(ParallelCorpus, load(name, *wanted, split=split, path=path), name, "parallel text")


def _from_rows(
    dataset: Dataset, name: str, wanted: tuple[Language, ...], split: str, path: str | Path | None
) -> ParallelCorpus:
    if len(wanted) < 2:
        raise InputError(f"{name} as parallel text: say which languages, at least two")
    texts: dict[Language, tuple[str, ...]] = {}
    ids: set[tuple[str, ...]] = set()
    for lang in wanted:
        record = load(name, lang, split=split, path=path)
        ids.add(getattr(record, "ids", ()))
        if isinstance(record, LabelledCorpus):
            texts[record.language] = tuple(row[0] for row in record.texts)
        elif isinstance(record, Treebank):
            if len(ids) > 1:
                raise InputError(
                    f"{name}: the treebanks do not hold the same sentences; ud/pud does, in many languages"
                )
            texts[record.language] = tuple(tree.text or " ".join(tree.tokens) for tree in record.trees)
        elif isinstance(record, TaggedCorpus):
            texts[record.language] = tuple(map(" ".join, record.words))
    # Ids that all languages share are the rows' own; otherwise rows are counted.
    shared = ids.pop() if len(ids) == 1 else ()
    corpus = ParallelCorpus.from_texts(texts, name=name, licence=dataset.licence, ids=shared)
    # Whole rows, whatever the order of languages: a text that repeats in one language alone is another sentence.
    order = sorted(range(len(corpus.langs)), key=lambda k: corpus.langs[k])
    rows = list(zip(*(corpus.columns[k] for k in order), strict=True))
    keep = sorted({row: i for i, row in reversed(list(enumerate(rows)))}.values())
    if len(keep) == len(corpus):
        return corpus
    note = f"{len(corpus) - len(keep)} of {len(corpus)} rows repeat an earlier one and were left out"
    return replace(corpus.take(keep), notes=(note,))


def own(path: Path, *languages: Tag) -> Record:
    """A user's own file or folder as whatever its suffix and header say it is."""
    if not path.exists():
        raise DataNotFoundError(f"{path} does not exist")
    suffix = plain_suffix(path)
    wanted = tuple(map(Language.parse, languages))
    if path.is_dir() or suffix == ".tmx" or (suffix in KINDS and not is_labelled(path)):
        return read_own(path, wanted)
    lang = wanted[0] if wanted else language_of(path)
    if lang is None:
        raise InputError(f"{path.name} does not say its language: name it like news.fr{suffix}, or say the language")
    if suffix in KINDS:
        return read_own_labelled(path, lang)
    if suffix == ".conllu":
        return read_conllu(path, lang, name=path.name)
    return read_tagged(path, lang, name=path.name) if suffix in TAGGED else read_text([path], lang, name=path.name)


def labelled(source: str | Path, language: Tag, *, split: str = "", path: str | Path | None = None) -> LabelledCorpus:
    """Labelled sentences or pairs: a data set by name, or a table with a header (premise, hypothesis, label)."""
    if own := own_path(source):
        return read_own_labelled(own, Language.parse(language))
    record = load(str(source), language, split=split, path=path)
    return _of_type(LabelledCorpus, record, str(source), "labelled sentences")


def tagged(source: str | Path, language: Tag, *, split: str = "", path: str | Path | None = None) -> TaggedCorpus:
    """Tagged words: a data set by name (a treebank gives its parts of speech), or a file of words and tags.

    A CoNLL-U file gives its parts of speech. Tags of other files are entities if one of them looks like one (B-PER).
    """
    if own := own_path(source):
        lang = Language.parse(language)
        if plain_suffix(own) == ".conllu":
            return read_conllu(own, lang, name=own.name).tagged()
        plain = read_tagged(own, lang, entities=False, name=own.name)
        if plain.tags is not None and not any(_ENTITY.match(tag) for row in plain.tags for tag in row):
            return plain
        return read_tagged(own, lang, name=own.name)
    record = load(str(source), language, split=split, path=path)
    if isinstance(record, Treebank):
        return record.tagged()
    return _of_type(TaggedCorpus, record, str(source), "tagged words")


def treebank(source: str | Path, language: Tag, *, split: str = "", path: str | Path | None = None) -> Treebank:
    """A treebank: a data set by name (`ud/en_ewt`), or a CoNLL-U file."""
    if own := own_path(source):
        return read_conllu(own, Language.parse(language), name=own.name)
    return _of_type(Treebank, load(str(source), language, split=split, path=path), str(source), "a treebank")


def dictionary(
    name: str | Path, source: Tag, target: Tag, *, split: str = "", path: str | Path | None = None
) -> Dictionary:
    """A bilingual dictionary: a data set by name, or a file with a pair of words a line."""
    if own := own_path(name):
        return read_dictionary(own, Language.parse(source), Language.parse(target), name=own.name)
    record = load(str(name), source, target, split=split, path=path)
    return _of_type(Dictionary, record, str(name), "a dictionary")


def dictionaries(name: str | Path, source: Tag, target: Tag, *, test: str | Path = "") -> tuple[Dictionary, Dictionary]:
    """A dictionary to learn from and one to be judged by, with no source word in both.

    `test` names the second; without it, the splits train and test of a data set are taken where it has them, and every
    fourth word is put aside otherwise.
    """
    if not test and own_path(name) is None:
        try:
            learn, judge = (dictionary(name, source, target, split=split) for split in ("train", "test"))
        except UnknownNameError:
            learn = dictionary(name, source, target)
            judge = None
    else:
        learn = dictionary(name, source, target)
        judge = dictionary(test, source, target) if test else None
    if judge is None:
        return (
            learn.take([i for i in range(len(learn.words)) if i % 4]),
            learn.take(list(range(0, len(learn.words), 4))),
        )
    asked = {word.lower() for word in judge.words}
    kept = [i for i, word in enumerate(learn.words) if word.lower() not in asked]
    if not kept:
        raise InputError(f"every word of {learn.name} is in {judge.name} too: nothing is left to learn from")
    return learn if len(kept) == len(learn.words) else learn.take(kept), judge


def bitext(name: str | Path, source: Tag, target: Tag, *, split: str = "", path: str | Path | None = None) -> Bitext:
    """Word-aligned sentence pairs: a data set by name, or a file (.jsonl with word lists, or TSV with links)."""
    if own := own_path(name):
        read = read_aligned_jsonl if KINDS.get(plain_suffix(own)) == "json" else read_aligned_tsv
        return read(own, Language.parse(source), Language.parse(target), name=own.name)
    return _of_type(Bitext, load(str(name), source, target, split=split, path=path), str(name), "word alignments")


def _of_language(folder: Path, language: Language) -> list[Path]:
    """The files of a folder that say they are of a language (news.fr.txt); all of them where names say nothing."""
    found = sorted(p for p in folder.iterdir() if p.is_file())
    said = {path: language_of(path) for path in found}
    if own := [path for path in found if said[path] == language]:
        return own
    # one name that happens to be a language's (new.txt) says nothing yet
    others = sorted({str(lang) for lang in said.values() if lang})
    if len(others) > 1:
        raise UnknownNameError(f"language of {folder.name}", str(language), others)
    return found


def text(source: str | Path, language: Tag, *, path: str | Path | None = None) -> TextCorpus:
    """Monolingual text as a stream: a data set by name, a file, or the files of a folder that are of the language."""
    if own := own_path(source):
        files = _of_language(own, Language.parse(language)) if own.is_dir() else [own]
        return read_text(files, Language.parse(language), name=own.name)
    return _of_type(TextCorpus, load(str(source), language, path=path), str(source), "plain text")
