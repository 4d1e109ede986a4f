"""What the rules that may end a run stand at: shown as progress."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Standing:
    """What rules stand at.

    Attributes
    ----------
    words : str
    draws : int or None
        Of each chain, after which the run is expected to end; None: nobody knows yet.
    seconds : float or None
        After which it ends whatever the draws are, as far as is known.
    """

    words: str
    draws: int | None = None
    seconds: float | None = None
