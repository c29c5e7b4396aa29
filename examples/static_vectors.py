"""Word vectors of two languages that were trained apart, turned onto each other: how many words find their translation?

    python examples/static_vectors.py                                                       # offline; too little text
    python examples/static_vectors.py en fr --text mono --every 3 --dictionary muse         # ten minutes

fastText vectors of monolingual text; a rotation is fitted on more and more words of a training dictionary.
"""

import argparse
from itertools import islice

import interlingua as il
from interlingua.corpora.loading import dictionaries
from interlingua.mapping.levels import word_scores
from interlingua.mapping.static import static_words

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("langs", nargs="*", default=["en", "fr"])
parser.add_argument("--text", default="everyday", help="a data set: plain text, or parallel")
parser.add_argument("--every", type=int, default=1, help="only every so many-th line")
parser.add_argument("--dictionary", default="everyday-words")
parser.add_argument("--sizes", default="50,100,300,1000,3000")
asked = parser.parse_args()


def lines(lang):
    """Text of one language."""
    if asked.text == "everyday":
        return il.parallel("everyday", *asked.langs)[lang]
    return islice(il.text(asked.text, lang), 0, None, asked.every)


source, target = (static_words(lines(lang), min_count=1 if asked.text == "everyday" else 5) for lang in asked.langs)
training, test = dictionaries(asked.dictionary, *asked.langs)
sizes = [int(n) for n in asked.sizes.split(",")]
print(f"{len(source.words):,} and {len(target.words):,} words")
for _, score in word_scores(source, target, training, test, layer=0, ways=("rotation", "refined"), sizes=sizes):
    ranks = ", ".join(f"at {rank} {value:.3f}" for rank, value in score.precision.items())
    times = score.precision[1] / score.chance
    print(f"{score.direction} {score.way}, {score.pairs:,} pairs: precision {ranks} ({times:,.0f} times chance), "
          f"{score.n:,} words, coverage {score.coverage:.2f}")  # fmt: skip
