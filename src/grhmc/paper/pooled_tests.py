"""All rows of a method together: tests that see an error too small for any single row.

A row allows 3 %. A scale that is 5 % too large everywhere stays within that and its error in most rows, and a tuner
that is too restless is found by no mean at all. Over eighteen rows both are plain. The rows of one cell come from the
same ten trajectories, so their correlation, as our trajectories show it, goes into every test. The regressions are
left out: the paper does not say which coordinates its extremes are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grhmc.paper.cells import CellResult
from grhmc.paper.ess_errors import error_factor, is_trusted
from grhmc.paper.targets import TARGETS
from grhmc.paper.verdicts import Row, Verdict, compare_cell

LEVEL = 0.005
"""A pooled test disagrees below this probability. There are five of S to a method, so that about one right run in
twenty fails one of the fifteen."""

ESS_MARGIN = 0.05
"""The effective sizes of a method agree if, on average over targets, they differ by less, whatever the error."""

SCALE_STEP, SD_STEP = 0.01, 0.001
"""Units of the published last digit."""

_LEAST_SD = 5 * SD_STEP
# A published SD below this has a rounding error of more than 6 %.


@dataclass(frozen=True)
class ScaleCell:
    """What a table says of S in one cell, and what we found.

    Attributes
    ----------
    target, method : str
    scale : ndarray, shape (n, k)
        Ours: n trajectories, k rows of the table.
    published_mean, published_sd : ndarray, shape (k,)
    """

    target: str
    method: str
    scale: np.ndarray
    published_mean: np.ndarray
    published_sd: np.ndarray

    def scores(self) -> np.ndarray:
        """Ours minus published mean of each row, as standard normal scores; by Welch's t-test, rounding included."""
        from scipy.special import ndtri, stdtr  # of the extra `paper`; its `stats` take a hundred times as long

        n = len(self.scale)
        ours, theirs = self.scale.var(axis=0, ddof=1) / n, self.published_sd**2 / n
        variance = np.maximum(ours + theirs, 1e-300)
        freedom = (n - 1) * variance**2 / np.maximum(ours**2 + theirs**2, 1e-300)
        statistic = (self.scale.mean(axis=0) - self.published_mean) / np.sqrt(variance + SCALE_STEP**2 / 12)
        return ndtri(np.clip(stdtr(freedom, statistic), 1e-15, 1 - 1e-15))

    def sd_scores(self) -> np.ndarray:
        """Our SD over the published one, as standard normal scores by the F-test; nan where rounding hides it."""
        from scipy.special import fdtr, ndtri

        n = len(self.scale)
        ratio = self.scale.var(axis=0, ddof=1) / np.maximum(self.published_sd, 1e-300) ** 2
        scores = ndtri(np.clip(fdtr(n - 1, n - 1, ratio), 1e-15, 1 - 1e-15))
        return np.where(self.published_sd < _LEAST_SD, np.nan, scores)

    @property
    def correlation(self) -> float:
        """Between the two rows, over our trajectories; 0 at least, 1 if there is one row or the rows are the same."""
        if self.scale.shape[1] < 2 or np.any(self.scale.std(axis=0) == 0.0):
            return 1.0
        return float(np.clip(np.corrcoef(np.log(self.scale.T))[0, 1], 0.0, 1.0))


@dataclass(frozen=True)
class PooledTest:
    """One test over all rows of a method.

    Attributes
    ----------
    method : str
        Empty: all methods together.
    quantity, test : str
    effect : str
        What was found, in words.
    p_value : float
    is_small : bool
        The effect is too small to matter, significant or not.
    """

    method: str
    quantity: str
    test: str
    effect: str
    p_value: float
    is_small: bool = False

    @property
    def verdict(self) -> Verdict:
        """Agreement unless chance alone does this less often than `LEVEL`."""
        if math.isnan(self.p_value):
            return Verdict.NONE
        return Verdict.AGREE if self.p_value >= LEVEL or self.is_small else Verdict.DISAGREE


def scale_cells(results: Sequence[CellResult]) -> list[ScaleCell]:
    """The cells whose published rows name their coordinates (those of G4 are all alike)."""
    cells = []
    for result in results:
        rows = [row for row in compare_cell(result) if row.published is not None]
        if not rows or TARGETS[result.cell.target].exact is None:
            continue
        cells.append(
            ScaleCell(
                target=result.cell.target,
                method=result.cell.method,
                scale=result.scale[:, [row.index for row in rows]],
                published_mean=np.array([row.published.s_mean for row in rows if row.published]),
                published_sd=np.array([row.published.s_sd for row in rows if row.published]),
            )
        )
    return cells


def pooled_scale_tests(cells: Sequence[ScaleCell]) -> list[PooledTest]:
    """Five tests to a method: mean, signs and sum of squares of S's differences, mean and squares of its SD's."""
    tests: list[PooledTest] = []
    for method in dict.fromkeys(cell.method for cell in cells):
        of_method = [cell for cell in cells if cell.method == method]
        correlation = [cell.correlation for cell in of_method]
        scores = [cell.scores() for cell in of_method]
        shift, shift_error = _mean_difference(of_method)
        effect = f"ours {100 * shift:+.1f} ± {100 * shift_error:.1f} %"
        mean, signs, squares = _three_tests(scores, correlation)
        tests += [
            PooledTest(method, "S", "mean of z", effect, mean[1]),
            PooledTest(method, "S", "signs", signs[0], signs[1]),
            PooledTest(method, "S", "sum of z²", squares[0], squares[1]),
        ]
        sd_scores = [cell.sd_scores() for cell in of_method]
        kept = [(score[np.isfinite(score)], r**2) for score, r in zip(sd_scores, correlation, strict=True)]
        kept = [(score, r) for score, r in kept if len(score)]
        if not kept:
            continue
        mean, _, squares = _three_tests([score for score, _ in kept], [r for _, r in kept])
        ratios = [
            float(np.mean(np.log(cell.scale.std(axis=0, ddof=1) / cell.published_sd)[np.isfinite(score)]))
            for cell, score in zip(of_method, sd_scores, strict=True)
            if np.isfinite(score).any()
        ]
        tests += [
            PooledTest(method, "SD of S", "mean of z", f"ours {np.exp(np.mean(ratios)):.2f} times", mean[1]),
            PooledTest(method, "SD of S", "sum of z²", squares[0], squares[1]),
        ]
    return tests


def _three_tests(
    scores: Sequence[np.ndarray], correlation: Sequence[float]
) -> tuple[tuple[float, float], tuple[str, float], tuple[str, float]]:
    """Mean (z, p), signs (words, p) and sum of squares (words, p) of scores that are correlated within a cell."""
    from scipy.special import bdtr, chdtrc, ndtr

    variance = [(1.0 + (len(z) - 1) * r) / len(z) for z, r in zip(scores, correlation, strict=True)]
    means = np.array([z.mean() for z in scores])
    total = float(means.sum() / math.sqrt(sum(variance)))
    n_positive = int((means > 0).sum())
    fewer = min(n_positive, len(means) - n_positive)
    n_rows = sum(len(z) for z in scores)
    square = float(sum(np.sum(z**2) for z in scores))
    spread = sum(2.0 * len(z) * (1.0 + (len(z) - 1) * r**2) for z, r in zip(scores, correlation, strict=True))
    freedom = 2.0 * n_rows**2 / spread
    return (
        (total, float(2.0 * ndtr(-abs(total)))),
        (f"ours larger in {n_positive} of {len(means)} cells", min(1.0, 2.0 * float(bdtr(fewer, len(means), 0.5)))),
        (f"{square:.1f} in {n_rows} rows", float(chdtrc(freedom, square * freedom / n_rows))),
    )


def _mean_difference(cells: Sequence[ScaleCell]) -> tuple[float, float]:
    """Relative difference of S over all rows and its error, weighted by the cells' errors."""
    differences, variances = [], []
    for cell in cells:
        n = len(cell.scale)
        ours = cell.scale.mean(axis=0)
        variance = (cell.scale.var(axis=0, ddof=1) + cell.published_sd**2) / n + SCALE_STEP**2 / 12
        relative = variance / cell.published_mean**2
        differences.append(float(np.mean(ours / cell.published_mean - 1.0)))
        variances.append(float(relative.mean()) * (1.0 + (len(relative) - 1) * cell.correlation) / len(relative))
    weights = 1.0 / np.array(variances)
    return float(np.average(differences, weights=weights)), float(weights.sum() ** -0.5)


def pooled_ess_tests(rows: Sequence[Row]) -> list[PooledTest]:
    """Whether a method's effective sizes differ from the published ones on average, by two tests.

    Over all targets, weighted by their errors, which are multiplied by what replicated runs say they are too small by
    (`ess_errors`); and over those targets alone whose stated errors are right, each with the same weight. Both rows of
    a cell share their event rates, so that they count as one.
    """
    tests = []
    judged = [row for row in rows if row.published is not None]
    for method in dict.fromkeys(row.method for row in judged):
        cells: dict[str, list[Row]] = {}
        for row in judged:
            if row.method == method:
                cells.setdefault(row.target, []).append(row)
        log_ratio = {t: float(np.mean([math.log(row.ess_ratio) for row in of])) for t, of in cells.items()}
        error = {
            t: max(math.sqrt(2.0) * row.ess_error / row.ess for row in of) * error_factor(t) for t, of in cells.items()
        }
        weight = {t: 1.0 / max(e, 1e-300) ** 2 for t, e in error.items()}
        trusted = {t: 1.0 for t in cells if is_trusted(t)}
        for words, used in (("all targets", weight), (f"{len(trusted)} of {len(cells)} targets", trusted)):
            if used:
                tests.append(_ess_test(method, words, log_ratio, error, used))
    return tests


def _ess_test(
    method: str, words: str, log_ratio: dict[str, float], error: dict[str, float], weight: dict[str, float]
) -> PooledTest:
    from scipy.special import ndtr

    total = sum(weight.values())
    mean = sum(w * log_ratio[t] for t, w in weight.items()) / total
    mean_error = max(math.sqrt(sum((w * error[t]) ** 2 for t, w in weight.items())) / total, 1e-300)
    return PooledTest(
        method,
        "ESS",
        f"mean of log ratio, {words}",
        f"ours {math.exp(mean):.3f} ± {mean_error:.3f} times",
        float(2.0 * ndtr(-abs(mean) / mean_error)),
        is_small=abs(mean) <= ESS_MARGIN,
    )
