"""Bad input: each kind is rejected with a message that names the argument, the value and what to do, or is defined."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

import grhmc
from grhmc.models import GradientWarning


@numba.njit
def compiled_normal(q, gradient):
    log_density = 0.0
    for j in range(q.size):
        gradient[j] = -q[j]
        log_density -= 0.5 * q[j] * q[j]
    return log_density


def python_normal(q: np.ndarray) -> tuple[float, np.ndarray]:
    return -0.5 * float(q @ q), -q


def model(dim: int = 2) -> grhmc.LogDensity:
    return grhmc.from_numba(compiled_normal, dim)


def sample(density: Any = None, **settings: Any) -> Any:
    """A short run; what is bad is in the arguments."""
    defaults = {"draws": 10, "tune": 20, "chains": 2, "cores": 1, "seed": 1, "progress_bar": False}
    return grhmc.sample(model() if density is None else density, **(defaults | settings))


def assert_says(error: BaseException, *fragments: str) -> None:
    message = str(error)
    missing = [fragment for fragment in fragments if fragment not in message]
    assert not missing, f"{missing} not in: {message}"


BAD_SETTINGS: list[tuple[dict[str, Any], Any, tuple[str, ...]]] = [
    # Counts.
    ({"draws": 0}, ValueError, ("draws", "1 or more", "got 0")),
    ({"draws": -5}, ValueError, ("draws", "1 or more", "got -5")),
    ({"draws": 10.0}, TypeError, ("draws", "integer", "10.0")),
    ({"draws": "10"}, TypeError, ("draws", "integer", "'10'")),
    ({"draws": True}, TypeError, ("draws", "integer", "True")),
    ({"draws": [10]}, TypeError, ("draws", "integer", "[10]")),
    ({"tune": -1}, ValueError, ("tune", "0 or more", "got -1")),
    ({"tune": 2.5}, TypeError, ("tune", "integer", "2.5")),
    ({"chains": 0}, ValueError, ("chains", "1 or more", "got 0")),
    ({"chains": 1.0}, TypeError, ("chains", "integer", "1.0")),
    ({"cores": 0}, ValueError, ("cores", "1 or more", "got 0")),
    ({"cores": "all"}, TypeError, ("cores", "integer", "'all'")),
    # Seeds.
    ({"seed": -1}, ValueError, ("seed", "0 or more", "got -1")),
    ({"seed": 0.5}, TypeError, ("seed", "integer", "0.5")),
    ({"seed": np.random.RandomState(1)}, TypeError, ("seed", "RandomState", "default_rng")),
    ({"seed": [1, -1]}, ValueError, ("seed", "0 or more", "got -1")),
    ({"seed": [1, 0.5]}, TypeError, ("seed", "integer", "0.5")),
    ({"seed": []}, ValueError, ("seed", "at least one", "[]")),
    ({"seed": 1, "random_seed": 2}, TypeError, ("seed", "random_seed", "1", "2")),
    ({"progress_bar": False, "progressbar": True}, TypeError, ("progress_bar", "progressbar", "False", "True")),
    ({"init": [0.0, 0.0], "initvals": [0.0, 1.0]}, TypeError, ("init", "initvals", "same setting")),
    # Numbers.
    ({"target_accept": 1.0}, ValueError, ("target_accept", "less than 1", "1.0")),
    ({"target_accept": "high"}, TypeError, ("target_accept", "number", "'high'")),
    ({"target_accept": 0.9, "process": "continuous"}, ValueError, ("target_accept", "0.9", "tolerance")),
    ({"target_accept": 0.9, "process": grhmc.Discrete(0.8)}, ValueError, ("target_accept", "0.9", "0.8", "once")),
    ({"gradient_budget": 0}, ValueError, ("gradient_budget", "1 or more", "got 0")),
    # Choices.
    ({"process": "auto"}, ValueError, ("process", "'discrete', 'continuous'", "grhmc.Continuous", "'auto'")),
    ({"process": 3}, TypeError, ("process", "'discrete', 'continuous'", "3")),
    ({"process": grhmc.Discrete}, TypeError, ("process", "grhmc.Discrete()")),
    ({"scale": "nuts"}, ValueError, ("scale", "'isg'", "array of 2 positive numbers", "'nuts'")),
    # Flags.
    ({"save_warmup": 1}, TypeError, ("save_warmup", "True or False", "1")),
    ({"progress_bar": "no"}, TypeError, ("progress_bar", "True or False", "'no'")),
    ({"check_gradient": None}, TypeError, ("check_gradient", "True or False", "None")),
    ({"diagnose": 1}, TypeError, ("diagnose", "True or False", "1")),
    # Scales.
    ({"scale": [1.0]}, ValueError, ("scale", "shape (2,)", "(1,)")),
    ({"scale": [[1.0, 2.0]]}, ValueError, ("scale", "shape (2,)", "(1, 2)")),
    ({"scale": 1.0}, ValueError, ("scale", "shape (2,)", "()")),
    ({"scale": [1.0, 0.0]}, ValueError, ("scale", "positive", "0.0")),
    ({"scale": [1.0, -2.0]}, ValueError, ("scale", "positive", "-2.0")),
    ({"scale": [1.0, math.nan]}, ValueError, ("scale", "finite", "entry 1", "nan")),
    ({"scale": [1.0, math.inf]}, ValueError, ("scale", "finite", "entry 1", "inf")),
    ({"scale": [1.0, "x"]}, TypeError, ("scale", "2 real numbers", "'x'")),
    ({"scale": [1.0, 1j]}, TypeError, ("scale", "2 real numbers", "1j")),
    ({"scale": None}, TypeError, ("scale", "2", "None")),
    # Starting points.
    ({"init": [0.0]}, ValueError, ("init", "shape (2,)", "(1,)")),
    ({"init": np.zeros((3, 2))}, ValueError, ("init", "3 rows", "2 chains")),
    ({"init": np.zeros((2, 3))}, ValueError, ("init[0]", "shape (2,)", "(3,)")),
    ({"init": np.zeros((2, 2, 2))}, ValueError, ("init", "shape (2,)", "(2, 2, 2)")),
    ({"init": [math.nan, 0.0]}, ValueError, ("init", "finite", "entry 0", "nan")),
    ({"init": [[0.0, 0.0], [0.0, math.inf]]}, ValueError, ("init[1]", "finite", "entry 1", "inf")),
    ({"init": "zeros"}, TypeError, ("init", "2 real numbers", "'zeros'")),
    ({"init": [0.0, "x"]}, TypeError, ("init", "2 real numbers", "'x'")),
    ({"init": [[0.0, 0.0], [0.0]]}, (TypeError, ValueError), ("init", "2")),
    ({"init": {"y": [0.0, 0.0]}}, ValueError, ("init", "'y'", "'x'")),
    ({"init": {"x": [0.0]}}, ValueError, ("init['x']", "shape (2,)", "(1,)")),
    ({"init": {"x": [0.0, math.nan]}}, ValueError, ("init", "finite", "nan")),
    ({"init": {"x": ["a", "b"]}}, TypeError, ("init['x']", "real numbers", "'a'")),
    ({"init": {}}, ValueError, ("init", "'x'")),
    # Variables.
    ({"var_names": ["X"]}, ValueError, ("var_names", "'X'", "it has x")),
    ({"var_names": []}, ValueError, ("var_names", "at least one")),
    ({"var_names": 3}, TypeError, ("var_names", "names", "3")),
    # Functions along the path.
    ({"path_functions": [abs]}, TypeError, ("path_functions", "path_functions_from_numba", "abs")),
]


@pytest.mark.parametrize(
    ("settings", "error", "fragments"),
    BAD_SETTINGS,
    ids=[f"{number} {next(iter(settings))}" for number, (settings, _, _) in enumerate(BAD_SETTINGS)],
)
def test_bad_settings_are_rejected_with_argument_and_value(
    settings: dict[str, Any], error: type[Exception], fragments: tuple[str, ...]
) -> None:
    with pytest.raises(error) as raised:
        sample(**settings)
    assert_says(raised.value, *fragments)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("drawz", "did you mean 'draws'?"),
        ("target_acept", "did you mean 'target_accept'?"),
        ("tolerance", "write process=grhmc.Continuous(tolerance=...)"),
        ("warmup", "write process=grhmc.Continuous(warmup=...)"),
        ("integrator", "write process=grhmc.Discrete(integrator=...) or grhmc.Continuous(integrator=...)"),
        ("zzz", "it has model, scale, metric, max_rank, draws"),
    ],
)
@pytest.mark.parametrize("function", [grhmc.sample, grhmc.compare, grhmc.tune])
def test_an_unknown_argument_is_rejected_with_the_nearest_one(function: Any, name: str, hint: str) -> None:
    known = hint if function is grhmc.sample else hint.partition("model")[0]
    if name == "drawz" and function is grhmc.tune:
        known = ""  # it has no draws
    with pytest.raises(TypeError) as raised:
        function(model(), **{name: 1})
    if name == "warmup" and function is grhmc.compare:  # it has one of its own
        assert_says(raised.value, "warmup must be 'practical', 'paper' or a PaperWarmup", "1")
    else:
        assert_says(raised.value, f"{function.__name__}() has no argument {name!r}", known)


@pytest.mark.parametrize("bad", [None, 3, "model", python_normal, compiled_normal, [model]])
def test_what_is_not_a_model_is_rejected_with_the_way_to_make_one(bad: Any) -> None:
    with pytest.raises(TypeError) as raised:
        grhmc.sample(bad)
    assert_says(raised.value, "model", "from_numba", "from_python")


@pytest.mark.parametrize("tune", [0, 19, -1])
def test_tuning_needs_some_draws(tune: int) -> None:
    with pytest.raises(ValueError, match="tune") as raised:
        grhmc.tune(model(), tune=tune, progress_bar=False)
    assert_says(raised.value, str(tune), "20")


@pytest.mark.parametrize(("tune", "n_made"), [(1, 1), (2, 2), (3, 3), (5, 5), (10, 9)])  # fewer where chains agree
def test_very_short_warm_ups_are_defined(tune: int, n_made: int) -> None:
    result = sample(tune=tune, save_warmup=True)
    assert result["posterior"]["x"].shape == (2, 10, 2)
    assert result["warmup_posterior"]["x"].shape == (2, n_made, 2)
    assert np.all(np.isfinite(result["posterior"]["x"]))


# ------------------------------------------------------------------ models


BAD_MODELS: list[tuple[str, Callable[[], Any], type[Exception], tuple[str, ...]]] = [
    ("dim 0", lambda: grhmc.from_python(python_normal, 0), ValueError, ("dim", "at least 1", "got 0")),
    ("negative dim", lambda: grhmc.from_python(python_normal, -2), ValueError, ("dim", "at least 1", "got -2")),
    ("float dim", lambda: grhmc.from_python(python_normal, 2.0), TypeError, ("dim", "integer", "2.0")),  # type: ignore[arg-type]
    ("dim 0, compiled", lambda: grhmc.from_numba(compiled_normal, 0), ValueError, ("dim", "at least 1", "got 0")),
    ("not callable", lambda: grhmc.from_python(3, 2), TypeError, ("f(q)", "3")),  # type: ignore[arg-type]
    ("not callable, compiled", lambda: grhmc.from_numba("f", 2), TypeError, ("f(q, grad)", "'f'")),  # type: ignore[arg-type]
    ("too few names", lambda: grhmc.from_python(python_normal, 2, ["a"]), ValueError, ("names", "dim = 2", "got 1")),
    ("repeated names", lambda: grhmc.from_python(python_normal, 2, ["a", "a"]), ValueError, ("names", "'a'", "once")),
    ("empty name", lambda: grhmc.from_python(python_normal, 2, ["a", ""]), ValueError, ("names", "empty", "''")),
    ("number for a name", lambda: grhmc.from_python(python_normal, 2, ["a", 1]), TypeError, ("names", "strings", "1")),  # type: ignore[list-item]
    ("one string", lambda: grhmc.from_python(python_normal, 2, "ab"), TypeError, ("names", "'ab'", "(2,)")),
    ("wrong sizes", lambda: grhmc.from_python(python_normal, 2, {"a": 3}), ValueError, ("names", "dim = 2", "3")),
    ("axis name", lambda: grhmc.from_python(python_normal, 2, ["a", "chain"]), ValueError, ("'chain'", "choose")),
    ("null address", lambda: grhmc.from_pointer(0, 2), ValueError, ("address", "got 0")),
    ("address of a wrong type", lambda: grhmc.from_pointer(1.5, 2), TypeError, ("address", "float")),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(
    ("make", "error", "fragments"), [case[1:] for case in BAD_MODELS], ids=[c[0] for c in BAD_MODELS]
)
def test_bad_models_are_rejected_when_they_are_made(
    make: Callable[[], Any], error: type[Exception], fragments: tuple[str, ...]
) -> None:
    with pytest.raises(error) as raised:
        make()
    assert_says(raised.value, *fragments)


def test_a_density_that_raises_at_the_start_shows_its_own_error() -> None:
    def density(q: np.ndarray) -> tuple[float, np.ndarray]:
        raise ZeroDivisionError("made up")

    with pytest.raises(ZeroDivisionError, match="made up") as raised:
        sample(grhmc.from_python(density, 2))
    assert "density" in [entry.name for entry in raised.traceback]


BAD_RESULTS: list[tuple[str, Callable[[np.ndarray], Any], type[Exception], tuple[str, ...]]] = [
    ("nothing", lambda q: None, TypeError, ("two values", "None")),
    ("no gradient", lambda q: 0.0, TypeError, ("two values", "0.0")),
    ("three values", lambda q: (0.0, q, q), TypeError, ("two values", "3 values")),
    ("a text", lambda q: ("0", q), TypeError, ("real number", "str")),
    ("a vector for the density", lambda q: (-0.5 * q**2, -q), TypeError, ("real number", "(2,)")),
    ("a short gradient", lambda q: (0.0, q[:1]), ValueError, ("shape (2,)", "(1,)")),
    ("a matrix for the gradient", lambda q: (0.0, np.eye(2)), ValueError, ("shape (2,)", "(2, 2)")),
    ("a number for the gradient", lambda q: (0.0, 1.0), ValueError, ("shape (2,)", "()")),
    ("a complex gradient", lambda q: (0.0, 1j * q), TypeError, ("real numbers", "complex")),
    ("no numbers in the gradient", lambda q: (0.0, [None, None]), TypeError, ("real numbers", "object")),
]


@pytest.mark.parametrize(
    ("density", "error", "fragments"), [case[1:] for case in BAD_RESULTS], ids=[case[0] for case in BAD_RESULTS]
)
def test_a_density_that_returns_something_else_is_rejected(
    density: Callable[[np.ndarray], Any], error: type[Exception], fragments: tuple[str, ...]
) -> None:
    with pytest.raises(error) as raised:
        sample(grhmc.from_python(density, 2))
    assert_says(raised.value, *fragments)


@pytest.mark.parametrize("value", [math.nan, -math.inf, math.inf])
def test_a_density_that_is_finite_nowhere_is_an_initialization_error(value: float) -> None:
    with pytest.raises(grhmc.InitializationError) as raised:
        sample(grhmc.from_python(lambda q: (value, -q), 2, ["a", "b"]))
    assert_says(raised.value, "100 random starting points", f"log density is {value}", "init", "a = ")


def test_a_gradient_that_is_finite_nowhere_names_the_coordinates() -> None:
    density = grhmc.from_python(lambda q: (0.0, np.array([1.0, math.nan])), 2, ["fine", "broken"])
    with pytest.raises(grhmc.InitializationError) as raised:
        sample(density)
    assert_says(raised.value, "gradient is not finite in broken", "init")


def test_a_start_outside_the_support_is_an_initialization_error() -> None:
    def density(q: np.ndarray) -> tuple[float, np.ndarray]:
        return (-q.sum(), -np.ones(2)) if np.all(q > 0.0) else (-math.inf, q)

    exponential = grhmc.from_python(density, 2, ["a", "b"])
    with pytest.raises(grhmc.InitializationError) as raised:
        sample(exponential, init=[1.0, -1.0])
    assert_says(raised.value, "at init", "log density is -inf", "support", "b = -1")
    with pytest.warns(grhmc.SamplingWarning, match="bounces"):
        result = sample(exponential, init=[1.0, 1.0], process="continuous")
    assert np.all(result["posterior"]["a"] > 0.0)


# ------------------------------------------------------------------ gradients


@pytest.mark.parametrize("factor", [-1.0, 0.5, 0.0])
def test_a_wrong_gradient_is_rejected_by_name(factor: float) -> None:
    def density(q: np.ndarray) -> tuple[float, np.ndarray]:
        return -0.5 * float(q @ q), np.array([-q[0], -factor * q[1]])

    with pytest.raises(grhmc.GradientError) as raised:
        sample(grhmc.from_python(density, 2, ["right", "wrong"]))
    assert raised.value.coordinates == ("wrong",)
    assert_says(raised.value, "wrong: gradient", "finite differences")
    assert ("sign" in str(raised.value)) == (factor == -1.0)


def test_a_gradient_that_is_wrong_where_another_chain_starts_is_named() -> None:
    """Not rejected, because it is right where the log density is higher."""

    def density(q: np.ndarray) -> tuple[float, np.ndarray]:
        gradient = -q
        if q[3] > 0.0:
            gradient[1] *= 1.2
        return -0.5 * float(q @ q), gradient

    starts = np.ones((2, 5))
    starts[0, 3] = -1.0
    with pytest.raises(GradientWarning, match=r"b: gradient -1\.2, finite differences -1"):
        sample(grhmc.from_python(density, 5, list("abcde")), init=starts)


def test_a_wrong_gradient_is_let_pass_when_the_user_says_so() -> None:
    flat = grhmc.from_python(lambda q: (-0.5 * float(q @ q), -0.5 * q), 2)
    with pytest.warns(grhmc.SamplingWarning, match="energy is not conserved"):
        result = sample(flat, check_gradient=False, process="continuous", draws=100)
    assert result["posterior"]["x"].shape == (2, 100, 2)


def test_a_random_density_is_rejected() -> None:
    rng = np.random.default_rng(1)
    with pytest.raises(ValueError, match="deterministic"):
        sample(grhmc.from_python(lambda q: (float(rng.normal()), -q), 2))


def test_a_parameter_that_the_density_does_not_use_is_named_in_a_warning() -> None:
    """Its posterior is improper, but the others' may be what the user wants: a warning, once, and draws."""

    def density(q: np.ndarray) -> tuple[float, np.ndarray]:
        return -0.5 * float(q[0] ** 2), np.array([-q[0], 0.0, 0.0])

    with pytest.warns(UserWarning, match="does not depend on") as caught:
        result = sample(grhmc.from_python(density, 3, {"used": (), "idle": 2}))
    assert len(caught) == 1
    assert_says(caught[0].message, "idle[0], idle[1]", "prior")  # type: ignore[arg-type]
    assert not re.search(r"\bused\b", str(caught[0].message))
    assert caught[0].filename == __file__
    assert np.all(np.isfinite(result["posterior"]["used"]))


def test_that_warning_goes_with_the_gradient_check() -> None:
    density = grhmc.from_python(lambda q: (-0.5 * float(q[0] ** 2), np.array([-q[0], 0.0])), 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sample(density, check_gradient=False)


# ------------------------------------------------------------------ path functions


@pytest.mark.parametrize("names", [[], ["a", "a"], [""], [1]])
def test_bad_names_of_path_functions_are_rejected(names: Any) -> None:
    with pytest.raises(ValueError, match="names must be distinct non-empty strings"):
        grhmc.path_functions_from_numba(lambda q, output: None, 2, names)


def test_path_functions_of_another_dimension_are_rejected() -> None:
    def first(q, output):
        output[0] = q[0]

    with pytest.raises(ValueError, match="made for 3 coordinates but the model has 2"):
        sample(path_functions=grhmc.path_functions_from_numba(first, 3, ["first"]))
