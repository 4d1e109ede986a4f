"""MCT: scales under which every coordinate crosses its median once per target time, by dual averaging.

A coordinate that takes too long between two crossings of its median needs a larger scale, one that crosses too soon a
smaller one. Medians come from P² estimators fed with equally spaced samples; crossings are found on dense output.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from grhmc._jit import inner_kernel, kernel
from grhmc.adaptation.tuners.dual_averaging import DualAveraging, init_dual_averaging
from grhmc.adaptation.tuners.dual_averaging import observe as observe_error
from grhmc.adaptation.tuners.p_square import MedianEstimator, init_median_estimator
from grhmc.adaptation.tuners.p_square import median as estimated_median
from grhmc.dynamics.phase import Step
from grhmc.events.root_search import NO_ROOT, first_crossing

KAPPA = 0.75
K0 = 10.0
FIRST_RUN_GAMMA = 10.0
SECOND_RUN_GAMMA = 25.0
SECOND_RUN_ANCHOR_FACTOR = 1.1
"""The published settings (Tran & Kleppe 2024, Appendix A)."""

_JUST_AFTER = 1e-9
# Of a step: where the search for a coordinate's next crossing begins, so that it does not find the same one again.


class CrossingTimeTuner(NamedTuple):
    """State of the tuner.

    Attributes
    ----------
    side : ndarray, shape (dim,)
        +1 or -1: the side of the median each coordinate was last seen on.
    last_crossing_time : ndarray, shape (dim,)
        Process time; NaN before the first crossing.
    n_crossings : ndarray of int64, shape (dim,)
        Crossings observed.
    averaging : DualAveraging
        In the logarithm of the scale.
    medians : MedianEstimator
        Of q, in the units of the parameters.
    target_time : ndarray, shape (dim,)
        T̃, the process time wanted between two crossings. Read only where it differs by coordinate: a number of all
        coordinates is passed as an argument, which compiles to the same arithmetic as ever. Not changed by kernels.
    """

    side: np.ndarray
    last_crossing_time: np.ndarray
    n_crossings: np.ndarray
    averaging: DualAveraging
    medians: MedianEstimator
    target_time: np.ndarray


def init_crossing_time_tuner(
    scale: np.ndarray,
    *,
    gamma: float = FIRST_RUN_GAMMA,
    anchor: np.ndarray | None = None,
    target_time: float | Sequence[float] = np.pi,
) -> CrossingTimeTuner:
    """Start from the present scales, with the dual averaging drawn to `anchor` (default 0) in log scale.

    `target_time` is that of all coordinates, or of each.
    """
    dim = scale.shape[0]
    return CrossingTimeTuner(
        side=np.ones(dim),
        last_crossing_time=np.full(dim, np.nan),
        n_crossings=np.zeros(dim, dtype=np.int64),
        averaging=init_dual_averaging(
            np.log(scale),
            np.zeros(dim) if anchor is None else anchor,
            gamma=gamma,
            kappa=KAPPA,
            k0=K0,
        ),
        medians=init_median_estimator(dim),
        target_time=np.full(dim, target_time, dtype=np.float64),
    )


@kernel
def write_medians(tuner: CrossingTimeTuner, centre: np.ndarray) -> None:
    """Write the present estimates of the medians to `centre`."""
    for k in range(centre.shape[0]):
        centre[k] = estimated_median(tuner.medians, k)


@kernel
def write_scales(tuner: CrossingTimeTuner, present_scale: np.ndarray, scale: np.ndarray) -> None:
    """Write exp(x̄) of each coordinate that has crossed at least twice to `scale`, else its present scale."""
    for k in range(scale.shape[0]):
        if tuner.n_crossings[k] >= 2:
            scale[k] = np.exp(tuner.averaging.log_value_average[k])
        else:
            scale[k] = present_scale[k]


@kernel
def start_observing(tuner: CrossingTimeTuner, position: np.ndarray) -> None:
    """Note the side each coordinate of the standardized `position` is on; updates `tuner.side`."""
    for k in range(position.shape[0]):
        tuner.side[k] = 1.0 if position[k] >= 0.0 else -1.0


@kernel
def observe_crossing(tuner: CrossingTimeTuner, coordinate: int, time: float, target_time: float) -> bool:
    """Move one log scale towards the target crossing time; updates `tuner`.

    A late crossing raises the scale, an early one lowers it. A coordinate's first crossing only starts its clock.

    Returns
    -------
    bool
        True if the coordinate's scale changed.

    References
    ----------
    Tran & Kleppe (2024), section 3 and Appendix A.
    """
    tuner.side[coordinate] = -tuner.side[coordinate]
    tuner.n_crossings[coordinate] += 1
    previous = tuner.last_crossing_time[coordinate]
    tuner.last_crossing_time[coordinate] = time
    if np.isnan(previous):
        return False
    observe_error(tuner.averaging, coordinate, target_time - (time - previous))
    return True


@kernel
def earliest_crossing(tuner: CrossingTimeTuner, step: Step, duration: float) -> tuple[int, float]:
    """The coordinate that crosses first within the step, and the fraction of the step at which it does.

    Returns (-1, `NO_ROOT`) if none does.
    """
    coordinate, earliest = -1, NO_ROOT
    for k in range(step.position.shape[0]):
        fraction = first_crossing(step, duration, k, 0.0, tuner.side[k])
        if fraction < earliest:
            coordinate, earliest = k, fraction
    return coordinate, earliest


@kernel
def follow_sides(tuner: CrossingTimeTuner, step: Step) -> None:
    """Note the sides at the end of a step without counting: a shifted centre is no crossing; updates `tuner.side`."""
    for k in range(step.position.shape[0]):
        before_was_other = step.position[k] * tuner.side[k] < 0.0
        if before_was_other and step.end_position[k] * tuner.side[k] < 0.0:
            tuner.side[k] = -tuner.side[k]


@kernel
def observe_crossings(
    tuner: CrossingTimeTuner, step: Step, duration: float, start_time: float, target_time: float
) -> None:
    """Take in every crossing within a step, without changing the standardization; updates `tuner`."""
    for k in range(step.position.shape[0]):
        start = 0.0
        while True:
            fraction = first_crossing(step, duration, k, start, tuner.side[k])
            if fraction == NO_ROOT:
                break
            observe_crossing(tuner, k, start_time + fraction * duration, target_time)
            start = fraction + _JUST_AFTER
    follow_sides(tuner, step)


@inner_kernel
def observe_own_crossings(tuner: CrossingTimeTuner, step: Step, duration: float, start_time: float) -> None:
    """`observe_crossings` where every coordinate has a target time of its own; updates `tuner`."""
    for k in range(step.position.shape[0]):
        start = 0.0
        while True:
            fraction = first_crossing(step, duration, k, start, tuner.side[k])
            if fraction == NO_ROOT:
                break
            observe_crossing(tuner, k, start_time + fraction * duration, tuner.target_time[k])
            start = fraction + _JUST_AFTER
    follow_sides(tuner, step)


@inner_kernel
def observe_own_crossing(tuner: CrossingTimeTuner, coordinate: int, time: float) -> bool:
    """`observe_crossing` where every coordinate has a target time of its own; updates `tuner`."""
    return observe_crossing(tuner, coordinate, time, tuner.target_time[coordinate])
