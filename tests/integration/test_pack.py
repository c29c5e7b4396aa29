"""What cells share, carried to another machine: the same to the byte, or not there."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from interlingua.studies import frame
from interlingua.studies.catalog import find
from interlingua.studies.study import settings_of

PACK = Path(__file__).parents[2] / "studies" / "pack.py"


def run(verb, source, to):
    done = subprocess.run([sys.executable, PACK, verb, source, to], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Prepared text, packed, and no longer where it was made."""
    folder = tmp_path_factory.mktemp("pack")
    study = find("monolingual")
    how = settings_of(study, "smoke", ["characters=6000", "held_out=10"])
    frame.run(study, how, folder / "here", prepare_only=True)
    run("pack", folder / "here" / "prepared", folder / "packed")
    (folder / "here").rename(folder / "gone")
    return folder


def content(prepared):
    found = {}
    for path in sorted(prepared.glob("*/data/**/*")):
        if path.is_file():
            found[str(path.relative_to(prepared))] = path.read_bytes()
    return found


def test_text_that_comes_later(prepared, tmp_path):
    first = shutil.copytree(prepared / "packed", tmp_path / "first")
    later = tmp_path / "later" / "text"
    later.mkdir(parents=True)
    shutil.move(first / "text" / "fr.all.txt.xz", later)
    there = tmp_path / "there"
    assert run("unpack", first, there).count("waits for") == 2
    assert len(list(there.glob("*/data/facts.json"))) == 2
    assert "waits" not in run("unpack", later.parent, there)
    assert content(there) == content(prepared / "gone" / "prepared")
    assert not list(there.glob("*.lines.npy"))


def test_other_text_is_told(prepared, tmp_path):
    import lzma

    other = shutil.copytree(prepared / "packed", tmp_path / "other")
    place = other / "text" / "fr.all.txt.xz"
    place.write_bytes(lzma.compress(lzma.decompress(place.read_bytes()).upper()))
    told = run("unpack", other, tmp_path / "there")
    assert told.count("other tokens of fr") == 2
    assert len(list((tmp_path / "there").glob("*/data/facts.json"))) == 2
