"""Anything a Hugging Face `datasets` data set holds, given which column is what (extra `hub`).

A column may be a path into nested values: `translation.fr`. Classes stored as numbers come out by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from interlingua.corpora.bio import to_iob2
from interlingua.corpora.dataset import Dataset, Kind
from interlingua.errors import DataNotFoundError, InputError, MissingExtraError, UnknownNameError
from interlingua.languages import Language
from interlingua.types import LabelledCorpus, ParallelCorpus, TaggedCorpus, Tree, Treebank

Record = ParallelCorpus | LabelledCorpus | TaggedCorpus | Treebank


def load_from_hub(dataset: Dataset, languages: Sequence[Language], *, split: str = "", part: str = "") -> Record:
    """A data set of the catalogue, from the Hub."""
    hub = dataset.hub
    if hub is None or len(languages) != 1:
        raise InputError(f"{dataset.name} is read one language at a time from the Hub: name one language")
    lang = languages[0]
    code = hub.codes.get(str(lang), str(lang))
    config = hub.config.format(lang=code, part=part.partition("_")[2] or part)
    native = {ours: theirs for theirs, ours in dataset.aliases.items()}.get(split, split)
    wanted = {"dev": "validation", "val": "validation"}.get(native, native) or dataset.split or "test"
    rows = open_hub(hub.id, config, {"dev": "validation"}.get(wanted, wanted))
    return read_hub(rows, dataset.kind, hub.columns, lang, name=dataset.name, licence=dataset.licence)


def open_hub(identifier: str, config: str = "", split: str = "test") -> Any:
    """A `datasets.Dataset` from the Hub or its local cache."""
    try:
        import datasets
    except ImportError as error:
        raise MissingExtraError("datasets", "hub", f"reading {identifier} from the Hub") from error
    try:
        return datasets.load_dataset(identifier, config or None, split=split)
    except Exception as error:  # the library raises many kinds, from requests to pyarrow
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataNotFoundError(f"{identifier} {config} ({split}) could not be had from the Hub: {reason}") from error


def read_hub(
    rows: Any,
    kind: Kind,
    columns: Mapping[str, str],
    language: str | Language,
    *,
    name: str = "hub",
    licence: str = "unknown",
) -> Record:
    """A record from a `datasets.Dataset`.

    `columns` maps what the record needs to columns: language tags for parallel text, `label` and any fields for
    labelled sentences, `words` and `tags` for tagged words, `words`, `upos`, `heads` and `relations` for a treebank.
    """
    labels: dict[str, Any] = {"name": name, "licence": licence}
    values = {role: _column(rows, path) for role, path in columns.items()}
    if kind is Kind.PARALLEL:
        return ParallelCorpus.from_texts({role: [str(v) for v in column] for role, column in values.items()}, **labels)
    lang = Language.parse(language)
    if kind is Kind.LABELLED:
        label = values.pop("label", None)
        return LabelledCorpus(
            language=lang,
            fields=tuple(values),
            texts=tuple(tuple(map(str, row)) for row in zip(*values.values(), strict=True)),
            labels=None if label is None else tuple(map(str, label)),
            **labels,
        )
    _require(values, ("words", "tags") if kind is Kind.TAGGED else ("words", "upos", "heads", "relations"), name)
    words = tuple(tuple(map(str, row)) for row in values["words"])
    if kind is Kind.TAGGED:
        tags = tuple(tuple(map(str, row)) for row in values["tags"])
        entities = any(tag.startswith(("B-", "I-")) for row in tags for tag in row)
        return TaggedCorpus(
            language=lang,
            words=words,
            tags=tuple(map(to_iob2, tags)) if entities else tags,
            entities=entities,
            **labels,
        )
    if kind is not Kind.TREEBANK:
        raise InputError(f"{name}: a Hub data set cannot be read as {kind}")
    sentences = zip(words, values["upos"], values["heads"], values["relations"], strict=True)
    trees = tuple(
        Tree(w, tuple(map(str, u)), tuple(int(h) for h in heads), tuple(map(str, r))) for w, u, heads, r in sentences
    )
    return Treebank(language=lang, trees=trees, **labels)


def _require(values: Mapping[str, Any], roles: Iterable[str], name: str) -> None:
    if missing := [role for role in roles if role not in values]:
        raise InputError(f"{name}: say which column holds {' and '.join(missing)}")


def _column(rows: Any, path: str) -> list[Any]:
    """One column, classes by name."""
    head, *rest = path.split(".")
    if head not in rows.column_names:
        raise UnknownNameError("column", head, rows.column_names)
    feature = rows.features[head]
    column = rows[head]
    for key in rest:
        if not isinstance(feature, Mapping) and not hasattr(feature, "languages"):
            raise InputError(f"{path}: {head} has no field {key}")
        column = [value[key] for value in column]
        feature = feature[key] if isinstance(feature, Mapping) else None
    return [_named(value, feature) for value in column]


def _named(value: Any, feature: Any) -> Any:
    """A class number as its name, also inside lists."""
    if isinstance(value, list):
        inner = getattr(feature, "feature", feature[0] if isinstance(feature, list) else None)
        return [_named(item, inner) for item in value]
    names = getattr(feature, "names", None)
    if names and isinstance(value, int):
        return names[value] if value >= 0 else ""
    return value
