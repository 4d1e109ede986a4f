"""Guard zones: functions that write or read beyond their arrays are named, and do no harm."""

import ctypes

import numba
import numpy as np
import pytest
from numba import carray
from numba.core import config

import grhmc
from grhmc.guard_zones import GuardedVector, check_reads
from grhmc.models import DENSITY_SIGNATURE

pytestmark = pytest.mark.skipif(
    config.DISABLE_JIT,  # pyright: ignore[reportAttributeAccessIssue]
    reason="about compiled functions; interpreted ones raise an IndexError",
)


@numba.njit
def of_any_length(q, gradient, n):
    log_density = 0.0
    for j in range(n):
        log_density -= 0.5 * (q[j] - 1) ** 2
        gradient[j] = 1 - q[j]
    return log_density


@numba.njit
def looks_one_further(q, gradient, n):
    log_density = 0.0
    for j in range(n):
        log_density -= 0.5 * q[j] ** 2
        gradient[j] = -q[j]
    return log_density - 0.5 * q[n] ** 2


@numba.njit
def compares_one_further(q, gradient):
    gradient[0] = -q[0]
    return -0.5 * q[0] ** 2 - (1.0 if q[1] < 0 else 0.0)


@numba.njit
def adds_beyond(q, gradient):
    gradient[0] = -q[0]
    gradient[3] += 1e-3
    return -0.5 * q[0] ** 2


@numba.njit
def writes_q(q, gradient):
    gradient[0] = -q[0]
    q[1] = 0.0
    return -0.5 * q[0] ** 2


@numba.njit
def noisy(q, gradient):
    gradient[0] = -q[0]
    return -0.5 * q[0] ** 2 + np.random.normal()  # noqa: NPY002  (Numba has no other without an argument)


@numba.njit
def raises_elsewhere(q, gradient):
    if q[0] > 0:
        raise ValueError("made up")
    gradient[0] = -q[0]
    return -0.5 * q[0] ** 2


@pytest.mark.parametrize(("n", "dim"), [(3, 2), (8, 7), (4, 2), (20, 10), (200, 100), (10, 8), (5, 1)])
def test_a_function_of_more_parameters_than_dim_is_named(n, dim):
    model = grhmc.from_numba(of_any_length, dim, data=(n,))
    last = f" to gradient\\[{n - 1}\\]" if n - dim > 1 else ""
    expected = rf"the function of_any_length writes gradient\[{dim}\]{last}, but dim is {dim}"
    with pytest.raises(ValueError, match=expected):
        model.evaluate(np.zeros(dim))
    with pytest.raises(ValueError, match=expected):
        grhmc.sample(model, draws=10, tune=10, seed=1, progress_bar=False)
    with pytest.raises(ValueError, match=expected):
        grhmc.sample(model, draws=10, tune=10, seed=1, progress_bar=False, check_gradient=False)


@pytest.mark.parametrize("dim", [1, 2, 100, 5000])
def test_a_function_of_dim_parameters_is_right(dim):
    log_density, gradient, code = grhmc.from_numba(of_any_length, dim, data=(dim,)).evaluate(np.zeros(dim))
    assert (log_density, code) == (-0.5 * dim, 0)
    assert np.array_equal(gradient, np.ones(dim))


@pytest.mark.parametrize("dim", [1, 2, 100])
def test_a_function_that_reads_beyond_q_is_named(dim):
    model = grhmc.from_numba(looks_one_further, dim, data=(dim,))
    with pytest.raises(ValueError, match=rf"looks_one_further reads beyond its argument q.* q\[{dim - 1}\]"):
        model.evaluate(np.zeros(dim))


def test_a_comparison_with_what_lies_beyond_q_is_seen():
    with pytest.raises(ValueError, match="reads beyond"):
        grhmc.from_numba(compares_one_further, 1).evaluate([0.0])


def test_what_is_added_beyond_the_gradient_is_seen():
    with pytest.raises(ValueError, match=r"writes gradient\[3\], but dim is 1"):
        grhmc.from_numba(adds_beyond, 1).evaluate([0.0])


def test_what_is_written_beyond_q_is_seen():
    with pytest.raises(ValueError, match=r"writes q\[1\], but dim is 1"):
        grhmc.from_numba(writes_q, 1).evaluate([0.0])


def test_a_pointer_that_writes_before_its_arrays_is_seen():
    @numba.cfunc(DENSITY_SIGNATURE)
    def density(dim, q, gradient, log_density, _user_data):
        entries = carray(gradient, (dim,))
        for j in range(dim):
            entries[j] = -q[j]
        gradient[-1] = 0.0
        log_density[0] = 0.0
        return 0

    model = grhmc.from_pointer(density.address or 0, 2, keep_alive=[density])
    with pytest.raises(ValueError, match=r"the log density writes gradient\[-1\], but dim is 2"):
        model.evaluate([0.0, 1.0])


def test_a_random_function_is_not_accused_of_reading_beyond_q():
    model = grhmc.from_numba(noisy, 1)
    for _ in range(20):
        model._stays_within_q = False
        assert model.evaluate([0.5])[2] == 0


def test_a_function_that_remembers_is_not_accused_of_reading_beyond_q():
    for period in range(1, 6):
        calls = []

        def results(_filling, calls=calls, period=period):
            calls.append(0)
            return np.array([len(calls) // period])

        check_reads(results, "the function", 1)


def test_the_exception_of_a_function_reaches_the_user():
    model = grhmc.from_numba(raises_elsewhere, 1)
    with pytest.raises(ValueError, match="made up"):
        grhmc.sample(model, init=[1.0], draws=10, tune=10, seed=1, progress_bar=False)


def test_zones_hold_nan_too():
    vector = GuardedVector(2, np.nan)
    assert vector.written().size == 0
    whole = np.ctypeslib.as_array(ctypes.cast(vector.inside.ctypes.data - 16, ctypes.POINTER(ctypes.c_double)), (7,))
    whole[[0, 6]] = 0.0
    assert vector.written().tolist() == [-2, 4]


def test_path_functions_stay_within_their_arrays():
    def writes_beyond(q, output):
        output[0] = q[0]
        output[1] = q[0] ** 2

    def reads_beyond(q, output):
        output[0] = q[2]

    with pytest.raises(ValueError, match=r"writes_beyond writes output\[1\], but the number of names is 1"):
        grhmc.path_functions_from_numba(writes_beyond, 2, ["square"])
    with pytest.raises(ValueError, match="reads_beyond reads beyond its argument q"):
        grhmc.path_functions_from_numba(reads_beyond, 2, ["third"])
