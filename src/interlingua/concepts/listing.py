"""Concepts as rows of a table to look at: words, label, partners with the translations between them, examples."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from interlingua.concepts.align import Alignment, links
from interlingua.concepts.discover import Concepts
from interlingua.concepts.label import Label
from interlingua.concepts.lexicon import Lexicon

# Words, partners and examples of a concept that are kept to be shown.
SHOWN, PARTNERS, EXAMPLES = 30, 3, 3
# A concept that corresponds: its group, its number, the share matched, and the translations that make it so.
Partner = tuple[str, int, float, list[tuple[str, str]]]


def partners(
    source: Concepts, target: Concepts, aligned: Alignment, lexicon: Lexicon, best: int, group: str
) -> dict[int, list[Partner]]:
    """The first few partners of every source concept that has some; `group` is what the target's are called."""
    found: dict[int, list[Partner]] = {}
    for one, other, share in aligned.pairs:
        held = found.setdefault(one, [])
        if len(held) < PARTNERS:
            why = links(source, target, lexicon, one, other, best)
            held.append((group, other, round(share, 3), list(islice(why, SHOWN))))
    return found


def listed(
    concepts: Concepts,
    labels: Iterable[Label],
    overlapping: Collection[int],
    partners: Mapping[int, list[Partner]],
    example: Callable[[int], list[Any]],
) -> Iterator[dict[str, Any]]:
    """A row for every concept; `example` gives the sentence of a mention."""
    langs = [str(lang) for lang in concepts.mentions.languages]
    first = _first_rows(concepts)
    for each in labels:
        row = concepts.counts[each.concept]
        order = np.argsort(-row.data, kind="stable")[:SHOWN]
        top = row.indices[order]
        yield {
            "concept": each.concept,
            "kind": each.kind,
            "value": each.value,
            "script": each.script,
            "tag": each.tag,
            "types": each.types,
            "mentions": int(row.sum()),
            "overlaps": each.concept in overlapping,
            "words": [concepts.mentions.types[i] for i in top],
            "counts": [int(n) for n in row.data[order]],
            "languages": [langs[concepts.mentions.type_language[i]] for i in top],
            "partners": json.dumps(partners.get(each.concept, [])),
            "examples": json.dumps([example(i) for i in first.get(each.concept, ())]),
        }


def _first_rows(concepts: Concepts) -> dict[int, list[int]]:
    """A few mentions of every concept, each of another type."""
    found: dict[int, list[int]] = {}
    seen: set[tuple[int, int]] = set()
    both = zip(concepts.labels.tolist(), concepts.mentions.type_of.tolist(), strict=True)
    for row, cell in enumerate(both):
        held = found.setdefault(cell[0], [])
        if len(held) < EXAMPLES and cell not in seen:
            seen.add(cell)
            held.append(row)
    return found
