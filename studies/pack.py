"""Carry what cells share to another machine in a tenth of its size: tokens are made again there, and compared.

    interlingua study run monolingual --prepare --out run
    python studies/pack.py pack run/prepared packed       # text/NAME.xz each by itself, and small.tar.xz
    python studies/pack.py unpack packed run/prepared     # there; what text has not come yet is left for the next time

A folder of prepared text is a vocabulary and the tokens of every line that is trained on. The vocabulary and which
lines these are take little room, and text packs better than tokens do. Data sets of dictionaries that switch words
must be there (INTERLINGUA_DATA).
"""

import hashlib
import io
import json
import lzma
import os
import shutil
import sys
import tarfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from interlingua.folders import whole
from interlingua.pretrain.config import read_config
from interlingua.pretrain.prepare import Lines, never_read, source_lines, switched_by, write_tokens
from interlingua.pretrain.reading import Own
from interlingua.pretrain.tokenizers import open_vocabulary

LEVEL = 9 | lzma.PRESET_EXTREME
# What a folder is to become once its text is there: hashes of tokens, and the facts that say that it is whole.
LATER = "later.json"


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
    if not any(prepared.glob("*/data/facts.json")):
        sys.exit(f"{prepared} holds no prepared text: interlingua study run NAME --prepare --out RESULTS makes it")
    if out.exists():
        sys.exit(f"{out} is there already: name a new folder")
    (out / "text").mkdir(parents=True)
    numbers = set()
    with tarfile.open(out / "small.tar.xz", "w:xz", preset=LEVEL) as tar:
        for facts in sorted(prepared.glob("*/data/facts.json")):
            data, run = facts.parent, facts.parents[1]
            config = moved(read_config(str(run / "config.yaml")), prepared)
            if config.equal:
                sys.exit(f"{run}: lines are drawn there, which is not packed")
            files = [Path(name) for names in (*config.text.values(), [config.without]) for name in names if name]
            if outside := [file for file in files if file.is_file() and file.parent != prepared]:
                sys.exit(f"{run}: {outside[0]} is not in {prepared}, and only what is there is packed")
            streams = {}
            for lang, sources in config.text.items():
                read = [lang, sources, config.without, config.held_out, config.lines]
                name = f"{hashlib.sha256(json.dumps(read).encode()).hexdigest()[:16]}.lines.npy"
                if name not in numbers:
                    kept = io.BytesIO()
                    np.save(kept, np.array(Lines(lang, sources, config, never_read(config)).numbers(), np.uint32))
                    numbers.add(name)
                    add(tar, name, kept.getvalue())
                streams[lang] = {"lines": name, "hash": hash_of(data / f"{lang}.npy")}
            for path in (run / "config.yaml", *sorted(data.rglob("*"))):
                if path.is_file() and path != facts and not (path.suffix == ".npy" and path.stem in streams):
                    tar.add(path, path.relative_to(prepared))
            add(tar, f"{run.name}/{LATER}", json.dumps([streams, json.loads(facts.read_text())]).encode())
            print(f"{run.name}: {', '.join(streams)}", flush=True)
        for path in sorted(prepared.glob("without-*.txt")):
            tar.add(path, path.name)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        texts = [path for path in prepared.glob("*.txt") if not path.name.startswith("without-")]
        list(pool.map(squeezed, texts, [out / "text" / f"{path.name}.xz" for path in texts]))
    print(f"{sum(path.stat().st_size for path in out.rglob('*') if path.is_file()):,} bytes in {out}")


def add(tar, name, content):
    """A file that is nowhere else."""
    about = tarfile.TarInfo(name)
    about.size = len(content)
    tar.addfile(about, io.BytesIO(content))


def squeezed(path, to):
    """A file, packed."""
    with path.open("rb") as read, lzma.open(to, "wb", preset=LEVEL) as write:
        shutil.copyfileobj(read, write)


def unpack(packed, prepared):
    """What can be made of the texts that are there; what is whole already is left alone."""
    small, texts = packed / "small.tar.xz", sorted((packed / "text").glob("*.xz"))
    if not small.exists() and not texts:
        sys.exit(f"{packed} holds nothing that was packed")
    prepared.mkdir(parents=True, exist_ok=True)
    try:
        if small.exists():
            with tarfile.open(small) as tar:
                tar.extractall(prepared, filter="data")
        with ProcessPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(spread, texts, [prepared / path.name.removesuffix(".xz") for path in texts]))
            for told in pool.map(made, sorted(prepared.glob(f"*/{LATER}"))):
                print(told, flush=True)
    except (EOFError, lzma.LZMAError, tarfile.TarError) as error:
        sys.exit(f"{packed} is damaged, copy it again: {error}")
    if not any(prepared.glob(f"*/{LATER}")):
        for path in prepared.glob("*.lines.npy"):
            path.unlink()


def spread(path, to):
    """A file, unpacked: whole or not there."""
    with lzma.open(path) as read, to.with_suffix(".part").open("wb") as write:
        shutil.copyfileobj(read, write)
    to.with_suffix(".part").rename(to)


def made(later):
    """Tokens of a folder, the same to the byte or none."""
    run = later.parent
    prepared, data = run.parent, run / "data"
    if (data / "facts.json").exists():
        later.unlink()
        return f"{run.name}: is there"
    config = moved(read_config(str(run / "config.yaml")), prepared)
    streams, facts = json.loads(later.read_text())
    if missing := [n for names in config.text.values() for n in names if n.endswith(".txt") and not Path(n).is_file()]:
        return f"{run.name}: waits for {Path(missing[0]).name}"
    reading = Own(open_vocabulary(data / "vocabulary"))
    for lang, about in streams.items():
        every = [line for source in config.text[lang] for line in source_lines(source, lang)]
        lines = np.load(prepared / about["lines"])
        if len(lines) and lines[-1] < len(every):
            write_tokens(data, lang, lang, reading, [(lang, switched_by(config, lang)(every[i] for i in lines))])
        if not (data / f"{lang}.npy").exists() or hash_of(data / f"{lang}.npy") != about["hash"]:
            return f"{run.name}: other tokens of {lang} came out than were packed: prepare it here"
    whole(data / "facts.json", json.dumps(facts, indent=1).encode())
    later.unlink()
    return f"{run.name}: {', '.join(streams)}"


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("pack", "unpack"):
        sys.exit(__doc__)
    {"pack": pack, "unpack": unpack}[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
