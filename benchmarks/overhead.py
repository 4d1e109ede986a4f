"""What the sampler costs beside the gradient: nanoseconds per gradient, against the bare gradient called in a loop.

Run with `make bench`, or `python benchmarks/overhead.py`. The bare call and the sampler are timed in turn, in many
short blocks, and the fastest block of each counts: other work on the machine then does not. The target is a standard
normal, whose gradient is as cheap as gradients get; draws, time averages and refreshments are all included.
"""

from __future__ import annotations

import time

import numba
import numpy as np

from grhmc.adaptation.stage import sampling_stage
from grhmc.dynamics.density_call import call_pointer, init_density
from grhmc.models.analytic import independent_normals
from grhmc.outcomes import Outcome
from grhmc.run.chain import Chain
from grhmc.run.seeds import chain_generators
from grhmc.settings import CONTINUOUS_INTEGRATORS, Continuous, RunSettings

DIMENSIONS = (2, 10, 100, 1000)
N_BLOCKS = 200
BLOCK_SECONDS = 0.5e-3
EVENT_RATE = 1.0 / np.pi
DRAW_SPACING = np.pi / 2
MAX_BYTES_OF_DRAWS = 64_000_000


def allowed(dim: int) -> float:
    """The project's bound on overhead, in nanoseconds per gradient."""
    return 60.0 + 3.0 * dim


@numba.njit(nogil=True, error_model="numpy")
def call_in_a_loop(density, n_calls):
    for _ in range(n_calls):
        call_pointer(density.address, density.user_data, density.point, density.gradient, density.value)


def bare_seconds(model, n_calls: int) -> float:
    density = init_density(model.address, model.user_data, model.dim)
    call_in_a_loop(density, 1)
    best = np.inf
    for _ in range(N_BLOCKS):
        began = time.perf_counter()
        call_in_a_loop(density, n_calls)
        best = min(best, time.perf_counter() - began)
    return best / n_calls


def sampler_seconds(model, integrator: str, block_gradients: int) -> tuple[float, float]:
    """Seconds per gradient, and gradients per unit of process time."""
    n_draws = int(min(N_BLOCKS * block_gradients, MAX_BYTES_OF_DRAWS / (8 * model.dim)))
    settings = RunSettings(draws=n_draws, tune=0, chains=1, seed=1, process=Continuous(integrator))
    _, (rng,) = chain_generators(1, 1)
    chain = Chain(
        model,
        settings,
        [sampling_stage(n_draws, DRAW_SPACING, 1.0)],
        index=0,
        rng=rng,
        start=rng.standard_normal(model.dim),
        centre=np.zeros(model.dim),
        scale=np.ones(model.dim),
        event_rate=EVENT_RATE,
    )
    chain.advance(1000)
    best = np.inf
    while chain.outcome == Outcome.RUNNING:
        before = chain.counts.n_gradients
        began = time.perf_counter()
        chain.advance(block_gradients)
        elapsed = time.perf_counter() - began
        best = min(best, elapsed / (chain.counts.n_gradients - before))
    return best, chain.counts.n_gradients / float(chain.process.path.time[0])


def main() -> None:
    print("nanoseconds per gradient on N(0, I)")
    print(f"{'dim':>5} {'integrator':>10} {'bare':>7} {'sampler':>8} {'overhead':>9} {'allowed':>8} {'per time':>9}")
    for dim in DIMENSIONS:
        model = independent_normals(np.ones(dim)).log_density()
        n_calls = max(10, int(BLOCK_SECONDS / (5e-9 + 0.7e-9 * dim)))
        bare = 1e9 * bare_seconds(model, n_calls)
        for integrator in CONTINUOUS_INTEGRATORS:
            seconds, per_time = sampler_seconds(model, integrator, max(50, n_calls // 10))
            total = 1e9 * seconds
            figures = f"{bare:7.1f} {total:8.1f} {total - bare:9.1f} {allowed(dim):8.0f} {per_time:9.2f}"
            print(f"{dim:5d} {integrator:>10} {figures}", flush=True)


if __name__ == "__main__":
    main()
