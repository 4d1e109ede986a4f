"""Names of Stan's unconstrained coordinates, in the order in which Stan reads them.

Stan reads the unconstrained values of an array element by element, the last index fastest, but lists their names with
the first index fastest. So names with two or more indices are checked: move a coordinate and see what changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from grhmc.models.stan.names import bracketed, parse_columns, split_name

_STEP = 0.5


def name_stan_coordinates(
    listed: Sequence[str], outputs: Sequence[str], constrain: Callable[[np.ndarray], np.ndarray]
) -> tuple[str, ...]:
    """Name the coordinates.

    Parameters
    ----------
    listed : sequence of str
        Stan's list of unconstrained names.
    outputs : sequence of str
        Flat names of the parameters.
    constrain : callable
        From unconstrained points, shape (n, dim), to parameters, shape (n, len(outputs)); rows may be nan.

    Returns
    -------
    tuple of str
        ``m[1,2]`` for a coordinate that moves this entry only; ``s[2,1]`` for the first of those that move several
        entries of ``s[2]``.
    """
    names = [bracketed(name) for name in listed]
    bases = [split_name(name)[0] for name in listed]
    doubtful = [j for j, name in enumerate(listed) if len(split_name(name)[1]) > 1]
    if not doubtful:
        return tuple(names)
    columns = parse_columns(outputs)
    origin = np.random.default_rng(0).uniform(-1, 1, len(listed))
    before = constrain(origin[np.newaxis])[0]
    counts: Counter[tuple[str, tuple[int, ...]]] = Counter()
    for j in doubtful:
        point = origin.copy()
        point[j] += _STEP
        after = constrain(point[np.newaxis])[0]
        entries = np.argwhere(after[columns[bases[j]]] != before[columns[bases[j]]])
        if len(entries) == 0 or np.any(np.isnan(after)):
            return tuple(names)
        index = _common_start(entries)
        if len(entries) > 1:
            counts[bases[j], index] += 1
            index = (*index, counts[bases[j], index] - 1)
        names[j] = f"{bases[j]}[{','.join(str(i + 1) for i in index)}]"
    return tuple(names)


def _common_start(entries: np.ndarray) -> tuple[int, ...]:
    """The leading indices that all entries share."""
    differs = np.any(entries != entries[0], axis=0)
    length = int(np.argmax(differs)) if differs.any() else entries.shape[1]
    return tuple(int(i) for i in entries[0, :length])
