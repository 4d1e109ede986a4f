"""The layers import in one direction only, and the check that says so notices when they do not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "src" / "grhmc"


def lint_imports(source: Path) -> subprocess.CompletedProcess[str]:
    """Run the repository's contracts on the package in `source`."""
    # In a process of its own: here, `grhmc` is imported already.
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command; lint_imports_command()",
            "--config",
            str(REPOSITORY / "pyproject.toml"),
            "--no-cache",
        ],
        cwd=source,
        env={**os.environ, "PYTHONPATH": str(source), "COLUMNS": "200", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def copy_with(tmp_path: Path, module: str, statement: str) -> Path:
    """Copy the package's sources and add one statement to one module; return the copy's parent."""
    copy = tmp_path / "grhmc"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "data"))
    path = copy / module
    with path.open("a", encoding="utf-8") as file:
        file.write(f"\n{statement}\n")
    return tmp_path


def test_no_contract_is_broken():
    result = lint_imports(PACKAGE.parent)
    assert result.returncode == 0, result.stdout + result.stderr


ORDER = "Each layer imports only those below it"
COMPILED = "The compiled layers know neither models nor results"
ON_TOP = "What stands on top uses the public API only"


@pytest.mark.parametrize(
    ("module", "statement", "contract"),
    [
        ("dynamics/extra.py", "import grhmc.events", ORDER),
        ("events/extra.py", "import grhmc.adaptation", ORDER),
        ("adaptation/extra.py", "import grhmc.process", ORDER),
        ("process/extra.py", "import grhmc.run", ORDER),
        ("run/extra.py", "import grhmc.diagnosis", ORDER),
        ("sampling.py", "import grhmc.comparison", ORDER),
        ("models/extra.py", "import grhmc.dynamics", ORDER),
        ("results/extra.py", "import grhmc.run", ORDER),
        ("outcomes.py", "import grhmc.process", ORDER),
        ("guard_zones.py", "import grhmc.models", ORDER),
        ("_jit.py", "import grhmc.settings", ORDER),
        ("_files.py", "import grhmc.outcomes", ORDER),
        # Inside a function, too: it is needed when that runs.
        ("events/extra.py", "def f():\n    import grhmc.process", ORDER),
        ("adaptation/extra.py", "import grhmc.models", COMPILED),
        ("process/extra.py", "import grhmc.results", COMPILED),
        ("events/extra.py", "import grhmc.guard_zones", COMPILED),
        # Public names only, on top.
        ("cli/extra.py", "import grhmc.dynamics", ON_TOP),
        ("plotting.py", "import grhmc.process", ON_TOP),
        ("paper/extra.py", "import grhmc.run", ON_TOP),
        ("comparison/extra.py", "import grhmc.adaptation", ON_TOP),
        # A new module at the top must be given its layer.
        ("extra.py", "import grhmc.outcomes", ORDER),
    ],
)
def test_a_forbidden_import_is_noticed(tmp_path, module, statement, contract):
    result = lint_imports(copy_with(tmp_path, module, statement))
    assert result.returncode == 1, result.stdout + result.stderr
    broken = [line for line in result.stdout.splitlines() if f"{contract} BROKEN" in line]
    assert broken, result.stdout
    if module == "extra.py":
        assert "not listed as layers" in result.stdout


def test_a_type_may_be_named_across_layers(tmp_path):
    statement = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from grhmc.run.extra import ChainRecord"
    source = copy_with(tmp_path, "results/extra.py", statement)
    run = source / "grhmc" / "run"
    run.mkdir(exist_ok=True)
    (run / "__init__.py").touch()
    (run / "extra.py").write_text("class ChainRecord: ...\n", encoding="utf-8")
    result = lint_imports(source)
    assert result.returncode == 0, result.stdout + result.stderr
