"""Diagnose draws of other samplers: PyMC, Stan, nutpie, NumPyro, BlackJAX, emcee, ..., as far as their results go."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from grhmc.diagnosis.convergence import find_convergence_problems
from grhmc.diagnosis.divergence_places import find_divergence_places
from grhmc.diagnosis.energy import (
    CUT_SHARE_LIMIT,
    DIVERGING_SHARE_LIMIT,
    energy_transitions,
    low_acceptance,
)
from grhmc.diagnosis.report import NOTE, WARNING, Finding, listed_chains
from grhmc.diagnosis.tails import find_heavy_tails
from grhmc.diagnosis.unusable import find_unusable_draws
from grhmc.results.any_result import draws_of_group, find_statistic
from grhmc.results.divergences import FLAGS

if TYPE_CHECKING:
    import xarray

NAMES = {
    "lp": ("lp", "logp", "lp__", "log_prob", "log_density", "logdensity", "model_logp"),
    "diverging": FLAGS,
    "energy": ("energy", "energy__"),
    "tree_depth": ("tree_depth", "depth", "treedepth__", "treedepth", "num_trajectory_expansions"),
    "is_at_most_depth": ("reached_max_treedepth", "maxdepth_reached", "reached_max_tree_depth"),
    "acceptance_rate": (
        "acceptance_rate",
        "mean_tree_accept",
        "accept_stat__",
        "accept_prob",
        "acceptance_probability",
    ),
}
"""What a statistic is called: by ArviZ first, then by nutpie, Stan's files, NumPyro and BlackJAX."""

DEFAULT_TREE_DEPTH = 10
"""The most that PyMC, Stan, nutpie, NumPyro and BlackJAX allow, unless told otherwise."""

_FEWEST_DRAWS = 200
# Per chain, before E-BFMI says anything.

# What only this package has, in messages that are otherwise the same.
_ELSEWHERE = (
    ("Start elsewhere (`init`), tune longer, or use process='continuous'.", "Start elsewhere, or tune longer."),
    (" (`init`)", ""),
    ("`tune`", "the warm-up"),
    ("`draws`", "the number of draws"),
    ("`mcse_mean` (grhmc.summary)", "their Monte Carlo standard error"),
    ("another `scale` (grhmc.compare)", "another sampler"),
    ("Tune longer, or use process='continuous'.", "Tune longer."),
    ("grhmc.diagnose(result, model) can.", "The gradient of the model can."),
)


def find_problems(result: xarray.DataTree) -> list[Finding]:
    """All that can be found, and a note of what could not be looked at.

    Raises
    ------
    ValueError
        If there is no group ``posterior`` with draws.
    """
    posterior = draws_of_group(result, "posterior")
    n_chains, n_draws = posterior.sizes["chain"], posterior.sizes["draw"]
    if n_draws == 0:
        return [Finding("few_draws", NOTE, "there are no draws", value=0.0)]
    statistics = _statistics(result, (n_chains, n_draws))
    log_density = statistics.get("lp", np.zeros((n_chains, n_draws)))
    chain_names = [int(chain) for chain in posterior["chain"].values]
    findings = [
        *find_unusable_draws(_tree(posterior), log_density),
        *find_convergence_problems(posterior, log_density),
        *_few_chains(n_chains),
        *find_heavy_tails(_of_both_signs(posterior)),
    ]
    is_short = any(finding.code == "bulk_ess" for finding in findings)
    if "diverging" in statistics:
        findings += _diverging(statistics["diverging"].astype(bool), chain_names)
        findings += find_divergence_places(result)
    if "energy" in statistics:
        findings += _energy(statistics["energy"], chain_names, is_short)
    if "tree_depth" in statistics or "is_at_most_depth" in statistics:
        findings += _saturated_trees(statistics, chain_names)
    if "acceptance_rate" in statistics:
        findings += low_acceptance(statistics["acceptance_rate"], chain_names)
    findings.append(_not_looked_at(statistics))
    return [_in_general_words(finding) for finding in findings]


def _statistics(result: xarray.DataTree, shape: tuple[int, int]) -> dict[str, np.ndarray]:
    found = {name: find_statistic(result, known) for name, known in NAMES.items()}
    return {name: values for name, values in found.items() if values is not None and values.shape == shape}


def _tree(posterior: xarray.Dataset) -> xarray.DataTree:
    import xarray

    return xarray.DataTree.from_dict({"posterior": posterior})


def _of_both_signs(posterior: xarray.Dataset) -> xarray.Dataset:
    """Real variables, as far as draws tell: a positive one may well be the exponential of a normal."""
    kept = [
        name for name, a in posterior.data_vars.items() if a.dtype.kind == "f" and bool(((a < 0).any("draw")).any())
    ]
    return posterior[kept].where((posterior[kept] < 0).any(("chain", "draw")), 0.0) if kept else posterior[[]]


def _few_chains(n_chains: int) -> list[Finding]:
    if n_chains > 1:
        return []
    message = (
        "there is one chain: its parts are compared with one another, but whether chains that start elsewhere would "
        "find the same distribution cannot be seen. Run four."
    )
    return [Finding("few_chains", NOTE, message, value=1.0, limit=2.0)]


def _diverging(diverging: np.ndarray, chain_names: list[int]) -> list[Finding]:
    if not diverging.any():
        return []
    chains = tuple(chain_names[chain] for chain in np.flatnonzero(diverging.any(axis=1)))
    share = float(diverging.mean())
    message = (
        f"{int(diverging.sum())} of {diverging.size} trajectories diverged ({listed_chains(chains)}): their energy "
        "rose by far more than a step should change it. The posterior has places too narrow for the step, which are "
        "hardly visited, so that means and intervals may be biased. Reparameterize (a hierarchical model non-centred), "
        "or raise the target acceptance."
    )
    severity = WARNING if share > DIVERGING_SHARE_LIMIT else NOTE
    return [Finding("diverging", severity, message, (), chains, share, DIVERGING_SHARE_LIMIT)]


def _energy(energy: np.ndarray, chain_names: list[int], is_short: bool) -> list[Finding]:
    """E-BFMI from successive draws, each of which has a fresh momentum with these samplers."""
    if energy.shape[1] < _FEWEST_DRAWS or not np.isfinite(energy).all():
        return []
    changes, spread = np.square(np.diff(energy, axis=1)).mean(axis=1), energy.var(axis=1)
    if not (spread > 0.0).all():
        return []
    return energy_transitions(changes / spread, float(changes.mean() / energy.var()), chain_names, is_short)


def _saturated_trees(statistics: dict[str, np.ndarray], chain_names: list[int]) -> list[Finding]:
    if "is_at_most_depth" in statistics:
        saturated = statistics["is_at_most_depth"].astype(bool)
    else:
        depth = statistics["tree_depth"]
        saturated = depth >= max(DEFAULT_TREE_DEPTH, depth.max())
    shares = saturated.mean(axis=1)
    high = [chain for chain, share in enumerate(shares) if share > CUT_SHARE_LIMIT]
    if not high:
        return []
    chains = tuple(chain_names[chain] for chain in high)
    message = (
        f"trajectories were cut at the greatest tree depth in {listed_chains(chains)} ({shares.max():.0%} of them "
        "where they are most): the step is very short for the width of the posterior. The draws, though unbiased, cost "
        "much and move little. Reparameterize, or give the sampler a metric that fits (grhmc.tune finds one for PyMC, "
        "Stan, NumPyro and BlackJAX)."
    )
    return [Finding("tree_depth", NOTE, message, (), chains, float(shares.max()), CUT_SHARE_LIMIT)]


def _not_looked_at(statistics: dict[str, np.ndarray]) -> Finding:
    """What the result does not hold, and what needs a run of this package."""
    missing = [
        what
        for what, names in (
            ("divergences", ("diverging",)),
            ("the energy (E-BFMI)", ("energy",)),
            ("tree depths", ("tree_depth", "is_at_most_depth")),
            ("the log density, which tells chains that are stuck", ("lp",)),
        )
        if not any(name in statistics for name in names)
    ]
    message = "these draws are another sampler's. "
    if missing:
        message += f"The result does not hold, so that nothing can be said of: {'; '.join(missing)}. "
    message += (
        "Tails are looked at of variables with draws of both signs only, as others may be exponentials. Not looked at: "
        "the gradient, and places that warm-up saw and draws never went to, for which grhmc's own runs are needed."
    )
    return Finding("not_looked_at", NOTE, message)


def _in_general_words(finding: Finding) -> Finding:
    message = finding.message
    for ours, general in _ELSEWHERE:
        message = message.replace(ours, general)
    return dataclasses.replace(finding, message=message)
