"""Every reader, fed anything: a record or one of our errors, never another exception."""

import lzma

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlingua.corpora import aligned, alignments, bio, conllu, labels, lexicon, mining, own, plain, tmx
from interlingua.corpora.check import check
from interlingua.errors import InterlinguaError
from interlingua.types import Language

EN, FR = Language.parse("en"), Language.parse("fr")

READERS = {
    "lines": (".txt", lambda p, q: aligned.read_lines({EN: p, FR: q})),
    "tsv": (".tsv", lambda p, _: own.read_own(p)),
    "csv": (".csv", lambda p, _: own.read_own(p)),
    "jsonl": (".jsonl", lambda p, _: own.read_own(p)),
    "pair": (".tsv", lambda p, _: aligned.read_pair(p, EN, FR)),
    "tagged pair": (".tsv", lambda p, _: aligned.read_pair(p, EN, FR, columns=(2, 3), tags=(0, 1))),
    "bars": (".txt", lambda p, _: aligned.read_columns(p, {EN: 0, FR: 1})),
    "squad": (".json", lambda p, q: aligned.read_squad({EN: p, FR: q})),
    "tmx": (".tmx", lambda p, _: tmx.read_tmx(p)),
    "conllu": (".conllu", lambda p, _: conllu.read_conllu(p, EN)),
    "bio": (".bio", lambda p, _: bio.read_tagged(p, EN)),
    "pos": (".bio", lambda p, _: bio.read_tagged(p, EN, entities=False)),
    "labelled": (".tsv", lambda p, _: own.read_own_labelled(p, EN)),
    "labels": (".jsonl", lambda p, _: labels.read_labelled(p, EN, {"text": "text"}, "label")),
    "dictionary": (".txt", lambda p, _: lexicon.read_dictionary(p, EN, FR)),
    "concepts": (".txt", lambda p, q: lexicon.read_concepts({EN: p, FR: q}, EN, FR)),
    "pharaoh": (".txt", lambda p, q: alignments.read_pharaoh(p, q, q, EN, FR)),
    "aligned tsv": (".tsv", lambda p, _: alignments.read_aligned_tsv(p, EN, FR)),
    "aligned jsonl": (".jsonl", lambda p, _: alignments.read_aligned_jsonl(p, EN, FR)),
    "bucc": (".en", lambda p, q: mining.read_bucc({EN: p, FR: q})),
    "text": (".txt", lambda p, _: list(plain.read_text([p], EN).documents())),
    "text xz": (".txt.xz", lambda p, _: list(plain.read_text([p], EN))),
    "check lines": (".txt", lambda p, q: check([p, q], ["en", "fr"])),
    "check tsv": (".tsv", lambda p, _: check([p])),
    "check jsonl": (".jsonl", lambda p, _: check([p])),
    "check conllu": (".conllu", lambda p, _: check([p], ["en"])),
}

# Pieces of which real files are made, so that the deeper paths are reached too.
PIECES = st.sampled_from(
    [
        b"en",
        b"fr",
        b"\t",
        b"\n",
        b"\n\n",
        b",",
        b'"',
        b" ||| ",
        b"1",
        b"2",
        b"0-0",
        b"1-2",
        b"1p0",
        b"O",
        b"B-PER",
        b"I-LOC",
        b"# text = a",
        b"1\ta\ta\tNOUN\t_\t_\t0\troot\t_\t_\n",
        b"2\tb\tb\tX\t_\t_\t1\tdep\t_\t_\n",
        b"1-2\tab" + b"\t_" * 8 + b"\n",
        b'{"en": "a", "fr": "b"}',
        b'{"text": "a", "label": 1}',
        b"text\tlabel\n",
        b"premise\thypothesis\tlabel\n",
        b'{"src_words": ["a"], "tgt_words": ["b"], "alignment": [[0, 0]]}',
        b'{"data": [{"paragraphs": [',
        b"]}]}",
        b"[",
        b"{",
        b"<tmx>",
        b"</tmx>",
        b"<tu>",
        b"</tu>",
        b'<tuv xml:lang="en">',
        b"</tuv>",
        b"<seg>",
        b"</seg>",
        b"<!DOCTYPE tmx [",
        b"&lt;",
        b"\xef\xbb\xbf",
        b"\x00",
        b"\xff",
        "é".encode(),
        "中".encode(),
        "ة".encode(),
        b"\r",
        b"\r\n",
        "\u2028".encode(),
        b"  ",
        b"|",
    ]
)
CONTENT = st.one_of(st.binary(max_size=200), st.lists(PIECES, max_size=25).map(b"".join))


@pytest.mark.parametrize("name", READERS)
@settings(
    derandomize=True, max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(first=CONTENT, second=CONTENT)
def test_any_bytes_give_a_record_or_our_error(tmp_path, name, first, second):
    suffix, read = READERS[name]
    paths = tmp_path / f"one{suffix}", tmp_path / f"two{suffix}"
    for path, content in zip(paths, (first, second), strict=True):
        path.write_bytes(content)
    try:
        read(*paths)
    except InterlinguaError as error:
        assert "\n" not in str(error)


@settings(derandomize=True, max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(0, 10**6), flip=st.integers(0, 10**6))
def test_a_damaged_archive_never_passes_for_whole(tmp_path, cut, flip):
    text = b"".join(b"line %d\n" % i for i in range(500))
    whole = bytearray(lzma.compress(text))
    path = tmp_path / "a.txt.xz"
    whole[flip % len(whole)] ^= 0x40
    path.write_bytes(bytes(whole)[: len(whole) - cut % 3])
    try:
        found = list(plain.read_text([path], EN))
    except InterlinguaError:
        return
    assert found == text.decode().splitlines()
