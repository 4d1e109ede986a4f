"""Did the process run as it should: boundaries it bounced off, steps at their floor, a tuning that had not settled."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from grhmc.diagnosis.report import NOTE, WARNING, Finding, listed, listed_chains

if TYPE_CHECKING:
    import xarray

BOUNCE_LIMIT = 0.01
"""Bounces per draw above which the draws are affected."""

NOISE_NOTED, NOISE_LIMIT = 0.1, 0.5
"""Standard deviations of the log density's noise: from the first on it is noted, from the second on warned of.

It costs acceptance: 28 % of it at 0.5, half of it at 1, nearly all of it at 3."""

TUNING_LIMIT = 2.0
"""Factor by which a scale or an event rate may still change in the last third of its tuning."""

FEWEST_MOVED = 2
"""Chains moved to where a single one was, from which on a run is in doubt.

Of n chains one has found that place: the share of starts that lead to places which none has found is then estimated by
1/n (Good 1953), not by next to nothing.
"""

_SHORTEST_TUNING = 200
# Draws: of fewer a scale that changes by a factor says little.
_ROWS_OF_A_THIRD = 20
# Of the tuning history, which has 60 rows per stage.


def find_process_problems(tuning: xarray.Dataset, n_draws: int, n_tune: int) -> list[Finding]:
    """Bounces, floored steps, chains that were moved, scales and event rates that were still moving."""
    chain_names = [int(chain) for chain in tuning["chain"].values]
    findings = [
        *_bounces(tuning, n_draws, chain_names),
        *_floored_steps(tuning, chain_names),
        *_moved_chains(tuning, chain_names),
        *_noisy_density(tuning, chain_names),
    ]
    if n_tune >= _SHORTEST_TUNING and "history_time" in tuning:
        findings += _unsettled_tuning(tuning, chain_names)
    return findings


def _sampling_counts(tuning: xarray.Dataset, name: str) -> np.ndarray:
    """A counter's increase since warm-up ended, by chain."""
    if f"n_{name}" not in tuning:
        return np.zeros(tuning.sizes["chain"])
    total = tuning[f"n_{name}"].to_numpy().astype(float)
    return total - (tuning[f"n_warmup_{name}"].to_numpy() if f"n_warmup_{name}" in tuning else 0.0)


def _bounces(tuning: xarray.Dataset, n_draws: int, chain_names: list[int]) -> list[Finding]:
    bounces = _sampling_counts(tuning, "bounces")
    if not bounces.any():
        return []
    per_draw = float(bounces.max() / max(n_draws, 1))
    chains = tuple(name for name, count in zip(chain_names, bounces, strict=True) if count)
    is_bad = per_draw > BOUNCE_LIMIT
    message = (
        f"paths ran into places where the log density or its gradient is not finite, {int(bounces.sum())} times "
        f"({listed_chains(chains)}), and turned back there. "
    )
    message += (
        "A posterior that is cut off is sampled slowly near the edge, and wrongly if the places come from a numerical "
        "failure. Transform constrained parameters (log, logit) so that every real number is allowed; or make the "
        "density computable there (log1p, logsumexp, a smaller solver tolerance)."
        if is_bad
        else "So rarely that it hardly matters; if no constraint explains it, look for a numerical failure in a tail."
    )
    return [Finding("bounces", WARNING if is_bad else NOTE, message, (), chains, per_draw, BOUNCE_LIMIT)]


def find_non_finite_places(tuning: xarray.Dataset, n_trajectories: int) -> list[Finding]:
    """Trajectories of the discrete process that ended where the density is not finite; many are `diverging`, too."""
    if "n_warmup_non_finite" not in tuning:
        return []
    not_finite = _sampling_counts(tuning, "non_finite")
    if not not_finite.any():
        return []
    chains = tuple(int(name) for name, count in zip(tuning["chain"].values, not_finite, strict=True) if count)
    share = float(not_finite.sum() / max(n_trajectories, 1))
    message = (
        f"{int(not_finite.sum())} of {n_trajectories} trajectories ({listed_chains(chains)}) ran into places where the "
        "log density or its gradient is not finite, and were rejected. That is right for an edge of the support; but "
        "places where it merely cannot be computed are missing from the draws, and so may be what lies beyond them. "
        "Transform constrained parameters (log, logit), or make the density computable there (log1p, logsumexp, a "
        "smaller solver tolerance)."
    )
    return [Finding("not_finite", NOTE, message, (), chains, share, 0.0)]


def _floored_steps(tuning: xarray.Dataset, chain_names: list[int]) -> list[Finding]:
    floored = _sampling_counts(tuning, "floored")
    if not floored.any():
        return []
    chains = tuple(name for name, count in zip(chain_names, floored, strict=True) if count)
    message = (
        f"{int(floored.sum())} integrator steps were taken at the smallest size allowed although their error was above "
        f"`tolerance` ({listed_chains(chains)}): the gradient changes abruptly, or the posterior is very narrow in "
        "some place. The draws may be biased there. Look for kinks and jumps in the model (abs, max, if/else), or "
        "reparameterize so that its scales differ less from place to place."
    )
    return [Finding("step_floor", WARNING, message, (), chains, float(floored.max()), 0.0)]


def _noisy_density(tuning: xarray.Dataset, chain_names: list[int]) -> list[Finding]:
    """A log density whose value is not that of a smooth function: measured during warm-up by `grhmc.run.cost`."""
    noise = tuning["density_noise"].to_numpy() if "density_noise" in tuning else np.zeros(len(chain_names))
    largest = float(noise.max(initial=0.0))
    if largest < NOISE_NOTED:
        return []
    chains = tuple(name for name, value in zip(chain_names, noise, strict=True) if value >= NOISE_NOTED)
    message = (
        f"the log density is noisy: at places next to each other it differs by a standard deviation of {largest:.2g} "
        f"beyond what its gradient says ({listed_chains(chains)}). Random numbers in the model, the tolerance of an "
        "ODE solver or another iteration, or single precision do that. However short the steps, trajectories are "
        "rejected for it, and draws repeat; the discrete process corrects for it, the continuous one only roughly. "
        "Make the log density a fixed, smooth function: no random numbers, a small solver tolerance, double precision."
    )
    severity = WARNING if largest >= NOISE_LIMIT else NOTE
    return [Finding("noisy_density", severity, message, (), chains, largest, NOISE_LIMIT)]


def _moved_chains(tuning: xarray.Dataset, chain_names: list[int]) -> list[Finding]:
    moves = tuning["n_moves"].to_numpy() if "n_moves" in tuning else np.zeros(len(chain_names))
    if not moves.any():
        return []
    chains = tuple(name for name, count in zip(chain_names, moves, strict=True) if count)
    message = (
        f"{listed_chains(chains)} had ended up during warm-up in a place with next to no mass beside that of another "
        "chain (a weight below exp(-20), by density and width), and went on from where that one was. "
    )
    is_lone = len(chains) >= FEWEST_MOVED and len(chain_names) - len(chains) <= 1
    message += (
        "Where all are now was found by one chain alone: the log density has local modes or traps in which most starts "
        "end, and a place with more mass than the best one found may not have been found at all. Start chains from "
        "where you expect the parameters (`init`), run more chains, or give more informative priors."
        if is_lone
        else "The draws are not affected; but the starting points are far out for this model, or lead into local "
        "modes, and an `init` that is nearer, or more informative priors, would make warm-up shorter."
    )
    return [Finding("moved_chain", NOTE, message, (), chains, float(moves.max()), 0.0)]


def _unsettled_tuning(tuning: xarray.Dataset, chain_names: list[int]) -> list[Finding]:
    scales, rates = tuning["history_scale"].to_numpy(), tuning["history_event_rate"].to_numpy()
    times, final_scales = tuning["history_time"].to_numpy(), tuning["scale"].to_numpy()
    final_rates = tuning["event_rate"].to_numpy()
    n_chains, _, dim = scales.shape
    changes, rate_changes = np.zeros((n_chains, dim)), np.zeros(n_chains)
    agreed = tuning["agreed"].to_numpy() if "agreed" in tuning else np.zeros(n_chains, dtype=bool)
    for chain in range(n_chains):
        if agreed[chain]:
            continue
        n_rows = int(np.isfinite(times[chain]).sum())
        moving = np.flatnonzero((scales[chain, :n_rows] != final_scales[chain]).any(axis=1))
        if moving.size:
            earlier = scales[chain, max(moving[-1] - _ROWS_OF_A_THIRD, 0)]
            changes[chain] = np.abs(np.log(final_scales[chain] / earlier))
        if n_rows:
            earlier_rate = rates[chain, max(n_rows - 1 - _ROWS_OF_A_THIRD, 0)]
            rate_changes[chain] = abs(math.log(final_rates[chain] / earlier_rate))
    limit = math.log(TUNING_LIMIT)
    findings = []
    if changes.max(initial=0.0) > limit:
        worst = changes.max(axis=0)
        names = tuple(str(tuning["unconstrained"].values[j]) for j in np.argsort(-worst) if worst[j] > limit)
        chains = tuple(chain_names[c] for c in np.flatnonzero((changes > limit).any(axis=1)))
        findings.append(_unsettled(f"the scale of {listed(names)}", "scale_moving", names, chains, worst.max()))
    if rate_changes.max(initial=0.0) > limit:
        chains = tuple(chain_names[c] for c in np.flatnonzero(rate_changes > limit))
        findings.append(_unsettled("the event rate", "event_rate_moving", (), chains, rate_changes.max()))
    return findings


def _unsettled(what: str, code: str, names: tuple[str, ...], chains: tuple[int, ...], change: float) -> Finding:
    factor = math.exp(min(float(change), 700.0))
    message = (
        f"{what} was still moving when tuning ended ({listed_chains(chains)}: by a factor of {factor:.2g} in the last "
        "third): the chains may not have reached the bulk of the posterior, and they draw less efficiently than they "
        "could. Raise `tune`, or start nearer with `init`."
    )
    return Finding(code, WARNING, message, names, chains, factor, TUNING_LIMIT)
