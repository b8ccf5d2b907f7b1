# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test check format clean

help:
	@echo "make demo    install into $(VENV) and compute torques of a PUMA 560, compare algorithms"
	@echo "make test    install everything into $(VENV), check the code, run the tests"
	@echo "make check   formatting, lint and types only"
	@echo "make format  rewrite the sources in the project's format"
	@echo "make clean   remove $(VENV) and all caches"

demo: $(VENV)/installed
	$(BIN)/phalanx demo
	@echo
	$(BIN)/phalanx compare puma560

test: check
	$(BIN)/python -m pytest

check: $(VENV)/installed-for-tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/installed-for-tests
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The stamps make a second run skip pip; only a change of the dependencies installs again.
$(VENV)/installed: pyproject.toml | $(BIN)/python
	$(PIP) --editable .
	@touch $@

$(VENV)/installed-for-tests: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[test,dev,mjcf]'
	@touch $(VENV)/installed $@
