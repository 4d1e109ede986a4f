"""Show texts that come from models and data files in a terminal: as they are, but without what a terminal obeys."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def without_control_characters(text: str) -> str:
    """The text with control characters other than a line's end replaced: what a terminal would obey, not show."""
    return "".join(one if one.isprintable() or one in "\n " else _REPLACEMENT for one in text)


def printable(text: str, style: str = "") -> Text:
    """As text for Rich, in which brackets are no markup, without control characters."""
    from rich.text import Text

    return Text(without_control_characters(text), style=style)
