"""Methods ranked by the worst coordinate's ESS per evaluation, ours and published, with error bars."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from grhmc.paper.cells import CellResult
from grhmc.paper.conclusion import DECIDED, our_cells
from grhmc.paper.published import published_worst_ess
from grhmc.paper.verdicts import Verdict

CLEAR = 0.1
"""A published lead of less than this share is no ranking: the published numbers have errors, too."""


@dataclass(frozen=True)
class Ranking:
    """One target's methods.

    Attributes
    ----------
    target : str
    ours : mapping of str to (float, float)
        ESS per 100 000 evaluations of the worst coordinate and its standard error, by method.
    published : mapping of str to float
        Empty for a target that is not the paper's.
    """

    target: str
    ours: Mapping[str, tuple[float, float]]
    published: Mapping[str, float]

    @property
    def order(self) -> str:
        """Best first; "≈" between methods that our errors do not tell apart."""
        listed = sorted(self.ours, key=lambda method: -self.ours[method][0])
        words = listed[0].upper()
        for better, worse in pairwise(listed):
            words += (" > " if self._score(better, worse) >= DECIDED else " ≈ ") + worse.upper()
        return words

    @property
    def published_order(self) -> str:
        """Best first; "≈" where the lead is less than `CLEAR`."""
        listed = sorted(self.published, key=lambda method: -self.published[method])
        words = listed[0].upper() if listed else ""
        for better, worse in pairwise(listed):
            is_clear = self.published[better] > (1.0 + CLEAR) * self.published[worse]
            words += (" > " if is_clear else " ≈ ") + worse.upper()
        return words

    @property
    def verdict(self) -> Verdict:
        """Disagreement if ours decides against a clear published lead; none if it leaves one open or there is none."""
        scores = [
            self._score(better, worse)
            for pair in combinations([method for method in self.ours if method in self.published], 2)
            for better, worse in (pair, pair[::-1])
            if self.published[better] > (1.0 + CLEAR) * self.published[worse]
        ]
        if any(score <= -DECIDED for score in scores):
            return Verdict.DISAGREE
        return Verdict.AGREE if scores and min(scores) >= DECIDED else Verdict.NONE

    def _score(self, better: str, worse: str) -> float:
        (a, a_error), (b, b_error) = self.ours[better], self.ours[worse]
        return math.log(a / b) / max(math.hypot(a_error / a, b_error / b), 1e-300)


def rankings(results: Sequence[CellResult]) -> list[Ranking]:
    """Of the cells of one integrator, by target in the order of the tables."""
    ours, published = our_cells(results), published_worst_ess()
    found = []
    for target in dict.fromkeys(result.cell.target for result in results):
        values = {method: cell.worst for (name, method), cell in ours.items() if name == target}
        found.append(
            Ranking(
                target,
                {method: (value, value * error) for method, (value, error) in values.items()},
                {method: published[target, method] for method in values if (target, method) in published},
            )
        )
    return found
