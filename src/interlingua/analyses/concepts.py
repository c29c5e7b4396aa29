"""`find_concepts`: models and parallel text in; concepts of every layer, whether they correspond and whether they mix.

A folder holds `config.json`, `scores.parquet` and `.csv` (every number), `sweeps.parquet` (the same under other
thresholds), `concepts.parquet` (the concepts themselves), `lexicons/` (translations with their probabilities, as Moses
writes them), `labels/` (the concept of every mention) and what a run that was killed goes on from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

from interlingua.analyses.concept_run import ConceptRun, Inquiry, Stage
from interlingua.analyses.survey import made_with, same_run
from interlingua.concepts.lexicon import Lexicon
from interlingua.errors import InputError
from interlingua.folders import claimed
from interlingua.models.load import shown
from interlingua.report.concept_tables import ConceptTables, write_concepts
from interlingua.types import ParallelCorpus, TaggedCorpus
from interlingua.types.corpus import digest


def find_concepts(
    model: str,
    corpus: ParallelCorpus,
    out: str | Path,
    how: Inquiry | None = None,
    *,
    tuned: str = "",
    lexicons: Mapping[tuple[str, str], Lexicon] | None = None,
    tags: Mapping[str, TaggedCorpus] | None = None,
    force: bool = False,
    stage: Stage = lambda _name: nullcontext(lambda _done, _total: None),
) -> ConceptTables:
    """Concepts of the first language and of each other one, apart and together, at some layers of a model.

    `tuned` is a second model to stand beside it; `lexicons` by (source, target), else the corpus is word-aligned.
    `tags` by language: tagged words, each word having the tag that it has most often there.
    """
    asked = how or Inquiry()
    if len(corpus.langs) < 2:
        raise InputError(f"{corpus.name} has {len(corpus.langs)} language: concepts correspond between two, name them")
    config = _config([model, *([tuned] if tuned else [])], corpus, asked, lexicons)
    config["tags"] = {lang: each.hash for lang, each in (tags or {}).items()}
    with claimed(Path(out)):
        same_run(Path(out), config, force=force)
        run = ConceptRun(Path(out), corpus, asked, stage, lexicons or {}, tags or {})
        run.look("base", model)
        if tuned:
            run.look("tuned", tuned)
        if asked.baseline:
            run.look("untrained", model)
        tables = ConceptTables.of(config, run.scores, run.sweeps, run.concepts)
        write_concepts(tables, Path(out))
    return tables


def _config(
    models: Sequence[str],
    corpus: ParallelCorpus,
    how: Inquiry,
    lexicons: Mapping[tuple[str, str], Lexicon] | None,
) -> dict[str, Any]:
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
        "versions": made_with(),
    }
    plain: dict[str, Any] = json.loads(json.dumps(config))
    return plain


def _hash(found: Lexicon) -> str:
    """What tells a lexicon from another."""
    return digest(f"{word}\t{e.word}\t{e.probability:.6f}" for word, row in found.entries.items() for e in row)
