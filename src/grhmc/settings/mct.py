"""Settings of MCT, the tuner by the time between crossings of the median."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grhmc.argument_checks import as_real_array, check_number
from grhmc.settings.names import TARGET_CROSSING_TIME


@dataclass(frozen=True)
class MCT:
    """Median crossing times (MCT) with settings of one's own: ``scale=grhmc.MCT(...)`` in place of ``scale="mct"``.

    Attributes
    ----------
    target_crossing_time : float or array of shape (dim,)
        T̃, process time between two crossings of a median, of all coordinates or of each. Default: π, half a period of a
        standard normal coordinate. A normal coordinate of standard deviation σ gets S = π σ/T̃.
    gamma : float
        Dual averaging's γ, of the only run of the practical warm-up and of the first of the paper's. Larger: smaller
        steps.
    second_gamma : float
        γ of the second run of the paper's warm-up.
    anchor_factor : float or array of shape (dim,)
        α of that run, whose μ is α log S of the first, for all coordinates or for each.
    kappa : float
        Dual averaging's κ, in (0.5, 1]: the larger, the sooner early iterates are forgotten.
    k0 : float
        Dual averaging's k0: damps the first steps.
    median_spacing : float
        Δ, process time between the samples that medians are estimated from.
    burn_share : float
        c_burn, the share of a run of the paper's warm-up before crossings count.

    References
    ----------
    Tran & Kleppe (2024), Appendix A.
    """

    target_crossing_time: float | Sequence[float] | np.ndarray = TARGET_CROSSING_TIME
    gamma: float = 10.0
    second_gamma: float = 25.0
    anchor_factor: float | Sequence[float] | np.ndarray = 1.1
    kappa: float = 0.75
    k0: float = 10.0
    median_spacing: float = 1.0
    burn_share: float = 0.05

    def __post_init__(self) -> None:
        self._take_numbers("target_crossing_time", above=0.0)
        check_number("gamma", self.gamma, above=0.0)
        check_number("second_gamma", self.second_gamma, above=0.0)
        self._take_numbers("anchor_factor")
        check_number("kappa", self.kappa, above=0.5)
        if self.kappa > 1.0:
            raise ValueError(f"kappa must be in (0.5, 1], got {self.kappa!r}")
        check_number("k0", self.k0, at_least=0.0)
        check_number("median_spacing", self.median_spacing, above=0.0)
        check_number("burn_share", self.burn_share, above=0.0, below=1.0)

    def check_dimension(self, dim: int) -> None:
        """Raise a ValueError if a setting has one number per coordinate of another model."""
        for name in _PER_COORDINATE:
            value = getattr(self, name)
            if isinstance(value, tuple) and len(value) != dim:
                raise ValueError(
                    f"{name} of grhmc.MCT has shape ({len(value)},), but the model has {dim} unconstrained "
                    f"coordinates: it must be a number or have shape ({dim},)"
                )

    def _take_numbers(self, name: str, *, above: float | None = None) -> None:
        """Check one number, or one per coordinate; these are kept as a tuple, which can be compared and hashed."""
        value: Any = getattr(self, name)
        if np.ndim(value) == 0 and not isinstance(value, np.ndarray):
            check_number(name, value, above=above)
            return
        array = as_real_array(name, value, "a number, or an array of one per coordinate")
        if array.ndim != 1 or array.size == 0:
            raise ValueError(f"{name} must be a number or have shape (dim,), got an array of shape {array.shape}")
        for index, number in enumerate(array.tolist()):
            check_number(f"{name}[{index}]", number, above=above)
        object.__setattr__(self, name, tuple(array.tolist()))


_PER_COORDINATE = ("target_crossing_time", "anchor_factor")
