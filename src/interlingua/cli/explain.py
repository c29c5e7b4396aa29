"""`interlingua explain`: what a measure is, when it misleads, and what it promises; from the catalogue."""

from __future__ import annotations

import inspect
import json
import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlingua.cli.data import Json

if TYPE_CHECKING:
    from interlingua.measures.catalog import Measure


def explain(
    measure: Annotated[str, typer.Argument(help="A name; without one, all are listed.", metavar="[MEASURE]")] = "",
    as_json: Json = False,
) -> None:
    """Say what a measure is: its equation, its range, when it misleads, its reference, what leaves it unchanged.

    Example: interlingua explain linear_cka
    """
    from interlingua.measures.catalog import CATALOG, find

    chosen = [find(measure)] if measure else list(CATALOG)
    if as_json:
        typer.echo(json.dumps([_facts(m) for m in chosen], indent=2, ensure_ascii=False))
        return
    if not measure:
        width = max(len(m.name) for m in chosen)
        for m in chosen:
            typer.echo(f"{m.name:<{width}}  {_first(m)}")
        typer.echo("\ninterlingua explain NAME says more.")
        return
    facts = _facts(chosen[0])
    typer.echo(f"{facts['name']}\n\n{facts['description']}\n")
    low, high = facts["range"]
    typer.echo(f"Range: {'any number' if low is None else f'{low:g} to {high:g}'}.")
    typer.echo(f"Symmetric: {'yes' if facts['symmetric'] else 'no'}.")
    typer.echo(f"Unchanged by, of either side alone: {', '.join(facts['unchanged by']) or 'nothing'}.")
    typer.echo(f"Changed by: {', '.join(facts['changed by']) or 'nothing of these'}.")
    typer.echo(f"Reference: {facts['reference']}. Revision {facts['revision']}.")


def _facts(m: Measure) -> dict[str, Any]:
    from interlingua.measures.catalog import TRANSFORMATIONS

    return {
        "name": m.name,
        "description": inspect.getdoc(m.function) or "",
        "range": [None if math.isinf(bound) else bound for bound in m.bounds],
        "symmetric": m.symmetric,
        "needs equal width": m.needs_equal_width,
        "unchanged by": [t for t in TRANSFORMATIONS if t in m.invariances],
        "changed by": [t for t in TRANSFORMATIONS if t not in m.invariances],
        "reference": m.reference,
        "revision": m.revision,
    }


def _first(m: Measure) -> str:
    return (inspect.getdoc(m.function) or "").partition("\n")[0]
