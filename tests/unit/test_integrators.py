"""One step of each integrator family: order, reversibility, energy, error estimate, cost, and what failures leave."""

from __future__ import annotations

import numpy as np
import pytest

from grhmc.density_pointer import EXCEPTION, NON_FINITE_DENSITY, NON_FINITE_GRADIENT
from grhmc.dynamics.coefficients import TABLEAUS
from grhmc.dynamics.density_call import evaluate_force
from grhmc.dynamics.standardization import init_standardization, set_directions
from grhmc.models import from_python
from kernel_helpers import INTEGRATORS, ORBITS, OSCILLATOR, PENDULUM, Dynamics, fitted_slope

EACH_INTEGRATOR = pytest.mark.parametrize("integrator", INTEGRATORS)
EACH_ORBIT = pytest.mark.parametrize("orbit", ORBITS.values(), ids=ORBITS.keys())

ORDERS = {"splitting": 2, "rkn43": 4, "rkn64": 6}
# Steps small enough for the leading term to rule, large enough for the error to stand out from rounding.
STEP_COUNTS = {"splitting": (100, 200, 400), "rkn43": (30, 60, 120), "rkn64": (12, 24, 48)}


def start(integrator, orbit):
    return Dynamics(integrator, orbit.model, *orbit.at(0.0))


def distance(dynamics, position, momentum):
    return np.sqrt(np.sum((dynamics.step.position - position) ** 2) + np.sum((dynamics.step.momentum - momentum) ** 2))


@EACH_ORBIT
@EACH_INTEGRATOR
def test_global_error_shrinks_with_the_order_of_the_method(integrator, orbit):
    time, errors = 5.0, []
    for n_steps in STEP_COUNTS[integrator]:
        dynamics = start(integrator, orbit)
        dynamics.advance(time / n_steps, n_steps)
        errors.append(distance(dynamics, *orbit.at(time)))
    slope = -fitted_slope(STEP_COUNTS[integrator], errors)
    assert slope == pytest.approx(ORDERS[integrator], abs=0.15)


@EACH_ORBIT
@EACH_INTEGRATOR
def test_local_error_estimate_shrinks_with_the_published_power(integrator, orbit):
    steps = 0.2 * 0.5 ** np.arange(4)
    dynamics = Dynamics(integrator, orbit.model, *orbit.at(0.4))
    errors = [dynamics.attempt(step)[3] for step in steps]
    slope = fitted_slope(steps, errors)
    assert slope == pytest.approx(TABLEAUS[integrator].error_order, abs=0.15)


@pytest.mark.parametrize("rank", [0, 2])
@pytest.mark.parametrize("integrator", ["leapfrog", *INTEGRATORS])
def test_a_step_whose_error_is_not_wanted_is_the_same(integrator, rank):
    standardization = init_standardization(np.array([0.1, -2.0]), np.array([1.3, 0.4]), max_rank=2)
    turned = np.array([[0.6, 0.8], [-0.8, 0.6]])
    set_directions(standardization, turned[:rank], np.array([9.0, 0.25])[:rank])
    ends = []
    for wants_error in (True, False):
        dynamics = Dynamics(integrator, OSCILLATOR.model, *OSCILLATOR.at(0.3), standardization)
        code, n_gradients, end, _ = dynamics.attempt(0.7, wants_error)
        step = dynamics.step
        ends.append((step.end_position, step.end_momentum, step.stage_forces[-1], [code, n_gradients, *end]))
    for wanted, not_wanted in zip(*ends, strict=True):
        np.testing.assert_allclose(not_wanted, wanted, rtol=1e-13)


@pytest.mark.parametrize("integrator", ["leapfrog", "splitting"])
def test_a_step_whose_error_is_not_wanted_says_what_failed(integrator):
    model = from_python(lambda q: (-np.inf, -q) if q[0] > 1.0 else (-0.5 * q @ q, -q), 1)
    code, n_gradients, _, _ = Dynamics(integrator, model, np.array([0.9]), np.array([3.0])).attempt(
        0.5, wants_error=False
    )
    assert (code, n_gradients) == (NON_FINITE_DENSITY, 1)


@EACH_ORBIT
def test_splitting_retraces_its_path_when_the_momentum_is_flipped(orbit):
    dynamics = start("splitting", orbit)
    dynamics.advance(0.3, 200)
    assert distance(dynamics, *orbit.at(0.0)) > 0.1
    dynamics.flip()
    dynamics.advance(0.3, 200)
    dynamics.flip()
    assert distance(dynamics, *orbit.at(0.0)) < 1e-12


def test_nystrom_pairs_do_not_retrace_their_path():
    # Negative control for the test above.
    dynamics = start("rkn43", PENDULUM)
    dynamics.advance(0.3, 200)
    dynamics.flip()
    dynamics.advance(0.3, 200)
    dynamics.flip()
    assert distance(dynamics, *PENDULUM.at(0.0)) > 1e-6


def energy_errors(integrator, duration, n_steps):
    """H - H(0) after every step on the pendulum."""
    dynamics = start(integrator, PENDULUM)
    first = dynamics.energy
    errors = np.empty(n_steps)
    for k in range(n_steps):
        dynamics.advance(duration)
        errors[k] = dynamics.energy - first
    return np.abs(errors)


def test_energy_of_the_splitting_does_not_drift():
    errors = energy_errors("splitting", 0.5, 10_000)
    assert 1e-5 < errors[:500].max() < 0.02
    assert errors[-500:].max() < 1.05 * errors[:500].max()


def test_energy_of_a_nystrom_pair_drifts():
    # Negative control: the same measure sees a method that is not symplectic.
    errors = energy_errors("rkn43", 0.5, 10_000)
    assert errors[-500:].max() > 5.0 * errors[:500].max()


@EACH_INTEGRATOR
def test_a_step_uses_one_gradient_less_than_it_has_stages(integrator):
    calls = []

    def density(q):
        calls.append(q)
        return -0.5 * q @ q, -q

    dynamics = Dynamics(integrator, from_python(density, 2), *OSCILLATOR.at(0.0))
    calls.clear()
    code, n_gradients, _, _ = dynamics.attempt(0.3)
    assert code == 0
    assert n_gradients == len(calls) == TABLEAUS[integrator].n_stages - 1


@EACH_INTEGRATOR
def test_force_and_log_density_at_the_end_are_those_of_the_end(integrator):
    # First same as last: the next step starts with them.
    dynamics = start(integrator, PENDULUM)
    _, _, end, _ = dynamics.attempt(0.7)
    value, gradient, _ = dynamics.model.evaluate(dynamics.step.end_position)
    assert end.log_density == value
    assert end.kinetic_energy == pytest.approx(0.5 * np.square(dynamics.step.end_momentum).sum(), rel=1e-14)
    np.testing.assert_array_equal(dynamics.step.stage_forces[-1], gradient)


@EACH_INTEGRATOR
def test_a_standardized_step_is_the_step_of_the_standardized_density(integrator):
    centre, scale = np.array([1e3, -2.0]), np.array([1e-4, 50.0])
    normal = from_python(lambda q: (-0.5 * np.sum(((q - centre) / scale) ** 2), -(q - centre) / scale**2), 2)
    scaled = Dynamics(integrator, normal, *OSCILLATOR.at(0.0), init_standardization(centre, scale))
    plain = start(integrator, OSCILLATOR)
    scaled.advance(0.4, 20)
    plain.advance(0.4, 20)
    # q = 1000 with sd 1e-4: a difference of q and the centre keeps nine digits.
    np.testing.assert_allclose(scaled.step.position, plain.step.position, atol=1e-8)
    np.testing.assert_allclose(scaled.step.momentum, plain.step.momentum, atol=1e-8)


def test_evaluate_force_scales_the_gradient():
    dynamics = start("splitting", OSCILLATOR)
    standardization = init_standardization(np.array([1.0, 2.0]), np.array([3.0, 0.5]))
    force = np.empty(2)
    code, log_density = evaluate_force(dynamics.density, standardization, np.array([0.5, -1.0]), force)
    assert code == 0
    assert log_density == pytest.approx(-0.5 * (2.5**2 + 1.5**2), rel=1e-15)
    assert force == pytest.approx([-3.0 * 2.5, -0.5 * 1.5], rel=1e-15)


FAILURES = {
    "minus infinity": ((-np.inf, np.zeros(1)), NON_FINITE_DENSITY),
    "plus infinity": ((np.inf, np.zeros(1)), NON_FINITE_DENSITY),
    "nan": ((np.nan, np.zeros(1)), NON_FINITE_DENSITY),
    "nan gradient": ((0.0, np.full(1, np.nan)), NON_FINITE_GRADIENT),
    "infinite gradient": ((0.0, np.full(1, -np.inf)), NON_FINITE_GRADIENT),
    "exception": (None, EXCEPTION),
}


@pytest.mark.parametrize(("result", "expected"), FAILURES.values(), ids=FAILURES.keys())
@EACH_INTEGRATOR
def test_a_failing_stage_is_reported_and_the_start_stays(integrator, result, expected):
    limit = 1.15

    def density(q):
        if q[0] < limit:
            return -q[0], -np.ones(1)
        if result is None:
            raise ArithmeticError("beyond the limit")
        return result

    dynamics = Dynamics(integrator, from_python(density, 1), np.array([1.0]), np.array([1.0]))
    code, n_gradients, end, error = dynamics.attempt(0.25)
    assert code == expected
    assert 1 <= n_gradients <= TABLEAUS[integrator].n_stages - 1
    assert end.log_density == -np.inf
    assert error == np.inf
    assert dynamics.step.position.tolist() == [1.0]
    assert dynamics.step.momentum.tolist() == [1.0]
    assert dynamics.step.stage_forces[0].tolist() == [-1.0]
    # From the untouched start a shorter step succeeds, and is exact: the force is constant.
    code, _, end, error = dynamics.attempt(0.1)
    assert code == 0
    assert dynamics.step.end_position[0] == pytest.approx(1.0 + 0.1 - 0.005, rel=1e-14)
    assert end.log_density == -dynamics.step.end_position[0]
    assert error < 1e-15


@EACH_INTEGRATOR
def test_an_overflowing_path_is_not_taken_for_a_good_one(integrator):
    # A force so steep that the step's end is infinite or the error estimate not a number.
    def density(q):
        with np.errstate(over="ignore"):
            return -0.25e300 * q @ q, -0.5e300 * q

    dynamics = Dynamics(integrator, from_python(density, 1), np.array([1.0]), np.array([0.0]))
    code, _, _, error = dynamics.attempt(1e6)
    assert code != 0 or not error < 1e300
