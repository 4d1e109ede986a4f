"""How many verdicts of each kind agree: what the console prints and the exit code says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from grhmc.paper.verdicts import Verdict


@dataclass(frozen=True)
class Count:
    """Verdicts of one kind under one integrator.

    Attributes
    ----------
    path, kind : str
    n_agree, n_disagree, n_open : int
        `n_open`: no verdict is due, or the errors leave it undecided.
    decides_exit : bool
        Whether a disagreement counts for the exit code.
    """

    path: str
    kind: str
    n_agree: int
    n_disagree: int
    n_open: int
    decides_exit: bool = True

    @property
    def words(self) -> str:
        """One line."""
        line = f"{self.kind}: {self.n_agree} of {self.n_agree + self.n_disagree} agree"
        return line + (f", {self.n_open} without a verdict" if self.n_open else "")


def count(path: str, kind: str, verdicts: Iterable[Verdict], *, decides_exit: bool = True) -> Count:
    """Count verdicts."""
    listed = list(verdicts)
    numbers = [listed.count(one) for one in (Verdict.AGREE, Verdict.DISAGREE, Verdict.NONE)]
    return Count(path, kind, *numbers, decides_exit=decides_exit)


def exit_code(counts: Iterable[Count]) -> int:
    """1 if anything disagrees that a right program has to meet; conclusions and rankings are not part of it."""
    return int(any(one.n_disagree > 0 and one.decides_exit for one in counts))


def console_lines(counts: Iterable[Count]) -> list[str]:
    """The counts as the console shows them, a heading for each integrator."""
    lines: list[str] = []
    path = None
    for one in counts:
        if one.path != path:
            path = one.path
            lines.append(f"{path}:")
        lines.append(f"  {one.words}")
    return lines
