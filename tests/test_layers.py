"""Do imports run one way? A package may import only those above it in this list."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import interlingua

ORDER = [
    "__init__",
    "errors",
    "folders",
    "cluster",
    "languages",
    "types",
    "corpora",
    "models",
    "extract",
    "measures",
    "stats",
    "mapping",
    "concepts",
    "pretrain",
    "transfer",
    "report",
    "analyses",
    "studies",
    "cli",
    "__main__",
]
ROOT = Path(interlingua.__file__).parent
SOURCES = sorted(ROOT.rglob("*.py"))


def stage(path: Path) -> str:
    relative = path.relative_to(ROOT)
    return relative.parts[0].removesuffix(".py")


def imported(tree: ast.AST):
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "interlingua":
            parts = node.module.split(".")
            if len(parts) > 1:
                yield parts[1], node.lineno
            else:
                for alias in node.names:
                    yield ("__init__" if alias.name in ("__version__", "BUILT_IN") else alias.name), node.lineno
        elif isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                if parts[0] == "interlingua" and len(parts) > 1:
                    yield parts[1], node.lineno


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_run_one_way(path):
    here = stage(path)
    assert here in ORDER, f"{here} is in no place of the order"
    if here == "__init__":
        return  # the public names, loaded on first use
    for there, line in imported(ast.parse(path.read_text())):
        assert there in ORDER, f"{path}:{line} imports {there}"
        assert ORDER.index(there) <= ORDER.index(here), f"{path}:{line}: {here} imports {there}, which comes later"


def test_modules_of_one_package_form_no_cycle():
    graph = {}
    for path in SOURCES:
        module = ".".join(("interlingua", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
        tree = ast.parse(path.read_text())
        # Only imports at module level can make a cycle at import time.
        targets = {n.module for n in tree.body if isinstance(n, ast.ImportFrom) and n.module}
        graph[module] = {t for t in targets if t.startswith("interlingua.")}
    done, path = set(), []

    def visit(module):
        assert module not in path, f"import cycle: {' -> '.join([*path, module])}"
        if module in done or module not in graph:
            return
        path.append(module)
        for target in graph[module]:
            visit(target)
        path.pop()
        done.add(module)

    for module in graph:
        visit(module)


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_assert_decides_anything_for_a_user(path):
    asserts = [n.lineno for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Assert)]
    assert not asserts, f"{path}: raise an InterlinguaError instead (lines {asserts})"


def test_there_is_no_utils():
    assert not [p for p in SOURCES if "util" in p.name or "helper" in p.name]


# What draws is drawn with afterwards: a machine that computes need not have it.
DRAWING = ("altair", "vl_convert")
COMPUTING = ("analyses", "studies", "transfer", "pretrain", "mapping", "concepts")


def test_what_computes_needs_nothing_to_draw_with():
    modules = [
        ".".join(("interlingua", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
        for path in SOURCES
        if stage(path) in COMPUTING and path.name != "drawn.py"
    ]
    script = (
        "import importlib, sys\n"
        f"for name in {DRAWING!r}: sys.modules[name] = None\n"
        f"for name in {modules!r}: importlib.import_module(name)\n"
    )
    made = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr[-600:]
