"""`interlingua doctor`: what is installed, what is found, and what to install for what."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import platform
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

# Extra -> (package it brings, what it is for).
EXTRAS = {
    "hub": ("datasets", "data sets from the Hugging Face Hub"),
    "models": ("transformers", "loading models and extracting their hidden states"),
    "adapters": ("peft", "models with PEFT adapters"),
    "pretrain": ("accelerate", "training models"),
    "align": ("eflomal", "word alignment with eflomal or fast_align"),
    "map": ("gensim", "static vectors of words, beside those of models"),
    "concepts": ("scikit-learn", "clusters of words in context"),
    "transfer": ("ufal.chu_liu_edmonds", "tuning models on tasks, and trees"),
    "unseen": ("uroman", "writing any script in Latin letters"),
    "studies": ("accelerate", "running published experiments again"),
    "compare": ("scipy", "intervals and comparisons"),
    "ray": ("ray", "work on several machines"),
    "zstd": ("zstandard", "text compressed with zstd (.zst)"),
}
CORE = ("numpy", "typer", "rich", "langcodes", "regex", "filelock")
MODELS = ("torch", "transformers", "zarr")


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Show versions, devices, extras and data, and what to install for what.

    Example: interlingua doctor --json
    """
    findings = examine()
    if as_json:
        typer.echo(json.dumps(findings, indent=2, ensure_ascii=False))
        return
    typer.echo(f"interlingua {findings['interlingua']}, Python {findings['python']}, {findings['platform']}")
    typer.echo(f"devices: {', '.join(findings['devices'])}")
    typer.echo("packages: " + ", ".join(f"{k} {v or 'missing'}" for k, v in findings["packages"].items()))
    for extra, found in findings["extras"].items():
        package = EXTRAS[extra][0]
        state = f"{package} {found['version']}" if found["version"] else f"pip install 'interlingua[{extra}]'"
        typer.echo(f"extra {extra} ({found['purpose']}): {state}")
    data = findings["data"]
    typer.echo(f"INTERLINGUA_DATA: {data['INTERLINGUA_DATA'] or 'not set'}")
    typer.echo(f"cache: {data['cache']}")
    typer.echo(f"data sets: {len(data['found'])} of {data['known']} found: {', '.join(data['found'])}")
    for advice in findings["advice"]:
        typer.echo(f"advice: {advice}")


def examine() -> dict[str, Any]:
    """Everything the command prints, as plain values."""
    from interlingua import __version__
    from interlingua.corpora.catalog import CATALOG
    from interlingua.corpora.places import cache_root, locate
    from interlingua.errors import InputError

    advice = []
    root = os.environ.get("INTERLINGUA_DATA") or None
    try:
        found = [d.name for d in CATALOG if locate(d)]
    except InputError as error:
        advice.append(str(error))
        found = [d.name for d in CATALOG if d.built_in]
    extras = {extra: {"version": _version(package), "purpose": purpose} for extra, (package, purpose) in EXTRAS.items()}
    packages = {name: _version(name) for name in (*CORE, *MODELS)}
    advice += [f"{name} is missing: reinstall with pip install interlingua" for name in CORE if not packages[name]]
    if root is None:
        advice.append("set INTERLINGUA_DATA to a folder of data sets to use more than the built-in ones")
    return {
        "interlingua": __version__,
        "python": platform.python_version(),
        "executable": Path(sys.executable).name,
        "platform": platform.platform(),
        "devices": _devices(),
        "packages": packages,
        "extras": extras,
        "data": {"INTERLINGUA_DATA": root, "cache": str(cache_root()), "known": len(CATALOG), "found": found},
        "advice": advice,
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _devices() -> list[str]:
    """The processors, and what torch sees where it is installed."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    devices = [f"cpu ({cores} cores)"]
    if importlib.util.find_spec("torch") is None:
        return devices
    import torch

    if torch.cuda.is_available():
        devices += [f"cuda:{i} ({torch.cuda.get_device_name(i)})" for i in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        devices.append("mps")
    return devices
