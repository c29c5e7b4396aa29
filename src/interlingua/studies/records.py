"""What studies tune on, choose the epoch by, and judge by: entities, trees, inference, sentiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from interlingua.transfer.tasks import task

Records = tuple[list[Any], list[Any], list[Any]]


def entities(name: str, source: str, langs: Sequence[str], *, asked: int, choosing: int) -> Records:
    """The built-in set has a test; of PAN-X none is among the data, and `dev` is asked. The end of `train` chooses."""
    ner = task("ner")
    learnt = ner.read(name, source, "train")
    few = min(choosing, len(learnt) // 4)
    split = "test" if name.startswith("everyday") else "dev"
    return [learnt[:-few]], [learnt[-few:]], [ner.read(name, lang, split)[:asked] for lang in langs]


def trees(kind: str, banks: Mapping[str, str], source: str, langs: Sequence[str]) -> Records:
    """Parts of speech or parsing, of a treebank a language; languages without one are left out."""
    words = task(kind)
    learnt, development = (words.read(banks[source], source, split) for split in ("train", "dev"))
    return [learnt], [development], [words.read(banks[lang], lang, "test") for lang in langs if lang in banks]


def inference(sets: Sequence[tuple[str, str]], judged: str, langs: Sequence[str]) -> Records:
    """Learnt from several English sets, each with its split; judged by another."""
    nli = task("nli")
    train = [nli.read(name, "en", split) for name, split in sets]
    return train, [nli.read(judged, "en", "dev")], [nli.read(judged, lang, "test") for lang in langs]


def sentiment(name: str, sources: Sequence[str], langs: Sequence[str]) -> Records:
    """Learnt from several languages."""
    said = task("sentiment")
    train, development = ([said.read(name, lang, split) for lang in sources] for split in ("train", "dev"))
    return train, development, [said.read(name, lang, "test") for lang in langs]


def shortened(train: Sequence[Any], rows: int) -> list[Any]:
    """So many rows in all, as many of each set; all of them where it is 0."""
    share = -(-rows // len(train))
    return [record[:share] for record in train] if rows else list(train)
