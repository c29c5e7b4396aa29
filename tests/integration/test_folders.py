"""Are files there whole or not at all, on the disk before they have their name?"""

import os
from pathlib import Path

import pytest

from interlingua.folders import whole, writing


def test_what_is_written_is_there(tmp_path):
    whole(tmp_path / "a", b"one")
    assert (tmp_path / "a").read_bytes() == b"one"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    happened = []
    sync, rename = os.fsync, Path.replace

    def synced(number):
        happened.append(("synced", os.fstat(number).st_size))
        sync(number)

    def renamed(path, target):
        happened.append(("renamed", path.name))
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    whole(tmp_path / "a", b"one")
    assert happened == [("synced", 3), ("renamed", "a.partial")]


def test_what_goes_wrong_leaves_what_was_there(tmp_path):
    whole(tmp_path / "a", b"one")
    with pytest.raises(OSError, match="full"), writing(tmp_path / "a") as file:
        file.write(b"tw")
        raise OSError("full")
    assert (tmp_path / "a").read_bytes() == b"one"
