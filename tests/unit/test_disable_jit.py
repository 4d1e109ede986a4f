"""Kernels also run as plain Python, with NUMBA_DISABLE_JIT=1: for debuggers, and as a check of what is compiled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numba.core import config

import grhmc

IS_INTERPRETED = config.DISABLE_JIT  # pyright: ignore[reportAttributeAccessIssue]


def rate(q_bar, p_bar):
    return 1.0 + q_bar[0] ** 2 + p_bar[1] ** 2


VARIANTS: dict[str, dict[str, Any]] = {
    "isg": {"scale": "isg"},
    "geo": {"scale": "geo", "process": grhmc.Continuous("rkn43", event_rate_kind="arc_length", refreshment=0.5)},
    "mct": {"scale": "mct", "process": grhmc.Continuous("rkn64")},
    "fresh momenta": {"process": grhmc.Discrete(momentum="fresh", integrator="leapfrog")},
    "two chains, directions": {"metric": "low_rank", "chains": 2, "process": grhmc.Discrete(target_accept=0.9)},
    "rate of one's own": {"process": grhmc.Continuous("rkn64", event_rate_kind=rate)},
}


def density(q):
    return -0.5 * (q[0] ** 2 + (q[1] - 3.0) ** 2 / 4.0), np.array([-q[0], (3.0 - q[1]) / 4.0])


def short_run(settings):
    """A run through all stages of tuning, so short that rounding has not grown to anything at its end."""
    model = grhmc.from_python(density, 2)
    result: Any = grhmc.sample(model, draws=15, tune=25, seed=1, progress_bar=False, **({"chains": 1} | settings))
    statistics, tuning = result["sample_stats"], result["tuning"]
    return {
        "draws": result["posterior"]["x"].values[0].tolist(),
        "energy_error": statistics["energy_error"].values[0].tolist(),
        "scale": tuning["scale"].values[0].tolist(),
        "event_rate": float(tuning["event_rate"][0]),
    }


@pytest.fixture(scope="module")
def interpreted():
    """The same runs in a process without compilation: this file is also the program."""
    finished = subprocess.run(
        [sys.executable, "-W", "error", __file__],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


@pytest.mark.skipif(IS_INTERPRETED, reason="compares with the compiled kernels")
@pytest.mark.parametrize("variant", VARIANTS)
def test_interpreted_kernels_draw_what_compiled_ones_do(variant, interpreted):
    expected, found = short_run(VARIANTS[variant]), interpreted[variant]
    draws = np.array(found["draws"])
    assert draws.shape == (15, 2)
    assert np.all(np.isfinite(draws))
    # Compiled sums are reassociated: the same but for rounding.
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-6, atol=1e-6, err_msg=name)


if __name__ == "__main__":
    json.dump({name: short_run(settings) for name, settings in VARIANTS.items()}, sys.stdout)
