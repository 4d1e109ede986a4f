"""Versions of what grhmc stands on, and whether the optional packages can be imported."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

from grhmc._version import __version__
from grhmc.doctor.finding import Finding

OPTIONAL = {
    "pymc": "pymc",
    "stanli": "stan",
    "bridgestan": "stan",
    "jax": "jax",
    "numpyro": "jax",
    "torch": "torch",
    "matplotlib": "plot",
    "zarr": "store",
    "h5netcdf": "store",
    "cloudpickle": "cluster",
}
"""Packages that grhmc can do without, and the extra that brings each."""

_IMPORT_SECONDS = 120


def python_finding() -> Finding:
    """The interpreter, the machine and grhmc itself."""
    return Finding(
        "grhmc", "ok", f"{__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    )


def requirement_findings() -> Iterator[Finding]:
    """Each required package, with its version, and whether grhmc takes that version."""
    from packaging.requirements import Requirement

    try:
        texts = importlib.metadata.requires("grhmc") or []
    except importlib.metadata.PackageNotFoundError:
        yield Finding("requirements", "note", "unknown: grhmc is not installed, only imported", "pip install grhmc")
        texts = []
    for requirement in map(Requirement, texts):
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield _requirement_finding(requirement.name, str(requirement.specifier), requirement.specifier.contains)
    yield Finding("llvmlite", "ok", _version("llvmlite") or "missing")


def _requirement_finding(name: str, wanted: str, accepts: object) -> Finding:
    version = _version(name)
    if version is not None and callable(accepts) and accepts(version, prereleases=True):
        return Finding(name, "ok", version)
    found = "not installed" if version is None else f"{version}, but grhmc needs {wanted}"
    return Finding(name, "problem", found, f"pip install '{name}{wanted}'")


def optional_findings(packages: Mapping[str, str] = OPTIONAL) -> list[Finding]:
    """Each optional package: missing, importable, or broken."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(_optional_finding, packages, packages.values()))


def _optional_finding(name: str, extra: str) -> Finding:
    if importlib.util.find_spec(name) is None:
        return Finding(name, "ok", f"not installed (extra {extra})")
    version = _version(name) or "unknown version"
    # In a process of its own: a broken library can end the process that imports it.
    try:
        finished = subprocess.run(
            [sys.executable, "-c", f"import {name}"],
            capture_output=True,
            text=True,
            timeout=_IMPORT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Finding(name, "note", f"{version}, but importing it takes more than {_IMPORT_SECONDS} s")
    if finished.returncode == 0:
        return Finding(name, "ok", version)
    last = finished.stderr.strip().rpartition("\n")[2] or f"the process ended with {finished.returncode}"
    return Finding(
        name,
        "problem",
        f"{version}, but it cannot be imported: {last}",
        f"pip install --force-reinstall {name}, or uninstall it if you do not need it",
    )


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
