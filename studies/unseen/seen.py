"""Has the model that ships seen a language? Its training text is searched for the languages of the study.

    python studies/unseen/seen.py

A row a language: test sentences that are lines of the training text, and the share of its words (of five letters or
more, each counted once) that occur there; of a language that was not seen, names and loans only.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import regex

from interlingua.corpora.loading import parallel
from interlingua.extract.words import sentences
from interlingua.pretrain.config import read_config
from interlingua.pretrain.prepare import source_lines
from interlingua.studies.catalog import find
from interlingua.studies.study import settings_of
from interlingua.transfer.sets import split_of
from interlingua.transfer.tasks import task

WORD = regex.compile(r"\p{L}[\p{L}\p{M}]{4,}")


def training_text() -> Iterator[str]:
    """Every line, the parallel ones too."""
    config = read_config(str(Path(__file__).parent.parent / "model" / "model.yaml"))
    for lang, sources in config.text.items():
        for source in sources:
            yield from source_lines(source, lang)
    for pair, sources in config.parallel.items():
        for source in sources:
            for column in parallel(source, *pair.split("-")).columns:
                yield from column


def main() -> None:
    """Print the table."""
    words: set[str] = set()
    lines: set[int] = set()
    for line in training_text():
        words.update(WORD.findall(line.casefold()))
        lines.add(hash(" ".join(line.split())))
    print(f"{len(words):,} words, {len(lines):,} lines")
    for case in settings_of(find("unseen")).languages:
        test = split_of(task("pos"), case.train, case.test, case.lang, 0)[2]
        rows = [row.text for each in sentences(test).values() for row in each]
        own = {word for row in rows for word in WORD.findall(row.casefold())}
        found = sum(hash(" ".join(row.split())) in lines for row in rows)
        share = len(own & words) / len(own)
        print(f"{case.lang}: {found} of {len(rows)} sentences; {share:.1%} of {len(own):,} words")


if __name__ == "__main__":
    main()
