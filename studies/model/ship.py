"""Write the model of a training run as the one that ships: the stock architecture, in bfloat16, with its tokenizer.

    python studies/model/ship.py RUN/model

`src/interlingua/assets/model/README.md`, the model's card, is written by hand.
"""

import sys
from pathlib import Path

import torch
import transformers

import interlingua.models.architecture  # noqa: F401  # makes our own networks known to transformers
from interlingua.corpora.places import assets
from interlingua.models.export import to_stock

trained, place = sys.argv[1], assets() / "model"
network = to_stock(transformers.AutoModelForMaskedLM.from_pretrained(trained)).to(torch.bfloat16)
network.save_pretrained(place)
words = transformers.AutoTokenizer.from_pretrained(trained)
words.save_pretrained(place)
for file in sorted(Path(place).iterdir()):
    print(f"{file.name}: {file.stat().st_size / 1e6:.2f} MB")
