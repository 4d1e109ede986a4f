"""Scales that right and broken tuners find: pools of sixty trajectories, and comparisons made up from them.

``python tests/tuned_scale_pools.py`` runs them all again (ten minutes of one core) and writes data/tuned_scales.npz:
the published phases that tune the scale, RKN 6(4) at 1e-6, first and last coordinate.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from grhmc import Continuous, PaperWarmup, sample
from grhmc.adaptation import paper_schedule
from grhmc.adaptation.tuners import mct
from grhmc.adaptation.tuners.scale_from_moments import MCT
from grhmc.paper.pooled_tests import SCALE_STEP, SD_STEP, ScaleCell
from grhmc.paper.published import published_rows
from grhmc.paper.targets import TARGETS

FILE = Path(__file__).parent / "data" / "tuned_scales.npz"
NAMED_TARGETS = ("G1", "G2", "G3", "G4", "NG1", "NG2", "NG3", "F1", "F2")
"""Those whose published rows name their coordinates."""

BROKEN_MCT = ("gamma 10", "alpha 1", "kappa 1", "anchor 0", "target time 3")
TRANSFORMED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "5 % too large": lambda scale: 1.05 * scale,
    "factor 2": lambda scale: 2.0 * scale,
    "exponent 1": lambda scale: scale**2,  # the variance in place of its root, E[g²] in place of its root
    "exponent 0.55": lambda scale: scale**1.1,
}
"""Errors that leave the path as it is, nearly: what they make of a right tuner's scales."""

_SIZE = 60


@contextlib.contextmanager
def broken(name: str) -> Iterator[None]:
    """MCT with one of its settings wrong."""
    saved = paper_schedule.SECOND_RUN_GAMMA, paper_schedule.SECOND_RUN_ANCHOR_FACTOR, paper_schedule.ScaleRule
    kappa, rule = mct.KAPPA, paper_schedule.ScaleRule

    def impatient(**values: Any):
        made = rule(**values)
        return dataclasses.replace(made, target_crossing_time=3.0) if made.tuner == MCT else made

    try:
        if name == "gamma 10":
            paper_schedule.SECOND_RUN_GAMMA = 10.0
        elif name == "alpha 1":
            paper_schedule.SECOND_RUN_ANCHOR_FACTOR = 1.0
        elif name == "anchor 0":
            paper_schedule.SECOND_RUN_ANCHOR_FACTOR = 0.0
        elif name == "kappa 1":
            mct.KAPPA = 1.0
        elif name == "target time 3":
            paper_schedule.ScaleRule = impatient  # pyright: ignore[reportAttributeAccessIssue]
        yield
    finally:
        paper_schedule.SECOND_RUN_GAMMA, paper_schedule.SECOND_RUN_ANCHOR_FACTOR, paper_schedule.ScaleRule = saved
        mct.KAPPA = kappa


def tune(target: str, name: str, n: int = _SIZE, seed: int = 777) -> np.ndarray:
    """S after the published tuning by "vari", "isg", "mct" or one of `BROKEN_MCT`; shape (n, 2)."""
    model = TARGETS[target].make()
    start = np.random.default_rng([77, model.dim]).standard_normal((n, model.dim))
    with broken(name):
        result = sample(
            model,
            scale="mct" if name in BROKEN_MCT else name,  # pyright: ignore[reportArgumentType]
            draws=20,
            chains=n,
            cores=1,
            seed=seed,
            init=start,
            process=Continuous("rkn64", 1e-6, event_rate=0.2, sample_interval=2.0, warmup=PaperWarmup()),
            progress_bar=False,
            diagnose=False,
        )
    return np.asarray(result["tuning"].to_dataset()["scale"])[:, [0, -1]]


@functools.cache
def pool(target: str, name: str) -> np.ndarray:
    """Of a method ("mct"), a broken MCT ("gamma 10") or a transformed method ("vari, factor 2"); shape (60, 2)."""
    method, _, change = name.partition(", ")
    with np.load(FILE) as file:
        scale = file[f"{target}/{method}"].astype(np.float64)
    return TRANSFORMED[change](scale) if change else scale


def method_of(name: str) -> str:
    """The method that a tuner claims to be."""
    return "mct" if name in BROKEN_MCT else name.partition(", ")[0]


def made_up(name: str) -> Callable[[np.random.Generator], list[ScaleCell]]:
    """Ten trajectories of a tuner, against what a table would show of ten of the right one's, digits included."""

    def draw(rng: np.random.Generator) -> list[ScaleCell]:
        cells = []
        for target in NAMED_TARGETS:
            order = rng.permutation(_SIZE)
            theirs = pool(target, method_of(name))[order[:10]]
            mean = SCALE_STEP * np.round(theirs.mean(axis=0) / SCALE_STEP)
            sd = SD_STEP * np.round(theirs.std(axis=0, ddof=1) / SD_STEP)
            cells.append(ScaleCell(target, method_of(name), pool(target, name)[order[10:20]], mean, sd))
        return cells

    return draw


def against_published(name: str, scales: Callable[[str], np.ndarray]) -> list[ScaleCell]:
    """Trajectories of a tuner against the published tables."""
    method, cells = method_of(name), []
    for target in NAMED_TARGETS:
        coordinates = ("max", "min") if TARGETS[target].reports_extremes else ("1", "2")
        rows = [published_rows()[target, method, coordinate] for coordinate in coordinates]
        mean, sd = np.array([row.s_mean for row in rows]), np.array([row.s_sd for row in rows])
        cells.append(ScaleCell(target, method, scales(target), mean, sd))
    return cells


if __name__ == "__main__":
    pools: dict[str, Any] = {
        f"{target}/{name}": tune(target, name).astype(np.float32)
        for target in NAMED_TARGETS
        for name in ("vari", "isg", "mct", *BROKEN_MCT)
    }
    np.savez_compressed(FILE, **pools)
