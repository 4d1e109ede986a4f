"""Find every array of a chain's state, by name."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np


def walk_arrays(part: Any, prefix: str = "") -> list[tuple[str, np.ndarray]]:
    """All arrays within a process or its records, with the path to each."""
    if dataclasses.is_dataclass(part):
        items = [(item.name, getattr(part, item.name)) for item in dataclasses.fields(part)]
    else:
        items = list(part._asdict().items())
    found = []
    for name, value in items:
        if isinstance(value, np.ndarray):
            found.append((prefix + name, value))
        elif isinstance(value, tuple) or dataclasses.is_dataclass(value):
            found += walk_arrays(value, f"{prefix}{name}.")
    return found
