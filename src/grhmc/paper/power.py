"""How large an error of a tuner has to be for the published numbers to show it.

The tables give a mean and an SD over ten trajectories with two and three digits. What hides below their error cannot
be found by anyone, however long our own runs are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from grhmc.paper.pooled_tests import LEVEL, SCALE_STEP, PooledTest, ScaleCell, pooled_scale_tests
from grhmc.paper.verdicts import Verdict

POWER = 0.9


@dataclass(frozen=True)
class Visible:
    """Errors that a method's pooled tests find in nine runs of ten.

    Attributes
    ----------
    method : str
    shift : float
        Of S, the same relative one in every row.
    sd_ratio : float
        Of the SD of S, the same factor in every row.
    """

    method: str
    shift: float
    sd_ratio: float


def smallest_visible(cells: Sequence[ScaleCell]) -> list[Visible]:
    """By the normal approximation of the two tests of means."""
    from scipy.special import ndtri  # of the extra `paper`

    needed = float(ndtri(1.0 - LEVEL / 2) + ndtri(POWER))
    found = []
    for method in dict.fromkeys(cell.method for cell in cells):
        per_unit, variance, sd_per_unit, sd_variance = 0.0, 0.0, 0.0, 0.0
        for cell in (cell for cell in cells if cell.method == method):
            n, k, r = len(cell.scale), cell.scale.shape[1], cell.correlation
            error = np.sqrt((cell.scale.var(axis=0, ddof=1) + cell.published_sd**2) / n + SCALE_STEP**2 / 12)
            per_unit += float(np.mean(cell.published_mean / error))
            variance += (1.0 + (k - 1) * r) / k
            # The logarithm of a normal sample's SD has a variance of about 1/(2 (n − 1)); here are two of them.
            sd_per_unit += math.sqrt(n - 1)
            sd_variance += (1.0 + (k - 1) * r**2) / k
        found.append(
            Visible(
                method,
                needed * math.sqrt(variance) / per_unit,
                math.exp(needed * math.sqrt(sd_variance) / sd_per_unit),
            )
        )
    return found


def power(
    draw: Callable[[np.random.Generator], Sequence[ScaleCell]], *, n: int = 400, seed: int = 0
) -> tuple[float, dict[tuple[str, str], float]]:
    """Share of made-up comparisons in which any pooled test disagrees, and the share by quantity and test.

    Parameters
    ----------
    draw : callable
        Makes the cells of one method, ours and published, from a generator.
    n : int
        Comparisons.
    seed : int
    """
    rng = np.random.default_rng(seed)
    n_any, n_each = 0, {}
    for _ in range(n):
        failed = [_key(test) for test in pooled_scale_tests(draw(rng)) if test.verdict == Verdict.DISAGREE]
        n_any += bool(failed)
        for key in failed:
            n_each[key] = n_each.get(key, 0) + 1
    return n_any / n, {key: count / n for key, count in n_each.items()}


def _key(test: PooledTest) -> tuple[str, str]:
    return test.quantity, test.test
