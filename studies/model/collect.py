"""What the model that ships must not be trained on, and what its settings are chosen by.

    python studies/model/collect.py OUT      # INTERLINGUA_DATA names the folder of data sets

Writes `OUT/tests.txt.xz`, every sentence of the test sets (for the setting `without`), and `OUT/dev/en-xx.tsv`,
parallel text of other sources to choose settings by: questions of XQuAD, captions of Multi30k,
and the sentences of XL-WA.
"""

import lzma
import sys
from pathlib import Path

import interlingua as il
from interlingua.corpora.files import lines, plain_suffix
from interlingua.corpora.loading import bitext
from interlingua.corpora.places import find, locate

LANGS = ("ar", "bg", "de", "es", "et", "fr", "ru", "tr", "zh")
TESTS = ("ntrex", "tatoeba", "xnli", "ud", "everyday")
DEV = {"fr": "multi30k:val", **dict.fromkeys(("ar", "de", "es", "ru", "tr", "zh"), "xquad")}


def sentences(name):
    """Every sentence of a data set in the ten languages: every field of a table, the text of every tree."""
    dataset = find(name)[0]
    for file in dataset.scan(locate(dataset)[1]):
        if {lang.language for lang in file.languages} <= {*LANGS, "en"}:
            for _, line in lines(file.path):
                if plain_suffix(file.path) != ".conllu":
                    yield from line.split("\t")
                elif line.startswith("# text = "):
                    yield line.removeprefix("# text = ")


def development(lang):
    """Parallel text of English and a language."""
    if lang in DEV:
        corpus = il.parallel(DEV[lang], "en", lang)
        return list(zip(corpus["en"], corpus[lang], strict=True))
    found = [bitext("xl_wa", "en", lang, split=split) for split in ("dev", "test")]
    return [
        (" ".join(s), " ".join(t)) for each in found for s, t in zip(each.source_words, each.target_words, strict=True)
    ]


out = Path(sys.argv[1])
(out / "dev").mkdir(parents=True, exist_ok=True)
never = set()
for name in TESTS:
    before = len(never)
    never.update(line.strip() for line in sentences(name))
    print(f"{name}: {len(never) - before:,} sentences")
for lang in LANGS:
    rows = [(" ".join(a.split()), " ".join(b.split())) for a, b in development(lang)]
    never.update(line for row in rows for line in row)
    (out / "dev" / f"en-{lang}.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in [("en", lang), *rows]), "utf-8")
    print(f"development en-{lang}: {len(rows):,} rows")
with lzma.open(out / "tests.txt.xz", "wt", encoding="utf-8") as file:
    file.writelines(f"{line}\n" for line in sorted(never) if line)
