"""Which variables the result of a run on disk has in which group, once it is diagnosed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from grhmc.models.log_density import LogDensity
from grhmc.results.datatree import library_attributes
from grhmc.results.log_likelihood import GROUP, compute_terms, labelled_terms, warn_of_missing_group
from grhmc.results.record import ChainRecord
from grhmc.storage.result import POSTERIOR, open_result, write_coordinates, write_variables
from grhmc.storage.run_store import RunStore

if TYPE_CHECKING:
    import numpy as np
    import xarray

_SAMPLES = ("chain", "draw")


def move_log_likelihood_on_disk(
    store: RunStore,
    result: xarray.DataTree,
    records: Sequence[ChainRecord],
    model: LogDensity,
    names: tuple[str, ...],
    interruptible: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> xarray.DataTree:
    """Write the group ``log_likelihood``; variables that it holds leave ``posterior``. Warns if it cannot be computed.

    Parameters
    ----------
    store : RunStore
    result : DataTree
        Of this store.
    records : sequence of ChainRecord
        Of the chains that the result has.
    model : LogDensity
    names : tuple of str
        Of the terms.
    interruptible : callable
        Makes the context in which the model's code runs.
    """
    if not names:
        return result

    def compute(record: ChainRecord, draws: np.ndarray) -> xarray.Dataset:
        terms = compute_terms(model, names, draws[None], interruptible)
        return labelled_terms({name: terms[name] for name in names}, model, [record.chain])

    n_draws = min(record.n_draws for record in records)
    try:
        labels = write_variables(store, GROUP, records, n_draws, compute)
        if labels is not None:
            write_coordinates(
                store,
                GROUP,
                labels,
                n_draws,
                library_attributes({str(key): value for key, value in result.attrs.items()}),
            )
    except OSError:
        raise
    except (Exception, KeyboardInterrupt) as error:
        root = store.root()
        if GROUP in root:
            del root[GROUP]
        warn_of_missing_group(error)
        names = ()
    return _without(store, result, lambda name: name in names, _order(result))


def keep_variables_on_disk(store: RunStore, result: xarray.DataTree, names: tuple[str, ...] | None) -> xarray.DataTree:
    """The result, whose groups ``posterior`` and ``warmup_posterior`` hold these variables only; None: all."""
    return result if names is None else _without(store, result, lambda name: name not in names, names)


def _order(result: xarray.DataTree) -> list[str]:
    return [str(name) for name in result[POSTERIOR].data_vars] if POSTERIOR in result.children else []


def _without(
    store: RunStore, result: xarray.DataTree, leaves: Callable[[str], bool], order: Sequence[str]
) -> xarray.DataTree:
    """Delete variables of the model, with the labels that no other one has."""
    root = store.root()
    for group in (POSTERIOR, f"warmup_{POSTERIOR}"):
        if group in result.children:
            dataset = result[group].to_dataset()
            left = [str(name) for name in dataset.data_vars if leaves(str(name))]
            used = {dim for name in dataset.data_vars if name not in left for dim in dataset[name].dims} | {*_SAMPLES}
            left += [str(label) for label, values in dataset.coords.items() if not used.issuperset(values.dims)]
            for name in left:
                del root[f"{group}/{name}"]
    store.consolidate()
    return open_result(store.location, order)
