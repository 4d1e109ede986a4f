"""The contract itself: evaluation, constrained draws, pickling."""

import pickle

import numpy as np
import pytest

from grhmc.models import LogDensity, Variable, from_python


def quadratic(q):
    return -0.5 * q @ q, -q


def test_constrain_gives_named_views_of_the_draws():
    model = from_python(quadratic, 8, {"mu": (), "none": (0,), "L": (2, 1, 3), "v": 1})
    draws = np.arange(16.0).reshape(2, 8)
    constrained = model.constrain(draws)
    assert list(constrained) == ["mu", "none", "L", "v"]
    assert [value.shape for value in constrained.values()] == [(2,), (2, 0), (2, 2, 1, 3), (2, 1)]
    assert np.array_equal(constrained["L"][1].ravel(), np.arange(9.0, 15.0))
    assert all(np.shares_memory(constrained[name], draws) for name in ("mu", "L", "v"))


def test_constrain_takes_no_draws_at_all():
    assert from_python(quadratic, 2).constrain(np.empty((0, 2)))["x"].shape == (0, 2)


def test_constrain_rejects_the_wrong_shape():
    with pytest.raises(ValueError, match=r"draws must have shape \(n, 2\), got \(2,\)"):
        from_python(quadratic, 2).constrain(np.zeros(2))


@pytest.mark.parametrize("q", [[1, 2], (1.0, 2.0), np.array([1, 2], np.float32), np.ones((2, 2))[0]])
def test_evaluate_takes_anything_like_a_real_vector(q):
    _, gradient, code = from_python(quadratic, 2).evaluate(q)
    assert code == 0
    assert np.array_equal(gradient, -np.asarray(q))


@pytest.mark.parametrize(
    ("q", "error"),
    [([1.0], ValueError), (np.ones((2, 1)), ValueError), (1.0, ValueError), (["a", "b"], TypeError),
     ([1j, 2], TypeError), (None, TypeError)],
)  # fmt: skip
def test_evaluate_rejects_anything_else(q, error):
    with pytest.raises(error, match="q must"):
        from_python(quadratic, 2).evaluate(q)


def test_masked_arrays_are_rejected_because_the_mask_would_be_lost():
    masked = np.ma.array([0.0, 99.0], mask=[False, True])
    with pytest.raises(ValueError, match="q is a masked array"):
        from_python(quadratic, 2).evaluate(masked)
    with pytest.raises(ValueError, match=r"observed_data\['y'\] is a masked array"):
        LogDensity(2, from_python(quadratic, 2).address, observed_data={"y": masked})


def test_evaluate_passes_nan_on():
    log_density, _, code = from_python(quadratic, 2).evaluate([np.nan, 1.0])
    assert np.isnan(log_density)
    assert code == 1


def test_the_contract_says_what_it_is():
    model = from_python(quadratic, 3, {"mu": (), "beta": (2,)})
    assert model.coordinate_names == ("mu", "beta[0]", "beta[1]")
    assert model.initial_point(np.random.default_rng(0)) is None
    assert model.for_thread() is model
    assert model.take_exception() is None
    assert repr(model) == "<PythonDensity: dim=3, mu, beta[2]>"


def test_module_level_functions_pickle():
    model = pickle.loads(pickle.dumps(from_python(quadratic, 2, iter("ab"))))
    assert model.evaluate([1.0, 2.0])[0] == -2.5
    assert [v.name for v in model.variables] == ["a", "b"]


def test_local_functions_pickle_with_cloudpickle():
    cloudpickle = pytest.importorskip("cloudpickle")
    factor = 2.0
    model = from_python(lambda q: (-factor * q @ q, -2 * factor * q), 2)
    copy = cloudpickle.loads(cloudpickle.dumps(model))
    assert copy.evaluate([1.0, 2.0])[0] == -10


def test_an_address_does_not_pickle():
    with pytest.raises(TypeError, match="means nothing in another process"):
        pickle.dumps(LogDensity(2, 1))


def test_coordinate_names_must_be_distinct():
    with pytest.raises(ValueError, match=r"'a\[0\]' occur more than once"):
        from_python(quadratic, 2, {"a[0]": (), "a": (1,)})


def test_coordinate_names_must_be_as_many_as_coordinates():
    with pytest.raises(ValueError, match="dim = 2 of them; there are 1"):
        LogDensity(2, 1, coordinate_names=["a"])


def test_identity_needs_as_many_entries_as_coordinates():
    with pytest.raises(ValueError, match=r"must override constrain\(\)"):
        LogDensity(2, 1, variables=[Variable("a", (3,))], coordinate_names=["a", "b"])


def test_a_front_end_may_constrain_as_it_likes():
    class Simplex(LogDensity):
        def constrain(self, draws):
            return {"p": np.hstack([draws, 1 - draws.sum(axis=1, keepdims=True)])}

    model = Simplex(2, 1, variables=[Variable("p", (3,))], coordinate_names=["p[0]", "p[1]"])
    assert model.constrain(np.zeros((1, 2)))["p"].tolist() == [[0, 0, 1]]
