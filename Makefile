# Two commands: `make up` runs a node, `make test` checks everything.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: up test checklist install install-dev lint

up: install
	$(BIN)/python manage.py up

test: install-dev lint
	$(BIN)/pytest -n 2

# Every behaviour of loading (tests/checklist.toml) with the tests that show it; fails when one has none.
checklist: install-dev
	$(BIN)/python -m tests.checklist

lint: install-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy .
	$(BIN)/lint-imports

install: $(VENV)/.installed
install-dev: $(VENV)/.installed-dev

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: requirements.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.txt
	touch $@

$(VENV)/.installed-dev: requirements-dev.txt requirements.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements-dev.txt
	touch $@ $(VENV)/.installed
