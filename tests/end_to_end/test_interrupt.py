"""Ctrl-C: what was drawn is kept. Each run is a process of its own that is sent a SIGINT."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send to one process")

SCRIPT = """
import json, os, signal, sys, threading, time, warnings
import numba, numpy as np
import grhmc

signal.signal(signal.SIGINT, signal.default_int_handler)  # the parent may run without
kind, settings, n_calls = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
settings = {"seed": 1, "tune": 20, "progress_bar": False} | settings
lock, count, handled = threading.Lock(), 0, threading.Event()


def interrupt(*_):
    handled.set()
    raise KeyboardInterrupt


signal.signal(signal.SIGINT, interrupt)


def density(q):
    global count
    with lock:
        count += 1
        number = count
    if number == n_calls:
        os.kill(os.getpid(), signal.SIGINT)
        handled.wait(60)  # however busy the machine: no chain may be complete before the main thread has heard of it
    elif number > n_calls and settings["draws"] <= 300:
        time.sleep(0.001)  # nor before it has told the chains
    if settings.get("cores") == 2:
        time.sleep(1e-4)  # one pace for both: the interpreter's lock is not fair, and one chain could have most draws
    return -0.5 * float(q @ q), -q


@numba.njit
def compiled_density(q, gradient):
    gradient[:] = -q
    return -0.5 * (q * q).sum()


if kind == "python":
    model = grhmc.from_python(density, 2)
else:
    model = grhmc.from_numba(compiled_density, 2)
    grhmc.sample(model, draws=1, tune=1, progress_bar=False)  # compiles
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    try:
        result = grhmc.sample(model, **settings)
    except KeyboardInterrupt:
        print(json.dumps({"interrupted": True}))
        sys.exit()
posterior = result["posterior"]["x"]
print(json.dumps({
    "interrupted": False,
    "shape": posterior.shape[:2],
    "chains": posterior["chain"].values.tolist(),
    "warmup": result["warmup_posterior"]["x"].shape[:2] if "warmup_posterior" in result.children else None,
    "finite": bool(np.all(np.isfinite(posterior))),
    "outcomes": result.attrs["outcomes"],
    "warnings": [str(warning.message) for warning in caught],
}))
"""


def interrupted_run(kind: str, settings: dict[str, Any], n_calls: int = 0) -> dict[str, Any]:
    """Run the script; it interrupts itself at the density's n-th call, or after half a second if compiled."""
    finished = subprocess.run(
        [sys.executable, "-c", SCRIPT, kind, json.dumps(settings), str(n_calls)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


def test_an_interrupt_while_sampling_keeps_the_draws_and_says_so() -> None:
    outcome = interrupted_run("python", {"draws": 100_000, "chains": 2, "cores": 2}, n_calls=5000)
    n_chains, n_draws = outcome["shape"]
    assert n_chains == 2
    assert 100 < n_draws < 100_000
    assert outcome["finite"]
    assert outcome["outcomes"] == "INTERRUPTED, INTERRUPTED"
    (warning,) = outcome["warnings"]
    assert f"interrupted: the result holds {n_draws} of 100000 draws of 2 of 2 chains" in warning


def test_an_interrupt_of_compiled_code_is_prompt_and_keeps_the_draws() -> None:
    outcome = interrupted_run("compiled", {"draws": 200_000, "chains": 2, "integrator": "rkn64", "tolerance": 1e-12})
    assert outcome["shape"][0] in (1, 2)  # on a busy machine one may be far behind
    assert 0 < outcome["shape"][1] < 200_000
    assert outcome["finite"]


def test_chains_that_were_complete_outweigh_one_that_had_hardly_begun() -> None:
    """On one core, without meetings, chains run one after the other: cut to the shortest, nearly nothing were left."""
    outcome = interrupted_run("python", {"draws": 300, "tune": 0, "chains": 4, "cores": 1}, n_calls=2400)
    n_chains, n_draws = outcome["shape"]
    assert n_draws == 300
    assert 1 <= n_chains < 4
    assert outcome["chains"] == list(range(n_chains))


def test_an_interrupt_before_the_first_draw_is_a_keyboard_interrupt() -> None:
    assert interrupted_run("python", {"draws": 100, "tune": 5000, "chains": 1}, n_calls=200)["interrupted"]


def test_an_interrupt_in_a_warm_up_that_is_kept_keeps_it() -> None:
    outcome = interrupted_run("python", {"draws": 100, "tune": 5000, "chains": 1, "save_warmup": True}, n_calls=2000)
    assert outcome["shape"] == [1, 0]
    assert 0 < outcome["warmup"][1] < 5000
