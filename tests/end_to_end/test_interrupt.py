"""Ctrl-C: what was drawn is kept. Each run is a process of its own that is sent a SIGINT."""

from __future__ import annotations

import json
import os
import signal
import threading
from typing import Any

import pytest

from forked_scripts import run_script
from grhmc.run.interrupt import CtrlC

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send to one process")

SCRIPT = """
import json, os, signal, sys, threading, time, warnings
import numba, numpy as np
import grhmc

signal.signal(signal.SIGINT, signal.default_int_handler)  # the parent may run without
kind, settings, n_calls = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
settings = {"seed": 1, "tune": 20, "progress_bar": False} | settings
if "continuous" in settings:
    settings["process"] = grhmc.Continuous(**settings.pop("continuous"))
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
    gradient[0], gradient[1] = -q[0], -q[1]
    return -0.5 * (q[0] * q[0] + q[1] * q[1])


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
    return json.loads(run_script(SCRIPT, kind, json.dumps(settings), str(n_calls)))


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
    outcome = interrupted_run(
        "compiled", {"draws": 200_000, "chains": 2, "continuous": {"integrator": "rkn64", "tolerance": 1e-12}}
    )
    assert outcome["shape"][0] in (1, 2)  # on a busy machine one may be far behind
    assert 0 < outcome["shape"][1] < 200_000
    assert outcome["finite"]


def test_chains_that_were_complete_outweigh_one_that_had_hardly_begun() -> None:
    """On one core, without pooling, chains run one after the other: cut to the shortest, nearly nothing were left."""
    outcome = interrupted_run(
        "python", {"draws": 300, "tune": 0, "chains": 4, "cores": 1, "continuous": {}}, n_calls=2950
    )
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


AGAIN_AND_AGAIN = """
import os, signal, sys, threading, time, warnings
import numba, numpy as np
import grhmc
from grhmc import running, sampling

signal.signal(signal.SIGINT, signal.default_int_handler)
where = sys.argv[1]


def press():
    os.kill(os.getpid(), signal.SIGINT)


def pressing(function, *, before=True):
    def pressed(*arguments, **keywords):
        if before:
            press()
        result = function(*arguments, **keywords)
        if not before:
            press()
        return result

    return pressed


@numba.njit
def density(q, gradient):
    log_density = 0.0
    for _ in range(50):
        for j in range(q.size):
            gradient[j] = -q[j]
            log_density -= 0.01 * q[j] * q[j]
    return log_density


model = grhmc.from_numba(density, 20)
settings = {"seed": 1, "draws": 2000, "tune": 100, "chains": 2, "progress_bar": False}
if where == "twice":
    settings["draws"] = 10**6
    grhmc.sample(model, **settings | {"draws": 10})

    def user():
        time.sleep(0.6)
        press()
        for _ in range(20):  # an impatient one
            time.sleep(0.03)
            press()

    threading.Thread(target=user, daemon=True).start()
elif where == "built":
    running.build_whatever_fails = pressing(running.build_whatever_fails)
elif where == "built and after":
    running.build_whatever_fails = pressing(running.build_whatever_fails, before=False)
elif where == "diagnosed":
    sampling.record_diagnosis = pressing(sampling.record_diagnosis)
elif where == "warned of":
    running.show_warnings = pressing(running.show_warnings)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    result = grhmc.sample(model, **settings)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # those that come after the result are nobody's affair
n_draws = result["posterior"]["x"].sizes["draw"]
print(n_draws, result["posterior"]["x"].notnull().values.all(), [str(entry.message)[:60] for entry in caught])
"""


@pytest.mark.parametrize(
    "where",
    [
        "twice",
        "diagnosed",
        *(pytest.param(where, marks=pytest.mark.nightly) for where in ("built", "built and after", "warned of")),
    ],
)
def test_ctrl_c_loses_nothing_whenever_it_comes(where: str) -> None:
    """A second one, of an impatient user; one while the complete result is built, diagnosed, or warned of."""
    n_draws, is_whole, *said = run_script(AGAIN_AND_AGAIN, where).split(maxsplit=2)
    assert is_whole == "True"
    if where == "twice":
        assert 0 < int(n_draws) < 10**6
        assert "interrupted: the result holds" in said[0]
    else:
        assert int(n_draws) == 2000
        assert ("nobody has looked" in said[0]) == (where == "diagnosed")


SLOW = """
import os, signal, sys, threading, time
import numpy as np
import grhmc

n_calls = n_before = 0


def interrupt(*_):
    global n_before
    n_before = n_calls
    raise KeyboardInterrupt


signal.signal(signal.SIGINT, interrupt)


def density(q):
    global n_calls
    if threading.current_thread() is not threading.main_thread():
        n_calls += 1
        if n_calls == 3:
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)
    return -0.5 * float(q @ q), -q


try:
    grhmc.sample(grhmc.from_python(density, 2), seed=1, chains=2, cores=2, progress_bar=False)
except KeyboardInterrupt as error:
    print(n_calls - n_before, error.partial_result["tuning"].sizes["chain"])
"""


def test_ctrl_c_is_answered_within_a_few_gradients_of_a_slow_density() -> None:
    """At once but for the tenth of a second in which the main thread looks; more only on a busy machine."""
    n_gradients, n_chains = map(int, run_script(SLOW).split())
    assert n_gradients < 60  # they were 200 of each chain, or as many as its trajectory had
    assert n_chains == 2


EXTENDED = """
import os, signal, sys, threading, time, warnings
import numpy as np
import grhmc

signal.signal(signal.SIGINT, signal.default_int_handler)
settings = {"seed": 1, "chains": 2, "tune": 20, "scale": np.ones(10), "progress_bar": False, "diagnose": False}
precision, pace, seen = np.geomspace(1.0, 1e4, 10), 0.0, []


def density(q):
    time.sleep(pace)
    return -0.5 * float(q @ (precision * q)), -precision * q


def interrupt_when_trajectories_take_long(snapshots):
    global pace
    n_draws = [snapshot.draws_done for snapshot in snapshots]
    if not seen and min(n_draws) > 30:  # warm-up has 20
        pace = 0.02
        seen.append(n_draws)
    elif 0 < len(seen) < 8 and all(now > before for now, before in zip(n_draws, seen[-1])):
        seen.append(n_draws)  # several draws may be in one block; one that took long has ended after a few
        if len(seen) == 8:
            os.kill(os.getpid(), signal.SIGINT)


model = grhmc.from_python(density, 10)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    result = grhmc.sample(model, draws=100_000, cores=2, callback=interrupt_when_trajectories_take_long, **settings)
pace = 0.0
extended = grhmc.extend(result, model, draws=5, progress_bar=False, diagnose=False)
n_draws = extended["posterior"].sizes["draw"]
whole = grhmc.sample(model, draws=n_draws, **settings)
is_same = np.array_equal(extended["posterior"]["x"], whole["posterior"]["x"])
n_gradients = result["sample_stats"]["n_gradients"].values.mean()
print(result["posterior"].sizes["draw"], n_draws, is_same, len(caught), n_gradients)
"""


@pytest.mark.nightly
def test_a_run_that_was_interrupted_within_trajectories_can_be_extended() -> None:
    n_draws, n_extended, is_same, n_warnings, n_gradients = run_script(EXTENDED).split()
    assert float(n_gradients) > 100.0  # of 20 ms each: longer than a run that is to end waits
    assert int(n_extended) >= int(n_draws) + 5 > 5
    assert is_same == "True"
    assert n_warnings == "1"


def test_handlers_of_the_users_own_are_called_and_put_back() -> None:
    before, heard = signal.getsignal(signal.SIGINT), []

    def handler(_number: int, _frame: Any) -> None:
        heard.append(True)
        raise TimeoutError("made up")

    signal.signal(signal.SIGINT, handler)
    try:
        with CtrlC() as ctrl_c:
            signal.raise_signal(signal.SIGINT)
            assert heard == [True]
            assert isinstance(ctrl_c.error, TimeoutError)
            with pytest.raises(TimeoutError), ctrl_c.raising():
                signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is handler
        signal.signal(signal.SIGINT, lambda *_: heard.append(False))
        with CtrlC() as ctrl_c:
            signal.raise_signal(signal.SIGINT)
        assert not ctrl_c.is_pressed  # a handler that does not raise has dealt with it
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with CtrlC():
            assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_elsewhere_than_in_the_main_thread_signals_are_left_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    found = []

    def enter() -> None:
        with CtrlC():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert found == [before]
