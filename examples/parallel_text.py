"""Parallel text: the built-in corpus, a slice, a sample, your own files."""

import tempfile
from pathlib import Path

import numpy as np

import interlingua as il

corpus = il.parallel("everyday", "en", "fr", "zh")
print(f"{corpus.name}: {len(corpus)} sentences in {', '.join(map(str, corpus.langs))}")
print(corpus[0])

few = corpus.sample(3, np.random.default_rng(0))
for row_id, english, french in zip(few.ids, few["en"], few["fr"], strict=True):
    print(f"{row_id}: {english} = {french}")

# Your own: a folder of line-aligned files named by language, a table, or a translation memory.
with tempfile.TemporaryDirectory() as folder:
    Path(folder, "en.txt").write_text("Good morning.\nGood night.\n", encoding="utf-8")
    Path(folder, "et.txt").write_text("Tere hommikust.\nHead ööd.\n", encoding="utf-8")
    mine = il.parallel(folder)
    print(mine["et"], mine.hash[:12])
