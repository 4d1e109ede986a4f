"""What a run may cost: the noise of a log density is measured, and told from what is only rough."""

from __future__ import annotations

import math

import numpy as np
import pytest

import grhmc
from grhmc.outcomes import Outcome
from grhmc.run.cost import measure_noise, possible_acceptance
from kernel_helpers import change_kernel_settings, make_chain, run_settings

POINT, DIRECTION = np.array([0.3, -0.7, 1.1]), np.array([1.0, -0.6, 0.2])
RNG = np.random.default_rng(1)


def noise_of(density, step=1.0):
    return measure_noise(grhmc.from_python(density, 3), POINT, DIRECTION, step)[0]


def rough(q):
    """A fixed function that looks like noise, of variance 1."""
    return math.sqrt(2.0) * math.sin(1e9 * float(q @ q))


@pytest.mark.parametrize("sd", [0.2, 1.0, 30.0])
def test_noise_is_measured_whether_random_or_fixed(sd):
    random = [noise_of(lambda q: (-0.5 * q @ q + sd * RNG.normal(), -q)) for _ in range(20)]
    assert np.median(random) == pytest.approx(sd, rel=0.2)
    assert noise_of(lambda q: (-0.5 * q @ q + sd * rough(q), -q)) == pytest.approx(sd, rel=0.6)


def test_noise_counts_what_it_spends():
    calls = []

    def noisy(q):
        calls.append(q)
        return -0.5 * q @ q + RNG.normal(), -q

    model = grhmc.from_python(noisy, 3)
    calls.clear()
    assert measure_noise(model, POINT, DIRECTION, 1.0)[1] == len(calls) == 39


@pytest.mark.parametrize(
    "density",
    [
        lambda q: (-0.5 * q @ q, -q),
        lambda q: (-50.0 * q @ q, -100.0 * q),  # a step ten times too long
        lambda q: (-0.5 * q @ q, -3.0 * q),  # a wrong gradient
        lambda q: (-0.5 * q @ q + 100.0 * (q[0] > 0.3), -q),  # a jump
        lambda q: (-0.5 * q @ q - 1e9, -q),
        lambda q: (-math.inf, -q),
    ],
)
def test_what_is_not_noise_is_not_taken_for_it(density):
    assert noise_of(density) == 0.0


def test_an_exception_on_the_way_is_of_no_concern():
    def fragile(q):
        if q[0] != 0.0:
            raise RuntimeError("not here")
        return 0.0, -q

    model = grhmc.from_python(fragile, 3)
    assert measure_noise(model, POINT, DIRECTION, 1.0)[0] == 0.0
    assert model.take_exception() is None


@pytest.mark.parametrize("noise", [0.3, 1.0, 3.0])
def test_possible_acceptance_is_that_of_a_chain_that_keeps_its_value(noise):
    rng = np.random.default_rng(2)
    value, accepted = 0.0, []
    for proposal, uniform in zip(noise * rng.normal(size=200_000), rng.random(200_000), strict=True):
        accepted.append(min(1.0, math.exp(proposal - value)))
        value = proposal if uniform < accepted[-1] else value
    assert np.mean(accepted) == pytest.approx(possible_acceptance(noise), rel=0.1)


def test_a_chain_ends_once_its_budget_is_spent(monkeypatch):
    model = grhmc.from_python(lambda q: (-0.5 * q @ q, -q), 3)
    settings = run_settings(dim=3, draws=10, sample_interval=1.0)
    chain = make_chain(model, settings, init=np.ones(3))
    assert chain.process.settings.most_gradients[0] == 200 * 1000
    change_kernel_settings(monkeypatch, most_gradients=20)
    chain = make_chain(model, settings, init=np.ones(3))
    while chain.advance(5) == Outcome.RUNNING:
        pass
    assert chain.outcome == Outcome.STEP_BUDGET_USED
    assert 20 < chain.counts.n_gradients < 30
