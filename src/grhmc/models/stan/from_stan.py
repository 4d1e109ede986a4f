"""Models from Stan programs: interpreted, compiled here, or compiled before."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from grhmc.models.stan.blocks import data_names, without_blocks
from grhmc.models.stan.density import StanDensity
from grhmc.models.stan.library import StanInstance, StanLibrary
from grhmc.models.stan.program import Source, compile_program, is_interpreted, read_data, read_program, warn_of_nan


def from_stan(
    program: Any,
    data: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    *,
    backend: str = "auto",
    dims: Mapping[str, Sequence[str]] | None = None,
    coords: Mapping[str, Sequence[Any]] | None = None,
    seed: int | None = None,
) -> StanDensity:
    """Make a model from a Stan program.

    Parameters
    ----------
    program : str, path or bridgestan.StanModel
        The text of a Stan program, the path of a ``.stan`` file, or the path of a model that BridgeStan has compiled
        (``.so``, ``.dylib``, ``.dll``), which needs no package. A ``bridgestan.StanModel`` has its data already; the
        model made from it is a second one of the same library, data and seed.
    data : mapping, str or path, optional
        Values of the program's data, JSON text, or the path of a JSON file. Arrays may be NumPy's; booleans become 0
        and 1. Masked entries are an error.
    backend : {"auto", "stanli", "bridgestan"}
        What runs a program that is not compiled yet: stanli interprets it at once and needs no compiler; bridgestan
        compiles it with a C++ compiler, which takes a minute. "auto" takes what is installed, stanli first.
    dims : mapping of str to sequence of str, optional
        Names of the axes of Stan's variables, by variable.
    coords : mapping of str to sequence, optional
        Labels along these axes.
    seed : int, optional
        For random numbers in ``transformed data`` and ``generated quantities``, 0 to 2**32 - 1; by default that of the
        ``StanModel``, else 0.

    Returns
    -------
    StanDensity
        Its variables are the parameters, transformed parameters and generated quantities. Those of size zero are left
        out: Stan's interface does not mention them.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described, the program is not valid, or the data do not fit it; with Stan's message.
    FileNotFoundError
        If a file does not exist.
    ImportError
        If no backend is installed.

    Warns
    -----
    UserWarning
        If data are NaN and the program does not look for that with ``is_nan``.

    Notes
    -----
    An error in the program, such as ``reject()`` or a covariance that is not positive definite, means "outside the
    support" during sampling. Where generated quantities fail they alone are nan in the result, with a warning; where
    transformed parameters do, these too. The values of generated quantities with random numbers depend on the draw and
    `seed` only.
    """
    is_stan_model = _is_stan_model(program)
    if seed is None:
        seed = program.seed if is_stan_model else 0
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**32:
        raise ValueError(f"seed must be an integer from 0 to 2**32 - 1, got {seed!r}")
    if is_stan_model:
        if data is not None:
            raise ValueError("data must be left out where program is a StanModel, which has its data already")
        return _make(
            Source(os.path.abspath(program.lib_path), "", ""),
            program.data or "{}",
            "auto",
            dict(dims or {}),
            dict(coords or {}),
            seed,
        )
    source, values = read_program(program), read_data(data)
    warn_of_nan(values, source.code)
    return _make(source, json.dumps(values), backend, dict(dims or {}), dict(coords or {}), seed)


def _is_stan_model(program: Any) -> bool:
    bridgestan = sys.modules.get("bridgestan")
    return bridgestan is not None and isinstance(program, bridgestan.StanModel)


def _make(
    source: Source,
    data: str,
    backend: str,
    dims: Mapping[str, Sequence[str]],
    coords: Mapping[str, Sequence[Any]],
    seed: int,
) -> StanDensity:
    path, json_data = compile_program(source, json.loads(data), backend)
    library = StanLibrary(path)
    simpler = None
    if is_interpreted(json_data) and source.code:
        simpler = functools.partial(_make_simpler, source, data, seed, library)
    try:
        instance = StanInstance(library, json_data, seed, simpler)
    except ValueError as error:
        raise _with_missing_data(error, source.code, json.loads(data)) from None
    return StanDensity(instance, dims, coords, (_make, (source, data, backend, dims, coords, seed)))


def _with_missing_data(error: ValueError, code: str, data: Mapping[str, Any]) -> ValueError:
    """Stan's error, led by what data the program asks for and does not get."""
    missing = [name for name in data_names(code) if name not in data]
    if not missing and (code or data):
        return error
    wanted = f"{', '.join(missing)} of the program's data" if missing else "the program's data, if it has any,"
    given = f"given are {', '.join(data)}" if data else "no data were given"
    return ValueError(f"{wanted} are missing; {given}: pass data={{...}}, in the shell --data FILE. {error}")


def _make_simpler(source: Source, data: str, seed: int, library: StanLibrary) -> list[StanInstance]:
    """The program without generated quantities, and the parameters alone: the interpreter computes all or nothing."""
    simpler = []
    for dropped in (("generated quantities",), ("generated quantities", "model", "transformed parameters")):
        shorter = source._replace(code=without_blocks(source.code, dropped))
        _, json_data = compile_program(shorter, json.loads(data), "stanli")
        simpler.append(StanInstance(library, json_data, seed))
    return simpler
