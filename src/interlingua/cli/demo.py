"""`interlingua demo`: the built-in model and the built-in corpus -> a report, without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from interlingua.cli.compare import compare
from interlingua.cli.data import Formats, Json

# All of the built-in corpus.
ROWS = 440
# Relatives of English first.
LANGS = "en,fr,de,es,ru,bg,et,tr,zh,ar"


def demo(
    out: Annotated[Path, typer.Option("--out", help="The folder of results, new or of the same run.")] = Path("demo"),
    rows: Annotated[int, typer.Option("--rows", "-n", help="Only the first rows, for a quicker look.", min=40)] = ROWS,
    formats: Formats = "svg,png",
    force: Annotated[bool, typer.Option("--force", help="Replace another run in the folder.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what extraction would cost.")] = False,
    as_json: Json = False,
) -> None:
    """See something real, offline: ten languages inside a small model, layer by layer, beside an untrained network.

    Example: interlingua demo
    """
    compare(
        out=out,
        langs=LANGS,
        rows=rows,
        remove_mean=True,
        formats=formats,
        title="Is there a common language inside? The built-in model",
        force=force,
        dry_run=dry_run,
        as_json=as_json,
    )
