"""Text in the output of a notebook's cell that is replaced as a run goes on: by what the notebook itself has."""

from __future__ import annotations

import contextlib
import html
import sys
from collections.abc import Callable
from typing import Any

NotebookOutput = Callable[[str], None]
"""Shows a text in place of the one before."""


def notebook_output() -> NotebookOutput | None:
    """A new place in the output of the cell that runs now; None where there is no notebook."""
    with contextlib.suppress(Exception):
        if "marimo" in sys.modules and sys.modules["marimo"].running_in_notebook():
            return _in_marimo
    with contextlib.suppress(ImportError):
        from IPython.core.getipython import get_ipython

        if get_ipython() is not None:
            return _InJupyter()
    return None


class _InJupyter:
    """By a display with an identifier, as Jupyter, VS Code and Colab have: no widgets, nothing to install."""

    def __init__(self) -> None:
        self._handle: Any = None

    def __call__(self, text: str) -> None:
        from IPython.display import HTML, display

        shown = HTML(_as_html(text))
        if self._handle is None:
            self._handle = display(shown, display_id=True)
        else:
            self._handle.update(shown)


def _in_marimo(text: str) -> None:
    marimo: Any = sys.modules["marimo"]
    marimo.output.replace(marimo.Html(_as_html(text)))


def _as_html(text: str) -> str:
    return f'<pre style="line-height: 1.25; white-space: pre; overflow-x: auto">{html.escape(text)}</pre>'
