"""The log density of a Stan model, evaluated through BridgeStan's C interface without Python in between."""

from __future__ import annotations

import ctypes
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from grhmc.models.log_density import LogDensity
from grhmc.models.outputs import Outputs
from grhmc.models.stan import adapter
from grhmc.models.stan.library import StanInstance, StanLibrary
from grhmc.models.stan.names import parse_columns
from grhmc.models.tree_names import parse_dims
from grhmc.models.turns import make_mutex, mutex_functions
from grhmc.models.variables import Variable, as_draws


class StanDensity(LogDensity):
    """A Stan model as a log density; made by `from_stan`.

    Parameters
    ----------
    instance : StanInstance
    dims : mapping of str to sequence of str
        Names of the axes of Stan's variables.
    coords : mapping of str to sequence
        Labels along those axes.
    rebuild : tuple (callable, arguments)
        For pickling.
    mutex : ndarray, optional
        Held during an evaluation, where the library cannot take more than one at a time.
    """

    def __init__(
        self,
        instance: StanInstance,
        dims: Mapping[str, Sequence[str]],
        coords: Mapping[str, Sequence[Any]],
        rebuild: tuple[Callable[..., LogDensity], tuple[Any, ...]],
        mutex: np.ndarray | None = None,
    ) -> None:
        if instance.dim == 0:
            raise ValueError(f"the Stan program {instance.name!r} has no parameters, so there is nothing to sample")
        self.instance = instance
        self._columns = parse_columns(instance.names)
        unknown = sorted(set(dims) - set(self._columns))
        if unknown:
            raise ValueError(
                f"dims names {unknown}, which are no outputs of the Stan program; it has {sorted(self._columns)}"
            )
        self._arguments = (dims, coords, rebuild)
        self._mutex = make_mutex() if mutex is None and not instance.is_thread_safe else mutex
        self._table = _fill_table(instance, self._mutex)
        weakref.finalize(self, _take_message, self._table, instance.library)
        super().__init__(
            instance.dim,
            adapter.adapter_address(),
            user_data=self._table.ctypes.data,
            variables=[
                Variable(name, columns.shape, parse_dims(name, dims[name]) if name in dims else None)
                for name, columns in self._columns.items()
            ],
            coordinate_names=instance.coordinate_names,
            coords=coords,
            keep_alive=(instance, self._table, self._mutex),
            rebuild=rebuild,
        )

    def constrain(self, draws: np.ndarray) -> dict[str, np.ndarray]:
        """Parameters, transformed parameters and generated quantities of unconstrained draws, shape (n, dim).

        What Stan cannot compute is nan, and a warning counts it: the generated quantities of a draw, or its transformed
        parameters too.
        """
        draws = as_draws(draws, self.dim)
        outputs = self.constrain_each(draws)
        if outputs.failed:
            warnings.warn(
                f"Stan could not compute {', '.join(outputs.failed)} in {max(outputs.failed.values())} of {len(draws)} "
                f"draws, where they are nan now: {outputs.message}",
                RuntimeWarning,
                stacklevel=2,
            )
        return outputs.values

    def constrain_each(self, draws: np.ndarray) -> Outputs:
        """The same with counts in place of a warning."""
        values, n_failed, message = self.instance.constrain(draws)
        failed = {name: int(n_failed[columns].max()) for name, columns in self._columns.items()}
        return Outputs(
            {name: values[:, columns] for name, columns in self._columns.items()},
            {name: count for name, count in failed.items() if count},
            message,
        )

    @property
    def start_variables(self) -> tuple[Variable, ...]:
        """The parameters."""
        return tuple(v for v in self.variables if self._columns[v.name].max() < self.instance.n_parameters)

    def unconstrain(self, values: Mapping[str, np.ndarray], point: np.ndarray) -> np.ndarray:
        """A point where some parameters have these values, by Stan's own transforms."""
        parameters = self.instance.constrain_parameters(point[np.newaxis])[0]
        for name, value in values.items():
            parameters[self._columns[name]] = value
        return self.instance.unconstrain(parameters)

    def take_message(self) -> str:
        """Stan's message from the last evaluation that failed, or an empty string; forgets it."""
        return _take_message(self._table, self.instance.library)

    def for_thread(self) -> StanDensity:
        """The same instance, which threads may share if Stan was built for that, with a place for messages of its own.

        Other libraries keep the tape of their automatic differentiation in a global variable that instances, and even
        copies of the library, share: there, one evaluation at a time takes the mutex.
        """
        return StanDensity(self.instance, *self._arguments, mutex=self._mutex)


def _take_message(table: np.ndarray, library: StanLibrary) -> str:
    """Read and free the message in the table."""
    address = int(table[adapter.MESSAGE])
    table[adapter.MESSAGE] = 0
    return library.take_message(ctypes.c_char_p(address)) if address else ""


def _fill_table(instance: StanInstance, mutex: np.ndarray | None) -> np.ndarray:
    table = np.zeros(adapter.N_WORDS, dtype=np.int64)
    table[adapter.MODEL] = instance.pointer
    table[adapter.EVALUATE] = instance.library.address("bs_log_density_gradient")
    table[adapter.FREE] = instance.library.address("bs_free_error_msg")
    if mutex is not None:
        table[adapter.MUTEX] = mutex.ctypes.data
        table[[adapter.LOCK, adapter.UNLOCK]] = mutex_functions()
    return table
