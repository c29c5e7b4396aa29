"""`interlingua demo`: the built-in model and the built-in corpus -> a report, without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from interlingua.cli.compare import compare
from interlingua.cli.data import Formats, Json, Rows

# Relatives of English first.
LANGS = "en,fr,de,es,ru,bg,et,tr,zh,ar"


def demo(
    out: Annotated[Path, typer.Option("--out", help="The folder of results, new or of the same run.")] = Path("demo"),
    rows: Rows = 0,
    formats: Formats = "svg,png",
    as_json: Json = False,
) -> None:
    """See something real, offline: ten languages inside a small model, layer by layer, beside an untrained network.

    Example: interlingua demo
    """
    if not as_json:
        many = min(rows or 440, 440)
        typer.echo(f"the built-in model (8 layers x 256) reads {many} everyday sentences in ten languages", err=True)
    compare(
        out=out,
        langs=LANGS,
        remove_mean=True,
        title="Is there a common language inside? The built-in model",
        as_json=as_json,
    )
