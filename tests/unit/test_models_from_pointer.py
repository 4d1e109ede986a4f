"""Models from addresses of C functions."""

import ctypes
import pickle

import numpy as np
import pytest

from grhmc.density_pointer import DENSITY_PROTOTYPE
from grhmc.models import from_pointer


@DENSITY_PROTOTYPE
def scaled_quadratic(dim, q, gradient, log_density, user_data):
    point = np.array((ctypes.c_double * dim).from_address(q))
    scale = ctypes.c_double.from_address(user_data).value if user_data else 1.0
    (ctypes.c_double * dim).from_address(gradient)[:] = (-scale * point).tolist()
    ctypes.c_double.from_address(log_density).value = float(-0.5 * scale * point @ point)
    return 0


ADDRESS = ctypes.cast(scaled_quadratic, ctypes.c_void_p).value or 0


def test_the_function_is_called_with_its_user_data():
    scale = np.array([3.0])
    model = from_pointer(ADDRESS, 2, ["a", "b"], user_data=scale.ctypes.data, keep_alive=[scale])
    log_density, gradient, code = model.evaluate([1.0, 2.0])
    assert (log_density, gradient.tolist(), code) == (-7.5, [-3, -6], 0)
    assert model.keep_alive == (scale,)
    assert model.coordinate_names == ("a", "b")
    model.check_gradient([1.0, 2.0])


def test_user_data_is_null_by_default():
    assert from_pointer(ADDRESS, 2).evaluate([1.0, 2.0])[0] == -2.5


@pytest.mark.parametrize(
    ("address", "error"),
    [(0, ValueError), (-8, ValueError), (2**64, ValueError), (1.0, TypeError),
     (scaled_quadratic, TypeError), (True, TypeError), (None, TypeError)],
)  # fmt: skip
def test_bad_addresses_are_rejected(address, error):
    with pytest.raises(error, match="address must be an address"):
        from_pointer(address, 2)
    if address != 0:
        with pytest.raises(error, match="user_data must be an address"):
            from_pointer(ADDRESS, 2, user_data=address)


def test_it_does_not_pickle():
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(from_pointer(ADDRESS, 2))
