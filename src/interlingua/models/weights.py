"""Weights of a checkpoint, and adapters on top of them: safetensors first, pickles only as far as they are trusted."""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from interlingua.errors import DataNotFoundError, InputError, MissingExtraError

# What sits behind the last hidden state: many checkpoints lack it, and nothing that is read depends on it.
BEHIND = ("pooler.",)
# What libraries raise over files that are missing, cut, of another shape, or more than weights.
BROKEN = (OSError, ValueError, ImportError, RuntimeError, pickle.UnpicklingError, SafetensorError)


def weights_of(transformers: Any, place: str, dtype: torch.dtype, trust_pickle: bool, options: dict[str, Any]) -> Any:
    """Safetensors where there are some, else `.bin` through the weights-only unpickler, or in full where trusted."""
    # A repository without safetensors would otherwise be sent to a service that converts it, and read from there.
    os.environ["DISABLE_SAFETENSORS_CONVERSION"] = "1"
    how = {"dtype": dtype, "output_loading_info": True, **options}

    def load(where: str, *, use_safetensors: bool) -> Any:
        with quiet(transformers):
            return transformers.AutoModel.from_pretrained(where, use_safetensors=use_safetensors, **how)

    try:
        network, info = load(place, use_safetensors=True)
    except OSError as missing:
        if "safetensors" not in str(missing):
            raise
        if trust_pickle:
            with tempfile.TemporaryDirectory() as folder:
                _unpickle(transformers, place, folder, options.get("revision"))
                network, info = load(folder, use_safetensors=True)
        else:
            network, info = load(place, use_safetensors=False)
    # Whatever else is missing would be random without a word.
    fixed = [name for name, module in network.named_modules() if "Sinusoidal" in type(module).__name__]
    computed = tuple(f"{name}." for name in fixed)  # positions that are a formula, and often not saved
    lacking = sorted(key for key in info["missing_keys"] if not key.startswith((*BEHIND, *computed)))
    if lacking:
        raise InputError(
            f"{place} lacks {len(lacking)} weights of a {type(network).__name__} ({', '.join(lacking[:3])}, ...): "
            "they would be random; random=True (--random) makes all of them so"
        )
    return network


@contextmanager
def quiet(transformers: Any) -> Iterator[None]:
    """Without bars, and without the long report of heads that nobody asked for: what is missing is checked here."""
    said = transformers.utils.logging
    verbosity, bars = said.get_verbosity(), said.is_progress_bar_enabled()
    said.set_verbosity_error()
    said.disable_progress_bar()
    try:
        yield
    finally:
        said.set_verbosity(verbosity)
        if bars:
            said.enable_progress_bar()


def _unpickle(transformers: Any, place: str, folder: str, revision: str | None) -> None:
    """Write the weights of a `.bin` file as safetensors, unpickled in full: the user has said that it is trusted."""
    config, path = (
        transformers.utils.hub.cached_file(place, name, revision=revision)
        for name in ("config.json", "pytorch_model.bin")
    )
    state = torch.load(path, map_location="cpu", weights_only=False)
    tensors = {name: value.clone().contiguous() for name, value in state.items() if isinstance(value, torch.Tensor)}
    shutil.copy(config, folder)
    save_file(tensors, Path(folder, "model.safetensors"), metadata={"format": "pt"})


def with_adapter(network: Any, adapter: str | Path) -> Any:
    """The network with an adapter merged into it, whichever class the adapter was trained on."""
    try:
        import peft
    except ImportError as error:
        raise MissingExtraError("peft", "adapters", "loading adapters") from error
    try:
        config = peft.PeftConfig.from_pretrained(str(adapter))
        weights = peft.load_peft_weights(str(adapter), device="cpu")
        config.inference_mode = True
        # Task classes hold this network under a name of its own.
        outer = f"base_model.model.{network.base_model_prefix}."
        named = {
            key.replace(outer, "base_model.model.", 1) if key.startswith(outer) else key: weights[key]
            for key in weights
        }
        adapted = peft.PeftModel(network, config)
        wanted = set(peft.get_peft_model_state_dict(adapted))
        peft.set_peft_model_state_dict(adapted, {key: value for key, value in named.items() if key in wanted})
    except (*BROKEN, KeyError) as error:
        raise DataNotFoundError(
            f"the adapter {adapter} cannot be loaded: {' '.join(str(error).split())[:300]}"
        ) from error
    if lacking := sorted(wanted - set(named)):
        raise InputError(
            f"the adapter {adapter} was made for another network: it has nothing for {len(lacking)} of the places it "
            f"names ({lacking[0]}, ...)"
        )
    return adapted.merge_and_unload()


def explained(place: str, error: Exception) -> Exception:
    """What a library said about a checkpoint, as one of our errors."""
    text = " ".join(str(error).split())
    if "trust_remote_code" in text:
        return InputError(f"{place} wants to run code of its own: pass trust_remote_code=True only if you have read it")
    if isinstance(error, pickle.UnpicklingError):
        return InputError(
            f"{place} holds a pickle that is more than weights: pass trust_pickle=True only if you trust it"
        )
    where = "" if Path(place).exists() else " (there is no such folder here, so it was taken for a Hub id)"
    return DataNotFoundError(f"{place} cannot be loaded{where}: {text[:300]}")
