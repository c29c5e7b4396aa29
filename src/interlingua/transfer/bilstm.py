"""The baseline that knows nothing: a BiLSTM over words and their letters, trained on the task's own text alone.

As in Dozat and Manning 2017 and their successors: a vector a word (of words seen twice or more), beside it what a
small BiLSTM makes of its letters, three layers of BiLSTM over both. What a pretrained model is worth is what it adds.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from interlingua.errors import InputError
from interlingua.extract.plan import Tokens
from interlingua.extract.words import Record, sentences
from interlingua.languages import Language
from interlingua.transfer.encode import Encoded
from interlingua.transfer.readers import Reader

PAD, UNKNOWN = 0, 1
# Letters of a word that are looked at; its end says more about what it is than its middle.
LETTERS = 24
# Words seen less often are unknown: what is known of them is their letters.
RARE = 2
# The share of words that training hides, so that unknown ones are met there too.
HIDDEN = 0.2
NAMES, WEIGHTS = "bilstm.json", "bilstm.safetensors"


class BiLstm(Reader):
    """Words and letters -> (sentences, words, width)."""

    kind = "bilstm"

    def __init__(self, words: Sequence[str], letters: Sequence[str], width: int = 512, dropout: float = 0.33) -> None:
        super().__init__()
        self.known, self.letters = tuple(words), tuple(letters)
        self._word = {word: i + 2 for i, word in enumerate(self.known)}
        self._letter = {letter: i + 2 for i, letter in enumerate(self.letters)}
        self.width, self.pad = width, PAD
        self.dropout = nn.Dropout(dropout)
        self.table = nn.Embedding(len(self.known) + 2, 100, padding_idx=PAD)
        self.letter_table = nn.Embedding(len(self.letters) + 2, 50, padding_idx=PAD)
        self.spell = nn.LSTM(50, 50, bidirectional=True, batch_first=True)
        self.read = nn.LSTM(200, width // 2, num_layers=3, bidirectional=True, batch_first=True, dropout=dropout)

    @classmethod
    def of(cls, records: Iterable[Record], width: int = 512, dropout: float = 0.33) -> BiLstm:
        """A fresh one, for the words and letters of what it will be trained on."""
        rows = [word for record in records for each in sentences(record).values() for s in each for word in s.words]
        seen = Counter(map(str.lower, rows))
        often = sorted(word for word, n in seen.items() if n >= RARE)
        return cls(often, sorted({c for word in rows for c in word}), width, dropout)

    def words(self, record: Record) -> Encoded:
        """One token a word; none is ever lost."""
        ((language, rows),) = sentences(record).items()
        ids = [[self._word.get(word.lower(), UNKNOWN) for word in row.words] for row in rows]
        tokens = Tokens.of(ids, [[0] * len(row) for row in ids])
        return Encoded(
            language=language,
            tokens=tokens,
            firsts=tuple(np.arange(len(row)) for row in ids),
            lost=tuple(np.zeros(len(row), bool) for row in ids),
            kinds=None,
            unknown=float(np.mean(tokens.ids == UNKNOWN)) if len(tokens.ids) else 0.0,
            beside={"letters": tuple(np.array([self._spelt(w) for w in row.words], np.int64) for row in rows)},
        )

    def _spelt(self, word: str) -> list[int]:
        half = LETTERS // 2
        kept = word if len(word) <= LETTERS else word[:half] + word[-half:]
        found = [self._letter.get(c, UNKNOWN) for c in kept]
        return found + [PAD] * (LETTERS - len(found))

    def texts(self, language: Language, texts: Sequence[Sequence[str]]) -> Encoded:
        """It reads words."""
        raise InputError("the BiLSTM reads words: it tags and parses, and does not judge whole sentences")

    def forward(self, batch: dict[str, Tensor], language: str = "") -> Tensor:
        """Vectors of words."""
        ids, letters = batch["input_ids"], batch["letters"]
        if self.training:
            ids = ids.masked_fill((torch.rand(ids.shape, device=ids.device) < HIDDEN) & (ids != PAD), UNKNOWN)
        both = self.dropout(torch.cat([self.table(ids), self._shapes(letters)], -1))
        lengths = batch["attention_mask"].sum(1).cpu()
        packed = nn.utils.rnn.pack_padded_sequence(both, lengths, batch_first=True, enforce_sorted=False)
        found, _ = nn.utils.rnn.pad_packed_sequence(self.read(packed)[0], batch_first=True, total_length=ids.shape[1])
        return found

    def _shapes(self, letters_stc: Tensor) -> Tensor:
        """What a word's letters are, read from both ends; words that a batch repeats are spelt once."""
        there, back = torch.unique(letters_stc.flatten(0, 1), dim=0, return_inverse=True)
        lengths = (there != PAD).sum(1).clamp(min=1).cpu()
        packed = nn.utils.rnn.pack_padded_sequence(
            self.letter_table(there), lengths, batch_first=True, enforce_sorted=False
        )
        _, (last, _) = self.spell(packed)
        return torch.cat([last[0], last[1]], -1)[back].view(*letters_stc.shape[:2], -1)

    def save(self, folder: Path) -> None:
        """Weights, and the words and letters they are of."""
        from safetensors.torch import save_file

        folder.mkdir(parents=True, exist_ok=True)
        # on a GPU the weights of an LSTM lie in one piece of memory, of which a file takes none
        save_file({name: each.contiguous().clone() for name, each in self.state_dict().items()}, folder / WEIGHTS)
        facts = {"words": self.known, "letters": self.letters, "width": self.width}
        (folder / NAMES).write_text(json.dumps(facts, ensure_ascii=False) + "\n", encoding="utf-8")

    def rate(self) -> float:
        """Nothing is known that haste could spoil."""
        return 2e-3


def open_bilstm(folder: Path) -> BiLstm:
    """As it was saved."""
    from safetensors.torch import load_model

    made = BiLstm(**json.loads((folder / NAMES).read_text(encoding="utf-8")))
    load_model(made, str(folder / WEIGHTS))
    return made
