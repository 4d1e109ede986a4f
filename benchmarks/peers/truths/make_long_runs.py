"""Make posteriors.csv: moments and quantiles of the reference posteriors, ten times as precise as the published ones.

    python benchmarks/peers/truths/make_long_runs.py [TARGET ...]      # half an hour

By long runs of nutpie, whose Metropolis test makes it exact, with a high acceptance rate so that no corner is left out.
`published_z` compares with the published means, in standard errors of both.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from arviz_stats.base import array_stats
from replace_rows import replace_rows

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import nutpie  # noqa: E402
from nutpie_model import PointerModel  # noqa: E402
from targets import make_target, published_truth, starting_points  # noqa: E402

OUTPUT = HERE / "posteriors.csv"
DRAWS = {
    "eight_schools": 100_000,
    "arK": 60_000,
    "garch11": 60_000,
    "gauss_mix": 15_000,
    "kidscore_interaction": 80_000,
    "gp_poisson": 80_000,
}
"""Per chain, four chains."""

ESTIMATES = ("mean", "sd", "q05", "q95")
FIELDS = ("target", "parameter", *(f"{name}{suffix}" for name in ESTIMATES for suffix in ("", "_error")))
FIELDS += ("tail_error", "published_z")


def estimate(values: np.ndarray) -> dict[str, float]:
    """One parameter's draws, shape (chains, n). `tail_error`: of the share of draws below q05 (or above q95)."""
    found = {}
    for name, value in (
        ("mean", values.mean()),
        ("sd", values.std()),
        ("q05", np.quantile(values, 0.05)),
        ("q95", np.quantile(values, 0.95)),
    ):
        options = {"method": "quantile", "prob": float(name[1:]) / 100} if name[0] == "q" else {"method": name}
        found[name] = float(value)
        found[f"{name}_error"] = float(array_stats.mcse(values, **options))
    sizes = [float(array_stats.ess((values < found[name]).astype(float), method="mean")) for name in ("q05", "q95")]
    found["tail_error"] = float(np.sqrt(0.05 * 0.95 / min(sizes)))
    return found


def long_run(name: str) -> list[dict[str, object]]:
    target = make_target(name)
    model = PointerModel(target.model.address, target.model.user_data, target.dim, starting_points(target, 77, 4))
    trace = nutpie.sample(
        model,
        draws=DRAWS[name],
        tune=3000,
        chains=4,
        cores=1,
        seed=77,
        target_accept=0.9,
        progress_bar=False,
        save_warmup=False,
    )
    values = target.select(trace.posterior["x"].to_numpy())
    published = published_truth(name)[1]
    n_diverging = int(trace.sample_stats["diverging"].sum())
    rows = []
    for j, parameter in enumerate(target.parameters):
        found = estimate(np.ascontiguousarray(values[..., j]))
        error = np.hypot(published.mean_error[j], found["mean_error"])
        found["published_z"] = float((found["mean"] - published.mean[j]) / error)
        rows.append({"target": name, "parameter": parameter, **{k: f"{v:.8g}" for k, v in found.items()}})
    worst = max(float(row["mean_error"]) / float(row["sd"]) for row in rows)
    z = max(abs(float(row["published_z"])) for row in rows)
    print(
        f"{name}: errors of means to {worst:.4f} sd, {n_diverging} diverging, largest published z {z:.1f}", flush=True
    )
    return rows


def main() -> None:
    for name in sys.argv[1:] or DRAWS:
        replace_rows(OUTPUT, FIELDS, name, long_run(name))


if __name__ == "__main__":
    main()
