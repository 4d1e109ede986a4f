"""Every kind of model goes through `sample`: compiled, interpreted, from C, transformed, of any dimension."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numba
import numpy as np
import pytest

import grhmc
from grhmc.models import DENSITY_SIGNATURE, Variable
from grhmc.models.analytic import independent_normals
from short_runs import draws_of, model, sample


@numba.cfunc(DENSITY_SIGNATURE)
def normals_in_c(dim, q, gradient, log_density, user_data):
    log_density[0] = 0.0
    for j in range(dim):
        sd = 10.0 ** (j - 1)
        gradient[j] = -q[j] / sd**2
        log_density[0] -= 0.5 * (q[j] / sd) ** 2
    return 0


def normals_in_python(q: np.ndarray) -> tuple[float, np.ndarray]:
    sd = np.array([0.1, 1.0, 10.0])
    return -0.5 * float(np.sum((q / sd) ** 2)), -q / sd**2


def normals_from_numba(q, gradient):
    log_density = 0.0
    for j in range(q.size):
        sd = 10.0 ** (j - 1)
        gradient[j] = -q[j] / sd**2
        log_density -= 0.5 * (q[j] / sd) ** 2
    return log_density


def test_every_kind_of_model_gives_the_same_draws_up_to_rounding() -> None:
    names = ["a", "b", "c"]
    address = ctypes.cast(normals_in_c.ctypes, ctypes.c_void_p).value
    assert address is not None
    models = [
        grhmc.from_pointer(address, 3, names, keep_alive=[normals_in_c]),
        grhmc.from_python(normals_in_python, 3, names),
        grhmc.from_numba(normals_from_numba, 3, names),
    ]
    process = grhmc.Continuous("rkn64")
    settings: dict[str, Any] = {"scale": [0.1, 1.0, 10.0], "tune": 0, "draws": 3, "process": process}
    first, *others = (draws_of(sample(each, **settings)) for each in models)
    for other in others:
        np.testing.assert_allclose(other, first, rtol=1e-6)
    for each in models:
        result = sample(each, draws=50)
        assert list(result["posterior"].data_vars) == names


def test_python_models_may_run_in_several_threads() -> None:
    density = grhmc.from_python(normals_in_python, 3)
    np.testing.assert_array_equal(draws_of(sample(density, cores=2)), draws_of(sample(density, cores=1)))


def test_one_model_serves_many_runs() -> None:
    density = model()
    np.testing.assert_array_equal(draws_of(sample(density)), draws_of(sample(density)))


class Exponential(grhmc.LogDensity):
    """A front-end's model: one positive parameter, sampled on the log scale."""

    def __init__(self) -> None:
        self.density = grhmc.from_python(lambda q: (q[0] - math.exp(q[0]), 1.0 - np.exp(q)), 1, ["log_x"])
        super().__init__(1, self.density.address, variables=[Variable("x", ())], coordinate_names=["log_x"])

    def initial_point(self, rng: np.random.Generator) -> np.ndarray:
        return np.array([0.5])

    def constrain(self, draws: np.ndarray) -> dict[str, np.ndarray]:
        return {"x": np.exp(draws[:, 0])}


def test_models_with_transformed_parameters_give_both_kinds_of_draws() -> None:
    result = sample(Exponential(), draws=2000, process="continuous")
    np.testing.assert_array_equal(result["posterior"]["x"], np.exp(draws_of(result)[..., 0]))
    np.testing.assert_array_equal(result["unconstrained_posterior"]["unconstrained"], ["log_x"])
    assert float(result["posterior"]["x"].mean()) == pytest.approx(1.0, rel=0.15)
    start = sample(Exponential(), tune=0, draws=1, process=grhmc.Continuous(sample_interval=1e-6))
    np.testing.assert_allclose(draws_of(start), 0.5, atol=1e-3)


def test_a_start_by_name_is_rejected_where_parameters_are_transformed() -> None:
    """X = 2 would be taken for log x = 2."""
    with pytest.raises(ValueError, match="init by name works for models that can unconstrain"):
        sample(Exponential(), init={"x": 2.0})


@pytest.mark.parametrize("dim", [1, 2, 200])
def test_any_dimension_works(dim: int) -> None:
    result = sample(independent_normals(np.ones(dim)).log_density(), draws=500)
    assert draws_of(result).shape == (2, 500, dim)
    assert draws_of(result).std() == pytest.approx(1.0, abs=0.15)
