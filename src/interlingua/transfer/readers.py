"""What reads sentences for a task: records in, token numbers, and one vector a token out.

A reader is a pretrained model (`ModelReader`), a BiLSTM that knows nothing (`bilstm.py`), or the first layers of a
frozen model behind a map with fresh layers on top (`mapped.py`). A head is put on any of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from interlingua.errors import InputError
from interlingua.extract.words import Record
from interlingua.languages import Language
from interlingua.models import Model, load_model
from interlingua.transfer.encode import Encoded, encode_texts, encode_words
from interlingua.transfer.windows import read_long


def usual_rate(width: int) -> float:
    """5e-5 for networks 768 wide, as in the papers; narrower ones bear more."""
    return float(5e-5 * max(1.0, 768 / width) ** 1.5)


class Reader(nn.Module, ABC):
    """Tokens -> vectors. `width` is that of a vector, `pad` the number of the token that fills a batch up."""

    kind: ClassVar[str]
    width: int
    pad: int | None
    # whether the first token stands for the sentence; else it is the mean over tokens
    has_first: bool = False

    @abstractmethod
    def words(self, record: Record) -> Encoded:
        """Words in their sentences."""

    @abstractmethod
    def texts(self, language: Language, texts: Sequence[Sequence[str]]) -> Encoded:
        """Sentences, or pairs of them, as wholes."""

    @abstractmethod
    def forward(self, batch: dict[str, Tensor], language: str = "") -> Tensor:
        """(sentences, tokens, width); `language` where languages have parts of their own."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write what `open_reader` needs."""

    def spoken(self, _language: Language) -> str:
        """What `forward` wants to hear of a language."""
        return ""

    def rate(self) -> float:
        """A rate of learning that suits it."""
        return usual_rate(self.width)


class ModelReader(Reader):
    """The last layer of a stack of a pretrained model."""

    kind = "model"

    def __init__(self, model: Model) -> None:
        super().__init__()
        if model.feeds_decoder:
            raise InputError(f"{model.name} is read from a decoder that needs an encoder's sentence: take its encoder")
        self.model, self.network = model, model.part
        self.width, self.pad = model.layers.width, model.tokenizer.pad_token_id
        self.has_first = model.stack == "encoder" and model.tokenizer.cls_token_id is not None

    def words(self, record: Record) -> Encoded:
        """Words in their sentences."""
        return encode_words(self.model, record)

    def texts(self, language: Language, texts: Sequence[Sequence[str]]) -> Encoded:
        """Sentences, or pairs of them, as wholes."""
        return encode_texts(self.model, language, texts)

    def forward(self, batch: dict[str, Tensor], language: str = "") -> Tensor:
        """The last hidden state; of sentences longer than the model takes, window by window."""
        spoken = {"language": language} if language else {}

        def read(part: dict[str, Tensor]) -> Tensor:
            found: Tensor = self.network(**part, **spoken).last_hidden_state
            return found

        limit = self.model.limit
        if limit is None or batch["input_ids"].shape[1] <= limit:
            return read(batch)
        return read_long(read, batch, limit, self.around, self.pad or 0)

    @cached_property
    def around(self) -> tuple[int, int]:
        """Special tokens before and behind a sentence."""
        found = self.model.tokenizer("a", return_special_tokens_mask=True, verbose=False)["special_tokens_mask"]
        inside = [i for i, special in enumerate(found) if not special]
        return (inside[0], len(found) - 1 - inside[-1]) if inside else (0, 0)

    def spoken(self, language: Language) -> str:
        """The language, where the network has parts for each."""
        return self.model.of(language).language

    def save(self, folder: Path) -> None:
        """As every verb of the tool reads it, with the tokenizers of all languages."""
        self.model.network.save_pretrained(folder)
        self.model.tokenizer.save_pretrained(folder)
        for tag, tokenizer in self.model.tokenizers.items():
            tokenizer.save_pretrained(folder / "tokenizers" / tag)


def open_reader(kind: str, folder: Path, *, stack: str = "", device: str = "") -> Reader:
    """A reader as it was saved."""
    if kind == "bilstm":
        from interlingua.transfer.bilstm import open_bilstm

        return open_bilstm(folder).to(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    return ModelReader(load_model(folder, stack=stack, device=device))


def facts_of(reader: Reader) -> dict[str, Any]:
    """What `open_reader` is told."""
    return {"reader": reader.kind, **({"stack": reader.model.stack} if isinstance(reader, ModelReader) else {})}
