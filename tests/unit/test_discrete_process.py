"""Trajectories of the discrete process, the tuning of its step and of its lengths, and what it rejects."""

from __future__ import annotations

import numpy as np
import pytest

import grhmc
from grhmc.adaptation.tuners.momentum_time import (
    CLOSEST_DRAWS,
    FEWEST_DRAWS,
    FURTHEST_DRAWS,
    LARGEST_CHANGE,
    MOMENTUM_TIME_RANGES,
    add_up,
    autocorrelation_times,
    init_momentum_time_tuner,
    is_limited_by_energy,
    momentum_time_change,
    next_momentum_time,
    observe_position,
    spacing_of_draws,
)
from grhmc.events.random_numbers import generator_state
from grhmc.models.analytic import gaussian, independent_normals, paper_target
from grhmc.process.trajectory_plan import EXPONENTIAL_LENGTH, MOST_STEPS, UNIFORM_LENGTH, draw_n_steps
from kernel_helpers import ORBITS, Dynamics

NORMALS = independent_normals([1.0, 2.0, 0.1]).log_density()


def sample(**settings):
    return grhmc.sample(NORMALS, **{"seed": 1, "progress_bar": False, "process": "discrete", "chains": 2, **settings})


@pytest.mark.parametrize("integrator", ["splitting", "leapfrog"])
@pytest.mark.parametrize("orbit", ORBITS)
def test_a_trajectory_can_be_reversed(orbit, integrator):
    position, momentum = ORBITS[orbit].at(0.3)
    dynamics = Dynamics(integrator, ORBITS[orbit].model, position, momentum)
    dynamics.advance(0.8, n_steps=7)
    assert np.abs(dynamics.step.position - position).max() > 0.1
    dynamics.flip()
    dynamics.advance(0.8, n_steps=7)
    np.testing.assert_allclose(dynamics.step.position, position, atol=1e-12)
    np.testing.assert_allclose(-dynamics.step.momentum, momentum, atol=1e-12)


@pytest.mark.parametrize(("law", "spread"), [(UNIFORM_LENGTH, 1 / np.sqrt(3.0)), (EXPONENTIAL_LENGTH, 1.0)])
def test_lengths_of_trajectories_have_their_law(law, spread):
    rng = generator_state(np.random.default_rng(1))
    lengths = np.array([draw_n_steps(law, 20.0, 0.2, rng) for _ in range(20_000)]) * 0.2
    assert lengths.mean() == pytest.approx(20.0, rel=0.03)
    assert lengths.std() == pytest.approx(20.0 * spread, rel=0.03)


def test_a_trajectory_has_at_least_one_step_and_not_too_many():
    rng = generator_state(np.random.default_rng(1))
    assert {draw_n_steps(UNIFORM_LENGTH, 0.01, 1.0, rng) for _ in range(100)} == {1}
    assert max(draw_n_steps(EXPONENTIAL_LENGTH, 1e9, 1.0, rng) for _ in range(100)) == MOST_STEPS


def test_statistics_say_what_happened_to_each_trajectory():
    result = sample(draws=500)
    statistics, draws = result["sample_stats"], result["unconstrained_posterior"].to_dataset().to_dataarray()
    acceptance = statistics["acceptance_rate"].to_numpy()
    assert np.all((acceptance >= 0.0) & (acceptance <= 1.0))
    np.testing.assert_array_equal(statistics["n_events"], 1)
    gradients_per_step = {"splitting": 2, "leapfrog": 1}[result.attrs["integrator"]]
    np.testing.assert_array_equal(statistics["n_gradients"], gradients_per_step * statistics["n_steps"])
    # A rejected trajectory repeats the draw before it.
    values = np.asarray(draws)[0]
    repeats = np.all(values[:, 1:] == values[:, :-1], axis=-1)
    np.testing.assert_array_equal(repeats, statistics["n_rejected"].to_numpy()[:, 1:] == 1)
    assert repeats.any()
    # The Metropolis ratio is that of the energy error.
    error = statistics["energy_error"].to_numpy()
    np.testing.assert_allclose(acceptance, np.minimum(1.0, np.exp(-error)), rtol=1e-12)
    lp = np.array([[NORMALS.evaluate(q)[0] for q in chain] for chain in values])
    np.testing.assert_allclose(statistics["lp"], lp, rtol=1e-12)


def tuned_by_leapfrog(model, target, seed):
    """The mean acceptance while sampling, and the tuned step."""
    process = grhmc.Discrete(target_accept=target, integrator="leapfrog")
    result = grhmc.sample(model, process=process, tune=3000, seed=seed, progress_bar=False, diagnose=False)
    steps = result["tuning"]["step_size"].to_numpy()
    return result["sample_stats"]["acceptance_rate"].to_numpy().mean(), steps.mean()


def test_the_step_is_tuned_to_the_acceptance_asked_for():
    model = independent_normals(np.ones(50)).log_density()
    steps = {}
    for target in (0.7, 0.9):
        found = [tuned_by_leapfrog(model, target, seed) for seed in (1, 2, 3, 4)]
        acceptance, steps[target] = np.mean(found, axis=0)
        assert abs(acceptance - target) < 0.06
    assert steps[0.7] > 1.1 * steps[0.9]


def test_the_acceptance_is_higher_where_a_posterior_has_narrow_places():
    even, funnel = independent_normals(np.ones(50)).log_density(), paper_target("F1").log_density()
    acceptances = [[tuned_by_leapfrog(model, 0.7, seed)[0] for seed in range(1, 9)] for model in (even, funnel)]
    of_even, of_funnel = np.mean(acceptances, axis=1)
    assert abs(of_even - 0.7) < 0.04
    assert of_funnel > of_even + 0.03


def autoregression(coefficient, n, rng):
    series, noise = np.zeros(n), rng.standard_normal(n) * np.sqrt(1.0 - coefficient**2)
    for i in range(1, n):
        series[i] = coefficient * series[i - 1] + noise[i]
    return series


def observed(series, log_densities=None):
    """By default with the log densities of a standard normal."""
    tuner = init_momentum_time_tuner(series.shape[1])
    values = -0.5 * np.sum(series**2, axis=1) if log_densities is None else log_densities
    for row, log_density in zip(series, values, strict=True):
        observe_position(tuner, row, log_density)
    return tuner


def test_autocorrelation_times_are_those_of_autoregressions():
    rng = np.random.default_rng(3)
    coefficients = (0.0, 0.5, -0.5)
    tuner = observed(np.column_stack([autoregression(c, 64_000, rng) for c in coefficients]))
    # An autoregression's square has the square of its coefficient.
    exact = [[(1 + c) / (1 - c) for c in coefficients], [(1 + c**2) / (1 - c**2) for c in coefficients]]
    np.testing.assert_allclose(autocorrelation_times(tuner), exact, rtol=0.1)


def test_slow_positions_lengthen_trajectories_and_slow_squares_shorten_them():
    rng = np.random.default_rng(4)
    slow = np.column_stack([autoregression(0.95, 1600, rng), autoregression(0.0, 1600, rng)])
    assert 1.3 < momentum_time_change(observed(slow)) <= LARGEST_CHANGE
    # Signs that alternate: positions are antithetic, their squares are those of a slow series.
    alternating = np.abs(autoregression(0.9, 1600, rng)) * np.tile([1.0, -1.0], 800)
    assert 1.0 / LARGEST_CHANGE <= momentum_time_change(observed(alternating[:, None])) < 0.7


def test_momenta_last_no_longer_than_at_first_where_the_energy_limits_chains():
    """D over the variance of the energy, which is the log density's and d/2, is 0.5 where the log density's is 3d/2."""
    rng = np.random.default_rng(7)
    dim, allowed = 4, MOMENTUM_TIME_RANGES["persistent"]
    slow = np.column_stack([autoregression(0.95, 4000, rng) for _ in range(dim)])
    log_densities = rng.standard_normal(4000) - 1e7  # also where its digits are few
    log_densities = (log_densities - log_densities.mean()) / log_densities.std() - 1e7
    for factor, is_limited in ((0.97, False), (1.03, True)):
        chains = np.split(slow, 4), np.split(np.sqrt(1.5 * dim * factor) * (log_densities + 1e7) - 1e7, 4)
        tuner = add_up([observed(*parts) for parts in zip(*chains, strict=True)])
        assert is_limited_by_energy(tuner) == is_limited
        assert next_momentum_time(tuner, 2.0, allowed) == (allowed.first if is_limited else allowed.longest)


def test_a_normal_is_not_limited_by_its_energy():
    rng = np.random.default_rng(8)
    assert not any(is_limited_by_energy(observed(rng.standard_normal((150, dim)))) for dim in (1, 2, 10, 100))


def test_swinging_series_have_the_autocorrelation_times_of_what_they_are():
    """x_i = 2 r cos(w) x_{i-1} − r² x_{i-2} + noise, whose spectrum at 0 is known: what persistent momenta make."""
    rng, r, w = np.random.default_rng(5), 0.8, 1.0
    noise, series = rng.standard_normal(100_000), np.zeros(100_000)
    for i in range(2, len(series)):
        series[i] = 2.0 * r * np.cos(w) * series[i - 1] - r**2 * series[i - 2] + noise[i]
    exact = 1.0 / (1.0 - 2.0 * r * np.cos(w) + r**2) ** 2 / series.var()
    assert exact < 0.8
    assert autocorrelation_times(observed(series[:, None]))[0, 0] == pytest.approx(exact, rel=0.03)


def test_draws_are_half_an_autocorrelation_time_apart_within_bounds():
    rng = np.random.default_rng(6)
    tuner = observed(autoregression(0.9, 20_000, rng)[:, None])  # an autocorrelation time of 19
    assert spacing_of_draws(tuner, 0.1) == pytest.approx(0.95, rel=0.1)
    assert spacing_of_draws(tuner, 0.01) == CLOSEST_DRAWS
    assert spacing_of_draws(tuner, 1.0) == FURTHEST_DRAWS
    assert spacing_of_draws(init_momentum_time_tuner(1), 1.0) == CLOSEST_DRAWS


def test_the_largest_of_many_autocorrelation_times_is_not_taken_at_its_word():
    of_chance, as_estimated, of_slow = [], [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        series = np.column_stack([autoregression(0.3, 160, rng) for _ in range(100)])  # times of 1.9
        tuner = observed(series)
        of_chance.append(spacing_of_draws(tuner, 0.5))
        as_estimated.append(0.25 * autocorrelation_times(tuner).max())
        series[:, 0] = autoregression(0.9, 160, rng)  # a time of 19
        of_slow.append(spacing_of_draws(observed(series), 0.2))
    assert np.mean(as_estimated) > 0.7
    assert np.mean(of_chance) < 0.65  # 0.47 is right, and 0.5 the smallest
    assert np.mean(of_slow) > 1.0  # 1.9 is right, and less costs nothing per gradient


def test_one_excursion_into_a_tail_does_not_make_a_coordinate_slow():
    series = np.random.default_rng(1).standard_normal((400, 1))
    series[100:103] = 30.0
    assert autocorrelation_times(observed(series))[1, 0] < 2.0  # 3.3 if its square counted in full


def test_a_slow_posterior_has_more_trajectories_between_its_draws():
    n_events = {0.0: [], 0.98: []}
    for correlation, found in n_events.items():
        covariance = np.full((3, 3), correlation) + (1.0 - correlation) * np.eye(3)
        model = gaussian(np.zeros(3), covariance).log_density()
        for seed in range(1, 6):  # one run of five says 1 by chance
            result = grhmc.sample(model, metric="diagonal", draws=50, seed=seed, progress_bar=False, diagnose=False)
            found.append(np.unique(result["sample_stats"]["n_events"]).item())
    assert n_events[0.0] == [1] * 5
    assert sum(n_events[0.98]) > 7


def test_a_persistent_momentum_is_kept_in_part_from_one_draw_to_the_next():
    process = grhmc.Discrete(target_accept=0.6, integrator="leapfrog", u_turns_per_refreshment=2.5)
    statistics = sample(process=process, draws=2000)["sample_stats"]
    kinetic = (statistics["energy"] + statistics["lp"]).to_numpy()
    correlation = np.corrcoef(kinetic[:, 1:].ravel(), kinetic[:, :-1].ravel())[0, 1]
    assert kinetic.mean() == pytest.approx(1.5, abs=0.15)  # of three dimensions
    fresh = sample(process=grhmc.Discrete(momentum="fresh"), draws=2000)["sample_stats"]
    kinetic = (fresh["energy"] + fresh["lp"]).to_numpy()
    assert abs(np.corrcoef(kinetic[:, 1:].ravel(), kinetic[:, :-1].ravel())[0, 1]) < 0.15 < correlation


def test_too_few_draws_change_no_length():
    assert momentum_time_change(observed(np.random.default_rng(1).standard_normal((FEWEST_DRAWS - 1, 2)))) == 1.0
    assert momentum_time_change(observed(np.ones((800, 2)))) == 1.0


def test_long_trajectories_are_found_for_a_correlated_normal_and_short_ones_for_independent_ones():
    lengths = {}
    for correlation in (0.0, 0.98):
        covariance = np.full((3, 3), correlation) + (1.0 - correlation) * np.eye(3)
        model = gaussian(np.zeros(3), covariance).log_density()
        tuning = grhmc.sample(model, metric="diagonal", draws=1, seed=3, progress_bar=False)["tuning"]
        mean_length = 1.0 / tuning["event_rate"].to_numpy()
        lengths[correlation] = (mean_length / tuning["time_to_u_turn"].to_numpy()).mean()
    assert lengths[0.98] > 1.5 * lengths[0.0]


def test_averages_are_those_of_the_draws():
    result = sample(draws=200)
    draws = np.asarray(result["unconstrained_posterior"].to_dataset().to_dataarray())[0]
    averages = result["time_average"]
    each = draws.reshape(2, 50, 4, 3)
    np.testing.assert_allclose(averages["position"], each.mean(axis=2), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(averages["position_squared"], (each**2).mean(axis=2), rtol=1e-10)


def test_a_wall_is_rejected_not_crossed():
    def half_normal(q):
        return (-0.5 * q @ q, -q) if q[0] > 0.0 else (-np.inf, np.zeros(1))

    model = grhmc.from_python(half_normal, 1)
    with pytest.warns(grhmc.SamplingWarning, match="no hope|given up"):
        result = grhmc.sample(model, process="discrete", init=[1.0], draws=2000, seed=1, progress_bar=False)
    draws = result["posterior"]["x"].to_numpy()
    assert draws.min() > 0.0
    assert draws.mean() == pytest.approx(np.sqrt(2.0 / np.pi), abs=0.1)
    assert result["sample_stats"]["diverging"].to_numpy().any()


@pytest.mark.filterwarnings("ignore::grhmc.SamplingWarning")  # heavy tails
def test_trajectories_that_fail_in_a_funnel_are_followed_by_shorter_steps():
    process = grhmc.Discrete(momentum="fresh", target_accept=0.8)  # one trajectory per draw, many of which fail
    result = grhmc.sample(
        paper_target("F1").log_density(), metric="diagonal", process=process, seed=1, progress_bar=False
    )
    steps, statistics = result["sample_stats"]["step_size"].to_numpy(), result["sample_stats"]
    halvings = np.log2(steps.max(axis=1, keepdims=True) / steps)
    np.testing.assert_allclose(halvings, np.round(halvings), atol=1e-9)
    assert 0.02 < np.mean(halvings > 0.5) < 0.3
    assert not statistics["diverging"].to_numpy().any()
    moved = statistics["n_rejected"].to_numpy()[halvings > 0.5] == 0
    assert moved.mean() > 0.2


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_funnel_too_narrow_for_any_of_the_steps_is_warned_of(seed):
    def density(q):  # Neal's, nine x ~ N(0, e^v) and v ~ N(0, 3²)
        v, x = q[0], q[1:]
        weights = np.exp(-v)
        gradient = np.concatenate([[-v / 9.0 - 4.5 + 0.5 * weights * (x @ x)], -weights * x])
        return -v * v / 18.0 - 4.5 * v - 0.5 * weights * (x @ x), gradient

    with pytest.warns(grhmc.SamplingWarning):
        grhmc.sample(grhmc.from_python(density, 10), process="discrete", seed=seed, progress_bar=False)


def test_tuners_are_compared_on_the_discrete_process():
    comparison = grhmc.compare(NORMALS, ("isg", "geo"), draws=200, tune=200, seed=1, progress_bar=False)
    for result in comparison.results.values():
        assert result.attrs["process"] == "discrete"
        assert "acceptance_rate" in result["sample_stats"]
