"""How far the links of each alignment method are from gold ones, and how long it takes, as a Markdown table.

python benchmarks/aligner.py                     every gold set found in INTERLINGUA_DATA, every method installed
python benchmarks/aligner.py --extra 5000 en-fr  less text to learn from, some language pairs only

For each language pair a method learns once, from the sentences of its gold sets, then of the other parts of these
sets, and then of parallel corpora, up to --extra pairs. Links are never learned from. All methods are given the same
words: those of the gold sets, and those of Unicode's rule in the corpora.
"""

import argparse
import importlib.util
import time

import interlingua as il
from interlingua.corpora.aligner import METHODS, align
from interlingua.corpora.links import error_rate
from interlingua.corpora.segment import segment
from interlingua.errors import InterlinguaError

# (data set, language pair): the split that is scored, those that are only read
GOLD = {
    "en-fr": (("word_alignment/hansards", "dev", "train"), ("word_alignment/fr_golden", "dev", "train")),
    "en-es": (("word_alignment/es_golden", "dev", "train"), ("xl_wa", "test", "dev")),
    "en-pt": (("word_alignment/pt_golden", "dev", "train"), ("xl_wa", "test", "dev")),
    "en-cs": (("word_alignment/czenali", "dev", "train"),),
    "en-hi": (("word_alignment/hindi", "dev", "train"),),
    "en-ja": (("word_alignment/kftt", "dev", "train"),),
    "en-ro": (("word_alignment/romanian", "dev", "train"),),
    "en-sv": (("word_alignment/swedish", "dev", "train"),),
    **{f"en-{lang}": (("xl_wa", "test", "dev"),) for lang in ("bg", "et", "hu", "it", "nl", "ru")},
}
TEXT = (("europarl", "train"), ("multi30k", "train"), ("tatoeba_challenge", "test"), ("tatoeba", ""), ("ntrex", ""))


def read(pair, extra):
    """The gold sets of a language pair, and up to `extra` sentence pairs besides."""
    gold, more = [], []
    for name, split, rest in GOLD[pair]:
        gold.append((f"{name} {pair}", il.bitext(name, *pair.split("-"), split=split)))
        other = il.bitext(name, *pair.split("-"), split=rest)
        more += zip(other.source_words, other.target_words, strict=True)
    for name, split in TEXT:
        try:
            corpus = il.parallel(name, *pair.split("-"), split=split)[: max(extra - len(more), 0)]
        except InterlinguaError:
            continue
        more += zip(*([[t[a:b] for a, b in segment(t)] for t in column] for column in corpus.columns), strict=True)
    return gold, more[:extra]


def main():
    """Print the table, a row a gold set and method."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", nargs="*", default=[], help="language pairs, such as en-fr (default: all)")
    parser.add_argument("--extra", type=int, default=20_000, help="sentence pairs to learn from besides the gold ones")
    options = parser.parse_args()
    methods = [name for name, module in METHODS.items() if not module or importlib.util.find_spec(module)]
    print(
        "| gold set | gold | extra | method | AER | precision | recall | seconds |\n|---|--:|--:|---|--:|--:|--:|--:|"
    )
    for pair in options.pairs or GOLD:
        gold, more = read(pair, options.extra)
        source = [s for _, part in gold for s in part.source_words] + [s for s, _ in more]
        target = [t for _, part in gold for t in part.target_words] + [t for _, t in more]
        for method in methods:
            start = time.perf_counter()
            links = align(source, target, method=method)
            seconds = time.perf_counter() - start
            for name, part in gold:
                score, links = error_rate(links[: len(part)], part.sure, part.possible), links[len(part) :]
                row = f"{score.value:.3f} | {score.precision or 0:.3f} | {score.recall:.3f} | {seconds:.1f}"
                print(f"| {name} | {len(part)} | {len(more)} | {method} | {row} |", flush=True)


if __name__ == "__main__":
    main()
