"""Write the model of a training run as the one that ships: the stock architecture, in bfloat16, with its tokenizer.

Its configuration asks for float32, which every processor can compute in.

    python studies/model/ship.py RUN/model

`src/interlingua/assets/model/README.md`, the model's card, is written by hand.
"""

import json
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
transformers.AutoTokenizer.from_pretrained(trained).save_pretrained(place)
config = json.loads((place / "config.json").read_text("utf-8")) | {"dtype": "float32"}
(place / "config.json").write_text(json.dumps(config, indent=2) + "\n", "utf-8")
words = json.loads((place / "tokenizer.json").read_text("utf-8"))
(place / "tokenizer.json").write_text(json.dumps(words, ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")
for file in sorted(Path(place).iterdir()):
    file.chmod(0o644)
    print(f"{file.name}: {file.stat().st_size / 1e6:.2f} MB")
