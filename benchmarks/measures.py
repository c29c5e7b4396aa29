"""All linear indexes of one pair beside the products they are made of, and retrieval beside its product; CPU seconds.

OMP_NUM_THREADS=1 python benchmarks/measures.py                  13 layers of 10,000 x 768
OMP_NUM_THREADS=1 python benchmarks/measures.py --layers 1       a quick look

Peers here are textbook computations in NumPy (`textbook`): centre, QR and SVD for each index on its own, as the widely
copied implementations do. Everything is measured in one run, in one thread, by process time; only ratios mean anything.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import argparse
import resource
import time

import numpy as np

from interlingua import measures
from interlingua.measures.joined import Joined, View

INDEXES = ("anc", "linear_cka", "debiased_cka", "cca_mean", "svcca", "pwcca", "procrustes")


def clock(work):
    """CPU seconds, and what came out."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def pair(rng, n, p):
    """Two views of the same sentences: shared directions of decaying variance, and noise."""
    scale = np.geomspace(1, 0.05, p)
    z = rng.standard_normal((n, p)) * scale
    turn = np.linalg.qr(rng.standard_normal((p, p)))[0]
    x = z + 0.3 * rng.standard_normal((n, p))
    y = z @ turn + 0.3 * rng.standard_normal((n, p))
    return x.astype(np.float32), y.astype(np.float32)


def bare(x, y):
    """What cannot be saved: three products, and an eigendecomposition a side."""
    a, b = x.astype(np.float64), y.astype(np.float64)
    a.T @ b
    for v in (a, b):
        np.linalg.eigh(v.T @ v)


def ours(x, y):
    """All seven from one pass of moments."""
    joined = Joined(View(x), View(y))
    return {name: joined.measure(name).value for name in INDEXES}


def one_by_one(x, y):
    """Our own functions, each called alone."""
    return {name: getattr(measures, name)(x, y).value for name in INDEXES}


def textbook(x, y):
    """Each index on its own, by QR and SVD."""

    def centre(v):
        return v.astype(np.float64) - v.mean(0, dtype=np.float64)

    def rho(a, b):
        (qa, _), (qb, _) = np.linalg.qr(a), np.linalg.qr(b)
        return qa, np.linalg.svd(qa.T @ qb)

    def top(a):
        u, s, _ = np.linalg.svd(a, full_matrices=False)
        k = int(np.sum(np.cumsum(s**2) / np.sum(s**2) < 0.99)) + 1
        return u[:, :k] * s[:k]

    found = {}
    a, b = centre(x), centre(y)
    corr = (a * b).sum(0) / np.sqrt((a * a).sum(0) * (b * b).sum(0))
    found["anc"] = float(np.abs(corr).mean())
    a, b = centre(x), centre(y)
    found["linear_cka"] = float(np.linalg.norm(a.T @ b) ** 2 / (np.linalg.norm(a.T @ a) * np.linalg.norm(b.T @ b)))
    a, b = centre(x), centre(y)
    found["cca_mean"] = float(rho(a, b)[1][1].mean())
    a, b = centre(x), centre(y)
    found["svcca"] = float(rho(top(a), top(b))[1][1].mean())
    a, b = centre(x), centre(y)
    q, (u, s, _) = rho(a, b)
    alpha = np.abs((q @ u).T @ a).sum(1)
    found["pwcca"] = float((alpha * s).sum() / alpha.sum())
    a, b = centre(x), centre(y)
    found["procrustes"] = float(
        np.linalg.svd(a.T @ b, compute_uv=False).sum() / (np.linalg.norm(a) * np.linalg.norm(b))
    )
    return found


def blocked(a, b, block=1024):
    """The bare product of retrieval."""
    for start in range(0, len(a), block):
        a[start : start + block] @ b.T


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", type=int, default=13)
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--p", type=int, default=768)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    spent = dict.fromkeys(("bare", "ours", "one by one", "textbook"), 0.0)
    worst = 0.0
    for layer in range(arguments.layers):
        x, y = pair(rng, arguments.n, arguments.p)
        values = {}
        for name, work in (("bare", bare), ("ours", ours), ("one by one", one_by_one), ("textbook", textbook)):
            if name in ("one by one", "textbook") and layer:
                continue  # measured on the first layer, and counted for all
            seconds, values[name] = clock(lambda work=work, x=x, y=y: work(x, y))
            spent[name] += seconds * (arguments.layers if name in ("one by one", "textbook") else 1)
        if not layer:
            worst = max(abs(values["ours"][k] - v) for k, v in values["textbook"].items())
    print(f"{arguments.layers} layers, {arguments.n} x {arguments.p}, one pair, one thread, CPU seconds\n")
    print("| | seconds | of the bare products and decompositions |\n|---|---:|---:|")
    for name, seconds in spent.items():
        print(f"| {name} | {seconds:.2f} | {seconds / spent['bare']:.2f} |")
    print(f"\nlargest difference from the textbook values: {worst:.1e}")

    langs = [pair(rng, arguments.n, arguments.p)[0] for _ in range(10)]

    def products():
        rows = [v.astype(np.float64) for v in langs]
        for i, a in enumerate(rows):
            a.T @ a
            for b in rows[:i]:
                a.T @ b

    def sweep():
        views = [View(v) for v in langs]
        for i, a in enumerate(views):
            for b in views[:i]:
                joined = Joined(a, b)
                for name in ("anc", "linear_cka", "debiased_cka"):
                    joined.measure(name)

    (base, _), (all_pairs, _) = clock(products), clock(sweep)
    print(
        f"\n10 languages, 45 pairs, ANC and both CKAs: {all_pairs:.2f} s, {all_pairs / base:.2f} of the bare products"
    )
    x, y = pair(rng, arguments.n, arguments.p)
    base, _ = clock(lambda: blocked(x, y))
    for name, products_needed in (("matching", 1), ("csls", 2), ("margin", 2)):
        seconds, _ = clock(lambda name=name: getattr(measures, name)(x, y))
        print(
            f"{name}: {seconds:.2f} s, {seconds / base:.2f} of one blocked product, {seconds / base / products_needed:.2f} of {products_needed}"
        )
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


if __name__ == "__main__":
    main()
