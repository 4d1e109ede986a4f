"""`import grhmc` is light: what only some users need is imported where it is used."""

from __future__ import annotations

import subprocess
import sys

HEAVY = (
    "arviz_stats",
    "bridgestan",
    "cloudpickle",
    "h5netcdf",
    "jax",
    "matplotlib",
    "numpyro",
    "pandas",
    "pymc",
    "pytensor",
    "scipy",
    "stanli",
    "torch",
    "xarray",
    "zarr",
)
# A run needs xarray, and through it pandas, but not before its end.


def modules_after(statement: str) -> set[str]:
    """Top-level modules loaded by a fresh interpreter that executes a statement."""
    script = f"import sys; {statement}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    return set(finished.stdout.split())


def test_import_loads_no_heavy_library() -> None:
    loaded = modules_after("import grhmc") - modules_after("import numba")  # which takes SciPy where it finds it
    assert "grhmc" in loaded
    assert sorted(loaded & set(HEAVY)) == []


def test_every_public_name_exists() -> None:
    import grhmc

    missing = [name for name in grhmc.__all__ if not hasattr(grhmc, name)]
    assert missing == []
    assert len(set(grhmc.__all__)) == len(grhmc.__all__)
