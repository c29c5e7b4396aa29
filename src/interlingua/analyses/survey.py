"""Models and a corpus in, the tables of a report out: extraction, random baselines, comparison and what explains it.

Everything finished is kept in the folder of results (`representations/`, `cache/`), so a run that was interrupted goes
on where it stopped, and one that was finished costs next to nothing.
"""

from __future__ import annotations

import json
import platform
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from interlingua import __version__
from interlingua.analyses.compare import compare
from interlingua.analyses.comparison import DEFAULT, NEURON_WISE, Comparison
from interlingua.analyses.details import details
from interlingua.analyses.sweep import JACKKNIFED, Cache, model_name
from interlingua.errors import InputError, UnknownNameError
from interlingua.extract import extract
from interlingua.folders import claimed, whole
from interlingua.languages import Language
from interlingua.measures.catalog import find
from interlingua.measures.papers import paper
from interlingua.measures.prepare import Preparation
from interlingua.models import Model, PerLanguage, load_model
from interlingua.models.load import shown
from interlingua.report.tables import (
    ABOVE,
    ARMS,
    CACHE,
    COLUMNS,
    CONFIG,
    EXPECTATION,
    MAPS,
    PRETRAINED,
    RAW,
    REPRESENTATIONS,
    RESULTS,
    SCHEMA,
    SCORES,
    TUNED,
    Tables,
    config_of,
    empty,
    unlike,
)
from interlingua.types import ParallelCorpus, Representations

# A stage of the work, by name -> something to call with (done, total).
Stage = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]
Load = Callable[..., Model | PerLanguage]


@dataclass(frozen=True, kw_only=True)
class Survey:
    """What to find out about models."""

    source: str = ""
    measures: tuple[str, ...] = DEFAULT
    poolings: tuple[str, ...] = ("mean",)
    baseline: bool = True
    preparation: Preparation = field(default_factory=Preparation)
    as_published: str = ""
    same_neurons: bool = False
    blocks: int = 20
    cca_intervals: bool = False
    nulls: int = 5
    seed: int = 0
    # options of `extract` (truncate, autocast, dtype, ...) and of `load_model` (device, stack, ...)
    extraction: Mapping[str, Any] = field(default_factory=dict)
    loading: Mapping[str, Any] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:
        """What was asked for, in words that can be written down; nothing of where it ran."""
        asked = asdict(self)
        loading = {k: v for k, v in asked["loading"].items() if v and k != "device"}
        if "adapter" in loading:
            loading["adapter"] = Path(loading["adapter"]).name
        return {**asked, "measures": list(self.measures), "poolings": list(self.poolings), "loading": loading}


def survey(
    models: Sequence[str],
    corpus: ParallelCorpus,
    out: str | Path,
    how: Survey | None = None,
    *,
    force: bool = False,
    load: Load = load_model,
    stage: Stage = lambda _name: nullcontext(lambda _done, _total: None),
) -> Tables:
    """Compare the languages of a corpus inside each model, with a random network beside it.

    `out` is the folder of results; one that holds another run is refused, unless `force` replaces that. `load` is
    called with a model's name and the options of loading; `stage` shows progress.
    """
    asked, folder = how or Survey(), Path(out)
    if isinstance(models, str):
        raise InputError(f"models are a list: survey([{models!r}], ...)")
    for measure in asked.measures:
        find(measure)
    models = _distinct(models)
    if len(corpus.langs) < 2:
        raise InputError(f"{corpus.name} has only {corpus.langs[0]}: a comparison takes at least two languages")
    if len(corpus) < 2 * asked.blocks:
        raise InputError(
            f"{len(corpus)} sentences cannot be cut into {asked.blocks} blocks: give {2 * asked.blocks} or more, or "
            "take fewer blocks"
        )
    two = next((name for name in models if "=" in name and not Path(name).exists()), None)
    if two and not asked.same_neurons and (alone := [m for m in asked.measures if m in NEURON_WISE]):
        raise InputError(
            f"{alone[0]} compares neurons one by one, and {two} is more than one network: take other --measures, or "
            "say --same-neurons where their neurons correspond"
        )
    if asked.source and Language.parse(asked.source) not in corpus.langs:
        raise UnknownNameError("language in the corpus", asked.source, map(str, corpus.langs))
    config = _config(models, corpus, asked)
    with claimed(folder):
        same_run(folder, config, force=force)
        parts = [_one(name, corpus, folder, asked, load, stage) for name in models]
    rows = {name: [row for part in parts for row in part.get(name, [])] for name in COLUMNS}
    return Tables.of(config, **rows)


def _one(
    name: str, corpus: ParallelCorpus, folder: Path, how: Survey, load: Load, stage: Stage
) -> dict[str, list[dict[str, Any]]]:
    """All tables of one model."""
    needed = list(dict.fromkeys([*how.poolings, *([paper(how.as_published).pooling] if how.as_published else [])]))
    reps = _extracted(name, corpus, folder, how, needed, load, stage, random=False)
    random = _extracted(name, corpus, folder, how, list(how.poolings), load, stage, random=True) if how.baseline else {}
    found: dict[str, list[dict[str, Any]]] = {column: [] for column in COLUMNS}
    for pooling in how.poolings:
        published = reps[paper(how.as_published).pooling] if how.as_published else None
        with stage(f"comparing {model_name(reps[pooling])}") as progress:
            comparison = compare(
                reps[pooling],
                source=how.source,
                measures=how.measures,
                baseline=random.get(pooling),
                preparation=how.preparation,
                as_published=how.as_published,
                published=published if published is not reps[pooling] else None,
                same_neurons=how.same_neurons,
                blocks=how.blocks,
                cca_intervals=how.cca_intervals,
                nulls=how.nulls,
                seed=how.seed,
                cache=folder / CACHE,
                progress=progress,
            )
        # A baseline stands under the name of the model it belongs to.
        found["values"] += [{**row, "model": model_name(reps[pooling])} for row in comparison.rows]
        found["patterns"] += _patterns(comparison)
        with stage(f"looking into {model_name(reps[pooling])}") as progress:
            for table, rows in _details(comparison, random.get(pooling), corpus, folder, progress).items():
                found[table] += rows
    return found


def _extracted(
    name: str,
    corpus: ParallelCorpus,
    folder: Path,
    how: Survey,
    poolings: Sequence[str],
    load: Load,
    stage: Stage,
    *,
    random: bool,
) -> dict[str, Representations]:
    """Representations by pooling, from the store where they are complete; the model is loaded once."""
    model = load(name, **{**how.loading, **({"random": True, "seed": how.seed} if random else {})})
    found = {}
    what = f"{_slug(name)}{'.random' if random else ''}"
    for pooling in poolings:
        place = folder / REPRESENTATIONS / f"{what}.{pooling}.zarr"
        place.parent.mkdir(parents=True, exist_ok=True)
        with stage(f"extracting {Path(name).name}{', random weights' if random else ''}") as progress:
            reps = extract(model, corpus, pooling=pooling, out=place, progress=progress, **how.extraction)
        if not isinstance(reps, Representations):
            raise InputError("sentences are compared, not words: leave the level out")
        found[pooling] = reps
    return found


def _details(
    comparison: Comparison,
    random: Representations | None,
    corpus: ParallelCorpus,
    folder: Path,
    progress: Callable[[int, int], None],
) -> dict[str, list[dict[str, Any]]]:
    """What stands behind the numbers, layer by layer, kept like them."""
    kept, plan, reps = Cache(folder / CACHE), comparison.plan, comparison.reps
    found: dict[str, list[dict[str, Any]]] = {}
    sets = [(reps, False), *([(random, True)] if random is not None else [])]
    total, done = sum(each.layers for each, _ in sets), 0
    for each, baseline in sets:
        for layer in range(each.layers):
            key = kept.key("details", layer, plan, each)
            rows = kept.find(key)
            if rows is None:
                tables = details(each, layer, plan, corpus, baseline=baseline)
                rows = [{"table": name, **row} for name, some in tables.items() for row in some]
                kept.keep(key, rows)
            for row in rows:
                found.setdefault(row["table"], []).append({**row, "model": model_name(reps)})
            done += 1
            progress(done, total)
    return found


def _patterns(comparison: Comparison) -> Iterator[dict[str, Any]]:
    """First align, then predict: over all pairs, and for each."""
    names = [m for m in comparison.plan.measures if m in (*JACKKNIFED, "matching")]
    pairs: list[tuple[str, str] | None] = [None, *((str(a), str(b)) for a, b in comparison.plan.pairs)]
    for measure in names:
        for pair in pairs:
            try:
                found = comparison.pattern(measure, pair=pair)
            except InputError:  # fewer than three layers, too few blocks, or a value that does not exist
                continue
            yield {
                "model": model_name(comparison.reps),
                "pooling": str(comparison.reps.signature.get("pooling", "")),
                "source": pair[0] if pair else "",
                "target": pair[1] if pair else "",
                "measure": measure,
                "holds": bool(found.holds),
                "peak": found.peaks[0],
                "rise": found.rise,
                "fall": found.fall,
                "rise_low": found.rise_low,
                "fall_low": found.fall_low,
            }


def _config(models: Sequence[str], corpus: ParallelCorpus, how: Survey) -> dict[str, Any]:
    import torch

    config = {
        "models": [_shown(name) for name in models],
        "corpus": {
            "name": corpus.name,
            "licence": corpus.licence,
            "rows": len(corpus),
            "notes": list(corpus.notes),
            "languages": [str(lang) for lang in corpus.langs],
            "hashes": {str(lang): corpus.hash_of(lang) for lang in corpus.langs},
        },
        **how.facts(),
        "versions": made_with(),
        "device": {"threads": torch.get_num_threads(), "asked": str(how.loading.get("device", ""))},
    }
    plain: dict[str, Any] = json.loads(json.dumps(config))
    return plain


def _distinct(models: Sequence[str]) -> list[str]:
    """Each model once, however its folder is written; an error where two would stand under one name."""
    if not models:
        raise InputError("name at least one model")
    by_place = {str(Path(name).resolve()) if Path(name).exists() else name: name for name in models}
    names: dict[str, str] = {}
    for name in by_place.values():
        if (other := names.setdefault(_slug(name), name)) != name:
            raise InputError(f"{other} and {name} would both be called {_slug(name)}: rename a folder")
    return list(by_place.values())


def _shown(name: str) -> str:
    """A model's name without the folders it lies in; of one model a language, each."""
    if Path(name).exists():
        return shown(name)
    parts = [part.partition("=") for part in name.split(",")]
    if all(sign for _, sign, _ in parts):
        return ",".join(f"{tag}={_shown(model)}" for tag, _, model in parts)
    return name


def _slug(name: str) -> str:
    """A name for files: of a Hub id all of it, of a folder the last part."""
    return re.sub(r"[^\w.-]+", "-", _shown(name)).strip("-.") or "model"


def made_with() -> dict[str, str]:
    """The versions that a run's numbers may depend on."""
    import torch
    import transformers

    return {
        "interlingua": __version__,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "transformers": str(transformers.__version__),
    }


def same_run(folder: Path, config: dict[str, Any], *, force: bool, may_differ: Sequence[str] = ()) -> None:
    """Make the folder that of this run: one that holds the numbers of another is refused, or emptied by `force`.

    `may_differ`: keys that the numbers there do not depend on.
    """
    path = folder / CONFIG
    if force:
        empty(folder)
    elif path.exists():
        before = config_of(folder)
        other = [key for key in unlike(before, config) if key not in may_differ]
        kept = (f"{RESULTS}.parquet", f"{SCORES}.parquet", ARMS, PRETRAINED)
        numbers = any((folder / name).exists() for name in kept) or any((folder / CACHE).glob("*.json"))
        if other and numbers:
            shown = "; ".join(_unlike(k, before.get(k), config[k]) for k in other[:3])
            raise InputError(f"{folder} holds another run ({shown}): choose another folder, or --force to replace it")
        for name in (TUNED, ABOVE, MAPS, RAW, EXPECTATION) if other else ():
            # Begun for something else, and not to be gone on with.
            shutil.rmtree(folder / name, ignore_errors=True)
            (folder / name).unlink(missing_ok=True)
        if set(other) & {
            "models",
            "corpus",
            "extraction",
            "loading",
            "text",
            "test",
            "languages",
            "level",
            "min_count",
        }:
            # Nothing was measured from these, and they are of something else.
            shutil.rmtree(folder / REPRESENTATIONS, ignore_errors=True)
    elif any(p.name != ".lock" for p in folder.iterdir()):
        raise InputError(f"{folder} is not empty and holds no run: choose another folder, or --force to write there")
    whole(path, (json.dumps({"schema": SCHEMA, **config}, indent=2, ensure_ascii=False) + "\n").encode())


def _unlike(key: str, before: Any, now: Any) -> str:
    """What differs, down to the part that does."""
    if isinstance(before, dict) and isinstance(now, dict):
        inside = next(k for k in {**before, **now} if before.get(k) != now.get(k))
        return _unlike(f"{key}: {inside}", before.get(inside), now.get(inside))
    return f"{key} was {_brief(before)} and is {_brief(now)}"


def _brief(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
