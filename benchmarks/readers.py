"""How long reading takes beside the packages the field uses, as ratios measured in one run (CPU seconds).

python benchmarks/readers.py            English-EWT's training part where INTERLINGUA_DATA is set, else the built-in trees
"""

import tempfile
import time
from pathlib import Path

import conllu

import interlingua as il
from interlingua.corpora.conllu import read_conllu
from interlingua.corpora.files import lines
from interlingua.corpora.places import assets, data_root


def seconds(work):
    """The best of three, in CPU seconds."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def contenders(folder):
    """How many sentences, our reader, and the package's."""
    english = il.Language.parse("en")
    if data_root():
        path = next((data_root() / "ud" / "UD_English-EWT").glob("*train*"))
        size = len(il.treebank("ud/en_ewt:train", "en"))
    else:
        path = Path(folder, "trees.conllu")
        text = (assets() / "everyday-trees" / "en.conllu").read_text(encoding="utf-8")
        path.write_text(text * 100, encoding="utf-8")
        size = 100 * len(il.treebank("everyday-trees", "en"))
    return (
        size,
        lambda: read_conllu(path, english),
        lambda: conllu.parse("\n".join(line for _, line in lines(path)) + "\n"),
    )


def main():
    """Print one line a reader."""
    with tempfile.TemporaryDirectory() as folder:
        size, read, peer = contenders(folder)
        ours, theirs = seconds(read), seconds(peer)
        print(
            f"CoNLL-U, {size} sentences: ours {ours:.2f} s, checked as trees; conllu package {theirs:.2f} s; ratio {theirs / ours:.1f}"
        )


if __name__ == "__main__":
    main()
