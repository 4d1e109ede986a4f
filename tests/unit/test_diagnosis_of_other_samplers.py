"""Draws of other samplers, in each package's layout: the same words, and a note of what could not be looked at."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import grhmc
from grhmc.cli import app
from grhmc.diagnosis import other_samplers

N_CHAINS, N_DRAWS = 4, 500

LAYOUTS = {
    "PyMC": ("lp", "diverging", "energy", "tree_depth", "reached_max_treedepth", "acceptance_rate"),
    "nutpie": ("logp", "diverging", "energy", "depth", "maxdepth_reached", "mean_tree_accept"),
    "CmdStanPy": ("lp", "diverging", "energy", "tree_depth", None, "acceptance_rate"),
    "Stan's files": ("lp__", "divergent__", "energy__", "treedepth__", None, "accept_stat__"),
    "NumPyro": ("lp", "diverging", "energy", "tree_depth", None, "acceptance_rate"),
    "BlackJAX": (None, "is_divergent", "energy", "num_trajectory_expansions", None, "acceptance_rate"),
    "emcee": ("lp", None, None, None, None, None),
}


class InferenceData:
    """As ArviZ 0 has it: `groups()`, and datasets by name."""

    def __init__(self, groups: dict[str, xarray.Dataset]) -> None:
        self._groups, self.attrs = groups, {"inference_library": "pymc"}

    def groups(self) -> list[str]:
        return list(self._groups)

    def __getitem__(self, name: str) -> xarray.Dataset:
        return self._groups[name]


def posterior(rng: Any, n_chains: int = N_CHAINS) -> xarray.Dataset:
    draws = rng.standard_normal((n_chains, N_DRAWS, 3))
    return xarray.Dataset(
        {
            "mu": (("chain", "draw"), draws[..., 0].copy()),
            "tau": (("chain", "draw"), np.exp(3.0 * draws[..., 0])),  # heavy, and rightly so
            "beta": (("chain", "draw", "k"), draws),
        }
    )


def groups_of(layout: str, n_chains: int = N_CHAINS, **trouble: bool) -> dict[str, xarray.Dataset]:
    """A run in this layout; with trouble where asked for."""
    rng = np.random.default_rng(3)
    draws, shape = posterior(rng, n_chains), (n_chains, N_DRAWS)
    lp, diverging, energy, depth, is_deepest, acceptance = LAYOUTS[layout]
    levels = np.cumsum(rng.normal(size=shape), axis=1) if trouble.get("energy") else rng.normal(size=shape)
    depths = np.full(shape, 10 if trouble.get("depth") else 3)
    values = {
        lp: -0.5 * (draws["beta"] ** 2).sum("k").to_numpy(),
        diverging: (rng.uniform(size=shape) < 0.02) if trouble.get("diverging") else np.zeros(shape, dtype=bool),
        energy: levels,
        depth: depths,
        is_deepest: depths == 10,
        acceptance: np.full(shape, 0.2 if trouble.get("acceptance") else 0.9),
        "warning": np.full(shape, None, dtype=object),  # PyMC's
    }
    known = {name: (("chain", "draw"), array) for name, array in values.items() if name is not None}
    return {"posterior": draws, "sample_stats": xarray.Dataset(known)}


def report_of(groups: dict[str, xarray.Dataset]) -> grhmc.Report:
    return grhmc.diagnose(xarray.DataTree.from_dict(groups))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_healthy_draws_get_a_note_of_what_was_not_looked_at_and_nothing_else(layout: str) -> None:
    groups = groups_of(layout)
    report = report_of(groups)
    assert report.codes == ("not_looked_at",)
    message = next(iter(report)).message
    assert ("divergences" in message) == (LAYOUTS[layout][1] is None)
    assert ("E-BFMI" in message) == (LAYOUTS[layout][2] is None)
    assert ("stuck" in message) == (LAYOUTS[layout][0] is None)
    assert grhmc.diagnose(InferenceData(groups)).codes == report.codes


@pytest.mark.parametrize("layout", [layout for layout in LAYOUTS if layout != "emcee"])
def test_trouble_is_found_under_each_package_s_names(layout: str) -> None:
    report = report_of(groups_of(layout, diverging=True, energy=True, depth=True, acceptance=True))
    assert {"diverging", "e_bfmi", "low_acceptance"} <= {finding.code for finding in report.warnings}
    assert "tree_depth" in {finding.code for finding in report.notes}


def test_the_words_are_ours_without_our_arguments() -> None:
    groups = groups_of("PyMC")
    groups["posterior"]["mu"].to_numpy()[2] += 5.0
    groups["sample_stats"]["lp"].to_numpy()[2] -= 100.0
    groups["posterior"]["beta"].to_numpy()[1, 3, 0] = np.nan
    groups["posterior"]["beta"].to_numpy()[:, :, 1] = np.cumsum(groups["posterior"]["beta"].to_numpy()[:, :, 1], axis=1)
    report = report_of(groups)
    assert {"r_hat", "stuck_chain", "not_finite", "bulk_ess"} <= set(report.codes)
    for ours in ("`init`", "`scale`", "`tune`", "grhmc.compare", "grhmc.summary", "process="):
        assert ours not in str(report)
    (stuck,) = [finding for finding in report if finding.code == "stuck_chain"]
    assert stuck.chains == (2,)


def test_every_word_that_is_replaced_is_in_a_message() -> None:
    package = Path(other_samplers.__file__).parent
    trees = [ast.parse(path.read_text("utf-8")) for path in package.glob("*.py") if path.stem != "other_samplers"]
    texts = [node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    for ours, _ in other_samplers._ELSEWHERE:
        assert any(ours in text for text in texts if isinstance(text, str)), ours


def test_a_chain_that_never_moved_is_found_without_unconstrained_draws() -> None:
    groups = groups_of("emcee")
    for array in groups["posterior"].data_vars.values():
        array.to_numpy()[1] = 1.0
    assert "stuck_chain" in report_of(groups).codes


def test_heavy_tails_of_a_real_variable_are_found() -> None:
    groups = groups_of("NumPyro")
    groups["posterior"]["mu"].to_numpy()[:] = np.random.default_rng(1).standard_cauchy((N_CHAINS, N_DRAWS))
    (finding,) = [finding for finding in report_of(groups) if finding.code == "heavy_tails"]
    assert finding.variables == ("mu",)
    assert "grhmc.diagnose" not in finding.message


def test_one_chain_and_few_draws_are_noted() -> None:
    groups = groups_of("emcee", n_chains=1)
    assert "few_chains" in report_of(groups).codes
    assert "few_draws" in report_of({"posterior": groups["posterior"].isel(draw=slice(5))}).codes


def test_a_dataset_and_chains_without_numbers_are_accepted() -> None:
    dataset = posterior(np.random.default_rng(1)).assign_coords(chain=list("abcd")).transpose("draw", "k", "chain")
    assert grhmc.diagnose(dataset).codes == ("not_looked_at",)
    assert list(grhmc.summary(dataset).index) == ["mu", "tau", "beta[0]", "beta[1]", "beta[2]"]


@pytest.mark.parametrize(
    ("result", "error", "said"),
    [
        ({"mu": np.zeros((4, 10))}, TypeError, "must be an xarray.DataTree, an arviz.InferenceData"),
        (xarray.DataTree.from_dict({"prior": xarray.Dataset()}), ValueError, "no group 'posterior'; it has prior"),
        (
            xarray.Dataset({"mu": ("sample", np.zeros(10))}),
            ValueError,
            "no variable over the dimensions chain and draw",
        ),
    ],
)
def test_what_cannot_be_read_is_said(result: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        grhmc.diagnose(result)


def test_the_command_diagnoses_a_file_of_another_sampler(tmp_path: Any) -> None:
    pytest.importorskip("h5netcdf")
    from typer.testing import CliRunner

    groups = groups_of("PyMC", diverging=True)
    groups["sample_stats"] = groups["sample_stats"].drop_vars("warning")
    path = tmp_path / "draws.nc"
    xarray.DataTree.from_dict(groups).to_netcdf(path, engine="h5netcdf")
    ran = CliRunner().invoke(app, ["diagnose", str(path), "--strict"])
    assert ran.exit_code == 3
    assert "trajectories diverged" in ran.output
    assert "beta[1]" in ran.output
    missing = CliRunner().invoke(app, ["diagnose", str(tmp_path / "none.nc")])
    assert missing.exit_code == 2
