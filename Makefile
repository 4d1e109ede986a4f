# From a fresh clone with nothing but Python 3.11+ and make: `make demo` and `make test`.
# Each target makes .venv and installs what it needs; a second call installs nothing.

# Override with `make PYTHON=/path/to/python test`; else the first of these that is new enough.
PYTHON ?=
PYTHON_CANDIDATES = $(PYTHON) python3.13 python3.12 python3.11 python3
VENV_PYTHON = .venv/bin/python
PYMC_PYTHON = .venv-pymc/bin/python
WORKERS ?= 2
PYTEST_OPTIONS ?=

PIP_INSTALL = $(VENV_PYTHON) -m pip install --quiet --disable-pip-version-check

.PHONY: help demo test nightly lint format bench clean
.DELETE_ON_ERROR:

help:
	@echo 'make demo     sample a real posterior with all tuners; tables, figures and draws in demo-output/'
	@echo 'make test     the tests (PYTEST_OPTIONS="-k name" selects)'
	@echo 'make nightly  the tests that take minutes'
	@echo 'make lint     ruff, pyright and the layer contracts'
	@echo 'make format   let ruff mend what it can'
	@echo 'make bench    the benchmarks in benchmarks/'
	@echo 'make clean    remove the environments and caches'

demo: .venv/.runtime
	.venv/bin/grhmc demo --output demo-output

test: .venv/.development .venv-pymc/.tests
	$(VENV_PYTHON) -m pytest -n $(WORKERS) --dist worksteal $(PYTEST_OPTIONS) tests
	$(PYMC_PYTHON) -m pytest -n $(WORKERS) --dist worksteal $(PYTEST_OPTIONS) tests/front_ends/test_pymc*.py || [ $$? -eq 5 ] # none selected

nightly: .venv/.development .venv-pymc/.tests
	$(VENV_PYTHON) -m pytest -n $(WORKERS) --dist worksteal -m nightly $(PYTEST_OPTIONS) tests
	$(PYMC_PYTHON) -m pytest -n $(WORKERS) --dist worksteal -m nightly $(PYTEST_OPTIONS) tests/front_ends/test_pymc*.py || [ $$? -eq 5 ] # none selected

lint: .venv/.development
	$(VENV_PYTHON) -m ruff check .
	$(VENV_PYTHON) -m ruff format --check .
	$(VENV_PYTHON) -m pyright --pythonpath $(VENV_PYTHON)
	.venv/bin/lint-imports

format: .venv/.development
	$(VENV_PYTHON) -m ruff check --fix .
	$(VENV_PYTHON) -m ruff format .

# One process per benchmark, so that none measures another's compilation.
bench: .venv/.development
	@set -e; for script in benchmarks/[!_]*.py; do \
	    echo "== $$script"; $(VENV_PYTHON) "$$script"; \
	done

clean:
	rm -rf .venv .venv-pymc .nox build dist .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests -type d -name __pycache__ -prune -exec rm -rf {} +

# PyMC has an environment of its own: on Python 3.11 it needs an older Numba than the other tests should run on.
.venv-pymc/.tests: .venv/.development
	@echo 'Installing grhmc and PyMC into .venv-pymc ...'
	@$(PYMC_PYTHON) -m pip --version >/dev/null 2>&1 || $(VENV_PYTHON) -m venv --clear .venv-pymc
	@$(PYMC_PYTHON) -m pip install --quiet --disable-pip-version-check --editable '.[test-pymc]'
	@touch $@

# The stamps say what .venv holds; a change of the requirements makes them stale.
.venv/.runtime: pyproject.toml
	@$(MAKE_VENV)
	@echo 'Installing grhmc into .venv ...'
	@$(PIP_INSTALL) --editable '.[plot,store]'
	@touch $@

.venv/.development: pyproject.toml
	@$(MAKE_VENV)
	@echo 'Installing grhmc and its development tools into .venv ...'
	@$(PIP_INSTALL) --editable '.[dev,test-front-ends,plot,store]'
	@touch .venv/.runtime $@

# A candidate counts only if it runs, is new enough and can make environments: a version manager's
# shim may be on PATH without its interpreter, a distribution's Python without ensurepip.
# An environment that is whole (its pip runs) is kept.
define MAKE_VENV
if ! $(VENV_PYTHON) -m pip --version >/dev/null 2>&1; then \
    for candidate in $(PYTHON_CANDIDATES); do \
        if "$$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
            echo "Making .venv with $$candidate ..."; \
            exec "$$candidate" -m venv --clear .venv; \
        fi; \
    done; \
    echo 'grhmc needs Python 3.11 or newer with the venv module (on Debian: apt install python3-venv).' >&2; \
    echo 'Tried: $(PYTHON_CANDIDATES). Name one with `make PYTHON=/path/to/python ...`.' >&2; \
    exit 1; \
fi
endef
