"""How much faster two threads are than one, for a model whose gradient takes 10 microseconds.

Run with `python benchmarks/threads.py`. The bound is a factor of 1.6. The same gradient called in a bare compiled loop,
on one thread and then on two, tells what the machine has to give at that moment: on a busy one, or on two hyperthreads
of one core, that is less than 2. All four are timed in turn, several times, and the best of each counts.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np

import grhmc
from grhmc.dynamics.density_call import call_pointer, init_density

GRADIENT_SECONDS = 10e-6
DIM = 10
DRAWS = 10_000
N_ROUNDS = 4
BOUND = 1.6


@numba.njit(error_model="numpy", nogil=True)
def busy_normal(q, gradient, n_terms):
    """A standard normal that first burns time on arithmetic that cannot be left out."""
    waste = 0.0
    for i in range(n_terms):
        waste += np.sin(q[0] + i)
    log_density = 1e-300 * waste
    for j in range(q.size):
        gradient[j] = -q[j]
        log_density -= 0.5 * q[j] * q[j]
    return log_density


@numba.njit(nogil=True, error_model="numpy")
def call_in_a_loop(density, n_calls):
    for _ in range(n_calls):
        call_pointer(density.address, density.user_data, density.point, density.gradient, density.value)


def seconds_per_call(model: grhmc.LogDensity, n_calls: int = 2000) -> float:
    density = init_density(model.address, model.user_data, model.dim)
    call_in_a_loop(density, 10)
    began = time.perf_counter()
    call_in_a_loop(density, n_calls)
    return (time.perf_counter() - began) / n_calls


def model_of(n_terms: int) -> grhmc.LogDensity:
    return grhmc.from_numba(busy_normal, DIM, data=(n_terms,))


def bare_seconds(model: grhmc.LogDensity, n_threads: int, n_calls: int) -> float:
    """Two lots of `n_calls`, on one thread or on two."""
    densities = [init_density(model.address, model.user_data, model.dim) for _ in range(2)]
    with ThreadPoolExecutor(n_threads) as pool:
        began = time.perf_counter()
        list(pool.map(lambda density: call_in_a_loop(density, n_calls), densities))
        return time.perf_counter() - began


def sampler_seconds(model: grhmc.LogDensity, cores: int) -> tuple[float, int]:
    began = time.perf_counter()
    result = grhmc.sample(model, chains=2, cores=cores, draws=DRAWS, tune=0, seed=1, progress_bar=False)
    n_gradients = int(result["sample_stats"]["n_gradients"].sum())
    return time.perf_counter() - began, n_gradients


def main() -> None:
    n_terms = 100
    for _ in range(5):
        n_terms = max(1, int(n_terms * GRADIENT_SECONDS / seconds_per_call(model_of(n_terms))))
    model = model_of(n_terms)
    _, n_gradients = sampler_seconds(model, 2)  # compiles
    best = dict.fromkeys(("bare 1", "bare 2", "sampler 1", "sampler 2"), np.inf)
    for _ in range(N_ROUNDS):
        for threads in (1, 2):
            best[f"bare {threads}"] = min(best[f"bare {threads}"], bare_seconds(model, threads, n_gradients // 2))
            best[f"sampler {threads}"] = min(best[f"sampler {threads}"], sampler_seconds(model, threads)[0])
    print(f"{1e6 * seconds_per_call(model):.1f} microseconds per gradient, {n_gradients:,} gradients in two chains")
    for what in ("bare", "sampler"):
        one, two = best[f"{what} 1"], best[f"{what} 2"]
        print(f"{what:>8}: {one:.3f} s on one thread, {two:.3f} s on two: {one / two:.2f} times as fast")
    print(f"bound for the sampler: {BOUND}")


if __name__ == "__main__":
    main()
