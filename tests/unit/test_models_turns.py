"""Densities with parallel loops: under Numba's own threading layer one thread at a time, or the process would end."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numba
import numpy as np
import pytest
from numba.core import config

from grhmc.models import from_numba, turns

models_from_numba = sys.modules["grhmc.models.from_numba"]

pytestmark = pytest.mark.skipif(
    config.DISABLE_JIT or os.name == "nt",  # pyright: ignore[reportAttributeAccessIssue]
    reason="about compiled densities, on systems with POSIX threads",
)


@numba.njit(parallel=True)
def parallel_sum(q, y):
    total = 0.0
    for i in numba.prange(y.size):
        total += (y[i] - q) ** 2
    return total


@numba.njit
def density(q, grad, y):
    """Its parallel loop is that of another function."""
    grad[0] = y.sum() - y.size * q[0]
    return -0.5 * parallel_sum(q[0], y)


def evaluate_in_threads() -> None:
    """The program of the other process: four threads evaluate at once."""
    model = from_numba(density, 1, data=(np.arange(1000.0),))
    expected, _, _ = model.evaluate([1.0])
    wrong = []

    def evaluate() -> None:
        for _ in range(300):
            value, _, _ = model.evaluate([1.0])
            if abs(value - expected) > 1e-9 * abs(expected):
                wrong.append(value)

    threads = [threading.Thread(target=evaluate) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.exit(bool(wrong))


def run(before: str = "pass") -> int:
    """How the other process ends."""
    program = f"import test_models_turns as module; {before}; module.evaluate_in_threads()"
    finished = subprocess.run(
        [sys.executable, "-c", program],
        cwd=os.path.dirname(__file__),
        env=os.environ | {"NUMBA_THREADING_LAYER": "workqueue"},
        capture_output=True,
        timeout=300,
        check=False,
    )
    return finished.returncode


@pytest.mark.nightly
def test_a_parallel_density_is_evaluated_by_one_thread_at_a_time():
    assert run() == 0
    assert run("module.models_from_numba.must_take_turns = lambda function: False") != 0  # the negative control


def test_a_density_without_parallel_loops_takes_no_turns():
    @numba.njit
    def plain(q, grad):
        grad[0] = -q[0]
        return -0.5 * q[0] ** 2

    assert not turns.must_take_turns(plain)
    assert any(f is parallel_sum for f in turns._reachable(density, set()))
