"""`interlingua pretrain`: settings -> a new model."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from interlingua.cli.data import Json
from interlingua.cli.progress import EVERY

if TYPE_CHECKING:
    from interlingua.pretrain.log import Line
    from interlingua.pretrain.training import Run


def pretrain(
    config: Annotated[
        str, typer.Argument(help="A YAML file or a preset; none lists presets.", metavar="[CONFIG]")
    ] = "",
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="key=value, over the file; may be repeated.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="The run's folder, new or to go on with.")] = None,
    device: Annotated[str, typer.Option(help="cpu; by default a GPU where there is one.")] = "",
    stop_at: Annotated[int, typer.Option(help="Stop after so many updates, to go on another time.", min=0)] = 0,
    prepare: Annotated[bool, typer.Option("--prepare", help="Only learn the vocabulary and encode the text.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace another run in the folder.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the settings in full and stop.")] = False,
    as_json: Json = False,
) -> None:
    """Train a model on text of one language or several, with any setting of the papers.

    Run it again after an interruption and it goes on. Several processes: accelerate launch -m interlingua pretrain ...

    Example: interlingua pretrain default --set size=micro --set text.en=en.txt --set text.fr=fr.txt --out en-fr
    """
    from interlingua.cli.extract import needs_models
    from interlingua.errors import InputError

    needs_models()
    from interlingua.pretrain.config import presets, read_config

    if not config and (changes or out):
        raise InputError("name a preset or a file of settings first; `interlingua pretrain` alone lists presets")
    if not config:
        _list(presets(), as_json=as_json)
        return
    settings = read_config(config, changes or [])
    if dry_run:
        from interlingua.pretrain.config import dumped

        resolved = settings.resolved(complete=False)
        typer.echo(json.dumps(resolved.model_dump(mode="json"), indent=2) if as_json else dumped(resolved), nl=as_json)
        return
    if out is None:
        raise InputError("say where to write with --out FOLDER, or look at the settings with --dry-run")
    from interlingua.pretrain.train import pretrain as train

    watch = Watch(stop_at or settings.resolved().updates)
    run = train(
        settings,
        out,
        device=device,
        force=force,
        stop_at=stop_at,
        prepare_only=prepare,
        say=watch.say,
        progress=watch,
    )
    watch.clear()
    if run.main and prepare:
        place = run.folder / "data"
        typer.echo(json.dumps({"data": str(place)}) if as_json else f"what it reads is in {place}")
    elif run.main:
        _told(run, settings.resolved().updates, as_json=as_json)


class Watch:
    """One line on the terminal that is written over; elsewhere a line now and then. Evaluations stay."""

    def __init__(self, updates: int) -> None:
        self.updates, self.terminal, self.last = updates, sys.stderr.isatty(), time.monotonic()

    def say(self, words: str) -> None:
        """A line that stays."""
        self.clear()
        sys.stderr.write(words + "\n")
        sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self.terminal:
            sys.stderr.write("\r\033[K")

    def __call__(self, line: Line) -> None:
        """What is known at an update."""
        minutes, seconds = divmod(round(line.seconds_left), 60)
        words = (
            f"update {line.update:,} of {self.updates:,}, loss {line.loss:.3f}, "
            f"{line.updates_per_second:.1f} updates/s, {line.tokens_per_second:,.0f} tokens/s, "
            f"{minutes}:{seconds:02} left"
        )
        if line.scores:
            told = ", ".join(f"{s.language} {s.perplexity:.1f} ({s.bits:.2f} bits a character)" for s in line.scores)
            self.say(f"{words}; held out: {told}")
        elif self.terminal:
            sys.stderr.write(f"\r\033[K{words}")
            sys.stderr.flush()
        elif time.monotonic() - self.last > EVERY:
            self.say(words)
            self.last = time.monotonic()


def _list(found: dict[str, str], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    width = max(map(len, found))
    for name, what in found.items():
        typer.echo(f"{name:<{width}}  {what}")
    typer.echo("\ninterlingua pretrain NAME --dry-run shows all settings of one.")


def _told(run: Run, updates: int, *, as_json: bool) -> None:
    from dataclasses import asdict

    if as_json:
        scores = [asdict(score) for score in run.scores]
        facts = {
            "model": str(run.model),
            "updates": run.updates,
            "loss": run.loss if run.loss == run.loss else None,
            "scores": scores,
        }
        typer.echo(json.dumps({**facts, "updates_per_second": run.updates_per_second}, indent=2))
        return
    typer.echo(f"{'':12}  loss  perplexity  bits a character")
    for score in run.scores:
        typer.echo(f"{score.language:12}  {score.loss:4.2f}  {score.perplexity:10.1f}  {score.bits:16.3f}")
    typer.echo(f"{run.updates:,} updates; the model is {run.model}")
    if (run.folder / "best").is_dir():
        typer.echo(f"the model with the lowest perplexity of the language to select by is {run.folder / 'best'}")
    if run.updates < updates:
        typer.echo(f"{updates - run.updates:,} of {updates:,} updates are left: run it again to go on")
