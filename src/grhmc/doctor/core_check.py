"""Whether the sampler is right on this machine: a short run on a normal, whose answers are known exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grhmc.doctor.finding import Finding

MEAN = np.array([0.0, 1.0, -5.0])
SD = np.array([1.0, 0.1, 10.0])
SEED = 20240307

KNOWN_MEAN = np.array([0.0165194114, 1.00090589, -5.20934444])
KNOWN_SD = np.array([1.00775982, 0.0976753375, 10.1925358])
"""Of the draws with this seed, on x86-64 with AVX2; other processors differ by rounding only."""

_MOST_STANDARD_ERRORS = 5.0
_ROUNDING = 1e-5

_REPORT = "please report it with the output of this command"


@dataclass(frozen=True)
class CoreRun:
    """Draws of the three normals, shape (chains, draws, 3), with one thread and with as many as there are."""

    draws: np.ndarray
    draws_with_threads: np.ndarray


def run_core() -> CoreRun:
    """Sample the normals twice, with the same seed."""
    from grhmc.models.analytic import independent_normals
    from grhmc.sampling import sample

    model = independent_normals(SD, MEAN).log_density()

    def draws(cores: int | None) -> np.ndarray:
        result = sample(
            model, draws=500, tune=300, chains=4, cores=cores, seed=SEED, progress_bar=False, diagnose=False
        )
        return result["posterior"]["x"].to_numpy()

    return CoreRun(draws(1), draws(None))


def core_findings(run: CoreRun) -> list[Finding]:
    """What the draws say: right, the known ones, and the same with any number of threads."""
    return [_exactness(run.draws), _known_draws(run.draws), _threads(run)]


def _exactness(draws: np.ndarray) -> Finding:
    """Means and second moments against the exact ones, in Monte Carlo standard errors."""
    from arviz_stats.base import array_stats

    errors = []
    for draw, mean, sd in zip(np.moveaxis(draws, -1, 0), MEAN, SD, strict=True):
        squares = (draw - mean) ** 2
        for values, exact in ((draw, mean), (squares, sd**2)):
            error = np.asarray(array_stats.mcse(values, chain_axis=0, draw_axis=1, method="mean"))
            errors.append(float(abs(values.mean() - exact) / error))
    worst = float(np.max(errors))  # NaN if one is
    text = f"means and variances of three normals are within {worst:.1f} standard errors of the exact ones"
    if worst <= _MOST_STANDARD_ERRORS:
        return Finding("the core is right", "ok", text)
    return Finding(
        "the core is right",
        "problem",
        f"means or variances of three normals are {worst:.3g} standard errors from the exact ones",
        "do not use draws made here. Delete the compiled kernels (their folder is above) and run this command again; "
        f"{_REPORT}",
    )


def _known_draws(draws: np.ndarray) -> Finding:
    """The statistics of this seed's draws against those of the machine they were first made on."""
    mean, sd = draws.mean(axis=(0, 1)), draws.std(axis=(0, 1))
    difference = float(np.abs([(mean - KNOWN_MEAN) / SD, (sd - KNOWN_SD) / SD]).max())
    if difference <= _ROUNDING:
        return Finding("known draws", "ok", f"seed {SEED} gives the draws it gives elsewhere, but for rounding")
    return Finding(
        "known draws",
        "problem",
        f"seed {SEED} gives draws whose mean or sd differs by {difference:.2g} sd from those elsewhere",
        "the draws may still be right (the line above), but a seed does not repeat runs of other machines. Delete the "
        f"compiled kernels and try NumPy and Numba of the versions in requirements/; {_REPORT}",
    )


def _threads(run: CoreRun) -> Finding:
    if np.array_equal(run.draws, run.draws_with_threads):
        return Finding("same draws in threads", "ok", "one thread and all of them give the same draws, bit for bit")
    return Finding(
        "same draws in threads",
        "problem",
        "one thread and several give different draws",
        f"do not use draws made here; {_REPORT}",
    )
