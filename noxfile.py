"""Run the tests without the locks, in fresh environments: `make test-newest` and `make test-lowest`."""

from pathlib import Path

import nox

nox.options.default_venv_backend = "uv"
nox.options.error_on_missing_interpreters = False

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
WITHOUT_PYMC = ["--ignore-glob=tests/front_ends/test_pymc*.py", "tests"]
ONLY_PYMC = sorted(str(path) for path in Path("tests/front_ends").glob("test_pymc*.py"))

# Without PyTorch, whose newest version is gigabytes: its tests are skipped here.
EXTRAS = "dev,test-front-ends,plot,store"


def run_tests(session: nox.Session, extras: str, tests: list[str], *install_options: str) -> None:
    """Install and run pytest; words after `--` go to it."""
    session.install("--upgrade", *install_options, f".[{extras}]")
    # 5: none selected.
    session.run("pytest", "-n", "2", "--dist", "worksteal", *session.posargs, *tests, success_codes=[0, 5])


@nox.session(python=PYTHONS, tags=["newest"])
def newest(session: nox.Session) -> None:
    """The newest version of everything that pyproject.toml allows."""
    run_tests(session, EXTRAS, WITHOUT_PYMC)


@nox.session(python=PYTHONS, tags=["newest"])
def newest_pymc(session: nox.Session) -> None:
    """The same for PyMC, which holds Numba back."""
    run_tests(session, "test-pymc", ONLY_PYMC)


@nox.session(python=PYTHONS[0], tags=["lowest"])
def lowest(session: nox.Session) -> None:
    """The lower bounds of pyproject.toml."""
    run_tests(session, EXTRAS, WITHOUT_PYMC, "--resolution=lowest-direct")


@nox.session(python=PYTHONS[0], tags=["lowest"])
def lowest_pymc(session: nox.Session) -> None:
    """The same for PyMC."""
    run_tests(session, "test-pymc", ONLY_PYMC, "--resolution=lowest-direct")


@nox.session(python=PYTHONS[0], tags=["newest"])
def cmdstan(session: nox.Session) -> None:
    """CmdStan with a tuned metric; the package prophet brings a program that CmdStan compiled."""
    run_tests(session, "dev", ["-m", "nightly", "tests/front_ends/test_cmdstan.py"], "prophet>=1.1.7")
