"""How spaces are made one, and a run that does it, layer by layer, in its folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from interlingua.corpora.aligner import align
from interlingua.errors import InputError
from interlingua.extract import extract
from interlingua.extract.words import Sentence
from interlingua.languages import Language
from interlingua.mapping.alignment import Alignment, save_alignment
from interlingua.mapping.levels import Score
from interlingua.models.load import Model, PerLanguage, load_model
from interlingua.report.map_tables import WITHOUT, MapTables, write_map
from interlingua.report.tables import ALIGNMENTS, CACHE, REPRESENTATIONS, keep_found, kept_found
from interlingua.types import ParallelCorpus, Representations, WordRepresentations

Stage = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]
Pair = tuple[Language, Language]
# The way whose alignments are kept for use, and what the rest is judged beside.
KEPT = "rotation"
WAYS_OF = {
    "word": ("identity", "shift", "rotation", "refined"),
    "context": ("identity", "shift", "rotation"),
    "sentence": ("identity", "shift", "rotation"),
}


@dataclass(frozen=True)
class Plan:
    """How spaces are made one and judged."""

    ways: tuple[str, ...] = ()
    by: tuple[str, ...] = ("csls",)
    sizes: tuple[int, ...] = (100, 300, 1000, 3000, 10_000)
    reduce: bool = False
    # beside the models: their untrained twins; word level: the embedding table, and static vectors of the same text
    baseline: bool = True
    static: bool = False
    min_count: int = 5
    seed: int = 0
    extraction: Mapping[str, Any] = field(default_factory=dict)
    loading: Mapping[str, Any] = field(default_factory=dict)


# (layer=..., sides=...) -> alignments and their scores
Judge = Callable[..., Iterator[tuple[Alignment, Score]]]


class MapRun:
    """A run under way in its folder: layers that are done are not done again."""

    def __init__(self, folder: Path, level: str, langs: Pair, plan: Plan, stage: Stage) -> None:
        self.folder, self.level, self.langs, self.plan, self.stage = folder, level, langs, plan, stage
        self.rows: list[dict[str, Any]] = []
        self.found: list[dict[str, Any]] = []
        self.reps: Any = None
        self.left_out: dict[str, str] = {}
        for name in (CACHE, REPRESENTATIONS, ALIGNMENTS):
            (folder / name).mkdir(exist_ok=True)

    def spaces(self) -> tuple[str, ...]:
        """The models, and what they are judged beside."""
        return ("model", "untrained") if self.plan.baseline else ("model",)

    def ways(self, space: str) -> tuple[str, ...]:
        """Everything for the models; for what they are judged beside, the rotation."""
        asked = self.plan.ways or WAYS_OF[self.level]
        return asked if space == "model" else tuple(way for way in asked if way == KEPT) or asked[:1]

    def options(self, space: str) -> dict[str, Any]:
        """What contexts and sentences are judged with."""
        plan = self.plan
        return {"space": space, "ways": self.ways(space), "by": plan.by, "seed": plan.seed, "reduce": plan.reduce}

    def extracted(
        self, models: Sequence[str], corpus: Any, level: str, space: str, *, name: str = "", **more: Any
    ) -> Any:
        """Vectors of a level, in the folder."""
        how = {**self.plan.loading, **({"random": True, "seed": self.plan.seed} if space == "untrained" else {})}
        loaded = _loaded(models, self.langs, how)
        place = self.folder / REPRESENTATIONS / ".".join(filter(None, [space, level, name, "zarr"]))
        chosen = corpus.languages(*self.langs) if isinstance(corpus, ParallelCorpus) else corpus
        with self.stage(f"extracting {level} vectors{', random weights' if space == 'untrained' else ''}") as progress:
            options: dict[str, Any] = {**self.plan.extraction, **more, "level": level}
            reps: Any = extract(loaded, chosen, out=place, progress=progress, **options)
        if space == "model" and level != "table":
            self.reps = reps
        return reps

    def links(self, columns: Mapping[Language, Sequence[Sentence]], aligner: str) -> list[list[tuple[int, int]]]:
        """Words that translate each other; kept, for an aligner may draw others the next time."""
        place = self.folder / CACHE / "links.json"
        links = kept_found(place)
        if links is None:
            with self.stage("aligning words"):
                words = [[s.words for s in columns[lang]] for lang in self.langs]
                found = align(words[0], words[1], method=aligner, symmetrise="intersection")
            links = keep_found(place, [[list(map(int, pair)) for pair in each] for each in found])
        return [[(i, j) for i, j in each] for each in links]

    def layers(self, space: str, count: int, judge: Judge, reps: Any = None) -> None:
        """Judge so many layers of a space, but for those that an earlier run judged."""
        with self.stage(f"aligning {space}") as progress:
            for layer in range(count):
                place = self.folder / CACHE / f"{space}.{layer}.json"
                kept = self._kept(place, space, layer)
                if kept is None:
                    try:
                        kept = self._judged(space, layer, judge, reps)
                    except InputError as error:
                        if space == "model":
                            raise
                        # what stands beside the models must not cost their own numbers
                        self.left_out[space] = str(error)
                        return
                    kept = keep_found(place, kept)
                self.rows += kept["rows"]
                self.found += kept["found"]
                progress(layer + 1, count)

    def _kept(self, place: Path, space: str, layer: int) -> dict[str, Any] | None:
        """What an earlier run found at a layer, if all of it is still there."""
        found: dict[str, Any] | None = kept_found(place)
        if found is None:
            return None
        if any(WITHOUT not in row for row in found["rows"]):
            return None  # of an earlier version
        aligned = space == "model" and any(row["way"] == KEPT for row in found["rows"])
        return None if aligned and not self.alignment(layer).exists() else found

    def alignment(self, layer: int) -> Path:
        """Where the alignment of a layer is kept."""
        return self.folder / ALIGNMENTS / f"layer-{layer}.npz"

    def _judged(self, space: str, layer: int, judge: Judge, reps: Any) -> dict[str, Any]:
        rows, found = [], []
        sides = ({}, {}) if reps is None else tuple(_facts(reps, lang, layer) for lang in self.langs)
        largest = 0
        for aligned, score in judge(layer=layer, sides=sides):
            rows.append(score.row())
            if space == "model" and score.way == KEPT and score.pairs >= largest:
                largest = score.pairs
                save_alignment(aligned, self.alignment(layer))
            if score.pairs == max(r["pairs"] for r in rows if r["way"] == score.way):
                which = {"space": space, "layer": layer, "way": score.way, "by": score.by}
                found += [
                    {**which, "query": word, "nearest": list(near), "gold": list(score.gold[word])}
                    for word, near in score.found.items()
                ]
        last = {(f["way"], f["by"], f["query"]): f for f in found}
        return {"rows": rows, "found": list(last.values())}

    def tables(self, config: dict[str, Any]) -> MapTables:
        """All that was found, written."""
        tables = MapTables.of({**config, "left_out": self.left_out}, self.rows, self.found)
        write_map(tables, self.folder)
        return tables


def _loaded(models: Sequence[str], langs: Pair, how: Mapping[str, Any]) -> Model | PerLanguage:
    if len(models) == 1:
        return load_model(models[0], **how)
    # two untrained networks are two: each draws weights of its own
    seeds = [{**how, "seed": how.get("seed", 0) + i} if how.get("random") else how for i in range(2)]
    return PerLanguage({lang: load_model(name, **each) for lang, name, each in zip(langs, models, seeds, strict=True)})


def _facts(reps: Representations | WordRepresentations, lang: Language, layer: int) -> dict[str, Any]:
    """What an alignment is to remember of the vectors of a side."""
    signed = reps.signature.get("model", {})
    known = signed.get(str(lang), signed)
    facts = {key: known[key] for key in ("model", "weights") if isinstance(known.get(key), str)}
    if pooling := reps.signature.get("pooling"):
        facts["pooling"] = pooling
    return {**facts, "layer": layer, "language": str(lang)}
