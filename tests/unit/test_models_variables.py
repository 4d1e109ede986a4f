"""Names and shapes: what is accepted, what is rejected, and that the rejection says why."""

import numpy as np
import pytest

from grhmc.models import LogDensity, Variable
from grhmc.models.variables import check_dim, name_coordinates, parse_coords, parse_names, shapes_by_name


def test_without_names_there_is_one_vector():
    assert parse_names(None, 3) == (Variable("x", (3,)),)


def test_a_sequence_names_scalars():
    assert parse_names(["a", "b"], 2) == (Variable("a", ()), Variable("b", ()))
    assert parse_names(np.array(["a", "b"]), 2) == parse_names(iter("ab"), 2)


def test_a_mapping_gives_shapes():
    names = {"mu": (), "empty": (0,), "beta": 2, "L": (2, 1, 3), "n": [np.int64(2)]}
    variables = parse_names(names, 11)
    assert [v.shape for v in variables] == [(), (0,), (2,), (2, 1, 3), (2,)]
    assert parse_names(shapes_by_name(variables), 11) == variables


def test_coordinates_are_named_in_c_order():
    variables = parse_names({"mu": (), "empty": (0,), "beta": (2,), "L": (2, 2)}, 7)
    assert name_coordinates(variables) == (
        "mu", "beta[0]", "beta[1]", "L[0,0]", "L[0,1]", "L[1,0]", "L[1,1]",
    )  # fmt: skip


def test_names_may_hold_commas_and_brackets():
    assert parse_names(["beta[0]", "beta[1,2]", "log sd"], 3)[1].name == "beta[1,2]"


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        ("x", TypeError, r"write \['x'\] for one scalar"),
        (3, TypeError, "got 3 of type int"),
        ({"a", "b"}, TypeError, "of type set"),
        (["a"], ValueError, "dim = 2 of them; got 1"),
        (["a", "a"], ValueError, "'a' occurs more than once"),
        (["a", ""], ValueError, "must not be empty"),
        (["a", " "], ValueError, "must not be empty"),
        (["a", 1], TypeError, "got 1 of type int"),
        (["a", "draw"], ValueError, "'draw' is taken"),
        (["a", "b/c"], ValueError, "must not contain '/'"),
        ({"a": 3}, ValueError, "add up to 3"),
        ({}, ValueError, "add up to 0"),
        ({"a": -2}, ValueError, "negative"),
        ({"a": (2.0,)}, TypeError, "must be an integer or a tuple"),
        ({"a": True}, TypeError, "must be an integer or a tuple"),
        ({"a": None}, TypeError, "must be an integer or a tuple"),
        ({"a": (1,), "a_dim_0": ()}, ValueError, "needed for an axis of 'a'"),
    ],
)
def test_bad_names_are_rejected(names, error, message):
    with pytest.raises(error, match=message):
        parse_names(names, 2)


@pytest.mark.parametrize(
    ("dim", "error"),
    [(0, ValueError), (-1, ValueError), (2.0, TypeError), ("2", TypeError), (True, TypeError)],
)
def test_bad_dimensions_are_rejected(dim, error):
    with pytest.raises(error, match="dim must be"):
        check_dim(dim)


def test_numpy_integers_are_dimensions():
    assert check_dim(np.int32(3)) == 3


def test_dims_must_fit_the_shape():
    with pytest.raises(ValueError, match="one name per axis"):
        LogDensity(2, 1, variables=[Variable("a", (2,), ("row", "column"))])


def test_coords_must_fit_the_shape():
    variables = [Variable("a", (2,), ("school",))]
    assert LogDensity(2, 1, variables=variables, coords={"school": ("A", "B")}).coords
    with pytest.raises(ValueError, match=r"'school' of 'a' has length 2, but coords gives it .* 3"):
        LogDensity(2, 1, variables=variables, coords={"school": list("ABC")})


def test_an_axis_has_one_length():
    variables = [Variable("a", (1,), ("school",)), Variable("b", (2,), ("school",))]
    with pytest.raises(ValueError, match="another variable gives it length 1"):
        LogDensity(3, 1, variables=variables)


def test_a_variable_may_be_its_own_axis():
    assert LogDensity(2, 1, variables=[Variable("a", (2,), ("a",))]).dim == 2


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([("a", 1), ("b", 2)], ["('a', 1)", "('b', 2)"]),
        ([("a", 1), "b"], ["('a', 1)", "b"]),
        ([None, 1.5], ["None", "1.5"]),
        (range(2), [0, 1]),
        (np.array([[1, 2], [3, 4]]), ["[1 2]", "[3 4]"]),
        ((name for name in "ab"), ["a", "b"]),
        ([], []),
    ],
    ids=["tuples", "mixed", "objects", "range", "table", "generator", "empty"],
)
def test_labels_become_one_plain_array(labels, expected):
    array = parse_coords({"who": labels})["who"]
    assert array.tolist() == expected
    assert array.dtype.kind in "iUf"


@pytest.mark.parametrize(
    ("coords", "error", "message"),
    [
        ({"a": "text"}, TypeError, "must be a sequence of labels"),
        ({"a": 3}, TypeError, "needs none"),
        ({1: ["a"]}, TypeError, "must name axes by strings"),
        ({"draw": ["a"]}, ValueError, "draw"),
        ({"a/b": ["a"]}, ValueError, "'/'"),
        (["a"], TypeError, "must map names of axes"),
    ],
)
def test_bad_coords_are_rejected(coords, error, message):
    with pytest.raises(error, match=message):
        parse_coords(coords)


@pytest.mark.parametrize(
    ("dims", "error", "message"),
    [
        (("a", "a"), ValueError, "must be distinct"),
        (("chain", "b"), ValueError, "'chain'"),
        (("a/b", "c"), ValueError, "'/'"),
        ((1, "b"), TypeError, "by strings"),
    ],
)
def test_axes_that_the_results_cannot_have_are_rejected(dims, error, message):
    with pytest.raises(error, match=message):
        LogDensity(4, 1, variables=[Variable("v", (2, 2), dims)])
