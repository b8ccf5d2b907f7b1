# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo docs test test-all test-exhaustive test-wheel test-minima test-emulated check format clean

help:
	@echo "make demo    install into $(VENV) and compute a million torques of a PUMA 560, compare algorithms, draw them"
	@echo "make test    install everything into $(VENV), check the code, run the tests of every feature: a quarter of an hour"
	@echo "make test-all  what is exhaustive: all cases of the tests, long searches: half an hour"
	@echo "make test-emulated  arm64 by QEMU, Windows by Wine: demo, kernels, threads, rollouts, native tests"
	@echo "make docs    build the pages into build/docs/index.html, without network"
	@echo "make check   formatting, lint and types only"
	@echo "make format  rewrite the sources in the project's format"
	@echo "make clean   remove $(VENV) and all caches"

demo: $(VENV)/installed
	$(BIN)/phalanx demo
	@echo
	@mkdir -p build
	$(BIN)/phalanx compare puma560 --plot build/demo.png

test: check
	$(BIN)/python -m pytest -m "not exhaustive"

# What `make test` leaves out.
test-all: test-exhaustive test-wheel test-minima

test-exhaustive: $(VENV)/installed-for-tests
	$(BIN)/python -m pytest -m "exhaustive or hypothesis" --hypothesis-profile=exhaustive

# The wheel in an environment with nothing but what it needs.
test-wheel: $(BIN)/python
	rm -rf build/wheel && mkdir -p build/wheel
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/wheel .
	$(PYTHON) -m venv build/wheel/venv
	build/wheel/venv/bin/python -m pip install --quiet --disable-pip-version-check build/wheel/*.whl
	cd build/wheel && PHALANX_CACHE_DIR=cache venv/bin/python ../../tests/wheel.py

# The oldest versions that pyproject.toml admits.
test-minima: $(BIN)/python
	$(BIN)/python tests/minima.py build/minima

# Other processors and systems, by QEMU and Wine.
test-emulated: $(VENV)/installed-for-tests
	$(BIN)/python tests/emulated/run.py

docs: $(VENV)/installed-for-docs
	$(BIN)/sphinx-build -W --keep-going -q docs build/docs
	@echo "open build/docs/index.html"

check: $(VENV)/installed-for-tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/installed-for-tests
	$(BIN)/python tools/make_surface.py
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The stamps make a second run skip pip; only a change of the dependencies installs again.
$(VENV)/installed: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[viz]'
	@touch $@

$(VENV)/installed-for-tests: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[test,dev,docs,mjcf]'
	@touch $(VENV)/installed $(VENV)/installed-for-docs $@

$(VENV)/installed-for-docs: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[docs,viz]'
	@touch $(VENV)/installed $@
