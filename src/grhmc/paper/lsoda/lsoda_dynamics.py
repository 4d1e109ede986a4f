"""The equations of motion as a first-order system for SciPy's LSODA, with the path integrals as part of its state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grhmc.density_pointer import DENSITY_PROTOTYPE, EXCEPTION, FINE

if TYPE_CHECKING:
    from scipy.integrate import LSODA

    from grhmc.models.log_density import LogDensity


POSITION, SQUARE, FORCE_SQUARE = "position", "square", "force square"
"""Path integrals that can be part of the state: ∫q̄, ∫q̄² and ∫(S g)²."""


class LsodaDynamics:
    """Right side of the augmented system, and solvers for it.

    The state is (q̄, p̄) and the integrals that are wanted, dim numbers each: they are error-controlled like the path
    itself. What that costs depends on where they start (docs/paper.md): from 0 at each event, ∫q̄² costs up to a fifth
    more evaluations; one that runs on over events soon is so large that its relative tolerance leaves steps alone.

    Parameters
    ----------
    model : LogDensity
    tolerance : float
        Relative and absolute.

    Attributes
    ----------
    centre, scale : ndarray, shape (dim,)
        m and S; replaced, not updated, when they change.
    integrals : tuple of str
        Which integrals follow q̄ and p̄ in the state.
    integrals_run_on : bool
        Go on with their values after a restart, rather than from 0.
    n_evaluations : int
        Right sides evaluated so far.
    """

    def __init__(self, model: LogDensity, tolerance: float) -> None:
        self.model = model
        self.tolerance = tolerance
        self.dim = model.dim
        self.centre = np.zeros(model.dim)
        self.scale = np.ones(model.dim)
        self.begin_integrals((POSITION,))
        self.n_evaluations = 0
        self._solver_class = import_lsoda()
        self._function = DENSITY_PROTOTYPE(model.address)
        # Buffers whose addresses stay the same: most of a call's time would go into looking them up.
        self._q, self._gradient, self._log_density = np.zeros(model.dim), np.zeros(model.dim), np.zeros(1)
        self._addresses = (self._q.ctypes.data, self._gradient.ctypes.data, self._log_density.ctypes.data)

    def begin_integrals(self, names: tuple[str, ...], *, run_on: bool = False) -> None:
        """Choose the integrals of the state, and start them at 0."""
        self.integrals, self.integrals_run_on = names, run_on
        self.integrals_at_restart = np.zeros(len(names) * self.dim)

    def __call__(self, _time: float, state: np.ndarray) -> np.ndarray:
        """The derivative of the state."""
        dim = self.dim
        position = state[:dim]
        np.multiply(self.scale, position, out=self._q)
        self._q += self.centre
        self.n_evaluations += 1
        code = self._function(dim, *self._addresses, self.model.user_data)
        if code != FINE:
            error = self.model.take_exception() if code == EXCEPTION else None
            raise error or ValueError(
                f"the log density or its gradient is not finite at {self._q}; the LSODA process needs a density that "
                "is positive everywhere"
            )
        force = self._gradient * self.scale
        parts = [state[dim : 2 * dim], force]
        for integral in self.integrals:
            if integral == POSITION:
                parts.append(position)
            elif integral == SQUARE:
                parts.append(position * position)
            else:
                parts.append(force * force)
        return np.concatenate(parts)

    def solver(self, time: float, position: np.ndarray, momentum: np.ndarray) -> LSODA:
        """A fresh solver at a state, its integrals at `integrals_at_restart`."""
        state = np.concatenate([position, momentum, self.integrals_at_restart])
        return self._solver_class(self, time, state, np.inf, rtol=self.tolerance, atol=self.tolerance)

    def split_integrals(self, state: np.ndarray) -> dict[str, np.ndarray]:
        """What the integrals have gained since the restart, by name, shape (dim,) each."""
        parts = (state[2 * self.dim :] - self.integrals_at_restart).reshape(len(self.integrals), self.dim)
        return dict(zip(self.integrals, parts, strict=True))


def import_lsoda() -> type[LSODA]:
    """SciPy's LSODA.

    Raises
    ------
    ImportError
        Without SciPy; names the extra that brings it.
    """
    try:
        from scipy.integrate import LSODA
    except ImportError as error:
        raise ImportError(
            "the LSODA process needs SciPy: pip install 'grhmc[paper]', or choose another integrator"
        ) from error
    return LSODA
