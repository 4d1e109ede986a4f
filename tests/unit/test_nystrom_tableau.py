"""Tableaus: order conditions, what construction rejects, and the orders seen in integrations."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from grhmc._jit import kernel
from grhmc.dynamics.coefficients import RKN43, RKN64, SPLITTING, TABLEAUS, splitting_tableau
from grhmc.dynamics.nystrom_order_conditions import (
    failed_position_condition,
    failed_velocity_condition,
    nystrom_trees,
    stage_weights,
)
from grhmc.dynamics.nystrom_tableau import NystromTableau, TableauArrays, exact

ALL_TABLEAUS = pytest.mark.parametrize("tableau", TABLEAUS.values(), ids=TABLEAUS.keys())
PAIRS = pytest.mark.parametrize("tableau", [RKN43, RKN64], ids=["rkn43", "rkn64"])
VECTORS = (
    "nodes",
    "velocity_weights",
    "embedded_position_weights",
    "embedded_velocity_weights",
    "quadrature_weights",
)


REFERENCE = RKN64.to_arrays()


def nonlinear_force(q):
    """Force of a coupled anharmonic potential: no two elementary differentials are parallel."""
    x, y = q
    return np.array([-np.sin(x) - 0.5 * x * y**2, -(y**3) - 0.5 * x**2 * y + 0.3 * np.exp(-x)])


def step(arrays, q, v, h):
    """One step in plain NumPy: new position and velocity, stage positions and forces."""
    positions, forces = [], []
    for i in range(arrays.nodes.size):
        increment = sum((arrays.matrix[i, j] * forces[j] for j in range(i)), np.zeros_like(q))
        positions.append(q + arrays.nodes[i] * h * v + h**2 * increment)
        forces.append(nonlinear_force(positions[-1]))
    positions, forces = np.array(positions), np.array(forces)
    return positions[-1], v + h * arrays.velocity_weights @ forces, positions, forces


def solve(q, v, time, n_steps=64, arrays=REFERENCE):
    """Position, velocity and the integral of cos(x) y after `time`; by default a reference."""
    integral = 0.0
    for _ in range(n_steps):
        q, v, positions, _ = step(arrays, q, v, time / n_steps)
        integrand = np.cos(positions[:, 0]) * positions[:, 1]
        integral += time / n_steps * arrays.quadrature_weights @ integrand
    return q, v, integral


def local_slope(error_of_step, step=0.2):
    """Log-log slope of an error made in one step."""
    return np.log2(error_of_step(step) / error_of_step(0.5 * step))


START = np.array([0.7, -0.4]), np.array([0.3, 0.9])


def perturbed(values, index):
    changed = list(values)
    changed[index] += Fraction(1, 10**9)
    return tuple(changed)


def every_single_change(tableau):
    """The tableau's fields with one coefficient after the other off by 1e-9."""
    for field in VECTORS:
        for index in range(tableau.n_stages):
            yield field, perturbed(getattr(tableau, field), index)
    for row in range(tableau.n_stages):
        for column in range(row):
            rows = list(tableau.matrix)
            rows[row] = perturbed(rows[row], column)
            yield "matrix", tuple(rows)


def test_number_of_trees_agrees_with_its_generating_function():
    # A root with any number of velocities (one vertex each) and any multiset of subtrees (one
    # vertex more each).
    highest = 9
    counts = [0] * (highest + 1)
    for n_vertices in range(1, highest + 1):
        ways = [1] * n_vertices
        for size, count in enumerate(counts[: max(n_vertices - 1, 0)]):
            for _ in range(count):
                for total in range(size + 1, n_vertices):
                    ways[total] += ways[total - size - 1]
        counts[n_vertices] = ways[n_vertices - 1]
    generated = [tree.n_vertices for tree in nystrom_trees(highest)]
    assert [generated.count(n) for n in range(1, highest + 1)] == counts[1:]
    assert counts[1:7] == [1, 1, 2, 3, 6, 10]


def test_trees_are_distinct_and_have_the_textbook_densities():
    trees = nystrom_trees(7)
    assert len({tree.name for tree in trees}) == len(trees)
    density = {tree.name: tree.density for tree in trees}
    assert density["f"] == 1
    assert density["f'(v)"] == 2
    assert density["f''(v, v)"] == 3
    assert density["f'(f)"] == 6
    assert density["f'(f'(f))"] == 120
    assert density["f''(f, f)"] == 20


@ALL_TABLEAUS
def test_stated_order_is_reached_and_not_exceeded(tableau):
    stages = stage_weights(tableau.nodes, tableau.matrix, tableau.order + 1)
    velocity, position = tableau.velocity_weights, tableau.position_weights
    assert failed_velocity_condition(velocity, stages, tableau.order) is None
    assert failed_position_condition(position, stages, tableau.order) is None
    assert failed_velocity_condition(velocity, stages, tableau.order + 1) is not None


@PAIRS
def test_a_change_of_any_single_coefficient_is_rejected(tableau):
    changes = list(every_single_change(tableau))
    n_stages = tableau.n_stages
    assert len(changes) == 5 * n_stages + n_stages * (n_stages - 1) // 2
    for field, values in changes:
        with pytest.raises(ValueError, match=tableau.name[:3]):
            replace(tableau, **{field: values})


def test_a_change_of_a_splitting_weight_is_rejected():
    for field, values in every_single_change(SPLITTING):
        middle_stage = field == "matrix" and values[2] == SPLITTING.matrix[2]
        # At order 2 the middle stage's force coefficient and node are free or tied to the weights.
        if middle_stage:
            continue
        with pytest.raises(ValueError, match="splitting"):
            replace(SPLITTING, **{field: values})


def test_messages_name_the_tableau_and_the_failed_condition():
    with pytest.raises(ValueError, match=r"RKN 4\(3\).*velocity_weights.*condition for f gives 1/2"):
        replace(RKN43, velocity_weights=exact("1/2 0 0 0"))
    with pytest.raises(ValueError, match=r"row 2 of matrix sums to 1/4, not c²/2 = 49/200"):
        replace(RKN43, matrix=((), exact("1/32"), exact("0 1/4"), RKN43.matrix[3]))
    with pytest.raises(ValueError, match="not of order 5"):
        replace(RKN43, order=5)
    with pytest.raises(ValueError, match="not of order 5"):
        replace(RKN64, embedded_order=5)


def test_an_understated_embedded_order_is_rejected():
    # The step control would use the wrong power.
    with pytest.raises(ValueError, match=r"starts at h\^5, not at h\^4"):
        replace(RKN64, embedded_order=3)


def test_an_embedded_formula_equal_to_the_main_one_is_rejected():
    with pytest.raises(ValueError, match="error estimate"):
        replace(
            RKN43,
            embedded_position_weights=RKN43.position_weights,
            embedded_velocity_weights=RKN43.velocity_weights,
        )


def test_a_method_that_does_not_end_at_the_new_position_is_rejected():
    with pytest.raises(ValueError, match="first-same-as-last needs 0 to 1"):
        replace(RKN43, nodes=exact("0 1/4 7/10 9/10"))


def test_wrong_shapes_and_inexact_coefficients_are_rejected():
    with pytest.raises(ValueError, match="velocity_weights has 3 entries"):
        replace(RKN43, velocity_weights=exact("1/2 1/4 1/4"))
    with pytest.raises(ValueError, match=r"rows of matrix have lengths \[0, 1, 2, 4\]"):
        replace(RKN43, matrix=(*RKN43.matrix[:3], RKN43.position_weights))
    with pytest.raises(ValueError, match=r"nodes holds 0\.25; give every coefficient as a Fraction"):
        replace(RKN43, nodes=(Fraction(0), 0.25, Fraction(7, 10), Fraction(1)))


@pytest.mark.parametrize("kick", [0.0, -0.1, 0.5, 1 / 6, Fraction(1, 6), np.nan, np.inf])
def test_a_kick_without_positive_weights_or_error_estimate_is_rejected(kick):
    with pytest.raises(ValueError, match="kick is"):
        splitting_tableau(kick)


@ALL_TABLEAUS
def test_arrays_are_the_rounded_fractions(tableau: NystromTableau):
    arrays = tableau.to_arrays()
    n_stages = tableau.n_stages
    assert arrays.matrix.shape == (n_stages, n_stages)
    assert not np.triu(arrays.matrix).any()
    assert np.array_equal(arrays.matrix[-1], arrays.position_weights)
    assert isinstance(arrays.error_order, float)
    for values in arrays[:-1]:
        assert values.dtype == np.float64
        assert values.flags.c_contiguous
        assert values.flags.writeable
    error = [float(a - b) for a, b in zip(tableau.velocity_weights, tableau.embedded_velocity_weights, strict=True)]
    assert arrays.velocity_error_weights.tolist() == error
    assert arrays.quadrature_weights.sum() == pytest.approx(1.0, abs=1e-15)
    assert tableau.to_arrays().nodes is not arrays.nodes


@ALL_TABLEAUS
def test_a_kernel_takes_the_arrays(tableau):
    @kernel
    def last_velocity_weight(arrays):
        return arrays.velocity_weights[arrays.nodes.shape[0] - 1] * arrays.error_order

    arrays: TableauArrays = tableau.to_arrays()
    expected = float(tableau.velocity_weights[-1]) * tableau.error_order
    assert last_velocity_weight(arrays) == pytest.approx(expected, rel=1e-15)


@ALL_TABLEAUS
def test_errors_at_a_fixed_time_shrink_with_the_order(tableau):
    exact_q, exact_v, _ = solve(*START, time=2.0, n_steps=400)

    def error(n_steps):
        q, v, _ = solve(*START, time=2.0, n_steps=n_steps, arrays=tableau.to_arrays())
        return np.linalg.norm(np.concatenate([q - exact_q, v - exact_v]))

    assert np.log2(error(16) / error(32)) == pytest.approx(tableau.order, abs=0.15)


@ALL_TABLEAUS
def test_error_estimates_shrink_with_the_error_order(tableau):
    arrays = tableau.to_arrays()
    q, v = START

    def estimate(h):
        forces = step(arrays, q, v, h)[3]
        position = h**2 * arrays.position_error_weights @ forces
        velocity = h * arrays.velocity_error_weights @ forces
        return np.linalg.norm(np.concatenate([position, velocity]))

    assert local_slope(estimate) == pytest.approx(arrays.error_order, abs=0.3)


@ALL_TABLEAUS
def test_quadrature_integrates_a_function_of_the_position(tableau):
    arrays = tableau.to_arrays()
    q, v = START

    def quadrature_error(h):
        positions = step(arrays, q, v, h)[2]
        integrand = np.cos(positions[:, 0]) * positions[:, 1]
        return abs(h * arrays.quadrature_weights @ integrand - solve(q, v, h)[2])

    # At long steps the leading error of the trapezoidal rule is partly cancelled by the next one.
    assert local_slope(quadrature_error, step=0.05 if tableau.name == "leapfrog" else 0.2) > tableau.order + 0.7


@pytest.mark.parametrize("kick", [SPLITTING.velocity_weights[0], 0.1931833275037836, 0.25])
def test_splitting_tableau_is_kick_drift_kick_drift_kick(kick):
    arrays = splitting_tableau(kick).to_arrays()
    b, h = float(kick), 0.3
    start_q, start_v = START
    v = start_v + b * h * nonlinear_force(start_q)
    q = start_q + 0.5 * h * v
    v = v + (1 - 2 * b) * h * nonlinear_force(q)
    q = q + 0.5 * h * v
    v = v + b * h * nonlinear_force(q)
    new_q, new_v, _, _ = step(arrays, start_q, start_v, h)
    np.testing.assert_allclose(new_q, q, rtol=0, atol=1e-15)
    np.testing.assert_allclose(new_v, v, rtol=0, atol=1e-15)


def test_splitting_returns_to_its_start_when_reversed():
    arrays = SPLITTING.to_arrays()
    q, v = START
    for _ in range(20):
        q, v, _, _ = step(arrays, q, v, 0.3)
    v = -v
    for _ in range(20):
        q, v, _, _ = step(arrays, q, v, 0.3)
    np.testing.assert_allclose(q, START[0], rtol=0, atol=1e-13)
    np.testing.assert_allclose(-v, START[1], rtol=0, atol=1e-13)


def test_splitting_violates_the_row_sum_at_its_middle_stage_only():
    middle = sum(SPLITTING.matrix[1])
    assert middle != Fraction(1, 8)
    assert sum(SPLITTING.matrix[2]) == Fraction(1, 2)
    with pytest.raises(ValueError, match="row 1 of matrix"):
        replace(SPLITTING, row_sums_hold=True)


def largest_expected_energy_error(kick):
    """Of the splitting on a unit oscillator in equilibrium, the worst over steps in (0, 2)."""
    h = np.linspace(0.0, 2.0, 20001)[1:-1]

    def propagate(q, v):
        v = v - kick * h * q
        q = q + 0.5 * h * v
        v = v - (1 - 2 * kick) * h * q
        q = q + 0.5 * h * v
        return q, v - kick * h * q

    ones, zeros = np.ones_like(h), np.zeros_like(h)
    diagonal, lower = propagate(ones, zeros)
    upper, _ = propagate(zeros, ones)
    # Blanes, Casas & Sanz-Serna (2014), section 4: an upper bound over all numbers of steps.
    return ((upper + lower) ** 2 / (2 * (1 - diagonal**2))).max()


def test_default_kick_minimizes_the_largest_expected_energy_error():
    default = float(SPLITTING.velocity_weights[0])
    kicks = np.arange(0.19, 0.25, 0.0001)
    best = kicks[np.argmin([largest_expected_energy_error(kick) for kick in kicks])]
    assert best == pytest.approx(default, abs=1.01e-4)


def test_gradients_per_step():
    assert [tableau.gradients_per_step for tableau in (RKN43, RKN64, SPLITTING)] == [3, 5, 2]
    assert [tableau.error_order for tableau in (RKN43, RKN64, SPLITTING)] == [4, 5, 3]


def test_more_stages_than_the_step_kernel_adds_up_are_rejected():
    """A stage beyond the last that is added would be dropped without a word."""

    class Longer(NystromTableau):
        @property
        def n_stages(self) -> int:
            return 7

    longer = object.__new__(Longer)
    object.__setattr__(longer, "name", "longer")
    with pytest.raises(ValueError, match=r"it has 7 stages; the step kernel adds up at most 6"):
        longer.to_arrays()
