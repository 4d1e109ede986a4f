"""Show texts and numbers in a terminal: what models and data files say, without what a terminal would obey."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def without_control_characters(text: str) -> str:
    """The text with control characters other than a line's end replaced: what a terminal would obey, not show."""
    return "".join(one if one.isprintable() or one in "\n " else _REPLACEMENT for one in text)


def printable(text: str, style: str = "") -> Text:
    """As text for Rich, in which brackets are no markup, without control characters."""
    from rich.text import Text

    return Text(without_control_characters(text), style=style)


def accept_all_characters() -> None:
    """Standard output and error show what their encoding cannot, such as Greek letters in cp1252, as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def print_if_possible(text: RenderableType, style: str | None = None) -> None:
    """Print on standard error; where that fails, as on a full disk, do without from now on."""
    from rich.console import Console

    try:
        Console(stderr=True).print(text, style=style)
    except OSError:
        with contextlib.suppress(OSError, ValueError):  # what is buffered would fail again when the interpreter ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def format_count(count: float) -> str:
    """Three significant digits and a letter for thousands, millions, and so on: ``12.3k``."""
    for letter in ("", "k", "M", "G"):
        if abs(count) < 999.5:
            return f"{count:.3g}{letter}"
        count /= 1000.0
    return f"{count:.3g}T"
