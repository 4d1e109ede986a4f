"""What is raised, or warned of, where a gradient is not that of its log density."""

from __future__ import annotations

import numpy as np


class GradientWarning(UserWarning):
    """Whether the gradient is that of the log density cannot be told."""


class GradientError(ValueError):
    """The gradient is not that of the log density.

    Attributes
    ----------
    coordinates : tuple of str
        Names of the coordinates at fault.
    gradient, finite_differences : ndarray, shape (len(coordinates),)
        What the model says and what its log density says. (nan where neither is known.)
    """

    def __init__(
        self,
        message: str,
        coordinates: tuple[str, ...],
        gradient: np.ndarray,
        finite_differences: np.ndarray,
    ) -> None:
        super().__init__(message)
        self.coordinates = coordinates
        self.gradient = gradient
        self.finite_differences = finite_differences
