"""What cells share, carried to another machine: the same to the byte, or not there."""

import lzma
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from interlingua.studies import frame
from interlingua.studies.catalog import find
from interlingua.studies.study import settings_of

PACK = Path(__file__).parents[2] / "studies" / "pack.py"


def run(verb, source, to, code=0):
    done = subprocess.run([sys.executable, PACK, verb, source, to], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stderr if code else done.stdout


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
    shutil.move(first / "text" / "fr.all.6000.txt.xz", later)
    there = tmp_path / "there"
    assert run("unpack", first, there).count("waits for") == 2
    assert len(list(there.glob("*/data/facts.json"))) == 2
    assert "waits" not in run("unpack", later.parent, there)
    assert content(there) == content(prepared / "gone" / "prepared")
    assert not list(there.glob("*.lines.npy"))
    assert run("unpack", first, there).count("is there") == 4
    assert content(there) == content(prepared / "gone" / "prepared")


def test_other_text_is_told(prepared, tmp_path):
    other = shutil.copytree(prepared / "packed", tmp_path / "other")
    place = other / "text" / "fr.all.6000.txt.xz"
    place.write_bytes(lzma.compress(lzma.decompress(place.read_bytes()).upper()))
    told = run("unpack", other, tmp_path / "there")
    assert told.count("other tokens of fr") == 2
    assert len(list((tmp_path / "there").glob("*/data/facts.json"))) == 2


def test_what_cannot_be_packed_or_unpacked_is_a_line(prepared, tmp_path):
    (tmp_path / "empty").mkdir()
    assert run("pack", tmp_path / "empty", tmp_path / "out", 1).count("\n") == 1
    assert "is there already" in run("pack", prepared / "gone" / "prepared", prepared / "packed", 1)
    assert "nothing that was packed" in run("unpack", tmp_path / "empty", tmp_path / "out", 1)
    cut = shutil.copytree(prepared / "packed", tmp_path / "cut")
    place = cut / "text" / "en.all.6000.txt.xz"
    place.write_bytes(place.read_bytes()[:-40])
    assert run("unpack", cut, tmp_path / "there", 1).count("\n") == 1
    assert not (tmp_path / "there" / "en.all.6000.txt").exists()
    (cut / "small.tar.xz").write_bytes((cut / "small.tar.xz").read_bytes()[:2000])
    assert "is damaged, copy it again" in run("unpack", cut, tmp_path / "other", 1)
