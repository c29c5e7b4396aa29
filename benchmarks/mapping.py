"""CSLS over full vocabularies against the bare products it needs.

    python benchmarks/mapping.py [--words 200000] [--queries 5000] [--device cuda]

Both in float32 and in blocks of the same size.
"""

import argparse

import torch
from clock import Peak, seconds

from interlingua.mapping.induce import neighbourhoods, neighbours
from interlingua.measures.retrieval import BLOCK

WIDTH = 300

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--words", type=int, default=200_000)
parser.add_argument("--queries", type=int, default=5_000)
parser.add_argument("--device", default="cpu")
asked = parser.parse_args()
torch.manual_seed(0)
x, y = (torch.nn.functional.normalize(torch.randn(asked.words, WIDTH, device=asked.device)) for _ in range(2))
if asked.device == "cpu":
    x, y = x.numpy(), y.numpy()
queries = x[: asked.queries]


def bare(pairs):
    """The products alone: each block is made, and one number of it kept (a copy: a view would keep the block)."""
    kept = [(a[i : i + BLOCK] @ b.T)[0, 0] + 0 for a, b in pairs for i in range(0, len(a), BLOCK)]
    return float(sum(kept))


def both_ways():
    """CSLS as it is written down: the neighbourhoods of candidates and of queries' side, then the queries."""
    neighbourhoods(y, x)
    return induced()


def induced():
    """CSLS as dictionary induction needs it: the query's own neighbourhood changes no order."""
    return neighbours(queries, y, 10, scale=neighbourhoods(x, y))


cuda = asked.device == "cuda"
print(f"{asked.words:,} x {WIDTH}, {asked.queries:,} queries, {asked.device}, float32, blocks of {BLOCK}")
for name, work, pairs in (
    ("both neighbourhoods", both_ways, ((x, y), (y, x), (queries, y))),
    ("one, which is enough", induced, ((y, x), (queries, y))),
):
    least, _ = seconds(lambda pairs=pairs: bare(pairs), cuda=cuda)
    before = Peak(cuda=cuda)
    held = before.gib()
    took, _ = seconds(work, cuda=cuda)
    print(
        f"{name}: {took:.2f} s, {took / least:.2f} of the bare products, {before.gib() - held:.2f} GiB beyond the vectors"
    )
