"""What a caller can choose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from interlingua.errors import InputError, UnknownNameError
from interlingua.extract.forward import AUTOCAST
from interlingua.extract.pool import MIXED, POOLINGS
from interlingua.extract.words import JOINS
from interlingua.languages import Language

SENTENCE, WORD, TYPE, TABLE = "sentence", "word", "type", "table"
WORDS = (WORD, TYPE, TABLE)
# Rows in a block, by level.
BLOCKS = {SENTENCE: 2048, WORD: 4096, TYPE: 4096, TABLE: 4096}
# Tokens in a batch, padding included: on a CPU small batches stay in its caches and waste less on padding.
BUDGETS = {"cpu": 1024, "cuda": 16_384}
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
    keep: int | None = None
    seed: int = 0
    single: bool = False
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
        for name, at in (
            ("pooling", (SENTENCE,)),
            ("join", WORDS),
            ("min_count", WORDS),
            ("max_count", WORDS),
            ("keep", (WORD,)),
            ("seed", (WORD,)),
            ("single", (TABLE,)),
        ):
            usual = type(self).__dataclass_fields__[name].default
            if getattr(self, name) != usual and self.level not in at:
                raise InputError(f"{name} is for level {' or '.join(at)}, and this is level {self.level}")
        if self.autocast not in AUTOCAST:
            raise InputError(f"autocast {self.autocast!r} is neither bfloat16 nor float16")
        if self.dtype not in ("float32", "float16"):
            raise InputError(f"vectors are stored as float32 or float16, not {self.dtype!r}")
        if self.block < 0 or self.budget < 0:
            raise InputError("block and budget are numbers of rows and tokens: at least 1, or 0 for the default")
        if self.min_count < 1 or (self.max_count is not None and self.max_count < self.min_count):
            raise InputError(f"no word occurs at least {self.min_count} and at most {self.max_count} times")
        if self.keep is not None and self.keep < 1:
            raise InputError(f"{self.keep} occurrences of each word are none: keep at least 1")
