"""Densities of known answer with all kinds of settings: no undocumented exception, no more silent errors than before.

`tests/fuzz.py` says what is counted, and stores the counts with `--update`.
"""

from __future__ import annotations

import math
import sys
from collections import Counter

import pytest

import fuzz
from fuzz_densities import DENSITIES, expectations

pytestmark = pytest.mark.statistical

ALLOWANCE = 3.0
"""Standard deviations of a count by which it may exceed the last one: other seeds of the same sampler do no more."""


def is_worse(n_silent: int, n_before: int) -> bool:
    return n_silent > n_before + ALLOWANCE * math.sqrt(max(n_before, 1))


@pytest.mark.nightly
def test_no_exception_that_is_not_documented_and_no_more_silent_errors_than_before(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Takes about ten minutes; prints the counts beside the last ones."""
    counts, surprises = fuzz.count(DENSITIES)
    before = fuzz.read_counts()
    with capsys.disabled():
        sys.stdout.write("\n" + fuzz.table(counts, before) + "\n")
    assert not surprises, "\n".join(surprises)
    assert not is_worse(fuzz.total(counts)[fuzz.SILENT], fuzz.total(before)[fuzz.SILENT])
    worse = [name for name in counts if is_worse(counts[name][fuzz.SILENT], before[name][fuzz.SILENT])]
    assert worse == []


def test_counts_are_stored_of_every_density() -> None:
    before = fuzz.read_counts()
    assert set(before) == set(DENSITIES)
    assert {sum(counts.values()) for counts in before.values()} == {len(fuzz.SETTINGS)}


def test_a_right_answer_is_right_and_a_wrong_one_is_silent() -> None:
    """Negative control: the same runs, judged against a density that is a quarter of a standard deviation away."""
    density = DENSITIES["normal, 1-d"]
    model, (width, mean, square) = density.model(), expectations(density)
    assert fuzz.run(model, (width, mean, square), fuzz.SETTINGS["default"], seed=1) == fuzz.RIGHT
    assert fuzz.run(model, (width, mean + 0.25, square), fuzz.SETTINGS["default"], seed=1) == fuzz.SILENT
    assert fuzz.run(model, (width, mean, square), fuzz.SETTINGS["one draw"], seed=1) == fuzz.SHORT


def test_an_increase_beyond_chance_is_noticed() -> None:
    assert not is_worse(3, 0)
    assert is_worse(4, 0)
    assert not is_worse(33, 20)
    assert is_worse(34, 20)
    shown = fuzz.table({"a": Counter(right=2, silent=1)}, {"a": Counter(right=3)})
    assert "1 (was 0)" in shown
    assert shown.count("2 (was 3)") == 2


@pytest.mark.parametrize(
    ("name", "square"),
    [
        ("normal, 1-d", 1.0 - math.sqrt(math.pi / 2.0) * math.exp(0.5) * math.erfc(math.sqrt(0.5))),
        ("Cauchy", 0.5),
        ("box", 1.0 - math.pi / 4.0),
    ],
)
def test_means_are_those_of_the_densities(name: str, square: float) -> None:
    """Of x² / (1 + x²), in closed form; that of tanh x is 0. A Monte Carlo error is a hundred times the tolerance."""
    assert expectations(DENSITIES[name])[1:] == pytest.approx((0.0, square), abs=1e-4)
