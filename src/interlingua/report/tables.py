"""The tables a report is made of: what is in them, and how they are written, read and merged.

A folder of results holds `results.parquet` and `results.csv` (every number), `details/*.parquet` (neurons, geometry,
sentences, ...) and `config.json` (what was asked for, resolved, and the version of this schema).
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlingua.errors import FormatError, InputError, MissingExtraError
from interlingua.folders import whole

if TYPE_CHECKING:
    import pandas as pd

# Goes up when a column changes its meaning or leaves; older folders are read for as long as `_UPGRADES` says how.
SCHEMA = 1
RESULTS, CONFIG, DETAILS = "results", "config.json", "details"

_WHICH = ("model", "pooling", "layer")
_PAIR = (*_WHICH, "source", "target")
# The columns of every table, in order. Each row of `values` is one number.
COLUMNS: dict[str, tuple[str, ...]] = {
    "values": (
        *_PAIR, "measure", "value", "low", "high", "null", "p", "n", "baseline", "published", "published_as", "notes",
        "signature",
    ),
    # the neurons that correlate most and least between two languages, and how all of them do (counts by bins of r)
    "neurons": (*_PAIR, "neuron", "correlation"),
    "histograms": (*_PAIR, "from", "to", "neurons"),
    # how one language's vectors lie in their space; `language_share` is that of the whole layer
    "geometry": (
        *_WHICH, "lang", "baseline", "anisotropy", "effective_rank", "outliers", "outlier_share", "language_share",
    ),
    # sentences whose translation is not the nearest, the farthest off first: its score, and what was nearer
    "worst": (*_PAIR, "place", "id", "text", "translation", "score", "nearest_id", "nearest", "nearest_score"),
    # matching after a preparation of the vectors: what would help retrieval
    "prepared": (*_PAIR, "preparation", "value", "low", "high"),
    # layer x layer, where it was asked for
    "layers": ("model", "pooling", "source", "target", "measure", "source_layer", "target_layer", "value"),
    # first align, then predict? by model, pair (all pairs where source and target are empty) and measure
    "patterns": (
        "model", "pooling", "source", "target", "measure", "holds", "peak", "rise", "fall", "rise_low", "fall_low",
    ),
}  # fmt: skip
# Without these a table of values says nothing.
NEEDED = ("model", "pooling", "layer", "source", "target", "measure", "value", "baseline", "notes")


@dataclass(frozen=True, kw_only=True)
class Tables:
    """Everything a report shows. `config` is what was asked for: models, corpus, languages, measures, versions, ..."""

    values: pd.DataFrame
    neurons: pd.DataFrame
    histograms: pd.DataFrame
    geometry: pd.DataFrame
    worst: pd.DataFrame
    prepared: pd.DataFrame
    layers: pd.DataFrame
    patterns: pd.DataFrame
    config: Mapping[str, Any] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        """For notebooks: the curves of the first measure."""
        from interlingua.report.figures import layer_curves, notebook_html

        measures = list(dict.fromkeys(self.values["measure"]))
        return notebook_html(layer_curves(self.values, measures[0])) if measures else "<p>no values</p>"

    @classmethod
    def of(cls, config: Mapping[str, Any], **rows: Sequence[Mapping[str, Any]]) -> Tables:
        """From rows; what is not given is empty."""
        pd = pandas()
        frames = {name: pd.DataFrame(rows.get(name, ()), columns=list(columns)) for name, columns in COLUMNS.items()}
        return cls(**frames, config=config)


def write(tables: Tables, folder: Path) -> None:
    """Into a folder, each file whole or not at all; a cell that a spreadsheet would run as a formula is quoted."""
    (folder / DETAILS).mkdir(parents=True, exist_ok=True)
    for name in COLUMNS:
        frame: pd.DataFrame = getattr(tables, name)
        place = folder / f"{RESULTS}.parquet" if name == "values" else folder / DETAILS / f"{name}.parquet"
        whole(place, frame.to_parquet(index=False))
    whole(folder / f"{RESULTS}.csv", harmless(tables.values).to_csv(index=False).encode())
    config = {"schema": SCHEMA, **tables.config}
    whole(folder / CONFIG, (json.dumps(config, indent=2, ensure_ascii=False) + "\n").encode())


def keep_found(path: Path, found: Any) -> Any:
    """Keep what was found for a later run, with its hash, whole or not at all; as that run will find it."""
    text = json.dumps(found)
    whole(path, f'{{"sha256": "{hashlib.sha256(text.encode()).hexdigest()}", "found": {text}}}'.encode())
    return json.loads(text)


def kept_found(path: Path) -> Any:
    """What `keep_found` kept; None where it is not there, or is not what was written: then it is made again."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        found, written = held["found"], held["sha256"]
    except (FileNotFoundError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return found if hashlib.sha256(json.dumps(found).encode()).hexdigest() == written else None


def write_scores(folder: Path, scores: pd.DataFrame, **beside: pd.DataFrame) -> None:
    """Scores and what stands beside them, a file each; the scores last, for they say that the rest is there."""
    for name, frame in beside.items():
        whole(folder / f"{name}.csv", harmless(frame).to_csv(index=False).encode())
    whole(folder / f"{SCORES}.csv", harmless(scores).to_csv(index=False).encode())
    whole(folder / f"{SCORES}.parquet", scores.to_parquet(index=False))


def harmless(frame: pd.DataFrame) -> pd.DataFrame:
    """Text that starts like a formula gets a quote before it, so that no spreadsheet runs it."""
    text = frame.select_dtypes(exclude="number").columns
    return frame.assign(
        **{c: [f"'{v}" if isinstance(v, str) and v[:1] in tuple("=+-@\t\r") else v for v in frame[c]] for c in text}
    )


# What a run and its report write into a folder.
REPRESENTATIONS, CACHE = "representations", "cache"
# What `interlingua map` writes.
SCORES, NEIGHBOURS, ALIGNMENTS, INDUCED, MAPPED = (
    "scores",
    "neighbours.parquet",
    "alignments",
    "dictionary.tsv",
    "map.html",
)
# What `interlingua concepts` writes.
SWEEPS, CONCEPTS, BROWSED = "sweeps.parquet", "concepts.parquet", "concepts.html"
LABELS, LEXICONS, NAMES = "labels", "lexicons", "names.json"
# What `interlingua transfer` and `mapped-transfer` write; the rest are folders.
TRANSFERRED = ("transfer.html", "mapped-transfer.html", "drops.csv", "similarities.csv", "relations.csv",
               "foretold.csv", "neurons.csv")  # fmt: skip
TUNED, ABOVE, MAPS, PREDICTIONS = "tuned", "above", "maps", "predictions"
# What `interlingua unseen` writes.
EXPECTATION, PLAN = "expectation.json", "plan.json"
UNSEEN = ("unseen.html", EXPECTATION, PLAN, "verdicts.csv", "comparisons.csv", "coverage.csv",
          "pretrained.csv", "outcome.csv")  # fmt: skip
ARMS, PRETRAINED, RAW = "arms", "pretrained", "raw"
OURS = (
    REPRESENTATIONS, CACHE, DETAILS, "figures", "report.html", CONFIG, f"{RESULTS}.parquet", f"{RESULTS}.csv",
    f"{SCORES}.parquet", f"{SCORES}.csv", NEIGHBOURS, ALIGNMENTS, INDUCED, MAPPED,
    SWEEPS, CONCEPTS, BROWSED, LABELS, LEXICONS, NAMES, *TRANSFERRED, TUNED, ABOVE, MAPS, PREDICTIONS,
    *UNSEEN, ARMS, PRETRAINED, RAW,
)  # fmt: skip
# What a run may differ in without being another run.
MAY_DIFFER = ("versions", "device", "schema")


def empty(folder: Path) -> None:
    """Take away what a run wrote; a folder that holds none keeps whatever has the same names."""
    if "schema" not in config_of(folder):
        return
    for name in OURS:
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).unlink(missing_ok=True)


def config_of(folder: Path) -> dict[str, Any]:
    """The configuration in a folder; an empty one where there is none that can be read."""
    try:
        found = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except (ValueError, OSError):
        return {}
    return found if isinstance(found, dict) else {}


def unlike(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The keys in which two configurations are those of different runs."""
    plain = json.loads(json.dumps(now))
    return [key for key in plain if key not in MAY_DIFFER and before.get(key) != plain[key]]


def kind_of(folder: Path) -> str:
    """Which verb wrote a folder, where that was not `compare`: map, concepts, transfer and so on."""
    try:
        found = json.loads((folder / CONFIG).read_text(encoding="utf-8")).get("kind", "")
    except (OSError, ValueError, AttributeError):
        return ""
    return found if found in ("map", "concepts", "transfer", "mapped-transfer", "unseen") else ""


def read(folder: Path) -> Tables:
    """The tables of a folder of results; those of an older schema are brought up to date."""
    pd = pandas()
    if not (folder / CONFIG).exists() or not (folder / f"{RESULTS}.parquet").exists():
        wrote = f" (`interlingua {kind}` wrote it, not `compare`)" if (kind := kind_of(folder)) else ""
        raise InputError(
            f"{folder} holds no results: it has no {CONFIG} or no {RESULTS}.parquet{wrote}; `interlingua compare --out "
            f"{folder}` makes them"
        )
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        found = config.pop("schema")
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise FormatError(folder / CONFIG, None, "it is not the configuration of a run") from error
    if not isinstance(found, int) or not 1 <= found <= SCHEMA:
        raise InputError(f"{folder} has results of schema {found}, and this version reads 1 to {SCHEMA}: upgrade")
    corpus, models = config.get("corpus", {}), config.get("models", [])
    if not isinstance(corpus, dict) or not isinstance(models, list) or not isinstance(corpus.get("name", ""), str):
        raise FormatError(folder / CONFIG, None, "it is not the configuration of a run")
    frames = {}
    for name, columns in COLUMNS.items():
        path = folder / f"{RESULTS}.parquet" if name == "values" else folder / DETAILS / f"{name}.parquet"
        try:
            frame = pd.read_parquet(path) if path.exists() else pd.DataFrame(columns=list(columns))
        except (OSError, ValueError) as error:
            raise FormatError(path, None, f"it cannot be read ({error}): run the comparison again") from error
        if name == "values" and (lacking := [c for c in NEEDED if c not in frame]):
            raise FormatError(path, None, f"it has no column {lacking[0]!r}: run the comparison again")
        frames[name] = frame.reindex(columns=list(columns))
    return Tables(**frames, config=config)


def merge(parts: Sequence[Tables]) -> Tables:
    """Several runs as one; a model that is in more than one must have been given the same sentences."""
    pd = pandas()
    if len(parts) == 1:
        return parts[0]
    corpora = {json.dumps(part.config.get("corpus"), sort_keys=True) for part in parts}
    if len(corpora) > 1:
        raise InputError("these runs are over different sentences: their numbers cannot stand in one report")
    frames = {}
    for name in COLUMNS:
        full = [getattr(part, name) for part in parts if len(getattr(part, name))]
        frames[name] = (
            pd.concat(full, ignore_index=True).drop_duplicates(ignore_index=True) if full else getattr(parts[0], name)
        )
    key = [*_PAIR, "measure", "baseline"]
    if (twice := frames["values"][frames["values"].duplicated(key)]).size:
        row = twice.iloc[0]
        raise InputError(
            f"{row['model']} ({row['pooling']}) is in more than one of these runs, with other numbers or options: give "
            "each model once"
        )
    models = [model for part in parts for model in part.config.get("models", [])]
    distinct = [model for i, model in enumerate(models) if model not in models[:i]]
    differ = {
        key: [part.config.get(key) for part in parts]
        for key in dict.fromkeys(key for part in parts for key in part.config)
        if key not in ("models", "versions", "device")
        and any(p.config.get(key) != parts[0].config.get(key) for p in parts)
    }
    if differ:
        differ = {"runs": [", ".join(map(str, part.config.get("models", []))) for part in parts], **differ}
    return Tables(**frames, config={**parts[0].config, "models": distinct, **({"differ": differ} if differ else {})})


def pandas() -> Any:
    """The library, or an error that says how to install it."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("pandas", "compare", "tables of results") from error
    return pd
