"""What the checks of a model ask of it, so that they need not know `LogDensity`, which calls them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np

    from grhmc.models.variables import Variable


class Constrains(Protocol):
    """Turns unconstrained draws into variables; see `LogDensity.constrain`."""

    def constrain(self, draws: np.ndarray) -> dict[str, np.ndarray]:
        """Give the variables at draws of shape (n, dim)."""
        ...


class Evaluates(Protocol):
    """A log density with its gradient, and names for its coordinates; see `LogDensity`."""

    dim: int
    coordinate_names: tuple[str, ...]

    def evaluate(self, q: Any) -> tuple[float, np.ndarray, int]:
        """Give log density, gradient and code."""
        ...

    def initial_point(self, rng: np.random.Generator) -> np.ndarray | None:
        """Draw a starting point."""
        ...

    def take_exception(self) -> BaseException | None:
        """Return the exception behind code 3, or None, and forget it."""
        ...


class Model(Constrains, Evaluates, Protocol):
    """All that `LogDensity` promises."""

    variables: tuple[Variable, ...]

    def take_message(self) -> str:
        """Return what the density said about the last place that it rejected."""
        ...

    def for_thread(self) -> Model:
        """Return a model that another thread may use."""
        ...
