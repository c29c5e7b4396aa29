"""From settings to what training reads: a vocabulary, a stream of tokens for each language, and lines held out.

What was prepared is kept in the run's folder and used again as long as the settings it came from are the same.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from interlingua.corpora.dataset import Kind
from interlingua.corpora.loading import dictionary, own_path, parallel, text
from interlingua.corpora.places import find
from interlingua.errors import DataNotFoundError, FormatError, InputError, LanguageError
from interlingua.folders import whole
from interlingua.languages import Language
from interlingua.pretrain.anchors import code_switch
from interlingua.pretrain.config import Config, tag
from interlingua.pretrain.mixture import Array, Stream, generator
from interlingua.pretrain.reading import Own, Reading
from interlingua.pretrain.tokenizers import open_vocabulary, save, shared, train
from interlingua.types import ParallelCorpus

# Sentinels of a vocabulary for span corruption; lines encoded at a time; most lines a vocabulary is learnt from.
SENTINELS, AT_ONCE, LEARNT_FROM = 64, 4000, 200_000

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Prepared:
    """What a run trains and is judged on."""

    reading: Reading
    streams: tuple[Stream, ...]
    held: tuple[Stream, ...]
    # what these were made from
    key: str = ""

    def never(self, langs: Iterable[str]) -> Array:
        """Which tokens are no words: never masked."""
        found = np.ones(self.reading.size, dtype=bool)
        for lang in langs:
            found[self.reading.words(lang)] = False
        return found


def prepare(config: Config, out: Path, reading: Reading | None = None, say: Progress = lambda _: None) -> Prepared:
    """Everything a run reads; `reading` where the vocabulary is not learnt but borrowed."""
    folder = out / "data"
    key = _key(config, reading)
    if _kept(folder, key):
        try:
            return _load(folder, config, reading)
        except (OSError, ValueError, KeyError, DataNotFoundError, FormatError) as error:
            if isinstance(error, InputError):
                raise
            say("what was prepared is damaged: it is made again")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "facts.json").unlink(missing_ok=True)
    bitexts = _look_up(config)
    never = never_read(config)
    texts = {lang: Lines(lang, sources, config, never) for lang, sources in config.text.items()}
    least = min(map(len, texts.values())) if config.equal else 0
    for lang, lines in texts.items():
        lines.keep(least or len(lines), config.seed)
        if not any(True for _ in lines.training()):
            raise InputError(f"{lang}: every line reads the same as one that is held out: set held_out lower")
        left = f", {lines.dropped:,} left out for a sentence of a test" if never else ""
        say(f"{lang}: {len(lines):,} lines{left}")
    if reading is None:
        say("learning the vocabulary")
        known = train(
            {lang: lines.learnt_from for lang, lines in texts.items()},
            kind=config.tokens.kind,
            merges=config.tokens.merges,
            model=config.tokens.model,
            coverage=config.tokens.coverage,
            sentinels=SENTINELS if config.objective == "span" else 0,
        )
        save(known, folder / "vocabulary", model_max_length=config.length)
        reading = Own(known)
    facts = []
    for lang, lines in texts.items():
        say(f"reading {lang}")
        switched = switched_by(config, lang)
        facts += [
            write_tokens(folder, lang, lang, reading, [(lang, switched(lines.training()))]),
            write_tokens(folder, f"{lang}.held", lang, reading, [(lang, lines.held())]),
        ]
    for pair, both in bitexts.items():
        say(f"reading {pair}")
        first, second = _pair(pair)
        unseen = [set(texts[lang].held()) if lang in texts else set() for lang in (first, second)]
        rows = [row for corpus in both for row in zip(corpus[first], corpus[second], strict=True)]
        kept = [row for row in rows if row[0] not in unseen[0] and row[1] not in unseen[1]]
        kept = [row for row in kept if not never or not any(never.holds(line) for line in row)]
        columns = [(lang, [row[side] for row in kept]) for side, lang in enumerate((first, second))]
        facts.append(write_tokens(folder, pair, "", reading, columns))
    for row in _overlap(folder, list(texts), reading):
        say(
            f"{row['left']} and {row['right']} share {row['shared_types']:,} of {row['left_types']:,} and "
            f"{row['right_types']:,} types, {row['left_shared']:.0%} and {row['right_shared']:.0%} of running tokens"
        )
    whole(folder / "facts.json", json.dumps({"key": key, "streams": facts}, indent=1).encode())
    return _load(folder, config, reading)


def is_prepared(config: Config, out: Path, reading: Reading | None = None) -> bool:
    """Whether what these settings read is in a run's folder already."""
    return _kept(out / "data", _key(config, reading))


def prepared_key(config: Config) -> str:
    """What prepared text depends on, for settings that are resolved: runs with one key can share it."""
    return _key(config, None)


class Lines:
    """The lines of a language: a few held out, the others to train on."""

    def __init__(self, lang: str, sources: Sequence[str], config: Config, never: Never) -> None:
        self._held_out = config.held_out
        # all of them are looked up before the first is read
        each = chain.from_iterable([source_lines(source, lang) for source in sources])
        self.dropped = 0
        self._numbers: list[int] = []
        self._lines = list(islice(self._clean(each, never), config.lines or None))
        if len(self._lines) < 4 * config.held_out:
            raise InputError(
                f"{lang} has {len(self._lines)} lines, and {config.held_out} are held out: give more text, or set "
                "held_out to a quarter of it or less"
            )

    def __len__(self) -> int:
        return len(self._lines)

    def _clean(self, lines: Iterable[str], never: Never) -> Iterator[str]:
        for number, line in enumerate(lines):
            if never and never.holds(line):
                self.dropped += 1
            else:
                self._numbers.append(number)
                yield line

    def keep(self, n: int, seed: int) -> None:
        """Only so many, drawn over all of the text."""
        if n < len(self._lines):
            chosen = np.sort(generator(seed, 2).choice(len(self._lines), n, replace=False))
            self._lines, self._numbers = ([some[i] for i in chosen] for some in (self._lines, self._numbers))

    def _places(self) -> set[int]:
        return set(np.linspace(0, len(self._lines) - 1, self._held_out).astype(int).tolist())

    def held(self) -> Iterator[str]:
        """Lines that are never trained on, spread over the text."""
        return (self._lines[i] for i in sorted(self._places()))

    def training(self) -> Iterator[str]:
        """The others, without any that reads the same as one held out."""
        out = set(self.held())
        return (line for line in self._lines if line not in out)

    def numbers(self) -> list[int]:
        """Which lines of the text those are, from 0."""
        out = set(self.held())
        return [number for number, line in zip(self._numbers, self._lines, strict=True) if line not in out]

    def learnt_from(self) -> Iterator[str]:
        """As many of them as a vocabulary needs."""
        step = max(1, len(self._lines) // LEARNT_FROM)
        return islice(self.training(), 0, None, step)


def source_lines(source: str, lang: str) -> Iterable[str]:
    """The lines of a source: plain text, or one side of parallel text."""
    spoken = lang.partition("@")[0]
    if own_path(source) is None and find(source)[0].kind == Kind.PARALLEL:
        return parallel(source, spoken)[Language.parse(spoken)]
    return text(source, spoken)


def _look_up(config: Config) -> dict[str, list[ParallelCorpus]]:
    """Parallel text by pair; an error before anything is learnt where a pair, or a source of one, is not known."""
    found = {}
    for pair, sources in config.parallel.items() if config.tlm else ():
        first, second = _pair(pair)
        if missing := [lang for lang in (first, second) if lang not in config.text]:
            raise InputError(f"parallel has {pair}, and there is no text of {missing[0]}")
        found[pair] = [parallel(source, first, second) for source in sources]
    for pair, source in config.anchors.dictionaries.items():
        dictionary(source, *_pair(pair))
    return found


class Never:
    """Sentences that must not be trained on, and whether a line holds one.

    They are compared by their letters and digits alone: a corpus may have its spaces, hyphens and marks elsewhere than
    a test has. A short one is held by a line that is nothing else; one that tells, by any line it is inside of.
    """

    # Letters and digits from which on a sentence inside a paragraph is not anybody's.
    TELLING = 20

    def __init__(self, texts: Iterable[str]) -> None:
        self.whole = {letters for text in texts if (letters := _letters(text))}
        self._heads: dict[str, list[str]] = {}
        for letters in sorted(self.whole):
            if len(letters) >= self.TELLING:
                self._heads.setdefault(letters[: self.TELLING], []).append(letters)

    def __bool__(self) -> bool:
        return bool(self.whole)

    def holds(self, line: str) -> bool:
        """Whether a line is one of the sentences, or has one inside."""
        letters = _letters(line)
        if letters in self.whole:
            return True
        heads, many = self._heads, self.TELLING
        return any(
            letters.startswith(found, i)
            for i in range(len(letters) - many + 1)
            for found in heads.get(letters[i : i + many], ())
        )


def _letters(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


def never_read(config: Config) -> Never:
    """The sentences of the file that the settings name."""
    if not config.without:
        return Never(())
    return Never(text(Path(config.without), next(iter(config.text)).partition("@")[0]))


def switched_by(config: Config, lang: str) -> Callable[[Iterable[str]], Iterable[str]]:
    """Code-switching into the other language of each dictionary that has this one."""
    steps = []
    for i, (pair, source) in enumerate(config.anchors.dictionaries.items()):
        first, second = _pair(pair)
        if lang in (first, second):
            other = second if lang == first else first
            steps.append((dictionary(source, lang, other), config.seed + i))
        elif first not in config.text or second not in config.text:
            raise InputError(f"anchors.dictionaries has {pair}, and there is text of {', '.join(config.text)} only")

    def switch(lines: Iterable[str]) -> Iterable[str]:
        for entries, seed in steps:
            lines = code_switch(lines, entries, replace=config.anchors.replace, limit=config.anchors.limit, seed=seed)
        return lines

    return switch


def _pair(name: str) -> tuple[str, str]:
    parts = name.split("-")
    # either language may have a script or a region: zh-CN-en
    for cut in range(1, len(parts)):
        with suppress(LanguageError):
            return tag("-".join(parts[:cut])), tag("-".join(parts[cut:]))
    raise InputError(f"{name!r} is no pair of languages: write it like en-fr")


def write_tokens(
    folder: Path, name: str, lang: str, reading: Reading, columns: Sequence[tuple[str, Iterable[str]]]
) -> dict[str, Any]:
    """Write the tokens of some columns of text, row after row, each sentence with its end."""
    found = array("I")
    sentences = characters = 0
    readers = [(tag, iter(lines)) for tag, lines in columns]
    while any(batch := [list(islice(lines, AT_ONCE)) for _, lines in readers]):
        tokens = [reading.encode(tag, lines) for (tag, _), lines in zip(readers, batch, strict=True)]
        for row in zip(*tokens, strict=True):
            for ids in row:
                found.extend(ids)
                found.append(reading.end)
        sentences += len(batch[0])
        characters += sum(len(line) for lines in batch for line in lines)
    dtype = np.uint16 if reading.size <= 2**16 else np.uint32
    np.save(folder / f"{name}.npy", np.array(found, dtype))
    return {"name": name, "language": lang, "sentences": sentences, "characters": characters}


def _overlap(folder: Path, langs: Sequence[str], reading: Reading) -> list[dict[str, Any]]:
    """What languages share of the vocabulary, over all of their text; also written beside it."""
    counts = {}
    for lang in langs:
        used = np.bincount(np.load(folder / f"{lang}.npy"), minlength=reading.size)
        words = reading.words(lang)
        counts[lang] = Counter({int(i): int(used[i]) for i in words if used[i]})
    rows = shared(counts)
    (folder / "overlap.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return rows


def _key(config: Config, reading: Reading | None) -> str:
    """What the prepared files depend on."""
    used = {"text", "parallel", "equal", "lines", "without", "tokens", "anchors", "held_out"}
    facts = _by_content(config.model_dump(mode="json", include=used))
    # Of the objective, only what the vocabulary and the streams differ in: a causal model reads what a masked one does.
    facts["objective"] = {"sentinels": config.objective == "span", "pairs": bool(config.tlm)}
    # Runs that differ in their seed alone can share what was prepared, where nothing in it was drawn.
    facts["seed"] = config.seed if config.equal or config.anchors.dictionaries else None
    # Two borrowed vocabularies of one size that cut the same words alike are the same.
    facts["reading"] = None if reading is None else [reading.size, reading.encode(next(iter(config.text)), _PROBE)]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _by_content(facts: Any) -> Any:
    """Settings with what a file holds in place of its path: text may be moved, but not changed."""
    if isinstance(facts, dict):
        return {key: _by_content(value) for key, value in facts.items()}
    if isinstance(facts, list):
        return [_by_content(value) for value in facts]
    if not isinstance(facts, str) or not Path(facts).is_file():
        return facts
    with Path(facts).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_PROBE = ("Interlingua 1990: is there a common language?", "Existe-t-il une langue commune ?", "共同 语言 язык")


def _kept(folder: Path, key: str) -> bool:
    try:
        return bool(json.loads((folder / "facts.json").read_text(encoding="utf-8"))["key"] == key)
    except (OSError, ValueError, KeyError):
        return False


def _load(folder: Path, config: Config, reading: Reading | None) -> Prepared:
    facts: Mapping[str, Any] = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
    known = reading or Own(open_vocabulary(folder / "vocabulary"))
    streams = [Stream(tokens=np.load(folder / f"{each['name']}.npy"), **each) for each in facts["streams"]]
    held = tuple(s for s in streams if s.name.endswith(".held"))
    for stream in held:
        if len(stream) < config.length:
            raise InputError(
                f"{stream.language}: the lines held out are {len(stream)} tokens, less than one sequence of "
                f"{config.length}: set held_out higher"
            )
    return Prepared(known, tuple(s for s in streams if s not in held), held, facts["key"])
