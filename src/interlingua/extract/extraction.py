"""`extract`: corpus x model -> Representations."""

from __future__ import annotations

import errno
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
import torch

from interlingua import __version__
from interlingua.errors import InputError, UnknownNameError
from interlingua.extract.column import Column, Reading, Rows, look
from interlingua.extract.forward import AUTOCAST, Passage, leaving, require_finite, run
from interlingua.extract.plan import Array
from interlingua.extract.pool import MIXED, POOLINGS
from interlingua.extract.store import Contents, Store, plan_of, writing
from interlingua.extract.tally import Tally
from interlingua.extract.words import JOINS, Record, Sentence, how_mapped, sentences
from interlingua.languages import Language
from interlingua.models import Model, PerLanguage, load_model
from interlingua.models.codes import code_of, has_codes
from interlingua.types import ParallelCorpus, Representations, WordRepresentations
from interlingua.types.corpus import digest, strings

SENTENCE, WORD, TYPE = "sentence", "word", "type"
# Rows in a block, by level.
BLOCKS = {SENTENCE: 2048, WORD: 4096, TYPE: 4096}
# Tokens in a batch, padding included: on a CPU small batches stay in its caches and waste less on padding.
BUDGETS = {"cpu": 1024, "cuda": 16_384}
# Tokens that are kept from looking at a corpus until it is computed; beyond, it is tokenised again.
KEEP = 16_000_000

# Called with (rows done, rows in all).
Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """How to extract. `block` and `budget` are chosen by level and device where they are 0."""

    level: str = SENTENCE
    pooling: str = "mean"
    join: str = "mean"
    source: str | Language = ""
    min_count: int = 1
    max_count: int | None = None
    truncate: bool = False
    autocast: str = ""
    dtype: str = "float32"
    block: int = 0
    budget: int = 0

    def __post_init__(self) -> None:
        for what, value, known in (
            ("level", self.level, BLOCKS),
            ("pooling", self.pooling, (*POOLINGS, MIXED)),
            ("way to join the tokens of a word", self.join, JOINS),
        ):
            if value not in known:
                raise UnknownNameError(what, value, known)
        if self.autocast not in AUTOCAST:
            raise InputError(f"autocast {self.autocast!r} is neither bfloat16 nor float16")
        if self.dtype not in ("float32", "float16"):
            raise InputError(f"vectors are stored as float32 or float16, not {self.dtype!r}")
        if self.block < 0 or self.budget < 0:
            raise InputError("block and budget are numbers of rows and tokens: at least 1, or 0 for the default")
        if self.min_count < 1 or (self.max_count is not None and self.max_count < self.min_count):
            raise InputError(f"no word occurs at least {self.min_count} and at most {self.max_count} times")


@overload
def extract(
    model: Model | PerLanguage | str | Path,
    corpus: ParallelCorpus,
    *,
    level: Literal["sentence"] = ...,
    out: str | Path | None = None,
    progress: Progress = ...,
    **options: Any,
) -> Representations: ...
@overload
def extract(
    model: Model | PerLanguage | str | Path,
    corpus: Record | Sequence[Record],
    *,
    level: Literal["word", "type"],
    out: str | Path | None = None,
    progress: Progress = ...,
    **options: Any,
) -> WordRepresentations: ...
def extract(
    model: Model | PerLanguage | str | Path,
    corpus: Record | Sequence[Record],
    *,
    level: str = SENTENCE,
    out: str | Path | None = None,
    progress: Progress = lambda _done, _total: None,
    **options: Any,
) -> Representations | WordRepresentations:
    """One vector a sentence, a word in its context, or a word type, at every layer, for every language of the corpus.

    `model` is a loaded one, or the name or folder of one. With `out`, vectors are stored there block by block and a run
    that was killed goes on where it stopped; without, they are held in memory.

    Options:
        pooling: sentence level: mean (the default), first, last, max, weighted or mixed.
        join: word and type level: mean (the default), first or last of the tokens of a word.
        min_count, max_count: only words whose type occurs that often in the corpus.
        source: for a decoder that has an encoder: the language whose sentence the encoder reads while the decoder reads
            its translation; by default both read the same sentence.
        truncate: cut sentences that are longer than the model takes, which are an error otherwise.
        autocast: bfloat16 or float16 inside the network; pooling is in float32 always.
        dtype: float32 (the default) or float16, of the vectors that are kept.
        block, budget: rows in a block, tokens in a batch.
    """
    how = Extraction(level=level, **options)
    loaded = load_model(model) if isinstance(model, str | Path) else model
    columns = columns_of(loaded, corpus, how)
    how = _settled(how, columns, None if out is None else plan_of(Path(out)))
    rows, kept = look_at(columns, how)
    job = _Job(columns, rows, how, corpus, signature(columns, how))
    if out is None:
        return job.held(kept, progress)
    try:
        with writing(Path(out)):
            return job.stored(Path(out), kept, progress)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
            raise InputError(f"no space left for {out}: free some and run again, it goes on from here") from error
        raise


def columns_of(
    model: Model | PerLanguage, corpus: Record | Sequence[Record], how: Extraction
) -> dict[Language, Column]:
    """Every language of a corpus, with the model that reads it."""
    words: dict[Language, tuple[Sentence, ...]] | None = None
    if how.level == SENTENCE:
        if not isinstance(corpus, ParallelCorpus):
            raise InputError(
                f"sentences of {corpus!r} are no parallel text: use ParallelCorpus.from_texts, or level='word'"
            )
        texts: dict[Language, Sequence[str]] = {lang: corpus[lang] for lang in corpus.langs}
    else:
        words = sentences(corpus)
        texts = {lang: [s.text for s in rows] for lang, rows in words.items()}
    result = {}
    for lang, column in texts.items():
        reads = model.of(lang) if isinstance(model, PerLanguage) else model
        if how.source and not reads.feeds_decoder:
            raise InputError(f"{reads.name} is read at its {reads.stack}: a source is for the decoder of two stacks")
        source = Language.parse(how.source) if how.source else lang
        if source not in texts:
            raise UnknownNameError("source language in the corpus", str(source), map(str, texts))
        if len(texts[source]) != len(column):
            raise InputError(f"{source} has {len(texts[source])} sentences and {lang} {len(column)}: no translations")
        result[lang] = Column(
            lang,
            reads,
            column,
            None if words is None else words[lang],
            texts[source] if reads.feeds_decoder else None,
            source if reads.feeds_decoder else None,
            how.join,
            how.truncate,
        )
    return result


def _settled(how: Extraction, columns: dict[Language, Column], planned: dict[str, int] | None) -> Extraction:
    """Blocks and batches as asked for, as a store was planned (the same batches give the same bytes), or by default."""
    device = next(iter(columns.values())).model.device.type
    usual = {"block": BLOCKS[how.level], "budget": BUDGETS.get(device, BUDGETS["cuda"])}
    for name, value in (planned or {}).items():
        if getattr(how, name) not in (0, value):
            raise InputError(
                f"the store was planned with a {name} of {value}: leave {name} out, or choose another place"
            )
    chosen = planned or usual
    return replace(how, block=how.block or chosen["block"], budget=how.budget or chosen["budget"])


def look_at(
    columns: dict[Language, Column], how: Extraction
) -> tuple[dict[Language, Rows], dict[Language, dict[int, Reading]]]:
    """The rows of every language, all of it read and checked; and what was read, as far as there is room."""
    rows: dict[Language, Rows] = {}
    kept: dict[Language, dict[int, Reading]] = {}
    room = KEEP
    for lang, column in columns.items():
        rows[lang], kept[lang] = look(column, how.block, least=how.min_count, most=how.max_count, room=room)
        room -= sum(len(reading.tokens.ids) for reading in kept[lang].values())
        if not len(rows[lang]):
            none = "no word has a vector" if how.level != SENTENCE else "there are no sentences"
            raise InputError(f"{lang}: {none}: nothing to extract")
    return rows, kept


def signature(columns: dict[Language, Column], how: Extraction) -> dict[str, Any]:
    """Everything that the numbers depend on: the key under which they are cached."""
    networks = {id(c.model.network): c.model for c in columns.values()}
    signed = {key: model.signature() for key, model in networks.items()}
    one = len(signed) == 1
    models = {str(lang): signed[id(c.model.network)] for lang, c in columns.items()}
    codes = {str(lang): code_of(c.model.tokenizer, lang) for lang, c in columns.items() if has_codes(c.model.tokenizer)}
    result: dict[str, Any] = {
        "level": how.level,
        "truncate": how.truncate,
        "autocast": how.autocast,
        "dtype": how.dtype,
        "source": str(Language.parse(how.source)) if how.source else "",
        "corpus": {str(lang): _digest(c) for lang, c in columns.items()},
        "sentences": {str(lang): len(c) for lang, c in columns.items()},
        "one_network": one,
        "language_codes": codes,
        "model": next(iter(models.values())) if one else models,
    }
    if how.level == SENTENCE:
        return {**result, "pooling": how.pooling}
    mapped = {str(lang): how_mapped(c.model) for lang, c in columns.items()}
    counts = {"min_count": how.min_count, "max_count": how.max_count}
    return {**result, "join": how.join, "word_map": mapped, **counts}


def _digest(column: Column) -> str:
    if column.words is None:
        return digest(strings(tuple(column.texts)))
    return digest(strings(tuple((s.text, s.words, s.spans) for s in column.words)))


def environment(columns: dict[Language, Column]) -> dict[str, Any]:
    """What else was true of the run: recorded, but no part of the signature."""
    model = next(iter(columns.values())).model
    return {
        "interlingua": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name(model.device) if model.device.type == "cuda" else str(model.device),
        "attention": str(getattr(model.network.config, "_attn_implementation", "")),
    }


@dataclass(frozen=True)
class _Job:
    """An extraction whose corpus has been read."""

    columns: dict[Language, Column]
    rows: dict[Language, Rows]
    how: Extraction
    corpus: Record | Sequence[Record]
    signature: dict[str, Any]

    @property
    def ids(self) -> tuple[str, ...]:
        return getattr(self.corpus, "ids", ()) or tuple(map(str, range(1, 1 + max(map(len, self.columns.values())))))

    def check(self, lang: Language, start: int, vectors: Array) -> None:
        require_finite(self.columns[lang], self.rows[lang], start, vectors, self.ids)

    def shape(self, lang: Language) -> tuple[int, int, int]:
        layers = self.columns[lang].model.layers
        return len(layers), len(self.rows[lang]), layers.width

    def run(self, sink: Any, kept: dict[Language, dict[int, Reading]], budget: int, progress: Progress) -> None:
        total, done = sum(map(len, self.rows.values())), 0

        def count(n: int) -> None:
            nonlocal done
            done += n
            progress(done, total)

        how = self.how
        passage = Passage(how.pooling, how.autocast, how.dtype if how.level != TYPE else "float32", how.block, budget)
        run(self.columns, self.rows, passage, sink, kept=kept, progress=count)

    def held(
        self, kept: dict[Language, dict[int, Reading]], progress: Progress
    ) -> Representations | WordRepresentations:
        """Extract into memory."""
        if self.how.level == TYPE:
            tally = Tally(self.columns, self.rows, self.how.block, self.check)
            means: dict[Language, Array] = {}
            tally.finished = lambda lang, found: means.update({lang: self._cast(found)})
            self.run(tally, kept, self.how.budget, progress)
            return WordRepresentations({lang: means[lang] for lang in self.columns}, self.signature, tally.labels)
        arrays = {lang: np.empty(self.shape(lang), self.how.dtype) for lang in self.columns}
        self.run(_Held(arrays, self), kept, self.how.budget, progress)
        if self.how.level == SENTENCE:
            return Representations(arrays, self.signature, self.ids)
        labels = {lang: found.labels for lang, found in self.rows.items() if found.labels is not None}
        return WordRepresentations(arrays, self.signature, labels)

    def _cast(self, means: Array) -> Array:
        return means.astype(self.how.dtype, copy=False)

    def stored(
        self, path: Path, kept: dict[Language, dict[int, Reading]], progress: Progress
    ) -> Representations | WordRepresentations:
        """Extract into a store, or go on with one."""
        tally = Tally(self.columns, self.rows, self.how.block, self.check) if self.how.level == TYPE else None
        words = {lang: found.labels for lang, found in self.rows.items() if found.labels is not None}
        store = Store.create(
            path,
            Contents(
                signature=self.signature,
                environment=environment(self.columns),
                shapes={lang: tally.shape(lang) if tally else self.shape(lang) for lang in self.columns},
                dtype=self.how.dtype,
                block=self.how.block,
                budget=self.how.budget,
                lengths={lang: found.lengths for lang, found in self.rows.items()},
                ids=self.ids,
                labels=None if self.how.level == SENTENCE else tally.labels if tally else words,
            ),
        )
        store.verify()
        # Once memory ran out, later blocks keep to the smaller budget, after a kill too.
        budget = min([self.how.budget, *(entry.get("budget", self.how.budget) for entry in store.done.values())])
        if tally is None:
            self.run(_Stored(store, self), kept, budget, progress)
        else:
            self._stored_types(store, tally, kept, budget, progress)
        return store.representations()

    def _stored_types(
        self, store: Store, tally: Tally, kept: dict[Language, dict[int, Reading]], budget: int, progress: Progress
    ) -> None:
        size = self.how.block

        def blocks(lang: Language) -> range:
            return range(-(-tally.shape(lang)[1] // size))

        def keep(lang: Language, means: Array) -> None:
            cast = self._cast(means)
            for block in blocks(lang):
                if (str(lang), block) not in store.done:
                    store.write(lang, block, cast[:, block * size : (block + 1) * size])

        tally.finished = keep
        tally.resume(store.path, lambda lang: all((str(lang), block) in store.done for block in blocks(lang)))
        self.run(tally, kept, budget, progress)


@dataclass(frozen=True)
class _Held:
    """Blocks go into arrays in memory."""

    arrays: dict[Language, Array]
    job: _Job

    def done(self, _lang: Language, _block: int) -> bool:
        return False

    def take(self, lang: Language, block: int, vectors: torch.Tensor, **_facts: Any) -> Callable[[], None]:
        arrived, start = leaving(vectors), block * self.job.how.block

        def keep() -> None:
            found = arrived()
            self.job.check(lang, start, found)
            self.arrays[lang][:, start : start + found.shape[1]] = found

        return keep


@dataclass(frozen=True)
class _Stored:
    """Blocks go into a store."""

    store: Store
    job: _Job

    def done(self, lang: Language, block: int) -> bool:
        return (str(lang), block) in self.store.done

    def take(self, lang: Language, block: int, vectors: torch.Tensor, **facts: Any) -> Callable[[], None]:
        arrived = leaving(vectors)

        def keep() -> None:
            found = arrived()
            self.job.check(lang, block * self.job.how.block, found)
            self.store.write(lang, block, found, **facts)

        return keep
