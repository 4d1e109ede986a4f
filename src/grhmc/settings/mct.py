"""Settings of MCT, the tuner by the time between crossings of the median."""

from __future__ import annotations

from dataclasses import dataclass

from grhmc.argument_checks import check_number
from grhmc.settings.names import TARGET_CROSSING_TIME


@dataclass(frozen=True)
class MCT:
    """Median crossing times (MCT) with settings of one's own: ``scale=grhmc.MCT(...)`` in place of ``scale="mct"``.

    Attributes
    ----------
    target_crossing_time : float
        T̃, process time between two crossings of a median. Default: π, half a period of a standard normal coordinate.
    gamma : float
        Dual averaging's γ, of the only run of the practical warm-up and of the first of the paper's. Larger: smaller
        steps.
    second_gamma, anchor_factor : float
        γ and α of the second run of the paper's warm-up, whose μ is α log S of the first.
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

    target_crossing_time: float = TARGET_CROSSING_TIME
    gamma: float = 10.0
    second_gamma: float = 25.0
    anchor_factor: float = 1.1
    kappa: float = 0.75
    k0: float = 10.0
    median_spacing: float = 1.0
    burn_share: float = 0.05

    def __post_init__(self) -> None:
        check_number("target_crossing_time", self.target_crossing_time, above=0.0)
        check_number("gamma", self.gamma, above=0.0)
        check_number("second_gamma", self.second_gamma, above=0.0)
        check_number("anchor_factor", self.anchor_factor)
        check_number("kappa", self.kappa, above=0.5)
        if self.kappa > 1.0:
            raise ValueError(f"kappa must be in (0.5, 1], got {self.kappa!r}")
        check_number("k0", self.k0, at_least=0.0)
        check_number("median_spacing", self.median_spacing, above=0.0)
        check_number("burn_share", self.burn_share, above=0.0, below=1.0)
