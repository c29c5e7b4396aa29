"""`find_concepts`: models and parallel text in; concepts of every layer, whether they correspond and whether they mix.

A folder holds `config.json`, `scores.parquet` and `.csv` (every number), `sweeps.parquet` (the same under other
thresholds), `concepts.parquet` (the concepts themselves), `lexicons/` (translations with their probabilities, as Moses
writes them), `labels/` (the concept of every mention) and what a run that was killed goes on from.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from interlingua import __version__
from interlingua.analyses.survey import same_run
from interlingua.concepts.align import RULES, Rules, calign, links
from interlingua.concepts.discover import READINGS, Concepts, K, concept_rows, mentions, silhouette, stability
from interlingua.concepts.kmeans import kmeans
from interlingua.concepts.label import label
from interlingua.concepts.lexicon import Lexicon, lexicon, write_moses
from interlingua.concepts.overlap import colap
from interlingua.corpora.aligner import align
from interlingua.errors import InputError, UnknownNameError
from interlingua.extract import extract
from interlingua.extract.words import Sentence, sentences
from interlingua.folders import claimed
from interlingua.languages import Language
from interlingua.models.load import load_model, shown
from interlingua.report.concepts import ConceptTables, write_concepts
from interlingua.report.tables import CACHE, LABELS, LEXICONS, REPRESENTATIONS, whole
from interlingua.types import ParallelCorpus, WordRepresentations
from interlingua.types.corpus import digest

Array = np.ndarray[Any, Any]
Stage = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]
# Layers that are looked at where none is named; words and examples of a concept that are kept to be shown.
LAYERS, SHOWN, EXAMPLES = 6, 30, 3
SWEEPS: dict[str, tuple[Any, ...]] = {"match": (0.7, 0.8, 0.9), "best": (5, 10, 15, 20), "types": (3, 5, 8)}
OVERLAPS = (0.2, 0.3, 0.4)


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
    aligner: str = ""
    fold: bool = True
    seed: int = 0
    extraction: Mapping[str, Any] = field(default_factory=dict)
    loading: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.reading not in READINGS:
            raise UnknownNameError("reading of the frequency filter", self.reading, READINGS)


def find_concepts(
    model: str,
    corpus: ParallelCorpus,
    out: str | Path,
    how: Inquiry | None = None,
    *,
    tuned: str = "",
    lexicons: Mapping[tuple[str, str], Lexicon] | None = None,
    force: bool = False,
    stage: Stage = lambda _name: nullcontext(lambda _done, _total: None),
) -> ConceptTables:
    """Concepts of the first language and of each other one, apart and together, at some layers of a model.

    `tuned` is a second model to stand beside it; `lexicons` by (source, target), else the corpus is word-aligned.
    """
    asked = how or Inquiry()
    if len(corpus.langs) < 2:
        raise InputError(f"{corpus.name} has {len(corpus.langs)} language: concepts correspond between two, name them")
    config = _config([model, *([tuned] if tuned else [])], corpus, asked, lexicons)
    with claimed(Path(out)):
        same_run(Path(out), config, force=force)
        run = _Run(Path(out), corpus, asked, stage, lexicons or {})
        run.look("base", model)
        if tuned:
            run.look("tuned", tuned)
        if asked.baseline:
            run.look("untrained", model)
        tables = ConceptTables.of(config, run.scores, run.sweeps, run.concepts)
        write_concepts(tables, Path(out))
    return tables


class _Run:
    """A run under way in its folder: layers that are done are not done again."""

    def __init__(
        self,
        folder: Path,
        corpus: ParallelCorpus,
        how: Inquiry,
        stage: Stage,
        lexicons: Mapping[tuple[str, str], Lexicon],
    ) -> None:
        self.folder, self.corpus, self.how, self.stage = folder, corpus, how, stage
        self.source, *self.targets = corpus.langs
        self.scores: list[dict[str, Any]] = []
        self.sweeps: list[dict[str, Any]] = []
        self.concepts: list[dict[str, Any]] = []
        for name in (CACHE, REPRESENTATIONS, LABELS, LEXICONS):
            (folder / name).mkdir(exist_ok=True)
        self.columns = sentences(corpus)
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
        if not place.exists():
            with self.stage(f"aligning words, {tags[0]} and {tags[1]}"):
                found = align(words[0], words[1], method=self.how.aligner)
            whole(place, json.dumps([[list(map(int, pair)) for pair in each] for each in found]).encode())
        links = json.loads(place.read_text(encoding="utf-8"))
        if source != tags[0]:
            words, links = words[::-1], [[(j, i) for i, j in each] for each in links]
        made = lexicon(source, target, zip(*words, strict=True), links, fold=self.how.fold)
        write_moses(made, self.folder / LEXICONS / f"{source}-{target}.lex")
        return made

    def look(self, space: str, name: str) -> None:
        """All layers of a model."""
        reps = self._extracted(space, name)
        layers = self.how.layers or spread(reps.layers)
        if wrong := [n for n in layers if not 0 <= n < reps.layers]:
            raise InputError(f"there is no layer {wrong[0]}: layers run from 0 (embeddings) to {reps.layers - 1}")
        groups: list[tuple[Language, ...]] = [(lang,) for lang in self.corpus.langs]
        groups += [(self.source, target) for target in self.targets]
        with self.stage(f"concepts of {shown(name)}{', random weights' if space == 'untrained' else ''}") as progress:
            for number, layer in enumerate(layers):
                place = self.folder / CACHE / f"{space}.{layer}.json"
                if place.exists():
                    found = json.loads(place.read_text(encoding="utf-8"))
                else:
                    found = self._layer(reps, space, layer, groups, middle=number == len(layers) // 2)
                    whole(place, json.dumps(found).encode())
                self.scores += found["scores"]
                self.sweeps += found["sweeps"]
                self.concepts += found["concepts"]
                progress(number + 1, len(layers))

    def _extracted(self, space: str, name: str) -> WordRepresentations:
        how = {**self.how.loading, **({"random": True, "seed": self.how.seed} if space == "untrained" else {})}
        (option,) = READINGS[self.how.reading]
        kept = {option: self.how.times, **({"seed": self.how.seed} if option == "keep" else {})}
        place = self.folder / REPRESENTATIONS / f"{space}.zarr"
        with self.stage(f"extracting words{', random weights' if space == 'untrained' else ''}") as progress:
            options: dict[str, Any] = {**self.how.extraction, **kept}
            found = extract(load_model(name, **how), self.corpus, level="word", out=place, progress=progress, **options)
        return found

    def _layer(
        self, reps: WordRepresentations, space: str, layer: int, groups: Sequence[tuple[Language, ...]], *, middle: bool
    ) -> dict[str, Any]:
        rows: list[dict[str, Any]] = []
        swept: list[dict[str, Any]] = []
        here = {"space": space, "layer": layer, "k": self.how.k}
        made: dict[tuple[Language, ...], Concepts] = {}
        for group in groups:
            found, apart = self._clustered(reps, space, layer, group, self.how.k, self.how.seed)
            made[group] = found
            which = {**here, "source": str(group[0]), "target": str(group[-1]) if len(group) > 1 else ""}
            quality = {"silhouette": apart, "inertia": found.inertia / max(1, len(found.labels))}
            n = len(found.labels)
            rows += [{**which, "measure": name, "value": value, "n": n} for name, value in quality.items()]
            labelled = label(found)
            if len(group) == 1:
                for name, hits in (
                    ("lexical", sum(each.lexical for each in labelled)),
                    ("suffix", sum(each.kind == "suffix" for each in labelled)),
                ):
                    rows.append({**which, "measure": name, "value": hits / len(labelled), "n": len(labelled)})
        aligned = {}
        for one, other in self._directions():
            pair = made[Language.parse(one),], made[Language.parse(other),]
            known = self.lexicons[one, other]
            got = calign(*pair, known, self.how.rules, nulls=self.how.nulls, seed=self.how.seed)
            aligned[one, other] = got
            which = {**here, "source": one, "target": other}
            rows.append({**which, "measure": "calign", "value": got.value, "low": got.low, "high": got.high,
                         "null": got.null, "n": got.considered, "all": got.all, "covered": got.covered})  # fmt: skip
            for name, values in SWEEPS.items():
                for value in values:
                    number = calign(*pair, known, replace(self.how.rules, **{name: value})).value
                    swept.append({**which, "measure": "calign", "parameter": name, "setting": value, "value": number})
        for target in self.targets:
            mixed, which = made[self.source, target], {**here, "source": str(self.source), "target": str(target)}
            for measure, by in (("colap", "tokens"), ("colap_types", "types")):
                over = colap(mixed, threshold=self.how.threshold, languages_needed=self.how.languages_needed, by=by,
                             nulls=self.how.nulls, seed=self.how.seed)  # fmt: skip
                rows.append({**which, "measure": measure, "value": over.value, "low": over.low, "high": over.high,
                             "null": over.null, "n": over.all, "all": over.all})  # fmt: skip
            for value in OVERLAPS:
                number = colap(mixed, threshold=value, languages_needed=self.how.languages_needed).value
                swept.append({**which, "measure": "colap", "parameter": "threshold", "setting": value, "value": number})
        if middle and self.how.seeds and space != "untrained":
            swept += list(self._again(reps, space, layer, made, here))
        listed = [] if space == "untrained" else self._listed(reps, space, layer, made, aligned)
        return {"scores": rows, "sweeps": swept, "concepts": listed}

    def _clustered(
        self, reps: WordRepresentations, space: str, layer: int, group: tuple[Language, ...], k: int, seed: int
    ) -> tuple[Concepts, float]:
        """Concepts, kept as the cluster of every mention; and their mean silhouette."""
        found = mentions(reps, *group, fold=self.how.fold)
        if k > len(found):
            raise InputError(
                f"{k} concepts of {len(found):,} mentions of words in {' and '.join(map(str, group))}: give more text, "
                "or take fewer concepts (--k)"
            )
        place = self.folder / LABELS / f"{space}.{layer}.{'+'.join(map(str, group))}.{k}.{seed}.npz"
        if place.exists():
            kept = np.load(place)
            if len(kept["labels"]) == len(found):
                return Concepts(found, kept["labels"], k, float(kept["inertia"])), float(kept["silhouette"])
        rows = concept_rows(reps, layer, found.languages)
        device = str(self.how.loading.get("device", ""))
        clusters = kmeans(rows, k, seed=seed, restarts=self.how.restarts, device=device)
        apart = silhouette(rows, clusters.labels, seed=seed)
        partial = place.with_name(place.name + ".partial")
        with partial.open("wb") as file:
            np.savez(file, labels=clusters.labels, inertia=clusters.inertia, silhouette=apart)
        partial.replace(place)
        return Concepts(found, clusters.labels, k, clusters.inertia), apart

    def _again(
        self,
        reps: WordRepresentations,
        space: str,
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
            pair = [self._clustered(reps, space, layer, g, k, seed)[0] for g in groups]
            value = calign(pair[0], pair[1], known, self.how.rules).value
            yield {**which, "measure": "calign", "parameter": name, "setting": setting, "value": value}
            if name == "seed":
                same = np.mean([stability(pair[i], made[g]) for i, g in enumerate(groups)])
                yield {**which, "measure": "stability", "parameter": name, "setting": setting, "value": float(same)}

    def _listed(
        self,
        reps: WordRepresentations,
        space: str,
        layer: int,
        made: Mapping[tuple[Language, ...], Concepts],
        aligned: Mapping[tuple[str, str], Any],
    ) -> list[dict[str, Any]]:
        """Every concept with its words, its label, its partners and examples."""
        partners: dict[tuple[str, int], list[list[Any]]] = {}
        for (one, other), got in aligned.items():
            sides = made[Language.parse(one),], made[Language.parse(other),]
            for mine, theirs, share in got.pairs:
                why = links(*sides, self.lexicons[one, other], mine, theirs, self.how.rules.best)
                partner = [other, theirs, round(share, 3), list(islice(why, SHOWN))]
                partners.setdefault((one, mine), []).append(partner)
        found = []
        for group, concepts in made.items():
            langs = [str(lang) for lang in group]
            name = "+".join(langs)
            needed: dict[str, Any] = {"threshold": self.how.threshold, "languages_needed": self.how.languages_needed}
            overlap = set(colap(concepts, **needed).concepts) if len(group) > 1 else set()
            first = _first_rows(concepts)
            for each in label(concepts):
                row = concepts.counts[each.concept]
                top = row.indices[np.argsort(-row.data, kind="stable")[:SHOWN]]
                kinds = concepts.mentions.type_language
                found.append(
                    {
                        "space": space,
                        "layer": layer,
                        "group": name,
                        "concept": each.concept,
                        "kind": each.kind,
                        "value": each.value,
                        "script": each.script,
                        "types": each.types,
                        "mentions": int(row.sum()),
                        "overlaps": each.concept in overlap,
                        "words": [concepts.mentions.types[i] for i in top],
                        "counts": [int(concepts.counts[each.concept, i]) for i in top],
                        "languages": [langs[kinds[i]] for i in top],
                        "partners": json.dumps(partners.get((name, each.concept), [])[:3]),
                        "examples": json.dumps(
                            [self._example(reps, concepts, i) for i in first.get(each.concept, ())[:EXAMPLES]]
                        ),
                    }
                )
        return found

    def _example(self, reps: WordRepresentations, concepts: Concepts, row: int) -> list[Any]:
        """A mention in its sentence: language, text, and where the word is in it."""
        lang = concepts.mentions.languages[int(concepts.mentions.language[row])]
        sentence, word = map(int, reps.places(lang)[int(concepts.mentions.rows[row])])
        said: Sentence = self.columns[lang][sentence]
        return [str(lang), said.text, *map(int, said.spans[word])]


def _first_rows(concepts: Concepts) -> dict[int, list[int]]:
    """A few mentions of every concept, of different types where it has some."""
    found: dict[int, list[int]] = {}
    seen: set[tuple[int, int]] = set()
    both = zip(concepts.labels.tolist(), concepts.mentions.type_of.tolist(), strict=True)
    for row, (concept, kind) in enumerate(both):
        held = found.setdefault(concept, [])
        if len(held) < EXAMPLES and (concept, kind) not in seen:
            seen.add((concept, kind))
            held.append(row)
    return found


def spread(layers: int) -> tuple[int, ...]:
    """A few layers from the embeddings to the last."""
    return tuple(int(n) for n in np.unique(np.linspace(0, layers - 1, min(LAYERS, layers)).round()))


def _config(
    models: Sequence[str],
    corpus: ParallelCorpus,
    how: Inquiry,
    lexicons: Mapping[tuple[str, str], Lexicon] | None,
) -> dict[str, Any]:
    import torch
    import transformers

    loading = {k: v for k, v in how.loading.items() if v and k != "device"}
    given = {"-".join(key): [len(each), _hash(each)] for key, each in (lexicons or {}).items()}
    config = {
        "kind": "concepts",
        "models": [shown(name) for name in models],
        "languages": [str(lang) for lang in corpus.langs],
        "corpus": {"name": corpus.name, "rows": len(corpus), "hash": corpus.hash},
        "lexicons": given,
        **asdict(how),
        "loading": loading,
        "versions": {
            "interlingua": __version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        },
    }
    plain: dict[str, Any] = json.loads(json.dumps(config))
    return plain


def _hash(found: Lexicon) -> str:
    """What tells a lexicon from another."""
    return digest(f"{word}\t{e.word}\t{e.probability:.6f}" for word, row in found.entries.items() for e in row)
