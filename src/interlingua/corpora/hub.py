"""Anything a Hugging Face `datasets` data set holds, given which column is what (extra `hub`).

A column may be a path into nested values: `translation.fr`. Classes stored as numbers come out by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from interlingua.corpora.bio import to_iob2
from interlingua.corpora.conllu import tree_problem, version_1_problem
from interlingua.corpora.dataset import Dataset, Kind
from interlingua.errors import DataNotFoundError, InputError, MissingExtraError, UnknownNameError
from interlingua.languages import Language
from interlingua.types import LabelledCorpus, ParallelCorpus, TaggedCorpus, Tree, Treebank, Words

Record = ParallelCorpus | LabelledCorpus | TaggedCorpus | Treebank


def load_from_hub(dataset: Dataset, languages: Sequence[Language], *, split: str = "", part: str = "") -> Record:
    """A data set of the catalogue, from the Hub."""
    hub = dataset.hub
    if hub is None or len(languages) != 1:
        raise InputError(f"{dataset.name} is read one language at a time from the Hub: name one language")
    if "{part}" in hub.config and not part:
        raise InputError(f"say which part of {dataset.name} to read, such as {dataset.name}/en_ewt")
    lang = languages[0]
    config = hub.config.format(lang=hub.codes.get(str(lang), str(lang)), part=part.partition("_")[2] or part)
    wanted = dataset.aliases.get(split, split) or dataset.aliases.get(dataset.split, dataset.split) or "test"
    rows = open_hub(hub.id, config, {"dev": "validation"}.get(wanted, wanted))
    name = f"{dataset.name}{'/' if part else ''}{part}:{wanted}"
    classes = getattr(dataset.read, "keywords", {}).get("classes")
    return read_hub(rows, dataset.kind, hub.columns, lang, classes=classes, name=name, licence=dataset.licence)


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
    classes: Mapping[str, str] | None = None,
    name: str = "hub",
    licence: str = "unknown",
) -> Record:
    """A record from a `datasets.Dataset`.

    `columns` maps what the record needs to columns: language tags for parallel text, `label` and any fields for
    labelled sentences, `words` and `tags` for tagged words, `words`, `upos`, `heads` and `relations` for a treebank.
    `classes` renames labels. A missing text is an error; a label that is missing everywhere means data without labels.
    """
    if kind not in (Kind.PARALLEL, Kind.LABELLED, Kind.TAGGED, Kind.TREEBANK):
        raise InputError(f"{name}: a Hub data set cannot be read as {kind}")
    facts: dict[str, Any] = {"name": name, "licence": licence}
    values = {role: _column(rows, path) for role, path in columns.items()}
    if kind is Kind.PARALLEL:
        texts = {role: _texts(column, name, role) for role, column in values.items()}
        return ParallelCorpus.from_texts(texts, **facts)
    facts["language"] = Language.parse(language)
    if kind is Kind.LABELLED:
        return _labelled(values, classes or {}, name, facts)
    _require(values, ("words", "tags") if kind is Kind.TAGGED else ("words", "upos", "heads", "relations"), name)
    words = tuple(tuple(_texts(row, name, "words")) for row in values["words"])
    if kind is Kind.TREEBANK:
        return _treebank(words, values, name, facts)
    tags = tuple(tuple(_texts(row, name, "tags")) for row in values["tags"])
    entities = any(tag.startswith(("B-", "I-")) for row in tags for tag in row)
    return TaggedCorpus(words=words, tags=tuple(map(to_iob2, tags)) if entities else tags, entities=entities, **facts)


def _texts(column: Iterable[Any], name: str, role: str) -> list[str]:
    result = []
    for row, value in enumerate(column, 1):
        if value is None:
            raise InputError(f"{name}: no {role} in row {row}")
        result.append(str(value))
    return result


def _labelled(
    values: dict[str, list[Any]], classes: Mapping[str, str], name: str, facts: dict[str, Any]
) -> LabelledCorpus:
    given = values.pop("label", None)
    labels = None if given is None or all(v in (None, "") for v in given) else _texts(given, name, "label")
    if labels is not None and "" in labels:
        raise InputError(f"{name}: no label in row {labels.index('') + 1}")
    columns = [_texts(column, name, role) for role, column in values.items()]
    return LabelledCorpus(
        fields=tuple(values),
        texts=tuple(zip(*columns, strict=True)),
        labels=None if labels is None else tuple(classes.get(label, label) for label in labels),
        **facts,
    )


def _treebank(words: Sequence[Words], values: dict[str, list[Any]], name: str, facts: dict[str, Any]) -> Treebank:
    """Trees; rows of multiword tokens, which some copies keep with no head, are passed over."""
    trees = []
    sentences = zip(words, values["upos"], values["heads"], values["relations"], strict=True)
    for row, sentence in enumerate(sentences, 1):
        kept = [cells for cells in zip(*sentence, strict=True) if str(cells[2]).isdecimal()]
        heads = tuple(int(cells[2]) for cells in kept)
        if wrong := tree_problem(heads):
            raise InputError(f"{name} row {row}: {wrong[1]}")
        columns = [tuple(str(cells[i]) for cells in kept) for i in (0, 1, 3)]
        trees.append(Tree(columns[0], columns[1], heads, columns[2]))
    if problem := version_1_problem(trees):
        raise InputError(f"{name}: {problem}")
    return Treebank(trees=tuple(trees), **facts)


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
