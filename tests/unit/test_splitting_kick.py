"""The splitting's kick by which normal coordinates keep their energy."""

from __future__ import annotations

import numpy as np
import pytest

import grhmc
from grhmc.dynamics.coefficients import SPLITTING, splitting_tableau
from grhmc.dynamics.coefficients.splitting import BLANES_CASAS_SANZ_SERNA_KICK
from grhmc.dynamics.splitting_kick import constant_energy_kick, has_kick, set_kick
from grhmc.models.analytic import independent_normals


def energy_error(kick: float, angle: float) -> float:
    """Mean rise of ½ (x² + p²) over one step of x'' = −x, from N(0, 1)."""

    def kicked(weight: float) -> np.ndarray:
        return np.array([[1.0, 0.0], [-weight * angle, 1.0]])

    drifted = np.array([[1.0, 0.5 * angle], [0.0, 1.0]])
    step = kicked(kick) @ drifted @ kicked(1.0 - 2.0 * kick) @ drifted @ kicked(kick)
    return 0.5 * float(np.trace(step.T @ step) - 2.0)


@pytest.mark.parametrize("angle", [0.1, 0.5, 1.0, np.pi / 2, 2.0, 2.5, np.sqrt(8.0)])
def test_a_step_of_a_normal_keeps_its_energy(angle):
    assert abs(energy_error(constant_energy_kick(angle), angle)) < 1e-13


def test_a_fixed_kick_does_not():
    assert energy_error(float(BLANES_CASAS_SANZ_SERNA_KICK), np.pi / 2) > 1e-4
    assert energy_error(constant_energy_kick(1.0), np.pi / 2) > 1e-4


def test_kicks_of_all_angles_are_those_of_methods():
    kicks = [constant_energy_kick(angle) for angle in (1e-3, 0.5, 1.0, 2.0, 2.8, 3.0, 100.0)]
    np.testing.assert_allclose(kicks[0], (3.0 - np.sqrt(5.0)) / 4.0, rtol=1e-6)
    assert np.all(np.diff(kicks[:5]) > 0.0)
    np.testing.assert_allclose(kicks[5:], 0.25, rtol=1e-9)


def test_a_kick_that_is_set_makes_the_tableau_of_that_kick():
    arrays, expected = SPLITTING.to_arrays(), splitting_tableau(0.2).to_arrays()
    set_kick(arrays, 0.2)
    np.testing.assert_allclose(arrays.matrix, expected.matrix, rtol=1e-14)
    np.testing.assert_allclose(arrays.position_weights, expected.position_weights, rtol=1e-14)
    np.testing.assert_allclose(arrays.velocity_weights, expected.velocity_weights, rtol=1e-14)
    assert has_kick(arrays)


def test_many_normals_take_steps_as_long_as_few():
    steps = []
    for dim in (5, 500):
        process = grhmc.Discrete(integrator="splitting")
        model = independent_normals(np.ones(dim)).log_density()
        result = grhmc.sample(model, process=process, draws=200, seed=1, progress_bar=False, diagnose=False)
        steps.append(result["tuning"]["step_size"].to_numpy().mean())
        assert result["sample_stats"]["acceptance_rate"].to_numpy().mean() > 0.98
    assert steps[1] > 0.9 * steps[0]  # 0.6 with a fixed kick
