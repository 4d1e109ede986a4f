"""Whether a momentum that persists beats one that is drawn afresh, in Metropolized HMC by leapfrog.

Run with `python benchmarks/persistent_momentum.py`. On normals whose standardized directions have known widths: full
refreshment and lengths uniform on (0, 2L), as the package has it, against partial refreshment (Horowitz 1991: momentum
reversed where a trajectory is refused) with the non-reversible uniform of Neal (2020), after every one or few steps.
For each the best of a grid of steps, lengths and frictions: worst over directions of bulk and q² effective draws per
1000 gradients. A win would have to be clear, since the grid is wider for persistence. Result in docs/decisions/0007.
"""

from __future__ import annotations

import itertools

import numba
import numpy as np
from arviz_stats.base import array_stats

TARGETS = {
    "10 equal": np.ones(10),
    "100 equal": np.ones(100),
    "10, one three times wider": np.append(np.ones(9), 3.0),
    "50, one five times wider": np.append(np.ones(49), 5.0),
}
GRADIENTS = 60_000
CHAINS = 4


@numba.njit
def run(rng, sd, step, n_steps, friction, length, n_gradients):
    """Draws of one chain, one per trajectory; `length` > 0: full refreshment and lengths uniform on (0, 2 length)."""
    dim = sd.size
    q = sd * rng.standard_normal(dim)
    p = rng.standard_normal(dim)
    draws = np.empty((n_gradients, dim))
    n_draws = used = 0
    level = 2.0 * rng.random() - 1.0
    while used < n_gradients:
        h = step * (1.0 + 0.1 * (2.0 * rng.random() - 1.0))
        if length > 0.0:
            p = rng.standard_normal(dim)
            n = max(1, int(2.0 * length * rng.random() / h + 0.5))
        else:
            n = n_steps
            kept = np.exp(-friction * h * n)
            p = kept * p + np.sqrt(1.0 - kept * kept) * rng.standard_normal(dim)
        x, v = q.copy(), p.copy()
        for _ in range(n):
            v -= 0.5 * h * x / sd**2
            x += h * v
            v -= 0.5 * h * x / sd**2
        used += n
        ratio = np.exp(0.5 * np.sum((q / sd) ** 2 + p * p - (x / sd) ** 2 - v * v))
        if length > 0.0:
            accepted = rng.random() < ratio
        else:
            accepted = abs(level) < ratio
        if accepted:
            q, p = x, v
            level /= ratio
        else:
            p = -p
        level += 0.03 + 0.01 * rng.random()
        if level > 1.0:
            level -= 2.0
        draws[n_draws] = q
        n_draws += 1
    return draws[:n_draws]


def worst(sd, **settings) -> float:
    """The yardstick; of the first direction and the last, as the others are like the first."""
    chains = [
        run(np.random.default_rng(seed), sd, n_gradients=GRADIENTS // CHAINS, **settings) for seed in range(CHAINS)
    ]
    n = min(map(len, chains))
    found = np.inf
    for direction in (0, -1):
        values = np.array([chain[:n, direction] for chain in chains])
        for x in (values, values**2):
            found = min(found, float(np.asarray(array_stats.ess(x, method="bulk"))))
    return 1000.0 * found / GRADIENTS


def main() -> None:
    for name, sd in TARGETS.items():
        steps = np.array([0.5, 0.7, 0.9, 1.1, 1.4])
        full = max(
            (worst(sd, step=step, n_steps=1, friction=0.0, length=length), step, length)
            for step, length in itertools.product(steps, (0.7, 1.0, 1.6, 2.5, 4.0))
        )
        persistent = max(
            (worst(sd, step=step, n_steps=n, friction=friction, length=0.0), step, n, friction)
            for step, n, friction in itertools.product(steps, (1, 2, 4), (0.1, 0.25, 0.5, 1.0, 2.0))
        )
        print(f"{name}: full {full[0]:.0f} (step {full[1]}, length {full[2]}); ", end="")
        print(f"persistent {persistent[0]:.0f} (step {persistent[1]}, {persistent[2]} steps, friction {persistent[3]})")


if __name__ == "__main__":
    main()
