"""What a gradient costs that goes through Python: JAX, PyTorch, NumPy; and whether several chains in one call pay.

Run with `make bench`, or `python benchmarks/callbacks.py`. Two targets: a standard normal in 10 dimensions, where the
call is everything, and a logistic regression on 1000 × 25 data, where it is a part. The second table compares four
points one after the other with four in one vectorized call of JAX. Chains run in a thread each, so for that call they
have to meet: the last column is what a meeting of four threads costs, without any work. Fastest of many short blocks.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import grhmc
from grhmc.density_pointer import DENSITY_PROTOTYPE

N_CHAINS = 4
N_BLOCKS = 300
BLOCK_SECONDS = 1e-3


def fastest(call: Callable[[], Any]) -> float:
    """Seconds per call."""
    call()
    began = time.perf_counter()
    call()
    n_calls = max(1, int(BLOCK_SECONDS / (time.perf_counter() - began)))
    best = np.inf
    for _ in range(N_BLOCKS):
        began = time.perf_counter()
        for _ in range(n_calls):
            call()
        best = min(best, (time.perf_counter() - began) / n_calls)
    return best


def pointer_seconds(model: grhmc.LogDensity) -> float:
    """Seconds per evaluation through the C pointer; the call of the pointer from here costs a part of it."""
    function = DENSITY_PROTOTYPE(model.address)
    q, gradient, value = np.full(model.dim, 0.1), np.empty(model.dim), np.empty(1)
    arguments = (model.dim, q.ctypes.data, gradient.ctypes.data, value.ctypes.data, model.user_data)
    return fastest(lambda: function(*arguments))


def normal_numpy(q):
    return -0.5 * q @ q, -q


def logistic_numpy(x, y):
    def f(q):
        z = x @ q
        return y @ z - np.logaddexp(0, z).sum() - 0.5 * q @ q, x.T @ (y - 1 / (1 + np.exp(-z))) - q

    return f


def jax_functions(x, y):
    import jax
    import jax.numpy as jnp

    def normal(q):
        return -0.5 * jnp.sum(q * q)

    def logistic(q):
        z = x @ q
        return y @ z - jnp.sum(jax.nn.softplus(z)) - 0.5 * jnp.sum(q * q)

    return normal, logistic


def torch_functions(x, y):
    import torch

    torch.set_num_threads(1)
    x, y = torch.tensor(x), torch.tensor(y)

    def normal(q):
        return -0.5 * (q * q).sum()

    def logistic(q):
        z = x @ q
        return y @ z - torch.nn.functional.softplus(z).sum() - 0.5 * (q * q).sum()

    return normal, logistic


def vectorized_seconds(log_density: Callable[[Any], Any], dim: int) -> tuple[float, float]:
    """Seconds per point, alone and with others in one call; the bare calls of JAX."""
    import jax

    from grhmc.models.jax.function import double_precision

    gradient = jax.value_and_grad(log_density)

    def packed(q):
        value, slope = gradient(q)
        return jax.numpy.concatenate([value[None], slope])

    one, many = jax.jit(packed), jax.jit(jax.vmap(packed))
    q = np.full((N_CHAINS, dim), 0.1)
    with double_precision()():
        return fastest(lambda: np.asarray(one(q[0]))), fastest(lambda: np.asarray(many(q))) / N_CHAINS


def meeting_seconds(n_rounds: int = 2000) -> float:
    """Seconds per thread and meeting: all wait for the last, then all for the result."""
    barrier = threading.Barrier(N_CHAINS)

    def chain() -> None:
        for _ in range(2 * n_rounds):
            barrier.wait()

    best = np.inf
    for _ in range(5):
        threads = [threading.Thread(target=chain) for _ in range(N_CHAINS)]
        began = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        best = min(best, (time.perf_counter() - began) / n_rounds)
    return best / N_CHAINS


def main() -> None:
    credit = grhmc.datasets.german_credit()
    x, y = credit.design_matrix, credit.response.astype(float)
    dims = (10, x.shape[1])
    of_jax, of_torch = jax_functions(x, y), torch_functions(x, y)
    print("microseconds per gradient through the pointer")
    print(f"{'':<22} {'normal, 10':>12} {'logistic, 25':>13}")
    rows = {
        "from_python (NumPy)": [
            grhmc.from_python(f, d) for f, d in zip((normal_numpy, logistic_numpy(x, y)), dims, strict=True)
        ],
        "from_jax": [grhmc.from_jax(f, np.zeros(d)) for f, d in zip(of_jax, dims, strict=True)],
        "from_torch": [grhmc.from_torch(f, np.zeros(d)) for f, d in zip(of_torch, dims, strict=True)],
    }
    for name, models in rows.items():
        normal, logistic = (1e6 * pointer_seconds(model) for model in models)
        print(f"{name:<22} {normal:12.1f} {logistic:13.1f}", flush=True)
    print(f"\nJAX: microseconds per point, alone and with {N_CHAINS} in one call")
    print(f"{'':<22} {'alone':>12} {'together':>13} {'meeting':>9}")
    meeting = 1e6 * meeting_seconds()
    for name, f, dim in zip(("normal, 10", "logistic, 25"), of_jax, dims, strict=True):
        alone, together = (1e6 * seconds for seconds in vectorized_seconds(f, dim))
        print(f"{name:<22} {alone:12.1f} {together:13.1f} {meeting:9.1f}", flush=True)


if __name__ == "__main__":
    main()
