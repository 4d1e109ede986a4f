"""The metric in the forms of other samplers: order, dense or diagonal, whose models are accepted, Stan's files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grhmc.tuned import Origin, StanMetric, Tuned
from grhmc.tuned.origin import reordered

NAMES = ("b", "a[0]", "a[1]")


def tuned(package: str = "", *, rank: int = 0, sites: Any = ()) -> Tuned:
    """As if found: scales 1, 2, 3 and, with directions, the first two correlated."""
    directions = np.array([[1.0, 1.0, 0.0]])[:rank] / np.sqrt(2.0)
    return Tuned(
        scale=np.array([1.0, 2.0, 3.0]),
        centre=np.zeros(3),
        event_rate=1.0,
        time_to_u_turn=2.0,
        n_gradients=100,
        names=NAMES,
        directions=directions.reshape(rank, 3),
        eigenvalues=np.full(rank, 9.0),
        scale_per_chain=np.ones((1, 3)),
        centre_per_chain=np.zeros((1, 3)),
        event_rate_per_chain=np.ones(1),
        origin=Origin(package, sites),
    )


def test_variances_are_squared_scales_and_directions_make_them_a_covariance() -> None:
    np.testing.assert_array_equal(tuned().inverse_mass_matrix(), [1.0, 4.0, 9.0])
    np.testing.assert_array_equal(tuned().inverse_mass_matrix(dense=True), np.diag([1.0, 4.0, 9.0]))
    # F² = I + 8 u uᵀ with u = (1, 1, 0) / √2
    np.testing.assert_allclose(tuned(rank=1).inverse_mass_matrix(), [[5.0, 8.0, 0.0], [8.0, 20.0, 0.0], [0, 0, 9.0]])
    np.testing.assert_array_equal(tuned(rank=1).inverse_mass_matrix(dense=False), [1.0, 4.0, 9.0])


def test_reordered_moves_rows_and_columns_together() -> None:
    matrix = np.arange(9.0).reshape(3, 3)
    np.testing.assert_array_equal(reordered(matrix, np.array([2, 0, 1]))[0], [8.0, 6.0, 7.0])
    np.testing.assert_array_equal(reordered(matrix[0], np.array([2, 0, 1])), [2.0, 0.0, 1.0])


def test_numpyro_gets_sites_by_name_and_blackjax_sorted_ones() -> None:
    found = tuned("NumPyro", sites=(("b", 1), ("a", 2)))
    assert list(found.for_numpyro()["inverse_mass_matrix"]) == [("b", "a")]
    assert found.for_numpyro()["dense_mass"] is False
    assert found.for_numpyro(dense=True)["dense_mass"] == [("b", "a")]
    assert found.for_numpyro()["adapt_mass_matrix"] is False
    np.testing.assert_array_equal(found.for_blackjax(), [4.0, 9.0, 1.0])
    np.testing.assert_array_equal(found.for_blackjax(dense=True), np.diag([4.0, 9.0, 1.0]))


def test_a_density_of_coordinates_keeps_its_order() -> None:
    np.testing.assert_array_equal(tuned().for_blackjax(), [1.0, 4.0, 9.0])
    np.testing.assert_array_equal(tuned().for_numpyro()["inverse_mass_matrix"], [1.0, 4.0, 9.0])
    np.testing.assert_array_equal(tuned().for_stan().inv_metric, [1.0, 4.0, 9.0])


@pytest.mark.parametrize(
    ("package", "method"),
    [
        ("Stan", "for_pymc"),
        ("NumPyro", "for_pymc"),
        ("PyMC", "for_stan"),
        ("NumPyro", "for_stan"),
        ("Stan", "for_numpyro"),
    ],
)
def test_the_metric_of_another_package_s_model_is_rejected(package: str, method: str) -> None:
    with pytest.raises(ValueError, match=f"{method} cannot use the metric of a {package} model"):
        getattr(tuned(package), method)()


def test_nutpie_takes_none_and_the_error_says_so() -> None:
    with pytest.raises(NotImplementedError, match=r"nutpie .* takes no metric"):
        tuned().for_nutpie()


def test_stan_s_file_holds_what_stan_reads(tmp_path: Path) -> None:
    metric = tuned(rank=1).for_stan()
    assert metric.metric == "dense_e"
    path = metric.save(tmp_path / "metric.json")
    np.testing.assert_array_equal(json.loads(Path(path).read_text())["inv_metric"], metric.inv_metric)
    assert json.loads(StanMetric(np.array([0.5, 2.0])).as_json()) == {"inv_metric": [0.5, 2.0]}
    assert tuned().for_stan().arguments()["metric"] == "diag_e"
    with pytest.raises(ValueError, match=r"path must end in \.json"):
        metric.save(tmp_path / "metric.txt")
