"""What the sampler costs beside the gradient: nanoseconds per gradient, against the bare gradient called in a loop.

First the continuous process with each integrator, then the default process as it tunes itself, and last the default
process with k directions on top of the scale.

Run with `make bench`, or `python benchmarks/overhead.py`. The bare call and the sampler are timed in turn, in many
short blocks, and the fastest block of each counts: other work on the machine then does not. The target is a standard
normal, whose gradient is as cheap as gradients get; draws, time averages and refreshments are all included.
"""

from __future__ import annotations

import time

import numba
import numpy as np

from grhmc.adaptation.stage import Stage, sampling_stage
from grhmc.adaptation.stages_of_run import stages_of_run
from grhmc.dynamics.density_call import call_pointer, init_density
from grhmc.dynamics.standardization import set_directions
from grhmc.models.analytic import independent_normals
from grhmc.outcomes import Outcome
from grhmc.run.chain import Chain
from grhmc.run.cross_chain import adapt_across_chains
from grhmc.run.seeds import chain_generators
from grhmc.settings import CONTINUOUS_INTEGRATORS, Continuous, MetricSettings, RunSettings

DIMENSIONS = (2, 10, 100, 1000, 10_000)
DEFAULT = "default process"
RANKS = (0, 1, 3, 10, 30, 100)
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


def continuous_chain(model, integrator: str, n_draws: int) -> Chain:
    """A chain that samples from its first step on."""
    settings = RunSettings(draws=n_draws, tune=0, chains=1, seed=1, process=Continuous(integrator))
    return make_chain(model, settings, [sampling_stage(n_draws, DRAW_SPACING, 1.0)])


def default_chain(model, rank: int, n_draws: int) -> Chain:
    """A chain by the default process that has been tuned, with `rank` directions of eigenvalue 1: no other dynamics."""
    metric = MetricSettings("low_rank", rank) if rank else MetricSettings("diagonal")
    settings = RunSettings(draws=n_draws, tune=500, chains=1, seed=1, metric=metric)
    chain = make_chain(model, settings, stages_of_run(settings, model.dim))
    while chain.stage.is_warmup:
        if chain.advance(10_000) == Outcome.WAITING:
            adapt_across_chains([chain])
    if rank:
        directions = np.linalg.qr(np.random.default_rng(1).normal(size=(model.dim, rank)))[0].T
        set_directions(chain.process.standardization, directions, np.ones(rank))
    return chain


def make_chain(model, settings: RunSettings, stages: list[Stage]) -> Chain:
    (rng,) = chain_generators(1, 1)
    return Chain(
        model,
        settings,
        stages,
        index=0,
        rng=rng,
        start=rng.standard_normal(model.dim),
        centre=np.zeros(model.dim),
        scale=np.ones(model.dim),
        event_rate=EVENT_RATE,
    )


def most_draws(model, block_gradients: int) -> int:
    return int(min(N_BLOCKS * block_gradients, MAX_BYTES_OF_DRAWS / (8 * model.dim)))


def sampler_seconds(chain: Chain, block_gradients: int) -> tuple[float, float]:
    """Seconds per gradient in the fastest block, and gradients per draw."""
    chain.advance(1000)
    best = np.inf
    first = chain.counts.n_gradients, chain.draws_done
    while chain.outcome == Outcome.RUNNING:
        before = chain.counts.n_gradients
        began = time.perf_counter()
        chain.advance(block_gradients)
        elapsed = time.perf_counter() - began
        n_gradients = chain.counts.n_gradients - before
        if n_gradients > 0:  # none where the last draw was the last of the block before
            best = min(best, elapsed / n_gradients)
    return best, (chain.counts.n_gradients - first[0]) / max(chain.draws_done - first[1], 1)


def main() -> None:
    print("nanoseconds per gradient on N(0, I)")
    titles = f"{'bare':>7} {'sampler':>8} {'overhead':>9} {'allowed':>8} {'grad. per draw':>15}"
    print(f"{'dim':>5} {'what':>16} {'k':>4} {titles}")
    for dim in DIMENSIONS:
        model = independent_normals(np.ones(dim)).log_density()
        n_calls = max(10, int(BLOCK_SECONDS / (5e-9 + 0.7e-9 * dim)))
        bare, block = 1e9 * bare_seconds(model, n_calls), max(50, n_calls // 10)
        n_draws = most_draws(model, block)
        for name, rank in [*((name, 0) for name in CONTINUOUS_INTEGRATORS), *((DEFAULT, rank) for rank in RANKS)]:
            if rank > dim:
                continue
            make = default_chain if name == DEFAULT else continuous_chain
            chain = make(model, rank if name == DEFAULT else name, n_draws)
            seconds, per_draw = sampler_seconds(chain, block)
            total = 1e9 * seconds
            figures = f"{bare:7.1f} {total:8.1f} {total - bare:9.1f} {allowed(dim):8.0f} {per_draw:15.2f}"
            print(f"{dim:5d} {name:>16} {rank:4d} {figures}", flush=True)


if __name__ == "__main__":
    main()
