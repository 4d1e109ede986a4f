"""All that a chain carries from stage to stage is saved and put back."""

from dataclasses import fields

import numpy as np
import pytest

from grhmc.models.analytic import gaussian
from grhmc.run.carried_state import CarriedState
from kernel_helpers import make_chain, run_settings

CODED = {"outcome", "integrator"}
NAMES = [field.name for field in fields(CarriedState)]


def new_chain():
    model = gaussian([0.0, 0.0], np.eye(2)).log_density()
    return make_chain(model, run_settings(dim=2, draws=20, scale="geo", tune=80))


def another_value(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        return 1.5
    return np.nan_to_num(value) + 2 if isinstance(value, np.ndarray) else value + 2


@pytest.mark.parametrize("name", [name for name in NAMES if name not in CODED])
def test_a_carried_value_comes_back(name):
    saved, restored = new_chain(), new_chain()
    changed = another_value(getattr(saved, name))
    setattr(saved, name, changed)
    restored.restore(saved.to_arrays())
    assert type(getattr(restored, name)) is type(changed)
    np.testing.assert_array_equal(getattr(restored, name), changed)


@pytest.mark.parametrize("name", NAMES)
def test_a_state_without_a_carried_value_is_rejected(name):
    arrays = new_chain().to_arrays()
    del arrays[name]
    with pytest.raises(ValueError, match="the saved state belongs to another run"):
        new_chain().restore(arrays)
