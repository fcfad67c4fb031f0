# Two commands: `make up` runs a node, `make test` checks everything.
# The first of these that is usable and built with optimizations, as those of distributions are, or else python3.
USABLE = import ensurepip, sys, sysconfig, venv; arguments = sysconfig.get_config_var("CONFIG_ARGS") or ""; \
  is_optimized = sys.base_prefix == "/usr" or "--enable-optimizations" in arguments; \
  sys.exit(sys.version_info < (3, 11) or not is_optimized)
PYTHON ?= $(shell for each in python3 /usr/bin/python3; do \
  $$each -c '$(USABLE)' 2>/dev/null && echo $$each && exit; done; echo python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --requirement

# For the shell of a recipe. Python prints a traceback on Ctrl-C, so a command under `run` does not see it. The
# shell ends the command and removes what is half made; make, which sees Ctrl-C too, goes no further.
INTERRUPTIBLE = trap 'kill -- -$$pid 2>/dev/null || kill $$pid; wait; rm -f $@; echo Stopped.; exit 0' INT; \
  run() { setsid "$$@" & pid=$$!; wait $$pid; };

# That shell removes this one itself, so that make prints no line about it.
.PRECIOUS: $(BIN)/python

.PHONY: up test coverage checklist lint install install-dev compile architecture block-node-api

up: install
	@trap 'kill $$pid' INT HUP TERM; \
	  setsid $(BIN)/python manage.py up $(if $(LIVE),--live) & pid=$$!; \
	  while { wait $$pid; } 2>/dev/null; code=$$?; kill -0 $$pid 2>/dev/null; do :; done; \
	  if [ $$code -eq 143 ]; then echo Stopped.; exit 0; fi; exit $$code

# Two processes more than CI has processors, since tests often wait for nodes and clients.
# RERUN=1 runs what fails once more, alone.
test: lint
	$(BIN)/python -m $(if $(RERUN),tests.rerun,pytest) -n 4 --durations=10

# The branches of the product that the tests take; fails below the share in pyproject.toml.
coverage: install-dev
	rm -rf .coverage && mkdir .coverage
	$(BIN)/coverage run -m pytest -n 4 --durations=10
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

# Every behaviour of loading (tests/checklist.toml) with the tests that show it; fails if one has no test.
checklist: install-dev
	$(BIN)/python -m tests.checklist

# The picture of the layers, from those of import-linter.
architecture: install-dev
	$(BIN)/python -m tests.architecture

# The messages of block nodes in Python, from their description.
block-node-api: install-dev
	cd ledger/stream/source/block_node && ../../../../$(BIN)/python -m grpc_tools.protoc -I. --python_out=. api.proto

# Machine code of the modules that take the most time, by a C compiler: mirror/docs/install.md.
compile: install
	$(PIP) requirements-compile.txt
	$(BIN)/python -m mirror.operations.compile

lint: install-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy .
	$(BIN)/lint-imports

install: $(VENV)/.installed
install-dev: $(VENV)/.installed-dev

# A venv that could not be completed has a python too, so its requirements are checked first.
$(BIN)/python:
	@$(INTERRUPTIBLE) \
	run $(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || \
	  { echo "Python 3.11 or later is needed as $(PYTHON); name another with: make PYTHON=python3.12" >&2; exit 1; }; \
	run $(PYTHON) -c "import ensurepip, venv" 2>/dev/null || \
	  { echo "Python's module venv is missing: install it (on Debian: apt-get install python3-venv)." >&2; exit 1; }; \
	run $(PYTHON) -m venv $(VENV)

$(VENV)/.installed: requirements.txt | $(BIN)/python
	@echo "Installing the packages of requirements.txt into $(VENV); this takes a minute."
	@$(INTERRUPTIBLE) run $(PIP) requirements.txt
	@touch $@

$(VENV)/.installed-dev: requirements-dev.txt requirements.txt | $(BIN)/python
	@echo "Installing the packages of requirements-dev.txt into $(VENV); this takes a minute."
	@$(INTERRUPTIBLE) run $(PIP) requirements-dev.txt
	@touch $@ $(VENV)/.installed
