"""How much faster two threads are than one, for a model whose gradient takes 10 microseconds.

Run with `python benchmarks/threads.py`. The bound is a factor of 1.6. The same gradient called in a bare compiled loop,
on one thread and then on two, tells what the machine has to give at that moment: on a busy one, or on two hyperthreads
of one core, that is less than 2. All are timed in turn, many times; the median of the factors counts.
"""

from __future__ import annotations

import statistics
import time
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np

import grhmc
from grhmc.dynamics.density_call import call_pointer, init_density

GRADIENT_SECONDS = 10e-6
DIM = 10
DRAWS = {"continuous": 10_000, "discrete": 25_000}
N_ROUNDS = 11
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


def sampler_seconds(model: grhmc.LogDensity, process: str, cores: int) -> tuple[float, int]:
    """Of a whole call of `sample` but for what it makes of the draws afterwards, and its gradients."""
    began = time.perf_counter()
    result = grhmc.sample(
        model,
        chains=2,
        cores=cores,
        draws=DRAWS[process],
        tune=0,
        process=process,
        seed=1,
        progress_bar=False,
        diagnose=False,
    )
    return time.perf_counter() - began, int(result["sample_stats"]["n_gradients"].sum())


def main() -> None:
    n_terms = 100
    for _ in range(5):
        n_terms = max(1, int(n_terms * GRADIENT_SECONDS / seconds_per_call(model_of(n_terms))))
    model = model_of(n_terms)
    n_gradients = {process: sampler_seconds(model, process, 2)[1] for process in DRAWS}  # compiles
    factors: dict[str, list[float]] = {name: [] for name in ("bare loop", *DRAWS)}
    for _ in range(N_ROUNDS):
        one, two = (bare_seconds(model, n_threads, n_gradients["continuous"] // 2) for n_threads in (1, 2))
        factors["bare loop"].append(one / two)
        for process in DRAWS:
            (one, _), (two, _) = (sampler_seconds(model, process, n_threads) for n_threads in (1, 2))
            factors[process].append(one / two)
    print(f"{1e6 * seconds_per_call(model):.1f} microseconds per gradient; gradients in two chains: {n_gradients}")
    for name, each in factors.items():
        low, middle, high = statistics.quantiles(each, n=4)
        print(f"{name:>10}: {middle:.2f} times as fast on two threads (quartiles {low:.2f} and {high:.2f})")
    print(f"bound for the sampler: {BOUND}")


if __name__ == "__main__":
    main()
