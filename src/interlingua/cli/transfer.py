"""`interlingua transfer`: a model, a task and a language -> the tuned model's scores in other languages."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlingua import BUILT_IN
from interlingua.cli.data import Formats, Json, Langs, tags
from interlingua.cli.extract import needs_models

if TYPE_CHECKING:
    from interlingua.report.transferred import TransferTables
    from interlingua.transfer.task import Task


def transfer(
    model: Annotated[str, typer.Argument(help="A Hub id or a folder.")] = BUILT_IN,
    task: Annotated[str, typer.Option("--task", help="pos, ner, parsing, nli or sentiment.")] = "",
    train: Annotated[str, typer.Option("--train", help="What to tune on: panx, ud/en_ewt, nli_en:dev, en=FILE.")] = "",
    tests: Annotated[str, typer.Option("--eval", help="Where to judge, separated by commas: ud/fr_gsd,ru=FILE.")] = "",
    langs: Langs = "",
    rows: Annotated[int, typer.Option("--rows", "-n", help="Only the first rows to tune on.", min=0)] = 0,
    out: Annotated[Path | None, typer.Option("--out", help="The folder of results, new or of the same run.")] = None,
    random_init: Annotated[
        str, typer.Option("--random-init", help="Draw blocks anew first: 1-2,3-4, pairs, each or below.")
    ] = "",
    seeds: Annotated[int, typer.Option(help="Tune so many times.", min=1)] = 1,
    epochs: Annotated[int, typer.Option(min=1)] = 10,
    batch: Annotated[int, typer.Option(help="Sentences an update.", min=1)] = 32,
    rate: Annotated[float, typer.Option(help="Of learning; by default by the width of the network.", min=0)] = 0.0,
    head_rate: Annotated[float, typer.Option(help="Of the head, where it is another.", min=0)] = 0.0,
    frozen: Annotated[str, typer.Option(help="Layers that stay as they are, 0 for the embeddings: 0,1,2.")] = "",
    patience: Annotated[int, typer.Option(help="Stop after so many epochs that are no better.", min=0)] = 0,
    seed: Annotated[int, typer.Option(help="Of heads, order and layers drawn anew.", min=0)] = 0,
    keep: Annotated[bool, typer.Option("--keep/--no-keep", help="Keep the tuned models.")] = True,
    bf16: Annotated[bool, typer.Option("--bf16", help="Compute in bfloat16 where that is safe.")] = False,
    stack: Annotated[str, typer.Option(help="encoder or decoder, of a model that has both.")] = "",
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, mps; by default cuda where there is one.")] = "",
    formats: Formats = "svg,png",
    force: Annotated[bool, typer.Option("--force", help="Replace another run in the folder.")] = False,
    as_json: Json = False,
) -> None:
    """Tune a model on a task in one language, score it in others, and see which layers that needs.

    Run it again after an interruption and it goes on. Data sets of several languages: --langs, the first is the source.

    Example: interlingua transfer --task ner --train panx --langs en,fr,de,ru --rows 2000 --epochs 3 --out ner
    """
    from interlingua.errors import InputError

    if not task or not train or out is None:
        missing = "--task" if not task else "--train" if not train else "--out"
        raise InputError(f"say {missing}; such as: --task ner --train panx --langs en,fr --out FOLDER")
    needs_models()
    from interlingua.analyses.transfer import Attempt
    from interlingua.analyses.transfer import transfer as run
    from interlingua.cli.compare import formats_of
    from interlingua.cli.progress import bar
    from interlingua.report.transferred import publish_transfer
    from interlingua.transfer.finetune import Tuning
    from interlingua.transfer.tasks import task as task_named

    chosen = task_named(task)
    spoken = tags(langs)
    source_lang, source = _named(train, str(spoken[0]) if spoken else "")
    asked = [_named(each, "") for each in filter(None, tests.split(","))]
    if not asked:
        if len(spoken) < 2:
            raise InputError("say where to judge with --eval, or name several languages with --langs")
        asked = [(str(lang), source) for lang in spoken[1:]]
    learnt = _read(chosen, source, source_lang, "train")
    learnt = learnt[:rows] if rows else learnt
    learnt, development = _developed(chosen, source, source_lang, learnt)
    own = [] if any(lang == source_lang for lang, _ in asked) else [(source_lang, source.partition(":")[0])]
    judged = [_read(chosen, name, lang, "test") for lang, name in [*own, *asked]]
    tuning = Tuning(
        epochs=epochs,
        batch=batch,
        rate=rate,
        head_rate=head_rate,
        frozen=tuple(_number(part) for part in filter(None, frozen.split(","))),
        patience=patience,
        bf16=bf16,
        seed=seed,
    )
    how = Attempt(
        task=task,
        tuning=tuning,
        seeds=seeds,
        random_init=random_init,
        keep=keep,
        loading={"stack": stack, "device": device},
    )
    figures = formats_of(formats)
    tables = run(model, [learnt], [development], judged, out, how, force=force, stage=bar)
    with bar("writing the report"):
        place = publish_transfer(tables, out, formats=figures)
    show_transfer(tables, place, as_json=as_json)


def _read(task: Task[Any, Any], name: str, lang: str, split: str) -> Any:
    """A record; `nli_en/snli:dev` names the split."""
    name, _, said = name.partition(":")
    return task.read(name, lang, said or split)


def _developed(task: Task[Any, Any], name: str, lang: str, learnt: Any) -> tuple[Any, Any]:
    """What to tune on and what to choose the epoch by: the split `dev`, or the last tenth of the rest."""
    from interlingua.errors import UnknownNameError

    if ":" not in name:
        try:
            return learnt, task.read(name, lang, "dev")
        except UnknownNameError:
            pass
    many = max(1, len(learnt) // 10)
    return learnt[:-many], learnt[-many:]


def _named(text: str, lang: str) -> tuple[str, str]:
    """A language and a data set: en=FILE says both, ud/en_ewt has the language in its name; :split may follow."""
    from interlingua.errors import InputError

    before, sign, name = text.strip().partition("=")
    if sign:
        return before, name
    # treebanks may be asked for as in the literature, ud:en_ewt
    name = re.sub(r"^ud:(?=\w+_)", "ud/", before)
    said = re.search(r"/([a-z]{2,3})_", name)
    if not lang and not said:
        raise InputError(f"which language is {text}? Write fr={text}, or name languages with --langs")
    return lang or (said[1] if said else ""), name


def _number(text: str) -> int:
    from interlingua.errors import InputError

    if not text.strip().isdigit():
        raise InputError(f"{text!r} is no layer: write numbers, such as 0,1,2")
    return int(text)


def show_transfer(tables: TransferTables, place: Path, *, as_json: bool) -> None:
    """Scores by language and what they say, on the terminal or as JSON."""
    from interlingua.cli.terminal import visible
    from interlingua.report.transferred import FREQUENT, told

    if as_json:
        found: dict[str, Any] = {
            "summary": [{"heading": heading, "text": text} for heading, text in told(tables)],
            "scores": json.loads(tables.scores.to_json(orient="records")),
            "drops": json.loads(tables.drops.to_json(orient="records")),
            "report": str(place),
        }
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    usual = tables.by_language(FREQUENT).set_index("language")["value"]
    last = f"{FREQUENT:>20}" if len(usual) else ""
    typer.echo(f"{'language':<12}{tables.metric:>10}{'interval':>16}{'gap':>9}{'sentences':>11}{last}")
    for r in tables.by_language().itertuples():
        beside = f"{usual[r.language]:20.3f}" if r.language in usual else ""
        line = f"{visible(r.language):<12}{r.value:10.3f}{f'{r.low:.3f}-{r.high:.3f}':>16}{r.gap:9.3f}"
        typer.echo(f"{line}{int(r.sentences):11,}{beside}")
    for name, part in tables.drops.groupby("init", sort=False):
        each = ", ".join(f"{r.language} {r.drop:+.3f} ({r.low:+.3f} to {r.high:+.3f})" for r in part.itertuples())
        typer.echo(f"without blocks {name}: {each}")
    typer.echo("")
    for heading, sentence in told(tables):
        typer.echo(f"{visible(heading)}: {visible(sentence)}")
    typer.echo(f"report: {visible(str(place))}")
