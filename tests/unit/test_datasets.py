"""The shipped data are the published ones, standardized as the papers say."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from grhmc import datasets

LOADERS = [(datasets.pima, 532, 7), (datasets.german_credit, 1000, 24)]


@pytest.mark.parametrize(("load", "n", "n_covariates"), LOADERS)
def test_shapes_are_those_of_the_paper(load, n, n_covariates):
    data = load()
    assert data.design_matrix.shape == (n, 1 + n_covariates)
    assert data.design_matrix.dtype == np.float64
    assert data.design_matrix.flags.c_contiguous
    assert data.response.shape == (n,)
    assert len(data.names) == 1 + n_covariates
    assert len(set(data.names)) == len(data.names)


@pytest.mark.parametrize(("load", "n", "n_covariates"), LOADERS)
def test_covariates_have_mean_zero_and_unit_sample_variance(load, n, n_covariates):
    covariates = load().design_matrix[:, 1:]
    np.testing.assert_allclose(covariates.mean(axis=0), 0.0, atol=1e-13)
    # The sum of squares tells the denominator n - 1 from n.
    np.testing.assert_allclose((covariates**2).sum(axis=0), n - 1, rtol=1e-12)


@pytest.mark.parametrize(("load", "n", "n_covariates"), LOADERS)
def test_intercept_comes_first(load, n, n_covariates):
    data = load()
    assert data.names[0] == "intercept"
    np.testing.assert_array_equal(data.design_matrix[:, 0], 1.0)


@pytest.mark.parametrize(("load", "n", "n_covariates"), LOADERS)
def test_raw_columns_are_in_the_order_of_the_design_matrix(load, n, n_covariates):
    data = load()
    assert tuple(data.columns) == data.names[1:]
    for index, values in enumerate(data.columns.values(), start=1):
        assert values.shape == (n,)
        assert np.corrcoef(values, data.design_matrix[:, index])[0, 1] == pytest.approx(1.0)


def test_pima_is_the_test_set_followed_by_the_training_set():
    # Facts of R's MASS::Pima.te (332 rows, 109 cases) and MASS::Pima.tr (200 rows, 68 cases).
    response = datasets.pima().response
    assert response[:332].sum() == 109
    assert response[332:].sum() == 68


def test_pima_first_row_is_in_its_own_units():
    columns = datasets.pima().columns
    first = {name: values[0] for name, values in columns.items()}
    expected = {"npreg": 6, "glu": 148, "bp": 72, "skin": 35, "bmi": 33.6, "ped": 0.627, "age": 50}
    assert first == expected


def test_german_credit_has_300_bad_credits_among_1000():
    data = datasets.german_credit()
    assert data.response.sum() == 300
    assert set(np.unique(data.response)) == {0, 1}


def test_german_credit_ranges_are_those_of_the_uci_file():
    columns = datasets.german_credit().columns
    for name, low, high in [("duration", 4, 72), ("age", 19, 75), ("checking", 1, 4)]:
        assert (columns[name].min(), columns[name].max()) == (low, high)


def test_every_call_returns_fresh_arrays():
    first, second = datasets.pima(), datasets.pima()
    first.design_matrix[0, 1] = 99.0
    first.columns["glu"][0] = 99.0
    assert second.design_matrix[0, 1] != 99.0
    assert second.columns["glu"][0] == 148.0


def test_fields_cannot_be_replaced():
    with pytest.raises(dataclasses.FrozenInstanceError):
        datasets.pima().response = np.zeros(532)  # pyright: ignore[reportAttributeAccessIssue]


def test_inflation_is_a_series_of_252_quarters_that_begins_with_zero():
    y = datasets.us_inflation()
    assert y.shape == (252,)
    assert list(y[:3]) == [0.0, 0.4982, 0.1241]
    y[0] = 5.0
    assert datasets.us_inflation()[0] == 0.0
