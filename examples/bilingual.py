"""Train a small bilingual model without parallel text, and look for the common language inside it.

    python examples/bilingual.py                                                  # a minute of nothing much, offline
    python examples/bilingual.py fr --size mini --text mono --corpus ntrex --out runs   # the real thing, on a GPU

Text and parallel sentences are data sets by name, or files. Prints how many sentences find their translation at each
layer, of the model and of its untrained twin, as they are and with the mean of each language removed.
"""

import argparse
from pathlib import Path

import interlingua as il
from interlingua.analyses.survey import Survey, survey
from interlingua.measures.prepare import Preparation
from interlingua.pretrain.config import read_config
from interlingua.pretrain.train import pretrain
from interlingua.report.tables import write

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("language", nargs="?", default="fr")
parser.add_argument("--preset", default="default")
parser.add_argument("--size", default="nano")
parser.add_argument("--text", default="everyday", help="a data set, or files as en.txt,fr.txt")
parser.add_argument("--corpus", default="everyday")
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--set", action="append", default=[])
parser.add_argument("--out", type=Path, default=Path("runs"))
asked = parser.parse_args()

langs = ("en", asked.language)
files = asked.text.split(",") if "," in asked.text else [asked.text, asked.text]
texts = [f"text.{lang}={source}" for lang, source in zip(langs, files, strict=True)]
config = read_config(asked.preset, [f"size={asked.size}", f"seed={asked.seed}", "held_out=100", *texts, *asked.set])
name = f"en-{asked.language}-{asked.preset}-{asked.seed}"


def say(words):
    """A line, at once."""
    print(f"{name}: {words}", flush=True)


def watch(line):
    """Only evaluations are worth a line."""
    if line.scores:
        bits = ", ".join(f"{score.language} {score.bits:.3f} bits a character" for score in line.scores)
        say(f"update {line.update}, loss {line.loss:.3f}, {line.updates_per_second:.1f} updates/s, {bits}")


run = pretrain(config, asked.out / name, say=say, progress=watch)
print(f"{name}: {run.updates} updates, {run.updates_per_second:.1f} a second")

corpus = il.parallel(asked.corpus, *langs)
for how, step in (("raw", Preparation()), ("centred", Preparation(remove_mean=True))):
    tables = survey(
        [str(run.model)],
        corpus,
        asked.out / name / f"compare-{how}",
        Survey(source="en", preparation=step, extraction={"truncate": True}),
    )
    write(tables, asked.out / name / f"compare-{how}")
    values = tables.values[tables.values.measure == "matching"].sort_values("layer")
    for trained, rows in (("trained", values[~values.baseline]), ("random", values[values.baseline])):
        print(f"{name} {how:8} {trained:8} " + " ".join(f"{v:.3f}" for v in rows.value))
