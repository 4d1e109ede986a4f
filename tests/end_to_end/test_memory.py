"""A result takes the memory of the draws and little more, also while it is built and diagnosed."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest

import grhmc
from grhmc import running
from grhmc.models.analytic import independent_normals

LARGEST_RATIO = 1.3


def normal(dim: int) -> grhmc.LogDensity:
    return independent_normals(np.ones(dim)).log_density()


class Copied(grhmc.LogDensity):
    """A model whose variables are twice its coordinates: they need memory of their own, once."""

    def __init__(self, dim: int) -> None:
        self.inner = normal(dim)
        super().__init__(dim, self.inner.address, user_data=self.inner.user_data, keep_alive=[self.inner])

    def constrain(self, draws: np.ndarray) -> dict[str, np.ndarray]:
        return {"x": 2.0 * draws}


@pytest.mark.parametrize("save_warmup", [False, True])
@pytest.mark.parametrize("is_copied", [False, True])
def test_building_a_result_takes_no_second_copy_of_the_draws(
    is_copied: bool, save_warmup: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    dim, draws, chains, tune = 200, 10_000, 2, 500
    settings: dict[str, Any] = {"tune": tune, "chains": chains, "seed": 1, "progress_bar": False, "diagnose": False}
    model = Copied(dim) if is_copied else normal(dim)
    grhmc.sample(model, draws=10, **settings)  # what is loaded and compiled once
    keep, sampled = running.worth_keeping, []

    def when_sampled(records: Any) -> Any:
        sampled.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.reset_peak()
        return keep(records)

    monkeypatch.setattr(running, "worth_keeping", when_sampled)
    tracemalloc.start()
    try:
        result = grhmc.sample(model, draws=draws, save_warmup=save_warmup, **settings)
        added = tracemalloc.get_traced_memory()[1] - sampled[0]
    finally:
        tracemalloc.stop()
    size = chains * (draws + save_warmup * tune) * dim * 8
    assert added < (LARGEST_RATIO - 1.0 + is_copied) * size
    assert (added > size) == is_copied
    shared = np.shares_memory(
        result["posterior"]["x"].to_numpy(), result["unconstrained_posterior"]["position"].to_numpy()
    )
    assert shared != is_copied


WHOLE_RUN = """
import resource, sys, grhmc
import numpy as np
from grhmc.models.analytic import independent_normals

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()

model = independent_normals(np.ones(1000)).log_density()
grhmc.sample(model, seed=1, draws=200, tune=50, chains=2, progress_bar=False)
before = resident()
grhmc.sample(model, seed=1, draws=20_000, tune=200, chains=2, save_warmup=bool(sys.argv[1]), progress_bar=False)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print((peak - before) / (2 * 20_000 * 1000 * 8))
"""


@pytest.mark.nightly
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="only Linux tells how much memory is in use")
@pytest.mark.parametrize("save_warmup", ["", "with warm-up"])
def test_a_whole_run_with_its_diagnosis_takes_little_more_memory_than_the_draws(save_warmup: str) -> None:
    command = [sys.executable, "-c", WHOLE_RUN, save_warmup]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    assert 1.0 < float(finished.stdout) < LARGEST_RATIO
