"""What a training run is: one small file of settings, or the name of a preset, and a dial for its size.

Unknown keys are refused. The resolved settings are written beside every model, so a run can be read and repeated.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from interlingua.errors import FormatError, InputError, MissingExtraError, UnknownNameError
from interlingua.languages import Language

try:
    import yaml
    from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
except ImportError as _error:
    raise MissingExtraError("pydantic and pyyaml", "pretrain", "pretraining") from _error

# The dial. The last two sizes are the papers' own shapes; what the paper says of dropout and schedule comes with them.
_COLUMNS = ("width", "depth", "heads", "length", "batch", "rate", "updates", "warmup", "merges")
_ROWS: dict[str, tuple[float, ...]] = {
    "nano":      (64, 2, 2, 64, 1_024, 2e-3, 400, 40, 1_000),
    "micro":     (128, 4, 4, 128, 4_096, 2e-3, 4_000, 200, 4_000),
    "mini":      (256, 8, 4, 128, 16_384, 1e-3, 21_000, 500, 10_000),
    "small":     (512, 8, 8, 128, 32_768, 5e-4, 100_000, 2_000, 24_000),
    "wu-base":   (768, 8, 12, 256, 196_608, 1e-4, 1_000_000, 30_000, 80_000),
    "xlmr-base": (768, 12, 12, 256, 131_072, 3e-4, 1_000_000, 10_000, 64_000),
}  # fmt: skip
SIZES: dict[str, dict[str, Any]] = {name: dict(zip(_COLUMNS, row, strict=True)) for name, row in _ROWS.items()}
SIZES["wu-base"] |= {"schedule": "inverse_sqrt", "dropout": 0.1}
SIZES["xlmr-base"] |= {"dropout": 0.1}
# Keys that a size sets unless the settings do.
_BY_SIZE = ("width", "depth", "heads", "length", "batch", "rate", "updates", "warmup", "schedule", "dropout", "clip")


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Tokens(_Settings):
    """How text becomes tokens. `merges` is the number over all languages, however they are learnt.

    Characters that make up the rarest 1 - `coverage` of a language's text are unknown.
    """

    kind: Literal["joint", "separate", "prefixed"] = "joint"
    model: Literal["bpe", "unigram"] = "bpe"
    merges: int = Field(default=0, ge=0)
    coverage: float = Field(default=0.99999, gt=0, le=1)


class Anchors(_Settings):
    """Code-switching with dictionaries: {"en-fr": "muse"} replaces words of either language by the other's."""

    dictionaries: dict[str, str] = Field(default_factory=dict)
    replace: float = Field(default=0.3, ge=0, le=1)
    limit: float = Field(default=0.15, ge=0, le=1)


class Config(_Settings):
    """One training run."""

    preset: str = ""
    size: Literal["nano", "micro", "mini", "small", "wu-base", "xlmr-base"] = "mini"
    seed: int = Field(default=0, ge=0, lt=2**63)

    # language -> its text: names of data sets (mono, mono/europarl) or files
    text: dict[str, list[str]] = Field(default_factory=dict)
    # "en-fr" -> parallel text, for translation language modelling on a share of all batches
    parallel: dict[str, list[str]] = Field(default_factory=dict)
    tlm: float = Field(default=0.0, ge=0, lt=1)
    equal: bool = False
    sampling: float = Field(default=0.7, ge=0, le=1)
    sampled_by: Literal["sentences", "tokens"] = "sentences"
    # batches of sequences of all languages, and not each of one
    mixed: bool = False
    lines: int = Field(default=0, ge=0)
    # a file of sentences that are never trained on: those of tests
    without: str = ""
    tokens: Tokens = Field(default_factory=Tokens)
    anchors: Anchors = Field(default_factory=Anchors)

    objective: Literal["mlm", "clm", "span"] = "mlm"
    masked: float = Field(default=0.15, gt=0, lt=1)
    random_words: Literal["", "all", "language"] = ""
    norm: Literal["post", "pre", "normformer"] = "post"
    scale_residual: bool = False
    separate_embeddings: bool = False
    separate_layers: int = Field(default=0, ge=0)
    # what the learnt table of positions begins as: like the others, the waves of Vaswani et al. 2017, or waves by which
    # the first block looks at neighbours to begin with
    positions: Literal["random", "waves", "neighbours"] = "random"

    width: int = Field(default=0, ge=0, le=65_536)
    depth: int = Field(default=0, ge=0, le=1_024)
    heads: int = Field(default=0, ge=0)
    length: int = Field(default=0, ge=0, le=1_000_000)
    # tokens in one update
    batch: int = Field(default=0, ge=0, le=1_000_000_000)
    dropout: float = Field(default=-1.0, le=1)
    optimizer: Literal["adamw", "muon"] = "adamw"
    rate: float = Field(default=0.0, ge=0)
    updates: int = Field(default=0, ge=0)
    warmup: int = Field(default=-1)
    schedule: Literal["", "constant", "linear", "cosine", "inverse_sqrt", "wsd"] = ""
    # the share of all updates in which a warm-up-stable-decay schedule decays
    decay: float = Field(default=0.1, ge=0, le=1)
    weight_decay: float = Field(default=0.01, ge=0)
    betas: tuple[float, float] = (0.9, 0.98)
    clip: float = Field(default=-1.0)

    # weights to start from: a folder of an earlier run, or any Hugging Face model for continued pretraining
    init: str = ""
    bf16: bool | None = None
    compile: bool | None = None
    cuda_graphs: bool | None = None
    held_out: int = Field(default=400, ge=1)
    evaluate_every: int = Field(default=0, ge=0)
    checkpoint_every: int = Field(default=0, ge=0)
    # keep the model with the lowest perplexity of this language
    select: str = ""
    # write the model as the stock architecture that computes the same
    stock: bool = False

    @model_validator(mode="before")
    @classmethod
    def _over_preset(cls, given: Any) -> Any:
        """A preset's settings, under those that were given."""
        name = given.get("preset") if isinstance(given, dict) else None
        if not name:
            return given
        if name not in presets():
            raise UnknownNameError("preset", str(name), presets())
        text = (files("interlingua.pretrain") / "presets" / f"{name}.yaml").read_text(encoding="utf-8")
        return _over(_yaml(text, Path(f"{name}.yaml")), given)

    @field_validator("text", "parallel", mode="before")
    @classmethod
    def _listed(cls, given: Any) -> Any:
        """One source may be written without a list."""
        if not isinstance(given, dict):
            return given
        if odd := [key for key in given if not isinstance(key, str)]:
            raise ValueError(f"{odd[0]!r} is no language: quote it ('no' is YAML's word for false)")
        return {key: [value] if isinstance(value, str) else value for key, value in given.items()}

    @model_validator(mode="after")
    def _together(self) -> Config:
        if self.separate_embeddings or self.separate_layers:
            if self.objective == "span":
                raise ValueError("an encoder-decoder has no parts of a language's own: objective mlm or clm")
            if self.mixed:
                raise ValueError("a batch of all languages cannot go through parts of one: mixed needs shared parts")
            if self.tlm:
                raise ValueError("a batch of two languages cannot go through parts of one: tlm needs shared parts")
            if self.init and not Path(self.init).is_dir():
                raise ValueError("parts of a language's own are for networks of ours: leave out init or separate_*")
        if self.parallel and not self.tlm:
            raise ValueError("parallel text is for tlm, which is 0: set tlm, or leave parallel out")
        if self.preset == "extra-anchors" and not self.anchors.dictionaries:
            raise ValueError("name a dictionary: --set anchors.dictionaries.en-fr=muse:full")
        if self.preset == "monolingual" and len(self.text) > 1:
            raise ValueError(f"monolingual, and there is text of {', '.join(self.text)}: name one, or take default")
        if self.mixed and self.random_words == "language":
            raise ValueError("random words of one language need batches of one: leave out mixed, or random_words")
        if self.scale_residual and self.norm != "normformer":
            raise ValueError("scale_residual is a part of norm: normformer")
        if self.tlm and (self.objective != "mlm" or not self.parallel):
            raise ValueError("tlm is for objective mlm, and needs parallel text: parallel: {en-fr: [NAME]}")
        if self.select and tag(self.select) not in map(tag, self.text):
            raise ValueError(f"select is {self.select!r}, which is none of the languages of text")
        return self

    def _check(self, asked: dict[str, Any]) -> None:
        """What only shows when everything is known."""
        problems = _less_than(self)
        if not problems and self.width % self.heads:
            problems.append(f"a width of {self.width} cannot be cut into {self.heads} heads")
        if not 0 <= self.dropout < 1:
            problems.append(f"dropout is {self.dropout}: a share from 0 up to 1 is needed")
        if not all(0 <= beta < 1 for beta in self.betas):
            problems.append(f"betas are {self.betas}: numbers from 0 up to 1 are needed")
        if asked.get("warmup", 0) > self.updates:
            problems.append(f"warmup is {asked['warmup']}, and there are {self.updates} updates")
        if self.stock and (
            (self.objective, self.norm) not in _STOCK or self.separate_embeddings or self.separate_layers
        ):
            problems.append(
                "no stock architecture computes this: stock: true is for everything shared, and mlm with norm post or "
                "pre, clm with pre, span with post"
            )
        if problems:
            raise InputError("; ".join(problems))

    def resolved(self, *, complete: bool = True) -> Config:
        """With every key that its size decides filled in; text may be missing where they need not be `complete`."""
        by_size = {"schedule": "linear", "dropout": 0.0, "clip": 1.0, **SIZES[self.size]}
        asked = self.model_dump(exclude_unset=True)
        found = {key: by_size[key] for key in _BY_SIZE if key not in asked}
        if not self.tokens.merges:
            found["tokens"] = self.tokens.model_copy(update={"merges": by_size["merges"]})
        updates = asked.get("updates") or by_size["updates"]
        found["warmup"] = max(0, asked.get("warmup", min(by_size["warmup"], updates // 2)))
        for key in ("evaluate_every", "checkpoint_every"):
            found[key] = asked.get(key) or max(1, updates // 10)
        if not self.random_words:
            # As the paper: words of all languages, but within one where languages have parts of their own.
            found["random_words"] = "language" if self.separate_embeddings or self.separate_layers else "all"
        found["text"] = {tag(name): sources for name, sources in self.text.items()}
        if len(found["text"]) < len(self.text):
            raise InputError(f"a language is named twice: {', '.join(self.text)} (a second one is en@2)")
        found["select"] = tag(self.select) if self.select else ""
        made = self.model_copy(update=found)
        made._check(asked)
        if made.batch % made.length:
            raise InputError(f"a batch of {made.batch} tokens cannot be cut into sequences of {made.length}")
        if complete and not made.text:
            raise InputError("there is no text: name some for each language, --set text.en=mono/europarl or a file")
        if made.separate_layers > made.depth:
            raise InputError(f"separate_layers is {made.separate_layers}, and there are {made.depth} layers")
        return made


def _less_than(made: Config) -> list[str]:
    """Sizes that are none."""
    least = {"width": 1, "depth": 1, "heads": 1, "length": 2, "batch": 1, "updates": 1}
    return [
        f"{key} is {getattr(made, key)}: at least {n} is needed" for key, n in least.items() if getattr(made, key) < n
    ]


def tag(name: str) -> str:
    """A language's tag as the rest of the package writes it; what stands behind @ (en@2, a second English) is kept."""
    language, sign, which = name.partition("@")
    return f"{Language.parse(language)}{sign}{which}"


_STOCK = {("mlm", "post"), ("mlm", "pre"), ("clm", "pre"), ("span", "post")}


def presets() -> dict[str, str]:
    """Names of presets, and what each is: the first line of its file."""
    found = sorted((p for p in (files("interlingua.pretrain") / "presets").iterdir()), key=lambda p: p.name)
    return {
        p.name.removesuffix(".yaml"): p.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
        for p in found
        if p.name.endswith(".yaml")
    }


def read_config(source: str, changes: list[str] | tuple[str, ...] = ()) -> Config:
    """Settings from a file or a preset's name, changed by `key=value` (`tokens.kind=separate`, `text.en=mono`)."""
    if source in presets():
        found: dict[str, Any] = {"preset": source}
    elif not Path(source).exists():
        raise UnknownNameError("preset, and no file", source, presets())
    else:
        try:
            found = _yaml(Path(source).read_text(encoding="utf-8"), Path(source))
        except UnicodeDecodeError as error:
            raise FormatError(source, None, "it is not UTF-8 text: settings are written as YAML") from error
    for change in changes:
        _set(found, change)
    try:
        return Config.model_validate(found)
    except ValidationError as error:
        raise InputError(f"{source}: {_told(error)}") from error


def write_config(config: Config, path: Path) -> None:
    """Beside what was made with it."""
    path.write_text(dumped(config), encoding="utf-8")


def dumped(config: Config) -> str:
    """As YAML."""
    return str(yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True))


def _yaml(text: str, path: Path) -> dict[str, Any]:
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise FormatError(path, mark.line + 1 if mark else None, "it is not YAML") from error
    if not isinstance(found, dict):
        raise FormatError(path, None, "it holds no settings: write keys and values such as size: mini")
    return found


def _set(found: dict[str, Any], change: str) -> None:
    key, sign, value = change.partition("=")
    if not sign or not key:
        raise InputError(f"{change!r} is no setting: write key=value, such as updates=1000 or text.en=mono/europarl")
    *above, last = key.strip().split(".")
    for name in above:
        found = found.setdefault(name, {})
        if not isinstance(found, dict):
            raise InputError(f"{change!r}: {name} is one value, and has nothing inside")
    try:
        parsed = yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise InputError(f"{change!r}: the value is not YAML") from error
    # Sources of text are a list; they may be named as they are.
    listed = bool(above) and above[0] in ("text", "parallel") and not isinstance(parsed, list)
    found[last] = [part.strip() for part in value.split(",")] if listed else parsed


def _over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Settings over those of a preset, key by key."""
    merged = dict(below)
    for key, value in above.items():
        inner = merged.get(key)
        merged[key] = _over(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return merged


def _told(error: ValidationError) -> str:
    """What a validator found, in a line."""
    parts = []
    for each in error.errors():
        place = ".".join(str(part) for part in each["loc"])
        if each["type"] == "extra_forbidden":
            *above, last = (str(part) for part in each["loc"])
            inside: Any = {"tokens": Tokens, "anchors": Anchors}.get(above[0] if above else "", Config)
            parts.append(str(UnknownNameError("setting", last, inside.model_fields)))
        else:
            parts.append(f"{place + ': ' if place else ''}{each['msg'].removeprefix('Value error, ')}")
    return "; ".join(parts)
