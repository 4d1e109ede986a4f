"""Models from PyMC: compiled by PyTensor through Numba, wrapped as a C function."""

from __future__ import annotations

from typing import Any

from grhmc.models.log_density import LogDensity


def from_pymc(model: Any) -> LogDensity:
    """Make a model from a PyMC model."""
    raise NotImplementedError
