"""`interlingua study` as a user runs it."""

import json
import re
from pathlib import Path

import pytest

from interlingua.studies.catalog import STUDIES

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("verb", ["", "ls", "show", "run", "again", "claims"])
def test_help_has_an_example(here, verb):
    out = here("study", *verb.split(), "--help")
    assert out.returncode == 0
    assert re.search(r"Example: interlingua study \w+", out.stdout)


def test_studies_are_listed_and_shown(here):
    found = json.loads(here("study", "ls", "--json").stdout)
    assert [row["name"] for row in found] == list(STUDIES)
    assert all(row["claims"] and "smoke" in row["sizes"] for row in found)
    shown = here("study", "show", "normalisation", "--results", "nowhere").stdout
    assert "cells: 0 of 6 done" in shown
    assert "mean linear CKA over the deeper half of the Normformer < 0.2, 2 seeds" in shown


def test_what_is_shown_is_what_would_be_run_and_other_sizes_are_named(here):
    place = str(ROOT / "studies" / "results")
    shown = here("study", "show", "random-init", "--results", place).stdout
    assert "    size: mini\n" in shown
    assert re.search(r"of 18 done; at another size: laptop, 12 of 12 cells \(--size laptop\)\n", shown)
    shown = here("study", "show", "random-init", "--size", "laptop", "--results", place).stdout
    assert "    size: laptop\n" in shown
    assert re.search(r"cells: 12 of 12 done; at another size: mini, \d+ of 18 cells \(--size mini\)\n", shown)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", "normalization"), "unknown study 'normalization': did you mean normalisation"),
        (("run", "scaling", "--size", "medium"), "unknown size of scaling 'medium'"),
        (("run", "scaling", "--smoke", "--size", "mini"), "--smoke is a size: leave --size out"),
        (("run", "scaling", "--set", "epoch=3"), "unknown setting of scaling 'epoch': did you mean epochs"),
        (("claims", "D99"), "unknown claim or study 'D99'"),
        (("run", "scaling", "--set", "epochs=["), "the value is not YAML"),
        (("run", "scaling", "--set", "model=huge"), "scaling: model: Input should be"),
        (("run", "scaling", "--cells", "mlm", "--dry-run"), "unknown cell of scaling 'mlm'"),
        (("claims", "D1", "--out", "page.md"), "the page is of all claims"),
        (("claims", "--results", "nowhere"), "nowhere is not there"),
        (("again", "nonsense", "--out", "there"), "is no signature of a cell: it has no study"),
        (("again", "study:scaling|cell:x|settings:y", "--out", "there"), "holds no results of a study"),
    ],
)
def test_mistakes_are_one_line(here, arguments, message):
    out = here("study", *arguments)
    assert out.returncode == 2
    assert message in out.stderr
    assert len(out.stderr.splitlines()) == 1


def test_a_study_is_run_judged_and_run_again(cli, here, tmp_path):
    where = tmp_path / "results" / "scaling"
    dry = here("study", "run", "scaling", "--smoke", "--dry-run").stdout.split()
    assert dry[0] == "mlm.2x64.0"
    out = cli("study", "run", "scaling", "--smoke", "--cells", "mlm.2x32.0", "--out", str(where), "--formats", "svg")
    assert out.returncode == 0, out.stderr
    assert "D6 " in out.stdout
    assert "smoke, 1 of 4 cells" in out.stdout
    assert (where / "figures" / "figure-5.svg").exists()
    facts = json.loads((where / "cells" / "mlm.2x32.0.json").read_text())
    assert facts["signature"].startswith("study:scaling|cell:mlm.2x32.0|size:smoke|settings:")
    claims = json.loads(here("study", "claims", "scaling", "--results", str(where.parent), "--json").stdout)
    assert [row["claim"] for row in claims] == ["D5", "D6", "D10"]
    assert {row["verdict"] for row in claims} == {"not run"}
    assert claims[1]["why"] == "the smallest size is there to see that it runs"
    assert claims[1]["rules"][0]["parts"][0]["of"] == "mlm, 2 x 32"
    more = ("--results", str(where.parent), "--out", str(tmp_path / "again"))
    again = cli("study", "again", facts["signature"], *more)
    assert again.returncode == 0, again.stderr
    assert again.stdout.splitlines()[-1].startswith("100.0% of ")
    # what is done in a folder is not taken for what was found now
    assert "has mlm.2x32.0 done already" in here("study", "again", facts["signature"], *more).stderr


def test_the_page_of_claims_is_what_results_say(here, tmp_path):
    page = tmp_path / "CLAIMS.md"
    out = here("study", "claims", "--results", str(ROOT / "studies" / "results"), "--out", str(page))
    assert out.returncode == 0, out.stderr
    assert page.read_text() == (ROOT / "studies" / "CLAIMS.md").read_text(), (
        "run: interlingua study claims --out studies/CLAIMS.md"
    )
