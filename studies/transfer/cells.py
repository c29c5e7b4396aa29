"""Zero-shot transfer of the built-in model: four tasks, their ablations, and mapped transfer. Tables go into a folder.

    python studies/transfer/cells.py run parsing 0 OUT     one task with one seed, in OUT/parsing.0
    python studies/transfer/cells.py join parsing OUT      what the seeds found, as one run: OUT/parsing
    python studies/transfer/cells.py layers parsing OUT    blocks drawn anew and a BiLSTM, one seed: OUT/parsing-layers
    python studies/transfer/cells.py graft EN FR OUT       two monolingual models, the built-in one as their control

Seeds are runs of their own so that several share a GPU. English-EWT is the only training treebank used; there is no
MNLI training set among the data, so inference is learnt from 48,000 pairs of other sets (MNLI's development set too).
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import interlingua as il
from interlingua.analyses.transfer import Attempt, transfer
from interlingua.report.transfer_tables import BILSTM, FREQUENT
from interlingua.transfer.finetune import Tuning
from interlingua.transfer.tasks import task

SEEDS = 3
BANKS = ("fr_gsd", "de_gsd", "es_gsd", "ru_gsd", "et_edt", "bg_btb", "zh_gsdsimp", "ar_pud")
NAMED = ("fr", "de", "es", "ru", "et", "bg", "zh", "ar", "tr")
JUDGED = ("fr", "de", "es", "ru", "bg", "zh", "ar", "tr")
INFERENCE = (("mnli", "dev"), ("snli_official", "dev"), ("snli_official", "test"), ("sick", "train"))


def records(name: str) -> tuple[list[Any], list[Any], list[Any]]:
    """What is tuned on, what the epoch is chosen by, and what is judged by."""
    asked = task(name)
    if name == "ner":
        learnt = asked.read("panx", "en", "train")
        tests = [asked.read("panx", lang, "dev")[:4000] for lang in ("en", *NAMED)]
        return [learnt[:18000]], [learnt[18000:]], tests
    if name == "nli":
        train = [asked.read(f"nli_en/{part}", "en", split) for part, split in INFERENCE]
        tests = [asked.read("xnli", lang, "test") for lang in ("en", *JUDGED)]
        return train, [asked.read("xnli", "en", "dev")], tests
    tests = [asked.read(f"ud/{bank}", bank[:2], "test") for bank in ("en_ewt", *BANKS)]
    return [asked.read("ud/en_ewt", "en", "train")], [asked.read("ud/en_ewt", "en", "dev")], tests


def attempt(name: str, seed: int, seeds: int) -> Attempt:
    """The same for every task, but for epochs."""
    tuning = Tuning(epochs={"parsing": 8, "nli": 4}.get(name, 5), seed=seed)
    return Attempt(task=name, tuning=tuning, seeds=seeds, neurons=0.1 if seeds > 1 else 0.0)


def run(name: str, seed: int, out: Path) -> None:
    """One seed."""
    transfer("built-in", *records(name), out / f"{name}.{seed}", attempt(name, seed, 1))


def layers(name: str, out: Path) -> None:
    """Which layers it needs, and what a BiLSTM does with the same sentences."""
    how = replace(attempt(name, 0, 1), random_init="pairs", baseline=True)
    found = transfer("built-in", *records(name), out / f"{name}-layers", how)
    print(found.beside(BILSTM), found.drops.to_string(), sep="\n")


def join(name: str, out: Path) -> None:
    """All seeds as one run: nothing is tuned again, and parallel text is looked at now."""
    for seed in range(SEEDS):
        for part in ("cache", "tuned"):
            shutil.copytree(out / f"{name}.{seed}" / part, out / name / part, dirs_exist_ok=True)
    train, development, tests = records(name)
    corpus = il.parallel("ntrex", *dict.fromkeys([*(task(name).language(r) for r in tests), "tr"]))
    how = attempt(name, 0, SEEDS)
    found = transfer("built-in", train, development, tests, out / name, how, parallel=corpus, force=True)
    shutil.rmtree(out / name / "representations")
    usual = found.beside(FREQUENT)
    for row in found.by_language().itertuples():
        more = f"{FREQUENT} {usual[row.language]:.3f}" if usual else ""
        print(f"{name} {row.language} {row.value:.3f} {row.low:.3f}-{row.high:.3f} gap {row.gap:+.3f} {more}")
    print(found.drops.to_string(), found.relations.to_string(), found.foretold.to_string(), sep="\n")


def graft(english: str, french: str, out: Path) -> None:
    """Parts of speech and trees, through a map from one monolingual model to the other."""
    from interlingua.analyses.mapped_transfer import mapped_transfer

    for name in ("pos", "parsing"):
        train, development, tests = records(name)
        pairs = il.parallel("ntrex", "en", "fr")
        how = Attempt(task=name, tuning=Tuning(epochs=4), seeds=1)
        place = out / f"graft-{name}"
        made = mapped_transfer(
            (english, french), train, development, (tests[0], tests[1]), pairs, place, how, control="built-in",
            layers=range(9),
        )  # fmt: skip
        shutil.rmtree(place / "maps")
        for lang in made.langs:
            print(name, lang, made.curve(lang)[["setup", "layer", "value"]].to_string(), sep="\n")


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "run":
        run(rest[0], int(rest[1]), Path(rest[2]))
    elif what == "join":
        join(rest[0], Path(rest[1]))
    elif what == "layers":
        layers(rest[0], Path(rest[1]))
    else:
        graft(rest[0], rest[1], Path(rest[2]))
