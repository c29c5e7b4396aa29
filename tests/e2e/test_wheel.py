"""The wheel, built and installed into a clean environment: everything is in it and the command runs."""

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent.parent


def run(*command, **options):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True, timeout=250, **options)


def test_the_wheel_installs_and_runs(tmp_path):
    run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        REPOSITORY,
        "--no-deps",
        "--no-build-isolation",
        "-w",
        tmp_path / "dist",
        "-q",
    )
    (wheel,) = (tmp_path / "dist").glob("interlingua-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "interlingua/py.typed" in names
    assert "interlingua/assets/everyday/zh.txt" in names
    assert not [n for n in names if n.startswith("tests")]
    # our own pip installs into it: one of its own takes long to unpack
    venv.create(tmp_path / "clean", with_pip=False)
    pip = (sys.executable, "-m", "pip", "--python", tmp_path / "clean" / "bin" / "python")
    # `make setup` keeps the wheels of the core's dependencies, so that this needs no network.
    kept = Path(sys.prefix) / "wheels"
    source = ("--no-index", "--find-links", kept) if kept.is_dir() else ()
    run(*pip, "install", "-q", *source, "-c", REPOSITORY / "constraints.txt", wheel)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "INTERLINGUA"))}
    command = tmp_path / "clean" / "bin" / "interlingua"
    out = run(command, "data", "show", "everyday", "--langs", "en,et", "-n", "2", env=environment, cwd=tmp_path)
    assert "Köögiaken" in out.stdout
    listed = run(command, "doctor", "--json", env=environment, cwd=tmp_path).stdout
    assert '"torch": null' in listed
    installed = run(*pip, "list", "--format=freeze").stdout.lower()
    assert not {"torch", "pandas", "datasets", "transformers"} & {
        line.split("==")[0] for line in installed.splitlines()
    }
