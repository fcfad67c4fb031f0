# Two commands: `make up` runs a node, `make test` checks everything.
VENV := .venv
BIN := $(VENV)/bin

# The Python of .venv, or else the newest here for which the packages have wheels, preferably an optimized build.
# `make up PYTHON=python3.12` names another one; .venv is then made anew.
PYTHONS := $(BIN)/python python3.14 python3.13 python3.12 python3.11 python3 /usr/bin/python3
CHECK := import sys, sysconfig; get = sysconfig.get_config_var; \
  is_suitable = (3, 11) <= sys.version_info[:2] <= (3, 14) and not get("Py_GIL_DISABLED"); \
  is_optimized = sys.base_prefix == "/usr" or "--enable-optimizations" in (get("CONFIG_ARGS") or ""); \
  sys.exit(not (is_suitable and (is_optimized or sys.argv[1:])))
PYTHON ?= $(shell for option in "" slow; do for each in $(PYTHONS); do \
  $$each -c '$(CHECK)' $$option 2>/dev/null && echo $$each && exit; done; done; echo python3)
INSTALL = @command -v $(PYTHON) >/dev/null || { echo "There is no $(PYTHON): Python 3.11 to 3.14 is needed" \
  "(Debian, Ubuntu: apt-get install python3 python3-venv)." >&2; exit 1; }; $(PYTHON) -I deploy/install.py

# A program in a session of its own does not receive the terminal's Ctrl-C.
IN_OWN_SESSION = $(BIN)/python -c 'import os, sys; os.setsid(); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])'

LOCK_OPTIONS = --quiet --universal --python-version 3.11 --generate-hashes --no-header --annotation-style line $(LOCK)

.PHONY: up test coverage checklist lint install install-dev lock telemetry architecture block-node-api

up: install
	@trap 'kill $$pid' INT HUP TERM; \
	  $(IN_OWN_SESSION) manage.py up $(if $(LIVE),--live) & pid=$$!; \
	  while { wait $$pid; } 2>/dev/null; code=$$?; kill -0 $$pid 2>/dev/null; do :; done; \
	  if [ $$code -eq 143 ]; then echo Stopped.; exit 0; fi; exit $$code

# Two processes more than CI has processors, since tests often wait for nodes and clients. Each gets few tests at a
# time, or one of them would get all slow ones, which come first.
# RERUN=1 runs what fails once more, alone.
test: lint
	$(BIN)/python -m $(if $(RERUN),tests.rerun,pytest) -n 4 --maxschedchunk=25 --durations=10

# The branches of the product that the tests take; fails below the share in pyproject.toml.
coverage: install-dev
	rm -rf .coverage && mkdir .coverage
	$(BIN)/coverage run -m pytest -n 4 --maxschedchunk=25 --durations=10
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

# What traces need: mirror/docs/metrics.md.
telemetry:
	$(INSTALL) requirements-telemetry.txt

lint: install-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy .
	$(BIN)/lint-imports

install:
	$(INSTALL) requirements.txt

install-dev:
	$(INSTALL) requirements-dev.txt

# The requirements files from the lists in pyproject.toml: every package, for all platforms, with hashes.
# LOCK=--upgrade takes the newest release of each package that is not pinned there.
lock: install-dev
	$(BIN)/uv pip compile $(LOCK_OPTIONS) pyproject.toml --output-file requirements.txt
	$(BIN)/uv pip compile $(LOCK_OPTIONS) pyproject.toml --extra telemetry --constraints requirements.txt \
	  --output-file requirements-telemetry.txt
	$(BIN)/uv pip compile $(LOCK_OPTIONS) pyproject.toml --extra telemetry --group dev \
	  --constraints requirements-telemetry.txt --output-file requirements-dev.txt
