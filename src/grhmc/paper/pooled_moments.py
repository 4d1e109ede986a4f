"""All moments of a run together: a bias that no single moment shows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grhmc.paper.moments import Moment
from grhmc.paper.pooled_tests import PooledTest


def pooled_moment_tests(moments: Sequence[Moment]) -> list[PooledTest]:
    """Whether the squares of all differences, in standard errors, add up to more than chance makes.

    The moments of a cell depend on one another, in ways that are not known. Their mean square has the widest
    distribution if they are all the same one: χ² with one degree of freedom. So cells count once each.
    """
    from scipy.special import chdtrc  # of the extra `paper`

    cells: dict[tuple[str, str], list[float]] = {}
    for moment in moments:
        if moment.judged and moment.is_exact and np.isfinite(moment.z):
            cells.setdefault((moment.target, moment.method), []).append(moment.z**2)
    if not cells:
        return []
    total = float(sum(np.mean(squares) for squares in cells.values()))
    effect = f"mean square {total / len(cells):.2f} over {len(cells)} cells"
    return [PooledTest("", "moments", "sum of z²", effect, float(chdtrc(len(cells), total)))]
