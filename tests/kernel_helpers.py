"""What the tests of the kernel layers share: integrators set up by hand, steps along known paths, single chains."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import pytest
from numba.core import config
from scipy.special import ellipj

import grhmc.run.chain as chain_module
from grhmc._kernel_compiler import KernelDispatcher
from grhmc.adaptation.stage import Stage
from grhmc.adaptation.stages_of_run import final_stage, warmup_stages
from grhmc.dynamics.coefficients import TABLEAUS
from grhmc.dynamics.density_call import evaluate_force, init_density
from grhmc.dynamics.nystrom_step import attempt_step
from grhmc.dynamics.phase import Step, StepEnd, init_step, move_to_end
from grhmc.dynamics.standardization import Standardization, init_standardization
from grhmc.models import LogDensity, from_python
from grhmc.outcomes import Outcome
from grhmc.process.advance import advance
from grhmc.process.discrete import advance_one_trajectory
from grhmc.run.chain import Chain
from grhmc.run.cross_chain import adapt_across_chains
from grhmc.run.kernel_settings import kernel_settings
from grhmc.sampling import prepare
from grhmc.settings import Continuous, Discrete, MetricSettings, RunSettings, ScaleSettings, StepLimits

INTEGRATORS = ("splitting", "rkn43", "rkn64")


@dataclass
class Oscillator:
    """q'' = -q: any number of coordinates, each on its own orbit."""

    start: np.ndarray
    momentum: np.ndarray

    @property
    def model(self) -> LogDensity:
        return from_python(lambda q: (-0.5 * q @ q, -q), len(self.start))

    def at(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Exact position and momentum."""
        cosine, sine = np.cos(time), np.sin(time)
        return self.start * cosine + self.momentum * sine, self.momentum * cosine - self.start * sine


@dataclass
class Pendulum:
    """q'' = -sin q from q = 0, with maximal angle 2 arcsin(modulus)."""

    modulus: float = 0.8

    @property
    def model(self) -> LogDensity:
        return from_python(lambda q: (np.cos(q).sum(), -np.sin(q)), 1)

    def at(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Exact position and momentum, by Jacobi's elliptic functions."""
        sn, cn, _, _ = ellipj(time, self.modulus**2)
        return np.array([2.0 * np.arcsin(self.modulus * sn)]), np.array([2.0 * self.modulus * cn])


OSCILLATOR = Oscillator(np.array([1.0, -0.3]), np.array([0.2, 1.1]))
PENDULUM = Pendulum()
ORBITS: dict[str, Any] = {"oscillator": OSCILLATOR, "pendulum": PENDULUM}


class Dynamics:
    """One integrator on one density, from a given state on."""

    def __init__(
        self,
        integrator: str,
        model: LogDensity,
        position: np.ndarray,
        momentum: np.ndarray,
        standardization: Standardization | None = None,
    ) -> None:
        self.model = model
        self.tableau = TABLEAUS[integrator].to_arrays()
        self.density = init_density(model.address, model.user_data, model.dim)
        self.standardization = standardization or init_standardization(np.zeros(model.dim), np.ones(model.dim))
        self.step = init_step(model.dim, len(self.tableau.nodes))
        self.step.position[:] = position
        self.step.momentum[:] = momentum
        _, self.log_density = evaluate_force(
            self.density, self.standardization, self.step.position, self.step.stage_forces[0]
        )

    def attempt(self, duration: float, wants_error: bool = True) -> tuple[int, int, StepEnd, float]:
        """Code, gradients, what is known of the end, and local error of one attempt."""
        return attempt_step(self.tableau, self.density, self.standardization, self.step, duration, wants_error)

    def advance(self, duration: float, n_steps: int = 1) -> None:
        """Take steps of fixed size."""
        for _ in range(n_steps):
            code, _, end, _ = self.attempt(duration)
            if code != 0:
                raise RuntimeError(f"a step failed with code {code}")
            self.log_density = end.log_density
            move_to_end(self.step)

    def flip(self) -> None:
        """Reverse the momentum."""
        self.step.momentum[:] *= -1.0

    @property
    def energy(self) -> float:
        return 0.5 * float(self.step.momentum @ self.step.momentum) - self.log_density


def step_between(
    position: Callable[[float], Any],
    momentum: Callable[[float], Any],
    force: Callable[[float], Any],
    start: float,
    end: float,
    n_stages: int = 3,
) -> Step:
    """A step whose two ends lie on a known path; the stages between them stay zero."""
    step = init_step(len(np.atleast_1d(position(start))), n_stages)
    step.position[:], step.end_position[:] = position(start), position(end)
    step.momentum[:], step.end_momentum[:] = momentum(start), momentum(end)
    step.stage_forces[0], step.stage_forces[-1] = force(start), force(end)
    return step


def orbit_step(orbit: Oscillator, start: float, end: float) -> Step:
    """A step between two exact points of an oscillator's orbit."""
    return step_between(lambda t: orbit.at(t)[0], lambda t: orbit.at(t)[1], lambda t: -orbit.at(t)[0], start, end)


def polynomial_step(*coefficients: list[float], duration: float) -> Step:
    """A step along polynomials of time of degree five or less, one per coordinate: dense output is exact on them."""
    paths = [np.polynomial.Polynomial(given) for given in coefficients]
    return step_between(
        lambda t: [path(t) for path in paths],
        lambda t: [path.deriv()(t) for path in paths],
        lambda t: [path.deriv(2)(t) for path in paths],
        0.0,
        duration,
    )


def fitted_slope(steps: Any, errors: Any) -> float:
    """Slope of log error against log step by least squares."""
    return float(np.polyfit(np.log(steps), np.log(errors), 1)[0])


def run_settings(
    *,
    scale: Any = "identity",
    dim: int = 1,
    draws: int = 100,
    tune: int = 0,
    chains: int = 1,
    seed: int = 1,
    sample_interval: float | None = 1.0,
    save_warmup: bool = False,
    n_time_averages: int = 50,
    event_rate: Any = 0.5,
    event_rate_kind: Any = "constant",
    refreshment: Any = "full",
    process: str = "continuous",
    name: Any = None,
    tolerance: float | None = None,
    max_gradients_per_draw: int | None = None,
    metric: MetricSettings | None = None,
    **limits: Any,
) -> RunSettings:
    """Settings in which everything is fixed unless asked for; `name` is the integrator's, `limits` of the steps."""
    if process == "discrete":
        chosen = Discrete(integrator=name or "auto")
    else:
        chosen = Continuous(name or "splitting", tolerance, event_rate, event_rate_kind, refreshment, sample_interval)
    return RunSettings(
        draws=draws,
        tune=tune,
        chains=chains,
        seed=seed,
        save_warmup=save_warmup,
        n_time_averages=n_time_averages,
        progress_bar=False,
        check_gradient=False,
        process=chosen,
        one_draw_budget=max_gradients_per_draw,
        limits=StepLimits(**limits),
        scale=ScaleSettings.parse(scale, dim),
        metric=MetricSettings() if metric is None else metric,
    )


def make_chains(
    model: LogDensity,
    settings: RunSettings,
    *,
    warmup: list[Stage] | None = None,
    init: Any = None,
    path_functions: Any = None,
) -> list[Chain]:
    """Chains as `sample` would make them, not yet advanced."""
    stages = [*(warmup_stages(settings, model.dim) if warmup is None else warmup), final_stage(settings)]
    return prepare(model, settings, stages, init, path_functions)


def make_chain(model: LogDensity, settings: RunSettings, **how: Any) -> Chain:
    """The only chain of such a run."""
    (chain,) = make_chains(model, settings, **how)
    return chain


def change_kernel_settings(monkeypatch: pytest.MonkeyPatch, **values: float) -> None:
    """Have every stage of every chain begin with these values instead of what the run's settings say."""

    def changed(*given: Any) -> dict[str, float]:
        return kernel_settings(*given) | values

    monkeypatch.setattr(chain_module, "kernel_settings", changed)


def advance_alone(chain: Chain, n_gradients: int) -> Outcome:
    """Advance a chain that has no others to wait for."""
    outcome = chain.advance(n_gradients)
    if outcome == Outcome.WAITING:
        adapt_across_chains([chain])
    return chain.outcome


def finish(chain: Chain, block_sizes: Callable[[], int] = lambda: 100_000) -> Chain:
    """Advance a chain to its end in blocks of the given sizes."""
    while advance_alone(chain, block_sizes()) == Outcome.RUNNING:
        pass
    return chain


def record_arrays(chain: Chain) -> dict[str, np.ndarray]:
    """Everything a chain reports but seconds, under flat names."""
    record = chain.record()
    arrays = {"draws": record.draws, "warmup_draws": record.warmup_draws}
    for group in ("statistics", "warmup_statistics", "time_average", "tuning"):
        arrays |= {f"{group}.{name}": values for name, values in getattr(record, group).items()}
    return {name: np.array(values) for name, values in arrays.items()}


def assert_same_record(left: Chain, right: Chain) -> None:
    """Two chains must have reported the same, bit by bit."""
    expected, found = record_arrays(left), record_arrays(right)
    assert list(expected) == list(found)
    for name, values in expected.items():
        assert np.array_equal(values, found[name], equal_nan=True), f"{name} differs"


def changed_kernel(kernel: Any, **changed: Any) -> Any:
    """A kernel compiled anew with some of the names it calls standing for something else."""
    function = types.FunctionType(kernel.py_func.__code__, {**kernel.py_func.__globals__, **changed}, "changed")
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
    if config.DISABLE_JIT:  # pyright: ignore[reportAttributeAccessIssue]
        return function
    return KernelDispatcher(function, options, {})


_STUCK = int(Outcome.STUCK)


@numba.njit
def _no_continuous_process(process, records):
    return _STUCK


def changed_trajectories(**changed: Any) -> Any:
    """`advance` for trajectories with some of what they call changed; nothing else of it is compiled anew."""
    trajectory = changed_kernel(advance_one_trajectory, **changed)
    return changed_kernel(advance, advance_one_trajectory=trajectory, advance_one_step=_no_continuous_process)
