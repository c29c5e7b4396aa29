"""The first layers of a frozen model behind a map, and fresh layers on top (Wu et al. 2020, section 5).

What was trained above the source's layers runs above the target's unchanged: only what lies below is exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from interlingua.errors import InputError
from interlingua.extract.words import Record
from interlingua.languages import Language
from interlingua.mapping.alignment import Alignment
from interlingua.mapping.composed import Composed
from interlingua.models import Model
from interlingua.transfer.encode import Encoded, encode_texts, encode_words
from interlingua.transfer.readers import Reader, usual_rate

# Transformer layers that are trained above the frozen ones.
FRESH = 4


class MappedReader(Reader):
    """Layer i of a frozen model, mapped, and fresh transformer layers. `below` may be exchanged once it is trained."""

    kind = "mapped"

    def __init__(self, below: Composed, heads: int = 4, dropout: float = 0.1, fresh: int = FRESH) -> None:
        super().__init__()
        with torch.no_grad():
            self.width = int(below(**_probe(below.model)).shape[-1])
        if self.width % heads:
            raise InputError(f"vectors {self.width} wide cannot be shared among {heads} heads")
        self.below, self.pad = below, below.model.tokenizer.pad_token_id
        # vectors of unit length are far smaller than what layers are made for
        self.enter = nn.LayerNorm(self.width)
        layer = nn.TransformerEncoderLayer(
            self.width, heads, 4 * self.width, dropout, "gelu", batch_first=True, norm_first=True
        )
        self.above = nn.TransformerEncoder(layer, fresh, nn.LayerNorm(self.width), enable_nested_tensor=False)
        self.has_first = below.model.stack == "encoder" and below.model.tokenizer.cls_token_id is not None

    def exchange(self, below: Composed) -> None:
        """Another model's layers below those that were trained."""
        self.below, self.pad = below, below.model.tokenizer.pad_token_id

    def words(self, record: Record) -> Encoded:
        """As the model below reads them."""
        return encode_words(self.below.model, record, cut=True)

    def texts(self, language: Language, texts: Sequence[Sequence[str]]) -> Encoded:
        """As the model below reads them."""
        return encode_texts(self.below.model, language, texts)

    def forward(self, batch: dict[str, Tensor], language: str = "") -> Tensor:
        """Vectors of tokens."""
        self.below.eval()  # frozen: no dropout below
        found: Tensor = self.above(
            self.enter(self.below(**batch)), src_key_padding_mask=~batch["attention_mask"].bool()
        )
        return found

    def rate(self) -> float:
        """All that is trained is fresh."""
        return 10 * usual_rate(768)

    def save(self, folder: Path) -> None:
        """The fresh layers alone; models and maps have folders of their own."""
        from safetensors.torch import save_model

        folder.mkdir(parents=True, exist_ok=True)
        save_model(nn.ModuleList([self.enter, self.above]), str(folder / "above.safetensors"))


def unmapped(model: Model, layer: int) -> Composed:
    """A layer as it is."""
    width = model.layers.width
    return Composed(model, Alignment("identity", (), (), None, (width, width)), "source", layer)


def _probe(model: Model) -> dict[str, Tensor]:
    ids = torch.tensor([[1, 2]], device=model.device)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
