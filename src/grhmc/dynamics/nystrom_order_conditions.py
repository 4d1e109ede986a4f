"""Order conditions of Nyström methods for q'' = f(q), generated tree by tree.

The Taylor series of the exact and of the numerical solution run over the same rooted trees. A tree
is one elementary differential: a derivative of f whose arguments are the velocity v or,
recursively, smaller trees, as in f''(v, f'(f)). A method has order p if its weights reproduce the
exact coefficient of every tree up to order p.

References
----------
Hairer, Norsett & Wanner (1993), "Solving Ordinary Differential Equations I", section II.14. The
special Nyström trees' vertex count and density appear here as `n_vertices` and `density`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from math import lcm
from operator import mul
from typing import NamedTuple


class NystromTree(NamedTuple):
    """One elementary differential of q'' = f(q).

    Attributes
    ----------
    n_velocities : int
        How many arguments of the root's derivative of f are the velocity.
    subtrees : tuple of int
        The other arguments: indices of earlier trees in the list that `nystrom_trees` returns.
    n_vertices : int
        The tree's order: it first enters the velocity at h^n_vertices and the position at
        h^(n_vertices + 1).
    density : int
        The exact solution's weight is 1 / density in the velocity, 1 / (density (n_vertices + 1))
        in the position.
    name : str
        Readable form, for messages: "f''(v, f)".
    """

    n_velocities: int
    subtrees: tuple[int, ...]
    n_vertices: int
    density: int
    name: str


class StageWeights(NamedTuple):
    """Coefficients with which the trees appear in the stages' forces, in exact arithmetic.

    Attributes
    ----------
    scale : int
        Common denominator of the method's nodes and matrix.
    values : list of list of int, shape (n_trees, n_stages)
        The coefficient of tree t in stage i is values[t][i] / scale^(n_vertices of t - 1).
    """

    scale: int
    values: list[list[int]]


@cache
def nystrom_trees(order: int) -> tuple[NystromTree, ...]:
    """All trees with at most `order` vertices, smaller ones first."""
    if order < 1:
        return ()
    smaller = nystrom_trees(order - 1)
    choices = _subtree_choices(smaller, order - 1, len(smaller))
    return (*smaller, *(_build_tree(smaller, order, subtrees) for subtrees in choices))


def _subtree_choices(trees: Sequence[NystromTree], room: int, bound: int) -> Iterator[tuple[int, ...]]:
    """Multisets of trees of index below `bound` that fit into `room` vertices, largest first.

    A subtree takes one vertex more than it has: the velocity it is integrated through. What is left
    over is filled with velocities, so every multiset that fits stands for exactly one tree.
    """
    yield ()
    for index in range(bound):
        size = trees[index].n_vertices + 1
        if size <= room:
            for rest in _subtree_choices(trees, room - size, index + 1):
                yield (index, *rest)


def _build_tree(trees: Sequence[NystromTree], n_vertices: int, subtrees: tuple[int, ...]) -> NystromTree:
    parts = [trees[index] for index in subtrees]
    n_velocities = n_vertices - 1 - sum(part.n_vertices + 1 for part in parts)
    density = n_vertices
    for part in parts:
        # The argument is the part's force integrated twice over time.
        density *= (part.n_vertices + 1) * part.density
    arguments = ["v"] * n_velocities + [part.name for part in parts]
    primes = "'" * len(arguments)
    name = f"f{primes}({', '.join(arguments)})" if arguments else "f"
    return NystromTree(n_velocities, subtrees, n_vertices, density, name)


def stage_weights(nodes: Sequence[Fraction], matrix: Sequence[Sequence[Fraction]], order: int) -> StageWeights:
    """The stages' coefficients of every tree of `nystrom_trees(order)`.

    Parameters
    ----------
    nodes : sequence of Fraction, length n_stages
    matrix : sequence of rows
        Row i holds the i entries left of the diagonal.
    order : int
        Largest number of vertices.
    """
    # Integers over one power of the common denominator per vertex: six times faster than fractions,
    # which would be felt at import. A node counts for one vertex and a matrix entry for two.
    scale = lcm(*(entry.denominator for row in (nodes, *matrix) for entry in row))
    scaled_nodes = _numerators(nodes, scale)
    scaled_matrix = [_numerators(row, scale**2) for row in matrix]
    values: list[list[int]] = []
    integrated: list[list[int]] = []
    for tree in nystrom_trees(order):
        phi = [node**tree.n_velocities for node in scaled_nodes]
        for index in tree.subtrees:
            phi = [a * b for a, b in zip(phi, integrated[index], strict=True)]
        values.append(phi)
        # Rows of the strictly lower triangle: map stops at their end.
        integrated.append([sum(map(mul, row, phi)) for row in scaled_matrix])
    return StageWeights(scale, values)


def failed_velocity_condition(velocity_weights: Sequence[Fraction], stages: StageWeights, order: int) -> str | None:
    """The first velocity condition up to `order` that fails, as a message; None if all hold."""
    for tree, value in _weighted_sums(velocity_weights, stages, order):
        if value != Fraction(1, tree.density):
            return _failure(tree, value, Fraction(1, tree.density))
    return None


def failed_position_condition(position_weights: Sequence[Fraction], stages: StageWeights, order: int) -> str | None:
    """The first position condition up to `order` that fails, as a message; None if all hold."""
    for tree, value in _weighted_sums(position_weights, stages, order - 1):
        target = Fraction(1, tree.density * (tree.n_vertices + 1))
        if value != target:
            return _failure(tree, value, target)
    return None


def first_power_of_difference(
    position_differences: Sequence[Fraction],
    velocity_differences: Sequence[Fraction],
    stages: StageWeights,
    order: int,
) -> int | None:
    """Lowest power of h in the difference of two formulas; None if it lies beyond h^order."""
    position = _first_vertices(position_differences, stages, order - 1)
    velocity = _first_vertices(velocity_differences, stages, order)
    powers = [velocity, None if position is None else position + 1]
    return min((power for power in powers if power is not None), default=None)


def _first_vertices(differences: Sequence[Fraction], stages: StageWeights, order: int) -> int | None:
    """Vertices of the smallest tree that the differences do not cancel."""
    for tree, value in _weighted_sums(differences, stages, order):
        if value != 0:
            return tree.n_vertices
    return None


def _weighted_sums(
    weights: Sequence[Fraction], stages: StageWeights, order: int
) -> Iterator[tuple[NystromTree, Fraction]]:
    """Every tree up to `order` with a formula's coefficient of it."""
    denominator = lcm(*(weight.denominator for weight in weights))
    numerators = _numerators(weights, denominator)
    # `stages` may reach beyond `order`: zip stops at the trees asked for.
    for tree, phi in zip(nystrom_trees(order), stages.values, strict=False):
        total = sum(map(mul, numerators, phi))
        yield tree, Fraction(total, denominator * stages.scale ** (tree.n_vertices - 1))


def _numerators(values: Sequence[Fraction], denominator: int) -> list[int]:
    return [value.numerator * (denominator // value.denominator) for value in values]


def _failure(tree: NystromTree, value: Fraction, target: Fraction) -> str:
    return f"the condition for {tree.name} gives {value}, not {target}"
