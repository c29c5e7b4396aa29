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
from interlingua.models.load import place_of, seeded
from interlingua.pretrain.config import Config, read_config, write_config
from interlingua.pretrain.log import Progress
from interlingua.pretrain.prepare import is_prepared, prepare
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
    prepared_in: str | Path = "",
    say: Callable[[str], None] = lambda _: None,
    progress: Progress = lambda _: None,
) -> Run:
    """Train a model as the settings say, or go on with a run that was interrupted.

    `stop_at` ends early, with a checkpoint and a model, for a run that is to go on elsewhere or later; `prepare_only`
    ends before training, with the vocabulary and the tokens in the folder. `prepared_in` is the folder of another run
    whose vocabulary and tokens are read where it has what these settings need.
    """
    if not isinstance(config, Config):
        raise InputError(f"settings are needed, not {config!r:.40}: pretrain(read_config('default', [...]), folder)")
    if stop_at < 0:
        raise InputError(f"a run cannot stop at update {stop_at}")
    asked, config = config, config.resolved()
    place = _places(device)
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file: a run needs a folder")
    # The lock comes first: nothing of a run that is under way is touched.
    with claimed(folder) if place.is_main_process else nullcontext():
        if place.is_main_process:
            _refuse(folder, config, force=force)
        network, reading = _start(config)
        config = _as_started(config, asked, network)
        _check_vocabulary(config, reading)
        other = bool(prepared_in) and is_prepared(config, Path(prepared_in), reading)
        source = Path(prepared_in) if other else folder
        if place.is_main_process:
            if (folder / "checkpoint.pt").exists() and not force and not is_prepared(config, source, reading):
                raise InputError(f"the text has changed since {folder} was begun: put it back, or --force begins anew")
            _begin(folder, config, place.num_processes, force=force)
            prepare(config, source, reading, say)
        place.wait_for_everyone()
        if prepare_only:
            return Run(folder, 0, float("nan"), (), main=place.is_main_process)
        prepared = prepare(config, source, reading)
        if network is None:
            try:
                network = build(config, prepared.reading)
            except (RuntimeError, MemoryError) as error:
                what = " ".join(str(error).split())[:100]
                raise InputError(f"there is no memory for a network of this size ({what}): set size lower") from error
        last = min(stop_at or config.updates, config.updates)
        return Training(config, folder, prepared, network, place).run(last, say, progress)


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
        positions=config.positions,
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

    if Path(config.init).is_file():
        raise InputError(f"init: {config.init} is a file: name the folder of a model, or a model of the Hub")
    place = place_of(config.init)
    named = {"mlm": "AutoModelForMaskedLM", "clm": "AutoModelForCausalLM", "span": "AutoModelForSeq2SeqLM"}
    auto = getattr(transformers, named[config.objective])
    try:
        network = auto.from_pretrained(place, dtype=torch.float32)
        if Path(place, "tokenizers", "vocabulary.json").exists():
            return network, Own(open_vocabulary(place))
        return network, Borrowed(transformers.AutoTokenizer.from_pretrained(place))
    except (OSError, ValueError, TypeError) as error:
        inside = Path(place, "model")
        hint = f" (did you mean {inside}?)" if inside.is_dir() else ""
        raise InputError(f"init: {config.init} cannot be loaded{hint}: {' '.join(str(error).split())[:300]}") from error


# setting -> the name of the same thing in a network of ours
_SHAPE = {
    "width": "hidden_size",
    "depth": "num_hidden_layers",
    "heads": "num_attention_heads",
    "norm": "norm",
    "positions": "positions",
    "dropout": "dropout",
    "scale_residual": "scale_residual",
    "separate_embeddings": "separate_embeddings",
    "separate_layers": "separate_layers",
}


def _as_started(config: Config, asked: Config, network: Any) -> Config:
    """The settings with the shape of the model a run goes on from; an error where another was asked for."""
    if network is None:
        return config
    if not isinstance(network, architecture.LabPreTrainedModel):
        if config.stock or config.objective == "span":
            raise InputError("stock: true and objective: span are for networks of ours: init names another")
        shaped = [key for key in _SHAPE if key in asked.model_fields_set and getattr(asked, key)]
        if shaped:
            raise InputError(f"{shaped[0]} is set, and init ({config.init}) decides it: leave it out")
        room = getattr(network.config, "max_position_embeddings", None) or config.length
        if config.length > room - 2:
            raise InputError(f"sequences of {config.length}, and {config.init} has {room} positions: set length lower")
        return config
    found = {key: getattr(network.config, name) for key, name in _SHAPE.items()}
    for key, value in found.items():
        if key in asked.model_fields_set and getattr(asked, key) != value:
            raise InputError(f"{key} is {getattr(asked, key)}, and that of {config.init} is {value}: leave it out")
    if config.length > network.config.max_position_embeddings:
        raise InputError(
            f"sequences of {config.length}, and {config.init} has {network.config.max_position_embeddings} positions"
        )
    within = network.config.separate and not asked.random_words
    return config.model_copy(update={**found, **({"random_words": "language"} if within else {})})


def _check_vocabulary(config: Config, reading: Reading | None) -> None:
    """A model to go on from brings its vocabulary: an error where the settings name another kind."""
    if reading is None:
        return
    kind = reading.vocabulary.kind if isinstance(reading, Own) else "joint"
    if kind != config.tokens.kind:
        raise InputError(
            f"the vocabulary of {config.init} is {kind}, and tokens.kind is {config.tokens.kind}: take another preset, "
            f"or set tokens.kind={kind}"
        )
    if isinstance(reading, Own) and kind != "joint" and (new := set(config.text) - set(reading.vocabulary.tokenizers)):
        known = ", ".join(reading.vocabulary.tokenizers)
        raise InputError(f"{config.init} has a vocabulary of {known}, and there is text of {min(new)}")


def _places(device: str) -> Any:
    try:
        from accelerate import PartialState
    except ImportError as error:
        raise MissingExtraError("accelerate", "pretrain", "pretraining") from error
    if device not in ("", "cpu", "cuda"):
        raise InputError(f"device {device!r} is neither cpu nor cuda; CUDA_VISIBLE_DEVICES chooses one of several")
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError("there is no GPU that torch can use: leave out the device")
    cpu = device == "cpu" or not torch.cuda.is_available()
    place = PartialState(cpu=cpu)
    if place.num_processes == 1 and (place.device.type == "cpu") != cpu:
        # accelerate keeps one state a process, that of the first run: another may be asked for elsewhere
        PartialState._reset_state()
        place = PartialState(cpu=cpu)
    return place


def _refuse(out: Path, config: Config, *, force: bool) -> None:
    """An error where the folder holds another run that got anywhere, or something else."""
    path = out / "config.yaml"
    if not _is_run(out):
        # not even by force: `data` and `model` may be anybody's
        if any(p.name != ".lock" for p in out.iterdir()):
            raise InputError(f"{out} is not empty and holds no run: choose another folder")
        return
    if force:
        return
    if not (out / "checkpoint.pt").exists():
        return  # it never got to an update worth keeping
    before, now = read_config(str(path)).model_dump(mode="json"), config.model_dump(mode="json")
    if config.init:
        before, now = ({k: v for k, v in each.items() if k not in _SHAPE} for each in (before, now))
    other = [k for k in now if k not in _MAY_DIFFER and before.get(k) != now[k]]
    if other:
        told = "; ".join(f"{k} was {before.get(k)} and is {now[k]}" for k in other[:3])
        raise InputError(f"{out} holds another run ({told}): choose another folder, or --force to replace it")


def _is_run(out: Path) -> bool:
    """Whether a run wrote this folder."""
    try:
        facts = json.loads((out / "version.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(facts, dict) and "interlingua" in facts and (out / "config.yaml").exists()


def _begin(out: Path, config: Config, processes: int, *, force: bool) -> None:
    """Make the folder this run's."""
    if force:
        for name in ("checkpoint.pt", "log.jsonl", "model", "best", "data", "tensorboard"):
            shutil.rmtree(out / name, ignore_errors=True)
            (out / name).unlink(missing_ok=True)
    write_config(config, out / "config.yaml")
    facts = {"interlingua": __version__, "torch": torch.__version__, "processes": processes}
    (out / "version.json").write_text(json.dumps(facts) + "\n", encoding="utf-8")


# What a run may differ in without being another: how it is computed and watched, not what.
_MAY_DIFFER = (
    "preset",
    "random_words",
    "evaluate_every",
    "checkpoint_every",
    "bf16",
    "compile",
    "cuda_graphs",
    "stock",
)
