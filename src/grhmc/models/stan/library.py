"""A Stan model behind the C interface of BridgeStan, whoever compiled it: load, construct, ask, constrain."""

from __future__ import annotations

import ctypes
import functools
import os
import weakref
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from grhmc.models.stan.coordinates import name_stan_coordinates

_MESSAGE = ctypes.POINTER(ctypes.c_char_p)
_ADDRESS = ctypes.c_void_p

# Name: (result, arguments). From bridgestan.h, version 2.
_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "bs_model_construct": (_ADDRESS, (ctypes.c_char_p, ctypes.c_uint, _MESSAGE)),
    "bs_model_destruct": (None, (_ADDRESS,)),
    "bs_free_error_msg": (None, (_ADDRESS,)),
    "bs_name": (ctypes.c_char_p, (_ADDRESS,)),
    "bs_model_info": (ctypes.c_char_p, (_ADDRESS,)),
    "bs_param_names": (ctypes.c_char_p, (_ADDRESS, ctypes.c_bool, ctypes.c_bool)),
    "bs_param_unc_names": (ctypes.c_char_p, (_ADDRESS,)),
    "bs_param_num": (ctypes.c_int, (_ADDRESS, ctypes.c_bool, ctypes.c_bool)),
    "bs_param_unc_num": (ctypes.c_int, (_ADDRESS,)),
    "bs_param_constrain": (
        ctypes.c_int,
        (_ADDRESS, ctypes.c_bool, ctypes.c_bool, _ADDRESS, _ADDRESS, _ADDRESS, _MESSAGE),
    ),
    "bs_param_unconstrain": (ctypes.c_int, (_ADDRESS, _ADDRESS, _ADDRESS, _MESSAGE)),
    "bs_log_density_gradient": (
        ctypes.c_int,
        (_ADDRESS, ctypes.c_bool, ctypes.c_bool, _ADDRESS, _ADDRESS, _ADDRESS, _MESSAGE),
    ),
    "bs_rng_construct": (_ADDRESS, (ctypes.c_uint, _MESSAGE)),
    "bs_rng_destruct": (None, (_ADDRESS,)),
}


class StanLibrary:
    """A shared library with the BridgeStan interface.

    Parameters
    ----------
    path : path
        Of the library.

    Raises
    ------
    ValueError
        If it cannot be loaded, or is no such library.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).resolve()
        try:
            self._library = ctypes.CDLL(str(self.path))
        except OSError as error:
            raise ValueError(f"the library {self.path} cannot be loaded: {error}") from error
        for name, (result, arguments) in _FUNCTIONS.items():
            try:
                function = getattr(self._library, name)
            except AttributeError:
                raise ValueError(
                    f"the library {self.path} has no function {name}: it is not a Stan model compiled by BridgeStan 2, "
                    "such as bridgestan.compile_model makes"
                ) from None
            function.restype = result
            function.argtypes = arguments
            setattr(self, name.removeprefix("bs_"), function)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def address(self, name: str) -> int:
        """Address of one of its functions."""
        return ctypes.cast(getattr(self._library, name), _ADDRESS).value or 0

    def take_message(self, message: ctypes.c_char_p) -> str:
        """Read an error message and free it."""
        text = (message.value or b"").decode(errors="replace").strip()
        if message.value is not None:
            self.free_error_msg(ctypes.cast(message, _ADDRESS))
        return text or "Stan gave no reason"


class StanInstance:
    """A Stan program with its data.

    Parameters
    ----------
    library : StanLibrary
    data : str
        JSON.
    seed : int
        For random numbers in ``transformed data`` and ``generated quantities``.
    simpler : callable, optional
        Makes instances of the same program without its generated quantities, and without its transformed parameters
        too, for libraries that cannot leave these out. Called at the first draw whose outputs fail.

    Attributes
    ----------
    is_thread_safe : bool
        Whether the library was built with STAN_THREADS, so that threads may evaluate at the same time.
    n_parameters : int
        How many of `names` are parameters; they come first.
    names : tuple of str
        Stan's flat names of the outputs: parameters, transformed parameters, generated quantities.
    coordinate_names : tuple of str
        Of the unconstrained parameters, ``beta[2]``.

    Raises
    ------
    ValueError
        With Stan's message, if the data do not fit the program.
    """

    def __init__(
        self,
        library: StanLibrary,
        data: str,
        seed: int,
        simpler: Callable[[], Sequence[StanInstance]] | None = None,
    ) -> None:
        self._simpler = simpler
        self.library = library
        self.data = data
        self.seed = seed
        message = ctypes.c_char_p()
        self.pointer: int = library.model_construct(data.encode(), seed, ctypes.byref(message)) or 0
        if not self.pointer:
            raise ValueError(f"Stan cannot make the model from this program and data: {library.take_message(message)}")
        weakref.finalize(self, library.model_destruct, self.pointer)
        self.name = library.name(self.pointer).decode()
        self.is_thread_safe = "STAN_THREADS=true" in library.model_info(self.pointer).decode()
        self._has_generated_quantities = library.param_num(self.pointer, True, True) > library.param_num(
            self.pointer, True, False
        )
        self.names = _split(library.param_names(self.pointer, True, self._has_generated_quantities))
        self.dim: int = library.param_unc_num(self.pointer)
        self.n_parameters = len(parameters := _split(library.param_names(self.pointer, False, False)))
        self.coordinate_names = name_stan_coordinates(
            _split(library.param_unc_names(self.pointer)),
            parameters,
            self.constrain_parameters,
        )

    def constrain(self, draws: np.ndarray) -> tuple[np.ndarray, np.ndarray, str]:
        """Evaluate all outputs.

        Parameters
        ----------
        draws : ndarray, shape (n, dim)
            Unconstrained.

        Returns
        -------
        values : ndarray, shape (n, len(names))
            NaN what Stan cannot compute: where it raises an error, the parameters alone may be fine, or these and the
            transformed parameters.
        n_failed : ndarray of int, shape (len(names),)
            In how many rows each output is missing.
        message : str
            Stan's, for the last row that failed.

        Notes
        -----
        Random numbers of a draw's generated quantities come from a generator seeded by the draw itself and the model's
        seed. So they depend on nothing else: not on the other draws, the number of chains, or an interruption.
        """
        draws = np.ascontiguousarray(draws, dtype=np.float64)
        values = np.empty((len(draws), len(self.names)))
        n_failed, message = np.zeros(len(self.names), dtype=np.int64), ""
        for row, output in zip(draws, values, strict=True):
            text = self._constrain_row(row, output, True, self._has_generated_quantities)
            if text is not None:
                message = text
                n_failed[self._constrain_in_part(row, output) :] += 1
        return values, n_failed, message

    def _constrain_row(
        self, row: np.ndarray, output: np.ndarray, with_transformed: bool, with_generated: bool
    ) -> str | None:
        """Write outputs of one draw; Stan's message if they cannot be computed, and then they are not written."""
        library, message = self.library, ctypes.c_char_p()
        rng = library.rng_construct(zlib.crc32(row.tobytes(), self.seed), None) if with_generated else None
        try:
            status = library.param_constrain(
                self.pointer,
                with_transformed,
                with_generated,
                row.ctypes.data,
                output.ctypes.data,
                rng,
                ctypes.byref(message),
            )
        finally:
            if rng is not None:
                library.rng_destruct(rng)
        return library.take_message(message) if status else None

    def _constrain_in_part(self, row: np.ndarray, output: np.ndarray) -> int:
        """Write the first outputs, as many as can be computed, and NaN behind them; their number."""
        output.fill(np.nan)
        for instance, with_transformed, n_outputs in self._parts:
            known = np.empty(n_outputs)
            if instance._constrain_row(row, known, with_transformed, False) is None:
                output[:n_outputs] = known
                return n_outputs
        return 0

    @functools.cached_property
    def _parts(self) -> list[tuple[StanInstance, bool, int]]:
        """Who computes the first outputs, with transformed parameters or without, and how many: most first."""
        instances = (self,) if self._simpler is None else tuple(self._simpler())
        parts = []
        for instance in instances:
            for with_transformed in (True, False):
                names = _split(self.library.param_names(instance.pointer, with_transformed, False))
                if names == self.names[: len(names)]:
                    parts.append((instance, with_transformed, len(names)))
        return sorted(parts, key=lambda part: -part[2])

    def constrain_parameters(self, draws: np.ndarray) -> np.ndarray:
        """The parameters alone; NaN where they cannot be computed."""
        values = np.full((len(draws), self.n_parameters), np.nan)
        for row, output in zip(np.ascontiguousarray(draws, dtype=np.float64), values, strict=True):
            known = np.empty(self.n_parameters)
            if self._constrain_row(row, known, False, False) is None:
                output[:] = known
        return values

    def unconstrain(self, parameters: np.ndarray) -> np.ndarray:
        """The point, shape (dim,), of parameters in Stan's order, shape (n_parameters,).

        Raises
        ------
        ValueError
            With Stan's message, if they are outside the support.
        """
        values, point, message = np.ascontiguousarray(parameters), np.empty(self.dim), ctypes.c_char_p()
        if self.library.param_unconstrain(self.pointer, values.ctypes.data, point.ctypes.data, ctypes.byref(message)):
            raise ValueError(self.library.take_message(message))
        return point


def _split(names: bytes) -> Sequence[str]:
    return tuple(names.decode().split(",")) if names else ()
