"""What one check of an installation found, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "note", "problem"]


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    Attributes
    ----------
    name : str
        What was looked at.
    state : {"ok", "note", "problem"}
        A note is worth knowing; only a problem makes the command fail.
    text : str
        What was found.
    advice : str
        What to do, where there is something to be done.
    """

    name: str
    state: State
    text: str
    advice: str = ""
