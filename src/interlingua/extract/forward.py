"""Corpus x model -> Representations: one pass, all layers, pooled where the hidden states are.

Only pooled vectors leave the device. While one block is computed, the one before it is written by another thread; at
most two blocks are in memory, whatever the size of the corpus.
"""

from __future__ import annotations

import errno
import platform
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from interlingua import __version__
from interlingua.errors import InputError, InterlinguaError, UnknownNameError
from interlingua.extract.plan import BLOCK, BUDGET, Tokens, batches, collate, tokenise
from interlingua.extract.pool import MIXED, POOLINGS, pool_layers
from interlingua.extract.store import Store, writing
from interlingua.languages import Language
from interlingua.models import Model, PerLanguage
from interlingua.types import ParallelCorpus, Representations

AUTOCAST = {"": None, "bfloat16": torch.bfloat16, "float16": torch.float16}

# Called with (sentences done, sentences in all).
Progress = Callable[[int, int], None]


class NonFiniteError(InterlinguaError):
    """Hidden states that are not numbers: the model, or its precision, is broken."""


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """How to extract; every field is part of the signature of what comes out."""

    pooling: str = "mean"
    truncate: bool = False
    autocast: str = ""
    dtype: str = "float32"
    block: int = BLOCK
    budget: int = BUDGET

    def __post_init__(self) -> None:
        if self.pooling not in (*POOLINGS, MIXED):
            raise UnknownNameError("pooling", self.pooling, [*POOLINGS, MIXED])
        if self.autocast not in AUTOCAST:
            raise InputError(f"autocast {self.autocast!r} is neither bfloat16 nor float16")
        if self.dtype not in ("float32", "float16"):
            raise InputError(f"vectors are stored as float32 or float16, not {self.dtype!r}")
        if self.block < 1 or self.budget < 1:
            raise InputError("block and budget are numbers of rows and tokens: at least 1")


def extract(
    model: Model | PerLanguage,
    corpus: ParallelCorpus,
    *,
    out: str | Path | None = None,
    progress: Progress = lambda _done, _total: None,
    **options: Any,
) -> Representations:
    """One vector a sentence, at every layer, for every language of the corpus.

    With `out`, vectors are stored there block by block and a run that was killed goes on where it stopped; without,
    they are held in memory. `options` are the fields of `Extraction`: pooling, truncate, autocast, dtype, block...
    """
    how = Extraction(**options)
    models = {lang: model.of(lang) if isinstance(model, PerLanguage) else model for lang in corpus.langs}
    if out is None:
        held = {lang: np.empty((len(m.layers), len(corpus), m.layers.width), how.dtype) for lang, m in models.items()}

        def keep(lang: Language, _block: int, start: int, vectors: np.ndarray[Any, Any], **_: Any) -> None:
            held[lang][:, start : start + vectors.shape[1]] = vectors

        _run(models, corpus, how, keep, done=lambda _lang, _block: False, progress=progress)
        return Representations(held, corpus.ids, signature(models, corpus, how))
    path = Path(out)
    with writing(path):
        store = Store.create(
            path,
            signature=signature(models, corpus, how),
            layout={lang: (len(m.layers), m.layers.width) for lang, m in models.items()},
            ids=corpus.ids,
            block=how.block,
            dtype=how.dtype,
            environment=environment(models),
        )
        store.verify()
        _run(models, corpus, how, store.write, done=lambda lang, b: (str(lang), b) in store.done, progress=progress)
        return store.representations()


def signature(models: dict[Language, Model], corpus: ParallelCorpus, how: Extraction) -> dict[str, Any]:
    """Everything that the numbers depend on: the key under which they are cached."""
    signed = {id(m): m.signature() for m in models.values()}
    return {
        "level": "sentence",
        "pooling": how.pooling,
        "truncate": how.truncate,
        "autocast": how.autocast,
        "dtype": how.dtype,
        "block": how.block,
        "budget": how.budget,
        "n": len(corpus),
        "corpus": {str(lang): corpus.hash_of(lang) for lang in corpus.langs},
        "models": {str(lang): signed[id(m)] for lang, m in models.items()},
        "one_network": len(signed) == 1,
    }


def environment(models: dict[Language, Model]) -> dict[str, Any]:
    """What else was true of the run: recorded, but no part of the signature."""
    return {
        "interlingua": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "threads": torch.get_num_threads(),
        "device": str(next(iter(models.values())).device),
    }


def _run(
    models: dict[Language, Model],
    corpus: ParallelCorpus,
    how: Extraction,
    write: Callable[..., None],
    *,
    done: Callable[[Language, int], bool],
    progress: Progress,
) -> None:
    """Every block of every language that is not done, each written while the next is computed."""
    total = len(corpus) * len(corpus.langs)
    finished = 0
    writer = ThreadPoolExecutor(1)
    pending: Future[None] | None = None
    try:
        for lang, model in models.items():
            column = corpus[lang]
            # All sentences are looked at before the first is computed: an error after an hour helps nobody.
            for start in range(0, len(column), how.block):
                if not done(lang, start // how.block):
                    _tokens(model, lang, column[start : start + how.block], how, start)
        for lang, model in models.items():
            column = corpus[lang]
            for number, start in enumerate(range(0, len(column), how.block)):
                rows = column[start : start + how.block]
                if not done(lang, number):
                    vectors, budget = _block(model, lang, rows, how, start, corpus.ids)
                    if pending is not None:
                        pending.result()
                    facts = {} if budget == how.budget else {"budget": budget}
                    pending = writer.submit(write, lang, number, start, vectors, **facts)
                finished += len(rows)
                progress(finished, total)
        if pending is not None:
            pending.result()
    except OSError as error:
        if error.errno == errno.ENOSPC or error.errno == errno.EFBIG:
            raise InputError(
                "no space left for the representations: free some and run again, it goes on from here"
            ) from error
        raise
    finally:
        writer.shutdown(wait=True, cancel_futures=True)


def _tokens(model: Model, lang: Language, rows: Sequence[str], how: Extraction, start: int) -> list[Tokens]:
    try:
        return tokenise(model, rows, truncate=how.truncate, first_row=start)
    except InputError as error:
        raise InputError(f"{lang}: {error}") from error


def _block(
    model: Model, lang: Language, rows: Sequence[str], how: Extraction, start: int, ids: Sequence[str]
) -> tuple[np.ndarray[Any, Any], int]:
    """All layers of one block, and the budget it was computed with: halved as often as memory ran out."""
    tokens = _tokens(model, lang, rows, how, start)
    budget = how.budget
    while True:
        try:
            vectors = compute(model, tokens, how, budget)
            break
        except torch.OutOfMemoryError as error:
            torch.cuda.empty_cache()
            budget //= 2
            if budget < max(map(len, tokens)):
                raise InputError(f"{model.name} does not fit into memory even one sentence at a time") from error
    if not np.isfinite(vectors).all():
        layer, row, _ = np.argwhere(~np.isfinite(vectors))[0]
        raise NonFiniteError(
            f"{model.name}, {model.layers.describe(int(layer))}: not a finite number for {lang} sentence "
            f"{ids[start + row]}: {rows[row][:60]!r} (a half-precision model? load it in float32)"
        )
    return vectors, budget


def compute(model: Model, tokens: Sequence[Tokens], how: Extraction, budget: int) -> np.ndarray[Any, Any]:
    """Vectors (layers, sentences, neurons) of tokenised sentences, in their order."""
    device = model.device
    kind = AUTOCAST[how.autocast]
    pooled: list[tuple[tuple[int, ...], torch.Tensor]] = []
    with torch.inference_mode(), torch.autocast(device.type, dtype=kind, enabled=kind is not None):
        for batch in batches([len(t) for t in tokens], budget):
            inputs, content, present = collate(model, [tokens[r] for r in batch.rows])
            moved = {key: value.to(device, non_blocking=True) for key, value in inputs.items()}
            if model.two_stacks and model.stack == "decoder":
                moved["decoder_input_ids"] = moved["input_ids"]
                moved["decoder_attention_mask"] = moved["attention_mask"]
            elif model.two_stacks:
                moved["decoder_input_ids"] = moved["input_ids"][:, :1]
            states = model.hidden_states(moved)
            vectors = pool_layers(how.pooling, states, content.to(device), present.to(device))
            pooled.append((batch.rows, vectors.to("cpu", non_blocking=True)))
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    result = np.empty((len(model.layers), len(tokens), model.layers.width), how.dtype)
    for rows, vectors in pooled:
        result[:, list(rows)] = vectors.numpy()
    return result
