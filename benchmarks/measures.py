"""All linear indexes of one pair beside the products they are made of, and retrieval beside its product.

OMP_NUM_THREADS=1 python benchmarks/measures.py                  13 layers of 10,000 x 768
OMP_NUM_THREADS=1 python benchmarks/measures.py --layers 1       a quick look
python benchmarks/measures.py --device cuda                      the same on a GPU

Everything is measured in one run, in one thread, in CPU seconds (on a GPU, seconds on the wall); only ratios mean
anything. Beside ours stand: the same functions called one by one; the textbook (centre, QR and SVD for each index on
its own, as widely copied implementations do); and the package ecco, where it is installed (its CCA, SVCCA and PWCCA are
those we call cca_top98, svcca_top20 and pwcca_google).
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import argparse
import importlib.util
import sys
import types

import numpy as np
from clock import Peak, seconds

from interlingua import measures
from interlingua.measures.joined import Joined, View

INDEXES = ("anc", "linear_cka", "debiased_cka", "cca_mean", "svcca", "pwcca", "procrustes")
# What ecco has, and what we call the same.
ECCO = {"cka": "linear_cka", "cca": "cca_top98", "svcca": "svcca_top20", "pwcca": "pwcca_google"}
# Contenders that take long are measured on the first layer, and counted for all.
ONCE = ("one by one", "textbook", "ecco")


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
    a, b = double(x), double(y)
    a.T @ b
    for v in (a, b):
        (np if isinstance(v, np.ndarray) else sys.modules["torch"]).linalg.eigh(v.T @ v)


def double(x):
    """In float64."""
    return x.astype(np.float64) if isinstance(x, np.ndarray) else x.double()


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


def peer():
    """One of ecco's four indexes by name, or None; only its file of analyses is imported, which asks for NumPy alone."""
    found = importlib.util.find_spec("ecco")
    if found is None:
        return None
    package = types.ModuleType("ecco")
    package.__path__ = list(found.submodule_search_locations)
    sys.modules["ecco"] = package
    analysis = importlib.import_module("ecco.analysis")

    return lambda name, x, y: getattr(analysis, name)(x.T.astype(np.float64), y.T.astype(np.float64))


def blocked(a, b, block=1024):
    """The bare product of retrieval."""
    for start in range(0, len(a), block):
        a[start : start + block] @ b.T


def all_pairs(langs):
    """ANC and both CKAs of every pair of languages."""
    views = [View(v) for v in langs]
    for i, a in enumerate(views):
        for b in views[:i]:
            joined = Joined(a, b)
            for name in ("anc", "linear_cka", "debiased_cka"):
                joined.measure(name)


def all_products(langs):
    """The products that `all_pairs` needs."""
    rows = [double(v) for v in langs]
    for i, a in enumerate(rows):
        a.T @ a
        for b in rows[:i]:
            a.T @ b


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", type=int, default=13)
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--p", type=int, default=768)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    cuda = arguments.device == "cuda"
    rng = np.random.default_rng(0)

    def place(*arrays):
        if not cuda:
            return arrays
        import torch

        return tuple(torch.from_numpy(a).cuda() for a in arrays)

    def clock(work):
        return seconds(work, cuda=cuda)

    contenders = {"bare": bare, "ours": ours, "one by one": one_by_one}
    if not cuda:
        contenders["textbook"] = textbook
        if ecco := peer():
            contenders["ecco"] = lambda x, y: {name: ecco(name, x, y) for name in ECCO}
    else:
        for work in (bare, ours, one_by_one):  # warm
            work(*place(*pair(rng, 2000, arguments.p)))
    spent, peaks, values = dict.fromkeys(contenders, 0.0), dict.fromkeys(contenders, 0.0), {}
    for layer in range(arguments.layers):
        x, y = place(*pair(rng, arguments.n, arguments.p))
        for name, work in contenders.items():
            if name in ONCE and layer:
                continue
            peak = Peak(cuda=cuda)
            took, found = clock(lambda work=work, x=x, y=y: work(x, y))
            spent[name] += took * (arguments.layers if name in ONCE else 1)
            peaks[name] = max(peaks[name], peak.gib())
            values.setdefault(name, found)
        if not layer and "ecco" in contenders:
            gap = max(abs(getattr(measures, ours_)(x, y).value - values["ecco"][k]) for k, ours_ in ECCO.items())
    where = "seconds on the card" if cuda else "one thread, CPU seconds"
    print(f"{arguments.layers} layers, {arguments.n} x {arguments.p}, one pair, {where}\n")
    print("| | seconds | of the bare products and decompositions | peak GiB |\n|---|---:|---:|---:|")
    for name, took in spent.items():
        print(f"| {name} | {took:.2f} | {took / spent['bare']:.2f} | {peaks[name]:.2f} |")
    if "textbook" in values:
        worst = max(abs(values["ours"][k] - v) for k, v in values["textbook"].items())
        print(f"\nlargest difference from the textbook values: {worst:.1e}")
    if "ecco" in values:
        print(f"largest difference of ecco's values from our functions of the same kind: {gap:.1e}")

    langs = place(*(pair(rng, arguments.n, arguments.p)[0] for _ in range(10)))
    (base, _), peak = clock(lambda: all_products(langs)), Peak(cuda=cuda)
    took, _ = clock(lambda: all_pairs(langs))
    print(
        f"\n10 languages, 45 pairs, ANC and both CKAs: {took:.2f} s, {took / base:.2f} of the bare products, "
        f"peak {peak.gib():.2f} GiB"
    )
    x, y = place(*pair(rng, arguments.n, arguments.p))
    for dtype in ("float64", "float32"):
        a, b = (double(x), double(y)) if dtype == "float64" else (x, y)
        base = min(clock(lambda a=a, b=b: blocked(a, b))[0] for _ in range(2))
        for name, needed in (("matching", 1), ("csls", 2), ("margin", 2)):
            peak, work = Peak(cuda=cuda), getattr(measures, name)
            took = min(clock(lambda work=work, dtype=dtype: work(x, y, dtype=dtype))[0] for _ in range(2))
            print(
                f"{name} in {dtype}: {took:.3f} s, {took / base / needed:.2f} of {needed} blocked "
                f"product{'s' * (needed > 1)} in {dtype}, peak {peak.gib():.2f} GiB"
            )


if __name__ == "__main__":
    main()
