"""Show texts that come from models and data files in a terminal: as they are, but without what a terminal obeys."""

from __future__ import annotations

from rich.text import Text

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def printable(text: str, style: str = "") -> Text:
    """As text for Rich, in which brackets are no markup; control characters other than a line's end are replaced."""
    shown = "".join(one if one.isprintable() or one in "\n " else _REPLACEMENT for one in text)
    return Text(shown, style=style)
