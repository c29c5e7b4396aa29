"""`interlingua unseen`: a language that a model has not seen -> what to do about it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlingua import BUILT_IN
from interlingua.cli.data import Formats, Json, tags
from interlingua.cli.extract import needs_models

if TYPE_CHECKING:
    from interlingua.analyses.diagnosis import Expectation
    from interlingua.analyses.unseen_plan import Step
    from interlingua.report.unseen_tables import UnseenTables

SUCH_AS = "--lang ug --train ud/ug_udt --raw mono --translit latin --out FOLDER"


def unseen(
    model: Annotated[str, typer.Argument(help="A multilingual model: a Hub id or a folder.")] = BUILT_IN,
    lang: Annotated[str, typer.Option("--lang", help="The language that is new: ug.")] = "",
    train: Annotated[
        str, typer.Option("--train", help="Sentences with labels: a treebank (ud/ug_udt, FILE.conllu), tagged words.")
    ] = "",
    test: Annotated[
        str, typer.Option("--eval", help="What to judge by; by default the split test, or the last fifth of --train.")
    ] = "",
    raw: Annotated[
        str, typer.Option("--raw", help="Text without labels, separated by commas: mono, FILE; else that of --train.")
    ] = "",
    task: Annotated[str, typer.Option("--task", help="pos, parsing, ner; several separated by commas.")] = "pos",
    translit: Annotated[
        str,
        typer.Option(help="Also in another script: latin, icu, uyghur-turkish, cyrillic-latin, georgian-latin, ..."),
    ] = "",
    arms: Annotated[
        str, typer.Option(help="Which to run, separated by commas.")
    ] = "bilstm,multilingual,adapted,monolingual",
    seen: Annotated[str, typer.Option(help="Languages that the model has seen; by default those of --beside.")] = "",
    beside: Annotated[str, typer.Option(help="Sentences of them.")] = "everyday",
    parallel: Annotated[str, typer.Option(help="Parallel text that has the language: how many find each other?")] = "",
    rows: Annotated[int, typer.Option("--rows", "-n", help="Only the first rows to tune on.", min=0)] = 0,
    out: Annotated[Path | None, typer.Option("--out", help="The folder of results, new or of the same run.")] = None,
    budget: Annotated[float, typer.Option(help="Minutes; arms that do not fit are left out. 0: all.", min=0)] = 0.0,
    seeds: Annotated[int, typer.Option(help="Tune every arm so many times.", min=1)] = 3,
    epochs: Annotated[
        int, typer.Option(help="Of models; a BiLSTM has 30, and stops where it gets no better.", min=1)
    ] = 20,
    batch: Annotated[int, typer.Option(help="Sentences an update of tuning.", min=1)] = 32,
    rate: Annotated[float, typer.Option(help="Of tuning; by default by the width of the network.", min=0)] = 0.0,
    size: Annotated[str, typer.Option(help="Of the monolingual model: nano, micro, mini, small.")] = "micro",
    updates: Annotated[
        int, typer.Option(help="At most so many of adaptation; 8 times that from nothing.", min=1)
    ] = 2_000,
    passes: Annotated[int, typer.Option(help="Go over the raw text at most so often.", min=1)] = 100,
    seed: Annotated[int, typer.Option(help="Of heads, order and pretraining.", min=0)] = 0,
    device: Annotated[str, typer.Option(help="cpu or cuda; by default cuda where there is one.")] = "",
    formats: Formats = "svg,png",
    force: Annotated[bool, typer.Option("--force", help="Replace another run in the folder.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Look at the language and say what everything would take; run nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Find out what to do with a language that a model has not seen: fine-tune, adapt, transliterate or start anew.

    Compares a BiLSTM, a monolingual model made from --raw, the model as it is, and the model adapted to --raw, each
    also in another script with --translit. Run it again after an interruption and it goes on.

    Example: interlingua unseen built-in --lang ug --train ud/ug_udt --raw mono --translit uyghur-turkish --out uyghur
    """
    from interlingua.errors import InputError

    missing = [name for name, value in (("--lang", lang), ("--train", train)) if not value]
    if missing or (out is None and not dry_run):
        raise InputError(f"say {(missing or ['--out'])[0]}; such as: {SUCH_AS}")
    needs_models()
    from interlingua.analyses.unseen import Trial, about_words, foreseen
    from interlingua.analyses.unseen import unseen as run
    from interlingua.cli.compare import formats_of
    from interlingua.cli.progress import bar
    from interlingua.corpora.loading import parallel as parallel_text
    from interlingua.errors import UnknownNameError
    from interlingua.pretrain.config import SIZES
    from interlingua.transfer.finetune import Tuning
    from interlingua.transfer.sets import both_of, split_of

    if device not in ("", "cpu", "cuda"):
        raise InputError(f"device {device!r} is neither cpu nor cuda; CUDA_VISIBLE_DEVICES chooses one of several")
    if size not in SIZES:
        raise UnknownNameError("size", size, SIZES)
    spoken = str(tags(lang)[0])
    splits = {name: split_of(about_words(name), train, test, spoken, rows) for name in _listed(task)}
    known = parallel_text(beside, *(str(each) for each in tags(seen)))
    both = both_of(parallel, spoken, known)
    how = Trial(
        tuning=Tuning(epochs=epochs, batch=batch, rate=rate, seed=seed),
        seeds=seeds,
        arms=tuple(_listed(arms)),
        scheme=translit,
        size=size,
        updates=updates,
        passes=passes,
        budget=budget,
        loading={"device": device},
    )
    figures = formats_of(formats)
    if dry_run or out is None:
        found, hoped, plan = foreseen(model, splits, known, how, raw=_listed(raw), parallel=both, stage=bar)
        _show_foreseen(found, hoped, plan, as_json=as_json)
        return
    from interlingua.report.unseen import publish_unseen

    tables = run(
        model, splits, known, out, how, raw=_listed(raw), parallel=both, force=force, stage=bar,
        tell=lambda hoped, plan: _tell(hoped, plan, err=True),
    )  # fmt: skip
    with bar("writing the report"):
        place = publish_unseen(tables, out, formats=figures)
    show_unseen(tables, place, as_json=as_json)


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _tell(hoped: Expectation, plan: Sequence[Step], *, err: bool = False) -> None:
    """What is expected, and what every arm will take."""
    from interlingua.cli.terminal import visible

    typer.echo(visible(f"expected: {hoped.kind}; {hoped.advice}. {'; '.join(hoped.reasons)}."), err=err)
    for step in plan:
        name = f"{step.arm}{f', {step.scheme}' if step.scheme else ''}"
        took = f"left out: {step.left_out}" if step.left_out else _clock(step.seconds) if step.seconds else "done"
        typer.echo(visible(f"  {name:<32}{took}"), err=err)
    total = sum(step.seconds for step in plan if not step.left_out)
    typer.echo(f"about {_clock(total)} in all", err=err)


def _clock(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def _show_foreseen(found: Any, hoped: Expectation, plan: Sequence[Step], *, as_json: bool) -> None:
    from dataclasses import asdict

    from interlingua.cli.terminal import visible

    if as_json:
        facts = {"diagnosis": asdict(found), "expectation": hoped.facts(), "plan": [asdict(step) for step in plan]}
        typer.echo(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    typer.echo(f"{'':<24}{'sub-words a word':>18}{'unknown':>10}{'single letters':>16}  script")
    for name, each in (
        (found.language, found.own),
        (found.scheme, found.written),
        *((c.language, c) for c in found.seen),
    ):
        if each is not None:
            line = f"{visible(name):<24}{each.fertility:18.2f}{each.unknown:10.1%}{each.single:16.1%}"
            typer.echo(f"{line}  {visible(each.script)}")
    typer.echo("nearest: " + ", ".join(f"{lang} {share:.0%}" for lang, share in found.nearest[:3]))
    if found.matching:
        typer.echo("find their translation: " + ", ".join(f"{lang} {share:.1%}" for lang, share in found.matching[:3]))
    for text in found.example:
        typer.echo(f"  {visible(text)}")
    _tell(hoped, plan)


def show_unseen(tables: UnseenTables, place: Path, *, as_json: bool) -> None:
    """Scores by arm, verdicts and what they say, on the terminal or as JSON."""
    from interlingua.cli.terminal import visible
    from interlingua.report.unseen import told
    from interlingua.report.unseen_tables import BESIDE

    if as_json:
        found: dict[str, Any] = {
            "summary": [{"heading": heading, "text": text} for heading, text in told(tables)],
            "expectation": tables.expectation,
            "scores": json.loads(tables.scores.to_json(orient="records")),
            **{name: json.loads(getattr(tables, name).to_json(orient="records")) for name in BESIDE},
            "signature": tables.signature,
            "report": str(place),
        }
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    for task in tables.tasks:
        typer.echo(f"{task:<20}{'script':<18}{tables.metric(task):>10}{'interval':>16}{'seeds':>16}")
        for r in tables.by_arm(task).itertuples():
            seeds = f"{r.lowest:.3f}-{r.highest:.3f}"
            interval = f"{r.low:.3f}-{r.high:.3f}" if r.low == r.low else ""
            typer.echo(f"{r.arm:<20}{visible(r.scheme or 'its own'):<18}{r.value:10.3f}{interval:>16}{seeds:>16}")
    typer.echo("")
    for heading, sentence in told(tables):
        typer.echo(f"{visible(heading)}: {visible(sentence)}")
    typer.echo(f"signature: {tables.signature}")
    typer.echo(f"report: {visible(str(place))}")
