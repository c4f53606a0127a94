# Everything a person types. `make help` lists it; each target sets up what it needs first.
# Needed beforehand: Python >= 3.11 with pip, make, and network access for the package clients.

PYTHON ?= $(shell for candidate in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$candidate && break; done)
BIN := .venv/bin
# One more than the cores of the machine it is meant for: some tests wait.
WORKERS ?= 3

.DEFAULT_GOAL := help
.PHONY: help setup demo test check bench nightly docker docs wheel lock clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## .venv from the hashed lock, then Go tools, Kafka jars and Java into .cache
	@test -n "$(PYTHON)" || { echo "setup: no Python >= 3.11 found; install one, or name it: make PYTHON=/path/to/python3.11" >&2; exit 2; }
	@$(PYTHON) ci/tools/environment.py

demo: setup ## the whole product in a few minutes, ending in one HTML report
	@$(BIN)/touchstone demo

test: setup ## every package's own tests, sliced to fit 12 minutes on 2 cores
	@$(BIN)/python -m pytest -n $(WORKERS) --durations=15 --durations-min=1 $(PYTEST_ARGS)

check: setup ## lint, types, imports, registries, sizes, leaks, citations; about a minute
	@$(BIN)/python -m ci.checks

bench: setup ## speed and memory against the recorded figures
	@$(BIN)/touchstone bench

nightly: setup ## canaries, regressions, the matrix of scenarios; NIGHTLY_ARGS="--minutes 20"
	@$(BIN)/touchstone nightly $(NIGHTLY_ARGS)

docker: setup ## nodes in containers, by a private daemon and stand-in images (as root; ci/airgap)
	@$(BIN)/python -m ci.airgap prove

docs: setup ## the documentation site, into site/ (MkDocs in an environment of its own)
	@$(BIN)/python -m ci.docs

wheel: setup ## the wheel into dist/, installed and used as a stranger does, beside its bounds
	@$(BIN)/python -m ci.wheel

lock: setup ## pin requirements*.in and the jars anew, with hashes (developers)
	@$(BIN)/python -m ci.tools.lock

clean: ## remove .venv and everything generated except runs/
	rm -rf .venv .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info report
