"""Make simulated.csv: means and sds of the simulated posteriors.

    python benchmarks/peers/truths/make_simulated.py [TARGET ...]      # ten minutes

Linear regressions: given sigma the coefficients are normal, so every marginal is a mixture of normals over log sigma
alone, by the midpoint rule; to seven digits, and errors of 0. The others: long runs of nutpie's low-rank adaptation,
whose Metropolis test makes it exact, with a high acceptance rate. `n_draws` is over all chains, 0 for quadrature.
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
from simulated import REGRESSIONS, Regression  # noqa: E402
from targets import Target, make_target, starting_points  # noqa: E402

OUTPUT = HERE / "simulated.csv"
DRAWS = {"hidden_markov": 100_000, "latent_gp": 100_000, "varying_intercepts": 60_000, "varying_slopes": 50_000}
"""Per chain, four chains."""

N_NODES, RANGE = 2000, 1.0  # of log sigma: the midpoint rule, within so much of the least squares' value
FIELDS = ("target", "parameter", "mean", "mean_error", "sd", "sd_error", "n_draws")


def by_quadrature(regression: Regression) -> np.ndarray:
    """Mean and sd of the coefficients and of sigma, shape (2, k + 1).

    In coordinates gamma = R beta of rows = Q R, where nothing cancels.
    """
    n, k = regression.rows.shape
    orthogonal, triangle = np.linalg.qr(regression.rows)
    back = np.linalg.inv(triangle)
    fitted = orthogonal.T @ regression.y
    residual_square = float(np.sum((regression.y - orthogonal @ fitted) ** 2))
    prior_precision = back.T @ (regression.prior_precision[:, None] * back)
    prior_mean = triangle @ regression.prior_mean
    middle = 0.5 * np.log(residual_square / n)
    nodes = middle + RANGE * (2 * (np.arange(N_NODES) + 0.5) / N_NODES - 1)
    log_weight, means, variances = np.empty(N_NODES), np.empty((N_NODES, k)), np.empty((N_NODES, k))
    for i, log_sigma in enumerate(nodes):
        precision = np.exp(-2 * log_sigma)
        covariance = np.linalg.inv(precision * np.eye(k) + prior_precision)
        mean = covariance @ (precision * fitted + prior_precision @ prior_mean)
        off, shift = fitted - mean, mean - prior_mean
        log_weight[i] = (1 - n) * log_sigma + 0.5 * np.linalg.slogdet(covariance)[1]
        log_weight[i] -= 0.5 * (precision * (residual_square + off @ off) + shift @ prior_precision @ shift)
        if regression.cauchy_scale > 0:
            log_weight[i] -= np.log1p((np.exp(log_sigma) / regression.cauchy_scale) ** 2)
        means[i] = back @ mean
        variances[i] = np.diag(back @ covariance @ back.T)
    weight = np.exp(log_weight - log_weight.max())
    if max(weight[0], weight[-1]) > 1e-12:
        raise ValueError("RANGE is too small")
    weight /= weight.sum()
    sigma = np.exp(nodes)
    mean = np.append(weight @ means, weight @ sigma)
    spread = np.column_stack([variances + (means - mean[:k]) ** 2, (sigma - mean[k]) ** 2])
    return np.array([mean, np.sqrt(weight @ spread)])


def by_long_run(target: Target, n_draws: int) -> np.ndarray:
    """Mean, its standard error, sd, its standard error: shape (4, n_parameters)."""
    model = PointerModel(target.model.address, target.model.user_data, target.dim, starting_points(target, 77, 4))
    trace = nutpie.sample(
        model,
        draws=n_draws,
        tune=3000,
        chains=4,
        cores=1,
        seed=77,
        adaptation="low_rank",
        target_accept=0.9,
        progress_bar=False,
        save_warmup=False,
    )
    values = np.moveaxis(target.select(trace.posterior["x"].to_numpy()), 2, 0)
    found = np.empty((4, len(values)))
    for j, column in enumerate(values):
        column = np.ascontiguousarray(column)
        found[:, j] = (
            column.mean(),
            float(array_stats.mcse(column, method="mean")),
            column.std(),
            float(array_stats.mcse(column, method="sd")),
        )
    print(
        f"{target.name}: errors of means to {np.max(found[1] / found[2]):.5f} sd, of sds to "
        f"{np.max(found[3] / found[2]):.5f}, {int(trace.sample_stats['diverging'].sum())} diverging",
        flush=True,
    )
    return found


def rows_of(name: str) -> list[dict[str, object]]:
    """Lines of the file."""
    target = make_target(name)
    if name in REGRESSIONS:
        mean, sd = by_quadrature(REGRESSIONS[name]())
        nothing = np.zeros(len(mean))
        found, n_draws = np.array([mean, nothing, sd, nothing]), 0
    else:
        found, n_draws = by_long_run(target, DRAWS[name]), 4 * DRAWS[name]
    return [
        dict(zip(FIELDS, (name, parameter, *(f"{value:.8g}" for value in column), n_draws), strict=True))
        for parameter, column in zip(target.parameters, found.T, strict=True)
    ]


def main() -> None:
    for name in sys.argv[1:] or [*REGRESSIONS, *DRAWS]:
        replace_rows(OUTPUT, FIELDS, name, rows_of(name))


if __name__ == "__main__":
    main()
