"""The Stan program of the package prophet, whose wheel brings it compiled by CmdStan, and data for it.

CmdStan itself is not on PyPI, and needs a C++ toolchain; this is a CmdStan executable that pip installs.
"""

from __future__ import annotations

import functools
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

PARAMETERS = ("k", "m", "delta", "sigma_obs", "beta")


def folder() -> Path:
    """Of the installed package."""
    spec = find_spec("prophet")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("cmdstan: pip install prophet")
    return Path(spec.submodule_search_locations[0])


def executable() -> Path:
    return folder() / "stan_model" / "prophet_model.bin"


def program() -> str:
    return (folder() / "stan_model" / "prophet.stan").read_text()


@functools.cache
def data() -> dict[str, Any]:
    """A share's price over two years, with ten changes of trend and a yearly season of order 3: 19 parameters."""
    import pandas
    import prophet

    model = prophet.Prophet(n_changepoints=10, yearly_seasonality=3, weekly_seasonality=False, daily_seasonality=False)
    inputs = asdict(model.preprocess(pandas.read_csv(folder() / "tests" / "data.csv")))
    return {name: np.asarray(value).tolist() for name, value in inputs.items()}
