"""The public names, and what importing them costs."""

import subprocess
import sys

import pytest

import interlingua

# A name leaves this list only with a deprecation (see CONTRIBUTING.md).
PUBLIC = {
    "Bitext", "Dictionary", "InterlinguaError", "LabelledCorpus", "Language", "ParallelCorpus", "PerLanguage",
    "Representations", "TaggedCorpus", "TextCorpus", "Treebank", "WordRepresentations", "__version__", "bitext", "compare", "compare_layers",
    "dictionary", "enough", "extract", "labelled", "leave_out_shared", "load", "load_model", "open_store", "parallel", "planted", "tagged", "text", "treebank",
}  # fmt: skip


def test_public_names_are_those_declared():
    assert set(interlingua.__all__) == PUBLIC
    assert set(dir(interlingua)) == PUBLIC


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_public_name_is_there(name):
    assert getattr(interlingua, name) is not None


def test_an_unknown_attribute_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = interlingua.nothing


@pytest.mark.parametrize("module", ["interlingua", "interlingua.cli.main", "interlingua.corpora"])
def test_importing_is_light(module):
    heavy = {"torch", "transformers", "pandas", "altair", "datasets", "sklearn", "pyarrow", "scipy", "zarr"}
    code = f"import sys, {module}; print(*sorted({heavy} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == []


def test_import_interlingua_loads_nothing_but_itself():
    code = (
        "import sys, interlingua; print(*(m for m in sys.modules if m.split('.')[0] in ('numpy', 'rich', 'langcodes')))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == []
