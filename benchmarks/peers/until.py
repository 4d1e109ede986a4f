"""What a user pays: gradients from a cold start until the worst effective sample size is 400.

Of one run with its whole warm-up, the shortest beginning of the draws whose worst of bulk, tail and q² effective sample
size is 400, found by bisection to 2 %. Where the race's draws do not reach it, a longer run with the same seed is made;
where that would take too many gradients, the cost is extrapolated in proportion.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from samplers import Run, Sampler
from statistics_of_draws import effective_sizes
from targets import Target

ENOUGH = 400
MOST_GRADIENTS = {True: 4_000_000, False: 400_000}
"""Of a longer run, all chains together, for samplers that are native and that are not."""

MOST_DRAWS, MOST_NUMBERS = 40_000, 40_000_000
MARGIN = 1.5  # a longer run has so many times the draws that should be enough
KEPT = 8  # parameters with the lowest of each measure, by which beginnings of a run are judged
PRECISION = 0.02


class Until(NamedTuple):
    """Gradients over all chains, warm-up included, and "draws", "longer run" or "extrapolation"."""

    gradients_to_400: int
    to_400_by: str


def gradients_until_enough(sampler: Sampler, target: Target, seed: int, run: Run) -> Until:
    """Of a finished run, or of a longer one."""
    values = _values(target, run)
    sizes = effective_sizes(values)
    by = "draws"
    if sizes.min() < ENOUGH:
        by = "longer run"
        n_draws = values.shape[1]
        needed = n_draws * ENOUGH / max(sizes.min(), 1.0)
        affordable = min(
            MOST_GRADIENTS[sampler.is_native] / (run.sampling_gradients / n_draws),
            MOST_DRAWS,
            MOST_NUMBERS / (values.shape[0] * target.dim),
        )
        if needed < affordable:
            asked = run.asked_draws or n_draws
            run = sampler.run(target, seed, int(min(MARGIN * needed, affordable) * asked / n_draws))
            values = _values(target, run)
            sizes = effective_sizes(values)
    if sizes.min() < ENOUGH:
        gradients = run.warmup_gradients + run.sampling_gradients * ENOUGH / max(sizes.min(), 1.0)
        return Until(int(gradients), "extrapolation")
    lowest = np.unique(np.argsort(sizes, axis=1)[:, :KEPT])
    n = _shortest(np.ascontiguousarray(values[..., lowest]))
    return Until(int(run.warmup_gradients + _cumulative(run, values.shape[1])[n - 1]), by)


def _values(target: Target, run: Run) -> np.ndarray:
    return target.select(run.draws) if run.values is None else run.values  # pyright: ignore[reportArgumentType]


def _cumulative(run: Run, n_draws: int) -> np.ndarray:
    if run.draw_gradients is None:
        return np.linspace(0.0, run.sampling_gradients, n_draws + 1)[1:]
    of_draws = np.cumsum(run.draw_gradients)
    return of_draws * (run.sampling_gradients / of_draws[-1])


def _shortest(values: np.ndarray) -> int:
    """Fewest draws with an effective size of `ENOUGH`; all of them have it."""
    too_few, enough = ENOUGH // values.shape[0] // 5, values.shape[1]
    while enough - too_few > max(1.0, PRECISION * enough):
        n = round(np.sqrt(too_few * enough)) if too_few * 2 < enough else (too_few + enough) // 2
        if effective_sizes(np.ascontiguousarray(values[:, :n])).min() < ENOUGH:
            too_few = n
        else:
            enough = n
    return enough
