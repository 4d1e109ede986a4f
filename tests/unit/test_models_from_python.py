"""Python functions as models: what they may return, and what happens when they fail."""

import re
import traceback

import numpy as np
import pytest

from grhmc.models import from_python

Q = np.array([1.0, 2.0])


def evaluate(result):
    """Evaluate a model whose function returns `result`, whatever q is."""
    model = from_python(lambda q: result, 2)
    return *model.evaluate(Q), model.take_exception()


@pytest.mark.parametrize("log_density", [-1, -1.0, np.float32(-1), np.array(-1.0), np.int8(-1)])
@pytest.mark.parametrize(
    "gradient",
    [
        [3, 4],
        (3.0, 4.0),
        np.array([3, 4], np.float32),
        np.array([3, 9, 4, 9])[::2],
        np.array([3, 4]),
    ],
)
def test_results_are_coerced(log_density, gradient):
    value, slope, code, exception = evaluate((log_density, gradient))
    assert (value, slope.tolist(), code, exception) == (-1.0, [3.0, 4.0], 0, None)


@pytest.mark.parametrize(
    ("result", "error", "message"),
    [
        (None, TypeError, "must return two values.* returned None"),
        (-1.0, TypeError, "must return two values"),
        ((-1.0, [1, 2], 3), TypeError, "it returned 3 values"),
        (("-1", [1, 2]), TypeError, "must be a real number.* returned str"),
        ((None, [1, 2]), TypeError, "must be a real number.* returned NoneType"),
        ((1j, [1, 2]), TypeError, "must be a real number.* returned complex"),
        ((np.array([-1.0]), [1, 2]), TypeError, r"shape \(1,\)"),
        ((-1.0, [1, 2, 3]), ValueError, r"must have shape \(2,\).* returned shape \(3,\)"),
        ((-1.0, [[1, 2]]), ValueError, r"returned shape \(1, 2\)"),
        ((-1.0, 1.0), ValueError, r"returned shape \(\)"),
        ((-1.0, [1j, 2]), TypeError, "must be an array of 2 real numbers"),
        ((-1.0, ["a", "b"]), TypeError, "must be an array of 2 real numbers"),
        ((-1.0, None), TypeError, "must be an array of 2 real numbers.* returned NoneType"),
    ],
)
def test_results_that_make_no_sense_are_errors(result, error, message):
    *_, code, exception = evaluate(result)
    assert code == 3
    assert isinstance(exception, error)
    assert re.search(message, str(exception))


@pytest.mark.parametrize("log_density", [np.nan, -np.inf, np.inf])
def test_outside_the_support_the_gradient_does_not_matter(log_density):
    assert evaluate((log_density, None))[2:] == (1, None)


def test_a_non_finite_gradient_has_its_own_code():
    assert evaluate((0.0, [np.nan, 1.0]))[2:] == (2, None)


@pytest.mark.parametrize(
    ("result", "what"),
    [
        ((np.ma.masked, [1.0, 2.0]), "log density"),
        ((0.0, np.ma.array([1.0, 99.0], mask=[False, True])), "gradient"),
    ],
)
def test_a_masked_result_has_no_value(result, what):
    model = from_python(lambda q: result, 2)
    assert model.evaluate(Q)[2] == 3
    with pytest.raises(ValueError, match=f"the {what} that the function returned is masked"):
        raise model.take_exception() or AssertionError


def test_a_result_without_masked_entries_is_a_result():
    gradient = from_python(lambda q: (0.0, np.ma.array([1.0, 99.0])), 2).evaluate(Q)[1]
    assert gradient.tolist() == [1.0, 99.0]


def test_an_exception_is_kept_with_its_traceback():
    def fails(q):
        raise ZeroDivisionError("in here")

    model = from_python(fails, 2)
    assert model.evaluate(Q)[2] == 3
    exception = model.take_exception()
    assert isinstance(exception, ZeroDivisionError)
    assert traceback.extract_tb(exception.__traceback__)[-1].name == "fails"
    assert model.take_exception() is None


def test_a_keyboard_interrupt_is_not_lost():
    def interrupted(q):
        raise KeyboardInterrupt

    model = from_python(interrupted, 2)
    assert model.evaluate(Q)[2] == 3
    assert isinstance(model.take_exception(), KeyboardInterrupt)


def test_the_function_may_keep_and_change_its_argument():
    kept = []

    def greedy(q):
        kept.append(q)
        q += 1
        return 0.0, -q

    model = from_python(greedy, 2)
    model.evaluate(Q)
    model.evaluate(Q + 1)
    assert kept[0].tolist() == [2, 3]
    assert kept[1].tolist() == [3, 4]


def test_nothing_is_evaluated_before_sampling_asks():
    from_python(lambda q: 1 / 0, 2)


def test_a_function_is_needed():
    with pytest.raises(TypeError, match=r"f must be a function f\(q\)"):
        from_python(3, 2)  # pyright: ignore[reportArgumentType]
