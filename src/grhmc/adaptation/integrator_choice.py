"""Which integrator trajectories get: leapfrog or the two-stage splitting, by what rounds of the warm-up have found.

What counts is the process time per gradient of trajectories that are accepted: each that is rejected turns its chain
around. Where steps are tuned to an acceptance, that is nearly the time per gradient of the tuned steps. Where the
splitting has its longest step it is accepted more often, nearly always on a normal posterior.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grhmc.adaptation.tuners.step_size import longest_step
from grhmc.dynamics.coefficients import TABLEAUS
from grhmc.settings import SYMPLECTIC_INTEGRATORS

_LEAD = 1.05
"""By how much leapfrog must be ahead after a round of each.

Rounds are short: their ratio has a relative error of 0.2. Where the two are even the splitting is the better one on
hierarchical models, by a fifth of the effective draws, and hardly worse elsewhere."""

_NEAR_LONGEST = 0.8
"""Share of its longest step from which on the splitting is as fast as it may be."""


class TriedIntegrators(NamedTuple):
    """What rounds have found of each of `SYMPLECTIC_INTEGRATORS`; 0 of one that has not been tried.

    Attributes
    ----------
    time_per_gradient : ndarray, shape (n_integrators,)
        Process time of the tuned step over the gradients of a step.
    acceptance : ndarray, shape (n_integrators,)
        Mean over the round's trajectories, as the tuner of the step counts it.
    """

    time_per_gradient: np.ndarray
    acceptance: np.ndarray

    def with_round(self, integrator: str, step: float, acceptance: float) -> TriedIntegrators:
        """With what a round by that integrator has found."""
        at = SYMPLECTIC_INTEGRATORS.index(integrator)
        time, accepted = self.time_per_gradient.copy(), self.acceptance.copy()
        time[at], accepted[at] = step / TABLEAUS[integrator].gradients_per_step, acceptance
        return TriedIntegrators(time, accepted)

    def in_units(self, unit: float) -> TriedIntegrators:
        """With times over `unit`, in which the process time is counted from now on."""
        return self._replace(time_per_gradient=self.time_per_gradient / unit)


class IntegratorChoice(NamedTuple):
    """What trajectories are to use next.

    Attributes
    ----------
    integrator : str
    step : float
        Process time: where its tuning goes on.
    is_final : bool
        No other integrator is left to be tried.
    """

    integrator: str
    step: float
    is_final: bool


def choose_integrator(
    tried: TriedIntegrators, log_time_to_u_turn: float, *, is_limited_by_energy: bool
) -> IntegratorChoice:
    """Leapfrog gets a round, then the splitting, and the better of the two the rest.

    The splitting gets none where leapfrog is ahead of it even with its longest step and every trajectory accepted.
    Where the energy limits chains, as in a funnel, and a narrow place the splitting's step, the splitting is used: on
    five such posteriors it has 1.2 to 1.9 times as many effective draws per gradient.
    """
    longest = longest_step(log_time_to_u_turn)
    most_of_splitting = longest / TABLEAUS["splitting"].gradients_per_step
    splitting, leapfrog = np.minimum(tried.time_per_gradient, [most_of_splitting, longest])
    splitting_acceptance, leapfrog_acceptance = tried.acceptance
    if splitting == 0.0:
        if leapfrog * leapfrog_acceptance > most_of_splitting:
            return _choice("leapfrog", leapfrog, is_final=True)
        return _choice("splitting", min(leapfrog, most_of_splitting), is_final=False)
    in_narrow_place = is_limited_by_energy and splitting < _NEAR_LONGEST * most_of_splitting
    is_ahead = leapfrog * leapfrog_acceptance > _LEAD * splitting * splitting_acceptance
    if is_ahead and not in_narrow_place:
        return _choice("leapfrog", leapfrog, is_final=True)
    return _choice("splitting", splitting, is_final=True)


def _choice(integrator: str, time_per_gradient: float, *, is_final: bool) -> IntegratorChoice:
    """An integrator, with the step that goes as far per gradient."""
    return IntegratorChoice(integrator, float(TABLEAUS[integrator].gradients_per_step * time_per_gradient), is_final)
