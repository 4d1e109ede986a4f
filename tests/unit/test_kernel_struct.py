"""Structures that kernels take by reference, and the NamedTuples in them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grhmc._jit import inner_kernel, kernel
from grhmc._kernel_struct import passed_by_reference


class Inner(NamedTuple):
    row: np.ndarray
    number: float


class Outer(NamedTuple):
    size: int
    inner: Inner
    matrix: np.ndarray


@passed_by_reference
class State:
    total: np.ndarray
    outer: Outer


@kernel
def add_row(inner: Inner, total: np.ndarray) -> None:
    for k in range(total.shape[0]):
        total[k] += inner.number * inner.row[k]


@inner_kernel
def add_called(inner: Inner, total: np.ndarray) -> None:
    add_row(inner, total)


@kernel
def add_everything(state: State) -> float:
    outer = state.outer
    add_row(outer.inner, state.total)
    add_called(state.outer.inner, state.total)
    outer.inner.row[0] = 10.0
    add_row(outer.inner, state.total)
    return outer.matrix[1, 0] + outer.size


def state() -> State:
    return State(np.zeros(2), Outer(3, Inner(np.array([1.0, 2.0]), 0.5), np.array([[1.0, 2.0], [7.0, 8.0]])))


def test_named_tuples_in_a_structure_are_read_where_they_are_used():
    present = state()
    assert add_everything(present) == 10.0
    np.testing.assert_array_equal(present.total, [0.5 + 0.5 + 5.0, 3.0])
    np.testing.assert_array_equal(present.outer.inner.row, [10.0, 2.0])


def test_the_same_kernel_takes_the_named_tuple_itself():
    total = np.zeros(2)
    add_row(state().outer.inner, total)
    np.testing.assert_array_equal(total, [0.5, 1.0])
