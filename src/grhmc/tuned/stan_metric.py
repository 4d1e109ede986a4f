"""An inverse metric in the forms in which CmdStan and its kin take it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class StanMetric:
    """An inverse metric for Stan.

    Attributes
    ----------
    inv_metric : ndarray, shape (dim,) or (dim, dim)
        Variances, or a covariance, of the unconstrained parameters in Stan's order.
    """

    inv_metric: np.ndarray

    @property
    def metric(self) -> str:
        """Stan's name of the kind: ``diag_e`` or ``dense_e``."""
        return "diag_e" if self.inv_metric.ndim == 1 else "dense_e"

    def arguments(self) -> dict[str, Any]:
        """``metric`` and ``inv_metric``: arguments of ``sample`` of stanli and of CmdStanPy (1.3 or newer)."""
        return {"metric": self.metric, "inv_metric": self.inv_metric}

    def as_json(self) -> str:
        """The content of CmdStan's ``metric_file``."""
        return json.dumps({"inv_metric": self.inv_metric.tolist()})

    def save(self, path: str | os.PathLike[str]) -> str:
        """Write CmdStan's ``metric_file``, and return its path.

        Parameters
        ----------
        path : path
            By CmdStan's rules its name ends in ``.json``. A file of that name is overwritten.

        Returns
        -------
        str
            For CmdStanPy: ``inv_metric=``, or ``metric=`` before version 1.3. It finds the kind from the content.

        Raises
        ------
        ValueError
            If the name ends otherwise.
        """
        if Path(path).suffix != ".json":
            raise ValueError(f"path must end in .json, or Stan takes the file for an R dump; got {os.fspath(path)!r}")
        Path(path).write_text(self.as_json())
        return os.fspath(path)
