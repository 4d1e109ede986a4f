"""Functions compiled by Numba as models: data without recompiling, errors that reach the user."""

import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import llvmlite.binding
import numba
import numpy as np
import pytest
from numba.core import config

from grhmc.models import from_numba

compiled_only = pytest.mark.skipif(
    config.DISABLE_JIT,  # pyright: ignore[reportAttributeAccessIssue]
    reason="about compilation, which NUMBA_DISABLE_JIT=1 switches off",
)


def regression(q, grad, design, response, sd, weighted, power):
    """A density whose data are of every kind that is allowed."""
    log_density = 0.0
    for j in range(q.size):
        grad[j] = 0.0
    for i in range(response.size):
        residual = response[i] - design[i] @ q
        weight = float(power) if weighted else 1.0
        log_density -= 0.5 * weight * (residual / sd) ** 2
        for j in range(q.size):
            grad[j] += weight * residual / sd**2 * design[i, j]
    return log_density


@numba.njit(error_model="numpy")
def normal(q, grad):
    if q[0] > 10:
        raise ValueError("q[0] is too large")
    log_density = 0.0
    for j in range(q.size):
        grad[j] = -q[j]
        log_density -= 0.5 * q[j] ** 2
    return log_density


@numba.njit
def reciprocal(q, grad):
    grad[0] = -1 / q[0]
    return 1 / q[0]


def regression_data(n, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), rng.integers(0, 5, n), 2.0, True, 3


def expected_regression(q, design, response, sd, weighted, power):
    residuals = response - design @ q
    weight = power if weighted else 1
    return -0.5 * weight * np.sum(residuals**2) / sd**2, weight * residuals @ design / sd**2


def test_data_arrive_as_they_were_given():
    q = np.array([0.1, 0.2, -0.3])
    data = regression_data(7, seed=1)
    model = from_numba(regression, 3, {"beta": (3,)}, data=data)
    log_density, gradient, code = model.evaluate(q)
    expected = expected_regression(q, *data)
    assert code == 0
    assert log_density == pytest.approx(expected[0], rel=1e-13)
    assert gradient == pytest.approx(expected[1], rel=1e-13)
    model.check_gradient(q)


@compiled_only
def test_new_data_of_the_same_types_need_no_compilation():
    first = from_numba(regression, 3, data=regression_data(7, seed=1))
    design, response, _, _, _ = regression_data(20, seed=2)
    second = from_numba(
        regression,
        3,
        data=(np.asfortranarray(design), response.tolist(), np.float32(1.5), False, 1),
    )
    assert second.address == first.address
    assert second.user_data != first.user_data
    q = np.array([1.0, 2.0, 3.0])
    value = second.evaluate(q)[0]
    assert value == pytest.approx(expected_regression(q, design, response, 1.5, False, 1)[0])


def test_data_are_copied():
    data = regression_data(7, seed=1)
    model = from_numba(regression, 3, data=data)
    before = model.evaluate(np.ones(3))[0]
    data[0][:] = 0
    assert model.evaluate(np.ones(3))[0] == before


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.ones((2, 3)), r"write data=\(item,\)"),
        (([1.0], "text"), r"data\[1\] must be a numeric array.* got str"),
        (([1.0], None), r"data\[1\] must be a numeric array.* got NoneType"),
        (([1.0], 1j), r"data\[1\] must be"),
        (([1.0], 2**63), "does not fit a 64-bit integer"),
    ],
)
def test_bad_data_are_rejected(data, message):
    with pytest.raises(TypeError, match=message):
        from_numba(lambda q, grad, a, b: 0.0, 1, data=data)


@compiled_only
@pytest.mark.parametrize(
    ("f", "message"),
    [
        (3, r"f must be a function f\(q, grad\)"),
        (math.hypot, "wrap other callables in a function"),
        (lambda q: 0.0, r"f must take 2 arguments, q, grad and 0 from data"),
        (lambda q, grad: None, "is the return statement missing"),
        (lambda q, grad: q, "must return the log density, a real number, but it returns array"),
        (lambda q, grad: q[0] * 1j, "returns complex128"),
        (lambda q, grad: open("x"), "cannot compile .* use from_python"),  # noqa: SIM115
    ],
)
def test_functions_that_cannot_serve_are_rejected(f, message):
    with pytest.raises(TypeError, match=message):
        from_numba(f, 1)


def test_an_exception_reaches_the_user_with_its_message():
    model = from_numba(normal, 2)
    assert model.evaluate([11.0, 0.0])[2] == 3
    assert model.evaluate([1.0, 0.0])[2] == 0
    exception = model.take_exception()
    assert isinstance(exception, ValueError)
    assert str(exception) == "q[0] is too large"
    assert model.take_exception() is None


@compiled_only
def test_a_division_by_zero_in_a_plain_function_is_outside_the_support():
    assert from_numba(reciprocal.py_func, 1).evaluate([0.0])[2] == 1


@compiled_only
def test_a_division_by_zero_in_a_jitted_function_comes_with_advice():
    model = from_numba(reciprocal, 1)
    assert model.evaluate([0.0])[2] == 3
    exception = model.take_exception()
    assert isinstance(exception, ZeroDivisionError)
    assert "error_model='numpy'" in exception.__notes__[0]


def test_outside_the_support_the_code_is_1():
    def half_normal(q, grad):
        grad[0] = -q[0]
        return -0.5 * q[0] ** 2 if q[0] > 0 else -math.inf

    model = from_numba(half_normal, 1)
    assert model.evaluate([1.0])[2] == 0
    assert model.evaluate([-1.0])[2] == 1


@compiled_only
def test_a_function_that_changes_q_is_rejected():
    def greedy(q, grad):
        q[0] += 1
        grad[:] = -q
        return -0.5 * q[0] ** 2

    with pytest.raises(ValueError, match="changes its argument q"):
        from_numba(greedy, 1).check_gradient([1.0])


def test_threads_share_a_model():
    model = from_numba(normal, 2)
    points = np.random.default_rng(0).normal(size=(200, 2))
    with ThreadPoolExecutor(4) as pool:
        values = list(pool.map(lambda q: model.evaluate(q)[0], points))
    assert values == [model.evaluate(q)[0] for q in points]


def test_models_pickle_with_their_data():
    q = np.ones(3)
    model = from_numba(regression, 3, {"beta": 3}, data=regression_data(7, seed=1))
    copy = pickle.loads(pickle.dumps(model))
    assert copy.evaluate(q)[0] == model.evaluate(q)[0]
    assert copy.variables == model.variables
    assert pickle.loads(pickle.dumps(from_numba(normal, 2))).evaluate([1.0, 2.0])[0] == -2.5


def runtime_calls(model):
    """Functions of Numba's runtime that the compiled density may call, itself or in a function that it calls."""
    compiled = model.keep_alive[0]
    # Definitions that nothing calls may be left in the module: the name alone proves nothing.
    definitions = {f.name: f for f in llvmlite.binding.parse_assembly(compiled.inspect_llvm()).functions}
    seen, waiting = set(), [compiled._wrapper_name]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if not name.startswith("NRT_") and name in definitions:
            instructions = (i for block in definitions[name].blocks for i in block.instructions)
            waiting += [list(i.operands)[-1].name for i in instructions if i.opcode == "call"]
    return {name for name in seen if name.startswith("NRT_")}


def scaled(q, grad, mean, sd):
    log_density = 0.0
    for j in range(q.size):
        z = (q[j] - mean[j]) / sd[j]
        grad[j] = -z / sd[j]
        log_density -= 0.5 * z * z
    return log_density


def scaled_with_a_copy(q, grad, mean, sd):
    return scaled_jitted(q, grad, mean.copy(), sd)


scaled_jitted = numba.njit(scaled)


@compiled_only
@pytest.mark.parametrize("function", [scaled, scaled_jitted])
def test_data_cost_no_reference_counts(function):
    data = ([0.0, 1.0], [1.0, 2.0])
    counts = {"NRT_incref", "NRT_decref"}
    assert not counts & runtime_calls(from_numba(function, 2, data=data))
    assert counts & runtime_calls(from_numba(scaled_with_a_copy, 2, data=data))  # the negative control: it allocates


def test_masked_data_are_rejected_because_the_mask_would_be_lost():
    masked = np.ma.array([0.0, 99.0], mask=[False, True])
    with pytest.raises(ValueError, match=r"data\[0\] is a masked array with 1 masked entries"):
        from_numba(lambda q, grad, y: 0.0, 1, data=(masked,))
