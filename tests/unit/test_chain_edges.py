"""Where a chain cannot simply go on: the edge of the support, enclosed points, spent budgets, exceptions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from grhmc import Outcome, from_numba, from_python
from grhmc.models.analytic import independent_normals
from kernel_helpers import INTEGRATORS, finish, make_chain, run_settings

EACH_INTEGRATOR = pytest.mark.parametrize("integrator", INTEGRATORS)


def half_line(q, gradient):
    """Exponential on q >= 0."""
    gradient[0] = -1.0
    return -q[0] if q[0] >= 0.0 else -np.inf


def quadrant(q, gradient):
    """Half a normal times an exponential of mean 0.1; the gradient is not finite outside."""
    gradient[0], gradient[1] = -q[0], -10.0
    if q[0] < 0.0 or q[1] < 0.0:
        gradient[0] = np.nan
    return -0.5 * q[0] * q[0] - 10.0 * q[1]


def cut_normal(q, gradient):
    """Standard normal on q >= -1."""
    gradient[0] = -q[0]
    return -0.5 * q[0] * q[0] if q[0] >= -1.0 else -np.inf


HALF_LINE = from_numba(half_line, 1)
QUADRANT = from_numba(quadrant, 2)


def batch_error(values, n_batches=40):
    """Standard error of a mean from the means of long batches."""
    means = np.array([batch.mean() for batch in np.array_split(values, n_batches)])
    return np.std(means, ddof=1) / np.sqrt(n_batches)


@pytest.mark.statistical
@EACH_INTEGRATOR
@pytest.mark.parametrize(
    "events",
    [{}, {"refreshment": 0.6}, {"event_rate_kind": "arc_length"}],
    ids=["constant", "partial", "arc_length"],
)
def test_bouncing_off_the_edge_leaves_an_exponential_as_it_is(integrator, events):
    settings = run_settings(draws=8000, sample_interval=1.5, event_rate=0.6, name=integrator, **events)
    chain = finish(make_chain(HALF_LINE, settings, init=np.ones(1)))
    draws = chain.record().draws[:, 0]
    assert chain.outcome == Outcome.STAGE_DONE
    assert chain.counts.n_bounces > 1000
    assert draws.min() >= 0.0
    # The force is constant, so that every integrator is exact between bounces.
    assert draws.mean() == pytest.approx(1.0, abs=4.0 * batch_error(draws))
    assert np.mean(draws**2) == pytest.approx(2.0, abs=4.0 * batch_error(draws**2))
    shares = [np.mean(draws < x) for x in (0.05, 0.5, 2.0)]
    for share, x in zip(shares, (0.05, 0.5, 2.0), strict=True):
        assert share == pytest.approx(-np.expm1(-x), abs=4.0 * batch_error(draws < x))
    averages = chain.record().time_average["position"]
    assert averages.mean() == pytest.approx(1.0, abs=4.0 * np.std(averages, ddof=1) / np.sqrt(len(averages)))


@pytest.mark.statistical
def test_draws_lie_hardly_ever_and_hardly_at_all_beyond_an_edge_that_the_density_falls_towards():
    """Between two evaluations a path can dip across it: docs/decisions/0004-walls.md."""
    settings = run_settings(draws=20_000, sample_interval=1.5, event_rate=0.6)
    chain = finish(make_chain(from_numba(cut_normal, 1), settings, init=np.zeros(1)))
    draws = chain.record().draws[:, 0]
    assert chain.counts.n_bounces > 1000
    assert np.mean(draws < -1.0) < 1e-3
    assert draws.min() > -1.1
    assert draws.mean() == pytest.approx(stats.truncnorm(-1.0, np.inf).mean(), abs=4.0 * batch_error(draws))


@pytest.mark.statistical
def test_a_bounce_in_a_corner_leaves_the_target_as_it_is():
    chain = finish(make_chain(QUADRANT, run_settings(dim=2, draws=8000, event_rate=0.6), init=np.array([1.0, 0.1])))
    draws = chain.record().draws
    assert chain.counts.n_bounces > 1000
    assert draws.min() >= 0.0
    for draw, law in zip(draws.T, (stats.halfnorm(), stats.expon(scale=0.1)), strict=True):
        assert draw.mean() == pytest.approx(law.mean(), abs=4.0 * batch_error(draw))
        assert np.mean(draw**2) == pytest.approx(law.moment(2), abs=4.0 * batch_error(draw**2))


def test_a_bounce_reverses_the_path():
    # Without events the particle runs up and down the same parabola for ever.
    settings = run_settings(draws=4000, sample_interval=0.05, event_rate=1e-9)
    chain = finish(make_chain(HALF_LINE, settings, init=np.full(1, 0.5)))
    record = chain.record()
    assert chain.counts.n_bounces > 20
    # H is kept up to the width of the zone that is left out at the edge.
    np.testing.assert_allclose(record.statistics["energy"], record.statistics["energy"][0], atol=1e-9)
    assert np.abs(record.statistics["energy_error"]).max() < 1e-9
    height = record.statistics["energy"][0]
    assert record.draws.max() == pytest.approx(height, abs=1e-3)
    assert record.draws.min() < 0.1


def test_bounces_and_rejected_steps_are_reported():
    chain = finish(make_chain(HALF_LINE, run_settings(draws=200, event_rate=0.6), init=np.ones(1)))
    tuning = chain.record().tuning
    assert tuning["n_bounces"] == chain.counts.n_bounces > 0
    assert tuning["n_non_finite"] == chain.counts.n_non_finite > chain.counts.n_bounces


# About its mean the constant gradient of an exponential has a variance of rounding only, 1e-30 or so. Its inverse root
# is no scale.
@EACH_INTEGRATOR
@pytest.mark.parametrize("scale", ["vari", "mct", "isg", "geo"])
def test_warm_up_survives_an_edge(integrator, scale):
    settings = run_settings(
        dim=2, draws=100, tune=100, scale=scale, event_rate="tuned", sample_interval=None, name=integrator
    )
    chain = finish(make_chain(QUADRANT, settings, init=np.array([1.0, 0.1])))
    assert chain.outcome == Outcome.STAGE_DONE
    record = chain.record()
    assert np.all(np.isfinite(record.draws))
    assert np.all(record.draws >= 0.0)
    assert np.all(record.tuning["scale"] > 0.0)
    # Bounded work: no crawling along the edge.
    assert chain.counts.n_gradients < 200 * 500


@EACH_INTEGRATOR
def test_an_enclosed_chain_is_stuck(integrator):
    start = np.array([0.3, -0.2])

    def island(q):
        return (0.0 if np.abs(q - start).max() < 1e-9 else -np.inf), np.zeros(2)

    chain = make_chain(from_python(island, 2), run_settings(dim=2, draws=10, name=integrator), init=start)
    assert finish(chain).outcome == Outcome.STUCK
    assert chain.counts.n_bounces > 10
    assert chain.counts.n_gradients < 5000
    np.testing.assert_array_equal(chain.process.step.position, 0.0)
    assert chain.advance(1000) == Outcome.STUCK
    assert len(chain.record().draws) < 10


ISLAND = np.array([50.0, 50.0])


def normal_and_island(q):
    """A normal cut off at 6, and a speck far out, as a solver's errors make them."""
    if np.abs(q - ISLAND).max() < 1e-9:
        return -100.0, np.zeros(2)
    return (-0.5 * q @ q if np.abs(q).max() < 6.0 else -np.inf), -q


def enclosed_in_a_window(init):
    """A chain that comes to the speck within its first window."""
    settings = run_settings(dim=2, draws=50, tune=500, scale="geo", event_rate="tuned", sample_interval=None)
    chain = make_chain(from_python(normal_and_island, 2), settings, init=init)
    chain.advance(10)
    assert chain.stage.is_window
    standardized = (ISLAND - chain.process.standardization.centre) / chain.process.standardization.scale
    chain.process.step.position[:] = standardized
    return chain


def test_a_chain_that_is_enclosed_in_a_window_goes_on_from_the_highest_place_it_has_seen():
    chain = finish(enclosed_in_a_window(np.ones(2)))
    assert chain.outcome == Outcome.STAGE_DONE
    assert chain.n_escapes == 1
    assert np.abs(chain.record().draws).max() < 6.0


@EACH_INTEGRATOR
def test_a_chain_that_needs_too_many_gradients_for_a_draw_gives_up(integrator):
    model = independent_normals([1.0]).log_density()
    settings = run_settings(draws=10, sample_interval=1000.0, name=integrator, max_gradients_per_draw=300)
    chain = finish(make_chain(model, settings, init=np.ones(1)))
    assert chain.outcome == Outcome.STEP_BUDGET_USED
    assert 300 < chain.counts.n_gradients <= 300 + 10 + 5  # five to look for noise
    assert len(chain.record().draws) == 0


def test_the_budget_is_per_draw():
    model = independent_normals([1.0]).log_density()
    settings = run_settings(draws=200, sample_interval=1.0, max_gradients_per_draw=60)
    chain = finish(make_chain(model, settings, init=np.ones(1)))
    assert chain.outcome == Outcome.STAGE_DONE
    assert chain.counts.n_gradients > 300


def test_a_search_for_a_u_turn_ends_too():
    # The density falls for ever at the same slope on one side of a path that nothing turns around.
    def slope(q):
        return 1e3 * q[0], np.array([1e3])

    settings = run_settings(
        draws=5, tune=40, scale="identity", event_rate="tuned", sample_interval=1.0, max_gradients_per_draw=2000
    )
    chain = make_chain(from_python(slope, 1), settings, init=np.zeros(1))
    finish(chain)
    assert chain.outcome in (Outcome.STAGE_DONE, Outcome.STEP_BUDGET_USED)
    assert chain.process.rate_tuner.n_given_up[0] > 0
    assert chain.counts.n_gradients < 200_000


class Trouble(Exception):
    pass


@EACH_INTEGRATOR
@pytest.mark.parametrize("tuned", [False, True])
@pytest.mark.parametrize("kind", ["constant", "arc_length"])
def test_an_exception_in_the_density_ends_the_chain_and_is_kept(integrator, tuned, kind):
    calls = []

    def density(q):
        calls.append(q)
        if len(calls) > 400:
            raise Trouble(f"call {len(calls)}")
        return -0.5 * q @ q, -q

    how: dict[str, Any] = {"scale": "mct", "tune": 100, "event_rate": "tuned"} if tuned else {"event_rate": 0.5}
    model = from_python(density, 2)
    chain = make_chain(model, run_settings(dim=2, draws=500, name=integrator, event_rate_kind=kind, **how))
    assert finish(chain).outcome == Outcome.DENSITY_RAISED
    assert len(calls) == 401  # it is not called again
    exception = chain.model.take_exception()
    assert isinstance(exception, Trouble)
    assert str(exception) == "call 401"
    assert exception.__traceback__ is not None
    assert chain.advance(100) == Outcome.DENSITY_RAISED
    assert len(calls) == 401
    record = chain.record()
    assert np.all(np.isfinite(record.draws))
    assert record.outcome == Outcome.DENSITY_RAISED


def falling(q, gradient):
    if q[0] > 2.5:
        raise ValueError("too far")
    gradient[0] = -q[0]
    return -0.5 * q[0] * q[0]


def test_an_exception_in_a_compiled_density_is_found_again():
    chain = finish(make_chain(from_numba(falling, 1), run_settings(draws=5000), init=np.zeros(1)))
    assert chain.outcome == Outcome.DENSITY_RAISED
    exception = chain.model.take_exception()
    assert isinstance(exception, ValueError)
    assert str(exception) == "too far"


def jump(q, gradient):
    """A standard normal with a step of 5 in its log density, which no gradient shows."""
    gradient[0] = -q[0]
    return -0.5 * q[0] * q[0] - (5.0 if q[0] > 0.5 else 0.0)


def test_a_jump_that_the_gradient_does_not_show_is_seen_in_the_energy():
    settings = run_settings(draws=500, divergence_threshold=3.0)
    chain = finish(make_chain(from_numba(jump, 1), settings, init=np.zeros(1)))
    statistics = chain.record().statistics
    assert np.abs(statistics["energy_error"]).max() == pytest.approx(5.0, abs=0.5)
    assert statistics["diverging"].mean() > 0.1
