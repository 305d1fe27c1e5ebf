# `make lab` starts JupyterLab, `make test` runs all tests.

# On Apple silicon, GPflow needs other versions, and has none for Python 3.13.
APPLE_SILICON := $(filter Darwin-arm64,$(shell uname -s)-$(shell uname -m))
# The newest supported Python on the PATH; `make PYTHON=... lab` chooses another.
PYTHON ?= $(shell for p in $(if $(APPLE_SILICON),,python3.13) python3.12 python3.11 python3 python; do \
  $$p tools/check_python.py >/dev/null 2>&1 && echo $$p && break; done)
# Another set of versions, in its own environment: `make SET=oldest PYTHON=python3.11 test-fast`.
# The sets are the files constraints-*.txt; each says which Python it is for.
SET ?=
ARGS ?=

VENV ?= .venv$(addprefix -,$(SET))
BIN := $(VENV)/bin
export ETGP_VIZ_CONSTRAINTS := constraints$(addprefix -,$(or $(SET),$(if $(APPLE_SILICON),mac))).txt
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# A set is installed in full and unchanged, even if pip would choose it only on another system.
INSTALL := $(if $(SET),$(PIP) --requirement $(ETGP_VIZ_CONSTRAINTS) && $(PIP) --no-deps,$(PIP) --constraint $(ETGP_VIZ_CONSTRAINTS))
# The stamps are touched once the environment holds what these files ask for, so the next run starts at once.
DEFINED_BY := pyproject.toml $(ETGP_VIZ_CONSTRAINTS)
FOR_LAB := $(VENV)/.for-lab
FOR_TESTS := $(VENV)/.for-tests
FOR_LINT := $(VENV)/.for-lint
FOR_DOCS := $(VENV)/.for-docs
# Colab's ipywidgets, for Python and for the browser, in a folder that comes before the environment's own.
COLAB_WIDGETS := $(VENV)/colab-widgets
# axe-core checks in the browser whether everybody can use a page; without npm its tests are skipped.
AXE := $(VENV)/axe/node_modules/axe-core/axe.min.js
# Examples in docstrings and documents; one module needs GPyTorch, which is not part of the tested set.
EXAMPLES := --doctest-modules --doctest-glob="*.md" --ignore etgp_viz/timing/gpytorch_model.py

.DEFAULT_GOAL := help
.PHONY: help lab test test-units test-examples test-notebooks test-browser test-colab-widgets test-hub test-site test-fast docs bench fuzz soak mutants lint format clean

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

lab: $(FOR_LAB)  ## start JupyterLab with the notebooks; pass options on with ARGS="--no-browser --port 8899"
	@$(BIN)/etgp-viz lab --folder notebooks $(ARGS)

test: test-units test-examples test-notebooks test-browser test-colab-widgets  ## run all tests: unit, every example and notebook, and the widgets in a real browser

test-units: $(FOR_TESTS)
	@$(BIN)/python -m pytest tests/unit --numprocesses 2 --dist worksteal $(ARGS)

test-examples: $(FOR_TESTS)
	@$(BIN)/python -m pytest etgp_viz docs $(EXAMPLES) --numprocesses 2 $(ARGS)

test-notebooks: $(FOR_TESTS)
	@$(BIN)/python -m pytest tests/notebooks --numprocesses 2 --maxschedchunk 1 $(ARGS)

test-browser: $(FOR_TESTS) $(AXE)
	@$(BIN)/python -m pytest tests/browser --numprocesses 2 --dist loadfile $(ARGS)

test-colab-widgets: $(FOR_TESTS) $(COLAB_WIDGETS)
	@PYTHONPATH=$(abspath $(COLAB_WIDGETS)) $(BIN)/python -m pytest tests/browser/test_own_documents.py $(ARGS)

test-hub: $(FOR_TESTS)  ## test a class on a real JupyterHub (needs npm for the hub's proxy)
	@$(PIP) --constraint $(ETGP_VIZ_CONSTRAINTS) --editable ".[test,notebook,hub]"
	@npm install --silent --no-audit --no-fund --prefix $(VENV)/proxy configurable-http-proxy@5
	@PATH="$(CURDIR)/$(VENV)/proxy/node_modules/.bin:$$PATH" $(BIN)/python -m pytest tests/hub $(ARGS)

test-site: $(FOR_TESTS) $(AXE)  ## test the built site in a real browser (after `make docs`)
	@$(BIN)/python -m pytest tests/browser/test_site.py $(ARGS)

test-fast: $(FOR_TESTS)  ## run only the quick unit tests
	@$(BIN)/python -m pytest tests/unit -m "not slow" --numprocesses 2 --dist worksteal $(ARGS)

docs: $(FOR_DOCS)  ## build the documentation site into build/docs; ARGS="--lessons 01,04" runs only these lessons
	@$(BIN)/python -m tools.site $(ARGS)

bench: $(FOR_TESTS)  ## print the benchmarks
	@$(BIN)/python -m benchmarks $(ARGS)

fuzz: $(FOR_TESTS)  ## try bad arguments, files and faults on everything that is public
	@$(BIN)/python -m pytest tests/unit/trust $(ARGS)

soak: $(FOR_TESTS)  ## move every explorer thousands of times, and print what it leaves in memory
	@$(BIN)/python -m benchmarks.soak 20000 $(ARGS)

mutants: $(FOR_TESTS)  ## change the code in hundreds of places; a test must notice (hours)
	@$(BIN)/python tools/mutants.py $(ARGS)

lint: $(FOR_LINT)  ## check style and types of code and notebooks
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/nbstripout --verify --keep-id notebooks/*.ipynb
	@$(BIN)/mypy

format: $(FOR_LINT)  ## put code and notebooks into the house style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(BIN)/nbstripout --keep-id notebooks/*.ipynb

clean:  ## remove everything made here, including the environments
	rm -rf .venv .venv-* build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info
	find . \( -name __pycache__ -o -name .ipynb_checkpoints \) -prune -exec rm -rf {} +

$(BIN)/python:
	@$(if $(PYTHON),,echo "etgp-viz needs Python 3.11, 3.12 or 3.13, and none is on the PATH." >&2; exit 1)
	@$(PYTHON) tools/check_python.py
	@echo "Making $(VENV) with $$($(PYTHON) --version) ..."
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

# A Python named on the command line must match the one in an existing environment.
SAME_PYTHON := $(if $(filter command%,$(origin PYTHON)),same-python)
.PHONY: same-python
same-python: | $(BIN)/python
	@$(PYTHON) tools/check_python.py $(BIN)/python

$(FOR_LAB): $(DEFINED_BY) | $(BIN)/python $(SAME_PYTHON)
	@echo "Installing the tested set of packages into $(VENV) (a few minutes, once) ..."
	@$(INSTALL) --editable .
	@touch $@

$(FOR_TESTS): $(DEFINED_BY) | $(BIN)/python $(SAME_PYTHON)
	@echo "Installing the tested set of packages and the test tools into $(VENV) (a few minutes, once) ..."
	@$(INSTALL) --editable ".[test,notebook]"
	@touch $@ $(FOR_LAB)

$(FOR_LINT): $(DEFINED_BY) | $(BIN)/python $(SAME_PYTHON)
	@echo "Installing the tested set of packages, the test tools and the linters into $(VENV) ..."
	@$(INSTALL) --editable ".[dev]"
	@touch $@ $(FOR_TESTS) $(FOR_LAB)

$(AXE): | $(BIN)/python
	@npm install --silent --no-audit --no-fund --prefix $(VENV)/axe axe-core@4.14.0 || \
	  echo "npm could not install axe-core: tests of accessibility are skipped (and fail with CI=true)." >&2

$(FOR_DOCS): $(DEFINED_BY) | $(BIN)/python $(SAME_PYTHON)
	@echo "Installing the tested set of packages and Sphinx into $(VENV) (a few minutes, once) ..."
	@$(INSTALL) --editable ".[docs]"
	@touch $@ $(FOR_LAB)

$(COLAB_WIDGETS): constraints-colab.txt | $(BIN)/python
	@rm -rf $@
	@$(PIP) --no-deps --target $@ $$(grep -E "^(ipywidgets|ipython-genutils|widgetsnbextension)==" $<)
	@touch $@
