"""What the package is, its version and its requirements are the same wherever they are said."""

import re
import tomllib
from pathlib import Path

import pytest
from typer.main import get_command

import grhmc
from grhmc.cli.app import app

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def text_of(path):
    return (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("CITATION.cff", f"version: {grhmc.__version__}"),
        ("recipe/recipe.yaml", f'  version: "{grhmc.__version__}"'),
        ("CITATION.cff", f'title: "grhmc: {PROJECT["description"]}"'),
        ("recipe/recipe.yaml", f"  summary: {PROJECT['description']}"),
    ],
)
def test_a_file_says_what_the_package_says(path, line):
    assert line in text_of(path).splitlines()


def test_the_changelog_has_the_version_and_the_date_of_the_citation():
    date = re.search(r"^date-released: (.+)$", text_of("CITATION.cff"), re.MULTILINE)
    assert date is not None
    assert f"\n## {grhmc.__version__} ({date[1]})\n" in text_of("CHANGELOG.md")


def test_the_package_and_its_command_describe_themselves_alike():
    assert f"{PROJECT['description']}." == grhmc.__doc__ == get_command(app).help


def test_the_recipe_has_the_requirements_of_the_package():
    run = text_of("recipe/recipe.yaml").partition("  run:\n")[2].partition("\n\n")[0]
    in_recipe = {line.strip("- ").replace(" ", "") for line in run.splitlines()} - {"python>=${{python_min}}"}
    assert in_recipe == {re.sub(r"\[.*?\]", "", one) for one in PROJECT["dependencies"]}
