"""The documentation as a site: `make docs`."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import grhmc

project = "grhmc"
author = "The grhmc developers"
copyright = "The grhmc developers"
version = release = grhmc.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
]
root_doc = "index"
exclude_patterns = ["_build", "images/*.py"]

# --- Pages are Markdown, read on GitHub as well -------------------------------------------------

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4

# --- Their code runs when the site is built; an error fails the build -----------------------------

nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 600
os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")

# --- The reference is made from docstrings --------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say them in words
numpydoc_show_class_members = True
numpydoc_show_inherited_class_members = False
numpydoc_class_members_toctree = False

# --- Appearance ----------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = f"grhmc {release}"
html_theme_options: dict[str, Any] = {
    "github_url": "https://github.com/grhmc/grhmc",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_with_keys": False,
}
html_show_sourcelink = False

linkcheck_retries = 2
linkcheck_timeout = 30
linkcheck_anchors = False

_FILES = "https://github.com/grhmc/grhmc/blob/main/"
_OUTSIDE = re.compile(r"\]\(((?:\.\./)+)([^)]+)\)")


def _link_to_the_repository(app: Any, docname: str, source: list[str]) -> None:
    """Files that lie outside docs/ are not on the site: link to the repository's."""
    depth = docname.count("/") + 1

    def replace(found: re.Match[str]) -> str:
        return found[0] if found[1].count("..") < depth else f"]({_FILES}{found[2]})"

    source[0] = _OUTSIDE.sub(replace, source[0])


def setup(app: Any) -> None:
    """Connect what this file adds to Sphinx."""
    app.connect("source-read", _link_to_the_repository)
    app.add_css_file("style.css")


html_static_path = ["_static"] if Path(__file__).with_name("_static").is_dir() else []
