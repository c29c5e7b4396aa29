"""How well a model matches translations at each layer, on the development text that its settings are chosen by.

    python studies/model/judge.py MODEL DEV      # DEV: the folder that collect.py wrote

Mean pooling without special tokens, the mean of each language removed, both directions; its untrained twin beside it.
"""

import sys
from pathlib import Path

import numpy as np

import interlingua as il
from interlingua.measures.retrieval import matching

model, dev = sys.argv[1], Path(sys.argv[2])


def curve(network, pair):
    """The share of sentences that find their translation, layer by layer."""
    found = il.extract(network, pair, truncate=True)
    layers = [[found[lang, n] for lang in found.langs] for n in range(found.layers)]
    return [matching(*(side - side.mean(0) for side in both)).value for both in layers]


networks = {"trained": il.load_model(model), "random": il.load_model(model, random=True)}
bests = []
for path in sorted(dev.glob("en-*.tsv")):
    pair = il.parallel(path)
    values = {name: curve(network, pair) for name, network in networks.items()}
    best = int(np.argmax(values["trained"]))
    bests.append(values["trained"][best])
    shown = " ".join(f"{v:.3f}" for v in values["trained"])
    print(f"{path.stem}: {bests[-1]:.3f} at {best} (random at best {max(values['random']):.3f}) | {shown}", flush=True)
print(f"mean of best: {np.mean(bests):.4f}")
