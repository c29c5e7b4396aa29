"""k-means over rows that need not fit in memory: they are read in blocks, on a CPU or a GPU.

    inertia = Σ_i min_k ‖x_i - c_k‖²

Lloyd's two steps, repeated until the centres move by less than `tol` of the variance: every row goes to its nearest
centre, every centre to the mean of its rows. One pass over the rows a step, and nothing larger than a block of rows by
K is held, but rows in memory, which stay on a GPU where there is room for them twice. Rows in memory on a CPU are
scikit-learn's to cluster, which does the same with fewer copies. Where it misleads: clusters are as round and as equal
in size as k-means likes them, and another seed gives others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from interlingua.errors import InputError, MissingExtraError

Array = np.ndarray[Any, Any]
# Distances that are held at a time; rows per centre that starting centres are chosen from; rows put in an empty place.
HELD, SAMPLED, SPARE = 2**24, 50, 64


class Rows(Protocol):
    """Whatever gives rows by slices: an array, or a layer of a store."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, width)."""
        ...

    def __getitem__(self, key: slice, /) -> Any: ...


@dataclass(frozen=True, eq=False)
class Clusters:
    """The cluster of every row, the centres, and the sum of squared distances to them."""

    labels: Array
    centres: Array
    inertia: float
    steps: int = 0


def kmeans(
    rows: Rows,
    k: int,
    *,
    seed: int = 0,
    restarts: int = 1,
    steps: int = 100,
    tol: float = 1e-4,
    start: Array | None = None,
    device: str = "",
    method: str = "",
) -> Clusters:
    """The best of `restarts` runs by inertia. `method`: sklearn (rows in memory) or blocked; by default what fits.

    `start` gives the first centres, instead of k-means++ from `seed`.
    """
    n = int(rows.shape[0])
    if len(rows.shape) != 2 or not 1 <= k <= n:
        raise InputError(f"{k} clusters of {n} rows: from 1 up to as many as there are rows")
    if restarts < 1 or steps < 1:
        raise InputError(f"{restarts} restarts of {steps} steps: at least 1 of each is needed")
    where = device or ("cuda" if torch.cuda.is_available() else "cpu")
    in_memory = isinstance(rows, np.ndarray)
    chosen = method or ("sklearn" if in_memory and where == "cpu" else "blocked")
    if chosen not in ("sklearn", "blocked"):
        raise InputError(f"k-means is sklearn's or blocked, not {chosen!r}")
    if chosen == "sklearn":
        return _sklearn(np.asarray(rows[:]), k, seed, restarts, steps, tol, start)
    data = _Blocks(rows, k, torch.device(where), keep=in_memory and _fits(rows, torch.device(where)))
    seeds = np.random.SeedSequence(seed).spawn(restarts if start is None else 1)
    runs = (_lloyd(data, _started(data, k, s) if start is None else data.held(start), steps, tol) for s in seeds)
    return min(runs, key=lambda run: run.inertia)


def _fits(rows: Rows, device: torch.device) -> bool:
    """Whether half of what is free on a GPU holds all rows."""
    return device.type == "cuda" and 4 * math.prod(rows.shape) <= torch.cuda.mem_get_info(device)[0] // 2


def _sklearn(rows: Array, k: int, seed: int, restarts: int, steps: int, tol: float, start: Array | None) -> Clusters:
    try:
        from sklearn.cluster import KMeans
    except ImportError as error:
        raise MissingExtraError("scikit-learn", "concepts", "clustering") from error
    _finite(rows, 0)
    first: Any = "k-means++" if start is None else np.asarray(start, rows.dtype)
    runs = restarts if start is None else 1
    found = KMeans(k, init=first, n_init=runs, max_iter=steps, tol=tol, random_state=seed, algorithm="lloyd").fit(rows)
    return Clusters(found.labels_.astype(np.int32), found.cluster_centers_, float(found.inertia_), int(found.n_iter_))


def _finite(block: Array, first: int) -> None:
    if not np.isfinite(block).all():
        row = first + int(np.flatnonzero(~np.isfinite(block).all(axis=1))[0])
        raise InputError(f"row {row} holds a number that is not finite: nothing can be near it")


class _Blocks:
    """Rows, block by block, on the device; a mean is taken off, for squares of large numbers lose small ones.

    `keep`: blocks stay on the device, and are not sent there again for every step.
    """

    def __init__(self, rows: Rows, k: int, device: torch.device, *, keep: bool = False) -> None:
        self.rows, self.device = rows, device
        self.keep, self.kept = keep, dict[int, Tensor]()
        self.n, self.width = int(rows.shape[0]), int(rows.shape[1])
        self.size = max(256, min(65_536, HELD // k))
        self.shift = np.asarray(rows[: self.size]).mean(0, dtype=np.float64).astype(np.float32)
        # of every row, the square of its length; and the mean variance of columns
        self.squares = torch.empty(self.n, device=device)
        self.variance = self._looked_through()

    def held(self, block: Any) -> Tensor:
        found = np.asarray(block, np.float32) - self.shift
        return torch.as_tensor(found, device=self.device)

    def __iter__(self) -> Iterator[tuple[int, Tensor]]:
        for first in range(0, self.n, self.size):
            if first in self.kept:
                yield first, self.kept[first]
                continue
            block = self.held(self.rows[first : first + self.size])
            if self.keep:
                self.kept[first] = block
            yield first, block

    def _looked_through(self) -> float:
        total = torch.zeros((2, self.width), dtype=torch.float64, device=self.device)
        for first, block in self:
            own = (block * block).sum(1)
            if not torch.isfinite(own).all():
                _finite(np.asarray(self.rows[first : first + self.size]), first)
            self.squares[first : first + len(block)] = own
            total += torch.stack([block.sum(0, dtype=torch.float64), (block * block).sum(0, dtype=torch.float64)])
        mean, square = total / self.n
        return float((square - mean * mean).mean())

    def sample(self, many: int, rng: np.random.Generator) -> Tensor:
        """Rows drawn over all of them, without repetition."""
        return self.held(picked(self.rows, np.sort(rng.choice(self.n, min(many, self.n), replace=False)), self.size))


def picked(rows: Rows, wanted: Array, size: int = 65_536) -> Array:
    """Some rows, by their numbers in order; no more than a block is read at a time."""
    found = []
    for first in range(0, int(rows.shape[0]), size):
        low, high = np.searchsorted(wanted, [first, first + size])
        if low < high:
            found.append(np.asarray(rows[first : first + size])[wanted[low:high] - first])
    every: Array = np.concatenate(found)
    return every


def _started(data: _Blocks, k: int, seed: np.random.SeedSequence) -> Tensor:
    """k-means++ (Arthur and Vassilvitskii 2007), the best of a few candidates each time, on a sample of rows."""
    rng = np.random.default_rng(seed)
    rows = data.sample(max(SAMPLED * k, 10_000), rng)
    squares = (rows * rows).sum(1)

    def apart(which: Tensor) -> Tensor:
        """Squared distances of some rows (down) to all."""
        found = squares[which][:, None] + squares - 2 * rows[which] @ rows.T
        return found.clamp_(min=0)

    tries = 2 + int(np.log(k))
    centres = [int(rng.integers(len(rows)))]
    nearest = apart(torch.tensor(centres, device=rows.device))[0]
    while len(centres) < k:
        total = torch.cumsum(nearest.double(), 0)
        drawn = torch.as_tensor(rng.random(tries), device=rows.device) * total[-1]
        which = torch.searchsorted(total, drawn).clamp_(max=len(rows) - 1)
        closer = torch.minimum(nearest, apart(which))
        best = int(closer.sum(1).argmin())
        centres.append(int(which[best]))
        nearest = closer[best]
    return rows[centres]


def _lloyd(data: _Blocks, centres: Tensor, steps: int, tol: float) -> Clusters:
    # scikit-learn means the same by its `tol`
    enough, done = tol * data.variance, 0
    while done < steps:
        _, sums, counts, far = _assigned(data, centres)
        moved = torch.where(counts[:, None] > 0, sums / counts.clamp(min=1)[:, None], centres.double())
        # a centre without rows goes where a row is farthest from its own
        empty = torch.nonzero(counts == 0).flatten()[: len(far)]
        moved[empty] = far[: len(empty)].double()
        shift = float(((moved - centres.double()) ** 2).sum())
        centres, done = moved.float(), done + 1
        if shift <= enough and not len(empty):
            break
    return replace(_assigned(data, centres)[0], steps=done)


def _assigned(data: _Blocks, centres: Tensor) -> tuple[Clusters, Tensor, Tensor, Tensor]:
    """Every row at its nearest centre; sums and counts of the rows there; and some rows that are far from theirs."""
    k = len(centres)
    sums = torch.zeros((k, data.width), dtype=torch.float64, device=data.device)
    counts = torch.zeros(k, dtype=torch.int64, device=data.device)
    labels = np.empty(data.n, np.int32)
    squares = (centres * centres).sum(1)
    inertia = 0.0
    far, distance = centres[:0], squares[:0]
    for first, block in data:
        least, own = torch.addmm(squares, block, centres.T, alpha=-2).min(1)
        away = (least + data.squares[first : first + len(block)]).clamp_(min=0)
        inertia += float(away.sum(dtype=torch.float64))
        sums += torch.zeros((k, data.width), device=data.device).index_add_(0, own, block)
        counts += torch.bincount(own, minlength=k)
        labels[first : first + len(block)] = own.cpu().numpy()
        here = torch.topk(away, min(SPARE, len(away)))
        far, distance = torch.cat([far, block[here.indices]]), torch.cat([distance, here.values])
        top = torch.topk(distance, min(SPARE, len(distance)))
        far, distance = far[top.indices], top.values
    found = Clusters(labels, centres.cpu().numpy() + data.shift, inertia)
    return found, sums, counts, far
