"""Random targets, settings and faults: every run ends with finite draws or one of the errors that are documented.

The budget of gradients per draw is a hundredth of the default, so that a run that gets nowhere, which with scales from
1e-4 to 1e4 many do, takes a second to say so.
"""

from __future__ import annotations

import functools
import math
import threading
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import grhmc
from grhmc import sampling
from grhmc.settings import RunSettings

GRADIENTS_PER_DRAW = 2000
BUDGET = functools.partial(RunSettings, one_draw_budget=GRADIENTS_PER_DRAW)

STRESS = settings(
    max_examples=35,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    database=None,
)


def quiet_sample(model: grhmc.LogDensity, **arguments: Any) -> Any:
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        patch.setattr(sampling, "RunSettings", BUDGET)
        return grhmc.sample(model, progress_bar=False, **arguments)


def assert_finite(result: Any) -> None:
    for group in ("posterior", "unconstrained_posterior", "sample_stats"):
        for name, values in result[group].to_dataset().data_vars.items():
            if name == "energy_error":  # infinite where a trajectory of the discrete process left the support
                assert not np.any(np.isnan(values))
            else:
                at_an_edge = (name == "lp") & np.isneginf(values)  # a draw of the continuous process just outside
                assert np.all(np.isfinite(values) | at_an_edge), name
    grhmc.Report.from_json(result.attrs["diagnosis"])


@st.composite
def targets(draw: st.DrawFn) -> grhmc.LogDensity:
    """Normals, quartics, exponentials and walls, of scales from 1e-4 to 1e4, computed in one of three precisions."""
    dim = draw(st.integers(1, 6))
    scale = np.array(draw(st.lists(st.floats(-4, 4), min_size=dim, max_size=dim)))
    scale = 10.0**scale
    scale[:] = scale if draw(st.booleans()) else scale[0]
    power = draw(st.sampled_from([1.0, 2.0, 4.0]))
    dtype = draw(st.sampled_from([np.float64, np.float32, np.longdouble]))
    wall = draw(st.booleans())

    def density(q: np.ndarray) -> tuple[Any, np.ndarray]:
        z = (q / scale).astype(dtype)
        if wall and z[0] < -1.0:
            return -math.inf, q
        sizes = np.abs(z)
        return -np.sum(sizes**power) / power, -np.sign(z) * sizes ** (power - 1) / scale

    return grhmc.from_python(density, dim)


common = {
    "scale": st.sampled_from(["isg", "vari", "geo", "mct", "identity", 1e-3, 1e3]),
    "draws": st.integers(1, 30),
    "tune": st.sampled_from([0, 1, 5, 20, 60]),
    "chains": st.integers(1, 3),
    "cores": st.integers(1, 2),
    "seed": st.integers(0, 2**63 - 1),
    "save_warmup": st.booleans(),
}
continuous = st.fixed_dictionaries(
    common
    | {
        "process": st.builds(
            grhmc.Continuous,
            integrator=st.sampled_from(["splitting", "rkn43", "rkn64"]),
            tolerance=st.sampled_from([None, 1.0, 0.3, 1e-2]),
            event_rate=st.sampled_from(["tuned", 0.05, 1.0, 20.0]),
            event_rate_kind=st.sampled_from(["constant", "arc_length"]),
            refreshment=st.sampled_from(["full", 0.0, 0.7]),
            sample_interval=st.sampled_from([None, 0.01, 1.0]),
        ),
    }
)
discrete = st.fixed_dictionaries(
    common
    | {
        "process": st.builds(
            lambda law, **settings: grhmc.Discrete(**law, **settings),
            law=st.sampled_from(
                [{}, {"momentum": "fresh"}, {"momentum": "fresh", "length_law": "exponential"}],
            ),
            target_accept=st.sampled_from([None, 0.5, 0.95]),
            u_turns_per_refreshment=st.sampled_from([None, 0.1, 2.0]),
            integrator=st.sampled_from(["splitting", "leapfrog"]),
        ),
    }
)


@STRESS
@given(targets(), continuous)
def test_any_target_with_any_settings_gives_finite_draws_or_a_clear_error(
    model: grhmc.LogDensity, chosen: dict[str, Any]
) -> None:
    sample_to_an_end(model, chosen)


@STRESS
@given(targets(), discrete)
def test_any_target_by_the_discrete_process_gives_finite_draws_or_a_clear_error(
    model: grhmc.LogDensity, chosen: dict[str, Any]
) -> None:
    sample_to_an_end(model, chosen)


@pytest.mark.nightly
@settings(STRESS, max_examples=1000)
@given(targets(), st.one_of(continuous, discrete))
def test_any_target_by_either_process_a_thousand_times(model: grhmc.LogDensity, chosen: dict[str, Any]) -> None:
    sample_to_an_end(model, chosen)


def sample_to_an_end(model: grhmc.LogDensity, chosen: dict[str, Any]) -> None:
    scale = chosen["scale"] if isinstance(chosen["scale"], str) else np.full(model.dim, chosen["scale"])
    try:
        result = quiet_sample(model, check_gradient=False, **(chosen | {"scale": scale}))
    except (grhmc.SamplingError, grhmc.InitializationError):
        return
    assert_finite(result)
    assert result["posterior"].sizes["draw"] == chosen["draws"]


class Fault(RuntimeError):
    pass


WAYS = [
    grhmc.Continuous("splitting"),
    grhmc.Continuous("rkn43"),
    grhmc.Continuous("rkn64"),
    grhmc.Discrete(integrator="splitting"),
    grhmc.Discrete(integrator="leapfrog"),
]


@STRESS
@given(
    st.integers(0, 2000),
    st.floats(0.0, 0.2),
    st.sampled_from(["nan density", "infinite density", "nan gradient", "infinite gradient", "huge gradient", "raise"]),
    st.sampled_from(WAYS),
    st.sampled_from(["isg", "vari", "geo", "mct", "identity"]),
    st.floats(-4, 4),
)
def test_a_density_that_fails_at_random_calls_does_no_more_than_end_the_run(
    seed: int, probability: float, kind: str, process: Any, scale: str, log_size: float
) -> None:
    size = 10.0**log_size
    rng, lock = np.random.default_rng(seed), threading.Lock()

    def density(q: np.ndarray) -> tuple[float, np.ndarray]:
        with lock:
            fails = rng.random() < probability
        value, gradient = -0.5 * float(q @ q) / size**2, -q / size**2
        if not fails:
            return value, gradient
        if kind == "raise":
            raise Fault("made up")
        if kind == "huge gradient":
            return value, 1e300 * gradient
        bad = math.nan if kind.startswith("nan") else math.inf
        return (bad, gradient) if kind.endswith("density") else (value, np.full(2, bad))

    try:
        result = quiet_sample(
            grhmc.from_python(density, 2),
            check_gradient=False,
            draws=50,
            tune=40,
            chains=2,
            cores=2,
            seed=seed,
            process=process,
            scale=scale,
        )
    except Fault as error:
        partial = getattr(error, "partial_result", None)
        assert partial is None or np.all(np.isfinite(partial["unconstrained_posterior"]["position"]))
    except (grhmc.SamplingError, grhmc.InitializationError):
        pass
    else:
        assert_finite(result)


@pytest.mark.parametrize("integrator", ["splitting", "rkn43", "rkn64"])
def test_noise_in_the_density_ends_in_a_warning_or_an_error(integrator: Any) -> None:
    """What every call remembers, or draws at random, is found at the start; here nobody looks."""
    rng = np.random.default_rng(1)

    def density(q: np.ndarray) -> tuple[float, np.ndarray]:
        return -0.5 * float(q @ q) + 3.0 * rng.standard_normal(), -q

    with pytest.warns(grhmc.SamplingWarning, match="the log density is noisy"):
        grhmc.sample(
            grhmc.from_python(density, 2), check_gradient=False, cores=1, draws=300, tune=100, seed=1,
            process=grhmc.Continuous(integrator=integrator), progress_bar=False,
        )  # fmt: skip
