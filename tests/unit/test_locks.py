"""The locks hold all that pyproject.toml asks for, with hashes, and name no place to fetch it from."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = {
    "development": ("dev", "test-front-ends", "plot", "store"),
    "runtime": ("plot", "store"),
    "pymc": ("test-pymc", "pymc"),
    "docs": ("docs", "pymc", "stan", "jax", "plot", "store"),
}
NOT_BUILT = {"docs-3.11"}


def locked(lock):
    return dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", lock.read_text(), re.MULTILINE))


def unmet(requirements, versions):
    wanted = [Requirement(text) for text in requirements]
    return [
        str(r)
        for r in wanted
        if canonicalize_name(r.name) != "grhmc"
        and not r.specifier.contains(versions.get(canonicalize_name(r.name), "0.dev0"), prereleases=True)
    ]


def test_there_is_a_lock_for_every_supported_python():
    pythons = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if "Python :: 3." in c]
    assert {lock.stem for lock in LOCKS} == {f"{name}-{python}" for name in EXTRAS for python in pythons} - NOT_BUILT


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_a_lock_meets_the_requirements(lock):
    extras = EXTRAS[lock.stem.partition("-")[0]]
    requirements = [*PROJECT["dependencies"], *(r for e in extras for r in PROJECT["optional-dependencies"][e])]
    assert unmet(requirements, locked(lock)) == []
    assert unmet([*requirements, "numpy>=1000", "nothing-of-this-name"], locked(lock)) != []  # the negative control


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_a_lock_has_hashes_and_no_addresses(lock):
    text = lock.read_text()
    entries = re.split(r"\n(?=\S)", text.partition("\n")[2].rstrip())
    assert len(entries) == len(locked(lock)) > 20
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", entry) for entry in entries)
    assert not re.search(r"://|--(index|extra-index|find-links)", text)
