# From a fresh clone with nothing but Python 3.11, 3.12 or 3.13 and make: `make demo` and `make test`.
# Each target makes .venv and installs what it needs, at the versions and hashes in requirements/; a second call installs nothing.

# Override with `make PYTHON=/path/to/python test`; else the first of these that has a lock.
PYTHON ?=
PYTHON_CANDIDATES = $(PYTHON) python3.13 python3.12 python3.11 python3
VENV_PYTHON = .venv/bin/python
PYMC_PYTHON = .venv-pymc/bin/python
WORKERS ?= 2
PYTEST_OPTIONS ?=
# 0: a wheel for any machine, which compiles the kernels where it is used.
GRHMC_COMPILE_KERNELS ?= 1
# They run in .venv-pymc.
WITHOUT_PYMC = --ignore-glob='tests/front_ends/test_pymc*.py'

comma = ,
PIP_OPTIONS = install --quiet --disable-pip-version-check
# $(call INSTALL,python,lock,extras): the lock, and then grhmc itself, built by what the lock holds. The second step
# finds everything there, but for PyTorch (requirements/make_locks.py says why).
INSTALL = $(1) -m pip $(PIP_OPTIONS) --require-hashes --requirement $(call LOCK,$(1),$(2)) && \
    $(1) -m pip $(PIP_OPTIONS) --no-build-isolation --editable '.[$(3)]'
LOCK = requirements/$(2)-$$($(1) -c 'import sys; print("%d.%d" % sys.version_info[:2])').txt
# The same by uv, several times as fast; by pip where uv cannot: it does not read the configuration of pip's mirrors.
UV = .venv/bin/uv pip install --quiet --python $(1)
INSTALL_FAST = if $(UV) --require-hashes --requirement $(call LOCK,$(1),$(2)) && \
    $(UV) --no-build-isolation --editable '.[$(3)]'; then :; \
    else echo 'uv could not; now with pip ...'; $(1) -m ensurepip >/dev/null; $(INSTALL); fi
# uv itself, at the version and hashes of the lock.
INSTALL_UV = sed -n '/^uv==/,/[^\\]$$/p' $(call LOCK,$(VENV_PYTHON),development) >.venv/uv.txt && \
    $(VENV_PYTHON) -m pip $(PIP_OPTIONS) --require-hashes --requirement .venv/uv.txt
LOCKS = pyproject.toml $(wildcard requirements/*.txt)

.PHONY: help demo test kernels kernels-pymc test-newest test-lowest nightly lint format lock bench clean dist check-wheel docs docs-links
.DELETE_ON_ERROR:

help:
	@echo 'make demo     sample a real posterior with all tuners; tables, figures and draws in demo-output/'
	@echo 'make test     the tests (PYTEST_OPTIONS="-k name" selects)'
	@echo 'make nightly  the tests that take minutes, and these two:'
	@echo 'make test-newest  the tests with the newest version of everything, on every Python found'
	@echo 'make test-lowest  the tests with the lowest versions that pyproject.toml allows'
	@echo 'make lint     ruff, pyright and the layer contracts'
	@echo 'make format   let ruff mend what it can'
	@echo 'make lock     resolve the versions that all targets install afresh (requirements/)'
	@echo 'make bench    the benchmarks in benchmarks/'
	@echo 'make docs     the documentation as a site, in docs/_build/html; every page runs its code'
	@echo 'make docs-links  the links of the documentation (needs the network)'
	@echo 'make dist     the source archive and the wheel with the kernels compiled for this kind of machine, in dist/'
	@echo 'make check-wheel  the wheel in empty environments of every Python found: README, demo, doctor'
	@echo 'make clean    remove the environments and caches'

demo: .venv/.runtime
	.venv/bin/grhmc demo --output demo-output

test: .venv/.development
	@$(MAKE) --no-print-directory --jobs 2 kernels kernels-pymc
	$(VENV_PYTHON) -m pytest -n $(WORKERS) --dist worksteal $(WITHOUT_PYMC) $(PYTEST_OPTIONS) tests
	$(PYMC_PYTHON) -m pytest -n $(WORKERS) --dist worksteal $(PYTEST_OPTIONS) tests/front_ends/test_pymc*.py || [ $$? -eq 5 ] # none selected

# Compiled once, while PyMC is installed; else every worker compiles them for itself, all at once.
kernels: .venv/.development
	@echo 'Compiling the kernels ...'
	@$(VENV_PYTHON) tests/compile_kernels.py

kernels-pymc: .venv-pymc/.tests
	@echo 'Compiling the kernels for PyMC ...'
	@$(PYMC_PYTHON) tests/compile_kernels.py

nightly: .venv/.development .venv-pymc/.tests
	$(VENV_PYTHON) -m pytest -n $(WORKERS) --dist worksteal -m nightly $(WITHOUT_PYMC) $(PYTEST_OPTIONS) tests
	$(PYMC_PYTHON) -m pytest -n $(WORKERS) --dist worksteal -m nightly $(PYTEST_OPTIONS) tests/front_ends/test_pymc*.py || [ $$? -eq 5 ] # none selected
	$(MAKE) test-newest test-lowest

test-newest test-lowest: test-%: .venv/.development
	.venv/bin/nox --tags $* -- $(PYTEST_OPTIONS)

lint: .venv/.development
	$(VENV_PYTHON) -m ruff check .
	$(VENV_PYTHON) -m ruff format --check .
	$(VENV_PYTHON) -m pyright --pythonpath $(VENV_PYTHON)
	.venv/bin/lint-imports

format: .venv/.development
	$(VENV_PYTHON) -m ruff check --fix .
	$(VENV_PYTHON) -m ruff format .

lock:
	@$(MAKE_VENV)
	@$(VENV_PYTHON) -m venv .venv-lock
	@.venv-lock/bin/python -m pip $(PIP_OPTIONS) 'uv>=0.13,<0.14'
	.venv-lock/bin/python requirements/make_locks.py

# One process per benchmark, so that none measures another's compilation.
bench: .venv/.development
	@set -e; for script in benchmarks/[!_]*.py; do \
	    echo "== $$script"; $(VENV_PYTHON) "$$script"; \
	done

dist: .venv-release/.tools
	rm -rf dist
	GRHMC_COMPILE_KERNELS=$(GRHMC_COMPILE_KERNELS) .venv-release/bin/python -m build
	.venv-release/bin/python -m twine check --strict dist/*

check-wheel: dist
	@set -e; for python in python3.11 python3.12 python3.13 python3.14; do \
	    if $$python -c 'import venv' >/dev/null 2>&1; then \
	        echo "== $$python"; $$python tests/check_wheel.py dist/*.whl --python $$python; last=$$python; \
	    fi; \
	done; $$last tests/check_wheel.py dist/*.whl --python $$last --pymc

docs: .venv-docs/.packages
	.venv-docs/bin/python -m sphinx -W --keep-going -b html docs docs/_build/html

docs-links: .venv-docs/.packages
	.venv-docs/bin/python -m sphinx -W --keep-going -b linkcheck docs docs/_build/links

.venv-release/.tools: pyproject.toml
	@$(MAKE_VENV)
	@$(VENV_PYTHON) -m venv .venv-release
	@.venv-release/bin/python -m pip $(PIP_OPTIONS) 'build>=1.2' 'twine>=6.1'
	@touch $@

# An environment of its own: it holds PyMC, which the development environment does not.
.venv-docs/.packages: $(LOCKS)
	@$(MAKE_VENV)
	@$(VENV_PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 12))' || \
	    { echo 'The documentation is built on Python 3.12 or 3.13: make clean, then make PYTHON=python3.12 docs' >&2; exit 1; }
	@echo 'Installing grhmc and what builds its documentation into .venv-docs ...'
	@$(VENV_PYTHON) -m venv .venv-docs
	@$(call INSTALL,.venv-docs/bin/python,docs,docs)
	@touch $@

clean:
	rm -rf .venv .venv-pymc .venv-lock .venv-release .venv-docs docs/_build .nox build dist .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests -type d -name __pycache__ -prune -exec rm -rf {} +

# PyMC has an environment of its own: on Python 3.11 it needs an older Numba than the other tests should run on.
.venv-pymc/.tests: $(LOCKS) .venv/.development
	@echo 'Installing grhmc and PyMC into .venv-pymc ...'
	@$(PYMC_PYTHON) -c '' >/dev/null 2>&1 || .venv/bin/uv venv --quiet --clear --python $(VENV_PYTHON) .venv-pymc
	@$(call INSTALL_FAST,$(PYMC_PYTHON),pymc,test-pymc)
	@touch $@

# The stamps say what .venv holds; a change of the requirements makes them stale.
.venv/.runtime: $(LOCKS)
	@$(MAKE_VENV)
	@echo 'Installing grhmc into .venv ...'
	@$(call INSTALL,$(VENV_PYTHON),runtime,plot$(comma)store)
	@touch $@

.venv/.development: $(LOCKS)
	@$(MAKE_VENV)
	@echo 'Installing grhmc and its development tools into .venv ...'
	@$(INSTALL_UV)
	@$(call INSTALL_FAST,$(VENV_PYTHON),development,dev$(comma)test-front-ends$(comma)test-torch$(comma)plot$(comma)store)
	@touch .venv/.runtime $@

# A candidate counts only if it runs, has a lock and can make environments: a version manager's
# shim may be on PATH without its interpreter, a distribution's Python without ensurepip.
# An environment that is whole (its pip runs) is kept.
define MAKE_VENV
if ! $(VENV_PYTHON) -m pip --version >/dev/null 2>&1; then \
    for candidate in $(PYTHON_CANDIDATES); do \
        if "$$candidate" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' >/dev/null 2>&1; then \
            echo "Making .venv with $$candidate ..."; \
            exec "$$candidate" -m venv --clear .venv; \
        fi; \
    done; \
    echo 'The locks are for Python 3.11, 3.12 and 3.13; none was found with the venv module (on Debian: apt install python3-venv).' >&2; \
    echo 'Tried: $(PYTHON_CANDIDATES). Name one with `make PYTHON=/path/to/python ...`.' >&2; \
    exit 1; \
fi
endef
