"""What an extraction would cost, in words: of the corpus at hand, and as if it were larger."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import typer

from interlingua.cli.data import human

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interlingua.extract import Cost
    from interlingua.extract.words import Record
    from interlingua.languages import Language
    from interlingua.models import Model, PerLanguage


def plan(
    model: Model | PerLanguage, records: Record | list[Record], how: dict[str, Any], device: str, *, as_json: bool
) -> dict[str, Any]:
    """Print what an extraction would cost, unless it is for a program; the facts."""
    import torch

    from interlingua.extract import cost

    chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
    found = cost(model, records, device=chosen.partition(":")[0], **how)
    facts = _plain(found)
    if as_json:
        return facts
    unit = unit_of(how["level"])
    for lang, price in found.items():
        waste = f" ({price.padded / price.tokens - 1:.0%} padding)" if price.padded >= price.tokens > 0 else ""
        typer.echo(
            f"{lang}: {price.rows:,} {unit}, {price.padded:,} tokens{waste} in {price.batches:,} batches, "
            f"{_flop(price.flops)}, {human(price.bytes)} on disk"
        )
    typer.echo(f"in all: {told(facts['total'], unit)}")
    return facts


# Languages of which all pairs can be counted, and sentences of each.
MOST = (2_000, 10**15)


def size_of(as_if: str, level: str) -> tuple[int, int]:
    """Languages and sentences of each."""
    from interlingua.errors import InputError

    if level != "sentence":
        raise InputError("--as-if is of sentences: leave out --level")
    languages, _, sentences = as_if.lower().partition("x")
    if not (languages.isdecimal() and sentences.isdecimal() and int(languages) > 1 and int(sentences)):
        raise InputError(f"--as-if {as_if!r}: say languages x sentences, such as 200x1000000")
    if int(languages) > MOST[0] or int(sentences) > MOST[1]:
        raise InputError(f"--as-if {as_if[:40]!r}: {MOST[0]:,} languages of {MOST[1]:.0e} sentences are the most")
    return int(languages), int(sentences)


def scaled(
    total: Mapping[str, Any],
    size: tuple[int, int],
    model: Model | PerLanguage,
    layers: int,
    memory: int,
    *,
    all_pairs: bool,
    source: bool,
) -> dict[str, Any]:
    """The price of another size: of so many languages and sentences like these.

    Beside it what `--moments` keeps: for every layer and block of rows, float64 matrices of width x width, one a
    language and one a pair; what a worker holds of them, how often a language is read for that (`read`, on average),
    and what the process that asks holds when it puts blocks together.
    """
    from interlingua.analyses.shares import Shares
    from interlingua.analyses.streamed import BLOCKS
    from interlingua.models import PerLanguage

    found = {key: round(value * size[0] * size[1] / total["sentences"]) for key, value in total.items()}
    shape = (model.default or next(iter(model.models.values())) if isinstance(model, PerLanguage) else model).layers
    first, *others = map(str, range(size[0]))
    pairs = list(combinations([first, *others], 2)) if all_pairs else [(first, other) for other in others]
    shares = Shares.of(
        pairs, memory, layers=layers or len(shape), all_layers=len(shape), width=shape.width,
        source=first if source else "",
    )  # fmt: skip
    return {
        **found,
        "languages": size[0],
        "moments": BLOCKS * shares.on_disk,
        "memory": shares.memory,
        "together": shares.together(BLOCKS),
        "read": shares.read / size[0],
    }


def tell_scale(facts: Mapping[str, Any], tflops: float, workers: int, *, as_if: bool, moments: bool) -> None:
    """The price of another size, that of moments, and the time it takes, on the terminal."""
    if price := facts.get("as_if"):
        if as_if:
            typer.echo(f"as if {price['languages']:,} languages: {told(price)}")
        on_disk, held, here = (human(price[key]) for key in ("moments", "memory", "together"))
        again = f"a language read {price['read']:.2f} times on average" + (
            " (counted above)" if as_if and moments else ""
        )
        typer.echo(f"with --moments {on_disk} on disk; in memory about {held} a worker and {here} here; {again}")
    if tflops:
        hours = (facts.get("as_if") or facts["total"])["seconds"] / 3600
        typer.echo(f"at {tflops:g} TFLOP/s on {workers:,} worker{'s' * (workers != 1)}: {hours:,.1f} hours")


def told(total: Mapping[str, Any], unit: str = "sentences") -> str:
    """A price in words."""
    return f"{total['rows']:,} {unit}, {_flop(total['flops'])}, {human(total['bytes'])} on disk"


def _flop(count: int) -> str:
    power = min(max((len(str(count)) - 1) // 3, 0), 6)
    return f"{count / 1000**power:,.1f} {('', 'k', 'M', 'G', 'T', 'P', 'E')[power]}FLOP"


def _plain(found: Mapping[Language, Cost]) -> dict[str, Any]:
    from dataclasses import asdict

    languages = {str(lang): asdict(price) for lang, price in found.items()}
    keys = next(iter(languages.values()))
    return {"languages": languages, "total": {key: sum(price[key] for price in languages.values()) for key in keys}}


def unit_of(level: str) -> str:
    """What rows are."""
    return {"sentence": "sentences", "word": "words"}.get(level, "word types")
