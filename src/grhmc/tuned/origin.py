"""Whose unconstrained parameters a metric is for: each package has transforms of its own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grhmc.models.log_density import LogDensity
from grhmc.models.numpyro.from_numpyro import NumpyroDensity
from grhmc.models.pymc.from_pymc import PymcDensity
from grhmc.models.stan.density import StanDensity

STAN, PYMC, NUMPYRO = "Stan", "PyMC", "NumPyro"
COORDINATES = ""
"""A density of coordinates, which are the same for any sampler: from `from_jax`, `from_numba`, `from_pointer`, ..."""

_CLASSES: tuple[tuple[type[LogDensity], str], ...] = (
    (StanDensity, STAN),
    (PymcDensity, PYMC),
    (NumpyroDensity, NUMPYRO),
)


class Origin(NamedTuple):
    """The kind of model that was tuned.

    Attributes
    ----------
    package : {"Stan", "PyMC", "NumPyro", ""}
        Empty for a density of coordinates.
    sites : tuple of (str, int)
        Names and unconstrained sizes of a NumPyro model's sites, in the order of the coordinates.
    """

    package: str
    sites: tuple[tuple[str, int], ...] = ()

    def require(self, method: str, *packages: str) -> None:
        """Reject a model whose unconstrained parameters are another package's.

        Raises
        ------
        ValueError
        """
        if self.package not in (COORDINATES, *packages):
            raise ValueError(
                f"{method} cannot use the metric of a {self.package} model, whose unconstrained parameters are not "
                f"those of {packages[0]}; tune the same model written in {packages[0]}"
            )

    def sorted_sites(self) -> np.ndarray:
        """Indices of the coordinates with sites sorted by name, as JAX flattens a dict."""
        starts = np.cumsum([0, *(size for _, size in self.sites)])
        by_name = sorted(range(len(self.sites)), key=lambda k: self.sites[k][0])
        return np.concatenate([np.arange(starts[k], starts[k + 1]) for k in by_name])


def origin_of(model: LogDensity) -> Origin:
    """Say what kind of model this is."""
    package = next((name for kind, name in _CLASSES if isinstance(model, kind)), COORDINATES)
    if isinstance(model, NumpyroDensity):
        return Origin(package, tuple((leaf.name, leaf.size) for leaf in model.leaves))
    return Origin(package)


def reordered(matrix: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Variances or a covariance with its coordinates in another order."""
    return matrix[np.ix_(*[order] * matrix.ndim)]
