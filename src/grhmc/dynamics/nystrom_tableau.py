"""The coefficients of one explicit Nyström method, as exact fractions that check themselves.

All integrators are explicit Nyström methods for q'' = f(q) in which the last stage is
the new position, so its force serves as the first of the next step (first same as last). With step
h, position q0, velocity v0 and forces f_i = f(q_i):

    q_i = q0 + c_i h v0 + h² Σ_j a_ij f_j    stages; the last is the new position
    v1 = v0 + h Σ_i b'_i f_i                 new velocity
    h² Σ_i e_i f_i,  h Σ_i e'_i f_i          local error estimates of position and velocity
    ∫ φ(q(t)) dt ≈ h Σ_i w_i φ(q_i)          time integral of any function over the step
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from grhmc.dynamics.nystrom_order_conditions import (
    failed_position_condition,
    failed_velocity_condition,
    first_power_of_difference,
    stage_weights,
)

MOST_STAGES = 6
"""Of a method that the step kernel can take."""


class TableauArrays(NamedTuple):
    """A tableau in double precision, as the kernels take it. `n_stages` is `nodes.shape[0]`.

    Attributes
    ----------
    nodes : ndarray, shape (n_stages,)
        c.
    matrix : ndarray, shape (n_stages, n_stages)
        a, strictly lower triangular.
    position_weights : ndarray, shape (n_stages,)
        b, the last row of `matrix`: a view of it.
    velocity_weights : ndarray, shape (n_stages,)
        b'.
    position_error_weights, velocity_error_weights : ndarray, shape (n_stages,)
        e and e': main minus embedded formula.
    quadrature_weights : ndarray, shape (n_stages,)
        w, summing to one.
    error_order : float
        The local error estimate behaves as h^error_order.
    """

    nodes: np.ndarray
    matrix: np.ndarray
    position_weights: np.ndarray
    velocity_weights: np.ndarray
    position_error_weights: np.ndarray
    velocity_error_weights: np.ndarray
    quadrature_weights: np.ndarray
    error_order: float


@dataclass(frozen=True)
class NystromTableau:
    """An explicit first-same-as-last Nyström method with an embedded formula, in exact arithmetic.

    Attributes
    ----------
    name : str
        Shown in messages.
    nodes : tuple of Fraction, length n_stages
        c, from 0 to 1.
    matrix : tuple of rows
        a, strictly lower triangular: row i holds its i entries left of the diagonal. The last row
        is `position_weights` without its final zero, which is what makes the method
        first-same-as-last.
    velocity_weights : tuple of Fraction, length n_stages
        b'.
    embedded_position_weights, embedded_velocity_weights : tuple of Fraction, length n_stages
        The formula whose distance from the main one is the error estimate.
    quadrature_weights : tuple of Fraction, length n_stages
        w, integrating functions of the position over the step to the method's own order.
    order, embedded_order : int
        Positions and velocities of the two formulas have local errors O(h^(order + 1)).
    row_sums_hold : bool
        Whether Σ_j a_ij = c_i²/2 in every row, so that every stage is a second-order solution at
        its node. Nyström pairs are built on it; the order conditions do not need it, and splittings
        do not satisfy it.

    Raises
    ------
    ValueError
        If shapes disagree, a coefficient is not exact, the method is not first-same-as-last, or a
        row-sum or order condition fails. The message names the condition.
    """

    name: str
    nodes: tuple[Fraction, ...]
    matrix: tuple[tuple[Fraction, ...], ...]
    velocity_weights: tuple[Fraction, ...]
    embedded_position_weights: tuple[Fraction, ...]
    embedded_velocity_weights: tuple[Fraction, ...]
    quadrature_weights: tuple[Fraction, ...]
    order: int
    embedded_order: int
    row_sums_hold: bool = True

    def __post_init__(self) -> None:
        self._check_shapes()
        self._check_stages()
        self._check_orders()

    @property
    def n_stages(self) -> int:
        """Number of stages, the one shared with the next step included."""
        return len(self.nodes)

    @property
    def gradients_per_step(self) -> int:
        """Gradients an accepted step costs: the first stage's comes from the step before."""
        return self.n_stages - 1

    @property
    def position_weights(self) -> tuple[Fraction, ...]:
        """Weights b of the new position, the last stage."""
        return (*self.matrix[-1], Fraction(0))

    @property
    def position_error_weights(self) -> tuple[Fraction, ...]:
        """Weights e of the position's error estimate."""
        return _differences(self.position_weights, self.embedded_position_weights)

    @property
    def velocity_error_weights(self) -> tuple[Fraction, ...]:
        """Weights e' of the velocity's error estimate."""
        return _differences(self.velocity_weights, self.embedded_velocity_weights)

    @property
    def error_order(self) -> int:
        """Power of h with which the local error estimate shrinks."""
        return self.embedded_order + 1

    def to_arrays(self) -> TableauArrays:
        """Round every coefficient to the nearest double. The arrays are new at each call.

        Raises
        ------
        ValueError
            If there are more stages than the kernels add up.
        """
        if self.n_stages > MOST_STAGES:
            self._fail(f"it has {self.n_stages} stages; the step kernel adds up at most {MOST_STAGES}")
        matrix = np.zeros((self.n_stages, self.n_stages))
        for i, row in enumerate(self.matrix):
            matrix[i, :i] = [float(entry) for entry in row]
        return TableauArrays(
            nodes=_to_array(self.nodes),
            matrix=matrix,
            position_weights=matrix[-1],
            velocity_weights=_to_array(self.velocity_weights),
            position_error_weights=_to_array(self.position_error_weights),
            velocity_error_weights=_to_array(self.velocity_error_weights),
            quadrature_weights=_to_array(self.quadrature_weights),
            error_order=float(self.error_order),
        )

    def _check_shapes(self) -> None:
        vectors = {
            "nodes": self.nodes,
            "velocity_weights": self.velocity_weights,
            "embedded_position_weights": self.embedded_position_weights,
            "embedded_velocity_weights": self.embedded_velocity_weights,
            "quadrature_weights": self.quadrature_weights,
        }
        n_stages = self.n_stages
        for field, vector in vectors.items():
            if len(vector) != n_stages or n_stages < 2:
                self._fail(f"{field} has {len(vector)} entries; every vector needs one per node, and at least two")
        row_lengths = [len(row) for row in self.matrix]
        if row_lengths != list(range(n_stages)):
            self._fail(f"the rows of matrix have lengths {row_lengths}; row i needs the i entries left of the diagonal")
        for field, vector in [*vectors.items(), *(("matrix", row) for row in self.matrix)]:
            for entry in vector:
                if not isinstance(entry, Fraction):
                    self._fail(f"{field} holds {entry!r}; give every coefficient as a Fraction")

    def _check_stages(self) -> None:
        if self.nodes[0] != 0 or self.nodes[-1] != 1:
            self._fail(f"nodes run from {self.nodes[0]} to {self.nodes[-1]}; first-same-as-last needs 0 to 1")
        if self.row_sums_hold:
            for i, (node, row) in enumerate(zip(self.nodes, self.matrix, strict=True)):
                if sum(row) != node**2 / 2:
                    self._fail(f"row {i} of matrix sums to {sum(row)}, not c²/2 = {node**2 / 2}")

    def _check_orders(self) -> None:
        # One order beyond the embedded formula's, to see the leading term of the error estimate.
        highest = max(self.order, self.embedded_order + 1)
        stages = stage_weights(self.nodes, self.matrix, highest)
        velocity_formulas = [
            ("velocity_weights", self.velocity_weights, self.order),
            ("quadrature_weights", self.quadrature_weights, self.order),
            ("embedded_velocity_weights", self.embedded_velocity_weights, self.embedded_order),
        ]
        position_formulas = [
            ("position_weights", self.position_weights, self.order),
            ("embedded_position_weights", self.embedded_position_weights, self.embedded_order),
        ]
        # A quadrature has the velocity's conditions: replace the force at each tree's root by the
        # integrand.
        for field, weights, order in velocity_formulas:
            failure = failed_velocity_condition(weights, stages, order)
            if failure is not None:
                self._fail(f"{field} are not of order {order}: {failure}")
        for field, weights, order in position_formulas:
            failure = failed_position_condition(weights, stages, order)
            if failure is not None:
                self._fail(f"{field} are not of order {order}: {failure}")
        power = first_power_of_difference(self.position_error_weights, self.velocity_error_weights, stages, highest)
        if power != self.error_order:
            self._fail(
                f"the error estimate starts at h^{power}, not at h^{self.error_order}: "
                "the embedded formula is too accurate or equal to the main one"
            )

    def _fail(self, problem: str) -> None:
        raise ValueError(f"Nyström tableau {self.name!r}: {problem}.")


def exact(text: str) -> tuple[Fraction, ...]:
    """Fractions from a blank-separated list, as printed in papers: `exact("0 1/4 7/10 1")`."""
    return tuple(Fraction(word) for word in text.split())


def _differences(left: Sequence[Fraction], right: Sequence[Fraction]) -> tuple[Fraction, ...]:
    return tuple(a - b for a, b in zip(left, right, strict=True))


def _to_array(values: Sequence[Fraction]) -> np.ndarray:
    return np.array([float(value) for value in values])
