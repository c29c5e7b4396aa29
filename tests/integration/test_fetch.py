"""Downloads from a server on this machine that cuts connections, lies about lengths and serves wrong bytes."""

import errno
import hashlib
import http.server
import io
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from dataclasses import replace

import pytest

import interlingua as il
from interlingua.corpora import fetch
from interlingua.corpora.fetch import download, fetch_dataset, unpack
from interlingua.corpora.places import find
from interlingua.errors import DataNotFoundError, DownloadError, InputError, IntegrityError

BODY = bytes(range(256)) * 2000
SHA = hashlib.sha256(BODY).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    """What it does depends on the path; every request is logged."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.server.requests.append((self.path, self.headers.get("Range"), self.headers.get("If-Range")))
        getattr(self, f"serve_{self.path.strip('/').split('/')[0].split('.')[0]}", self.serve_files)()

    def answer(self, body, status=200, length=None, headers=()):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def start(self):
        wanted = self.headers.get("Range")
        return int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0

    def part(self, start, stop=None, etag='"v1"', body=BODY):
        headers = [("ETag", etag)] if etag else []
        if start:
            headers.append(("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}"))
        self.answer(body[start:stop], 206 if start else 200, len(body) - start, headers)

    def serve_good(self):
        self.part(self.start())

    def serve_cut(self):
        """Three times as much as before, then the line goes dead."""
        start = self.start()
        self.part(start, start + len(BODY) // 3)

    def serve_cutonce(self):
        first = len([r for r in self.server.requests if r[0] == self.path]) == 1
        self.part(self.start(), len(BODY) // 2 if first else None)

    def serve_norange(self):
        first = len([r for r in self.server.requests if r[0] == self.path]) == 1
        self.answer(BODY[: len(BODY) // 2] if first else BODY, length=len(BODY), headers=[("ETag", '"v1"')])

    def serve_changed(self):
        """The file becomes another one between two requests."""
        if len([r for r in self.server.requests if r[0] == self.path]) == 1:
            self.part(0, len(BODY) // 2)
        else:
            self.answer(BODY[::-1], headers=[("ETag", '"v2"')])

    def serve_untagged(self):
        first = len([r for r in self.server.requests if r[0] == self.path]) == 1
        self.part(self.start(), len(BODY) // 2 if first else None, etag="")

    def serve_toolong(self):
        """Promises more than it ever sends."""
        if self.start():
            self.answer(b"", 416, headers=[("Content-Range", f"bytes */{len(BODY) + 5}")])
        else:
            self.answer(BODY, length=len(BODY) + 5, headers=[("ETag", '"v1"')])

    def serve_tooshort(self):
        self.answer(BODY[:1000])

    def serve_wrong(self):
        self.answer(BODY[::-1])

    def serve_wrongrange(self):
        if self.start():
            self.answer(BODY, 206, headers=[("Content-Range", f"bytes 7-{len(BODY) - 1}/{len(BODY)}")])
        else:
            self.part(0, len(BODY) // 2)

    def serve_missing(self):
        self.answer(b"no", 404)

    def serve_busy(self):
        first = len([r for r in self.server.requests if r[0] == self.path]) < 3
        self.answer(b"later", 503) if first else self.part(0)

    def serve_down(self):
        self.answer(b"later", 503)

    def serve_huge(self):
        self.answer(b"x", length=1 << 50)

    def serve_chunked(self):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for i in range(0, len(BODY), 50_000):
            piece = BODY[i : i + 50_000]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True

    def serve_slow(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        for i in range(0, len(BODY), 100_000):
            self.wfile.write(BODY[i : i + 100_000])
            time.sleep(0.1)
        self.close_connection = True

    def serve_endless(self):
        """Neither a length nor chunks: the end of the connection is the end of the file, or is it?"""
        self.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n" + BODY[:5000])
        self.close_connection = True

    def serve_redirect(self):
        self.send_response(302)
        self.send_header("Location", "file:///etc/hostname")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def serve_files(self):
        body = self.server.files.get(self.path)
        self.answer(b"no", 404) if body is None else self.answer(body)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(fetch, "BACKOFF", 0.001)
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    web.requests, web.files = [], {}
    web.url = f"http://127.0.0.1:{web.server_port}"
    thread = threading.Thread(target=web.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield web
    web.shutdown()
    web.server_close()
    thread.join()


def leftovers(folder):
    return sorted(p.name for p in folder.rglob("*") if p.is_file())


@pytest.mark.parametrize("path", ["good", "cut", "cutonce", "norange", "untagged", "busy", "chunked"])
@pytest.mark.parametrize("sha", [SHA, None])
def test_what_arrives_is_whole(server, tmp_path, path, sha):
    seen = []
    target = download(
        f"{server.url}/{path}", tmp_path / "a", sha256=sha, progress=lambda done, total: seen.append(done)
    )
    assert target.read_bytes() == BODY
    assert leftovers(tmp_path) == ["a"]
    assert seen[-1] == len(BODY)


def test_a_cut_connection_is_taken_up_where_it_broke(server, tmp_path):
    download(f"{server.url}/cutonce", tmp_path / "a", sha256=SHA)
    assert [r[1:] for r in server.requests] == [(None, None), (f"bytes={len(BODY) // 2}-", '"v1"')]


def test_a_later_run_goes_on_from_what_is_there(server, tmp_path):
    (tmp_path / "a.part").write_bytes(BODY[:1000])
    (tmp_path / "a.part.etag").write_text('"v1"')
    download(f"{server.url}/good", tmp_path / "a")
    assert server.requests == [("/good", "bytes=1000-", '"v1"')]
    assert (tmp_path / "a").read_bytes() == BODY


def test_without_a_tag_or_a_hash_a_part_is_not_trusted(server, tmp_path):
    (tmp_path / "a.part").write_bytes(b"who knows what this is")
    download(f"{server.url}/good", tmp_path / "a")
    assert server.requests == [("/good", None, None)]
    assert (tmp_path / "a").read_bytes() == BODY


def test_a_file_that_changed_meanwhile_is_fetched_anew(server, tmp_path):
    assert download(f"{server.url}/changed", tmp_path / "a").read_bytes() == BODY[::-1]


@pytest.mark.parametrize(
    ("path", "error", "message", "kept"),
    [
        ("wrong", IntegrityError, "gave bytes with SHA-256", []),
        ("tooshort", IntegrityError, "gave bytes with SHA-256", []),
        ("toolong", DownloadError, "the connection was cut; what arrived is kept", None),
        ("missing", DownloadError, "the server answered 404", []),
        ("down", DownloadError, "the server answered 503$", []),
        ("huge", DownloadError, "more than the .* allowed", []),
        ("wrongrange", DownloadError, "answered with bytes from 7 where", None),
        ("redirect", DownloadError, "302", []),
    ],
)
def test_what_goes_wrong_is_said_and_never_passes_for_the_file(server, tmp_path, path, error, message, kept):
    with pytest.raises(error, match=message) as caught:
        download(f"{server.url}/{path}", tmp_path / "a", sha256=SHA)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "a").exists()
    if kept is not None:
        assert leftovers(tmp_path) == kept


def test_a_stream_without_a_length_is_capped(server, tmp_path):
    with pytest.raises(DownloadError, match="sends more than the 1,000 bytes allowed"):
        download(f"{server.url}/chunked", tmp_path / "a", max_bytes=1000)


def test_a_body_of_unknown_length_is_taken_only_with_a_hash(server, tmp_path):
    with pytest.raises(DownloadError, match="whether all arrived cannot be known"):
        download(f"{server.url}/endless", tmp_path / "a")
    with pytest.raises(IntegrityError, match="SHA-256"):
        download(f"{server.url}/endless", tmp_path / "a", sha256=SHA)
    digest = hashlib.sha256(BODY[:5000]).hexdigest()
    assert download(f"{server.url}/endless", tmp_path / "a", sha256=digest).read_bytes() == BODY[:5000]


def test_nobody_is_listening(tmp_path, monkeypatch):
    monkeypatch.setattr(fetch, "BACKOFF", 0.001)
    with pytest.raises(DownloadError, match="refused"):
        download("http://127.0.0.1:9/x", tmp_path / "a")


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/x", "x"])
def test_only_web_addresses(tmp_path, url):
    with pytest.raises(InputError, match="is not an http address"):
        download(url, tmp_path / "a")


def test_a_file_that_is_there_is_not_fetched_again(server, tmp_path):
    (tmp_path / "a").write_bytes(BODY)
    download(f"{server.url}/good", tmp_path / "a", sha256=SHA)
    assert server.requests == []
    (tmp_path / "a").write_bytes(b"damaged")
    assert download(f"{server.url}/good", tmp_path / "a", sha256=SHA).read_bytes() == BODY


# -- archives ---------------------------------------------------------------------------------------------------------


def make_tar(path, members):
    with tarfile.open(path, "w:gz") as bundle:
        for name, content in members:
            info = tarfile.TarInfo(name)
            if content is None:
                info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
                bundle.addfile(info)
            else:
                info.size = len(content)
                bundle.addfile(info, io.BytesIO(content))
    return path


def make_zip(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, content in members:
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            if content is None:
                info.external_attr = 0o120777 << 16
            bundle.writestr(info, b"/etc/passwd" if content is None else content)
    return path


@pytest.mark.parametrize("make", [make_tar, make_zip])
class TestArchives:
    def test_unpacked(self, tmp_path, make):
        archive = make(tmp_path / "a.bin", [("x/en.txt", b"a\n"), ("fr.txt", b"b\n")])
        unpack(archive, tmp_path / "out")
        assert (tmp_path / "out" / "x" / "en.txt").read_bytes() == b"a\n"
        assert leftovers(tmp_path / "out") == ["en.txt", "fr.txt"]

    @pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "x/../../evil", "..\\evil"])
    def test_nothing_leaves_the_folder(self, tmp_path, make, name):
        archive = make(tmp_path / "a.bin", [("good.txt", b"a\n"), (name, b"evil")])
        if make is make_zip and name.startswith("/"):
            # The zip module itself strips a leading slash when writing; the name is then harmless.
            return
        with pytest.raises(IntegrityError, match="would land outside its folder: refused"):
            unpack(archive, tmp_path / "out")
        assert not (tmp_path / "out").exists()
        assert not (tmp_path / "evil").exists()

    def test_links_are_refused(self, tmp_path, make):
        archive = make(tmp_path / "a.bin", [("good.txt", b"a\n"), ("link", None)])
        with pytest.raises(IntegrityError, match="refused"):
            unpack(archive, tmp_path / "out")
        assert not (tmp_path / "out").exists()

    def test_bombs_are_refused(self, tmp_path, make, monkeypatch):
        monkeypatch.setattr(fetch, "RATIO_FROM", 1 << 16)
        archive = make(tmp_path / "a.bin", [("zeros", b"\0" * (8 << 20))])
        with pytest.raises(IntegrityError, match="grows past"):
            unpack(archive, tmp_path / "out")
        assert not (tmp_path / "out").exists()
        assert leftovers(tmp_path) == ["a.bin"]

    def test_a_wrong_checksum_is_damage(self, tmp_path, make):
        archive = make(tmp_path / "a.bin", [("x.txt", b"some text that will be changed " * 50)])
        data = bytearray(archive.read_bytes())
        # The checksum: eight bytes before the end of a gzip; in a zip, in the entry's header.
        place = len(data) - 8 if make is make_tar else data.index(b"PK\x01\x02") + 16
        data[place] ^= 0xFF
        archive.write_bytes(bytes(data))
        with pytest.raises(IntegrityError, match="is damaged"):
            unpack(archive, tmp_path / "out")
        assert not (tmp_path / "out").exists()

    def test_damage_is_named(self, tmp_path, make):
        archive = make(tmp_path / "a.bin", [("x.txt", bytes(range(256)) * 400)])
        data = archive.read_bytes()
        archive.write_bytes(data[: len(data) // 2])
        with pytest.raises(IntegrityError, match="is damaged"):
            unpack(archive, tmp_path / "out")
        assert leftovers(tmp_path) == ["a.bin"]


# -- data sets --------------------------------------------------------------------------------------------------------


@pytest.fixture
def ntrex(server, monkeypatch):
    """The catalogue's NTREX, with its address on this machine."""
    dataset, *_ = find("ntrex")
    moved = replace(dataset, origin=replace(dataset.origin, url=f"{server.url}/ntrex/{{lang}}.txt", exceptions={}))
    monkeypatch.setattr("interlingua.corpora.places.CATALOG", (moved,))
    server.files["/ntrex/eng.txt"] = b"one\ntwo\n"
    server.files["/ntrex/fra.txt"] = b"un\ndeux\n"
    return moved


def test_a_data_set_is_fetched_once_and_found_after_that(no_data, server, ntrex):
    assert il.parallel("ntrex", "en", "fr")["fr"] == ("un", "deux")
    assert leftovers(no_data) == ["eng.txt", "fra.txt"]
    assert il.parallel("ntrex", "en", "fr")["en"] == ("one", "two")
    assert len(server.requests) == 2


def test_a_request_that_failed_half_way_can_be_repeated(no_data, server, ntrex):
    kept = server.files.pop("/ntrex/fra.txt")
    with pytest.raises(DataNotFoundError, match=r"ntrex is not on this machine .*fra.txt: the server answered 404"):
        il.parallel("ntrex", "en", "fr")
    server.files["/ntrex/fra.txt"] = kept
    assert il.parallel("ntrex", "en", "fr")["fr"] == ("un", "deux")


def test_a_language_that_is_missing_here_is_fetched(no_data, server, ntrex):
    il.parallel("ntrex", "en", "fr")
    server.files["/ntrex/deu.txt"] = b"eins\nzwei\n"
    assert il.parallel("ntrex", "en", "de")["de"] == ("eins", "zwei")
    with pytest.raises(InputError, match=r"unknown language in ntrex 'es': there are de, en, fr"):
        il.parallel("ntrex", "en", "es")


def test_two_processes_do_not_spoil_one_file(server, tmp_path):
    """Both ask for the same slow file at once; both get it whole."""
    code = "import sys; from pathlib import Path; from interlingua.corpora.fetch import download; "
    code += f"download('{server.url}/slow', Path(sys.argv[1]))"
    running = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "a")]) for _ in range(3)]
    assert [process.wait(timeout=60) for process in running] == [0, 0, 0]
    assert (tmp_path / "a").read_bytes() == BODY
    assert len(server.requests) == 1


def test_archives_of_the_catalogue_are_unpacked(no_data, server, monkeypatch, tmp_path):
    dataset, *_ = find("europarl_v7")
    moved = replace(dataset, origin=replace(dataset.origin, url=f"{server.url}/{{source}}-{{target}}.tgz"))
    monkeypatch.setattr("interlingua.corpora.places.CATALOG", (moved,))
    members = [("europarl-v7.fr-en.en", b"one\n"), ("europarl-v7.fr-en.fr", b"un\n")]
    server.files["/fr-en.tgz"] = make_tar(tmp_path / "x.tgz", members).read_bytes()
    assert il.parallel("europarl_v7", "en", "fr")["en"] == ("one",)
    assert leftovers(no_data) == ["europarl-v7.fr-en.en", "europarl-v7.fr-en.fr"]


def test_a_full_disk(no_data, ntrex, monkeypatch):
    def full(*_args, **_kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(fetch, "_transfer", full)
    with pytest.raises(DownloadError, match="cannot write ntrex to .*: No space left on device"):
        fetch_dataset(ntrex, [il.Language.parse("en")])


@pytest.mark.parametrize(
    ("name", "languages", "message"),
    [
        ("conll2002", ["es"], "has no address to download from"),
        ("ntrex", [], "say which languages"),
        ("tatoeba", ["fr"], "comes in pairs"),
    ],
)
def test_requests_that_cannot_be_made(no_data, name, languages, message):
    with pytest.raises((DownloadError, InputError), match=message):
        fetch_dataset(find(name)[0], [il.Language.parse(tag) for tag in languages])


def test_addresses_are_those_of_the_catalogue(no_data):
    def urls(name, *tags, split=""):
        dataset, part, _ = find(name)
        return list(fetch.requests(dataset, [il.Language.parse(t) for t in tags], split, part))

    (url, path), _ = urls("ntrex", "zh", "fr")
    assert url.endswith("/newstest2019-ref.zho-CN.txt")
    assert path == "zho-CN.txt"
    assert [u.rpartition("/")[2] for u, _ in urls("tatoeba", "fr", "en")] == [
        "tatoeba.fra-eng.fra",
        "tatoeba.fra-eng.eng",
    ]
    assert urls("tatoeba", "en", "fr") == urls("tatoeba", "fr", "en")
    assert urls("ntrex", "cs")[0][1] == "ces.txt"
    assert urls("ntrex", "en")[0][0].endswith("/newstest2019-src.eng.txt")
    assert urls("muse", "en", "fr", split="train")[0][1] == "en-fr.0-5000.txt"
    with pytest.raises(InputError, match="no address for the split 'full'"):
        urls("muse", "en", "fr", split="full")
    for unfit in ("../../etc", "a/b", "x y"):
        with pytest.raises(InputError, match="is no split"):
            urls("muse", "en", "fr", split=unfit)
    assert urls("xcopa", "et", split="dev")[0][0].endswith("/et/val.et.jsonl")
    assert urls("multi30k", "de")[0][1] == "val.de.txt.gz"
