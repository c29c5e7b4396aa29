"""`pretrain`: settings -> a model. `accelerate` says which process this is and where it computes, and nothing more.

A run's folder holds `config.yaml`, `data/` (vocabulary and tokens), `log.jsonl`, `checkpoint.pt` (everything needed to
go on), `model/` (the model, for `load_model` and `transformers`) and, where a language was named to select by, `best/`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch

from interlingua import __version__
from interlingua.errors import InputError, MissingExtraError
from interlingua.folders import claimed
from interlingua.models import architecture
from interlingua.models.load import seeded
from interlingua.pretrain.config import Config, read_config, write_config
from interlingua.pretrain.log import Progress
from interlingua.pretrain.prepare import prepare
from interlingua.pretrain.reading import Borrowed, Own, Reading
from interlingua.pretrain.tokenizers import open_vocabulary
from interlingua.pretrain.training import Run, Training

FORMS: dict[str, tuple[Any, Any]] = {
    "mlm": (architecture.LabEncoderConfig, architecture.LabForMaskedLM),
    "clm": (architecture.LabDecoderConfig, architecture.LabForCausalLM),
    "span": (architecture.LabSeq2SeqConfig, architecture.LabForSeq2SeqLM),
}


def pretrain(
    config: Config,
    out: str | Path,
    *,
    device: str = "",
    force: bool = False,
    stop_at: int = 0,
    prepare_only: bool = False,
    say: Callable[[str], None] = lambda _: None,
    progress: Progress = lambda _: None,
) -> Run:
    """Train a model as the settings say, or go on with a run that was interrupted.

    `stop_at` ends early, with a checkpoint and a model, for a run that is to go on elsewhere or later; `prepare_only`
    ends before training, with the vocabulary and the tokens in the folder.
    """
    config = config.resolved()
    place = _places(device)
    folder = _folder(Path(out), config, force=force, alone=place.is_main_process)
    with claimed(folder) if place.is_main_process else nullcontext():
        place.wait_for_everyone()
        network, reading = _start(config)
        if place.is_main_process:
            prepare(config, folder, reading, say)
        place.wait_for_everyone()
        if prepare_only:
            return Run(folder, 0, float("nan"), (), main=place.is_main_process)
        prepared = prepare(config, folder, reading)
        if network is None:
            network = build(config, prepared.reading)
        return Training(config, folder, prepared, network, place).run(stop_at or config.updates, say, progress)


def build(config: Config, reading: Reading) -> Any:
    """A new network of the shape that the settings name, drawn from their seed."""
    kind, make = FORMS[config.objective]
    shape = kind(
        vocab_size=reading.size,
        hidden_size=config.width,
        num_hidden_layers=config.depth,
        num_attention_heads=config.heads,
        max_position_embeddings=config.length,
        norm=config.norm,
        scale_residual=config.scale_residual,
        dropout=config.dropout,
        languages=list(config.text),
        separate_embeddings=config.separate_embeddings,
        separate_layers=config.separate_layers,
    )
    with seeded(config.seed):
        return make(shape)


def _start(config: Config) -> tuple[Any, Reading | None]:
    """The network and vocabulary of a model to go on from, if one is named."""
    if not config.init:
        return None, None
    import transformers

    named = {"mlm": "AutoModelForMaskedLM", "clm": "AutoModelForCausalLM", "span": "AutoModelForSeq2SeqLM"}
    auto = getattr(transformers, named[config.objective])
    try:
        network = auto.from_pretrained(config.init, dtype=torch.float32)
        if Path(config.init, "tokenizers", "vocabulary.json").exists():
            return network, Own(open_vocabulary(config.init))
        return network, Borrowed(transformers.AutoTokenizer.from_pretrained(config.init))
    except (OSError, ValueError) as error:
        raise InputError(f"init: {config.init} cannot be loaded: {' '.join(str(error).split())[:300]}") from error


def _places(device: str) -> Any:
    try:
        from accelerate import PartialState
    except ImportError as error:
        raise MissingExtraError("accelerate", "pretrain", "pretraining") from error
    return PartialState(cpu=device == "cpu")


def _folder(out: Path, config: Config, *, force: bool, alone: bool) -> Path:
    """The run's folder; one that holds another run is refused, or emptied by force."""
    path = out / "config.yaml"
    if alone:
        if force and path.exists():
            for name in ("checkpoint.pt", "log.jsonl", "model", "best", "data", "tensorboard"):
                shutil.rmtree(out / name, ignore_errors=True)
                (out / name).unlink(missing_ok=True)
        elif path.exists():
            before, now = read_config(str(path)).model_dump(mode="json"), config.model_dump(mode="json")
            other = [k for k in now if k not in _MAY_DIFFER and before.get(k) != now[k]]
            if other:
                told = "; ".join(f"{k} was {before.get(k)} and is {now[k]}" for k in other[:3])
                raise InputError(f"{out} holds another run ({told}): choose another folder, or --force to replace it")
        elif out.exists() and any(p.name != ".lock" for p in out.iterdir()):
            raise InputError(f"{out} is not empty and holds no run: choose another folder")
        out.mkdir(parents=True, exist_ok=True)
        write_config(config, path)
        (out / "version.json").write_text(json.dumps({"interlingua": __version__, "torch": torch.__version__}))
    return out


# What a run may differ in without being another: how it is computed and watched, not what.
_MAY_DIFFER = ("preset", "evaluate_every", "checkpoint_every", "bf16", "compile", "cuda_graphs", "stock")
