# Two commands: `make up` runs a node, `make test` checks everything.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --requirement

.PHONY: up test checklist lint install install-dev

up: install
	@$(BIN)/python manage.py up $(if $(LIVE),--live)

test: lint
	$(BIN)/python -m pytest -n 2

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

# A venv that could not be completed has a python too, so what it needs is asked for before.
$(BIN)/python:
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || \
	  { echo "Python 3.11 or later is needed as $(PYTHON); name another with: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c "import ensurepip, venv" 2>/dev/null || \
	  { echo "Python's module venv is missing: install it (on Debian: apt-get install python3-venv)." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: requirements.txt | $(BIN)/python
	@echo "Installing the packages of requirements.txt into $(VENV); this takes a minute."
	@$(PIP) requirements.txt
	@touch $@

$(VENV)/.installed-dev: requirements-dev.txt requirements.txt | $(BIN)/python
	@echo "Installing the packages of requirements-dev.txt into $(VENV); this takes a minute."
	@$(PIP) requirements-dev.txt
	@touch $@ $(VENV)/.installed
