"""How text becomes tokens: with a vocabulary learnt for the run, or with that of the model it goes on from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from interlingua.errors import InputError
from interlingua.pretrain.mixture import Array
from interlingua.pretrain.subwords import SPECIAL
from interlingua.pretrain.tokenizers import Vocabulary, save


class Reading(Protocol):
    """How text becomes tokens, whoever made the vocabulary."""

    @property
    def size(self) -> int:
        """Rows of a table of embeddings."""

    @property
    def mask(self) -> int:
        """The token of a gap; below 0 where there is none."""

    @property
    def end(self) -> int:
        """The token behind a sentence."""

    @property
    def start(self) -> int:
        """The token before everything."""

    def encode(self, lang: str, texts: Sequence[str]) -> list[list[int]]:
        """Tokens of each text, without special ones."""

    def words(self, lang: str) -> Array:
        """Ordinary tokens of a language."""

    def save(self, folder: Path, length: int) -> None:
        """Beside a model."""


@dataclass(frozen=True)
class Own:
    """A vocabulary that was learnt here."""

    vocabulary: Vocabulary
    mask: int = SPECIAL.index("<mask>")
    end: int = SPECIAL.index("</s>")
    start: int = SPECIAL.index("<s>")

    @property
    def size(self) -> int:
        """Rows of a table of embeddings."""
        return self.vocabulary.size

    def encode(self, lang: str, texts: Sequence[str]) -> list[list[int]]:
        """Tokens of each text."""
        return self.vocabulary.encode(lang, texts)

    def words(self, lang: str) -> Array:
        """Ordinary tokens of a language."""
        return self.vocabulary.words(lang)

    def save(self, folder: Path, length: int) -> None:
        """Beside a model."""
        save(self.vocabulary, folder, model_max_length=length)


@dataclass(frozen=True)
class Borrowed:
    """The vocabulary of a Hugging Face model that is trained on."""

    tokenizer: Any

    @property
    def size(self) -> int:
        """One more than the greatest token."""
        return int(max(self.tokenizer.get_vocab().values())) + 1

    @property
    def mask(self) -> int:
        """The token of a gap; of a vocabulary without one, none."""
        return -1 if self.tokenizer.mask_token_id is None else int(self.tokenizer.mask_token_id)

    @property
    def end(self) -> int:
        """The token between sentences."""
        found = self.tokenizer.eos_token_id if self.tokenizer.eos_token_id is not None else self.tokenizer.sep_token_id
        if found is None:
            raise InputError("the tokenizer has neither an end-of-sentence nor a separator token")
        return int(found)

    @property
    def start(self) -> int:
        """The token before everything; the one between sentences where there is no other."""
        named = (self.tokenizer.bos_token_id, self.tokenizer.cls_token_id)
        return int(next((found for found in named if found is not None), self.end))

    def encode(self, lang: str, texts: Sequence[str]) -> list[list[int]]:
        """Tokens of each text."""
        found: list[list[int]] = self.tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
        return found

    def words(self, lang: str) -> Array:
        """All ordinary tokens."""
        return np.setdiff1d(np.array(sorted(self.tokenizer.get_vocab().values())), self.tokenizer.all_special_ids)

    def save(self, folder: Path, length: int) -> None:
        """Beside a model."""
        self.tokenizer.save_pretrained(folder)
