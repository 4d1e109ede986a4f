"""CmdStan runs with the metric that was tuned: on the program of the package prophet, whose wheel brings it compiled.

`nox -s cmdstan` runs it: prophet is in no lock.
"""

from __future__ import annotations

import json
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grhmc
from grhmc.tuned import StanMetric, Tuned

_SPEC = find_spec("prophet")
FOLDER = Path(next(iter(_SPEC.submodule_search_locations or ["."])) if _SPEC else ".") / "stan_model"
EXECUTABLE = FOLDER / "prophet_model.bin"

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not EXECUTABLE.exists(), reason="needs CmdStan's executable of the package prophet"),
    pytest.mark.skipif(find_spec("stanli") is None, reason="needs stanli"),
]


def series() -> dict[str, Any]:
    """A trend that changes twice, and two regressors of very different size: scales are a thousand times apart."""
    rng = np.random.default_rng(1)
    time = np.linspace(0.0, 1.0, 60)
    regressors = np.stack([rng.standard_normal(60), 300 * rng.standard_normal(60)], axis=1)
    values = 0.3 + 0.5 * time + regressors @ [0.2, 1e-3] + 0.1 * rng.standard_normal(60)
    return {
        "T": 60, "K": 2, "S": 2, "t": time, "cap": np.ones(60), "y": values, "t_change": [0.3, 0.6], "X": regressors,
        "sigmas": [10.0, 10.0], "tau": 0.5, "trend_indicator": 0, "s_a": [1.0, 1.0], "s_m": [0.0, 0.0],
    }  # fmt: skip


@pytest.fixture(scope="module")
def tuned() -> Tuned:
    model = grhmc.from_stan((FOLDER / "prophet.stan").read_text(), series())
    return grhmc.tune(model, tune=300, chains=2, cores=1, seed=1, progress_bar=False)


def run_cmdstan(metric: StanMetric, folder: Path, *arguments: str) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The inverse metric that CmdStan reports, and its columns by name."""
    data = {name: np.asarray(value).tolist() for name, value in series().items()}
    (folder / "data.json").write_text(json.dumps(data))
    (folder / "init.json").write_text(
        json.dumps({"sigma_obs": 0.1, "k": 0.5, "m": 0.3, "delta": [0, 0], "beta": [0.2, 1e-3]})
    )
    metric.save(folder / "metric.json")
    words = ["sample", *arguments, "algorithm=hmc", f"metric={metric.metric}", "metric_file=metric.json"]
    words += ["stepsize=0.4", "data", "file=data.json", "init=init.json", "random", "seed=1", "output", "file=out.csv"]
    subprocess.run([EXECUTABLE, *words], cwd=folder, check=True, capture_output=True)
    lines = (folder / "out.csv").read_text().splitlines()
    (at,) = (k for k, line in enumerate(lines) if "inverse mass matrix" in line)
    n_rows = len(metric.inv_metric) if metric.metric == "dense_e" else 1
    reported = np.loadtxt([line.lstrip("#") for line in lines[at + 1 : at + 1 + n_rows]], delimiter=",")
    names, *rows = (line.split(",") for line in lines if line and not line.startswith("#"))
    return reported, dict(zip(names, np.array(rows, dtype=float).T, strict=True))


@pytest.mark.parametrize("dense", [False, True])
def test_cmdstan_samples_with_the_metric_file_in_its_order(tuned: Tuned, dense: bool, tmp_path: Path) -> None:
    metric = tuned.for_stan(dense=dense)
    assert np.sqrt(np.diag(tuned.covariance())).max() > 100 * np.sqrt(np.diag(tuned.covariance())).min()
    settings = ("num_warmup=0", "num_samples=400", "adapt", "engaged=0")
    reported, columns = run_cmdstan(metric, tmp_path, *settings)
    np.testing.assert_allclose(reported, metric.inv_metric, rtol=1e-5)  # CmdStan prints six digits
    assert columns["accept_stat__"].mean() > 0.6
    names = [name for name in columns if not name.endswith("__") and not name.startswith("trend")]
    assert len(names) == len(tuned.scale)
    if dense:
        assert columns["n_leapfrog__"].mean() < 16
        unconstrained = [np.log(columns[name]) if name == "sigma_obs" else columns[name] for name in names]
        sd = np.std(unconstrained, axis=1)
        np.testing.assert_allclose(sd, np.sqrt(np.diag(metric.inv_metric)), rtol=0.5)
    reversed_metric = StanMetric(metric.inv_metric[::-1, ::-1] if dense else metric.inv_metric[::-1])
    _, wrong = run_cmdstan(reversed_metric, tmp_path, *settings)
    assert wrong["accept_stat__"].mean() < 0.1


@pytest.mark.parametrize("dense", [False, True])
def test_cmdstanpy_finds_a_step_size_and_leaves_the_metric_alone(tuned: Tuned, dense: bool) -> None:
    cmdstanpy = pytest.importorskip("cmdstanpy")
    metric = tuned.for_stan(dense=dense)
    windows = {"adapt_init_phase": 0, "adapt_metric_window": 0, "adapt_step_size": 140, "iter_warmup": 140}
    data = {name: np.asarray(value).tolist() for name, value in series().items()}
    fit = cmdstanpy.CmdStanModel(exe_file=EXECUTABLE).sample(
        data,
        chains=2,
        parallel_chains=1,
        seed=1,
        iter_sampling=200,
        show_progress=False,
        **windows,
        **metric.arguments(),
    )
    assert fit.metric_type == metric.metric
    for found in fit.inv_metric:
        np.testing.assert_allclose(found, metric.inv_metric, rtol=1e-5)
    assert np.all(fit.step_size > 0.05)
