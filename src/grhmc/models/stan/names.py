"""Stan's flat column names (`theta.1.2`) turned into variables with shapes."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

_BRACKETS = re.compile(r"\[([0-9,]+)\]")


def parse_columns(names: Sequence[str]) -> dict[str, np.ndarray]:
    """Group columns by variable.

    Parameters
    ----------
    names : sequence of str
        One per column: a name and 1-based indices, ``theta.1.2`` or ``theta[1,2]``. Parts of tuples and complex
        numbers (``x.1:2.3``, ``z.1.real``) become variables of their own (``x:2``, ``z.real``).

    Returns
    -------
    dict of str to ndarray of int
        The column of every entry: an array of the variable's shape, in the order of first appearance. Whatever the
        order of the columns (Stan's is column-major), ``values[..., columns]`` has the variable's shape.

    Raises
    ------
    ValueError
        If the indices of a variable do not fill an array.
    """
    entries: dict[str, list[tuple[tuple[int, ...], int]]] = {}
    for column, name in enumerate(names):
        base, index = split_name(name)
        entries.setdefault(base, []).append((index, column))
    return {base: _place(base, found) for base, found in entries.items()}


def split_name(name: str) -> tuple[str, tuple[int, ...]]:
    """Split ``theta.1.2`` into its name and its 0-based index."""
    dotted = _BRACKETS.sub(lambda match: "." + match[1].replace(",", "."), name)
    base, index = "", []
    for part in dotted.split(":"):  # after a colon comes the number of a tuple's slot, which belongs to the name
        head, *words = part.split(".")
        base += f":{head}" if base else head
        for word in words:
            if word.isdigit():
                index.append(int(word) - 1)
            else:
                base += f".{word}"
    return base, tuple(index)


def bracketed(name: str) -> str:
    """Write ``theta.1.2`` as ``theta[1,2]``, with Stan's own 1-based indices."""
    base, index = split_name(name)
    return f"{base}[{','.join(str(i + 1) for i in index)}]" if index else base


def _place(base: str, found: list[tuple[tuple[int, ...], int]]) -> np.ndarray:
    n_axes = {len(index) for index, _ in found}
    shape = tuple(max(lengths) + 1 for lengths in zip(*(index for index, _ in found), strict=False))
    columns = np.full(shape, -1, dtype=np.int64)
    if len(n_axes) == 1:
        for index, column in found:
            columns[index] = column
    if len(n_axes) != 1 or np.any(columns < 0) or columns.size != len(found):
        raise ValueError(f"the Stan library gives indices of {base!r} that do not fill an array")
    return columns
