"""Translation by an encoder-decoder: BLEU, and chrF beside it, as sacrebleu counts them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from interlingua.corpora.loading import parallel
from interlingua.errors import InputError, MissingExtraError
from interlingua.transfer.task import Array, Labels, Task
from interlingua.types import ParallelCorpus

# a sentence, and the language it is written in
Written = tuple[str, str]
BLEU_COUNTS = 10


class Translation(Task[ParallelCorpus, Written]):
    """From the first language of a pair to the second; a pair is named as `fr-en`.

    Statistics of single sentences are sacrebleu's own, and corpus scores are made of their sums by it, so a score is
    what sacrebleu prints. Chinese is cut with its tokenizer `zh`, Japanese and Thai by characters, all else as `13a`.
    """

    name = "translation"
    metric = "bleu"
    also = ("chrf",)
    words = False

    def language(self, record: ParallelCorpus) -> str:
        """The pair."""
        return "-".join(map(str, record.langs))

    def read(self, source: str, language: str, split: str) -> ParallelCorpus:
        """Parallel text of a pair."""
        pair = language.split("-")
        if len(pair) != 2:
            raise InputError(f"{language!r} is no pair of languages: say which into which, such as fr-en")
        return parallel(source, *pair, split=split).languages(*pair)

    def gold(self, record: ParallelCorpus) -> tuple[Written, ...]:
        """The second language."""
        if len(record.langs) != 2:
            raise InputError(f"{record.name} has {len(record.langs)} languages: a translation is from one into another")
        return tuple((str(record.langs[1]), text) for text in record.columns[1])

    def labels(self, gold: Sequence[Written]) -> Labels:
        """The languages that are written."""
        return tuple(sorted({language for language, _ in gold}))

    def written(self, record: ParallelCorpus, answers: Sequence[Written]) -> Iterator[str]:
        """A sentence a line: what was read, a right translation, and the answer."""
        for source, right, (_, text) in zip(*record.columns, answers, strict=True):
            yield "\t".join(" ".join(each.split()) for each in (source, right, text))

    def counts(self, gold: Written, answer: Written) -> tuple[int, ...]:
        """Statistics as sacrebleu has them: of BLEU (lengths, n-grams right and all), then of chrF."""
        bleu, chrf = _metrics(_cut(gold[0]))
        found = bleu.corpus_score([answer[1]], [[gold[1]]])
        of_chrf = chrf._extract_corpus_statistics([answer[1]], [[gold[1]]])[0]
        return (found.sys_len, found.ref_len, *found.counts, *found.totals, *of_chrf)

    def score(self, counts: Array) -> Array:
        """BLEU and chrF, from 0 to 1."""
        bleu, chrf = _metrics("13a")
        rows = np.asarray(counts).reshape(-1, counts.shape[-1])
        made = [
            (
                bleu.compute_bleu(
                    list(row[2:6]), list(row[6:BLEU_COUNTS]), int(row[0]), int(row[1]), smooth_method="exp"
                ).score,
                chrf._compute_score_from_stats(list(row[BLEU_COUNTS:])).score,
            )
            for row in rows.tolist()
        ]
        return np.array(made).reshape(*counts.shape[:-1], 2) / 100


def _cut(language: str) -> str:
    return {"zh": "zh", "ja": "char", "th": "char"}.get(language.partition("-")[0], "13a")


@lru_cache(maxsize=8)
def _metrics(cut: str) -> tuple[Any, Any]:
    try:
        from sacrebleu.metrics.bleu import BLEU
        from sacrebleu.metrics.chrf import CHRF
    except ImportError as error:
        raise MissingExtraError("sacrebleu", "transfer", "scoring translations") from error
    return BLEU(tokenize=cut), CHRF()
