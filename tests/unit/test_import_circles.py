"""No module needs itself: not when it is imported, not inside functions, and not for its annotations either."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src"


def modules() -> dict[str, Path]:
    """All modules of the package by name."""
    paths = sorted((SOURCES / "grhmc").rglob("*.py"))
    names = [".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__") for path in paths]
    return dict(zip(names, paths, strict=True))


def imported(path: Path, known: dict[str, Path]) -> set[str]:
    """What a module imports anywhere in its text."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in known else node.module for name in names}
    return found & known.keys()


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Modules of one circle, or none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_no_module_imports_itself_through_others():
    known = modules()
    graph = {name: imported(path, known) - {name} for name, path in known.items()}
    assert circle(graph) == []


@pytest.mark.parametrize("statement", ["import b", "if TYPE_CHECKING:\n    from b import f", "def f():\n    import b"])
def test_a_circle_is_noticed(tmp_path, statement):
    (tmp_path / "a.py").write_text(statement)
    (tmp_path / "b.py").write_text("from a import g")
    known = {name: tmp_path / f"{name}.py" for name in "ab"}
    assert sorted(set(circle({name: imported(path, known) for name, path in known.items()}))) == ["a", "b"]
