"""What the documents show is what happens: code blocks, examples, the promises of the change log."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import interlingua

REPOSITORY = Path(__file__).parent.parent.parent
DOCUMENTS = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(language):
    for path in DOCUMENTS:
        for number, match in enumerate(BLOCK.finditer(path.read_text(encoding="utf-8"))):
            if match[1] == language:
                yield pytest.param(match[2], id=f"{path.relative_to(REPOSITORY)}-{number}")


def environment(tmp_path):
    kept = {k: v for k, v in os.environ.items() if k != "INTERLINGUA_DATA"}
    return {**kept, "INTERLINGUA_CACHE": str(tmp_path), "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"}


@pytest.mark.parametrize("code", list(blocks("python")))
def test_python_blocks_run(code, tmp_path):
    out = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment(tmp_path),
        check=False,
    )
    assert out.returncode == 0, out.stderr


@pytest.mark.parametrize("text", list(blocks("console")))
def test_console_blocks_print_what_they_show(text, tmp_path):
    """`$ command` lines are run; the lines below must appear in this order (`...` skips some)."""
    (tmp_path / "my_corpus").mkdir()
    (tmp_path / "my_corpus" / "en.txt").write_text("The cat sleeps.\nIt is raining.\n", encoding="utf-8")
    (tmp_path / "my_corpus" / "fr.txt").write_text("Le chat dort.\nIt is raining.\n", encoding="utf-8")
    for chunk in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *shown = chunk.rstrip().split("\n")
        command = command.replace("interlingua ", f"{sys.executable} -m interlingua ", 1)
        out = subprocess.run(
            ["bash", "-c", command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=tmp_path,
            env=environment(tmp_path),
            check=False,
        )
        assert out.returncode == 0, out.stdout
        printed = out.stdout.split("\n")
        position = 0
        for line in shown:
            if line.strip() == "...":
                continue
            found = [at for at in range(position, len(printed)) if alike(line, printed[at])]
            assert found, f"{command}\nwas said to print: {line}\nbut printed:\n{out.stdout}"
            position = found[0] + 1


NUMBER = re.compile(r"\d*\.?\d+%?")
# How long something will take is another matter on another machine.
TIME = re.compile(r"\d+ (s|min)$")


def alike(shown, printed):
    """The same words, and numbers that are the same but for what other processors and versions make of them."""
    words, said = [TIME.sub("#", part) for part in (shown.strip(), printed.strip())]
    numbers = [NUMBER.findall(part) for part in (words, said)]
    words, said = (
        " ".join(NUMBER.sub(lambda n: "#" + "%" * n[0].endswith("%"), part).split()) for part in (words, said)
    )
    return words == said and all(map(near, *numbers))


def near(shown, printed):
    """Whole numbers are what they are; of shares and the like the last digits are another processor's."""
    if shown.isdigit():
        return shown == printed
    one, other = (float(each.rstrip("%")) for each in (shown, printed))
    return abs(one - other) <= max(2 if "%" in shown else 0.02, 0.03 * one)


def test_what_is_shown_is_compared():
    assert alike("en 0.710  0.000", "en   0.712   0.001")
    assert alike("  bilstm   99 s", "  bilstm   7 min")
    assert not alike("en 0.710", "en 0.810")
    assert not alike("en 0.710", "fr 0.710")
    assert not alike("en 1 2", "en 1")
    assert not alike("neuron 229 (+0.88)", "neuron 228 (+0.88)")
    assert alike("found 72%, .47-.51", "found 73%, .48-.51")
    assert not alike("found 72%", "found 78%")
    assert not alike("found 72%", "found 72.0")


def test_every_verb_is_shown_with_what_it_prints():
    from interlingua.cli.main import app

    every = "\n".join(path.read_text(encoding="utf-8") for path in DOCUMENTS)
    text = "\n".join(match[2] for match in BLOCK.finditer(every) if match[1] == "console")
    names = [command.name for command in app.registered_commands] + [group.name for group in app.registered_groups]
    assert len(names) > 15
    for name in names:
        # the demonstration is run by test_wheel.py
        shown = every if name == "demo" else text
        assert re.search(rf"^\$ interlingua {name}\b.*\n(?!```|\$)", shown, re.MULTILINE), name


# Training is made short.
OPTIONS = {"bilingual.py": ("--set", "updates=40")}


@pytest.mark.parametrize("path", sorted((REPOSITORY / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples_run(path, tmp_path):
    command = [sys.executable, path, *OPTIONS.get(path.name, ())]
    out = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment(tmp_path), check=False)
    assert out.returncode == 0, out.stderr
    assert out.stdout.strip()


def test_links_between_documents_lead_somewhere():
    for path in [*DOCUMENTS, *REPOSITORY.glob("*.md")]:
        for target in re.findall(r"\]\((?!https?://|#|mailto:)([^)#\s]+)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_versions_agree():
    changes = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = (REPOSITORY / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {interlingua.__version__}" in citation
    assert "## [Unreleased]" in changes or f"## [{interlingua.__version__}]" in changes


def test_every_data_set_is_in_the_documentation():
    from interlingua.corpora import CATALOG

    spec = importlib.util.spec_from_file_location("hooks", REPOSITORY / "docs" / "hooks.py")
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)
    page = hooks.on_page_markdown((REPOSITORY / "docs" / "data.md").read_text(encoding="utf-8"))
    assert all(f"`{dataset.name}`" in page and dataset.licence in page for dataset in CATALOG)
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert f"catalogue** of {len(CATALOG)} data sets" in readme


def test_nothing_is_pinned_to_a_local_version():
    pins = [line for line in (REPOSITORY / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert pins
    assert not [pin for pin in pins if "+" in pin]
