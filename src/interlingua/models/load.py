"""Any Hugging Face checkpoint, by Hub id or folder, as a network whose layers are known.

Weights come from safetensors, else from `.bin` files through torch's weights-only unpickler. Code from a repository
and full unpickling can run anything, so both are refused unless the caller says so in words.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from interlingua import BUILT_IN
from interlingua.corpora.places import assets
from interlingua.errors import DataNotFoundError, InputError, InterlinguaError, MissingExtraError
from interlingua.languages import Language
from interlingua.models.codes import has_codes
from interlingua.models.layers import LayerMap, blocks_of, final_norm
from interlingua.models.weights import BEHIND, BROKEN, explained, weights_of, with_adapter

ENCODER, DECODER = "encoder", "decoder"
DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
# Files that a folder with a tokenizer has at least one of.
TOKENIZERS = ("tokenizer*", "vocab*", "merges.txt", "*.model", "*.spm", "*.bpe", "spiece*")
# tokenizers say "no limit" with a number like this
NO_LIMIT = 10**6


@dataclass(frozen=True)
class Model:
    """A network, its tokenizer and the map of the layers of one of its stacks.

    `stack` is "encoder" or "decoder": a network that has both is read from one of them at a time.
    """

    name: str
    network: Any
    tokenizer: Any
    stack: str
    layers: LayerMap
    dtype: str = "float32"
    revision: str = ""
    random: str = ""
    adapter: str = ""
    # the language whose own parts are used, and tokenizers by language, of a network that has some
    language: str = ""
    tokenizers: Mapping[str, Any] = field(default_factory=dict)
    # read every language with the parts of this one: a second English (en@2) is no language of its own
    pinned: str = ""
    # what `load_model` was asked for, so that another process can load the same; empty for a network made in memory
    asked: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def of(self, language: Language) -> Model:
        """The model as it reads a language: itself, unless languages have parts or tokenizers of their own."""
        tag = self.pinned or str(language)
        known = list(self.tokenizers) or (self.network.config.languages if _separate(self.network) else [])
        if not known:
            return self
        if tag not in known:
            raise InputError(f"{self.name} has a part of its own for each of {', '.join(known)}, and none for {tag}")
        return replace(
            self,
            tokenizer=self.tokenizers.get(tag, self.tokenizer),
            language=tag if _separate(self.network) else "",
        )

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return torch.device(next(self.network.parameters()).device)

    @property
    def two_stacks(self) -> bool:
        """Whether the network is an encoder with a decoder."""
        return bool(getattr(self.network.config, "is_encoder_decoder", False))

    @property
    def part(self) -> Any:
        """The part of the network that is the stack."""
        if not self.two_stacks:
            return self.network
        return self.network.get_encoder() if self.stack == ENCODER else self.network.get_decoder()

    @cached_property
    def limit(self) -> int | None:
        """The greatest number of tokens it takes, special ones included; None where there is no limit."""
        config = self.network.config
        positions = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
        if positions and config.model_type in ("xlm-roberta", "roberta", "camembert", "xlm-roberta-xl"):
            positions -= config.pad_token_id + 1  # their positions start behind the padding's
        stated = getattr(self.tokenizer, "model_max_length", None)
        known = [n for n in (positions, stated) if n and n < NO_LIMIT]
        # Relative positions (T5, BLOOM) have no end.
        if config.model_type in ("t5", "mt5", "umt5", "bloom"):
            return None if not stated or stated >= NO_LIMIT else stated
        return min(known, default=None)

    @cached_property
    def weights(self) -> str:
        """SHA-256 of every tensor that hidden states depend on, by name."""
        state = hashlib.sha256()
        for name, tensor in sorted(self.network.state_dict().items()):
            if name.startswith(BEHIND):
                continue
            state.update(f"{name}:{tuple(tensor.shape)}:{tensor.dtype}".encode())
            state.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
        return state.hexdigest()

    @cached_property
    def tokenization(self) -> str:
        """SHA-256 of the tokenizer's rules and vocabulary, whatever it was last told about padding and cutting."""
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        if backend is None:
            rules: Any = [type(self.tokenizer).__name__, sorted(self.tokenizer.get_vocab().items())]
        else:
            rules = json.loads(backend.to_str())
            # What translation models' tokenizers change with every language.
            for changing in ("padding", "truncation", *(("post_processor",) if has_codes(self.tokenizer) else ())):
                rules.pop(changing, None)
        return hashlib.sha256(json.dumps(rules, sort_keys=True).encode()).hexdigest()

    @cached_property
    def configuration(self) -> str:
        """SHA-256 of what the network computes with beside its weights: heads, activations, positions, windows."""
        facts = self.network.config.to_diff_dict()
        for name in (
            "_name_or_path",
            "dtype",
            "torch_dtype",
            "transformers_version",
            "_attn_implementation",
            "architectures",
        ):
            facts.pop(name, None)
        return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()

    @cached_property
    def space_marks(self) -> str:
        """The characters by which the tokenizer writes a space in its tokens."""
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        before = None if backend is None else backend.pre_tokenizer
        return "ĠĊĉ" if before is not None and b"ByteLevel" in before.__getstate__() else "▁"

    @cached_property
    def rows(self) -> int:
        """The number of tokens that the stack has an embedding for."""
        table = self.part.get_input_embeddings()
        if table is None:  # lent by the other stack
            table = self.network.get_input_embeddings()
        return int(table.weight.shape[0])

    def signature(self) -> dict[str, Any]:
        """What tells this model from another; no path and no token is in it."""
        return {
            "model": self.name,
            "weights": self.weights,
            "configuration": self.configuration,
            "tokenizer": self.tokenization,
            "stack": self.stack,
            "dtype": self.dtype,
            "random": self.random,
            "adapter": self.adapter,
            "blocks": self.layers.blocks,
            "width": self.layers.width,
            "last_layer": self.layers.describe(self.layers.blocks),
            # blocks of their own make languages two networks; tables of their own feed one
            **({"own_blocks": self.language} if getattr(self.network.config, "separate_layers", 0) else {}),
        }

    @property
    def feeds_decoder(self) -> bool:
        """Whether the stack looked at is a decoder that also looks at an encoder: it reads two sentences."""
        return self.two_stacks and self.stack == DECODER

    def hidden_states(self, batch: Mapping[str, torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """All layers of the stack for a batch: tensors of shape (sentences, tokens, width), layer 0 first."""
        run = self.network if self.feeds_decoder else self.part
        spoken = {"language": self.language} if self.language else {}
        output = run(**batch, output_hidden_states=True, return_dict=True, **spoken, **_no_cache(run))
        return tuple(output.decoder_hidden_states if self.feeds_decoder else output.hidden_states)


@dataclass(frozen=True)
class PerLanguage:
    """One model a language: monolingual pairs, separate encoders, a baseline whose other side is random.

    Neuron i of one is not neuron i of another, so indexes that pair neurons (ANC) refuse representations made so.
    """

    models: Mapping[Language, Model] = field(default_factory=dict)
    default: Model | None = None

    @classmethod
    def by_tag(cls, models: Mapping[str, Model | str | Path], default: Model | None = None) -> PerLanguage:
        """From language tags to models or their names: `PerLanguage.by_tag({"en": "bert-en", "fr": "bert-fr"})`."""
        loaded = {tag: load_model(m) if isinstance(m, str | Path) else m for tag, m in models.items()}
        return cls({Language.parse(tag): model for tag, model in loaded.items()}, default)

    def of(self, language: Language) -> Model:
        """The model that reads a language."""
        model = self.models.get(language, self.default)
        if model is None:
            raise InputError(f"no model was given for {language}: there are {', '.join(map(str, self.models))}")
        return model


def _separate(network: Any) -> bool:
    """Whether languages have parts of their own in it: one of `models/architecture.py`."""
    return bool(getattr(network.config, "separate", False))


def _no_cache(network: Any) -> dict[str, bool]:
    return {"use_cache": False} if "use_cache" in inspect.signature(network.forward).parameters else {}


def load_model(
    name: str | Path,
    *,
    stack: str = "",
    device: str = "",
    dtype: str = "float32",
    attention: str = "",
    revision: str = "",
    adapter: str | Path = "",
    random: bool = False,
    seed: int = 0,
    trust_remote_code: bool = False,
    trust_pickle: bool = False,
) -> Model:
    """Load a checkpoint from a folder or the Hub; `built-in` is the one that ships with the package.

    `dtype` is float32 unless asked otherwise, whatever the checkpoint was saved in. `random` keeps the architecture and
    the tokenizer and draws all weights anew from `seed`: the baseline for what a network does without training.
    """
    if dtype not in DTYPES:
        raise InputError(f"dtype {dtype!r} is none of {', '.join(DTYPES)}")
    if stack not in ("", ENCODER, DECODER):
        raise InputError(f"stack {stack!r} is neither encoder nor decoder")
    transformers = _transformers()
    place = place_of(name)
    source: dict[str, Any] = {"trust_remote_code": trust_remote_code}
    if revision:
        source["revision"] = revision
    try:
        config = transformers.AutoConfig.from_pretrained(place, **source)
        tokenizer = transformers.AutoTokenizer.from_pretrained(place, **source)
        options = {"attn_implementation": attention} if attention else {}
        if random:
            with seeded(seed):
                network = transformers.AutoModel.from_config(
                    config, dtype=DTYPES[dtype], trust_remote_code=trust_remote_code, **options
                )
        else:
            network = weights_of(transformers, place, DTYPES[dtype], trust_pickle, {**source, **options})
    except InterlinguaError:
        raise
    except BROKEN as error:
        raise explained(place, error) from error
    if adapter:
        network = with_adapter(network, adapter)
    where = device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        network.to(where).eval().requires_grad_(requires_grad=False)
    except (RuntimeError, AssertionError) as error:
        why = str(error).splitlines()[0][:200]
        raise InputError(
            f"{place} cannot be put on device {where!r} ({why}): leave --device out, or name one"
        ) from error
    return wrap(
        network,
        tokenizer,
        name=shown(place),
        stack=stack,
        dtype=dtype,
        revision=revision,
        random=f"all weights drawn anew, seed {seed}" if random else "",
        adapter=Path(adapter).name if adapter else "",
        tokenizers=_tokenizers(transformers, Path(place)),
        asked={
            "name": str(Path(place).resolve()) if Path(place).is_dir() else place,
            "stack": stack,
            "dtype": dtype,
            "attention": attention,
            "revision": revision,
            "adapter": str(Path(adapter).resolve()) if adapter and Path(adapter).is_dir() else str(adapter),
            "random": random,
            "seed": seed,
            "trust_remote_code": trust_remote_code,
            "trust_pickle": trust_pickle,
        },
    )


def shown(place: str) -> str:
    """What a model is called: its Hub id, or its folder without those it lies in; of a training run, the run's too."""
    if not Path(place).is_dir():
        return place
    folder = Path(place).resolve()
    if folder == Path(place_of(BUILT_IN)).resolve():
        return BUILT_IN
    of_run = folder.name in ("model", "best") and (folder.parent / "log.jsonl").exists()
    return f"{folder.parent.name}/{folder.name}" if of_run else folder.name


def _tokenizers(transformers: Any, folder: Path) -> dict[str, Any]:
    """Tokenizers by language, of a model that was trained with one for each."""
    found = sorted(folder.glob("tokenizers/*/tokenizer.json"))
    return {each.parent.name: transformers.AutoTokenizer.from_pretrained(str(each.parent)) for each in found}


def blueprint(name: str | Path, *, stack: str = "", revision: str = "", trust_remote_code: bool = False) -> Model:
    """A model without weights: enough to plan what extracting from it costs, whatever its size.

    Nothing is run, so whether a norm follows the last block is not known of it.
    """
    transformers = _transformers()
    place = place_of(name)
    source = {"trust_remote_code": trust_remote_code, **({"revision": revision} if revision else {})}
    try:
        config = transformers.AutoConfig.from_pretrained(place, **source)
        tokenizer = transformers.AutoTokenizer.from_pretrained(place, **source)
        with torch.device("meta"):
            network = transformers.AutoModel.from_config(config, trust_remote_code=trust_remote_code)
    except BROKEN as error:
        raise explained(place, error) from error
    chosen = stack or ENCODER
    own = _tokenizers(transformers, Path(place))
    model = Model(shown(place), network, tokenizer, chosen, LayerMap(0, 0, final_norm=False), tokenizers=own)
    blocks = len(blocks_of(model.part))
    return replace(model, layers=LayerMap(blocks, config.get_text_config().hidden_size, final_norm=False))


def place_of(name: str | Path) -> str:
    """Where a model is, if this can be the name of one: a folder that is there with its tokenizer, or a Hub id."""
    if str(name) == BUILT_IN:
        return str(assets() / "model")
    place, folder = str(name), Path(name)
    if folder.is_dir() and not any(any(folder.glob(pattern)) for pattern in TOKENIZERS):
        if (folder / "model").is_dir():
            raise DataNotFoundError(f"{place} cannot be loaded: did you mean {folder / 'model'}?")
        raise DataNotFoundError(f"{place} cannot be loaded: it holds no tokenizer; save the model's own there")
    if not folder.exists() and get_close_matches(place.lower(), [BUILT_IN], cutoff=0.85):
        raise InputError(f"unknown model {place!r}: did you mean {BUILT_IN}?")
    if not folder.exists() and (isinstance(name, Path) or place.startswith((".", "/", "~")) or place.count("/") > 1):
        raise DataNotFoundError(f"{place} cannot be loaded: there is no such folder")
    return place


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw from a seed, and leave the caller's random numbers as they were."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def random_others(model: Model, source: str | Language, *, seed: int = 0) -> PerLanguage:
    """The baseline of Wu et al. 2020: the source is read by the model, every other language by a random twin of it."""
    with seeded(seed):
        network = type(model.network)(deepcopy(model.network.config)).to(DTYPES[model.dtype])
    network.to(model.device).eval().requires_grad_(requires_grad=False)
    asked = {**model.asked, "adapter": "", "random": True, "seed": seed} if model.asked else {}
    other = replace(model, network=network, adapter="", random=f"all weights drawn anew, seed {seed}", asked=asked)
    return PerLanguage({Language.parse(source): model}, default=other)


def wrap(network: Any, tokenizer: Any, *, name: str, stack: str = "", **facts: Any) -> Model:
    """A network that is in memory already, with its layers mapped."""
    network.eval()
    two = bool(getattr(network.config, "is_encoder_decoder", False))
    kind = ENCODER if two else _kind(network)
    chosen = stack or kind
    if not two and chosen != kind:
        raise InputError(f"{name} is a single {kind}: it has no {stack}")
    spoken = network.config.languages[0] if _separate(network) else ""
    probe = Model(name, network, tokenizer, chosen, LayerMap(0, 0, final_norm=False), **facts, language=spoken)
    states: list[tuple[torch.Tensor, ...]] = []

    def run() -> torch.Tensor:
        states.append(probe.hidden_states(_probe_batch(network, feeds_decoder=probe.feeds_decoder)))
        return states[-1][-1]

    with torch.no_grad():
        normed = final_norm(probe.part, run)
    blocks = len(states[0]) - 1
    found = len(blocks_of(probe.part))
    if blocks != found:
        raise InputError(f"{name} gives {blocks + 1} hidden states for {found} blocks: cannot map its layers")
    return Model(name, network, tokenizer, chosen, LayerMap(blocks, states[0][0].shape[-1], normed), **facts)


def _probe_batch(network: Any, *, feeds_decoder: bool, last: int = 5) -> dict[str, torch.Tensor]:
    """One sentence of three ordinary tokens, by their numbers."""
    size = network.config.get_text_config().vocab_size
    ids = torch.tensor([[size // 2, size // 3, size // last]], device=next(network.parameters()).device)
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    return {**batch, "decoder_input_ids": ids} if feeds_decoder else batch


def _kind(network: Any) -> str:
    """A network with one stack is a decoder where no token sees those behind it: changing the last leaves the first."""
    with torch.no_grad():
        first, second = (
            network(
                **_probe_batch(network, feeds_decoder=False, last=last),
                return_dict=True,
                **({"language": network.config.languages[0]} if _separate(network) else {}),
            ).last_hidden_state[:, 0]
            for last in (5, 7)
        )
    return DECODER if torch.equal(first, second) else ENCODER


def _transformers() -> Any:
    try:
        import transformers
    except ImportError as error:
        raise MissingExtraError("transformers", "models", "loading models") from error
    return transformers
