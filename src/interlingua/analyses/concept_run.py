"""What to find out about concepts, and a run that finds it out, layer by layer, in its folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from interlingua.concepts.align import RULES, Alignment, Rules, calign
from interlingua.concepts.discover import READINGS, Concepts, K, concept_rows, discover, mentions, silhouette, stability
from interlingua.concepts.label import Label, label, usual_tags
from interlingua.concepts.lexicon import Lexicon, lexicon, write_moses
from interlingua.concepts.listing import Partner, listed, partners
from interlingua.concepts.overlap import ALL, Overlap, colap
from interlingua.concepts.shares import share
from interlingua.corpora.aligner import align
from interlingua.errors import InputError, UnknownNameError
from interlingua.extract import extract
from interlingua.extract.words import Sentence, sentences
from interlingua.folders import writing
from interlingua.languages import Language
from interlingua.models.load import DECODER, ENCODER, load_model, shown
from interlingua.report.concept_tables import ACROSS
from interlingua.report.tables import CACHE, LABELS, LEXICONS, REPRESENTATIONS, keep_found, kept_found
from interlingua.types import ParallelCorpus, TaggedCorpus, WordRepresentations

Array = np.ndarray[Any, Any]
Stage = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]
# Layers that are looked at where none is named.
LAYERS = 6
SWEEPS: dict[str, tuple[Any, ...]] = {"match": (0.7, 0.8, 0.9), "best": (5, 10, 15, 20), "types": (3, 5, 8)}
OVERLAPS = (0.2, 0.3, 0.4)
STACKS = (("",), (ENCODER,), (DECODER,), (ENCODER, DECODER))


@dataclass(frozen=True)
class Inquiry:
    """What to find out about concepts. `reading`: what the paper's "10 times" means, `times`: another number for 10.

    `seeds`: further clusterings at the middle layer, with other seeds and with half and twice as many concepts, to see
    how stable concepts and CALIGN are.
    """

    layers: tuple[int, ...] = ()
    k: int = K
    reading: str = "cap"
    times: int = 10
    rules: Rules = RULES["defined"]
    threshold: float = 0.3
    languages_needed: int | str = 2
    restarts: int = 1
    seeds: int = 0
    nulls: int = 5
    baseline: bool = True
    # of a model with two stacks: one of them, or both, and then the encoder's concepts against the decoder's too
    stacks: tuple[str, ...] = ("",)
    aligner: str = ""
    fold: bool = True
    seed: int = 0
    extraction: Mapping[str, Any] = field(default_factory=dict)
    loading: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.reading not in READINGS:
            raise UnknownNameError("reading of the frequency filter", self.reading, READINGS)
        if self.languages_needed not in (1, 2, ALL):
            raise InputError(f"languages_needed is {self.languages_needed!r}: 1, 2 or all of a pair")
        if self.stacks not in STACKS:
            raise InputError(f"stacks are {' and '.join(self.stacks)}: name encoder, decoder, or both in this order")


class ConceptRun:
    """A run under way in its folder: layers that are done are not done again."""

    def __init__(
        self,
        folder: Path,
        corpus: ParallelCorpus,
        how: Inquiry,
        stage: Stage,
        lexicons: Mapping[tuple[str, str], Lexicon],
        tags: Mapping[str, TaggedCorpus],
    ) -> None:
        self.folder, self.corpus, self.how, self.stage = folder, corpus, how, stage
        self.source, *self.targets = corpus.langs
        self.scores: list[dict[str, Any]] = []
        self.sweeps: list[dict[str, Any]] = []
        self.concepts: list[dict[str, Any]] = []
        for name in (CACHE, REPRESENTATIONS, LABELS, LEXICONS):
            (folder / name).mkdir(exist_ok=True)
        self.columns = sentences(corpus)
        self.tags = {Language.parse(lang): usual_tags(each, fold=how.fold) for lang, each in tags.items()}
        self.lexicons = {key: lexicons.get(key) or self._learnt(*key) for key in self._directions()}

    def _directions(self) -> Iterator[tuple[str, str]]:
        for target in self.targets:
            yield str(self.source), str(target)
            yield str(target), str(self.source)

    def _learnt(self, source: str, target: str) -> Lexicon:
        """From the corpus itself; links are kept, for an aligner may draw others the next time."""
        tags = sorted((source, target), key=lambda tag: tag != str(self.source))
        columns = [self.columns[Language.parse(tag)] for tag in tags]
        words = [[s.words for s in column] for column in columns]
        place = self.folder / CACHE / f"links.{'-'.join(tags)}.json"
        links = kept_found(place)
        if links is None:
            with self.stage(f"aligning words, {tags[0]} and {tags[1]}"):
                found = align(words[0], words[1], method=self.how.aligner)
            links = keep_found(place, [[list(map(int, pair)) for pair in each] for each in found])
        if source != tags[0]:
            words, links = words[::-1], [[(j, i) for i, j in each] for each in links]
        made = lexicon(source, target, zip(*words, strict=True), links, fold=self.how.fold)
        write_moses(made, self.folder / LEXICONS / f"{source}-{target}.lex")
        return made

    def look(self, space: str, name: str) -> None:
        """All layers of a model."""
        every = {stack: self._extracted(space, name, stack) for stack in self.how.stacks}
        layers = self.how.layers or spread(min(reps.layers for reps in every.values()))
        jobs = [(layer, stack) for layer in layers for stack in every]
        with self.stage(f"concepts of {shown(name)}{', random weights' if space == 'untrained' else ''}") as progress:
            for number, (layer, stack) in enumerate(jobs):
                middle = layer == layers[len(layers) // 2]
                self._take(_where(space, stack, layer), lambda: self._layer(every, space, stack, layer, middle=middle))  # noqa: B023
                progress(number + 1, len(jobs))
            if len(every) > 1:
                for layer in layers:
                    self._take(_where(space, "across", layer), lambda: self._across(every, space, layer))  # noqa: B023

    def _take(self, name: str, make: Callable[[], dict[str, Any]]) -> None:
        """What an earlier run found, or what is made now."""
        place = self.folder / CACHE / f"{name}.json"
        found = kept_found(place)
        if found is None:
            found = keep_found(place, make())
        self.scores += found["scores"]
        self.sweeps += found.get("sweeps", [])
        self.concepts += found.get("concepts", [])

    def _extracted(self, space: str, name: str, stack: str) -> WordRepresentations:
        how = {**self.how.loading, "stack": stack}
        how |= {"random": True, "seed": self.how.seed} if space == "untrained" else {}
        (option,) = READINGS[self.how.reading]
        kept = {option: self.how.times, **({"seed": self.how.seed} if option == "keep" else {})}
        place = self.folder / REPRESENTATIONS / f"{_where(space, stack)}.zarr"
        model = load_model(name, **how)
        if wrong := [n for n in self.how.layers if n > model.layers.blocks]:
            raise InputError(f"there is no layer {wrong[0]}: layers run from 0 (embeddings) to {model.layers.blocks}")
        told = f"extracting words{', ' + stack if stack else ''}{', random weights' if space == 'untrained' else ''}"
        with self.stage(told) as progress:
            options: dict[str, Any] = {**self.how.extraction, **kept}
            found = extract(model, self.corpus, level="word", out=place, progress=progress, **options)
        return found

    def _across(self, every: Mapping[str, WordRepresentations], space: str, layer: int) -> dict[str, Any]:
        """Concepts that the encoder has of one language against those that the decoder has of the other."""
        rows, usual = [], (self.how.k, self.how.seed)
        for one, other in self._directions():
            source, target = (
                self._clustered(every[stack], _where(space, stack), layer, (Language.parse(lang),), *usual)[0]
                for stack, lang in ((ENCODER, one), (DECODER, other))
            )
            which = {"space": space, "stack": ACROSS, "layer": layer, "k": self.how.k, "source": one, "target": other}
            rows.append({**which, **self._calign(source, target, one, other)[1]})
        return {"scores": rows}

    def _calign(self, source: Concepts, target: Concepts, one: str, other: str) -> tuple[Alignment, dict[str, Any]]:
        """CALIGN, and its row."""
        got = calign(
            source, target, self.lexicons[one, other], self.how.rules, nulls=self.how.nulls, seed=self.how.seed
        )
        facts = {"value": got.value, "low": got.low, "high": got.high, "null": got.null, "n": got.considered,
                 "all": got.all, "covered": got.covered}  # fmt: skip
        return got, {"measure": "calign", **facts}

    def _layer(
        self, every: Mapping[str, WordRepresentations], space: str, stack: str, layer: int, *, middle: bool
    ) -> dict[str, Any]:
        reps, at = every[stack], _where(space, stack)
        groups: list[tuple[Language, ...]] = [(lang,) for lang in self.corpus.langs]
        groups += [(self.source, target) for target in self.targets]
        rows: list[dict[str, Any]] = []
        swept: list[dict[str, Any]] = []
        here = {"space": space, "stack": stack, "layer": layer, "k": self.how.k}
        made: dict[tuple[Language, ...], Concepts] = {}
        labels: dict[tuple[Language, ...], tuple[Label, ...]] = {}
        for group in groups:
            found, apart = self._clustered(reps, at, layer, group, self.how.k, self.how.seed)
            made[group], labels[group] = found, self._labels(found)
            which = {**here, "source": str(group[0]), "target": str(group[-1]) if len(group) > 1 else ""}
            quality = {"silhouette": apart, "inertia": found.inertia / max(1, len(found.labels))}
            n = len(found.labels)
            rows += [{**which, "measure": name, "value": value, "n": n} for name, value in quality.items()]
            if len(group) == 1:
                rows += [{**which, **row} for row in self._labelled(found, labels[group])]
        aligned: dict[tuple[str, str], Alignment] = {}
        for one, other in self._directions():
            pair = made[Language.parse(one),], made[Language.parse(other),]
            known, which = self.lexicons[one, other], {**here, "source": one, "target": other}
            aligned[one, other], row = self._calign(*pair, one, other)
            rows.append({**which, **row})
            for name, values in SWEEPS.items():
                for value in values:
                    number = calign(*pair, known, replace(self.how.rules, **{name: value})).value
                    swept.append({**which, "measure": "calign", "parameter": name, "setting": value, "value": number})
        for target in self.targets:
            mixed, which = made[self.source, target], {**here, "source": str(self.source), "target": str(target)}
            for measure, by in (("colap", "tokens"), ("colap_types", "types")):
                over = self._colap(mixed, by=by, nulls=self.how.nulls, seed=self.how.seed)
                rows.append({**which, "measure": measure, "value": over.value, "low": over.low, "high": over.high,
                             "null": over.null, "n": over.all, "all": over.all})  # fmt: skip
            for value in OVERLAPS:
                number = self._colap(mixed, threshold=value).value
                swept.append({**which, "measure": "colap", "parameter": "threshold", "setting": value, "value": number})
        if middle and self.how.seeds and space != "untrained":
            swept += list(self._again(reps, at, layer, made, here))
        listed = [] if space == "untrained" else list(self._listed(reps, here, made, labels, aligned))
        return {"scores": rows, "sweeps": swept, "concepts": listed}

    def _labels(self, found: Concepts) -> tuple[Label, ...]:
        """Labels, with tags where some are known."""
        known = [self.tags.get(lang, {}) for lang in found.mentions.languages]
        fold = self.how.fold
        words = zip(found.mentions.words, found.mentions.language.tolist(), strict=True)
        tags = [known[lang].get(word.lower() if fold else word, "") for word, lang in words] if any(known) else []
        return label(found, tags=tags)

    def _labelled(self, found: Concepts, labels: Sequence[Label]) -> Iterator[dict[str, Any]]:
        """Which share of concepts is lexical, of a suffix, and of one part of speech (or kind of entity)."""
        counts = {
            "lexical": sum(each.lexical for each in labels),
            "suffix": sum(each.kind == "suffix" for each in labels),
        }
        if found.mentions.languages[0] in self.tags:
            counts["tagged"] = sum(bool(each.tag) for each in labels)
        for name, hits in counts.items():
            value, low, high = share(hits, len(labels))
            yield {"measure": name, "value": value, "low": low, "high": high, "n": len(labels)}

    def _clustered(
        self, reps: WordRepresentations, at: str, layer: int, group: tuple[Language, ...], k: int, seed: int
    ) -> tuple[Concepts, float]:
        """Concepts, kept as the cluster of every mention; and their mean silhouette."""
        place = self.folder / LABELS / f"{at}.{layer}.{'+'.join(map(str, group))}.{k}.{seed}.npz"
        if place.exists():
            found = mentions(reps, *group, fold=self.how.fold)
            with np.load(place) as kept:
                if len(kept["labels"]) == len(found):
                    return Concepts(found, kept["labels"], k, float(kept["inertia"])), float(kept["silhouette"])
        how: dict[str, Any] = {"restarts": self.how.restarts, "fold": self.how.fold}
        made = discover(reps, layer, *group, k=k, seed=seed, device=str(self.how.loading.get("device", "")), **how)
        apart = silhouette(concept_rows(reps, layer, group), made.labels, seed=seed)
        with writing(place) as file:
            np.savez(file, labels=made.labels, inertia=made.inertia, silhouette=apart)
        return made, apart

    def _again(
        self,
        reps: WordRepresentations,
        at: str,
        layer: int,
        made: Mapping[tuple[Language, ...], Concepts],
        here: Mapping[str, Any],
    ) -> Iterator[dict[str, Any]]:
        """The same with other seeds, and with half and twice as many concepts."""
        target = self.targets[0]
        one, other = str(self.source), str(target)
        known = self.lexicons[one, other]
        which = {**here, "source": one, "target": other}
        jobs = [("seed", self.how.seed + 1 + i, self.how.k, self.how.seed + 1 + i) for i in range(self.how.seeds)]
        jobs += [("k", k, k, self.how.seed) for k in (self.how.k // 2, 2 * self.how.k)]
        for name, setting, k, seed in jobs:
            groups = ((self.source,), (target,))
            if k < 2 or any(k > len(made[g].labels) for g in groups):
                continue
            pair = [self._clustered(reps, at, layer, g, k, seed)[0] for g in groups]
            value = calign(pair[0], pair[1], known, self.how.rules).value
            yield {**which, "measure": "calign", "parameter": name, "setting": setting, "value": value}
            if name == "seed":
                same = np.mean([stability(pair[i], made[g]) for i, g in enumerate(groups)])
                yield {**which, "measure": "stability", "parameter": name, "setting": setting, "value": float(same)}

    def _listed(
        self,
        reps: WordRepresentations,
        here: Mapping[str, Any],
        made: Mapping[tuple[Language, ...], Concepts],
        labels: Mapping[tuple[Language, ...], tuple[Label, ...]],
        aligned: Mapping[tuple[str, str], Alignment],
    ) -> Iterator[dict[str, Any]]:
        """Every concept, to be looked at; partners are of the first language that has some."""
        stack = f", {here['stack']}" if here["stack"] else ""
        found: dict[str, dict[int, list[Partner]]] = {}
        for (one, other), got in aligned.items():
            sides = made[Language.parse(one),], made[Language.parse(other),]
            more = partners(*sides, got, self.lexicons[one, other], self.how.rules.best, other + stack)
            found[one] = {**more, **found.get(one, {})}
        for group, concepts in made.items():
            name = "+".join(map(str, group))
            overlap = self._colap(concepts).concepts if len(group) > 1 else ()
            said = partial(self._example, reps, concepts)
            for row in listed(concepts, labels[group], set(overlap), found.get(name, {}), said):
                yield {"space": here["space"], "layer": here["layer"], "group": name + stack, **row}

    def _colap(self, mixed: Concepts, **other: Any) -> Overlap:
        how: dict[str, Any] = {"threshold": self.how.threshold, "languages_needed": self.how.languages_needed, **other}
        return colap(mixed, **how)

    def _example(self, reps: WordRepresentations, concepts: Concepts, row: int) -> list[Any]:
        """A mention in its sentence: language, text, and where the word is in it."""
        lang = concepts.mentions.languages[int(concepts.mentions.language[row])]
        sentence, word = map(int, reps.places(lang)[int(concepts.mentions.rows[row])])
        said: Sentence = self.columns[lang][sentence]
        return [str(lang), said.text, *map(int, said.spans[word])]


def _where(space: str, *more: str | int) -> str:
    """The name of what belongs to a model, a stack, a layer; the stack of a model that has one is not named."""
    return ".".join(str(part) for part in (space, *more) if part != "")


def spread(layers: int) -> tuple[int, ...]:
    """A few layers from the embeddings to the last."""
    return tuple(int(n) for n in np.unique(np.linspace(0, layers - 1, min(LAYERS, layers)).round()))
