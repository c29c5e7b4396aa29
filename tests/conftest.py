"""What all tests share: where the data is, the command line as a user runs it, and no silent skips in CI."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

# No test asks the Hub for anything.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"
# As many workers as cores run at once: more threads would only stand in each other's way.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Some virtual machines announce AMX and then stop a program that uses it.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

REPOSITORY = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder of public data sets; tests that need it are skipped where a user has none."""
    value = os.environ.get("INTERLINGUA_DATA")
    if not value:
        pytest.skip("INTERLINGUA_DATA is not set: it names a folder of public data sets")
    return Path(value).resolve()


@pytest.fixture
def no_data(monkeypatch, tmp_path):
    """A machine without data sets: only what is built in."""
    monkeypatch.delenv("INTERLINGUA_DATA", raising=False)
    monkeypatch.setenv("INTERLINGUA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def cli(tmp_path):
    """Run `interlingua ...` as a subprocess; returns the finished process."""

    def run(*arguments, env=None, cwd=None):
        variables = {**os.environ, "INTERLINGUA_CACHE": str(tmp_path / "cache"), "COLUMNS": "100", **(env or {})}
        return subprocess.run(
            [sys.executable, "-m", "interlingua", *map(str, arguments)],
            capture_output=True,
            encoding="utf-8",
            env={k: v for k, v in variables.items() if v is not None},
            cwd=cwd or tmp_path,
            timeout=300,
            check=False,
        )

    return run


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    """As `cli`, in this process: for the many cases that differ in their arguments alone."""
    from interlingua.cli.main import main

    def run(*arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("INTERLINGUA_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(sys, "argv", ["interlingua", *map(str, arguments)])
        capsys.readouterr()
        before = signal.getsignal(signal.SIGINT)
        try:
            main()
            code = 0
        except SystemExit as stopped:
            code = stopped.code or 0
        finally:
            signal.signal(signal.SIGINT, before)
        said = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, code, said.out, said.err)

    return run


@pytest.fixture
def undrawn(monkeypatch):
    """For runs whose page is not what is asked about: it is written without its charts, which take seconds."""
    monkeypatch.setattr("interlingua.report.publish.page", lambda tables, *, title: f"<title>{title}</title>")
    monkeypatch.setattr("interlingua.report.framed._picture", lambda chart: "")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Where nothing may be skipped (CI), a skip is a failure."""
    report = yield
    if report.skipped and os.environ.get("INTERLINGUA_NO_SKIP") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
    return report
