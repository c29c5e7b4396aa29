"""What was found is kept with its hash: what is not what was written is made again."""

import json

import pytest

from interlingua.report.tables import keep_found, kept_found

FOUND = [{"value": 0.1 + 0.2, "low": float("inf"), "name": "né", "none": None, "n": 3, "list": [1, [2.5e-300]]}]


def test_what_is_kept_is_given_back(tmp_path):
    keep_found(tmp_path / "a.json", FOUND)
    assert kept_found(tmp_path / "a.json") == FOUND
    assert kept_found(tmp_path / "b.json") is None
    keep_found(tmp_path / "a.json", {1: "a key becomes text"})
    assert kept_found(tmp_path / "a.json") == {"1": "a key becomes text"}


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"7", b'{"found": 1}', b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_such_file_is_not_there(tmp_path, content):
    (tmp_path / "a.json").write_bytes(content)
    assert kept_found(tmp_path / "a.json") is None


def test_no_changed_byte_goes_unseen(tmp_path):
    place = tmp_path / "a.json"
    keep_found(place, FOUND)
    whole = place.read_bytes()
    for at in range(len(whole)):
        for bit in range(8):
            changed = bytearray(whole)
            changed[at] ^= 1 << bit
            place.write_bytes(changed)
            assert kept_found(place) in (None, FOUND)  # a blank that is another says the same
    place.write_bytes(whole[:-20])
    assert kept_found(place) is None
    held = json.loads(whole)
    held["found"][0]["n"] = 4
    place.write_text(json.dumps(held))
    assert kept_found(place) is None
