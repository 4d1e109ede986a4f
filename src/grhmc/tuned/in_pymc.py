"""A metric for PyMC's own samplers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from grhmc.models.optional_packages import import_for
from grhmc.models.variables import Variable, name_coordinates
from grhmc.tuned.origin import PYMC, Origin, reordered


def pymc_potential(matrix: np.ndarray, names: Sequence[str], origin: Origin, model: Any) -> Any:
    """A potential with coordinates in the order of the model; for `Tuned.for_pymc`."""
    pymc = import_for("Tuned.for_pymc", "pymc", "pymc")
    from pymc.step_methods.hmc.quadpotential import QuadPotentialDiag, QuadPotentialFull

    if model is None:
        model = pymc.Model.get_context(error_if_none=False)
    if model is not None:
        if not isinstance(model, pymc.Model):
            raise TypeError(f"model must be a pymc.Model, got {type(model).__name__}: {model!r:.200}")
        matrix = reordered(matrix, _order_of(model, names))
    elif origin.package != PYMC:
        raise ValueError("for_pymc needs to know the PyMC model: call it in its `with` block, or pass it as model")
    return QuadPotentialDiag(matrix) if matrix.ndim == 1 else QuadPotentialFull(matrix)


def _order_of(model: Any, names: Sequence[str]) -> np.ndarray:
    """For each coordinate of PyMC's samplers, its place among the names."""
    point = model.initial_point()
    values = [Variable(value.name, np.shape(point[value.name])) for value in model.continuous_value_vars]
    wanted = name_coordinates(values)
    place = {name: k for k, name in enumerate(names)}
    missing = [name for name in wanted if name not in place]
    if missing or len(wanted) != len(names):
        more = [name for name in names if name not in set(wanted)]
        raise ValueError(
            "the metric was tuned for a model with other unconstrained parameters: "
            + "; ".join(
                part
                for part in (
                    f"it has none for {_shown(missing)}" if missing else "",
                    f"the model lacks {_shown(more)}" if more else "",
                )
                if part
            )
            + ". Tune this model, or sample the one that was tuned"
        )
    return np.array([place[name] for name in wanted])


def _shown(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
