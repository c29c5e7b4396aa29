"""`stream`: languages compared without keeping a single vector, for corpora whose vectors would fill no disk.

Rows are cut into blocks. Of each block, here or on a worker of a cluster, vectors are made a few thousand rows at a
time and become second moments, which are merged as they come; blocks are kept apart in a folder, so a run that was
killed goes on, and leaving them out one by one gives intervals. What the moments say is exact: ANC, linear and debiased
CKA, Procrustes. What needs pairs of sentences (matching, CSLS) cannot be had this way.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass, fields, replace
from itertools import chain, combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from interlingua.analyses.comparison import NEURON_WISE
from interlingua.analyses.shares import Pair, Shares, chunk_of
from interlingua.cluster import HERE, Engine, Workers, workers
from interlingua.errors import FormatError, InputError, UndefinedError, UnknownNameError
from interlingua.extract import extract
from interlingua.extract.extraction import columns_of, signature
from interlingua.extract.options import Extraction
from interlingua.extract.spread import Recipe, loaded
from interlingua.folders import claimed, whole, writing
from interlingua.languages import Language
from interlingua.measures.joined import FROM_MOMENTS
from interlingua.measures.moments import Joint, Moments, Side, joint_of, leave_one_out, merge, merge_sides, side_of
from interlingua.measures.moments import centred as centre
from interlingua.models import Model, PerLanguage, load_model
from interlingua.report.tables import CONFIG, RESULTS, harmless, pandas
from interlingua.stats.intervals import jackknife
from interlingua.types import ParallelCorpus

if TYPE_CHECKING:
    import pandas as pd

Array = np.ndarray[Any, Any]
Kept = dict[str, Array]
BLOCKS = 20
# Bytes that a worker holds of vectors and moments, about.
MEMORY = 8 * 2**30
PARTS = "parts"


@dataclass(frozen=True)
class Streamed:
    """What is asked of every block."""

    pairs: tuple[Pair, ...]
    layers: tuple[int, ...]
    measures: tuple[str, ...]
    options: Mapping[str, Any]
    # rows whose vectors are made at once
    chunk: int


def stream(
    model: Model | PerLanguage | str,
    corpus: ParallelCorpus,
    out: str | Path,
    *,
    pivot: str = "",
    measures: Sequence[str] = ("anc", "linear_cka", "debiased_cka"),
    layers: Sequence[int] = (),
    blocks: int = BLOCKS,
    memory: int = MEMORY,
    engine: Engine = HERE,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
    **options: Any,
) -> pd.DataFrame:
    """A row a layer, pair and measure: value, 95 % interval (jackknife over blocks) and number of sentences.

    `pivot`: this language with every other; all pairs by default. `memory`: bytes that a worker may hold of vectors and
    moments; with less, languages are read more often, and the numbers are the same. Options are those of `extract`.
    """
    if unknown := [name for name in measures if name not in FROM_MOMENTS]:
        raise UnknownNameError("measure of moments", unknown[0], FROM_MOMENTS)
    if blocks < 2 or len(corpus) < 4 * blocks:
        raise InputError(f"{len(corpus)} sentences are too few for {blocks} blocks: take at least {4 * max(2, blocks)}")
    network = load_model(model) if isinstance(model, str) else model
    langs = [str(lang) for lang in corpus.langs]
    shapes = [network.of(lang).layers for lang in corpus.langs]
    deepest, widest = max(map(len, shapes)), max(shape.width for shape in shapes)
    asked = Streamed(
        pairs_of(langs, pivot),
        layers_of(network, corpus, layers),
        tuple(measures),
        options,
        chunk_of(deepest, widest),
    )
    folder = Path(out)
    with claimed(folder):
        plan = Shares.of(
            asked.pairs, memory, layers=len(asked.layers), all_layers=deepest, width=widest,
            source=str(Language.parse(options["source"])) if options.get("source") else "",
        )  # fmt: skip
        shares = plan.pairs
        parts = folder / f"{PARTS}-{_begun(folder, network, corpus, asked, blocks)}"
        parts.mkdir(exist_ok=True)
        edges = [round(i * len(corpus) / blocks) for i in range(blocks + 1)]
        places = {(i, share): parts / f"{i}-{_name(share)}.npz" for share in shares for i in range(blocks)}
        left = [key for key, place in places.items() if not _whole(place)]
        total = len(corpus) * len(shares)
        done = total - sum(edges[i + 1] - edges[i] for i, _ in left)
        progress(done // len(shares), len(corpus))
        tasks = (
            (_only(corpus, plan.langs(share))[edges[i] : edges[i + 1]], replace(asked, pairs=share))
            for i, share in left
        )
        with (
            workers(engine) if engine.spread else nullcontext() as there,
            closing(_made(network, tasks, there)) as made,
        ):
            for (i, share), kept in zip(left, made, strict=True):
                with writing(places[i, share]) as file:
                    np.savez(file, **kept)  # type: ignore[arg-type]
                done += edges[i + 1] - edges[i]
                progress(done // len(shares), len(corpus))
        rows = [
            row
            for share in shares
            for row in _values([places[i, share] for i in range(blocks)], replace(asked, pairs=share))
        ]
        order = {pair: place for place, pair in enumerate(asked.pairs)}
        rows.sort(key=lambda row: (row["layer"], order[row["source"], row["target"]]))
        table = pandas().DataFrame(rows)
        whole(folder / f"{RESULTS}.csv", harmless(table).to_csv(index=False).encode())
        for other in set(parts.iterdir()) - set(places.values()):  # of a run with other shares
            other.unlink()
    return table


def _made(
    network: Model | PerLanguage, tasks: Iterator[tuple[ParallelCorpus, Streamed]], there: Workers | None
) -> Generator[Kept]:
    """The moments of every task, here or by workers."""
    if there is None:
        return (moments_of(_of(network, text), text, part) for text, part in tasks)
    return there.each(
        moments_there,
        (
            ({str(lang): Recipe.of(network.of(lang), there.device) for lang in text.langs}, text, part)
            for text, part in tasks
        ),
    )


def _only(corpus: ParallelCorpus, langs: set[str]) -> ParallelCorpus:
    return corpus.languages(*(lang for lang in corpus.langs if str(lang) in langs))


def _of(model: Model | PerLanguage, text: ParallelCorpus) -> Model | PerLanguage:
    """What reads these languages."""
    return model if isinstance(model, Model) else PerLanguage({lang: model.of(lang) for lang in text.langs})


def _name(share: Sequence[Pair]) -> str:
    """What tells a share's files from another's."""
    return hashlib.sha256(repr(share).encode()).hexdigest()[:8]


def pairs_of(langs: Sequence[str], pivot: str) -> tuple[Pair, ...]:
    """A language with every other, or all of them; an error where there are none."""
    first = str(Language.parse(pivot)) if pivot else ""
    if first and first not in langs:
        raise UnknownNameError("language", first, langs)
    if len(langs) < 2:
        raise InputError("a comparison takes at least two languages")
    return tuple((first, lang) for lang in langs if lang != first) if first else tuple(combinations(langs, 2))


def layers_of(model: Model | PerLanguage, corpus: ParallelCorpus, layers: Sequence[int]) -> tuple[int, ...]:
    """All of them, or those that are asked for, once each and in order; an error where one is not there."""
    deepest = min(model.of(lang).layers.blocks for lang in corpus.langs)
    if wrong := [layer for layer in layers if not 0 <= layer <= deepest]:
        raise InputError(f"there is no layer {wrong[0]}: layers run from 0 (embeddings) to {deepest}")
    return tuple(sorted(set(layers))) or tuple(range(deepest + 1))


def _begun(folder: Path, model: Model | PerLanguage, corpus: ParallelCorpus, asked: Streamed, blocks: int) -> str:
    """What tells this run's blocks from another's; an error where the folder is another run's."""
    how = Extraction(**asked.options)
    made_by = signature(columns_of(model, corpus, how), how)
    if not made_by["one_network"] and (wise := [name for name in asked.measures if name in NEURON_WISE]):
        raise InputError(
            f"{wise[0]} pairs neurons, and neuron i of one network is not neuron i of another: leave it out"
        )
    facts = {
        "kind": "moments",
        "extraction": made_by,
        "pairs": asked.pairs,
        "layers": asked.layers,
        "blocks": blocks,
        "chunk": asked.chunk,
    }
    text = json.dumps(facts, indent=1, sort_keys=True, default=str)
    place = folder / CONFIG
    if place.exists() and place.read_bytes() != text.encode():
        raise InputError(f"{folder} holds another run: choose another folder")
    if not place.exists() and (others := [path.name for path in folder.iterdir() if path.name != ".lock"]):
        raise InputError(f"{folder} holds something else ({others[0]}): choose another folder")
    whole(place, text.encode())
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def moments_there(recipes: Mapping[str, Recipe], text: ParallelCorpus, asked: Streamed) -> Kept:
    """In a worker."""
    return moments_of(PerLanguage.by_tag({lang: loaded(recipe) for lang, recipe in recipes.items()}), text, asked)


def moments_of(model: Model | PerLanguage, text: ParallelCorpus, asked: Streamed) -> Kept:
    """Moments of a block by language, pair and layer."""
    sides: dict[tuple[str, int], Side] = {}
    both: dict[tuple[Pair, int], Joint] = {}
    for start in range(0, len(text), asked.chunk):
        # a last chunk of a row or two has moments as well
        reps = extract(model, text[start : start + asked.chunk], **asked.options)
        for layer in asked.layers:
            rows = {str(lang): centre(np.asarray(reps[lang, layer])) for lang in reps.langs}
            own = {lang: side_of(some) for lang, some in rows.items()}
            for one, other in asked.pairs:
                new = Moments(own[one], own[other], joint_of(rows[one], rows[other]))
                if before := both.get(((one, other), layer)):
                    new = merge([Moments(sides[one, layer], sides[other, layer], before), new])
                both[(one, other), layer] = new.joint
            for lang, side in own.items():
                earlier = sides.get((lang, layer))
                sides[lang, layer] = side if earlier is None else merge_sides([earlier, side])
            del rows, own  # before the next are made
        del reps
    kept: Kept = {}
    for (lang, layer), side in sides.items():
        kept |= {f"{lang}.{layer}.{each.name}": np.asarray(getattr(side, each.name)) for each in fields(Side)}
    for (pair, layer), joint in both.items():
        name = f"{'|'.join(pair)}.{layer}"
        kept |= {f"{name}.{each.name}": np.asarray(getattr(joint, each.name)) for each in fields(Joint)}
    return kept


def _whole(place: Path) -> bool:
    """Whether a block is there, and its bytes are those that were written."""
    try:
        with zipfile.ZipFile(place) as file:
            return file.testzip() is None
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError):  # a flag that no file of ours has
        return False


def _values(places: Sequence[Path], asked: Streamed) -> Iterator[dict[str, Any]]:
    """Layer by layer, pair by pair: only their moments are in memory."""
    with ExitStack() as stack:
        opened = [stack.enter_context(np.load(place)) for place in places]
        for layer in asked.layers:
            for pair in asked.pairs:
                parts = [_moments(kept, pair, layer, place) for kept, place in zip(opened, places, strict=True)]
                row = {"layer": layer, "source": pair[0], "target": pair[1], "n": sum(part.n for part in parts)}
                yield from ({**row, **found} for found in _jackknifed(parts, asked.measures))


def _jackknifed(parts: Sequence[Moments], measures: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Every measure of all blocks together, and its interval from leaving them out one at a time."""
    together = merge(parts)
    found = [{name: _value(name, some) for name in measures} for some in chain([together], leave_one_out(parts))]
    for name in measures:
        first, *without = (each[name] for each in found)
        wrong = [each for each in (first, *without) if isinstance(each, str)]
        if wrong:
            yield {"measure": name, "value": None, "low": None, "high": None, "notes": wrong[0]}
            continue
        sure = jackknife(float(first), [float(each) for each in without])
        yield {"measure": name, "value": first, "low": sure.low, "high": sure.high, "notes": ""}


def _value(name: str, moments: Moments) -> float | str:
    """A measure, or why it is undefined."""
    try:
        return float(FROM_MOMENTS[name](moments).value)
    except UndefinedError as error:
        return str(error)


def _moments(kept: Mapping[str, Array], pair: Pair, layer: int, place: Path) -> Moments:
    def read(kind: Any, name: str) -> Any:
        try:
            found = {each.name: kept[f"{name}.{layer}.{each.name}"] for each in fields(kind)}
        except KeyError as error:
            raise FormatError(place, None, "it is no block of this run: delete it, and run it again") from error
        return kind(**{key: value.item() if value.ndim == 0 else value for key, value in found.items()})

    return Moments(read(Side, pair[0]), read(Side, pair[1]), read(Joint, "|".join(pair)))
