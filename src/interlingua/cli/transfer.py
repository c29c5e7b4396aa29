"""`interlingua transfer`: a model, a task and a language -> the tuned model's scores in other languages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlingua import BUILT_IN
from interlingua.cli.data import Formats, Json, Langs, tags
from interlingua.cli.extract import Address, EngineName, Workers, needs_models
from interlingua.cluster import Engine

if TYPE_CHECKING:
    from interlingua.analyses.transfer import Attempt
    from interlingua.report.transfer_tables import TransferTables
    from interlingua.transfer.task import Task
    from interlingua.types import ParallelCorpus

SUCH_AS = "--task ner --train panx --langs en,fr --out FOLDER"


def transfer(
    model: Annotated[str, typer.Argument(help="A Hub id or a folder.")] = BUILT_IN,
    task: Annotated[str, typer.Option("--task", help="pos, ner, parsing, nli, sentiment or translation.")] = "",
    train: Annotated[
        str, typer.Option("--train", help="What to tune on, separated by commas: panx, ud/en_ewt, nli_en:dev, en=FILE.")
    ] = "",
    tests: Annotated[str, typer.Option("--eval", help="Where to judge, separated by commas: ud/fr_gsd,ru=FILE.")] = "",
    langs: Langs = "",
    rows: Annotated[int, typer.Option("--rows", "-n", help="Only the first rows to tune on.", min=0)] = 0,
    eval_rows: Annotated[int, typer.Option(help="Only the first rows of what is judged by.", min=0)] = 0,
    out: Annotated[Path | None, typer.Option("--out", help="The folder of results, new or of the same run.")] = None,
    random_init: Annotated[
        str, typer.Option("--random-init", help="Draw blocks anew first: 1-2,3-4, pairs, each or below.")
    ] = "",
    seeds: Annotated[int, typer.Option(help="Tune so many times.", min=1)] = 1,
    grid: Annotated[
        str, typer.Option(help="Settings to try: wu2020-words, wu2020-nli, or a YAML file such as batch: [16, 32].")
    ] = "",
    baseline: Annotated[
        bool, typer.Option("--baseline", help="Train a BiLSTM on the same words beside: what is pretraining worth?")
    ] = False,
    parallel: Annotated[
        str, typer.Option(help="Parallel text: similarity before and after tuning, and what it has to do with gaps.")
    ] = "",
    foretell: Annotated[
        str, typer.Option("--foretell", help="Languages of --parallel without labels, to be foretold a score: sw,tr.")
    ] = "",
    measures: Annotated[str, typer.Option(help="Of similarity.")] = "anc,linear_cka,matching",
    neurons: Annotated[
        float, typer.Option(help="Share of shared, specific and random neurons to put to silence: 0.1.", min=0, max=0.5)
    ] = 0.0,
    beams: Annotated[int, typer.Option(help="Translation: of the search; 1 is greedy.", min=1)] = 1,
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
    engine: EngineName = "local",
    address: Address = "",
    workers: Workers = 0,
    formats: Formats = "svg,png",
    force: Annotated[bool, typer.Option("--force", help="Replace another run in the folder.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be tuned, and tune nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Tune a model on a task in one language, score it in others, and see which layers that needs.

    Run it again after an interruption and it goes on. Data sets of several languages: --langs, the first is the source.

    Several languages to tune on: --train ud/en_ewt,ud/fr_gsd; gaps are from the first.

    Example: interlingua transfer --task ner --train panx --langs en,fr,de,ru --rows 2000 --epochs 3 --out ner
    """
    from interlingua.errors import InputError

    if not task or not train:
        raise InputError(f"say {'--train' if task else '--task'}; such as: {SUCH_AS}")
    if out is None and not dry_run:
        raise InputError(f"say --out, or ask what would be tuned with --dry-run; such as: {SUCH_AS}")
    needs_models()
    from interlingua.analyses.transfer import Attempt
    from interlingua.analyses.transfer import transfer as run
    from interlingua.cli.compare import formats_of
    from interlingua.cli.progress import bar
    from interlingua.report.transferred import publish_transfer
    from interlingua.transfer.finetune import Tuning
    from interlingua.transfer.grids import read_grid
    from interlingua.transfer.sets import judged_by, learnt_from, named_set
    from interlingua.transfer.tasks import task as task_named

    chosen = task_named(task)
    spoken = _languages(chosen, langs)
    sources = [named_set(each, spoken[0] if spoken else "") for each in filter(None, train.split(","))]
    asked = [named_set(each, "") for each in filter(None, tests.split(","))]
    if not asked:
        if len(spoken) < 2:
            raise InputError("say where to judge with --eval, or name several languages with --langs")
        asked = [(lang, sources[0][1].partition(":")[0]) for lang in spoken[1:]]
    both = [learnt_from(chosen, name, lang, rows) for lang, name in sources]
    have = {lang for lang, _ in asked}
    own = [(lang, name.partition(":")[0]) for lang, name in sources[:1] if lang not in have]
    judged = [judged_by(chosen, name, lang, eval_rows) for lang, name in [*own, *asked]]
    beside = _parallel(parallel, [chosen.language(record) for record in judged], foretell)
    tuning = Tuning(
        epochs=epochs,
        batch=batch,
        rate=rate,
        head_rate=head_rate,
        frozen=whole_numbers(frozen),
        patience=patience,
        bf16=bf16,
        seed=seed,
    )
    how = Attempt(
        task=task,
        tuning=tuning,
        seeds=seeds,
        random_init=random_init,
        grid=read_grid(grid) if grid else None,
        baseline=baseline,
        measures=tuple(filter(None, measures.split(","))),
        neurons=neurons,
        beams=beams,
        keep=keep,
        loading={"stack": stack, "device": device},
    )
    figures = formats_of(formats)
    learnt, development = [record for record, _ in both], [record for _, record in both]
    if dry_run or out is None:
        from interlingua.models.load import blueprint
        from interlingua.transfer.ablate import chosen as blocks_of

        groups = len(blocks_of(random_init, blueprint(model, stack=stack).layers.blocks))
        _show_plan(how, groups, learnt, development, judged, as_json=as_json)
        return
    where = Engine(engine, address, workers, device)
    tables = run(model, learnt, development, judged, out, how, parallel=beside, engine=where, force=force, stage=bar)
    with bar("writing the report"):
        place = publish_transfer(tables, out, formats=figures)
    show_transfer(tables, place, as_json=as_json)


def _show_plan(
    how: Attempt, groups: int, learnt: list[Any], development: list[Any], judged: list[Any], *, as_json: bool
) -> None:
    """What would be tuned."""
    from interlingua.cli.terminal import visible

    rows = sum(map(len, learnt))
    times = how.seeds * (len(how.settings) + groups + how.baseline)
    updates = -(-rows // how.tuning.batch) * how.tuning.epochs
    if as_json:
        sizes = {record.name: len(record) for record in (*learnt, *development, *judged)}
        typer.echo(json.dumps({"tunings": times, "updates": updates, "rows": sizes}, indent=2, ensure_ascii=False))
        return
    for what, records in (("tuned on", learnt), ("epoch chosen by", development), ("judged by", judged)):
        each = ", ".join(f"{record.name} ({len(record):,})" for record in records)
        typer.echo(f"{what}: {visible(each)}")
    beside = (
        f"{len(how.settings)} settings" if how.grid else "",
        f"{groups} sets of blocks drawn anew" if groups else "",
        "a BiLSTM" if how.baseline else "",
    )
    said = ", ".join(filter(None, beside))
    typer.echo(f"{times} tunings of about {updates:,} updates, {how.seeds} of each kind{f' ({said})' if said else ''}")


def _languages(task: Task[Any, Any], langs: str) -> list[str]:
    """Languages as they were named; of translation, pairs such as fr-en."""
    if task.name == "translation":
        return [each.strip() for each in langs.split(",") if each.strip()]
    return [str(lang) for lang in tags(langs)]


def _parallel(name: str, judged: list[str], more: str) -> ParallelCorpus | None:
    """Parallel text of the languages that are judged, and of others to be foretold."""
    from interlingua.analyses.relate import FEWEST
    from interlingua.corpora.loading import parallel
    from interlingua.errors import InputError

    if not name:
        if more:
            raise InputError("a score is foretold from similarity: name parallel text with --parallel")
        return None
    new = [str(lang) for lang in tags(more) if str(lang) not in judged]
    if new and len(judged) <= FEWEST + 1:
        raise InputError(
            f"{len(judged) - 1} languages with labels: {new[0]} is foretold a score from {FEWEST + 1} or more"
        )
    return parallel(name, *dict.fromkeys([*judged, *new]))


def whole_numbers(text: str) -> tuple[int, ...]:
    """Layers, separated by commas."""
    from interlingua.errors import InputError

    parts = [part.strip() for part in text.split(",") if part.strip()]
    if wrong := [part for part in parts if not part.isdigit()]:
        raise InputError(f"{wrong[0]!r} is no layer: write numbers, such as 0,1,2")
    return tuple(map(int, parts))


def show_transfer(tables: TransferTables, place: Path, *, as_json: bool) -> None:
    """Scores by language and what they say, on the terminal or as JSON."""
    from interlingua.cli.terminal import visible
    from interlingua.report.transfer_tables import BESIDE, BILSTM, FREQUENT
    from interlingua.report.transferred import told

    if as_json:
        found: dict[str, Any] = {
            "summary": [{"heading": heading, "text": text} for heading, text in told(tables)],
            "scores": json.loads(tables.scores.to_json(orient="records")),
            **{name: json.loads(getattr(tables, name).to_json(orient="records")) for name in BESIDE},
            "signature": tables.signature,
            "report": str(place),
        }
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    beside = {name: found for name in (BILSTM, FREQUENT) if (found := tables.beside(name))}
    more = "".join(f"{name:>20}" for name in beside)
    typer.echo(f"{'language':<12}{tables.metric:>10}{'interval':>16}{'gap':>9}{'sentences':>11}{more}")
    for r in tables.by_language().itertuples():
        line = f"{visible(r.language):<12}{r.value:10.3f}{f'{r.low:.3f}-{r.high:.3f}':>16}{r.gap + 0.0:9.3f}"
        more = "".join(f"{found[r.language]:20.3f}" for found in beside.values())
        typer.echo(f"{line}{int(r.sentences):11,}{more}")
    for name, part in tables.drops.groupby("init", sort=False):
        each = ", ".join(f"{r.language} {r.drop:+.3f} ({r.low:+.3f} to {r.high:+.3f})" for r in part.itertuples())
        typer.echo(f"without blocks {name}: {each}")
    typer.echo("")
    for heading, sentence in told(tables):
        typer.echo(f"{visible(heading)}: {visible(sentence)}")
    typer.echo(f"signature: {tables.signature}")
    typer.echo(f"report: {visible(str(place))}")
