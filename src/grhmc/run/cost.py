"""What a run may cost, and why one costs much: noise of the log density, budgets of gradients, hints while it runs.

A noisy log density bounds the acceptance of trajectories however short their steps are, and a tuner that shortens steps
until enough are accepted never ends. So the noise is measured, at the cost of a few gradients, and what it costs in
acceptance is not asked of the step.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from grhmc.density_pointer import EXCEPTION, FINE
from grhmc.dynamics.standardization import apply_factor, to_parameters
from grhmc.process.discrete import LARGEST_STEP_DIVISION

if TYPE_CHECKING:
    from grhmc.models.log_density import LogDensity
    from grhmc.run.chain_state import ChainState

SMALLEST_NOISE = 0.1
"""Standard deviation of the log density's noise below which nothing is done about it."""

LARGEST_RETRIED_NOISE = 0.7
"""From here on hopeless trajectories are not retried with shorter steps: it is the noise that makes them so."""

FEWEST_DRAWS_PAID = 200
"""A chain may spend its budget per draw on so many at least."""

_SPACINGS = (1 / 64, 1 / 512)
# Of the points the noise is measured at, over a step. Noise is as large at both; what the dynamics do is 512 times, and
# what a gradient that is wrong does 8 times, smaller at the second.
_N_POINTS, N_SCREENED = 17, 5
_SMALLEST_FALL = 5.0
# Of what is no noise: a wrong gradient's falls by 8. Two medians of noise differ by 3 in one of 140 measurements,
# by 5 in one of 3000.
_DOUBT = 1.2
# Noise is overestimated rather: an acceptance that cannot be reached makes steps short, a low one makes them long.
_MANY_STEPS = 16.0
_NORMAL_QUARTILE = 0.6745

_DEAR, _WORTH_A_HINT = 200.0, 20_000
# Gradients per draw, and of a chain, from which on progress says that it is dear: most posteriors take 2 to 30.


def measure_noise(model: LogDensity, point: np.ndarray, direction: np.ndarray, step: float) -> tuple[float, int]:
    """Standard deviation of the noise of the log density beside its gradient, along a line through `point`.

    Between two points the log density of a smooth model changes by what the mean gradient says, but for an error that
    falls with the cube of their distance. What does not fall is noise: random numbers, the tolerance of a solver, or
    single precision. Medians leave jumps out.

    Parameters
    ----------
    model : LogDensity
    point, direction : ndarray, shape (dim,)
        In the units of the parameters.
    step : float
        Of `direction`: what the dynamics take at once.

    Returns
    -------
    noise : float
        0 where what is seen is not noise.
    n_gradients : int
        That were spent.
    """
    coarse = _defect(model, point, direction, step * _SPACINGS[0], N_SCREENED)
    if not coarse > 0.5 * SMALLEST_NOISE:
        return 0.0, N_SCREENED
    coarse, fine = (_defect(model, point, direction, step * spacing, _N_POINTS) for spacing in _SPACINGS)
    is_noise = fine > coarse / _SMALLEST_FALL
    return (math.sqrt(coarse * fine) if is_noise else 0.0), N_SCREENED + 2 * _N_POINTS


def _defect(model: LogDensity, point: np.ndarray, direction: np.ndarray, spacing: float, n_points: int) -> float:
    """Typical size of what the log density changes by beyond what the gradient says, as an sd of each value."""
    values, slopes = np.full(n_points, np.nan), np.full(n_points, np.nan)
    for number in range(n_points):
        log_density, gradient, code = model.evaluate(point + (number - n_points // 2) * spacing * direction)
        if code == EXCEPTION:
            model.take_exception()  # of no concern here: the chain may never come there
        elif code == FINE:
            values[number], slopes[number] = log_density, spacing * float(gradient @ direction)
    defects = np.diff(values) - 0.5 * (slopes[1:] + slopes[:-1])
    defects = defects[np.isfinite(defects)]
    return float(np.median(np.abs(defects))) / (_NORMAL_QUARTILE * math.sqrt(2.0)) if len(defects) else 0.0


def possible_acceptance(noise: float) -> float:
    """Mean acceptance of a Metropolis test by a log density of normal noise, if the dynamics were followed exactly.

    A value that was accepted is kept, and so is high: by noise² on average (as in pseudo-marginal sampling).
    """
    return math.erfc(0.5 * noise)


def look_for_noise(chain: ChainState) -> None:
    """Measure the noise where a chain begins a stage, unless it is known to have none."""
    process, step = chain.process, chain.trajectory_step
    is_first = chain.noise < 0.0
    if is_first or chain.noise > 0.0 or process.path[0].refreshment_time > _MANY_STEPS * step:
        standardization, direction = process.standardization, process.step.momentum.copy()
        point = np.empty_like(direction)
        to_parameters(standardization, process.step.position, point)
        apply_factor(standardization, direction)
        direction *= standardization.scale
        chain.noise, n_gradients = measure_noise(chain.model, point, direction, step)
        process.counters.n_gradients += n_gradients


def reachable_acceptance(target: float, noise: float) -> float:
    """The target of the step's tuning, less what noise costs."""
    return target * possible_acceptance(_DOUBT * noise) if noise >= SMALLEST_NOISE else target


def largest_step_division(noise: float) -> int:
    """What the steps of retried trajectories are divided by at most."""
    return 1 if noise > LARGEST_RETRIED_NOISE else LARGEST_STEP_DIVISION


def gradients_of_chain(n_draws: int, gradient_budget: int) -> int:
    """Gradients that a chain may spend in all."""
    return max(n_draws, FEWEST_DRAWS_PAID) * gradient_budget


def cause_of_cost(chain: ChainState) -> str:
    """Why a chain costs much, as far as it is known: part of a sentence."""
    counters = chain.process.counters[0]
    not_finite = float(counters.n_non_finite) / max(int(counters.n_events), 1)
    if chain.noise >= SMALLEST_NOISE:
        return (
            f"its log density is noisy (standard deviation {chain.noise:.2g} between places next to each other): "
            "random numbers, the tolerance of a solver, or single precision"
        )
    if not_finite > 0.02:
        return (
            f"the log density or its gradient is not finite in {int(counters.n_non_finite)} places that it ran into, "
            f"{not_finite:.0%} of its trajectories"
        )
    if chain.is_discrete and chain.stage.by_trajectories:
        return (
            "only very short steps are accepted: the log density has a jump that its gradient does not show, or the "
            "gradient is wrong, or the posterior varies on very different scales"
        )
    return (
        "the posterior varies on very different scales in different places, or its gradient is wrong, or the "
        "`tolerance` of grhmc.Continuous, if it is set, is too small"
    )


def cost_hint(chain: ChainState) -> str:
    """What progress says of a chain that costs far more than others of its kind; else an empty string."""
    n_gradients = int(chain.process.counters[0].n_gradients)
    per_draw = n_gradients / max(chain.draws_done, 1)
    if n_gradients < _WORTH_A_HINT or per_draw < _DEAR:
        return ""
    return (
        f"chain {chain.index} takes {per_draw:.0f} gradients per draw, where 2 to 30 are usual: {cause_of_cost(chain)}"
    )
