"""Sentences and sentence pairs with a class: NLI, paraphrase, sentiment, multiple choice."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from interlingua.corpora.columns import Column, open_table
from interlingua.errors import FormatError
from interlingua.languages import Language
from interlingua.types import LabelledCorpus


def read_labelled(
    path: Path,
    language: Language,
    fields: Mapping[str, Column],
    label: Column | None,
    *,
    header: bool | None = None,
    optional: bool = False,
    ragged: bool = False,
    ids: Column | None = None,
    classes: Mapping[str, str] | None = None,
    name: str = "unnamed",
    licence: str = "unknown",
) -> LabelledCorpus:
    """Columns of a TSV, CSV or JSONL file.

    `fields` maps the names the record uses to columns; `label` is None for data without labels;
    `classes` renames labels (`{"0": "negative"}`), and then any other label is an error. `optional`: a file
    without the label column is data without labels, not an error. `ragged`: cells beyond the header's are ignored.
    `ids` is a column of row ids; without it rows are counted.
    """
    table = open_table(path, header=header, ragged=ragged)
    if optional and isinstance(label, int) and table.width() <= label:
        label = None
    columns = [*fields.values(), *([] if ids is None else [ids]), *([] if label is None else [label])]
    texts: list[tuple[str, ...]] = []
    labels: list[str] = []
    keys: list[str] = []
    for line, cells in table.rows(columns):
        texts.append(tuple(cells[: len(fields)]))
        keys.append(str(len(keys) + 1) if ids is None else cells[len(fields)])
        if label is None:
            continue
        value = cells[-1].strip()
        if not value:
            raise FormatError(path, line, "the label is empty")
        if classes is not None:
            if value not in classes:
                raise FormatError(path, line, f"label {value!r} is none of {', '.join(classes)}")
            value = classes[value]
        labels.append(value)
    if not texts:
        raise FormatError(path, None, "no rows below the header")
    return LabelledCorpus(
        language=language,
        fields=tuple(fields),
        texts=tuple(texts),
        labels=None if label is None else tuple(labels),
        ids=tuple(keys),
        name=name,
        licence=licence,
    )
