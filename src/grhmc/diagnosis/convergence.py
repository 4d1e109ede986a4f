"""Have the chains found the same distribution, and are there enough draws of it? R-hat and ESS, computed by ArviZ."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from grhmc.diagnosis.report import NOTE, WARNING, Finding, listed, listed_chains
from grhmc.diagnosis.screening import Scalar, batch_mean_score, half_chain_score, suspicious_scalars
from grhmc.results.summaries import TAIL_PROBABILITIES

if TYPE_CHECKING:
    import xarray

R_HAT_LIMIT = 1.05
"""Above this the chains disagree by more than chance, if there are as many draws as by default: a warning."""

R_HAT_NOTED = 1.01
"""Above this (Vehtari et al. 2021) a note is made."""

ESS_PER_CHAIN = 100
"""Effective draws wanted of each chain (Vehtari et al. 2021): fewer are noted."""

FEWEST_ESS_PER_CHAIN = 25
"""Fewer are warned of: a mean is then known to a tenth of a standard deviation at best, by four chains."""

ESS_SHARE = 0.1
"""Of the draws: a run that was short on purpose is not warned of."""

FEWEST_DRAWS = 20
"""Per chain: of fewer nothing can be said."""

_CAUTION = 2.5
# The rough ESS is off by a quarter now and then: below this many times what is wanted, ArviZ is asked; R-hat likewise.

_APART = 1.0
# Within-chain standard deviations from the other chains' median mean: a chain that is off.
_FAR = 4.0
# The same of the log density: a chain that is stuck.


@dataclass(frozen=True, eq=False)
class Figures:
    """What ArviZ says of some scalars; arrays in their order."""

    scalars: list[Scalar]
    r_hat: np.ndarray
    bulk: np.ndarray
    tail: np.ndarray


def find_convergence_problems(posterior: xarray.Dataset, log_density: np.ndarray) -> list[Finding]:
    """R-hat, chains that are off, bulk and tail ESS.

    Parameters
    ----------
    posterior : xarray.Dataset
        Variables over (chain, draw, ...).
    log_density : ndarray, shape (chains, draws)
    """
    n_chains, n_draws = log_density.shape
    if n_draws < FEWEST_DRAWS:
        message = f"only {n_draws} draws per chain: too few to tell whether the chains have converged"
        return [Finding("few_draws", NOTE, message, value=n_draws, limit=FEWEST_DRAWS)]
    draws_per_effective = n_chains * n_draws / (_CAUTION * ESS_PER_CHAIN * n_chains)
    disagreement = (noted_r_hat(n_chains, n_draws) ** 2 - 1.0) / _CAUTION

    def score(standardized: np.ndarray) -> np.ndarray:
        rough = [batch_mean_score(standardized) / draws_per_effective, half_chain_score(standardized) / disagreement]
        return np.concatenate(rough)

    scalars = suspicious_scalars(posterior, score, limit=1.0)
    figures = figures_of(scalars)
    chain_names = [int(chain) for chain in posterior["chain"].values]
    return [
        *_stuck_chains(log_density, chain_names),
        *_r_hat(figures, n_chains, n_draws, chain_names),
        *_sample_size("bulk", figures.bulk, figures, n_chains * n_draws, n_chains),
        *_sample_size("tail", figures.tail, figures, n_chains * n_draws, n_chains),
    ]


def r_hat_limit(n_chains: int, n_draws: int) -> float:
    """`R_HAT_LIMIT`, or what chance allows where the ESS is `ESS_SHARE` of fewer draws, whichever is more."""
    effective = min(float(ESS_PER_CHAIN * n_chains), ESS_SHARE * n_chains * n_draws)
    return max(R_HAT_LIMIT, _r_hat_by_chance(n_chains, effective))


def noted_r_hat(n_chains: int, n_draws: int) -> float:
    """`R_HAT_NOTED`, or what chance allows where draws are independent, but few."""
    return max(R_HAT_NOTED, _r_hat_by_chance(n_chains, float(n_chains * n_draws)))


def _r_hat_by_chance(n_chains: int, effective: float) -> float:
    """What R-hat exceeds once in a thousand by chance.

    With m half-chains and E effective draws, R-hat² − 1 is about (m / E) times a mean square's excess over 1, which
    exceeds 2.5 to 4 once in a thousand.
    """
    return math.sqrt(1.0 + 3.0 * 2 * max(n_chains, 2) / max(effective, 1.0))


def figures_of(scalars: list[Scalar]) -> Figures:
    """R-hat, bulk and tail ESS of each, by ArviZ."""
    if not scalars:
        nothing = np.zeros(0)
        return Figures([], nothing, nothing, nothing)
    from arviz_stats.base import array_stats

    values = np.stack([scalar.values for scalar in scalars], axis=-1)
    as_chains = values
    if values.shape[0] == 1:  # R-hat then compares the parts of one chain
        half = values.shape[1] // 2
        as_chains = values[0, : 2 * half].reshape(2, half, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return Figures(
            scalars,
            np.asarray(array_stats.rhat(as_chains, chain_axis=0, draw_axis=1)),
            np.asarray(array_stats.ess(values, chain_axis=0, draw_axis=1, method="bulk")),
            np.asarray(array_stats.ess(values, chain_axis=0, draw_axis=1, method="tail", prob=TAIL_PROBABILITIES)),
        )


def _r_hat(figures: Figures, n_chains: int, n_draws: int, chain_names: list[int]) -> list[Finding]:
    limit = r_hat_limit(n_chains, n_draws)
    above = [int(i) for i in np.argsort(-figures.r_hat) if figures.r_hat[i] > limit]
    if not above:
        return _noted_r_hat(figures, noted_r_hat(n_chains, n_draws))
    names = tuple(figures.scalars[i].label for i in above)
    worst = figures.scalars[above[0]].values
    first, *rest = names
    others = f" (and above {limit:.2f} for {listed(rest)})" if rest else ""
    off = _chains_that_are_off(worst)
    if n_chains == 1:
        what = "the parts of the chain disagree"
    else:
        means = ", ".join(f"{mean:.3g}" for mean in worst.mean(axis=1)[:8]) + (", ..." if n_chains > 8 else "")
        which = f", {listed_chains([chain_names[c] for c in off])} above all" if off else ""
        what = f"the chains disagree{which} (means of {first} by chain: {means})"
    message = (
        f"R-hat of {first} is {figures.r_hat[above[0]]:.2f}{others}: {what}. They have not explored one common "
        "distribution; means and intervals of these draws can be far off. Look at a trace plot. If the chains drift, "
        "raise `tune` and `draws`; if each stays in a place of its own, the posterior has several modes or a narrow "
        "funnel: reparameterize, or give more informative priors or starting points (`init`)."
    )
    concerned = tuple(chain_names[c] for c in off)
    return [Finding("r_hat", WARNING, message, names, concerned, float(figures.r_hat[above[0]]), limit)]


def _noted_r_hat(figures: Figures, limit: float) -> list[Finding]:
    above = [int(i) for i in np.argsort(-figures.r_hat) if figures.r_hat[i] > limit]
    if not above:
        return []
    names = tuple(figures.scalars[i].label for i in above)
    largest = float(figures.r_hat[above[0]])
    message = (
        f"R-hat of {listed(names)} is above {limit:.2f} (at most {largest:.3f}): the chains do not agree as closely as "
        "they should. Means are right to within `mcse_mean` (grhmc.summary); for results to publish take more draws."
    )
    return [Finding("r_hat", NOTE, message, names, (), largest, limit)]


def _chains_that_are_off(values: np.ndarray) -> list[int]:
    """Chains whose mean is apart from the others' by more than the draws of a chain vary; no majority of them."""
    means = values.mean(axis=1)
    if len(means) < 2:
        return []
    within = float(np.median(values.std(axis=1)))
    off = [c for c in range(len(means)) if abs(means[c] - np.median(np.delete(means, c))) > _APART * within]
    return off if 0 < len(off) <= len(means) // 2 else []


def _stuck_chains(log_density: np.ndarray, chain_names: list[int]) -> list[Finding]:
    """Chains in a place of far lower density than the others."""
    is_known = np.isfinite(log_density)  # a draw of the continuous process may lie a little beyond an edge
    if len(log_density) < 2 or not np.all(is_known.any(axis=1)):
        return []
    known = np.where(is_known, log_density, np.nan)
    means, deviations = np.nanmean(known, axis=1), np.nanstd(known, axis=1)
    best = int(np.argmax(means))
    # In the bulk the log density of d parameters varies by √(d / 2): a chain that is far from it is elsewhere.
    spread = max(float(np.median(deviations)), deviations[best])
    if spread == 0.0:
        return []
    deficits = (means[best] - means) / spread
    stuck = [int(c) for c in np.argsort(-deficits) if deficits[c] > _FAR]
    if not stuck:
        return []
    names = tuple(chain_names[c] for c in stuck)
    message = (
        f"{listed_chains(names)} spent the run far out: the log density averages {means[stuck[0]]:.4g} in chain "
        f"{names[0]}, but {means[best]:.4g} in chain {chain_names[best]}. Averages over all chains mix the posterior "
        "with a place of almost no probability (or the other way round). Start again with other starting points "
        "(`init`) or another seed and a longer `tune`; drop these chains only if you know why they are there."
    )
    return [Finding("stuck_chain", WARNING, message, (), names, float(deficits[stuck[0]]), _FAR)]


def _sample_size(kind: str, sizes: np.ndarray, figures: Figures, n_total: int, n_chains: int) -> list[Finding]:
    wanted = float(ESS_PER_CHAIN * n_chains)
    below = [int(i) for i in np.argsort(sizes) if sizes[i] < wanted]
    if not below:
        return []
    smallest = float(sizes[below[0]])
    limit = min(float(FEWEST_ESS_PER_CHAIN * n_chains), ESS_SHARE * n_total)
    is_bad = smallest < limit
    names = tuple(figures.scalars[i].label for i in below if not is_bad or sizes[i] < limit)
    first, *rest = names
    others = f" (also few: {listed(rest)})" if rest else ""
    what = "its mean and centre" if kind == "bulk" else "its 5 % and 95 % quantiles"
    factor = wanted / max(smallest, 1.0)
    if factor > 20 or (is_bad and smallest < 0.01 * n_total):
        remedy = "More draws alone would take very many: reparameterize, or try another `scale` (grhmc.compare)."
    else:
        remedy = f"Take about {math.ceil(1.2 * factor)} times as many draws, or try another `scale` (grhmc.compare)."
    message = (
        f"the {n_total} draws of {first} are worth {smallest:.0f} independent ones in the {kind} ({kind} ESS; "
        f"{wanted:.0f} are wanted){others}: {what} are known only roughly. {remedy}"
    )
    severity = WARNING if is_bad else NOTE
    return [Finding(f"{kind}_ess", severity, message, names, (), smallest, limit if is_bad else wanted)]
