# One command to a living JupyterLab (`make lab`), one to green tests (`make test`).

# The first of these that answers; `make PYTHON=... lab` names another.
PYTHON ?= $(shell for p in python3.11 python3 python; do $$p -c "" 2>/dev/null && echo $$p && break; done)
ARGS ?=

BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# Touched when the environment holds what these files ask for, so that a second run starts at once.
DEFINED_BY := pyproject.toml constraints.txt
FOR_LAB := .venv/.for-lab
FOR_TESTS := .venv/.for-tests
# Examples in docstrings and documents; one module needs GPyTorch, which is not part of the tested set.
EXAMPLES := --doctest-modules --doctest-glob="*.md" --ignore etgp_viz/timing/gpytorch_model.py

.DEFAULT_GOAL := help
.PHONY: help lab test test-fast bench lint format clean

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

lab: $(FOR_LAB)  ## start JupyterLab on the notebooks; pass options on with ARGS="--no-browser --port 8899"
	@$(BIN)/etgp-viz lab --folder notebooks $(ARGS)

test: $(FOR_TESTS)  ## run all tests: unit, every example and notebook, and the widgets in a real browser
	@$(BIN)/python -m pytest tests/unit --numprocesses 2 $(ARGS)
	@$(BIN)/python -m pytest etgp_viz docs $(EXAMPLES) --numprocesses 2 $(ARGS)
	@$(BIN)/python -m pytest tests/notebooks tests/browser $(ARGS)

test-fast: $(FOR_TESTS)  ## run the quick unit tests alone
	@$(BIN)/python -m pytest tests/unit -m "not slow" --numprocesses 2 $(ARGS)

bench: $(FOR_TESTS)  ## print the benchmarks
	@$(BIN)/python -m benchmarks $(ARGS)

lint: $(FOR_TESTS)  ## check style and types of code and notebooks
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/nbstripout --verify --keep-id notebooks/*.ipynb
	@$(BIN)/mypy

format: $(FOR_TESTS)  ## put code and notebooks into the house style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(BIN)/nbstripout --keep-id notebooks/*.ipynb

clean:  ## remove everything that was made here, the environment too
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info
	find . \( -name __pycache__ -o -name .ipynb_checkpoints \) -prune -exec rm -rf {} +

$(BIN)/python:
	@$(if $(PYTHON),,echo "etgp-viz needs Python 3.11, and no python is on the PATH." >&2; exit 1)
	@$(PYTHON) tools/check_python.py
	@echo "Making .venv with $$($(PYTHON) --version) ..."
	@$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }

$(FOR_LAB): $(DEFINED_BY) | $(BIN)/python
	@echo "Installing the tested set of packages into .venv (some minutes, once) ..."
	@$(INSTALL) --editable .
	@touch $@

$(FOR_TESTS): $(DEFINED_BY) | $(BIN)/python
	@echo "Installing the tested set of packages and the test tools into .venv (some minutes, once) ..."
	@$(INSTALL) --editable ".[dev]"
	@touch $@ $(FOR_LAB)
