"""Values of variables that a user gives for a start: checked by name and shape, and put into a point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from grhmc.argument_checks import as_real_array
from grhmc.argument_names import nearest
from grhmc.models.log_density import LogDensity

_ROUNDING = 1e-6
# Largest relative difference of a value and what the model makes of its unconstrained coordinates.


class GivenValues:
    """Values of some of a model's variables; made by `parse_values`.

    Attributes
    ----------
    values : dict of str to ndarray
    """

    def __init__(self, argument: str, values: dict[str, np.ndarray], model: LogDensity) -> None:
        self.values = values
        self._argument = argument
        self._model = model

    @property
    def is_complete(self) -> bool:
        """Whether nothing of a start is left to be drawn."""
        return len(self.values) == len(self._model.start_variables)

    def place(self, point: np.ndarray) -> np.ndarray:
        """The unconstrained point with these values, and all else from `point`, shape (dim,).

        Raises
        ------
        ValueError
            If a value is outside the support: names it.
        """
        placed, reason = self._try(self.values, point)
        if placed is not None:
            return placed
        for name, value in self.values.items():
            alone, why = self._try({name: value}, point)
            if alone is None:
                support = self._model.describe_support(name)
                raise ValueError(
                    f"{self._argument}[{name!r}] = {_shown(value)} is outside the support of {name}: {why}"
                    + (f"; accepted is {support}" if support else "")
                )
        shown = ", ".join(f"{name} = {_shown(value)}" for name, value in self.values.items())
        raise ValueError(f"{self._argument} has values that do not go together, {shown}: {reason}")

    def place_if_possible(self, point: np.ndarray, *, is_last: bool) -> np.ndarray | None:
        """The same; None where it is not possible with this `point`, unless that is the last one to be tried."""
        return self.place(point) if is_last else self._try(self.values, point)[0]

    def _try(self, values: Mapping[str, np.ndarray], point: np.ndarray) -> tuple[np.ndarray | None, str]:
        """The point, or what is wrong in words."""
        try:
            placed = np.asarray(self._model.unconstrain(values, point), dtype=np.float64)
        except ValueError as error:
            return None, str(error)
        bad = np.flatnonzero(~np.isfinite(placed))
        if len(bad):
            return None, f"the unconstrained {self._model.coordinate_names[bad[0]]} would be {placed[bad[0]]}"
        back = self._model.constrain_each(placed[np.newaxis]).values
        for name, value in values.items():
            if not np.allclose(back[name][0], value, rtol=_ROUNDING, atol=_ROUNDING):
                return None, f"the nearest that the model can make of it is {_shown(back[name][0])}"
        return placed, ""


def parse_values(argument: str, values: Mapping[str, Any], model: LogDensity) -> GivenValues:
    """Check names and shapes of a user's values.

    Raises
    ------
    TypeError, ValueError
        Naming the variable, its value and what is accepted.
    """
    known = {variable.name: tuple(variable.shape) for variable in model.start_variables}
    if not known:
        raise ValueError(
            f"{argument} by name works for models that can unconstrain their variables, and this one cannot; give an "
            f"array of {model.dim} unconstrained values instead"
        )
    if not values:
        raise ValueError(f"{argument} names no parameter; it may name {', '.join(map(repr, known))}")
    arrays = {}
    for name, value in values.items():
        if name not in known:
            described = ", ".join(f"{known_name!r} {shape}" for known_name, shape in known.items())
            raise ValueError(
                f"{argument} has {name!r} = {_shown(value)}, which is no parameter of the model"
                f"{nearest(str(name), known)}; its parameters, with their shapes, are {described}"
            )
        shape = known[name]
        array = as_real_array(f"{argument}[{name!r}]", value, f"an array of real numbers of shape {shape}")
        if array.shape != shape:
            raise ValueError(
                f"{argument}[{name!r}] must have shape {shape}, got {_shown(value)} of shape {array.shape}"
            )
        if not np.all(np.isfinite(array)):
            raise ValueError(f"{argument}[{name!r}] must be finite, got {_shown(value)}")
        arrays[name] = array
    return GivenValues(argument, {name: arrays[name] for name in known if name in arrays}, model)


def _shown(value: Any) -> str:
    return np.array2string(np.asarray(value), precision=6, threshold=8, separator=", ").replace("\n", "")
