"""What a result costs beside the sampling: time to build it, and the memory that this takes over that of the draws.

    python benchmarks/result.py

Per dimension: nanoseconds of one core a gradient in the compiled core, in all of `sample` but the building, and to
build the result; the last over the first; and the most that building allocates over the size of draws and statistics.
"""

from __future__ import annotations

import time
import tracemalloc
import warnings
from typing import Any

import numba

import grhmc
from grhmc import running
from grhmc.process.statistics import STATISTICS

SIZES = ((2, 200_000), (100, 40_000), (1000, 6_000))
CHAINS = 4


@numba.njit
def normal(q, gradient):
    log_density = 0.0
    for j in range(q.size):
        gradient[j] = -q[j]
        log_density -= 0.5 * q[j] * q[j]
    return log_density


def measure(dim: int, draws: int) -> None:
    model = grhmc.from_numba(normal, dim)
    settings: dict[str, Any] = {
        "seed": 1,
        "tune": 500,
        "chains": CHAINS,
        "cores": 1,
        "progress_bar": False,
        "diagnose": False,
    }
    grhmc.sample(model, draws=50, **settings)  # compiles and imports
    began_building = [0.0]
    run_chains = running.run_chains

    def watched(*arguments: Any, **keywords: Any) -> bool:
        finished = run_chains(*arguments, **keywords)
        began_building[0] = time.perf_counter()
        return finished

    running.run_chains = watched
    began = time.perf_counter()
    result = grhmc.sample(model, draws=draws, **settings)
    ended = time.perf_counter()
    running.run_chains = run_chains
    tuning = result["tuning"].to_dataset()
    n_gradients = int(result["sample_stats"]["n_gradients"].sum() + tuning["n_gradients"].sum())
    core = float((tuning["warmup_seconds"] + tuning["sampling_seconds"]).sum()) / n_gradients * 1e9
    building = (ended - began_building[0]) / n_gradients * 1e9
    sampling_time = (began_building[0] - began) / n_gradients * 1e9
    del result
    tracemalloc.start()
    held = [0]

    def watched_again(*arguments: Any, **keywords: Any) -> bool:
        finished = run_chains(*arguments, **keywords)
        held[0] = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        return finished

    running.run_chains = watched_again
    grhmc.sample(model, draws=draws, **settings)
    running.run_chains = run_chains
    added = (tracemalloc.get_traced_memory()[1] - held[0]) / (CHAINS * draws * (dim + len(STATISTICS)) * 8)
    tracemalloc.stop()
    print(f"{dim:5d} {core:8.0f} {sampling_time:9.0f} {building:9.0f} {building / core:9.2f} {added:12.2f}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print("  dim     core  sampling  building   ratio  memory added")
    for size in SIZES:
        measure(*size)
