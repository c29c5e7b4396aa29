"""Concepts: k-means against scikit-learn's from the same centres, and CALIGN against the loop that it replaces.

    python benchmarks/concepts.py [--rows 100000] [--width 768] [--k 600] [--steps 10] [--device cuda]

Both k-means take the same number of Lloyd's steps from the same rows, so that they do the same work and end at the same
inertia; out of core, rows are read from a file on disk. The naive CALIGN is measured on some of the source concepts.
"""

import argparse
import tempfile
from functools import partial

import numpy as np
import torch
from clock import Peak, seconds

from interlingua.concepts.align import Rules, calign
from interlingua.concepts.discover import Concepts, Mentions
from interlingua.concepts.kmeans import kmeans
from interlingua.concepts.lexicon import Entry, Lexicon
from interlingua.languages import Language

EN, DE = Language.parse("en"), Language.parse("de")


def clusters(n, width, k, steps, device):
    """k-means of planted clusters."""
    rng = np.random.default_rng(0)
    middles = rng.standard_normal((k, width), np.float32) * 0.3
    rows = middles[rng.integers(k, size=n)] + rng.standard_normal((n, width), np.float32)
    start = rows[rng.choice(n, k, replace=False)]
    how = {"start": start, "steps": steps, "tol": 0.0}
    print(f"k-means, {n:,} x {width}, K = {k}, {steps} steps from the same centres, {torch.get_num_threads()} threads")
    reference, theirs = seconds(lambda: kmeans(rows, k, method="sklearn", device="cpu", **how))
    print(f"  scikit-learn        {reference:8.2f} s   inertia {theirs.inertia:.6g}")
    with tempfile.NamedTemporaryFile() as file:
        rows.tofile(file.name)
        disk = Slices(np.memmap(file.name, np.float32, "r", shape=rows.shape))
        for name, given, where in (
            ("blocked, cpu", rows, "cpu"),
            ("blocked, from disk", disk, "cpu"),
            *([("blocked, cuda", rows, "cuda")] if device == "cuda" else []),
        ):
            run = partial(kmeans, given, k, method="blocked", device=where, **how)
            took, mine = seconds(run, cuda=where == "cuda")
            print(f"  {name:<19} {took:8.2f} s   inertia {mine.inertia:.6g}   {reference / took:.2f} of its speed")
    own = (
        kmeans(Slices(rows), k, steps=steps, device=device).inertia / kmeans(rows, k, steps=steps, device="cpu").inertia
    )
    print(f"  each from its own k-means++ centres: {own:.4f} of scikit-learn's inertia")


class Slices:
    """Rows that are only ever given in slices."""

    def __init__(self, rows):
        self.rows, self.shape = rows, rows.shape

    def __getitem__(self, key):
        return np.asarray(self.rows[key])


def contenders(k, types, each):
    """CALIGN of random concepts, so many translations a word: ours, the loop over some source concepts, and which."""
    rng = np.random.default_rng(0)

    def concepts(lang):
        labels = np.concatenate([np.arange(types) % k, rng.integers(k, size=2 * types)])
        words = np.concatenate([np.arange(types), rng.integers(types, size=2 * types)])
        names = tuple(f"{lang}{i}" for i in words)
        return Concepts(Mentions(names, (lang,), np.zeros(len(names), np.int64), np.arange(len(names))), labels, k)

    source, target = concepts(EN), concepts(DE)
    lexicon = Lexicon(
        EN, DE, {f"en{i}": tuple(Entry(f"de{j}", 0.1) for j in rng.integers(types, size=each)) for i in range(types)}
    )
    how = Rules(match=0.2, types=5, size=0.2)
    calign(source, target, lexicon, how)  # what is computed once and kept
    theirs = [set(target.types(j)) for j in range(k)]
    part = range(0, k, max(1, k // 12))

    def naive():
        pairs = set()
        for i in part:
            mine = source.types(i)
            for j, there in enumerate(theirs):
                hits = sum(any(t in there for t in lexicon.best(s, how.best)) for s in mine)
                small, large = sorted((len(mine), len(there)))
                if hits and hits >= how.match * len(mine) and small >= how.size * large and small > how.types:
                    pairs.add((i, j))
        return pairs

    return partial(calign, source, target, lexicon, how), naive, part


def alignment(k, types, each):
    """CALIGN beside the loop that it replaces."""
    ours, naive, part = contenders(k, types, each)
    took, found = seconds(ours)
    loop, pairs = seconds(naive)
    assert pairs == {(i, j) for i, j, _ in found.pairs if i in part}
    whole = loop * k / len(part)
    print(f"CALIGN, {k} x {k} concepts, {types:,} types a side, {each} translations a word: {took:.2f} s;")
    print(f"  naive {whole:.0f} s, {whole / took:.0f} times as long (from {len(part)} of the source concepts)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--k", type=int, default=600)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--device", default="cpu")
    asked = parser.parse_args()
    alignment(asked.k, 20_000, 10)
    held = Peak(cuda=False)
    clusters(asked.rows, asked.width, asked.k, asked.steps, asked.device)
    print(f"peak memory {held.gib():.2f} GiB, of which the rows are {asked.rows * asked.width * 4 / 2**30:.2f}")
