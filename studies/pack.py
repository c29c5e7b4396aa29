"""Carry what cells share to another machine in a tenth of its size: tokens are made again there, and compared.

    interlingua study run monolingual --prepare --out run
    python studies/pack.py pack run/prepared packed       # text/NAME.xz each by itself, and small.tar.xz
    python studies/pack.py unpack packed run/prepared     # there; what text has not come yet is left for the next time

A folder of prepared text is a vocabulary and the tokens of every line that is trained on. The vocabulary and which
lines these are take little room, and text packs better than tokens do. Data sets of dictionaries that switch words
must be there (INTERLINGUA_DATA).
"""

import hashlib
import json
import lzma
import os
import shutil
import sys
import tarfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from interlingua.pretrain.config import read_config
from interlingua.pretrain.prepare import Lines, never_read, source_lines, switched_by, write_tokens
from interlingua.pretrain.reading import Own
from interlingua.pretrain.tokenizers import open_vocabulary

LEVEL = 9 | lzma.PRESET_EXTREME


def hash_of(path):
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def moved(config, prepared):
    """The settings with their files where they are now."""

    def here(name):
        return str(prepared / Path(name).name) if (prepared / Path(name).name).is_file() else name

    text = {lang: [here(name) for name in names] for lang, names in config.text.items()}
    return config.model_copy(update={"text": text, "without": here(config.without) if config.without else ""})


def pack(prepared, out):
    """Every prepared folder, and the texts that they were made from."""
    (out / "text").mkdir(parents=True)
    numbers = {}
    with tarfile.open(out / "small.tar.xz", "w:xz", preset=LEVEL) as tar:
        for facts in sorted(prepared.glob("*/data/facts.json")):
            data, run = facts.parent, facts.parents[1]
            config = moved(read_config(str(run / "config.yaml")), prepared)
            if config.equal:
                sys.exit(f"{run}: lines are drawn there, which is not packed")
            streams = {}
            for lang, sources in config.text.items():
                key = hashlib.sha256(json.dumps([lang, sources, config.without, config.held_out]).encode()).hexdigest()
                if key not in numbers:
                    numbers[key] = np.array(Lines(lang, sources, config, never_read(config)).numbers(), np.uint32)
                    np.save(prepared / f"{key[:16]}.lines.npy", numbers[key])
                    tar.add(prepared / f"{key[:16]}.lines.npy", f"{key[:16]}.lines.npy")
                    (prepared / f"{key[:16]}.lines.npy").unlink()
                streams[lang] = {"lines": f"{key[:16]}.lines.npy", "hash": hash_of(data / f"{lang}.npy")}
            (run / "streams.json").write_text(json.dumps(streams))
            for path in (run / "config.yaml", run / "streams.json", *sorted(data.rglob("*"))):
                if path.is_file() and not (path.suffix == ".npy" and path.stem in streams):
                    tar.add(path, path.relative_to(prepared))
            (run / "streams.json").unlink()
            print(f"{run.name}: {', '.join(streams)}", flush=True)
        for path in sorted(prepared.glob("without-*.txt")):
            tar.add(path, path.name)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        texts = [path for path in prepared.glob("*.txt") if not path.name.startswith("without-")]
        list(pool.map(squeezed, texts, [out / "text" / f"{path.name}.xz" for path in texts]))
    print(f"{sum(path.stat().st_size for path in out.rglob('*') if path.is_file()):,} bytes in {out}")


def squeezed(path, to):
    """A file, packed."""
    with path.open("rb") as read, lzma.open(to, "wb", preset=LEVEL) as write:
        shutil.copyfileobj(read, write)


def unpack(packed, prepared):
    """What can be made of the texts that are there."""
    prepared.mkdir(parents=True, exist_ok=True)
    small = packed / "small.tar.xz"
    if small.exists():
        with tarfile.open(small) as tar:
            tar.extractall(prepared, filter="data")
        for facts in prepared.glob("*/data/facts.json"):  # not whole before its tokens are there
            if (facts.parents[1] / "streams.json").exists():
                facts.rename(facts.with_name("facts.later"))
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        texts = sorted((packed / "text").glob("*.xz"))
        list(pool.map(spread, texts, [prepared / path.name.removesuffix(".xz") for path in texts]))
        left = [facts.parents[1] for facts in sorted(prepared.glob("*/data/facts.later"))]
        for told in pool.map(made, left):
            print(told, flush=True)
    if not any(prepared.glob("*/data/facts.later")):
        for path in prepared.glob("*.lines.npy"):
            path.unlink()


def spread(path, to):
    """A file, unpacked."""
    with lzma.open(path) as read, to.open("wb") as write:
        shutil.copyfileobj(read, write)


def made(run):
    """Tokens of a folder, the same to the byte or none."""
    prepared, data = run.parent, run / "data"
    config = moved(read_config(str(run / "config.yaml")), prepared)
    streams = json.loads((run / "streams.json").read_text())
    if missing := [n for names in config.text.values() for n in names if n.endswith(".txt") and not Path(n).is_file()]:
        return f"{run.name}: waits for {missing[0]}"
    reading = Own(open_vocabulary(data / "vocabulary"))
    for lang, about in streams.items():
        every = [line for source in config.text[lang] for line in source_lines(source, lang)]
        lines = (every[i] for i in np.load(prepared / about["lines"]))
        write_tokens(data, lang, lang, reading, [(lang, switched_by(config, lang)(lines))])
        if hash_of(data / f"{lang}.npy") != about["hash"]:
            return f"{run.name}: other tokens of {lang} came out than were packed: prepare it here"
    (run / "streams.json").unlink()
    (data / "facts.later").rename(data / "facts.json")
    return f"{run.name}: {', '.join(streams)}"


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("pack", "unpack"):
        sys.exit(__doc__)
    {"pack": pack, "unpack": unpack}[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
