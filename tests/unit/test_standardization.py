"""The change of variables q = m + S q̄: what it keeps, and that the force follows."""

from __future__ import annotations

import numpy as np
import pytest

from grhmc.dynamics.density_call import evaluate_force
from grhmc.dynamics.standardization import init_standardization, restandardize, to_parameters
from grhmc.models import from_python
from kernel_helpers import Dynamics

DIM = 6


@pytest.fixture(params=range(5))
def change(request):
    """A random standardization, a new one of quite another size, and a random standardized position."""
    rng = np.random.default_rng(request.param)
    old = init_standardization(rng.normal(size=DIM), 10.0 ** rng.uniform(-6, 6, DIM))
    new = init_standardization(rng.normal(size=DIM), 10.0 ** rng.uniform(-6, 6, DIM))
    return old, new, rng.normal(size=DIM)


def point_of(standardization, position):
    point = np.empty_like(position)
    to_parameters(standardization, position, point)
    return point


def test_to_parameters_is_the_affine_map(change):
    old, _, position = change
    np.testing.assert_allclose(point_of(old, position), old.centre + old.scale * position, rtol=1e-15, atol=0.0)


def test_restandardize_keeps_position_fixed(change):
    old, new, position = change
    before = point_of(old, position)
    present, force = init_standardization(old.centre, old.scale), np.ones(DIM)
    restandardize(present, new.centre, new.scale, position, force)
    # Rounding is relative to the largest of the terms.
    sizes = np.maximum(np.abs(before), np.maximum(np.abs(old.centre), np.abs(new.centre)))
    assert np.all(np.abs(point_of(present, position) - before) <= 1e-15 * 4 * sizes)


def test_restandardize_changes_centre_and_scale_and_not_its_arguments(change):
    old, new, position = change
    present = init_standardization(old.centre, old.scale)
    centre, scale = new.centre.copy(), new.scale.copy()
    restandardize(present, centre, scale, position, np.ones(DIM))
    np.testing.assert_array_equal((present.centre, present.scale), (new.centre, new.scale))
    np.testing.assert_array_equal((centre, scale), (new.centre, new.scale))
    assert not np.shares_memory(present.scale, scale)


def test_a_rescaled_force_is_the_force_evaluated_anew(change):
    old, new, position = change
    model = from_python(lambda q: (np.cos(q).sum() - 0.5 * q @ q, -np.sin(q) - q), DIM)
    dynamics = Dynamics("rkn43", model, position, np.zeros(DIM), old)
    step = dynamics.step
    restandardize(dynamics.standardization, new.centre, new.scale, step.position, step.stage_forces[0])
    anew = np.empty(DIM)
    code, _ = evaluate_force(dynamics.density, dynamics.standardization, step.position, anew)
    assert code == 0
    # q is the same but for rounding, in which the gradient may be relatively large.
    np.testing.assert_allclose(step.stage_forces[0], anew, rtol=1e-9, atol=1e-14 * new.scale.max())


def test_a_force_that_is_not_rescaled_is_seen():
    # Negative control for the test above.
    model = from_python(lambda q: (-0.5 * q @ q, -q), 1)
    dynamics = Dynamics("rkn43", model, np.ones(1), np.zeros(1))
    force = dynamics.step.stage_forces[0].copy()
    step = dynamics.step
    restandardize(dynamics.standardization, np.zeros(1), np.full(1, 2.0), step.position, step.stage_forces[0])
    anew = np.empty(1)
    evaluate_force(dynamics.density, dynamics.standardization, step.position, anew)
    assert step.stage_forces[0] == anew
    assert force != anew


def test_there_and_back_again_changes_nothing(change):
    old, new, position = change
    present, force, start = init_standardization(old.centre, old.scale), np.ones(DIM), position.copy()
    restandardize(present, new.centre, new.scale, position, force)
    restandardize(present, old.centre, old.scale, position, force)
    np.testing.assert_allclose(force, 1.0, rtol=1e-14)
    np.testing.assert_allclose(
        old.scale * position, old.scale * start, rtol=1e-14, atol=1e-14 * np.abs([old.centre, new.centre]).max()
    )
