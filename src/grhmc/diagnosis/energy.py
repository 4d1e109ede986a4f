"""Was energy conserved along the paths? It is the only sign of a biased integration.

`energy_error` of a draw is the change of H = −lp + |momentum|²/2 since the path's last momentum refreshment, largest
since the draw before, with its sign. A right gradient and a small enough step leave it small; a jump in the log density
shows as an error of the jump's size, because the flow, which follows gradients, crosses it unawares.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from grhmc.diagnosis.report import NOTE, WARNING, Finding, listed_chains
from grhmc.process.discrete import HOPELESS_ENERGY_ERROR
from grhmc.process.trajectory_plan import MOST_STEPS

if TYPE_CHECKING:
    import xarray

ENERGY_ERROR_LIMIT = 2.0
"""Beyond this a draw's energy error is suspicious. Of 140 runs of healthy models none had one of 1.7."""

_FEWEST_SUSPICIOUS = 3
# Paths: one that just once came through a very narrow place does not bias anything, however many draws are read off it.

FREQUENT_ENERGY_ERROR_LIMIT = 0.75
"""Beyond this more than `_FREQUENT_SHARE` of the draws are: the 99 % quantiles of those runs were at most 0.4."""

_FREQUENT_SHARE = 0.01

OUTLYING_RATIO = 60.0
"""The 99.5 % quantile over the median, beyond which errors of `_SMALLEST_OUTLIER` are suspicious: 22 at most there."""

_OUTLYING_SHARE = 0.005
_SMALLEST_OUTLIER = 0.3
# A gradient that is wrong in one place only: elsewhere energy is conserved a hundred times better.

_REFERENCE_DIMS = (625, 100)
# The integrator's error per coordinate is what the tolerance says, so that energy errors grow as √dim: root mean square
# 0.12 in 100 dimensions and 1.2 in 10 000. From these dimensions on the two limits grow with them.

DIVERGING_SHARE_LIMIT = 0.0015
"""Of the discrete process's trajectories. Set before they were retried with shorter steps: then in the funnel F1,
whose sd came out a fifth too small, two in a thousand were given up; on targets that were sampled rightly mostly none,
but up to six in a thousand."""

HOPELESS_SHARE_LIMIT = 0.02
"""Of its trajectories whose energy rises by `HOPELESS_ENERGY_ERROR` even by the shortest steps."""
# Of centred eight schools, whose neck is missed, trajectories that `HOPELESS_ENERGY_ERROR` rejects are 3 to 30 %; where
# one step suits all they are less than 0.2 %.
_FEWEST_HOPELESS = 3
# Of a short run's trajectories one or two say nothing.

ACCEPTANCE_LIMIT = 0.4
"""Below this, far below what steps are tuned to, a chain of the discrete process sits where its step does not fit."""
_FEWEST_TRAJECTORIES = 50
# Per chain, before their mean acceptance says anything.

CUT_SHARE_LIMIT = 0.05
"""Of a chain's trajectories, that had as many steps as are allowed."""

E_BFMI_LIMIT = 0.2
"""Below this in a chain the momentum refreshments change the energy too little to explore it."""

COMMON_E_BFMI_LIMIT = 0.3
"""The same of all chains together, which is known better; a warning if there are few effective draws, too.

Of centred eight schools, whose neck is missed, it was 0.07 to 0.24 in 200 runs; of healthy models it is at least 0.6.
In between are posteriors that are sampled rightly, at a price: a random walk of 80 steps whose sds are parameters has
0.32, a funnel of ten dimensions as much, Student's t with 5 degrees of freedom in ten dimensions 0.4."""

_FEWEST_DRAWS = 200


def find_energy_problems(
    statistics: xarray.Dataset, dim: int, *, is_discrete: bool, is_short_of_draws: bool = False
) -> list[Finding]:
    """Diverging paths, large energy errors, and energy that refreshments hardly change.

    Parameters
    ----------
    statistics : xarray.Dataset
        Over (chain, draw).
    dim : int
        Number of unconstrained coordinates.
    is_discrete : bool
        They are those of the discrete process, which corrects for its energy errors.
    is_short_of_draws : bool
        Some parameter has fewer effective draws in the bulk than are wanted.
    """
    errors = np.abs(statistics["energy_error"].to_numpy())
    chain_names = [int(chain) for chain in statistics["chain"].values]
    if not errors.size:
        return []
    diverging = statistics["diverging"].to_numpy()
    if is_discrete:
        problems = [
            *_rejected_trajectories(
                diverging,
                statistics["acceptance_rate"].to_numpy(),
                statistics["energy_error"].to_numpy(),
                int(statistics["n_events"].sum()),
                chain_names,
            ),
            *_cut_trajectories(statistics["n_steps"].to_numpy(), statistics["n_events"].to_numpy(), chain_names),
        ]
    else:
        problems = _energy_errors(errors, diverging, statistics["n_events"].to_numpy(), dim, chain_names)
    return [*problems, *_energy_transitions(statistics["energy"].to_numpy(), dim, chain_names, is_short_of_draws)]


def energy_error_limits(dim: int) -> tuple[float, float]:
    """Energy errors that are suspicious at a few draws, and at many."""
    few, many = (max(1.0, math.sqrt(dim / reference)) for reference in _REFERENCE_DIMS)
    return ENERGY_ERROR_LIMIT * few, FREQUENT_ENERGY_ERROR_LIMIT * many


def fewest_paths(suspicious: np.ndarray, n_events: np.ndarray) -> int:
    """The smallest number of paths that can have caused what was seen at some draws.

    The largest error since the draw before belongs to the path that went on then, or to one that has begun since.

    Parameters
    ----------
    suspicious, n_events : ndarray, shape (chains, draws)
        At which draws; refreshments since the draw before.
    """
    n_paths = 0
    last_path = np.cumsum(n_events, axis=1)
    first_path = last_path - n_events
    for chain, draws in enumerate(suspicious):
        blamed = -1
        for draw in np.flatnonzero(draws):
            if first_path[chain, draw] > blamed:
                blamed = last_path[chain, draw]
                n_paths += 1
    return n_paths


def _energy_errors(
    errors: np.ndarray, diverging: np.ndarray, n_events: np.ndarray, dim: int, chain_names: list[int]
) -> list[Finding]:
    limit, frequent_limit = energy_error_limits(dim)
    n_diverging, largest = int(diverging.sum()), float(errors.max())
    if np.mean(errors > frequent_limit) > _FREQUENT_SHARE:
        limit = min(limit, frequent_limit)
    outlying = OUTLYING_RATIO * float(np.median(errors))
    if np.quantile(errors, 1.0 - _OUTLYING_SHARE) > max(outlying, _SMALLEST_OUTLIER):
        limit = min(limit, max(outlying, _SMALLEST_OUTLIER))
    suspicious = (errors > limit) | diverging
    n_suspicious = int(suspicious.sum())
    if n_diverging == 0 and fewest_paths(suspicious, n_events) < _FEWEST_SUSPICIOUS:
        return []
    chains = tuple(chain_names[c] for c in np.unique(np.nonzero(suspicious)[0]))
    typical = float(np.median(errors[suspicious]))
    message = (
        f"energy is not conserved: its error along a path is above {limit:.2g} at {n_suspicious} of {errors.size} "
        f"draws ({listed_chains(chains)}; typically {typical:.2g}, at most {largest:.3g}"
        + (f"; {n_diverging} count as diverging" if n_diverging else "")
        + "). Paths are rejected for it with the splitting, which corrects for it only roughly, and not with other "
        "integrators, so the draws may be biased where that happens. Either the log density has a "
        "jump that its gradient does not show (if/else, max, round, a table, an indicator), or a kink (abs), or the "
        "gradient is wrong in some places, or the posterior has places too narrow for the step. Halve the `tolerance` "
        "of grhmc.Continuous twice: if these errors stay, the model is at fault; if they vanish, keep the smaller one. "
        "The discrete process, the default, has no such bias."
    )
    code = "diverging" if n_diverging else "energy_error"
    return [Finding(code, WARNING, message, (), chains, largest, limit)]


def _rejected_trajectories(
    diverging: np.ndarray, acceptance: np.ndarray, errors: np.ndarray, n_trajectories: int, chain_names: list[int]
) -> list[Finding]:
    """Trajectories given up on the way, or with no hope of being accepted, and chains that reject most.

    Of the trajectories between two draws only the worst is known, so that these shares may be a little too small.
    """
    findings = []
    share, hopeless = diverging.sum() / n_trajectories, np.sum(errors > HOPELESS_ENERGY_ERROR) / n_trajectories
    suspicious = diverging | (errors > HOPELESS_ENERGY_ERROR)
    is_bad = share > DIVERGING_SHARE_LIMIT or hopeless > HOPELESS_SHARE_LIMIT
    if is_bad and suspicious.sum() >= _FEWEST_HOPELESS:
        n_unbounded = int(diverging.sum())
        chains = tuple(chain_names[c] for c in np.unique(np.nonzero(suspicious)[0]))
        message = (
            f"{int(suspicious.sum())} of {n_trajectories} trajectories had no hope of being accepted "
            f"({listed_chains(chains)}): their energy rose by more than {HOPELESS_ENERGY_ERROR:g} (of {n_unbounded} "
            "without bound), or they left the support. Where the density ends at an edge, transform constrained "
            "parameters (log, logit). Otherwise the posterior has places too narrow for the step even by a sixteenth, "
            "which are hardly visited: reparameterize, or use process='continuous', whose steps adapt."
        )
        findings.append(Finding("diverging", WARNING, message, (), chains, max(share, hopeless), DIVERGING_SHARE_LIMIT))
    return findings + low_acceptance(acceptance, chain_names)


def low_acceptance(acceptance: np.ndarray, chain_names: list[int]) -> list[Finding]:
    """Chains that accept few of their trajectories; `acceptance` has the shape (chains, draws)."""
    means = acceptance.mean(axis=1)
    low = [chain for chain, mean in enumerate(means) if mean < ACCEPTANCE_LIMIT]
    if not low or acceptance.shape[1] < _FEWEST_TRAJECTORIES:
        return []
    names, smallest = tuple(chain_names[chain] for chain in low), float(means.min())
    message = (
        f"few trajectories are accepted in {listed_chains(names)} (the fewest: {smallest:.2f} of them): the step "
        "was tuned where longer ones would do. Tune longer, or use process='continuous'."
    )
    return [Finding("low_acceptance", WARNING, message, (), names, smallest, ACCEPTANCE_LIMIT)]


def _cut_trajectories(n_steps: np.ndarray, n_trajectories: np.ndarray, chain_names: list[int]) -> list[Finding]:
    """Chains whose step is so short that trajectories end before they have got anywhere."""
    shares = (n_steps == MOST_STEPS * n_trajectories).mean(axis=1)
    cut = [chain for chain, share in enumerate(shares) if share > CUT_SHARE_LIMIT]
    if not cut:
        return []
    names = tuple(chain_names[chain] for chain in cut)
    message = (
        f"trajectories were cut at {MOST_STEPS} steps in {listed_chains(names)} ({shares.max():.0%} of them where they "
        "are most): the step was tuned to be very short, as no longer one made more of them acceptable. Either the log "
        "density has a jump that its gradient does not show (if/else, max, round, a table, an indicator), or the "
        "gradient is wrong, or the posterior has some very narrow places, or directions of very different widths. The "
        "draws, though unbiased, get nowhere. Correct the model, reparameterize, or use process='continuous'."
    )
    return [Finding("cut_trajectories", WARNING, message, (), names, float(shares.max()), CUT_SHARE_LIMIT)]


def energy_bfmi(energy: np.ndarray, dim: int) -> float:
    """How much of the energy's variance one full refreshment of the momentum renews: E-BFMI (Betancourt 2016).

    Parameters
    ----------
    energy : ndarray
        H at draws, of one chain or several.
    dim : int
        Number of coordinates.

    Returns
    -------
    float
        Mean squared change of H by a full refreshment over its variance: 1 for a normal in any number of dimensions.
        nan of too few draws to tell.

    Notes
    -----
    The kinetic energy before and after such a refreshment is half a χ² variable each, so that the mean squared change
    is dim. Taken from successive draws instead, as `arviz_stats.bfmi` does, the figure would depend on how much of the
    momentum the process keeps from one draw to the next.
    """
    variance = float(energy.var()) if energy.size else 0.0
    return dim / variance if energy.size >= _FEWEST_DRAWS and variance > 0.0 else float("nan")


def _energy_transitions(energy: np.ndarray, dim: int, chain_names: list[int], is_short_of_draws: bool) -> list[Finding]:
    fractions = np.array([energy_bfmi(chain, dim) for chain in energy])
    return energy_transitions(fractions, energy_bfmi(energy, dim), chain_names, is_short_of_draws)


def energy_transitions(
    fractions: np.ndarray, common: float, chain_names: list[int], is_short_of_draws: bool
) -> list[Finding]:
    """What E-BFMI says, that of each chain and of all together."""
    low = [chain for chain, fraction in enumerate(fractions) if fraction < E_BFMI_LIMIT]
    if not low and not common < COMMON_E_BFMI_LIMIT:
        return []
    names = tuple(chain_names[chain] for chain in low) if low else tuple(chain_names)
    value, limit = (float(np.nanmin(fractions)), E_BFMI_LIMIT) if low else (common, COMMON_E_BFMI_LIMIT)
    where = listed_chains(names) if low else "all chains together"
    message = (
        f"momentum refreshments change the energy too little in {where} (E-BFMI {value:.2f}, below "
        f"{limit}): the log density varies over a much wider range than one refreshment spans, as with heavy "
        "tails or a funnel, whose far ends the chains then reach only by a slow random walk. Reparameterize: give "
        "parameters of a group a standard normal prior and multiply by the group's scale (non-centred)."
    )
    severity = WARNING if low or is_short_of_draws else NOTE
    return [Finding("e_bfmi", severity, message, (), names, value, limit)]
