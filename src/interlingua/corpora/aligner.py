"""Which word translates which: links between the words of sentence pairs, and how far they are from gold ones.

Three methods. `eflomal` (Östling and Tiedemann 2016: sampling, word order and fertility) and `fast_align` (through
systran-align) are optional packages; `ours` is the model of fast_align (Dyer, Chahuneau and Smith 2013) in NumPy. Given
a source sentence of n words, each of the m target words chooses the word that it translates on its own:

    p(f_j, a_j = i) = (1 - p0) exp(-λ |i/n - j/m|) / Z_j  *  t(f_j | e_i)      i = 1..n
    p(f_j, a_j = 0) = p0 * t(f_j | null)

t has a Dirichlet prior and is fitted by variational Bayes, λ by gradient steps between the passes. Both directions are
fitted, and their links brought together. Two slips of fast_align's λ step are not repeated: there j counts from 0 in
one of the two averages that are compared and from 1 in the other, and a normaliser has n and m exchanged. As in
systran-align, and unlike the first fast_align, what a word translates to with little probability makes no links.
"""

from __future__ import annotations

import importlib
import importlib.util
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from interlingua.corpora.links import SYMMETRISATIONS, Pairs, symmetrise
from interlingua.errors import InputError, MissingExtraError, UnknownNameError

Sentences = Sequence[Sequence[str]]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]

# The methods and the module each needs, the best first: mean error rates over 17 gold sets (benchmarks/aligner.py) are
# 0.292, 0.354 and 0.356. The last two are one model, and no difference between them should be read from this.
METHODS = {"eflomal": "eflomal", "ours": "", "fast_align": "systran_align"}
PACKAGES = {"eflomal": "eflomal", "systran_align": "systran-align"}

NULL = 0.08  # p0, the probability that a word translates nothing
ALPHA = 0.01  # the Dirichlet prior of t
TENSION, TENSIONS, STEPS, RATE = 4.0, (0.1, 14.0), 8, 20.0  # λ: start, bounds, gradient steps a pass, step size
BEAM = 4.0  # links are made of t >= (the largest t of the same word) ** BEAM only
CELLS = 1 << 20  # word pairs that are worked on at once: this bounds the memory of temporary arrays


def align(
    source: Sentences,
    target: Sentences,
    *,
    method: str = "",
    symmetrise: str = "grow-diag-final-and",
    lowercase: bool = True,
    iterations: int = 5,
) -> list[Pairs]:
    """Links (source word, target word) of every sentence pair, positions from 0, sorted.

    Without `method` the best that is installed is taken, in the order of METHODS. The sentences themselves are all that
    is learned from: a few hundred give poor links, so put more text of the same languages behind them. `ours` and
    `fast_align` give the same links in every run; `eflomal` samples, has its own number of iterations, and does not.
    `fast_align` knows only its own grow-diag-final-and. A pair with an empty side has no links.
    """
    method = method or next(name for name, module in METHODS.items() if not module or importlib.util.find_spec(module))
    if method not in METHODS:
        raise UnknownNameError("alignment method", method, METHODS)
    if symmetrise not in SYMMETRISATIONS:
        raise UnknownNameError("symmetrisation", symmetrise, SYMMETRISATIONS)
    if method == "fast_align" and symmetrise != SYMMETRISATIONS[-1]:
        raise InputError(f"fast_align gives {SYMMETRISATIONS[-1]} only, not {symmetrise}: take method='ours'")
    if iterations < 1:
        raise InputError(f"iterations is {iterations}: at least 1 is needed")
    if len(source) != len(target):
        raise InputError(
            f"{len(source)} source and {len(target)} target sentences: row i of one must translate row i of the other"
        )
    if not len(source):
        raise InputError("no sentences to align: at least one pair is needed")
    full = [k for k, (s, t) in enumerate(zip(source, target, strict=True)) if len(s) and len(t)]
    found: list[Pairs] = [()] * len(source)
    if full:
        sides = _encode(source, full, lowercase), _encode(target, full, lowercase)
        for k, links in zip(full, _links(method, *sides, symmetrise, iterations), strict=True):
            found[k] = links
    return found


def _links(method: str, source: _Side, target: _Side, how: str, iterations: int) -> Iterable[Pairs]:
    if method == "fast_align":
        return _fast_align(source, target, iterations)
    both = _eflomal(source, target) if method == "eflomal" else _ours(source, target, iterations)
    return (symmetrise(forward, backward, how) for forward, backward in zip(*both, strict=True))


# Symmetrisation and scores


@dataclass(frozen=True, slots=True)
class _Side:
    types: Shorts  # of every word of every sentence, one after another
    lengths: Ints
    size: int  # of the vocabulary

    def sentences(self) -> list[list[str]]:
        """Types as words: numbers, so that no word holds what a file format means something by."""
        words = list(map(str, self.types.tolist()))
        ends = np.cumsum(self.lengths).tolist()
        return [words[a:b] for a, b in zip([0, *ends], ends, strict=False)]


def _encode(sentences: Sentences, rows: Sequence[int], lowercase: bool) -> _Side:
    vocabulary: dict[str, int] = {}
    types = []
    for k in rows:
        if isinstance(sentences[k], str):
            raise InputError(f"sentence {k} is a string, {sentences[k]!r:.40}: give a list of its words")
        types += [vocabulary.setdefault(w.lower() if lowercase else w, len(vocabulary)) for w in sentences[k]]
    lengths = np.array([len(sentences[k]) for k in rows], np.int64)
    return _Side(np.array(types, np.int32), lengths, len(vocabulary))


@dataclass(frozen=True, slots=True)
class _Cells:
    """Every word pair of a block of sentence pairs: which of the block's words they are, and |i/n - j/m|."""

    sentences: slice
    words: tuple[slice, slice]  # of the block, in source and target
    pair: tuple[Ints, Ints]
    distance: Floats


def _blocks(n: Ints, m: Ints) -> Iterator[_Cells]:
    """Sentence pairs of n and m words, in blocks of about CELLS word pairs."""
    ends = np.cumsum(n), np.cumsum(m)
    starts = np.flatnonzero(np.diff((np.cumsum(n * m) - n * m) // CELLS, prepend=-1))
    for a, b in zip(starts, [*starts[1:], len(n)], strict=True):
        words = slice(ends[0][a] - n[a], ends[0][b - 1]), slice(ends[1][a] - m[a], ends[1][b - 1])
        yield _Cells(slice(a, b), words, *_cells(n[a:b], m[a:b]))


def _cells(n: Ints, m: Ints) -> tuple[tuple[Ints, Ints], Floats]:
    width = np.repeat(n, m)  # of a target word: the source words it can translate
    target = np.repeat(np.arange(len(width)), width)
    source = np.arange(len(target)) + (np.repeat(_first(n), m) - _first(width))[target]
    places = [(np.arange(k.sum()) - np.repeat(_first(k), k) + 1) / np.repeat(k, k) for k in (n, m)]
    return (source, target), np.abs(places[0][source] - places[1][target])


def _first(lengths: Ints) -> Ints:
    return np.cumsum(lengths) - lengths


@dataclass(frozen=True, slots=True)
class _Index:
    """Which pairs of types occur: for every block its pairs and, for every cell, which of these it is."""

    blocks: list[tuple[Shorts, Shorts]]
    types: tuple[Shorts, Shorts]  # of every pair


def _index(source: _Side, target: _Side) -> _Index:
    blocks, tables = [], [np.empty(0, np.int64)]
    for cells in _blocks(source.lengths, target.lengths):
        s, t = (side.types[w][p] for side, w, p in zip((source, target), cells.words, cells.pair, strict=True))
        keys, cell = np.unique(s.astype(np.int64) * target.size + t, return_inverse=True)
        blocks.append((keys, cell.astype(np.int32)))
        tables.append(keys)
        while len(tables) > 1 and len(tables[-2]) <= 2 * len(tables[-1]):  # like meets like: no large table each time
            tables.append(np.union1d(tables.pop(), tables.pop()))
    table = np.unique(np.concatenate(tables))
    where = []
    while blocks:  # the keys of a block are let go as soon as they are not needed
        keys, cell = blocks.pop()
        where.append((np.asarray(np.searchsorted(table, keys), np.int32), cell))
    where.reverse()
    return _Index(where, ((table // target.size).astype(np.int32), (table % target.size).astype(np.int32)))


# The model


def _ours(source: _Side, target: _Side, iterations: int) -> tuple[list[Pairs], list[Pairs]]:
    index = _index(source, target)
    return _one_way(index, source, target, iterations, 1), _one_way(index, source, target, iterations, 0)


def _one_way(index: _Index, source: _Side, target: _Side, iterations: int, made: int) -> list[Pairs]:
    """Links of one direction: the words of side `made` (0 source, 1 target) choose among those of the other."""
    n, m = source.lengths, target.lengths
    side, given = (source, target)[made], index.types[1 - made]
    lexical, null, tension = np.ones(len(given)), np.ones(side.size), TENSION
    shapes = np.unique(np.stack([n, m]), axis=1, return_counts=True)
    for step in range(iterations):
        counts, null_counts, distance = np.zeros(len(given)), np.zeros(side.size), 0.0
        for cells, (pairs, cell) in zip(_blocks(n, m), index.blocks, strict=True):
            types, group = side.types[cells.words[made]], cells.pair[made]
            p, nothing = _joint(lexical[pairs][cell], null[types], cells.distance, group, tension)
            total = np.bincount(group, p) + nothing
            p /= total[group]
            counts[pairs] += np.bincount(cell, p)
            null_counts += np.bincount(types, nothing / total, side.size)
            distance += float(p @ cells.distance)
        if step:  # in the first pass t says nothing yet
            tension = _follow(distance / (len(side.types) - null_counts.sum()), *shapes, made, tension)
        lexical, null = _variational(counts, given), _variational(null_counts, np.zeros(side.size, np.int32))
    peaks = np.zeros((target, source)[made].size)
    np.maximum.at(peaks, given, lexical)
    lexical[lexical < peaks[given] ** BEAM] = 0
    found: list[Pairs] = []
    for cells, (pairs, cell) in zip(_blocks(n, m), index.blocks, strict=True):
        types, group = side.types[cells.words[made]], cells.pair[made]
        p, nothing = _joint(lexical[pairs][cell], null[types], cells.distance, group, tension)
        found += _viterbi(p, nothing, group, cells, n[cells.sentences], m[cells.sentences])
    return found


def _joint(lexical: Floats, null: Floats, distance: Floats, group: Ints, tension: float) -> tuple[Floats, Floats]:
    """p(f_j, a_j = i) for every cell, and p(f_j, a_j = 0) for every word j, which the cells name as `group`."""
    prior = np.exp(-tension * distance)
    prior *= ((1 - NULL) / np.bincount(group, prior))[group]
    return prior * lexical, NULL * null


def _viterbi(p: Floats, nothing: Floats, group: Ints, cells: _Cells, n: Ints, m: Ints) -> list[Pairs]:
    """The best choice of every word, the first among equals; no link where that is nothing."""
    best = nothing.copy()
    np.maximum.at(best, group, p)
    hits = np.flatnonzero((p == best[group]) & (p > nothing[group]))
    hits = np.sort(hits[np.unique(group[hits], return_index=True)[1]])
    i, j = (cells.pair[side][hits] - np.repeat(_first(k), k)[cells.pair[side][hits]] for side, k in ((0, n), (1, m)))
    links = list(zip(i.tolist(), j.tolist(), strict=True))
    ends = np.searchsorted(hits, np.cumsum(n * m)).tolist()
    return [tuple(links[a:b]) for a, b in zip([0, *ends], ends, strict=False)]


def _follow(wanted: float, shapes: Ints, times: Ints, made: int, tension: float) -> float:
    """λ after some steps that bring the prior's mean distance closer to the one found."""
    for _ in range(STEPS):
        total = 0.0
        for cells in _blocks(*shapes):
            prior, group = np.exp(-tension * cells.distance), cells.pair[made]
            means = np.bincount(group, prior * cells.distance) / np.bincount(group, prior)
            total += float(means @ np.repeat(times[cells.sentences], shapes[made][cells.sentences]))
        tension += RATE * (total / float(times @ shapes[made]) - wanted)
        tension = min(max(tension, TENSIONS[0]), TENSIONS[1])
    return tension


def _variational(counts: Floats, given: Shorts) -> Floats:
    """The table t under a Dirichlet prior: exp(ψ(c + α) - ψ(Σ c + α)), summed over what occurs with the same word."""
    counts = counts + ALPHA
    totals: Floats = np.bincount(given, counts).astype(np.float64, copy=False)
    t: Floats = np.exp(_digamma(counts) - _digamma(totals)[given])
    return t


def _digamma(x: Floats) -> Floats:
    result = np.zeros_like(x)
    for shift in range(6):  # ψ(x) = ψ(x + 1) - 1/x, up to where the series is exact to 1e-12
        result -= 1 / (x + shift)
    y = 1 / (x + 6) ** 2
    series = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132 - y * 691 / 32760)))))
    digamma: Floats = result + np.log(x + 6) - 0.5 / (x + 6) - series
    return digamma


# Optional packages


def _package(method: str) -> ModuleType:
    try:
        return importlib.import_module(METHODS[method])
    except ImportError as error:
        raise MissingExtraError(PACKAGES[METHODS[method]], "align", f"aligning words with {method}") from error


def _eflomal(source: _Side, target: _Side) -> list[list[Pairs]]:
    aligner = _package("eflomal").Aligner()
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("forward", "backward")]
        aligner.align(*(list(map(" ".join, side.sentences())) for side in (source, target)), *map(str, files))
        lines = [file.read_text(encoding="utf-8").splitlines() for file in files]
    return [[tuple(_pair(link) for link in line.split()) for line in side] for side in lines]


def _pair(link: str) -> tuple[int, int]:
    i, _, j = link.partition("-")
    return int(i), int(j)


def _fast_align(source: _Side, target: _Side, iterations: int) -> list[Pairs]:
    package, sides = _package("fast_align"), (source.sentences(), target.sentences())
    with tempfile.TemporaryDirectory() as folder:
        text, forward, backward = (str(Path(folder, name)) for name in ("text", "forward", "backward"))
        lines = (f"{' '.join(s)} ||| {' '.join(t)}\n" for s, t in zip(*sides, strict=True))
        Path(text).write_text("".join(lines), encoding="utf-8")
        wanted = {"favor_diagonal": True, "optimize_tension": True, "variational_bayes": True}
        package.generate_alignment_probabilities(text, forward, backward, iterations=iterations, **wanted)
        found = package.Aligner(forward, backward).align_batch(*sides)
    return [tuple(sorted(map(tuple, item["alignments"]))) for item in found]
