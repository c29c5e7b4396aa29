"""`interlingua mapped-transfer`: trained above one model's layers, run above another's through a map."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlingua.cli.data import Formats, Json
from interlingua.cli.extract import needs_models
from interlingua.cli.transfer import whole_numbers

if TYPE_CHECKING:
    from interlingua.report.graft_tables import GraftTables


def mapped_transfer(
    models: Annotated[list[str], typer.Argument(help="That of the source language, and that of the other.")],
    task: Annotated[str, typer.Option("--task", help="pos, ner, parsing, nli or sentiment.")] = "",
    train: Annotated[str, typer.Option("--train", help="What to train on: ud/en_ewt, en=FILE.")] = "",
    test: Annotated[str, typer.Option("--eval", help="Where to judge, in the other one: ud/fr_gsd, fr=FILE.")] = "",
    parallel: Annotated[str, typer.Option(help="Parallel text of the two languages, to fit maps on.")] = "everyday",
    pairs: Annotated[int, typer.Option(help="Only the first rows of it.", min=0)] = 0,
    control: Annotated[str, typer.Option(help="A model of both languages: as it is, and mapped the same way.")] = "",
    layers: Annotated[str, typer.Option(help="Layers to map, 0 for the embeddings: 0,2,4; all by default.")] = "",
    rows: Annotated[int, typer.Option("--rows", "-n", help="Only the first rows to train on.", min=0)] = 0,
    out: Annotated[Path | None, typer.Option("--out", help="The folder of results, new or of the same run.")] = None,
    seeds: Annotated[int, typer.Option(help="Train so many times.", min=1)] = 1,
    epochs: Annotated[int, typer.Option(min=1)] = 10,
    batch: Annotated[int, typer.Option(help="Sentences an update.", min=1)] = 32,
    rate: Annotated[float, typer.Option(help="Of learning; 0: 5e-4, as all that learns is fresh.", min=0)] = 0.0,
    seed: Annotated[int, typer.Option(help="Of fresh layers and order.", min=0)] = 0,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, mps; by default cuda where there is one.")] = "",
    formats: Formats = "svg,png",
    force: Annotated[bool, typer.Option("--force", help="Replace another run in the folder.")] = False,
    as_json: Json = False,
) -> None:
    """Train four fresh layers above one model's frozen ones, and run them above another model's through a map.

    Two models that never saw each other's language: how much of a task goes through a rotation, from which layer?

    Example: interlingua mapped-transfer bert-en bert-fr --task pos --train ud/en_ewt --eval ud/fr_gsd --out graft
    """
    from interlingua.errors import InputError

    if len(models) != 2:
        raise InputError(f"{len(models)} models: name that of the source language and that of the other")
    given = {"--task": task, "--train": train, "--eval": test, "--out": out}
    missing = [name for name, value in given.items() if not value]
    if missing or out is None:
        raise InputError(f"say {missing[0]}; such as: --task pos --train ud/en_ewt --eval ud/fr_gsd --out FOLDER")
    needs_models()
    from interlingua.analyses.mapped_transfer import mapped_transfer as run
    from interlingua.analyses.transfer_run import Attempt
    from interlingua.cli.compare import formats_of
    from interlingua.cli.progress import bar
    from interlingua.corpora.loading import parallel as parallel_text
    from interlingua.report.grafted import publish_graft
    from interlingua.transfer.finetune import Tuning
    from interlingua.transfer.sets import judged_by, learnt_from, named_set
    from interlingua.transfer.tasks import task as task_named

    chosen = task_named(task)
    (lang, name), (other, where) = named_set(train, ""), named_set(test, "")
    learnt, development = learnt_from(chosen, name, lang, rows)
    tests = judged_by(chosen, name.partition(":")[0], lang), judged_by(chosen, where, other)
    corpus = parallel_text(parallel, *(chosen.language(record) for record in tests))
    tuning = Tuning(epochs=epochs, batch=batch, rate=rate, seed=seed)
    figures = formats_of(formats)
    tables = run(
        (models[0], models[1]), [learnt], [development], tests, corpus[:pairs] if pairs else corpus, out,
        Attempt(task=task, tuning=tuning, seeds=seeds, loading={"device": device}), control=control,
        layers=whole_numbers(layers), force=force, stage=bar,
    )  # fmt: skip
    with bar("writing the report"):
        place = publish_graft(tables, out, formats=figures)
    show_graft(tables, place, as_json=as_json)


def show_graft(tables: GraftTables, place: Path, *, as_json: bool) -> None:
    """Scores by layer and what they say, on the terminal or as JSON."""
    from interlingua.cli.terminal import visible
    from interlingua.report.grafted import told

    if as_json:
        found: dict[str, Any] = {
            "summary": [{"heading": heading, "text": text} for heading, text in told(tables)],
            "scores": json.loads(tables.scores.to_json(orient="records")),
            "report": str(place),
        }
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    source, target = tables.langs
    own = tables.curve(source).set_index(["setup", "layer"])["value"]
    typer.echo(f"{'setup':<22}{'layer':>6}{source:>10}{target:>10}{'interval':>16}")
    for r in tables.curve(target).itertuples():
        line = f"{r.setup:<22}{int(r.layer):6}{own[r.setup, r.layer]:10.3f}{r.value:10.3f}"
        typer.echo(f"{line}{f'{r.low:.3f}-{r.high:.3f}':>16}")
    typer.echo("")
    for heading, sentence in told(tables):
        typer.echo(f"{visible(heading)}: {visible(sentence)}")
    typer.echo(f"report: {visible(str(place))}")
