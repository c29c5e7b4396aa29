"""`interlingua <verb>`: arguments in, one-line errors out.

Exit codes: 0 done; 1 the data has errors (`data check`); 2 a user's mistake or missing data; 130 interrupted.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from types import FrameType
from typing import Annotated

import typer

from interlingua import __version__
from interlingua.cli import (
    compare,
    concepts,
    data,
    demo,
    doctor,
    explain,
    extract,
    map,
    mapped_transfer,
    pretrain,
    report,
    study,
    transfer,
    unseen,
)
from interlingua.errors import InterlinguaError

HELP = """Is there a common language inside a multilingual language model?

Example: interlingua compare xlm-roberta-base --corpus everyday --langs en,fr,zh --out results"""

app = typer.Typer(
    help=HELP, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
)
app.command("demo")(demo.demo)
app.add_typer(data.app, name="data")
app.command("compare")(compare.compare)
app.command("report")(report.report)
app.command("recommend")(report.recommend)
app.command("neurons")(report.neurons)
app.command("layers")(report.layers)
app.command("explain")(explain.explain)
app.command("extract")(extract.extract)
app.command("map")(map.map_)
app.command("concepts")(concepts.concepts)
app.command("transfer")(transfer.transfer)
app.command("mapped-transfer")(mapped_transfer.mapped_transfer)
app.command("unseen")(unseen.unseen)
app.command("pretrain")(pretrain.pretrain)
app.add_typer(study.app, name="study")
app.command("doctor")(doctor.doctor)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"interlingua {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


class Interrupted(BaseException):
    """Ctrl-C, under a name that typer does not catch: it would end the program without a word."""


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise Interrupted


def main() -> None:
    """The entry point: runs a verb and turns what a user can cause into one line."""
    signal.signal(signal.SIGINT, _interrupt)
    # Redirected output is UTF-8 whatever the locale, like everything this package writes.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        app()
    except InterlinguaError as error:
        _fail(" ".join(str(error).split()), 2)
    except Interrupted:
        _fail("interrupted; what was finished is kept, run it again to go on", 130)
    except BrokenPipeError:
        # The reader (`| head`) has gone: not an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        hint = ": free some space and run it again" if error.errno == errno.ENOSPC else ""
        _fail(f"{error.filename or 'the system'}: {error.strerror or error}{hint}", 2)


def _fail(message: str, code: int) -> None:
    from interlingua.cli.terminal import visible

    sys.stderr.write(f"error: {visible(message)}\n")
    sys.exit(code)
