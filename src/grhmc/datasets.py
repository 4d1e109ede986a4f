"""Load the data sets that ship with the package: those of the demo and of the papers."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib import resources

import numpy as np

__all__ = ["BinaryRegressionData", "german_credit", "pima", "us_inflation"]


@dataclass(frozen=True, eq=False)
class BinaryRegressionData:
    """A binary response and its covariates, raw and standardized.

    Every call of a loader returns fresh arrays: changing them changes nothing else.

    Attributes
    ----------
    name : str
        The data set's name.
    design_matrix : ndarray, shape (n, 1 + n_covariates), float64
        A first column of ones for the intercept, then the covariates, each scaled to mean 0 and
        standard deviation 1 (denominator n - 1). C-contiguous.
    response : ndarray, shape (n,), int64
        0 or 1; `response_name` says what 1 means.
    response_name : str
        What a response of 1 means.
    names : tuple of str, length 1 + n_covariates
        Names of the columns of `design_matrix`; the first is "intercept".
    columns : dict from str to ndarray, shape (n,), float64
        The covariates in their own units, by name, in the order of `names`.
    """

    name: str
    design_matrix: np.ndarray
    response: np.ndarray
    response_name: str
    names: tuple[str, ...]
    columns: dict[str, np.ndarray]


def pima() -> BinaryRegressionData:
    """Diabetes among 532 women of Pima heritage, seven covariates.

    Returns
    -------
    BinaryRegressionData
        Covariates npreg, glu, bp, skin, bmi, ped, age; the response is 1 where diabetes was
        diagnosed.

    References
    ----------
    Smith et al. (1988); the complete cases, ``Pima.te`` then ``Pima.tr``, of R's package MASS
    (Venables & Ripley, 2002). Target BLR1 of Tran & Kleppe (2024).
    """
    return _load("pima", response_column="type", one="Yes", response_name="diabetes")


def german_credit() -> BinaryRegressionData:
    """Credit risk of 1000 loan applicants, 24 numeric covariates.

    Returns
    -------
    BinaryRegressionData
        The response is 1 where the credit went bad. ``amount_100dm`` is in units of 100 DM.

    References
    ----------
    Hofmann (1994), Statlog (German Credit Data), UCI Machine Learning Repository, in its numeric
    coding. Target BLR2 of Tran & Kleppe (2024).
    """
    return _load("german_credit", response_column="bad_credit", one="1", response_name="bad_credit")


def us_inflation() -> np.ndarray:
    """US consumer price inflation, quarterly, in per cent.

    Returns
    -------
    ndarray, shape (252,), float64
        A fresh array; the first value is 0.

    References
    ----------
    Public statistics of the US Bureau of Labor Statistics. The series of Tran & Kleppe's (2024) programs, for the model
    of Stock & Watson (2007).
    """
    text = resources.files("grhmc").joinpath("data", "us_inflation.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return np.array([float(row["inflation"]) for row in rows])


def _load(name: str, *, response_column: str, one: str, response_name: str) -> BinaryRegressionData:
    """Read ``data/<name>.csv``; `one` is the text of a response of 1."""
    text = resources.files("grhmc").joinpath("data", f"{name}.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    columns = {
        column: np.array([float(row[column]) for row in rows]) for column in rows[0] if column != response_column
    }
    response = np.array([row[response_column] == one for row in rows], dtype=np.int64)
    standardized = [(values - values.mean()) / values.std(ddof=1) for values in columns.values()]
    return BinaryRegressionData(
        name=name,
        design_matrix=np.column_stack([np.ones(len(rows)), *standardized]),
        response=response,
        response_name=response_name,
        names=("intercept", *columns),
        columns=columns,
    )
