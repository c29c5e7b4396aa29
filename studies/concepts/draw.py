"""Concepts drawn by a seed from a run of `interlingua concepts`, as a table to read: nobody chose them.

    python studies/concepts/draw.py RUN [--layer 6] [--count 20] [--seed 2026]

Half of them from those of the first language that have a partner in the other (CALIGN), half from those that have none.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from interlingua.report.concepts import read_concept_tables

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("run", type=Path)
parser.add_argument("--layer", type=int, default=6)
parser.add_argument("--count", type=int, default=20)
parser.add_argument("--seed", type=int, default=2026)
asked = parser.parse_args()
tables = read_concept_tables(asked.run)
source = tables.config["languages"][0]
every = tables.concepts
mine = every[(every["space"] == "base") & (every["layer"] == asked.layer) & (every["group"] == source)]
# concepts that are too small are not asked about
mine = mine[mine["types"] > tables.config["rules"]["types"]]
rng = np.random.default_rng(asked.seed)
mine = mine.assign(partners=[json.loads(p) for p in mine["partners"]])
has = np.array([len(p) > 0 for p in mine["partners"]])
drawn = [
    rng.choice(np.flatnonzero(has == kind), min(asked.count // 2, int((has == kind).sum())), False)
    for kind in (True, False)
]
print(f"{len(mine)} concepts of {source} at layer {asked.layer}, {int(has.sum())} with a partner; seed {asked.seed}\n")
print("| words (mentions) | form | partner: translations between them |")
print("|---|---|---|")
for row in np.concatenate(drawn):
    each = mine.iloc[row]
    words = ", ".join(list(each["words"])[:8]) + (" ..." if each["types"] > 8 else "")
    form = " ".join(filter(None, [each["kind"], str(each["value"] or "")])) or "-"
    partner = "none"
    if len(each["partners"]):
        _, number, share, why = each["partners"][0]
        partner = f"{share:.0%}: " + ", ".join(f"{a} = {b}" for a, b in list(why)[:5])
    print(f"| {words} ({each['types']} types, {each['mentions']}) | {form} | {partner} |")
