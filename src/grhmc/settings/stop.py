"""When a run may end before all of its draws are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grhmc.argument_checks import check_count, check_number

CRITERIA = ("ess", "rhat")


@dataclass(frozen=True)
class StopRule:
    """The run ends where the first of these is met.

    Attributes
    ----------
    ess : float or None
        Effective draws, in the bulk and in the tails, that every parameter has at least.
    rhat : float or None
        R-hat that every parameter has at most. Both must hold, if both are given.
    max_time : float or None
        Seconds from the start of the warm-up.
    max_gradients : int or None
        Of all chains together, warm-up included; each may spend an equal share.
    """

    ess: float | None = None
    rhat: float | None = None
    max_time: float | None = None
    max_gradients: int | None = None

    def __post_init__(self) -> None:
        if self.ess is not None:
            check_number("until['ess']", self.ess, above=0.0)
        if self.rhat is not None:
            check_number("until['rhat']", self.rhat, above=1.0)
        if self.max_time is not None:
            check_number("max_time", self.max_time, above=0.0)
        if self.max_gradients is not None:
            check_count("max_gradients", self.max_gradients, at_least=1)

    @classmethod
    def parse(cls, until: Any, max_time: float | None, max_gradients: int | None) -> StopRule:
        """From users' arguments.

        Raises
        ------
        TypeError, ValueError
            If one of them is not as `sample` says.
        """
        if until is None:
            return cls(max_time=max_time, max_gradients=max_gradients)
        accepted = "a mapping such as {'ess': 400, 'rhat': 1.01}"
        if not isinstance(until, Mapping):
            raise TypeError(f"until must be {accepted}, got {until!r}")
        unknown = [name for name in until if name not in CRITERIA]
        if unknown or not until:
            raise ValueError(f"until must be {accepted}, with one of these or both; got {dict(until)!r}")
        return cls(until.get("ess"), until.get("rhat"), max_time, max_gradients)

    @property
    def is_given(self) -> bool:
        """Whether there is any."""
        return self != StopRule()

    @property
    def looks(self) -> bool:
        """Whether draws must be looked at on the way."""
        return self.ess is not None or self.rhat is not None
