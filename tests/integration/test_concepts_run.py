"""`interlingua concepts`, end to end: a model beside a tuned one, resumed runs, lexicons of one's own, and misuse."""

import json
import shutil
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pandas as pd
import pytest
import tiny

import interlingua as il
from interlingua.analyses.concept_run import Inquiry, spread
from interlingua.analyses.concepts import find_concepts
from interlingua.errors import InterlinguaError
from interlingua.report.concept_tables import read_concept_tables
from interlingua.report.concepts import figures, told

QUICK = ("--langs", "en,de", "--rows", 60, "--k", 12, "--layers", "0,2", "--truncate", "--formats", "none")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return tiny.two_models(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def everyday():
    return il.parallel("everyday", "en", "de")[:60]


def test_a_model_beside_a_tuned_one(here, models, tmp_path):
    out = tmp_path / "run"
    asked = ("concepts", models[0], "--compare", models[1], *QUICK[:-2], "--formats", "png", "--seeds", 1, "--out", out)
    done = here(*asked)
    assert done.returncode == 0, done.stderr
    for said in (
        "CALIGN, en to de",
        "CALIGN, de to en",
        "COLAP, en and de",
        "untrained network",
        "tuned model",
        "report:",
    ):
        assert said in done.stdout
    scores = pd.read_csv(out / "scores.csv", keep_default_na=False)
    assert set(scores["space"]) == {"base", "tuned", "untrained"}
    assert set(scores["layer"]) == {0, 2}
    assert set(scores["measure"]) == {"calign", "colap", "colap_types", "lexical", "suffix", "silhouette", "inertia"}
    swept = pd.read_parquet(out / "sweeps.parquet")
    assert set(swept["parameter"]) == {"match", "best", "types", "threshold", "seed", "k"}
    same = swept[swept["measure"] == "stability"]["value"]
    assert ((same > 0) & (same <= 1)).all()
    listed = pd.read_parquet(out / "concepts.parquet")
    # every concept has its words, and all mentions are in one
    reps = np.load(next((out / "labels").glob("base.2.en.12.0.npz")))
    mine = listed[(listed["space"] == "base") & (listed["layer"] == 2) & (listed["group"] == "en")]
    assert mine["mentions"].sum() == len(reps["labels"])
    assert (out / "figures" / "calign.png").stat().st_size > 10_000
    # a second time nothing is computed, and the same is said
    before = {p: p.stat().st_mtime_ns for p in (out / "cache").iterdir()}
    again = here(*asked)
    assert again.stdout == done.stdout
    assert {p: p.stat().st_mtime_ns for p in (out / "cache").iterdir()} == before
    # what was lost is made again, from the clusters that are kept
    (out / "cache" / "base.2.json").unlink()
    assert here(*asked).stdout == done.stdout
    # `report` draws it again from its tables
    page = next(out.glob("*.html"))
    drawn = page.read_bytes()
    page.unlink()
    assert here("report", out, "--formats", "none").stdout == done.stdout
    assert page.read_bytes() == drawn
    refused = here("concepts", models[0], *QUICK, "--k", 13, "--out", out)
    assert refused.returncode == 2
    assert "holds another run" in refused.stderr
    assert here("concepts", models[0], *QUICK, "--no-baseline", "--k", 13, "--force", "--out", out).returncode == 0


@pytest.mark.usefixtures("undrawn")
def test_a_lexicon_of_ones_own(here, models, everyday, tmp_path):
    first = find_concepts(
        models[0], everyday, tmp_path / "own", Inquiry(k=12, layers=(2,), baseline=False, extraction={"truncate": True})
    )
    tables = tmp_path / "own" / "lexicons"
    assert sorted(p.name for p in tables.iterdir()) == ["de-en.lex", "en-de.lex"]
    done = here(
        "concepts",
        models[0],
        *QUICK,
        "--layers",
        "2",
        "--no-baseline",
        "--lexicon",
        tables,
        "--json",
        "--out",
        tmp_path / "a",
    )
    assert done.returncode == 0, done.stderr
    found = {(r["measure"], r["source"]): r["value"] for r in json.loads(done.stdout)["scores"]}
    expected = {(r.measure, r.source): r.value for r in first.scores.itertuples()}
    for lang in ("en", "de"):
        assert found["calign", lang] == pytest.approx(expected["calign", lang])
    assert expected["calign", "de"] > 0
    # a data set's dictionary, and a file that is read the other way too
    words = here("concepts", models[0], *QUICK, "--no-baseline", "--lexicon", "everyday-words", "--out", tmp_path / "b")
    assert words.returncode == 0, words.stderr
    (tmp_path / "d.tsv").write_text("the\tdie\nthe\tder\nand\tund\nis\tist\n")
    file = here(
        "concepts", models[0], *QUICK, "--no-baseline", "--lexicon", tmp_path / "d.tsv", "--out", tmp_path / "c"
    )
    assert file.returncode == 0, file.stderr
    (tmp_path / "d.tsv").write_text("xyzzy\tplugh\n")
    nothing = here(
        "concepts", models[0], *QUICK, "--no-baseline", "--lexicon", tmp_path / "d.tsv", "--out", tmp_path / "d"
    )
    assert nothing.returncode == 2
    assert "cased and segmented alike" in nothing.stderr
    shutil.rmtree(tables)
    (tmp_path / "empty").mkdir()
    assert (
        "one for each direction"
        in here("concepts", models[0], *QUICK, "--lexicon", tmp_path / "empty", "--out", tmp_path / "e").stderr
    )


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--k", 100_000), "100000 concepts of"),
        (("--layers", "0,99"), "there is no layer 99: layers run from 0 (embeddings) to 3"),
        (("--layers", "last"), "'last' is no layer"),
        (("--langs", "en"), "say which languages"),
        (("--reading", "often"), "reading of the frequency filter"),
        (("--reading", "minimum", "--times", 999), "no word occurs 999 times"),
        (("--rules", "strict"), "rules of alignment"),
        (("--languages-needed", "3"), "1, 2 or all of a pair"),
        (("--threshold", "2"), "threshold"),
    ],
)
def test_misuse_is_told_in_a_line(here, models, tmp_path, options, says):
    done = here("concepts", models[0], *QUICK, "--no-baseline", *options, "--out", tmp_path / "run")
    assert done.returncode == 2
    assert says in done.stderr


def test_both_readings_of_ten(models, everyday, tmp_path):
    how = {"k": 8, "layers": (1,), "baseline": False, "extraction": {"truncate": True}, "times": 3}
    sizes = {}
    for reading in ("cap", "minimum"):
        found = find_concepts(models[0], everyday, tmp_path / reading, Inquiry(reading=reading, **how))
        listed = found.concepts[found.concepts["group"] == "en"]
        sizes[reading] = dict(zip(listed["concept"], listed["mentions"], strict=True))
        assert told(read_concept_tables(tmp_path / reading)) == told(found)
        assert {"calign", "colap", "labels", "sweeps"} == set(figures(found))
    assert sum(sizes["cap"].values()) != sum(sizes["minimum"].values())
    assert spread(13) == (0, 2, 5, 7, 10, 12)
    assert spread(3) == (0, 1, 2)
    with pytest.raises(InterlinguaError, match="holds no concepts"):
        read_concept_tables(tmp_path)
    with pytest.raises(InterlinguaError, match="concepts correspond between two"):
        find_concepts(models[0], everyday.languages("en"), tmp_path / "one")


@pytest.mark.usefixtures("undrawn")
def test_parts_of_speech_and_entities_are_told(here, models, tmp_path):
    for name, tags in (("everyday-trees", {"NOUN", "VERB", "PUNCT"}), ("everyday-ner", {"O"})):
        out = tmp_path / name
        done = here("concepts", models[0], *QUICK, "--k", 40, "--no-baseline", "--tags", name, "--out", out)
        assert done.returncode == 0, done.stderr
        assert "tagged" in set(pd.read_csv(out / "scores.csv")["measure"])
        assert set(pd.read_parquet(out / "concepts.parquet")["tag"]) & tags
    nothing = here(
        "concepts", models[0], *QUICK, "--tags", "everyday-trees", "--langs", "bg,tr", "--out", tmp_path / "x"
    )
    assert "tags of none of the languages" in nothing.stderr


def test_both_stacks_of_a_translator(here, tmp_path):
    """Encoder, decoder, and the encoder's concepts against the decoder's."""
    tiny.network("marian").save_pretrained(tmp_path / "marian")
    tiny.tokenizer().save_pretrained(tmp_path / "marian")
    asked = ("concepts", tmp_path / "marian", *QUICK, "--layers", "0,1", "--no-baseline")
    done = here(*asked, "--stack", "both", "--out", tmp_path / "both")
    assert done.returncode == 0, done.stderr
    for said in ("CALIGN, en to de, encoder", "CALIGN, en to de, decoder", "CALIGN, de to en, encoder-decoder"):
        assert said in done.stdout
    both = pd.read_csv(tmp_path / "both" / "scores.csv", keep_default_na=False)
    assert set(both["stack"]) == {"encoder", "decoder", "encoder-decoder"}
    assert set(both.loc[both["stack"] == "encoder-decoder", "measure"]) == {"calign"}
    one = here(*asked, "--stack", "decoder", "--out", tmp_path / "one")
    assert one.returncode == 0, one.stderr
    alone = pd.read_csv(tmp_path / "one" / "scores.csv", keep_default_na=False)
    same = both[both["stack"] == "decoder"].reset_index(drop=True)
    assert alone["value"].astype(float).tolist() == pytest.approx(same["value"].astype(float).tolist())
    groups = set(pd.read_parquet(tmp_path / "both" / "concepts.parquet")["group"])
    assert groups == {f"{name}, {stack}" for name in ("en", "de", "en+de") for stack in ("encoder", "decoder")}
    wrong = here(*asked, "--stack", "middle", "--out", tmp_path / "wrong")
    assert "name encoder, decoder, or both" in wrong.stderr


@pytest.fixture
def model_server():
    """A language model that answers on the loopback."""
    asked = []

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append((self.path, self.headers.get("Authorization"), body))
            code = 401 if body["model"] == "secret" else 200
            said = (
                "oops"
                if body["model"] == "broken"
                else json.dumps({"choices": [{"message": {"content": '\n"Kinds\x1b[31m of words".\nmore'}}]})
            )
            self.send_response(code)
            self.end_headers()
            self.wfile.write(said.encode())

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1", asked
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.usefixtures("undrawn")
def test_concepts_are_named_by_a_language_model_if_asked(here, models, model_server, monkeypatch, tmp_path):
    url, asked = model_server
    monkeypatch.setenv("INTERLINGUA_ASK_KEY", "sesame")
    out = tmp_path / "run"
    order = (
        "concepts",
        models[0],
        *QUICK,
        "--layers",
        "2",
        "--no-baseline",
        "--out",
        out,
        "--ask",
        url,
        "--ask-model",
        "tiny",
        "--ask-budget",
    )
    done = here(*order, 3)
    assert done.returncode == 0, done.stderr
    assert len(asked) == 3
    path, key, body = asked[0]
    assert (path, key, body["model"]) == ("/v1/chat/completions", "Bearer sesame", "tiny")
    assert "grouped these words" in body["messages"][0]["content"]
    listed = pd.read_parquet(out / "concepts.parquet")
    assert Counter(listed["name"])["Kinds[31m of words"] == 3
    assert "sesame" not in "".join(p.read_text(errors="replace") for p in out.glob("*.json"))
    assert "Kinds[31m of words" in (out / "concepts.html").read_text()
    # what is known is not asked again, and the budget is for what is not
    assert here(*order, 2).returncode == 0
    assert len(asked) == 5
    assert sum(pd.read_parquet(out / "concepts.parquet")["name"] != "") == 5
    for model, says in (("secret", "answered 401 (set INTERLINGUA_ASK_KEY)"), ("broken", "cannot be asked")):
        refused = here(*order[:-2], model, "--ask-budget", 1)
        assert refused.returncode == 0  # the numbers are there all the same
        assert says in refused.stderr
    assert "is no address" in here("concepts", models[0], *QUICK, "--out", out, "--ask", "ftp://x").stderr
    assert "say which model" in here("concepts", models[0], *QUICK, "--out", out, "--ask", url).stderr
