"""Gives nutpie a compiled density by its pointer; its own front-ends do the same with what they compile."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import pandas
from numba import types
from nutpie import _lib
from nutpie.sample import CompiledModel


@functools.cache
def _copy() -> Any:
    """The parameters that nutpie stores: the unconstrained ones."""
    signature = types.int64(
        types.uint64, types.uint64, types.CPointer(types.double), types.CPointer(types.double), types.voidptr
    )

    def copy(dim, _n_expanded, q, output, _user_data):
        for j in range(dim):
            output[j] = q[j]
        return 0

    return numba.cfunc(signature)(copy)


@dataclass(frozen=True)
class PointerModel(CompiledModel):
    """A density with the signature of `grhmc.models.DENSITY_SIGNATURE`, started at given points."""

    address: int
    user_data: int
    dim: int
    starts: np.ndarray

    def __init__(self, address: int, user_data: int, dim: int, starts: np.ndarray) -> None:
        for name, value in {
            "dims": {"x": ("parameter",)},
            "address": address,
            "user_data": user_data,
            "dim": dim,
            "starts": starts,
        }.items():
            object.__setattr__(self, name, value)

    @property
    def n_dim(self) -> int:
        """Number of unconstrained coordinates."""
        return self.dim

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of the one variable."""
        return {"x": (self.dim,)}

    @property
    def coords(self) -> dict[str, Any]:
        """Numbers."""
        numbers = pandas.Index([str(j) for j in range(self.dim)])
        return {"parameter": numbers, "unconstrained_parameter": numbers}

    def _make_model(self, _init_mean: np.ndarray) -> Any:
        rng = np.random.default_rng(0)
        points = itertools.chain(self.starts, (rng.uniform(-2, 2, self.dim) for _ in itertools.count()))
        sizes = dict.fromkeys(self.coords, self.dim)
        variables = _lib.PyVariable.new_variables(["x"], ["float64"], [(self.dim,)], sizes, self.dims)
        return _lib.PyMcModel(
            _lib.LogpFunc(self.address, self.user_data, self),
            _lib.ExpandFunc(self.dim, self.dim, _copy().address, 0, self),
            variables,
            self.dim,
            sizes,
            self.coords,
            lambda _seed: np.ascontiguousarray(next(points)),
            None,
        )

    def _make_sampler(self, settings: Any, init_mean: np.ndarray, cores: int, *rest: Any) -> Any:
        """`rest` is passed on as it comes: two arguments in nutpie 0.16.8, four in 0.16.11."""
        return _lib.PySampler.from_pymc(settings, cores, self._make_model(init_mean), *rest)
