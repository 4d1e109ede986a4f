"""Write the locks beside this file, one a Python version and environment: `make lock`.

Every package gets one version and the hashes of all its files. PyTorch and what CUDA brings along are left out: the
file for CPUs and those for GPUs have different hashes and requirements, and differ in size by gigabytes. Its version is
in pyproject.toml (the extra `test-torch`), and pip takes the file that it finds for the machine.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
PROJECT = FOLDER.parent / "pyproject.toml"
PYTHONS = ("3.11", "3.12", "3.13")

ENVIRONMENTS = {
    "development": ("dev", "test-front-ends", "test-torch", "test-cluster", "plot", "store"),
    "runtime": ("plot", "store"),
    "pymc": ("test-pymc",),
    "docs": ("docs",),
}
"""Environments by name, and the extras of grhmc that they hold; `runtime` has the versions of `development`."""

WITHOUT_LOCK = {("docs", "3.11")}
"""The documentation needs PyMC 6, which is for Python 3.12 and later."""

# The result is the same whatever machine it is made on. macOS needs the same packages as Linux.
_COMPILE = ("pip", "compile", "--quiet", "--upgrade", "--python-platform", "x86_64-manylinux_2_28", "--no-annotate")
_OF_PYTORCH = re.compile(r"^(torch|triton|cuda-[\w-]+|nvidia-[\w-]+)==", re.MULTILINE)


def resolve(python: str, extras: tuple[str, ...], options: list[str]) -> str:
    """What uv resolves for the extras, with the build requirements."""
    words = [*_COMPILE, "--python-version", python, "--group", f"{PROJECT}:build", *options]
    for extra in extras:
        words += ["--extra", extra]
    uv = Path(sys.executable).parent / "uv"
    return subprocess.run([uv, *words, PROJECT], check=True, stdout=subprocess.PIPE, text=True).stdout


def write_lock(python: str, environment: str) -> None:
    """Resolve twice: first to learn the names that PyTorch brings."""
    options = []
    if environment == "runtime":
        options += ["--constraints", str(FOLDER / f"development-{python}.txt")]
    names = _OF_PYTORCH.findall(resolve(python, ENVIRONMENTS[environment], [*options, "--no-header"]))
    for name in names:
        options += ["--no-emit-package", name]
    options += ["--generate-hashes", "--no-emit-index-url", "--no-emit-find-links", "--no-header"]
    packages = resolve(python, ENVIRONMENTS[environment], options)
    header = f"# Made by `make lock`: {environment}, Python {python}. PyTorch is apart (make_locks.py says why).\n"
    (FOLDER / f"{environment}-{python}.txt").write_text(header + packages)


def main() -> None:
    """Write all locks."""
    for python in PYTHONS:
        for environment in ENVIRONMENTS:
            if (environment, python) not in WITHOUT_LOCK:
                write_lock(python, environment)


if __name__ == "__main__":
    main()
