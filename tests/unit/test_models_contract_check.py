"""`LogDensity.check` passes models that keep the contract, and finds every kind that does not."""

import ctypes
import time
from typing import Any

import numba
import numpy as np
import pytest

import grhmc
from grhmc.models import DENSITY_SIGNATURE, ContractError, Variable, from_python


def normal(q):
    return -0.5 * q @ q, -q


def status(model: grhmc.LogDensity, **options) -> dict[str, str]:
    return {check.name: check.status for check in model.check(**options).checks}


class Custom(grhmc.LogDensity):
    """A two-dimensional normal whose parts can be replaced by broken ones."""

    def __init__(self, f=normal, *, rebuild=None, **parts: Any):
        self.density = from_python(f, 2)
        self.parts = parts
        super().__init__(
            2,
            self.density.address,
            variables=[Variable("a", ()), Variable("b", (1,))],
            coordinate_names=["a", "b[0]"],
            rebuild=rebuild,
        )

    def take_exception(self):
        return self.density.take_exception()

    def initial_point(self, rng):
        return self.parts.get("initial_point", lambda rng: rng.normal(size=2))(rng)

    def constrain(self, draws):
        return self.parts.get("constrain", super().constrain)(draws)

    def for_thread(self):
        return self.parts.get("for_thread", lambda: self)()


@numba.cfunc(DENSITY_SIGNATURE)
def normal_in_c(dim, q, gradient, log_density, user_data):
    log_density[0] = 0.0
    for j in range(dim):
        gradient[j] = -q[j]
        log_density[0] -= 0.5 * q[j] ** 2
    return 0


@numba.cfunc(DENSITY_SIGNATURE)
def normal_that_writes_to_q(dim, q, gradient, log_density, user_data):
    log_density[0] = 0.0
    for j in range(dim):
        gradient[j] = -q[j]
        log_density[0] -= 0.5 * q[j] ** 2
        q[j] = 0.0
    return 0


def from_c(function):
    address = ctypes.cast(function.ctypes, ctypes.c_void_p).value or 0
    return grhmc.from_pointer(address, 2, keep_alive=[function])


@pytest.mark.parametrize("dim", [1, 3, 200])
def test_a_good_model_passes(dim, capsys):
    report = from_python(normal, dim, {"v": dim}).check()
    assert report.passed
    assert {check.status for check in report.checks} == {"ok"}
    assert capsys.readouterr().out == f"{report}\n"
    report.raise_if_failed()


def test_a_compiled_model_passes_and_says_that_it_cannot_be_pickled():
    found = status(from_c(normal_in_c))
    assert found.pop("pickling") == "note"
    assert set(found.values()) == {"ok"}


def test_a_front_end_with_a_transform_passes():
    assert Custom(constrain=lambda draws: {"a": np.exp(draws[:, 0]), "b": draws[:, 1:]}).check().passed


BROKEN = {
    "gradient": Custom(lambda q: (-0.5 * q @ q, -2 * q)),
    "starting point": Custom(lambda q: (-np.inf, q)),
    "starting point: shape": Custom(initial_point=lambda rng: np.zeros(3)),
    "starting point: type": Custom(initial_point=lambda rng: ["a", "b"]),
    "starting point: chance": Custom(initial_point=lambda rng: np.random.default_rng().normal(size=2)),
    "starting point: raises": Custom(lambda q: 1 / 0),
    "variables: names": Custom(constrain=lambda draws: {"b": draws[:, 1:], "a": draws[:, 0]}),
    "variables: shape": Custom(constrain=lambda draws: {"a": draws[:, 0], "b": draws[:, 1]}),
    "variables: number": Custom(constrain=lambda draws: {"a": draws[:1, 0], "b": draws[:, 1:]}),
    "variables: type": Custom(constrain=lambda draws: {"a": draws[:, 0].astype(str), "b": draws[:, 1:]}),
    "variables: together": Custom(constrain=lambda draws: {"a": draws[:, 0] - draws[:1, 0], "b": draws[:, 1:]}),
    "variables: raises": Custom(constrain=lambda draws: {}["a"]),
    "pickling": Custom(rebuild=(grhmc.from_python, (normal, 2))),
}


@pytest.mark.parametrize("what", BROKEN)
def test_every_breach_is_found(what):
    found = status(BROKEN[what])
    assert [name for name, value in found.items() if value == "failed"] == [what.partition(":")[0]]


def test_a_density_that_remembers_is_found():
    calls = []

    def remembers(q):
        calls.append(q)
        return -0.5 * q @ q + 1e-3 * len(calls), -q

    assert status(from_python(remembers, 2))["repeatable"] == "failed"


def test_constrain_must_not_change_the_draws():
    def changes(draws):
        draws += 1
        return {"a": draws[:, 0], "b": draws[:, 1:]}

    assert status(Custom(constrain=changes))["variables"] == "failed"


def test_a_density_must_not_change_its_argument():
    report = from_c(normal_that_writes_to_q).check()
    assert "changes its argument q" in report.failures[0].detail


def shares_memory(own):
    """A density that keeps q in a place that all threads share, unless each has its own."""

    def f(q):
        own[:] = q
        time.sleep(1e-4)
        return -0.5 * own @ own, -own

    return f


def test_a_density_that_threads_may_not_share_is_found():
    assert status(Custom(shares_memory(np.empty(2))))["threads"] == "failed"
    safe = Custom(shares_memory(np.empty(2)), for_thread=lambda: Custom(shares_memory(np.empty(2))))
    assert status(safe)["threads"] == "ok"


def test_what_only_deserves_a_note():
    def fails_far_away(q):
        if np.abs(q).max() > 1e6:
            raise OverflowError("too far")
        return -0.5 * q[0] ** 2, np.array([-q[0], 0.0])

    report = from_python(fails_far_away, 2, ["a", "b"]).check()
    assert report.passed
    notes = {check.name: check for check in report.checks if check.status == "note"}
    assert list(notes) == ["far away", "every coordinate"]
    assert isinstance(notes["far away"].error, OverflowError)
    assert "does not depend on b" in notes["every coordinate"].detail


def test_the_report_raises_for_a_test_suite():
    report = from_python(lambda q: (-0.5 * q @ q, -2 * q), 2).check()
    with pytest.raises(ContractError, match="failed  gradient") as caught:
        report.raise_if_failed()
    assert isinstance(caught.value.__cause__, grhmc.GradientError)


def test_points_may_be_given():
    model = from_python(lambda q: (-q[0] if q[0] > 10 else -np.inf, [-1.0]), 1)
    assert not model.check().passed
    assert model.check([[11.0], [20.0]]).passed
    assert model.check([12.0]).passed
    with pytest.raises(ValueError, match=r"q must have shape \(1,\)"):
        model.check([[1.0, 2.0]])


@pytest.mark.parametrize("options", [{"n_points": 0}, {"n_threads": True}, {"n_threads": 1.5}])
def test_wrong_options_are_rejected(options):
    with pytest.raises(ValueError, match="must be an integer of at least 1"):
        from_python(normal, 1).check(**options)
