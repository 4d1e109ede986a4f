"""How the diagonal scale is found: by a tuner, or fixed by the user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grhmc.argument_checks import as_vector, check_choice
from grhmc.settings.mct import MCT
from grhmc.settings.names import SCALES


@dataclass(frozen=True)
class ScaleSettings:
    """How the diagonal scale is found.

    Attributes
    ----------
    tuner : str
        One of ``"geo"``, ``"isg"``, ``"vari"``, ``"mct"``, ``"identity"``, ``"fixed"``.
    fixed : ndarray, shape (dim,), or None
        The user's scale, in the units of the parameters, for ``"fixed"``.
    mct : MCT or None
        The user's settings of ``"mct"``; None: the published ones.
    """

    tuner: str = "geo"
    fixed: np.ndarray | None = None
    mct: MCT | None = None

    @classmethod
    def parse(cls, scale: str | MCT | Sequence[float] | np.ndarray, dim: int) -> ScaleSettings:
        """From a user's argument: a name, MCT with its settings, or positive numbers, one per coordinate."""
        if isinstance(scale, MCT):
            scale.check_dimension(dim)
            return cls("mct", mct=scale)
        if isinstance(scale, str):
            check_choice("scale", scale, SCALES, f", or an array of {dim} positive numbers")
            return cls(scale)
        array = as_vector("scale", scale, dim)
        if not np.all(array > 0.0):
            raise ValueError(f"scale must be positive in every coordinate; its smallest entry is {array.min()}")
        return cls("fixed", array)
