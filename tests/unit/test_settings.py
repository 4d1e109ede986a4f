"""The two processes, seeds and names of arguments: what is accepted, and what is said of anything else."""

from __future__ import annotations

import dataclasses
import inspect
import math
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest

import grhmc
from grhmc.argument_names import PYMC_NAMES, accepts_pymc_names
from grhmc.models.analytic import independent_normals
from grhmc.results.kept_variables import parse_var_names
from grhmc.settings import RunSettings, names, parse_process, parse_seed

BAD: list[tuple[Any, dict[str, Any], type[Exception], tuple[str, ...]]] = [
    (grhmc.Continuous, {"tolerance": 0.0}, ValueError, ("tolerance", "greater than 0", "0.0")),
    (grhmc.Continuous, {"tolerance": -1e-3}, ValueError, ("tolerance", "greater than 0", "-0.001")),
    (grhmc.Continuous, {"tolerance": math.nan}, ValueError, ("tolerance", "finite", "nan")),
    (grhmc.Continuous, {"tolerance": math.inf}, ValueError, ("tolerance", "finite", "inf")),
    (grhmc.Continuous, {"tolerance": "tight"}, TypeError, ("tolerance", "number", "'tight'")),
    (grhmc.Continuous, {"sample_interval": 0.0}, ValueError, ("sample_interval", "greater than 0", "0.0")),
    (grhmc.Continuous, {"sample_interval": -1}, ValueError, ("sample_interval", "greater than 0", "-1")),
    (grhmc.Continuous, {"sample_interval": math.nan}, ValueError, ("sample_interval", "finite", "nan")),
    (grhmc.Continuous, {"event_rate": 0.0}, ValueError, ("event_rate", "greater than 0", "0.0")),
    (grhmc.Continuous, {"event_rate": "fast"}, ValueError, ("event_rate", "'tuned'", "positive number", "'fast'")),
    (grhmc.Continuous, {"event_rate": None}, TypeError, ("event_rate", "None")),
    (grhmc.Continuous, {"refreshment": 1.0}, ValueError, ("refreshment", "less than 1", "1.0")),
    (grhmc.Continuous, {"refreshment": -0.1}, ValueError, ("refreshment", "at least 0", "-0.1")),
    (grhmc.Continuous, {"refreshment": "half"}, ValueError, ("refreshment", "'full'", "[0, 1)", "'half'")),
    (grhmc.Continuous, {"event_rate_kind": "poisson"}, ValueError, ("event_rate_kind", "'arc_length'", "'poisson'")),
    (grhmc.Continuous, {"warmup": "none"}, ValueError, ("warmup", "'practical', 'paper'", "'none'")),
    (grhmc.Continuous, {"warmup": 0}, TypeError, ("warmup", "'practical'", "0")),
    (grhmc.Continuous, {"integrator": "leapfrog"}, ValueError, ("grhmc.Continuous", "'rkn43'", "of grhmc.Discrete")),
    (grhmc.Continuous, {"integrator": "verlet"}, ValueError, ("integrator", "'rkn43', 'rkn64'", "'verlet'")),
    (grhmc.Continuous, {"integrator": 64}, TypeError, ("integrator", "'rkn64'", "64")),
    (grhmc.Continuous, {"tolerence": 0.1}, TypeError, ("Continuous()", "'tolerence'", "did you mean 'tolerance'?")),
    (grhmc.Discrete, {"integrator": "rkn64"}, ValueError, ("grhmc.Discrete", "'leapfrog'", "of grhmc.Continuous")),
    (grhmc.Discrete, {"target_accept": 1.0}, ValueError, ("target_accept", "less than 1", "1.0")),
    (grhmc.Discrete, {"target_accept": 0.0}, ValueError, ("target_accept", "greater than 0", "0.0")),
    (grhmc.Discrete, {"momentum": "kept"}, ValueError, ("momentum", "'persistent', 'fresh'", "'kept'")),
    (grhmc.Discrete, {"length_law": "fixed"}, ValueError, ("length_law", "'uniform'", "'fixed'")),
    (grhmc.Discrete, {"length_law": "exponential"}, ValueError, ("length_law", "momentum='fresh'")),
    (grhmc.Discrete, {"u_turns_per_refreshment": 0}, ValueError, ("u_turns_per_refreshment", "greater than 0")),
    (grhmc.Discrete, {"momentums": "fresh"}, TypeError, ("Discrete()", "did you mean 'momentum'?")),
    (grhmc.Discrete, {"tolerance": 0.1}, TypeError, ("Discrete()", "grhmc.Continuous(tolerance=...)")),
    (grhmc.Discrete, {"burning": 0.1}, TypeError, ("Discrete()", "'burning'", "it has target_accept")),
]


@pytest.mark.parametrize(("kind", "arguments", "error", "fragments"), BAD)
def test_a_process_is_checked_when_it_is_made(kind, arguments, error, fragments):
    with pytest.raises(error) as raised:
        kind(**arguments)
    assert [fragment for fragment in fragments if fragment not in str(raised.value)] == []


def test_a_process_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        grhmc.Discrete().momentum = "fresh"  # pyright: ignore[reportAttributeAccessIssue]


def test_a_process_has_a_name():
    assert parse_process("discrete") == grhmc.Discrete()
    assert parse_process("continuous") == grhmc.Continuous()
    assert parse_process(grhmc.Continuous("rkn43")) == grhmc.Continuous("rkn43")


def test_the_target_can_be_given_beside_the_process_if_it_is_the_same():
    assert parse_process("discrete", 0.8) == grhmc.Discrete(0.8)
    assert parse_process(grhmc.Discrete(0.8, "fresh"), 0.8) == grhmc.Discrete(0.8, "fresh")


@pytest.mark.parametrize("tune", [0, 1, 19, 20, 1000])
def test_nothing_but_the_process_chooses_the_process(tune):
    assert RunSettings(tune=tune).is_discrete
    assert not RunSettings(tune=tune, process=grhmc.Continuous()).is_discrete


def test_windows_of_a_discrete_run_go_by_the_defaults_of_the_continuous_process():
    settings = RunSettings(process=grhmc.Discrete(integrator="leapfrog"))
    assert settings.continuous == grhmc.Continuous()
    assert (settings.first_integrator, settings.tolerance) == ("leapfrog", 0.15)


def test_a_seed_is_a_number_or_several_or_drawn_from_a_generator():
    assert parse_seed(np.int64(3)) == 3
    assert parse_seed([1, 2]) == parse_seed(np.array([1, 2])) == (1, 2)
    rng = np.random.default_rng(1)
    first, second = parse_seed(rng), parse_seed(rng)
    assert first != second
    assert first == parse_seed(np.random.default_rng(1))
    assert parse_seed(None) != parse_seed(None)


def test_type_checkers_know_the_names_that_are_accepted():
    """What is checked when the program runs is made from the types."""
    assert get_args(names.Scale) == names.SCALES
    assert set(names.SCALES) == {"geo", "isg", "vari", "mct", "identity"}
    assert get_args(names.ProcessName) == names.PROCESSES == ("discrete", "continuous")
    for process in (grhmc.Discrete, grhmc.Continuous):
        for name, annotation in get_type_hints(process).items():
            for value in get_args(annotation) if get_origin(annotation) is Literal else ():
                arguments: dict[str, Any] = {name: value} | ({"momentum": "fresh"} if name == "length_law" else {})
                process(**arguments)
    assert inspect.signature(grhmc.sample).parameters["scale"].annotation.startswith("Scale |")
    assert inspect.signature(grhmc.tune).parameters["scale"].annotation == "Scale"
    assert inspect.signature(grhmc.compare).parameters["scales"].annotation == "Sequence[Scale]"


@accepts_pymc_names({"tolerance": "process=..."})
def run(
    *,
    seed: Any = None,
    init: Any = None,
    progress_bar: Any = True,
    random_seed: Any = None,
    initvals: Any = None,
    progressbar: Any = None,
) -> Any:
    """What it got by our names."""
    return seed, init, progress_bar, random_seed, initvals, progressbar


def test_the_fields_names_are_the_same_as_ours():
    assert run(random_seed=3, initvals=[1.0], progressbar=False) == (3, [1.0], False, None, None, None)
    assert run(seed=3, random_seed=3)[0] == 3
    assert run(seed=3, random_seed=None)[0] == 3
    assert run(init=np.zeros(2), initvals=np.zeros(2))[1].shape == (2,)


@pytest.mark.parametrize(("other", "ours"), PYMC_NAMES.items())
def test_two_names_with_two_values_are_an_error(other, ours):
    with pytest.raises(TypeError, match=f"{ours} and {other} are the same setting"):
        run(**{ours: [1], other: [2]})


def test_what_two_names_say_of_arrays_by_name_is_compared_too():
    with pytest.raises(TypeError, match="same setting"):
        run(init={"x": np.zeros(2)}, initvals={"x": np.zeros(2)})


@pytest.mark.parametrize("function", [grhmc.sample, grhmc.tune, grhmc.compare])
def test_help_shows_the_whole_signature(function):
    parameters = inspect.signature(function).parameters
    assert {"process", "target_accept", "gradient_budget", "seed", *PYMC_NAMES} <= set(parameters)
    assert not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    assert parameters["process"].default == "discrete"


def test_variables_to_keep_are_those_of_the_model():
    model = independent_normals([1.0, 2.0]).log_density()
    assert parse_var_names(None, model) is None
    assert parse_var_names("x", model) == parse_var_names(["x", "x"], model) == ("x",)
    with pytest.raises(ValueError, match="no such variable; did you mean 'x'"):
        parse_var_names(["xx"], model)
