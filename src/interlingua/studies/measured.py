"""What cells of several studies do alike: train a model on text that was prepared once, and look inside a model."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock

from interlingua.analyses.compare import compare
from interlingua.corpora.loading import labelled
from interlingua.errors import InputError
from interlingua.extract import extract
from interlingua.extract.words import sentences
from interlingua.folders import whole
from interlingua.models import Model, PerLanguage, load_model
from interlingua.pretrain.config import Config
from interlingua.pretrain.log import Line
from interlingua.pretrain.prepare import prepared_key, source_lines
from interlingua.pretrain.train import pretrain
from interlingua.report.transfer_tables import WHOLE, TransferTables
from interlingua.studies.results import SAMPLE, WITHOUT
from interlingua.studies.study import MODELS, Row, Say
from interlingua.types import LabelledCorpus, ParallelCorpus, Representations
from interlingua.types.corpus import digest

BEFORE, AFTER, RANDOM = "before", "after", "random"
# What is kept of a comparison.
FOUND = ("layer", "source", "target", "measure", "value", "low", "high", "null", "published", "n", "notes", "signature")
# The loss has left the plateau where words are guessed by how common they are.
LEFT = 5.5


def config_of(**settings: Any) -> Config:
    """Settings of a model, without those that are None: its size decides these."""
    return Config.model_validate({key: value for key, value in settings.items() if value is not None})


def prepared(config: Config, shared: Path, say: Say) -> Path:
    """Learn the vocabulary and encode the text, once for all cells that read the same; the others wait."""
    place = shared / prepared_key(config.resolved())[:16]
    shared.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{place}.lock"):
        if not (place / "data" / "facts.json").exists():
            pretrain(config, place, device="cpu", prepare_only=True, say=say)
    return place


def cut(sources: Sequence[str], lang: str, characters: int, place: Path) -> str:
    """A file of so many characters of a language's text: lines from all over it. Its name says how many."""
    place = place.with_suffix(f".{characters}{place.suffix}")
    place.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{place}.lock"):
        if not place.exists():
            lines = [line for source in sources for line in source_lines(source, lang)]
            many = min(len(lines), round(len(lines) * characters / max(1, sum(map(len, lines)))))
            whole(place, "".join(f"{lines[i * len(lines) // many]}\n" for i in range(many)).encode())
    return str(place)


def untouched(shared: Path, judged_by: Iterable[Any]) -> str:
    """A file of the sentences that are judged by, which no model of a study is trained on."""
    texts: dict[str, None] = {}
    for record in judged_by:
        if isinstance(record, ParallelCorpus):
            texts |= dict.fromkeys(text for column in record.columns for text in column)
        elif isinstance(record, LabelledCorpus):
            texts |= dict.fromkeys(text for row in record.texts for text in row)
        else:
            texts |= dict.fromkeys(row.text for rows in sentences(record).values() for row in rows)
    place = shared / f"without-{digest(texts)[:12]}.txt"
    shared.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{place}.lock"):
        if not place.exists():
            whole(place, "".join(f"{' '.join(text.split())}\n" for text in texts).encode())
    return str(place)


def trained(config: Config, place: Path, shared: Path, say: Say) -> tuple[str, list[Row]]:
    """A model, in a folder where it goes on after a kill, and how well it reads what was held out."""

    def told(line: Line) -> None:
        if line.scores:
            bits = ", ".join(f"{score.language} {score.bits:.3f}" for score in line.scores)
            say(f"update {line.update:,}, loss {line.loss:.3f}, {line.updates_per_second:.0f}/s, bits {bits}")

    run = pretrain(config, place, prepared_in=prepared(config, shared, say), say=say, progress=told)
    lines = [json.loads(line) for line in (place / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    last = next((line for line in reversed(lines) if line["scores"]), None)
    rows: list[Row] = [
        {"state": BEFORE, "source": score["language"], "measure": name, "value": score[name]}
        for score in (last["scores"] if last else ())
        for name in ("bits", "perplexity")
    ]
    left = next((line["update"] for line in lines if line["loss"] < LEFT), None)
    rows.append({"state": BEFORE, "measure": "left the plateau at", "value": left})
    rows.append({"state": BEFORE, "measure": "updates", "value": run.updates})
    return str(run.model), rows


def leave(model: str, name: str, shared: Path) -> None:
    """Put a cell's model where other cells look for it, whole or not at all: they begin as soon as it is there."""
    place = shared / MODELS / name
    if place.exists():
        return
    partial = place.with_name(f"{name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.copytree(model, partial)
    partial.rename(place)


def sample_of(name: str, n: int, known_by: str) -> str:
    """What values are of: those with the same blocks of the same rows err together.

    `known_by` is a hash of what is asked about. Samples of other names are taken to be independent, which two languages
    asked about some of the same English words are not: a mean over them is taken for surer than it is.
    """
    return f"{name} {n} {known_by[:8]}"


def looked_into(
    name: str | Model | PerLanguage,
    corpus: ParallelCorpus,
    state: str,
    measures: Sequence[str],
    *,
    pooling: str = "mean",
    published: str = "",
    blocks: int = 20,
    cca_intervals: bool = False,
    seed: int = 0,
) -> Iterator[Row]:
    """Every measure of English with the other languages, by layer; and whether similarity rises and falls.

    With a paper's name in `published`, what its own code gives stands beside. A pattern is two rows at the layer of its
    peak (`anc.rise`, `anc.fall`: the mean over both halves, and bounds), of all pairs where no target is named.
    `seed` is that of random weights.
    """
    model = load_model(name, random=state == RANDOM, seed=seed) if isinstance(name, str) else name
    reps = _vectors(model, corpus, pooling)
    beside = _vectors(model, corpus, "mean_all") if published == "del2022" and pooling == "mean" else None
    found = compare(
        reps, source="en", measures=measures, as_published=published if beside is not None else "", published=beside,
        blocks=blocks, nulls=1, cca_intervals=cca_intervals,
    )  # fmt: skip
    common = {"state": state, "corpus": corpus.name, "pooling": pooling}
    sample = sample_of(corpus.name, len(corpus), digest([*corpus.ids, *corpus["en"]]))
    for row in found.rows:
        yield {**common, **{key: row.get(key) for key in FOUND}, SAMPLE: sample, WITHOUT: row.get("left_out")}
    for measure in measures:
        pairs: list[tuple[str, str] | None] = [None, *((str(a), str(b)) for a, b in found.plan.pairs)]
        for pair in pairs:
            try:
                pattern = found.pattern(measure, pair=pair, inner=True)
            except InputError:  # no values by block
                continue
            ends = {
                "rise": (pattern.rise, pattern.rise_low, pattern.rise_high),
                "fall": (pattern.fall, pattern.fall_low, pattern.fall_high),
            }
            for what, (value, low, high) in ends.items():
                yield {**common, "source": "en", "target": pair[1] if pair else "", "measure": f"{measure}.{what}",
                       "layer": pattern.peaks[0], "value": value, "low": low, "high": high,
                       "n": len(corpus)}  # fmt: skip


def _vectors(model: Any, corpus: ParallelCorpus, pooling: str) -> Representations:
    return extract(model, corpus, pooling=pooling, truncate=True)


def scored(tables: TransferTables) -> Iterator[Row]:
    """The scores of a tuned model, a row a language."""
    for row in tables.scores[tables.scores["init"] == WHOLE].itertuples():
        if row.metric == tables.metric:
            yield {"state": AFTER, "corpus": row.set, "source": tables.source, "target": row.language,
                   "measure": f"{tables.config['task']} {row.metric}", "value": row.value, "low": row.low,
                   "high": row.high, "n": row.sentences, "signature": tables.signature}  # fmt: skip


def tuned_model(folder: Path) -> str:
    """What `transfer` left in its folder: the model that it tuned."""
    return str(next((folder / "tuned").rglob("tuned.json")).parent / "model")


def sentences_of(name: str, langs: Sequence[str]) -> ParallelCorpus:
    """The sentences of a set for inference as parallel text: premises once, and hypotheses (XNLI: 10,000)."""
    columns: dict[str, list[str]] = {lang: [] for lang in langs}
    for split in ("dev", "test"):
        sets = {lang: labelled(name, lang, split=split) for lang in langs}
        first = sets[langs[0]].column("premise")
        once = [row for row, text in enumerate(first) if text not in first[max(0, row - 3) : row]]
        for lang, record in sets.items():
            premises, hypotheses = record.column("premise"), record.column("hypothesis")
            columns[lang] += [premises[row] for row in once] + list(hypotheses)
    return ParallelCorpus.from_texts(columns, name=f"{name} sentences", licence="as the set")
