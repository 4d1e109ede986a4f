"""The pages of the documentation name everything public, and are all to be found; their links lead to files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import grhmc
from grhmc.results.descriptions import BY_PROCESS, COMMON

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if not path.relative_to(DOCS).parts[0].startswith("_"))
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(?:#[^)]*)?\)")


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def toctree_entries(page: Path) -> set[Path]:
    found: set[Path] = set()
    for block in re.findall(r"^```\{toctree\}\n(.*?)^```", read(page), re.MULTILINE | re.DOTALL):
        for entry in block.splitlines():
            if entry and not entry.startswith(":"):
                found.update(path.resolve() for path in page.parent.glob(f"{entry}.md"))
    return found


def listed_pages(start: Path) -> set[Path]:
    reached, waiting = {start}, [start]
    while waiting:
        new = toctree_entries(waiting.pop()) - reached
        reached |= new
        waiting += new
    return reached


def test_every_public_name_is_in_the_reference():
    text = read(DOCS / "api.md")
    missing = [name for name in grhmc.__all__ if not re.search(rf"^   {name}$|`grhmc\.{name}`", text, re.MULTILINE)]
    assert missing == []


def test_the_reference_has_no_name_that_does_not_exist():
    names = re.findall(r"^   ([A-Za-z_]\w*)$", read(DOCS / "api.md"), re.MULTILINE)
    assert len(names) > 30
    assert sorted(set(names) - set(grhmc.__all__)) == []


def test_every_page_is_in_a_table_of_contents():
    assert sorted(set(PAGES) - listed_pages(DOCS / "index.md")) == []


@pytest.mark.parametrize("group", COMMON)
def test_every_statistic_is_explained(group):
    text = read(DOCS / "statistics.md").replace(r"\|", "|")
    section = text.partition(f"## `{group}`")[2].partition("\n## ")[0]
    for of_process in (COMMON, *BY_PROCESS.values()):
        for name, description in of_process[group].items():
            assert re.search(rf"^\| `{name}`.* \| {re.escape(description)} \|$", section, re.MULTILINE), name


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page):
    folder = ROOT if page.name == "changelog.md" else page.parent
    broken = [target for target in LINK.findall(read(page)) if not (folder / target).exists()]
    assert broken == []
