"""A fault at every call that leaves the package, once chains have drawn: the draws survive each of them.

As a result, perhaps with a warning, or as the `partial_result` of the exception that comes out.
"""

from __future__ import annotations

import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import grhmc
from grhmc import draws_at_stake, running, sampling
from grhmc.models.variables import Variable
from grhmc.run import progress, snapshots

PACKAGE = str(Path(grhmc.__file__).parent)
DRAWS = 30
KINDS = [RuntimeError, MemoryError, KeyboardInterrupt, SystemExit]
EACH_KIND = pytest.mark.parametrize("kind", KINDS)


def density(q: np.ndarray) -> tuple[float, np.ndarray]:
    return -0.5 * float(q @ q), -q


class Constrained(grhmc.LogDensity):
    """A model whose variables are computed."""

    def __init__(self) -> None:
        self.inner = grhmc.from_python(density, 2)
        super().__init__(
            2,
            self.inner.address,
            variables=[Variable("size", (2,), ("side",)), Variable("total", ())],
            coords={"side": ["left", "right"]},
            observed_data={"y": [1.0, 2.0]},
            coordinate_names=["left", "right"],
            keep_alive=[self.inner],
        )

    def constrain(self, draws: np.ndarray) -> dict[str, np.ndarray]:
        return {"size": np.exp(draws), "total": draws.sum(axis=1)}

    def take_exception(self) -> BaseException | None:
        return self.inner.take_exception()


def run(model: Any = None, **settings: Any) -> Any:
    """What comes out, a result or an exception; warnings are not looked at."""
    defaults: dict[str, Any] = {"draws": DRAWS, "tune": 20, "chains": 2, "cores": 1, "seed": 1, "progress_bar": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return grhmc.sample(Constrained() if model is None else model, **(defaults | settings))
        except BaseException as error:
            return error


EXPECTED: dict[str, Any] = {}


def expected_draws() -> Any:
    if not EXPECTED:
        EXPECTED["position"] = run()["unconstrained_posterior"]["position"].to_numpy()
    return EXPECTED["position"]


def assert_draws_survive(outcome: Any) -> None:
    """All draws, as sampled without a fault."""
    result = getattr(outcome, "partial_result", None) if isinstance(outcome, BaseException) else outcome
    assert result is not None, f"{type(outcome).__name__} without the draws: {outcome}"
    position = result["position"] if isinstance(result, dict) else result["unconstrained_posterior"]["position"]
    np.testing.assert_array_equal(np.asarray(position), expected_draws())


class Fault:
    """Raises an exception at the n-th call from the package to a Python function outside it, after the last draw."""

    def __init__(self, number: int, kind: type[BaseException]) -> None:
        self.number, self.kind = number, kind
        self.calls: list[str] = []

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        caller = frame.f_back
        if event != "call" or caller is None or not caller.f_code.co_filename.startswith(PACKAGE):
            return
        if frame.f_code.co_filename.startswith(PACKAGE) or frame.f_code.co_name in ("<lambda>", "__del__"):
            return
        self.calls.append(f"{frame.f_code.co_filename}:{frame.f_code.co_name} from {caller.f_code.co_name}")
        if len(self.calls) == self.number:
            raise self.kind("made up")


def run_with_fault(monkeypatch: pytest.MonkeyPatch, fault: Fault) -> Any:
    """A run whose faults begin where chains have ended and the result is put together."""
    keep = running.worth_keeping

    def begin(records: Any) -> Any:
        kept = keep(records)
        sys.settrace(fault)
        return kept

    with monkeypatch.context() as patch:
        patch.setattr(running, "worth_keeping", begin)
        try:
            return run()
        finally:
            sys.settrace(None)


def check_calls(monkeypatch: pytest.MonkeyPatch, kind: type[BaseException], *, by_file: bool) -> int:
    """Faults at the first call of each function from each place, or at the first into each file; how many."""
    expected_draws()
    without = Fault(0, kind)
    assert_draws_survive(run_with_fault(monkeypatch, without))
    what = [call.partition(":")[0] if by_file else call for call in without.calls]
    numbers = [what.index(call) + 1 for call in dict.fromkeys(what)]
    for number in numbers:
        fault = Fault(number, kind)
        outcome = run_with_fault(monkeypatch, fault)
        assert len(fault.calls) >= number
        try:
            assert_draws_survive(outcome)
            assert is_free_for_other_threads(draws_at_stake._ONE_AT_A_TIME)
        except AssertionError as error:
            error.add_note(f"at call {number}: {fault.calls[number - 1]}")
            raise
    return len(numbers)


@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt])
def test_a_fault_in_each_file_that_is_called_leaves_the_draws(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_calls(monkeypatch, kind, by_file=True) > 15


@pytest.mark.nightly
@EACH_KIND
def test_a_fault_at_each_kind_of_call_leaves_the_draws(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_calls(monkeypatch, kind, by_file=False) > 60


@EACH_KIND
@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (sampling, "record_diagnosis"),
        (draws_at_stake, "build_datatree"),
        (running, "result_attributes"),
        (snapshots, "snapshot"),
        (progress._Silent, "__exit__"),
        (progress._Silent, "update"),
        (Constrained, "constrain"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_fault_in_a_part_leaves_the_draws(kind: Any, owner: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected_draws()
    is_early = name in ("snapshot", "update")  # while chains run: there may be fewer draws, or none

    def fail(*_arguments: Any, **_keywords: Any) -> Any:
        raise kind("made up")

    monkeypatch.setattr(owner, name, fail)
    outcome = run()
    if is_early:
        assert not isinstance(outcome, BaseException) or isinstance(outcome, kind | KeyboardInterrupt)
        assert not isinstance(outcome, BaseException) or hasattr(outcome, "partial_result")
    else:
        assert_draws_survive(outcome)


def test_with_neither_arviz_nor_xarray_the_draws_are_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    expected_draws()

    def fail(*_arguments: Any) -> Any:
        raise MemoryError("made up")

    monkeypatch.setattr(draws_at_stake, "build_datatree", fail)
    monkeypatch.setattr(draws_at_stake, "build_plain_datatree", fail)
    outcome = run()
    assert isinstance(outcome, MemoryError)
    assert isinstance(outcome.partial_result, dict)  # type: ignore[attr-defined]
    assert_draws_survive(outcome)


def test_a_warning_that_is_an_error_has_the_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    expected_draws()

    def warn(*_arguments: Any) -> None:
        warnings.warn("made up", stacklevel=2)

    monkeypatch.setattr(sampling, "record_diagnosis", warn)
    with pytest.raises(UserWarning, match="made up") as raised:
        grhmc.sample(Constrained(), draws=DRAWS, tune=20, chains=2, cores=1, seed=1, progress_bar=False)
    assert_draws_survive(raised.value)


def test_warnings_are_shown_once_and_at_the_callers_line() -> None:
    class Warns(Constrained):
        def constrain(self, draws: np.ndarray) -> dict[str, np.ndarray]:
            warnings.warn("of the model", RuntimeWarning, stacklevel=1)
            if np.any(draws[:, 0] > 0.0):
                raise FloatingPointError("made up")
            return super().constrain(draws)

    with pytest.warns() as caught:
        grhmc.sample(Warns(), draws=DRAWS, tune=20, chains=2, seed=1, progress_bar=False, diagnose=False)
    of_model, of_result = caught
    assert str(of_model.message) == "of the model"
    assert "could not be computed" in str(of_result.message)
    assert of_result.filename == __file__


def test_an_exception_that_cannot_be_changed_has_the_draws_all_the_same() -> None:
    class Fixed(Exception):
        def __setattr__(self, name: str, value: object) -> None:
            raise AttributeError(name)

    error = draws_at_stake.attach(Fixed(), {"position": 1})
    assert error.partial_result == {"position": 1}  # type: ignore[attr-defined]


def test_a_failed_diagnosis_is_in_the_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: Any) -> None:
        raise ZeroDivisionError("made up")

    monkeypatch.setattr(sampling, "record_diagnosis", fail)
    with pytest.warns(UserWarning, match=r"nobody has looked.*ZeroDivisionError: made up"):
        result = grhmc.sample(Constrained(), draws=DRAWS, tune=20, chains=2, seed=1, progress_bar=False)
    assert grhmc.Report.from_json(result.attrs["diagnosis"]).codes == ("not_diagnosed",)


def test_a_run_without_a_posterior_group_is_diagnosed_by_its_unconstrained_draws(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_self: Any, _draws: np.ndarray) -> Any:
        raise FloatingPointError("made up")

    monkeypatch.setattr(Constrained, "constrain", fail)
    with pytest.warns(UserWarning, match="no group posterior"):
        result = grhmc.sample(Constrained(), draws=200, tune=100, seed=1, progress_bar=False)
    assert "not_diagnosed" not in grhmc.Report.from_json(result.attrs["diagnosis"]).codes


@EACH_KIND
def test_a_fault_where_warnings_are_given_back_leaves_the_next_run_free(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: Any) -> Any:
        raise kind("made up")

    with warnings.catch_warnings(), monkeypatch.context() as patch:
        patch.setattr(draws_at_stake.HeldBackWarnings, "__exit__", faulty_exit(fail))
        outcome = run()
    assert_draws_survive(outcome)
    assert is_free_for_other_threads(draws_at_stake._ONE_AT_A_TIME)


def is_free_for_other_threads(lock: Any) -> bool:
    """Whether another thread can have a lock."""

    def can_be_had() -> bool:
        is_free = lock.acquire(timeout=5.0)
        if is_free:
            lock.release()
        return is_free

    with ThreadPoolExecutor(1) as other_thread:
        return other_thread.submit(can_be_had).result()


def faulty_exit(fail: Any) -> Any:
    """That of `HeldBackWarnings`, with a failure where Python's own way of giving warnings back is called."""
    own = draws_at_stake.HeldBackWarnings.__exit__

    def leave(self: Any, *exception: Any) -> None:
        self._catch.__exit__(*exception)
        self._catch = SimpleNamespace(__exit__=fail)
        own(self, *exception)

    return leave
