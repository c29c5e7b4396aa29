# Every target sets up what it needs in .venv and is fast when repeated.
#
#   make demo      see something real
#   make test      run the tests
#   make check     lint, types, formatting
#   make docs      build the documentation into site/
#   make bench     run the benchmarks
#   make setup     only the set-up
#   make clean     remove what the other targets made
#
# PYTHON=python3.12 chooses the interpreter; VENV=dir where to install;
# TORCH_INDEX=https://... an index with a CPU build of torch, where the default one has none.

PYTHON ?= python3
VENV ?= .venv
TORCH_INDEX ?=
PYTEST_ARGS ?=

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
INDEX := $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX))
# pip mentions every configured index that lacks a package; that is no news.
INSTALL := $(PIP) install --no-warn-script-location -c constraints.txt $(INDEX)

.PHONY: help setup demo test check docs bench clean
help:
	@sed -n '3,10p' Makefile | cut -c3-

$(VENV)/.venv-made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "error: $(PYTHON) is not Python 3.11 or newer: install one and run make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "error: $(PYTHON) has no venv: install it (Debian, Ubuntu: apt-get install python3-venv)"; exit 1; }
	@echo "making $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

# The package alone: a few small wheels.
$(VENV)/.user: $(VENV)/.venv-made pyproject.toml constraints.txt
	@echo "installing interlingua"
	@$(INSTALL) -e .
	@touch $@

# The package with everything that tests and checks need. The wheels of the core are kept: the test that installs
# the package into a clean environment takes them from there, without a network.
$(VENV)/.dev: $(VENV)/.user pyproject.toml constraints.txt
	@echo "installing what tests and checks need"
	@$(INSTALL) -e '.[dev]'
	@$(PIP) wheel -c constraints.txt -w $(VENV)/wheels .
	@touch $@

# What the demo needs: models, figures and the report.
$(VENV)/.demo: $(VENV)/.user pyproject.toml constraints.txt
	@echo "installing torch, transformers and what draws figures (a few minutes, once)"
	@$(INSTALL) -e '.[models,report]'
	@touch $@

$(VENV)/.docs: $(VENV)/.user pyproject.toml constraints.txt
	@echo "installing what the documentation needs"
	@$(INSTALL) -e '.[docs]'
	@touch $@

setup: $(VENV)/.dev

demo: $(VENV)/.demo
	@$(BIN)/interlingua data show everyday --langs en,fr,ru,zh,ar --rows 3
	@$(BIN)/interlingua demo

test: $(VENV)/.dev
	@$(BIN)/python -m pytest -n auto --dist worksteal --cov --cov-report=term $(PYTEST_ARGS)

check: $(VENV)/.dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@! grep -nE '^[^#]*\+' constraints.txt || { echo "error: constraints.txt pins a +local version"; exit 1; }

docs: $(VENV)/.docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "site/index.html"

# What stands beside ours in the table; ecco asks for packages of 2021 that it does not need here.
$(VENV)/.bench: $(VENV)/.dev benchmarks/peers.txt
	@echo "installing what is measured beside it"
	@$(INSTALL) -r benchmarks/peers.txt
	@$(INSTALL) --no-deps ecco
	@touch $@

bench: $(VENV)/.bench
	@for script in table readers measures scaling extract concepts half; do \
	  echo "== $$script.py"; $(BIN)/python benchmarks/$$script.py || exit 1; done

clean:
	rm -rf $(VENV) site demo dist build .pytest_cache .mypy_cache .ruff_cache .coverage .hypothesis
