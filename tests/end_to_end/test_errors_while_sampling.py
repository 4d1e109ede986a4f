"""Errors in users' code while chains run: they reach the user with their traceback, and the draws made until then."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

import grhmc


def sample(density: grhmc.LogDensity, **settings: Any) -> Any:
    defaults: dict[str, Any] = {"draws": 200, "tune": 20, "chains": 2, "cores": 1, "seed": 1, "progress_bar": False}
    return grhmc.sample(density, **(defaults | settings))


def failing_after(n_calls: int, error: Callable[[], BaseException]) -> grhmc.LogDensity:
    """A normal density that raises from some call on."""
    lock = threading.Lock()
    count = 0

    def density(q: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal count
        with lock:
            count += 1
            if count > n_calls:
                raise error()
        return -0.5 * float(q @ q), -q

    return grhmc.from_python(density, 2, ["a", "b"])


@pytest.mark.parametrize("cores", [1, 2])
def test_an_exception_reaches_the_user_with_its_traceback_and_the_draws(cores: int) -> None:
    with pytest.raises(RuntimeError, match="made up") as raised:
        sample(failing_after(400, lambda: RuntimeError("made up")), cores=cores)
    assert "density" in [entry.name for entry in raised.traceback]
    partial = raised.value.partial_result  # type: ignore[attr-defined]
    n_chains, n_draws = partial["posterior"]["a"].shape
    assert n_chains >= 1
    assert 0 < n_draws < 200
    assert np.all(np.isfinite(partial["posterior"]["a"]))
    assert "DENSITY_RAISED" in partial.attrs["outcomes"]


def test_a_chain_that_was_complete_before_the_exception_is_kept() -> None:
    """With one thread, and no pooling, chains run one after the other."""
    calls = 0

    def density(q: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal calls
        calls += 1
        return -0.5 * float(q @ q), -q

    expected = sample(grhmc.from_python(density, 2, ["a", "b"]), chains=1, tune=0)
    with pytest.raises(RuntimeError, match="made up") as raised:
        sample(failing_after(calls + 40, lambda: RuntimeError("made up")), tune=0)
    kept = raised.value.partial_result["posterior"]["a"]  # type: ignore[attr-defined]
    np.testing.assert_array_equal(kept["chain"], [0])
    np.testing.assert_array_equal(kept, expected["posterior"]["a"])


def test_the_draws_before_an_exception_are_those_of_an_undisturbed_run() -> None:
    calls = 0

    def density(q: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal calls
        calls += 1
        return -0.5 * float(q @ q), -q

    undisturbed = sample(grhmc.from_python(density, 2, ["a", "b"]), chains=1)["posterior"]["a"].to_numpy()
    with pytest.raises(RuntimeError) as raised:
        sample(failing_after(calls - 100, RuntimeError), chains=1)
    kept = raised.value.partial_result["posterior"]["a"].to_numpy()  # type: ignore[attr-defined]
    assert 0 < kept.shape[1] < undisturbed.shape[1]
    np.testing.assert_array_equal(kept, undisturbed[:, : kept.shape[1]])


def test_an_exception_in_warm_up_leaves_a_result_without_draws() -> None:
    with pytest.raises(RuntimeError) as raised:
        sample(failing_after(50, RuntimeError), tune=200)
    assert raised.value.partial_result["posterior"]["a"].shape == (2, 0)  # type: ignore[attr-defined]


def test_a_bad_return_value_while_sampling_says_so() -> None:
    def density(q: np.ndarray) -> Any:
        return (-0.5 * float(q @ q), -q) if abs(q[0]) < 1.5 else None

    with pytest.raises(TypeError, match=r"two values.*None"):
        sample(grhmc.from_python(density, 2), init=[0.1, 0.1])


@numba.njit
def normal_that_raises_far_out(q, gradient):
    if q[0] > 1.5:
        raise ValueError("q[0] is beyond 1.5")
    gradient[0] = -q[0]
    return -0.5 * q[0] * q[0]


def test_an_exception_in_compiled_code_reaches_the_user() -> None:
    with pytest.raises(ValueError, match="beyond") as raised:
        sample(grhmc.from_numba(normal_that_raises_far_out, 1), init=[-1.0])
    assert raised.value.partial_result["posterior"]["x"].shape[1] < 200  # type: ignore[attr-defined]


def test_a_keyboard_interrupt_inside_the_density_is_not_lost() -> None:
    with pytest.raises(KeyboardInterrupt) as raised:
        sample(failing_after(800, KeyboardInterrupt))
    assert raised.value.partial_result["posterior"]["a"].size > 0  # type: ignore[attr-defined]


@numba.njit
def half_normal(q, gradient):
    """Its trajectories have hundreds of steps: from Python the run below would take half a minute."""
    if q[0] < 0.0:
        return -math.inf
    if q[1] < 0.0:
        return math.nan
    gradient[0], gradient[1] = -q[0], -q[1]
    return -0.5 * (q[0] * q[0] + q[1] * q[1])


def half_normal_in_python(q: np.ndarray) -> tuple[float, np.ndarray]:
    gradient = q.copy()
    return half_normal.py_func(q, gradient), gradient


def test_places_where_the_density_is_not_finite_are_outside_the_support() -> None:
    """NaN and −inf are rejected; nothing raises, no draw is NaN."""
    with pytest.warns(grhmc.SamplingWarning, match="left the support"):
        result = sample(grhmc.from_numba(half_normal, 2), init=[1.0, 1.0], draws=2000, tune=500)
    positions = result["posterior"]["x"].to_numpy()
    assert np.all(positions >= 0.0)
    assert positions.mean(axis=(0, 1)) == pytest.approx(math.sqrt(2.0 / math.pi), abs=0.15)


@pytest.mark.filterwarnings("ignore::grhmc.SamplingWarning")  # of few draws there is more to say
def test_the_same_places_of_a_density_in_python_are_outside_the_support() -> None:
    settings: dict[str, Any] = {"init": [1.0, 1.0], "draws": 20, "tune": 20}
    found = sample(grhmc.from_python(half_normal_in_python, 2), **settings)
    assert np.all(found["posterior"]["x"] >= 0.0)
    np.testing.assert_allclose(
        found["posterior"]["x"], sample(grhmc.from_numba(half_normal, 2), **settings)["posterior"]["x"], rtol=1e-6
    )


def test_a_chain_that_cannot_move_is_a_sampling_error_with_a_remedy() -> None:
    """After it has begun anew a few times: it has seen no place but its start."""

    def spike(q: np.ndarray) -> tuple[float, np.ndarray]:
        return (0.0, np.ones(1)) if q[0] == 0.5 else (-math.inf, q)

    with pytest.raises(grhmc.SamplingError, match=r"chain 0.*enclosed") as raised:
        sample(grhmc.from_python(spike, 1), init=[0.5], process="continuous", check_gradient=False)
    assert raised.value.outcome == grhmc.Outcome.STUCK
    assert "init" in str(raised.value)
    assert raised.value.partial_result is not None


def test_an_exception_in_a_path_function_is_a_sampling_error() -> None:
    @numba.njit
    def fails_far_out(q, output):
        if q[0] > 1.0:
            raise ValueError("beyond 1")
        output[0] = q[0]

    @numba.njit
    def normal(q, gradient):
        gradient[0] = -q[0]
        return -0.5 * q[0] * q[0]

    functions = grhmc.path_functions_from_numba(fails_far_out, 1, ["f"])
    with pytest.raises(grhmc.SamplingError, match="path function") as raised:
        sample(grhmc.from_numba(normal, 1), path_functions=functions)
    assert raised.value.partial_result["posterior"]["x"].shape[1] < 200  # type: ignore[index]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"tune": 0},
        {"process": "continuous", "tune": 0},
        {"process": grhmc.Continuous(warmup="paper")},
        {"scale": [1.0, 1.0], "tune": 0, "process": grhmc.Continuous(event_rate=0.2)},
        {"check_gradient": False},
    ],
    ids=str,
)
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_exception_at_any_of_the_first_calls_reaches_the_user(settings: dict[str, Any], error: type) -> None:
    """Starting points, gradient check, first scale, first evaluation of each chain, first steps."""
    for n_calls in range(0, 30, 1 if error is RuntimeError else 4):
        with pytest.raises(error) as raised:
            sample(failing_after(n_calls, lambda: error("made up")), **settings)
        assert "density" in [entry.name for entry in raised.traceback], n_calls


def test_a_density_that_is_not_finite_the_second_time_is_an_error() -> None:
    calls = 0

    def density(q: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal calls
        calls += 1
        return (-0.5 * float(q @ q) if calls == 1 else -math.inf), -q

    with pytest.raises(grhmc.InitializationError, match="nothing but its argument"):
        sample(grhmc.from_python(density, 2), scale=[1.0, 1.0], chains=1, check_gradient=False)
