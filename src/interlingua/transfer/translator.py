"""An encoder-decoder with the head it was pretrained with: what is tuned to translate, and what translates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn

from interlingua.errors import InputError
from interlingua.extract.plan import tokenise
from interlingua.languages import Language
from interlingua.models import Model
from interlingua.models.codes import code_number, has_codes, speak
from interlingua.transfer.encode import Encoded
from interlingua.transfer.network import Answering
from interlingua.transfer.readers import usual_rate
from interlingua.transfer.task import Labels, Task


class Translator(Answering):
    """Sentences in, sentences out, through `generate`: greedy, or with `beams`.

    `labels` are the languages it was tuned to write. A model whose tokenizer has codes of languages (mBART, NLLB,
    M2M-100) is told by them which one to write; any other by what it reads, "<2fr> ..." (Johnson et al. 2017), where it
    was tuned on several, and by nothing where it was tuned on one.
    """

    body: Any

    def __init__(self, model: Model, task: Task[Any, Any], labels: Labels, beams: int = 1) -> None:
        super().__init__()
        if not model.two_stacks:
            raise InputError(f"{model.name} is a single {model.stack}: translating takes an encoder-decoder")
        self.model, self.task, self.labels, self.beams = model, task, labels, beams
        self.body, self.head, self.pad = with_head(model), None, model.tokenizer.pad_token_id
        self.coded = has_codes(model.tokenizer)
        self.prefixed = not self.coded and len(labels) > 1

    def forward(self, labels: Tensor | None = None, **batch: Tensor) -> dict[str, Any]:
        """The loss of what should be written."""
        return {"loss": self.body(**batch, labels=labels).loss}

    def encode(self, record: Any) -> Encoded:
        """What is read, and beside it what should be written."""
        source, target = record.langs
        if not self.coded and str(target) not in self.labels:
            raise InputError(f"{self.model.name} writes {', '.join(self.labels)}, and {record.name} wants {target}")
        if self.coded and code_number(self.model.tokenizer, target) is None:
            raise InputError(f"{self.model.name} has no code for {target}: it cannot be told to write it")
        tokenizer, limit = self.model.tokenizer, self.model.limit
        read = [f"<2{target}> {text}" for text in record.columns[0]] if self.prefixed else record.columns[0]
        tokens = tokenise(self.model, source, read, truncate=True)
        speak(tokenizer, source)
        speak(tokenizer, target, target=True)
        written = tokenizer(
            text_target=list(record.columns[1]), truncation=limit is not None, max_length=limit, verbose=False
        )["input_ids"]
        end = self.body.config.eos_token_id
        rows = tuple(np.array(row if end in row else [*row[: limit and limit - 1], end], np.int64) for row in written)
        nameless = tokenizer.unk_token_id
        content = tokens.ids[tokens.content]
        unknown = float(np.mean(content == nameless)) if nameless is not None and len(content) else 0.0
        return Encoded(source, tokens, (), (), None, unknown, beside={"labels": rows}, into=target)

    def targets(self, answers: Sequence[Any], lost: Sequence[Any]) -> dict[str, Tensor]:
        """They travel with what is read."""
        return {}

    def spoken(self, encoded: Encoded) -> str:
        """The language to write."""
        return str(encoded.into)

    def answered(self, batch: dict[str, Tensor], lengths: Sequence[int]) -> list[Any]:
        """Translations."""
        tokenizer = self.model.tokenizer
        read = {name: value for name, value in batch.items() if name != "labels"}
        longest = 2 * int(read["input_ids"].shape[1]) + 10
        if self.model.limit is not None:
            longest = min(longest, self.model.limit - 1)
        told = self._told(Language.parse(self.language)) if self.coded else {}
        made = self.body.generate(**read, num_beams=self.beams, do_sample=False, max_new_tokens=longest, **told)
        return [(self.language, text) for text in tokenizer.batch_decode(made, skip_special_tokens=True)]

    def _told(self, language: Language) -> dict[str, int]:
        """How `generate` is told which language to write: as what it begins with (mBART-25), or as the first token."""
        tokenizer, code = self.model.tokenizer, code_number(self.model.tokenizer, language)
        if code is None:
            raise InputError(f"{self.model.name} has no code for {language}: it cannot be told to write it")
        speak(tokenizer, language, target=True)
        behind = tokenizer(text_target="a", verbose=False)["input_ids"][-1] == code
        return {"decoder_start_token_id" if behind else "forced_bos_token_id": code}

    def rate(self) -> float:
        """As for a network that reads."""
        return usual_rate(self.model.layers.width)

    def save(self, folder: Path) -> None:
        """With its head, as `transformers` has it."""
        self.body.save_pretrained(folder)
        self.model.tokenizer.save_pretrained(folder)

    def facts(self) -> Mapping[str, Any]:
        """Nothing but the task is needed."""
        return {"reader": "translator"}


def with_head(model: Model) -> Any:
    """The network that writes, around the very modules of the model: what is done to these is done to it."""
    import transformers

    network = model.network
    whole = transformers.AutoModelForSeq2SeqLM.from_pretrained(network.name_or_path, dtype=network.dtype)
    owner: nn.Module = whole
    if whole.base_model is whole:  # T5: its parts lie beside the head
        for name, child in network.named_children():
            setattr(owner, name, child)
    else:
        setattr(owner, next(name for name, child in whole.named_children() if child is whole.base_model), network)
    whole.tie_weights()
    return whole.to(network.device)
