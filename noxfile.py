"""Run the tests on every supported Python, in fresh environments: `nox`, or `nox -s tests-3.12`."""

import nox

nox.options.default_venv_backend = "uv|virtualenv"
nox.options.error_on_missing_interpreters = False

PYTHONS = ["3.11", "3.12", "3.13"]


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run pytest; words after `--` go to it.

    PyTorch is tested on 3.11; PyMC from 3.12 on, for before it holds Numba back and has its own environment (Makefile).
    """
    extras = "dev,test-front-ends,plot,store" if session.python == "3.11" else "dev,jax,pymc,stan,plot,store"
    session.install(f".[{extras}]")
    session.run("pytest", "-n", "2", *(session.posargs or ["tests"]))


@nox.session(python=PYTHONS[0])
def lint(session: nox.Session) -> None:
    """Run the checks of `make lint`."""
    session.install("-e", ".[dev,plot,store]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("pyright")
    session.run("lint-imports")
