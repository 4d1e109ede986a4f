"""Install a wheel into an empty environment, away from the sources, and run README's examples and the demo there.

`python tests/check_wheel.py dist/grhmc-0.1.0-py3-none-any.whl --python python3.12 --pymc`, or `make check-wheel`.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def examples() -> tuple[str, list[str]]:
    """README's Python blocks: the one that needs PyMC, and the others."""
    blocks = _BLOCK.findall(README.read_text(encoding="utf-8"))
    with_pymc = [block for block in blocks if "pymc" in block]
    others = [block for block in blocks if "pymc" not in block]
    if len(with_pymc) != 1 or not others:
        raise SystemExit(f"README.md should have one example with PyMC and others without; it has {len(blocks)} blocks")
    return with_pymc[0], others


def check(wheel: Path, python: str, *, with_pymc: bool) -> None:
    """Raise CalledProcessError if a step fails."""
    pymc_example, others = examples()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        own = folder / "environment"
        _run("environment", [python, "-m", "venv", own], folder)
        scripts = own / ("Scripts" if os.name == "nt" else "bin")
        extras = "[plot,store,pymc]" if with_pymc else ""
        pip = [scripts / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run("install", [*pip, f"grhmc{extras} @ {wheel.resolve().as_uri()}"], folder)
        _run("check of requirements", [scripts / "python", "-m", "pip", "check"], folder)
        _run("grhmc --version", [scripts / "grhmc", "--version"], folder)
        for example in [pymc_example] if with_pymc else others:
            (folder / "example.py").write_text(example, encoding="utf-8")
            _run("README's example", [scripts / "python", "-W", "error::UserWarning", "example.py"], folder)
        _check_first_run(own)
        _run("grhmc demo", [scripts / "grhmc", "demo", "--output", "demo"], folder)
        _run("grhmc doctor", [scripts / "grhmc", "doctor"], folder)


def _check_first_run(environment: Path) -> None:
    """Where the wheel brings compiled kernels, nothing of the sampler may have been compiled."""
    (package,) = environment.glob("[Ll]ib/**/site-packages/grhmc")
    compiled = [
        file.name
        for part in ("process", "adaptation", "events", "dynamics")
        for file in (package / part).rglob("*.grhmc")
    ]
    has_kernels = (package / "kernels.zip").exists()
    print(
        f"== the wheel brings {'its' if has_kernels else 'no'} compiled kernels; compiled here: {len(compiled)}",
        flush=True,
    )
    if has_kernels == bool(compiled):
        raise SystemExit(f"kernels that a first run compiled: {compiled}")


def _run(what: str, command: list[object], folder: Path) -> None:
    # Nothing of the sources, and no kernels from elsewhere.
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "NUMBA_CACHE_DIR", "VIRTUAL_ENV")}
    began = time.perf_counter()
    finished = subprocess.run([str(word) for word in command], cwd=folder, env=environment, check=False)
    print(
        f"== {what}: {'ok' if finished.returncode == 0 else 'FAILED'}, {time.perf_counter() - began:.0f} s", flush=True
    )
    finished.check_returncode()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--python", default="python3")
    parser.add_argument("--pymc", action="store_true", help="with PyMC, matplotlib and file formats, and its example")
    chosen = parser.parse_args()
    check(chosen.wheel, chosen.python, with_pymc=chosen.pymc)
