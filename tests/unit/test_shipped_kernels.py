"""Kernels compiled ahead of time: called as the compiled ones are, and left alone where they do not fit."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numba.core import config

from grhmc import _shipped_kernels
from grhmc._jit import ShippedDispatcher, inner_kernel, is_compiled, kernel, source_fingerprint
from grhmc._kernel_struct import passed_by_reference
from grhmc._shipped_kernels import MANIFEST, NativeFunction, shipped_library, types_of
from grhmc.events.random_numbers import generator_state, normal
from loaded_module import load_module

IS_INTERPRETED = config.DISABLE_JIT  # pyright: ignore[reportAttributeAccessIssue]
pytestmark = pytest.mark.skipif(IS_INTERPRETED, reason="nothing is compiled")

ROOT = Path(__file__).parents[2]


compile_ahead = load_module(ROOT / "build_hooks" / "compile_ahead.py")


class Pair(NamedTuple):
    number: float
    row: np.ndarray


@passed_by_reference
class State:
    matrix: np.ndarray
    pair: Pair
    count: np.recarray
    rng: np.ndarray


@inner_kernel
def _scaled(matrix: np.ndarray, by: float) -> float:
    total = 0.0
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            matrix[i, j] *= by
            total += matrix[i, j]
    return total


@kernel
def all_kinds(state: State, out: np.ndarray, pair: Pair, number: float, index: int, is_added: bool) -> float:
    """Every kind of argument, a callee that is called, a random number, and mathematical functions."""
    state.count[0].n += index
    total = _scaled(state.matrix, state.pair.number) + normal(state.rng)
    for k in range(out.shape[0]):
        out[k] = np.exp(pair.row[k]) * number + (pair.number if is_added else 0.0) + np.log1p(state.pair.row[k])
    return total


@kernel
def is_positive(number: float) -> bool:
    return number > 0.0


@kernel
def twice(number: int) -> int:
    return 2 * number


def _arguments():
    count = np.zeros(1, dtype=[("n", np.int64)]).view(np.recarray)
    state = State(
        matrix=np.arange(6.0).reshape(2, 3),
        pair=Pair(1.5, np.array([1.0, 2.0])),
        count=count,
        rng=generator_state(np.random.default_rng(3)),
    )
    return state, np.zeros(2), Pair(0.25, np.array([-1.0, 1.0])), 2.0, 3, True


def native(function, arguments) -> NativeFunction:
    signature = tuple(function.typeof_pyval(argument) for argument in arguments)
    return NativeFunction(*compile_ahead.compile_kernel(function, signature, "0.o"))


def test_every_kind_of_argument_reaches_machine_code_as_it_reaches_a_compiled_kernel() -> None:
    here, ahead = _arguments(), _arguments()
    expected = all_kinds(*here)
    found = native(all_kinds, ahead)(*ahead)
    assert found == pytest.approx(expected, rel=1e-14)
    np.testing.assert_allclose(ahead[1], here[1], rtol=1e-14)
    np.testing.assert_array_equal(ahead[0].matrix, here[0].matrix)
    assert ahead[0].count[0].n == here[0].count[0].n == 3
    np.testing.assert_array_equal(ahead[0].rng, here[0].rng)


def test_results_are_those_of_python() -> None:
    is_positive_ahead, twice_ahead = native(is_positive, (1.0,)), native(twice, (1,))
    assert is_positive_ahead(2.0) is True
    assert is_positive_ahead(-2.0) is False
    assert twice_ahead(-21) == -42


@passed_by_reference
class Narrow:
    number: np.float32


def test_a_structure_of_other_than_64_bit_words_cannot_be_compiled_ahead() -> None:
    @kernel
    def read(state: Narrow) -> np.float32:
        return state.number

    state = Narrow(number=np.float32(1.0))
    with pytest.raises(TypeError, match="not of 64 bits"):
        compile_ahead.compile_kernel(read, (read.typeof_pyval(state),), "0.o")


def write_archive(file: Path, **changes) -> Path:
    """An archive of `twice`, for ints."""
    made, code = compile_ahead.compile_kernel(twice, (twice.typeof_pyval(1),), "0.o")
    manifest = {
        "fingerprint": source_fingerprint(),
        "triple": _shipped_kernels.llvm.get_process_triple(),
        "features": [],
        "kernels": [vars(made)],
    }
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("0.o", code)
        archive.writestr(MANIFEST, json.dumps(manifest | changes))
    return file


def test_what_is_in_the_archive_is_called_and_what_is_not_is_compiled(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(_shipped_kernels, "ARCHIVE", write_archive(tmp_path / "kernels.zip"))
    shipped_library.cache_clear()
    try:
        shipped, other = kernel(twice.py_func), kernel(is_positive.py_func)
        assert isinstance(shipped, ShippedDispatcher)
        assert not isinstance(other, ShippedDispatcher)
        assert is_compiled(shipped)
        assert shipped(21) == 42
        assert not shipped.overloads, "nothing was compiled"
        assert shipped(1.5) == 3.0
        assert len(shipped.overloads) == 1, "for a double it had to be compiled"
    finally:
        shipped_library.cache_clear()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fingerprint": "of yesterday"}, "other sources"),
        ({"triple": "riscv64-unknown-plan9"}, "riscv64-unknown-plan9"),
        ({"features": ["tea"]}, "no tea"),
        ({"kernels": [{"name": "x"}]}, "missing"),
    ],
)
def test_an_archive_that_does_not_fit_is_left_alone(tmp_path, monkeypatch, caplog, changes, message) -> None:
    monkeypatch.setattr(_shipped_kernels, "ARCHIVE", write_archive(tmp_path / "kernels.zip", **changes))
    shipped_library.cache_clear()
    try:
        with caplog.at_level(logging.INFO, logger="grhmc"):
            assert shipped_library(source_fingerprint()) is None
        assert message in caplog.text
    finally:
        shipped_library.cache_clear()


def test_a_damaged_archive_is_left_alone(tmp_path, monkeypatch) -> None:
    file = write_archive(tmp_path / "kernels.zip")
    file.write_bytes(file.read_bytes()[:100])
    monkeypatch.setattr(_shipped_kernels, "ARCHIVE", file)
    shipped_library.cache_clear()
    assert shipped_library(source_fingerprint()) is None
    shipped_library.cache_clear()


def test_types_are_named_as_numba_names_them() -> None:
    names = types_of((np.zeros(2), 1, 1.0, True))
    assert names == ("array(float64, 1d, C)", "int64", "float64", "bool")


WHOLE_RUN = """
import hashlib, sys
from pathlib import Path
import numpy as np
import grhmc
from grhmc import _shipped_kernels
from grhmc.models.analytic import gaussian

if len(sys.argv) > 1:
    assert Path(sys.argv[1]).samefile(_shipped_kernels.ARCHIVE)
model = gaussian(np.zeros(3), np.eye(3) + 0.9).log_density()
settings = dict(draws=200, tune=400, seed=1, progress_bar=False, diagnose=False)
for process in (grhmc.Discrete(), grhmc.Continuous()):
    result = grhmc.sample(model, process=process, **settings)
    print(hashlib.sha256(result["posterior"]["x"].values.tobytes()).hexdigest())
"""


@pytest.mark.nightly
def test_a_run_with_all_kernels_compiled_ahead_compiles_nothing_and_draws_the_same(tmp_path) -> None:
    """Compiled here for the same kind of processor: the same draws."""
    package = tmp_path / "package" / "grhmc"
    shutil.copytree(ROOT / "src" / "grhmc", package, ignore=shutil.ignore_patterns("*.grhmc", "__pycache__"))
    compile_ahead.write_archive(package / "kernels.zip")
    processor, _ = compile_ahead.TARGETS[compile_ahead.machine()]
    target = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": "", "NUMBA_DISABLE_INTEL_SVML": "1"}
    digests = []
    for folder, archive in ((package.parent, [str(package / "kernels.zip")]), (ROOT / "src", [])):
        cache = tmp_path / f"cache{len(digests)}"
        environment = {**os.environ, **target, "PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(cache)}
        command = [sys.executable, "-c", WHOLE_RUN, *archive]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        digests.append(done.stdout)
        compiled = {file.name.partition("-")[0] for file in cache.rglob("*.grhmc")} - {"analytic_densities.gaussian"}
        assert bool(compiled) != bool(archive), compiled
    assert digests[0] == digests[1]
