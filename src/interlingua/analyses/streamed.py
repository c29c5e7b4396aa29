"""`stream`: languages compared without keeping a single vector, for corpora whose vectors would fill no disk.

Rows are cut into blocks. Of each block, here or on a worker of a cluster, vectors are made a few thousand rows at a
time and become second moments, which are merged as they come; blocks are kept apart in a folder, so a run that was
killed goes on, and leaving them out one by one gives intervals. What the moments say is exact: ANC, linear and debiased
CKA, Procrustes. What needs pairs of sentences (matching, CSLS) cannot be had this way.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from interlingua.analyses.comparison import NEURON_WISE
from interlingua.cluster import HERE, Engine, workers
from interlingua.errors import FormatError, InputError, UndefinedError, UnknownNameError
from interlingua.extract import extract
from interlingua.extract.extraction import columns_of, signature
from interlingua.extract.options import Extraction
from interlingua.extract.spread import Recipe, loaded
from interlingua.folders import claimed
from interlingua.languages import Language
from interlingua.measures.joined import FROM_MOMENTS
from interlingua.measures.moments import Joint, Moments, Side, joint_of, leave_one_out, merge, merge_sides, side_of
from interlingua.measures.moments import centred as centre
from interlingua.models import Model, PerLanguage, load_model
from interlingua.report.tables import CONFIG, RESULTS, harmless, pandas, whole
from interlingua.stats.intervals import jackknife
from interlingua.types import ParallelCorpus

if TYPE_CHECKING:
    import pandas as pd

Array = np.ndarray[Any, Any]
Pair = tuple[str, str]
Kept = dict[str, Array]
# Rows whose vectors are in memory at once.
CHUNK = 4096
BLOCKS = 20
PARTS = "parts"


@dataclass(frozen=True)
class Streamed:
    """What is asked of every block."""

    pairs: tuple[Pair, ...]
    layers: tuple[int, ...]
    measures: tuple[str, ...]
    options: Mapping[str, Any]


def stream(
    model: Model | PerLanguage | str,
    corpus: ParallelCorpus,
    out: str | Path,
    *,
    pivot: str = "",
    measures: Sequence[str] = ("anc", "linear_cka", "debiased_cka"),
    layers: Sequence[int] = (),
    blocks: int = BLOCKS,
    engine: Engine = HERE,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
    **options: Any,
) -> pd.DataFrame:
    """A row a layer, pair and measure: value, 95 % interval (jackknife over blocks) and number of sentences.

    `pivot`: this language with every other; all pairs by default. Options are those of `extract`.
    """
    if unknown := [name for name in measures if name not in FROM_MOMENTS]:
        raise UnknownNameError("measure of moments", unknown[0], FROM_MOMENTS)
    if blocks < 2 or len(corpus) < 4 * blocks:
        raise InputError(f"{len(corpus)} sentences in {blocks} blocks: take at least 2 blocks of 4 sentences")
    network = load_model(model) if isinstance(model, str) else model
    langs = [str(lang) for lang in corpus.langs]
    asked = Streamed(_pairs(langs, pivot), _layers(network, corpus, layers), tuple(measures), options)
    folder = Path(out)
    with claimed(folder):
        parts = folder / f"{PARTS}-{_begun(folder, network, corpus, asked, blocks)}"
        parts.mkdir(exist_ok=True)
        edges = [round(i * len(corpus) / blocks) for i in range(blocks + 1)]
        left = [i for i in range(blocks) if not _whole(parts / f"{i}.npz")]
        done = len(corpus) - sum(edges[i + 1] - edges[i] for i in left)
        progress(done, len(corpus))
        with workers(engine) if engine.spread else nullcontext() as there:
            texts = (corpus[edges[i] : edges[i + 1]] for i in left)
            if there is None:
                made: Iterator[Kept] = (moments_of(network, text, asked) for text in texts)
            else:
                recipes = {lang: Recipe.of(network.of(Language.parse(lang)), there.device) for lang in langs}
                made = there.each(moments_there, ((recipes, text, asked) for text in texts))
            for i, kept in zip(left, made, strict=True):
                content = io.BytesIO()
                np.savez(content, **kept)  # type: ignore[arg-type]
                whole(parts / f"{i}.npz", content.getvalue())
                done += edges[i + 1] - edges[i]
                progress(done, len(corpus))
        table = pandas().DataFrame(_values([parts / f"{i}.npz" for i in range(blocks)], asked))
        whole(folder / f"{RESULTS}.csv", harmless(table).to_csv(index=False).encode())
    return table


def _pairs(langs: Sequence[str], pivot: str) -> tuple[Pair, ...]:
    first = str(Language.parse(pivot)) if pivot else ""
    if first and first not in langs:
        raise UnknownNameError("language", first, langs)
    if len(langs) < 2:
        raise InputError("a comparison takes at least two languages")
    return tuple((first, lang) for lang in langs if lang != first) if first else tuple(combinations(langs, 2))


def _layers(model: Model | PerLanguage, corpus: ParallelCorpus, layers: Sequence[int]) -> tuple[int, ...]:
    deepest = min(model.of(lang).layers.blocks for lang in corpus.langs)
    if wrong := [layer for layer in layers if not 0 <= layer <= deepest]:
        raise InputError(f"there is no layer {wrong[0]}: layers run from 0 (embeddings) to {deepest}")
    return tuple(layers) or tuple(range(deepest + 1))


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
        "chunk": CHUNK,
    }
    text = json.dumps(facts, indent=1, sort_keys=True, default=str)
    place = folder / CONFIG
    if place.exists() and place.read_bytes() != text.encode():
        raise InputError(f"{folder} holds another run: choose another folder")
    whole(place, text.encode())
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def moments_there(recipes: Mapping[str, Recipe], text: ParallelCorpus, asked: Streamed) -> Kept:
    """In a worker."""
    return moments_of(PerLanguage.by_tag({lang: loaded(recipe) for lang, recipe in recipes.items()}), text, asked)


def moments_of(model: Model | PerLanguage, text: ParallelCorpus, asked: Streamed) -> Kept:
    """Moments of a block by language, pair and layer."""
    sides: dict[tuple[str, int], Side] = {}
    both: dict[tuple[Pair, int], Joint] = {}
    for start in range(0, len(text), CHUNK):
        # a last chunk of a row or two has moments as well
        reps = extract(model, text[start : start + CHUNK], **asked.options)
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
    opened = [np.load(place) for place in places]
    for layer in asked.layers:
        for pair in asked.pairs:
            parts = [_moments(kept, pair, layer) for kept in opened]
            together, without = merge(parts), list(leave_one_out(parts))
            for name in asked.measures:
                row = {"layer": layer, "source": pair[0], "target": pair[1], "measure": name, "n": together.n}
                try:
                    value = FROM_MOMENTS[name](together).value
                    sure = jackknife(value, [FROM_MOMENTS[name](rest).value for rest in without])
                    yield {**row, "value": value, "low": sure.low, "high": sure.high, "notes": ""}
                except UndefinedError as error:
                    yield {**row, "value": None, "low": None, "high": None, "notes": str(error)}


def _moments(kept: Mapping[str, Array], pair: Pair, layer: int) -> Moments:
    def read(kind: Any, name: str) -> Any:
        try:
            found = {each.name: kept[f"{name}.{layer}.{each.name}"] for each in fields(kind)}
        except KeyError as error:
            raise FormatError(Path(PARTS), None, f"a block has no {error}: run it again in a new folder") from error
        return kind(**{key: value.item() if value.ndim == 0 else value for key, value in found.items()})

    return Moments(read(Side, pair[0]), read(Side, pair[1]), read(Joint, "|".join(pair)))
