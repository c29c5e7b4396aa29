"""Blocks of rows through the network: all layers at once, pooled where the hidden states are.

Only pooled vectors leave the device. While one block is computed, those behind it are tokenised and the one before it
is written, each by a thread of its own; vectors of three blocks, or of a gigabyte where that is more, are in memory at
most, whatever the size of the corpus.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import torch

from interlingua.errors import InputError, InterlinguaError
from interlingua.extract.column import Column, Rows, Work, complain, work
from interlingua.extract.plan import Array, batches
from interlingua.extract.pool import join_words, pool_layers
from interlingua.languages import Language

# Tokens that are read ahead, and blocks that wait for being read; bytes of vectors that wait for being written.
ROOM, BUSY, HELD = 16_000_000, 4, 2**30
AUTOCAST = {"": None, "bfloat16": torch.bfloat16, "float16": torch.float16}


class NonFiniteError(InterlinguaError):
    """Hidden states that are not numbers: the model, or its precision, is broken."""


class Sink(Protocol):
    """Where the vectors of blocks go."""

    def done(self, lang: Language, block: int) -> bool:
        """Whether a block is there already."""
        ...

    def take(self, lang: Language, block: int, vectors: torch.Tensor, **facts: Any) -> Callable[[], None]:
        """Take a block (layers, rows, neurons) on the model's device; what is returned is run by another thread."""
        ...


@dataclass(frozen=True)
class Passage:
    """How blocks go through the network. `budget` is `planned`, or what was left of it when memory ran out before."""

    pooling: str
    autocast: str
    dtype: str
    block: int
    planned: int
    budget: int


class Computing(Protocol):
    """What blocks are computed by: here, or elsewhere."""

    def __call__(
        self, works: Iterator[Work], passage: Passage, budget: int, progress: Callable[[int], None], /
    ) -> Iterator[tuple[torch.Tensor, int]]:
        """Vectors of every block in their order, and the budget that each was computed with."""
        ...


def here(
    works: Iterator[Work], passage: Passage, budget: int, progress: Callable[[int], None]
) -> Iterator[tuple[torch.Tensor, int]]:
    """One block after the other, by this process."""
    for ready in works:
        vectors, budget = fitting(ready, passage, budget, progress)
        yield vectors, budget


def run(
    columns: dict[Language, Column],
    rows: dict[Language, Rows],
    passage: Passage,
    sink: Sink,
    progress: Callable[[int], None],
    computing: Computing = here,
) -> None:
    """Every block of every language that is not done. `progress` is called with the number of rows just finished."""
    todo = [
        (lang, block)
        for lang in columns
        for block in range(-(-len(rows[lang]) // passage.block))
        if not sink.done(lang, block)
    ]
    progress(sum(map(len, rows.values())) - sum(_size(rows[lang], block, passage.block) for lang, block in todo))
    with ThreadPoolExecutor(1) as writer, _Reader(columns, rows, todo, passage.block) as reader:
        held: deque[Callable[[], None]] = deque()
        writing: deque[Future[None]] = deque()

        def count(n: int) -> None:
            reader.look()
            progress(n)

        works = (reader.next() for _ in todo)
        for (lang, block), (vectors, budget) in zip(
            todo, computing(works, passage, passage.budget, count), strict=True
        ):
            facts = {} if budget == passage.planned else {"budget": budget}
            held.append(sink.take(lang, block, vectors, **facts))
            room = max(1, HELD // vectors.nbytes)
            # Nothing is kept before all text has been looked at: an error leaves nothing half done behind.
            if len(held) >= room:
                reader.look_to_the_end()
            while held and reader.ahead:
                while writing and (len(writing) >= room or writing[0].done()):
                    writing.popleft().result()
                writing.append(writer.submit(held.popleft()))
        for written in writing:
            written.result()


class _Reader:
    """Tokenises blocks in a thread of its own, as far ahead of the network as there is room.

    Tokenising is far faster than the network, so a sentence that cannot be read is found within moments, not when its
    turn comes.
    """

    def __init__(
        self,
        columns: dict[Language, Column],
        rows: dict[Language, Rows],
        todo: list[tuple[Language, int]],
        size: int,
    ) -> None:
        self._columns, self._rows, self._size = columns, rows, size
        self._todo = iter(todo)
        self._thread = ThreadPoolExecutor(1)
        self._waiting: deque[Future[Work]] = deque()

    def __enter__(self) -> Self:
        self.look()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _read(self, lang: Language, block: int) -> Work:
        first, stop = self._rows[lang].sentences(block, self._size)
        return work(
            self._columns[lang], self._rows[lang], self._columns[lang].read(first, stop), first, block, self._size
        )

    def look(self) -> None:
        """Keep the thread busy while there is room; an error where it found a sentence that cannot be read."""
        ready = [future.result().reading for future in self._waiting if future.done()]
        if any(reading.faulty for reading in ready):
            # Tokenizers are for one thread at a time.
            self._thread.shutdown(wait=True, cancel_futures=True)
            complain(self._columns.values())
        room = ROOM - sum(len(reading.tokens.ids) for reading in ready)
        while room > 0 and len(self._waiting) - len(ready) < BUSY and (following := next(self._todo, None)):
            self._waiting.append(self._thread.submit(self._read, *following))

    @property
    def ahead(self) -> bool:
        """Whether all text has been read, or as much of it as there is room for."""
        self.look()
        return all(future.done() for future in self._waiting)

    def look_to_the_end(self) -> None:
        """Wait until all text has been read, or as much of it as there is room for."""
        for future in iter(lambda: next((f for f in self._waiting if not f.done()), None), None):
            future.result()
            self.look()

    def next(self) -> Work:
        """The next block."""
        self.look()
        self._waiting[0].result()
        self.look()
        return self._waiting.popleft().result()


def _size(rows: Rows, block: int, size: int) -> int:
    return min((block + 1) * size, len(rows)) - block * size


def fitting(ready: Work, passage: Passage, budget: int, progress: Callable[[int], None]) -> tuple[torch.Tensor, int]:
    """The vectors of a block, and the budget it was computed with: halved as often as memory ran out."""
    finished = 0

    def count(n: int) -> None:
        nonlocal finished
        finished += n
        progress(n)

    while True:
        try:
            return compute(ready, passage, budget, count), budget
        except (torch.OutOfMemoryError, RuntimeError) as error:
            # On the CPU, torch has no error of its own for it.
            if not isinstance(error, torch.OutOfMemoryError) and "can't allocate memory" not in str(error):
                raise
            if budget <= int(ready.lengths.max()):
                raise InputError(
                    f"{ready.column.model.name} does not fit into memory even one sentence at a time "
                    f"(with blocks of {ready.size} rows)"
                ) from error
        # Out here nothing holds on to the batch that failed.
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        budget //= 2
        count(-finished)


@torch.inference_mode()
def compute(ready: Work, passage: Passage, budget: int, progress: Callable[[int], None]) -> torch.Tensor:
    """Vectors (layers, rows, neurons) of a block, in its order, on the device, in the type they are stored in."""
    model = ready.column.model
    device, kind = model.device, AUTOCAST[passage.autocast]
    dtype = getattr(torch, passage.dtype)
    result = torch.empty((len(model.layers), ready.size, model.layers.width), dtype=dtype, device=device)
    for batch in batches(ready.lengths, budget):
        inputs, content = ready.inputs(batch.rows)
        moved = {key: _moved(value, device) for key, value in inputs.items()}
        with torch.autocast(device.type, dtype=kind, enabled=kind is not None):
            states = model.hidden_states(moved)
        if ready.members is None:
            row = batch.rows
            present = moved["decoder_attention_mask" if model.feeds_decoder else "attention_mask"]
            vectors = pool_layers(passage.pooling, states, _moved(content, device), present)
        else:
            *joining, row = ready.joining(batch.rows, content.shape[1])
            vectors = join_words(states, *(_moved(value, device) for value in joining))
        result.index_copy_(1, _moved(torch.from_numpy(row), device), vectors.to(dtype))
        progress(len(row))
    return result


def _moved(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


def leaving(vectors: torch.Tensor) -> Callable[[], tuple[Array, bool]]:
    """Start copying vectors off their device; the function returned waits for them, and says whether all are finite."""
    if vectors.device.type != "cuda":
        return lambda: (array := vectors.cpu().numpy(), bool(np.isfinite(array).all()))
    host = torch.empty(vectors.shape, dtype=vectors.dtype, pin_memory=True)
    finite = torch.empty((), dtype=torch.bool, pin_memory=True)
    host.copy_(vectors, non_blocking=True)
    finite.copy_(torch.isfinite(vectors).all(), non_blocking=True)
    arrived: Any = torch.cuda.Event()  # type: ignore[no-untyped-call]
    arrived.record()

    def wait() -> tuple[Array, bool]:
        arrived.synchronize()
        return host.numpy(), bool(finite)

    return wait


def not_finite(column: Column, rows: Rows, start: int, vectors: Array, ids: tuple[str, ...]) -> NonFiniteError:
    """An error that names the model, the layer and the sentence of the first vector that is not made of numbers."""
    layer, row, _ = (int(i) for i in np.argwhere(~np.isfinite(vectors))[0])
    sentence = int(np.searchsorted(rows.before, start + row, side="right")) - 1
    name = ids[sentence] if ids else str(sentence + 1)
    return NonFiniteError(
        f"{column.model.name}, {column.model.layers.describe(layer)}: not a finite number for {column.lang} sentence "
        f"{name}: {column.texts[sentence][:60]!r} (half precision? load, cast and store in float32)"
    )
