"""How long momenta should last where the energy limits a chain: effective draws per 1000 gradients of long runs.

Run with `python benchmarks/energy_limited/energy_limited.py` (`--seeds 8`, `--gradients 1200000`, `--u-turns 0.35 0.5`
beside what is tuned, `--targets NAME ...`); needs stanli or BridgeStan. Hierarchies are centred on purpose, with data
that say little of a group. Runs are long, because the effective sample size of chains that hardly mix has a floor: with
4000 draws a worst one of 20 is no better than one of 10. docs/decisions/0015-what-is-still-hard.md has the results.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

import grhmc
from grhmc.diagnosis.energy import energy_bfmi

sys.path.append(str(Path(__file__).parents[1] / "peers"))
from statistics_of_draws import effective_sizes

HERE = Path(__file__).parent

PILOT = 300
MOST_DRAWS = 60_000


def all_data() -> dict[str, dict[str, Any]]:
    """What each program gets, by its name."""
    rng = np.random.default_rng(1)
    n = 80
    h = np.full(n, -1.0)
    for t in range(1, n):
        h[t] = -1.0 + 0.9 * (h[t - 1] + 1.0) + 0.3 * rng.standard_normal()
    group = np.repeat(np.arange(1, 21), 6)
    effects = 0.5 + 0.4 * rng.standard_normal(20)
    is_one = rng.random(120) < 1.0 / (1.0 + np.exp(-effects[group - 1]))
    return {
        "stochastic_volatility": {"n": n, "y": (np.exp(0.5 * h) * rng.standard_normal(n)).tolist()},
        "hierarchical_logistic": {
            "n": 120,
            "n_groups": 20,
            "group": group.tolist(),
            "y": is_one.astype(int).tolist(),
        },
        "twenty_schools": {
            "n": 20,
            "y": (4.0 + 2.0 * rng.standard_normal(20) + 10.0 * rng.standard_normal(20)).tolist(),
            "sigma": [10.0] * 20,
        },
        "student_t": {},
    }


def measure(model: grhmc.LogDensity, u_turns: float | None, seed: int, n_gradients: int) -> tuple[float, float]:
    """Worst effective draws per 1000 gradients of sampling, and E-BFMI, of a run of about so many gradients."""

    def sample(draws: int) -> Any:
        process = grhmc.Discrete(u_turns_per_refreshment=u_turns)
        return grhmc.sample(model, process=process, draws=draws, seed=seed, progress_bar=False, diagnose=False)

    def cost(result: Any) -> int:
        return int(result["sample_stats"]["n_gradients"].sum())

    draws = int(np.clip(PILOT * n_gradients / cost(sample(PILOT)), PILOT, MOST_DRAWS))
    result = sample(draws)
    ess = float(np.min(effective_sizes(result["unconstrained_posterior"]["position"].to_numpy())))
    return 1000.0 * ess / cost(result), energy_bfmi(result["sample_stats"]["energy"].to_numpy(), model.dim)


def main() -> None:
    """Print a row per target and length."""
    data = all_data()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--gradients", type=int, default=1_200_000)
    parser.add_argument("--u-turns", type=float, nargs="*", default=[])
    parser.add_argument("--targets", nargs="*", default=list(data))
    options = parser.parse_args()
    print(f"{'target':24s} {'U-turns':>8s} {'per 1000':>9s} {'error':>7s} {'E-BFMI':>7s}")
    for target in options.targets:
        model = grhmc.from_stan(HERE / f"{target}.stan", data[target] or None)
        for u_turns in (None, *options.u_turns):
            found = [measure(model, u_turns, seed, options.gradients) for seed in range(1, options.seeds + 1)]
            rates, fractions = np.array(found).T
            mean = float(np.exp(np.log(rates).mean()))
            error = mean * float(np.log(rates).std(ddof=1)) / np.sqrt(len(rates)) if len(rates) > 1 else np.nan
            name = "tuned" if u_turns is None else f"{u_turns:g}"
            print(f"{target:24s} {name:>8s} {mean:9.3g} {error:7.2g} {np.median(fractions):7.2f}", flush=True)


if __name__ == "__main__":
    main()
