"""Every part beside what can be installed from the package index instead: time, memory, and whether the number is the same.

    pip install -r benchmarks/peers.txt; pip install --no-deps ecco
    python benchmarks/table.py [--only measures,retrieval] [--scale 0.1]

One row a task and peer, measured in turns in one run, CPU seconds, one thread; the ratio is theirs over ours, so above 1 ours
is faster. GiB is what was taken beyond what the process held before. The last column is the largest difference between
both results, or what else shows that both did the same work. A peer that is not installed is told and left out. Where no
package does a task, the peer is what people write instead.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import argparse
import importlib.util
import tempfile
from functools import partial
from pathlib import Path

import concepts as concept_tasks
import extract as extract_tasks
import measures as measure_tasks
import numpy as np
import pretrain as pretrain_tasks
import readers as reader_tasks
import torch
import transformers
from clock import Peak, seconds

import interlingua as il
from interlingua import measures
from interlingua.concepts.kmeans import kmeans
from interlingua.pretrain.config import Config

torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))


def taken(work):
    """CPU seconds, GiB beyond what was held, and what came out."""
    held = _held()
    peak = Peak(cuda=False)
    took, found = seconds(work)
    return took, max(0.0, peak.gib() - held), found


def _held():
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if "VmRSS" in line) / 2**20


def versus(task, ours, peer, theirs, same):
    """A row; `same` says from both results how alike they are."""
    mine, other = taken(ours), taken(theirs)
    print(
        f"| {task} | {mine[0]:.2f} | {mine[1]:.2f} | {peer} | {other[0]:.2f} | {other[1]:.2f} | "
        f"{other[0] / mine[0]:.1f} | {same(mine[2], other[2])} |",
        flush=True,
    )


def there(package):
    """Whether a peer is installed; said where it is not."""
    if importlib.util.find_spec(package) is not None:
        return True
    print(f"| (not installed: {package}) | | | | | | | |")
    return False


def width(scale):
    """Neurons: fewer than sentences, as every peer asks."""
    return min(768, round(3_000 * scale))


def gap(a, b):
    """The largest difference."""
    return f"{float(np.abs(np.asarray(a, np.float64) - np.asarray(b, np.float64)).max()):.0e}"


def version(package):
    """A peer with its version."""
    from importlib.metadata import version as of

    return f"{package} {of(package)}"


def indexes(scale):
    """Similarity indexes of one pair."""
    n, p = round(10_000 * scale), width(scale)
    x, y = measure_tasks.pair(np.random.default_rng(0), n, p)
    size = f"{n:,} x {p}"
    versus(f"seven linear indexes, {size}", lambda: measure_tasks.ours(x, y), "textbook QR and SVD (six of them)",
           lambda: measure_tasks.textbook(x, y), lambda a, b: gap([a[k] for k in b], list(b.values())))  # fmt: skip
    if there("ecco"):
        theirs = measure_tasks.peer()
        for name, mine in measure_tasks.ECCO.items():
            versus(f"{mine}, {size}", lambda mine=mine: getattr(measures, mine)(x, y).value, version("ecco"),
                   lambda name=name: theirs(name, x, y), gap)  # fmt: skip
    if there("cca_zoo"):
        from cca_zoo.linear import CCA

        def zoo():
            a, b = (v.astype(np.float64) - v.mean(0, dtype=np.float64) for v in (x, y))
            model = CCA(n_components=p).fit([a, b])
            one, other = (v - v.mean(0) for v in model.transform([a, b]))
            return float(np.mean((one * other).sum(0) / np.sqrt((one**2).sum(0) * (other**2).sum(0))))

        versus(f"cca_mean, {size}", lambda: measures.cca_mean(x, y).value, version("cca-zoo"), zoo, gap)
    if there("rsatoolbox"):
        from rsatoolbox.data import Dataset
        from rsatoolbox.rdm import calc_rdm, compare

        some = min(1_000, n)

        def rsa():
            a, b = (calc_rdm(Dataset(v[:some].astype(np.float64)), method="correlation") for v in (x, y))
            return float(compare(a, b, method="spearman")[0, 0])

        versus(f"rsa, {some:,} x {p}", lambda: measures.rsa(x[:some], y[:some]).value, version("rsatoolbox"), rsa, gap)


def retrieval(scale):
    """Nearest neighbours in both directions."""
    n, p = round(10_000 * scale), width(scale)
    x, y = measure_tasks.pair(np.random.default_rng(1), n, p)
    a, b = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (x, y))
    size = f"{n:,} x {n:,}"

    def found(nearest):
        return np.mean([np.mean(side == np.arange(n)) for side in nearest])

    ours = partial(measures.matching, x, y, dtype="float32")
    if there("faiss"):
        import faiss

        faiss.omp_set_num_threads(int(os.environ["OMP_NUM_THREADS"]))

        def flat(one, other, k=1):
            index = faiss.IndexFlatIP(p)
            index.add(other)
            return index.search(one, k)

        versus(f"matching, {size}", lambda: ours().value, version("faiss-cpu"),
               lambda: found([flat(a, b)[1][:, 0], flat(b, a)[1][:, 0]]), gap)  # fmt: skip

        def csls():
            near = [flat(one, other, 10)[0].mean(1) for one, other in ((a, b), (b, a))]
            scores = [2 * one @ other.T - mean for one, other, mean in ((a, b, near[1]), (b, a, near[0]))]
            return found([each.argmax(1) for each in scores])

        versus(f"CSLS, {size}", lambda: measures.csls(x, y, dtype="float32").value,
               f"{version('faiss-cpu')} and a product", csls, gap)  # fmt: skip
    from sklearn.neighbors import NearestNeighbors

    def neighbours(one, other):
        return NearestNeighbors(n_neighbors=1, algorithm="brute", metric="cosine").fit(other).kneighbors(one)[1][:, 0]

    versus(f"matching, {size}", lambda: ours().value, version("scikit-learn"),
           lambda: found([neighbours(a, b), neighbours(b, a)]), gap)  # fmt: skip


def clusters(scale):
    """k-means: the same steps from the same centres."""
    n, p, k, steps = round(50_000 * scale), width(scale), max(8, round(600 * scale)), 5
    rng = np.random.default_rng(0)
    middles = rng.standard_normal((k, p), np.float32) * 0.3
    rows = middles[rng.integers(k, size=n)] + rng.standard_normal((n, p), np.float32)
    start = rows[rng.choice(n, k, replace=False)]
    how = {"start": start, "steps": steps, "tol": 0.0, "device": "cpu"}
    size = f"k-means, {n:,} x {p}, K = {k}, {steps} steps"

    def near(a, b):
        return f"inertia {abs(a / b - 1):.0e} apart"

    versus(f"{size}, out of core", lambda: kmeans(concept_tasks.Slices(rows), k, **how).inertia, version("scikit-learn"),
           lambda: kmeans(rows, k, method="sklearn", **how).inertia, near)  # fmt: skip
    if there("faiss"):
        import faiss

        def flat():
            made = faiss.Kmeans(p, k, niter=steps, min_points_per_centroid=1, max_points_per_centroid=10**9)
            made.train(rows, init_centroids=start)
            return float(((rows - made.centroids[made.index.search(rows, 1)[1][:, 0]]) ** 2).sum())

        versus(size, lambda: kmeans(rows, k, **how).inertia, version("faiss-cpu"), flat, near)


def concepts(scale):
    """CALIGN, for which there is no package."""
    k = max(24, round(600 * scale))
    ours, naive, part = concept_tasks.contenders(k, round(20_000 * scale), 10)
    versus(f"CALIGN, {k} x {k} concepts", ours, f"the triple loop, {len(part)} of {k} rows", naive,
           lambda a, b: "same pairs" if b == {(i, j) for i, j, _ in a.pairs if i in part} else "OTHER PAIRS")  # fmt: skip


def extraction(scale):
    """All layers, pooled."""
    corpus = il.parallel("everyday", "en")[: max(32, round(256 * scale))]
    texts = list(corpus.columns[0])
    model = extract_tasks.make_model(extract_tasks.make_tokenizer(texts, size=2_000), "cpu", 12)
    _ = model.weights, model.tokenization
    il.extract(model, corpus[:8])

    def ours():
        return il.extract(model, corpus)["en"]

    versus(f"extraction, 13 layers, {len(texts)} sentences, XLM-R-base's size", ours, "a plain loop, 13 layers",
           lambda: extract_tasks.plain(model, corpus, {})()["en"], gap)  # fmt: skip
    if there("sentence_transformers"):
        last = extract_tasks.sentence_transformers(model, corpus, {})
        versus("the same", ours, f"{version('sentence-transformers')}, the last layer alone", last,
               lambda *_: "its mean counts <s> and </s>")  # fmt: skip


def pretraining(scale):
    """Updates of a small encoder."""
    updates = max(2, round(10 * scale))
    config = Config(size="mini", batch=4_096, text={"en": ["none"], "fr": ["none"]}).resolved()
    cpu = torch.device("cpu")
    ours = partial(pretrain_tasks.ours(config, 10_000, cpu, graphs=False), updates)
    hand = partial(pretrain_tasks.by_hand(config, 10_000, cpu), updates)
    trainer = partial(pretrain_tasks.trainer(config, 10_000), updates)

    def same(*_):
        return "the network: tests/golden/test_architecture.py"

    size = f"pretraining, 8 x 256, {updates} updates of 4,096 tokens"
    versus(size, ours, "a loop by hand", hand, same)
    versus(size, ours, f"{version('transformers')}, Trainer", trainer, same)


def reading(scale):
    """Trees."""
    with tempfile.TemporaryDirectory() as folder:
        size, ours, peer = reader_tasks.contenders(folder)
        versus(
            f"CoNLL-U, {size:,} sentences",
            ours,
            version("conllu"),
            peer,
            lambda a, b: f"{len(a) - len(b)} sentences apart",
        )


TASKS = {
    "measures": indexes,
    "retrieval": retrieval,
    "kmeans": clusters,
    "concepts": concepts,
    "extraction": extraction,
    "pretraining": pretraining,
    "reading": reading,
}


def main():
    """Print the table."""
    transformers.utils.logging.disable_progress_bar()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(TASKS), help=", ".join(TASKS))
    parser.add_argument("--scale", type=float, default=1.0, help="of the sizes: 0.1 for a quick look")
    asked = parser.parse_args()
    only = asked.only.split(",")
    if unknown := [name for name in only if name not in TASKS]:
        parser.error(f"{unknown[0]} is none of {', '.join(TASKS)}")
    print(
        "| task | ours, s | GiB | peer | theirs, s | GiB | theirs / ours | difference |\n|---|---:|---:|---|---:|---:|---:|---|"
    )
    for name in only:
        TASKS[name](asked.scale)


if __name__ == "__main__":
    main()
