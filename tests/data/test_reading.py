"""How columns are read: kinds from dtypes or from the user, declared states, columns that look like identifiers."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from bayeskit._data.encode import encode
from bayeskit._data.reading import cut_variable, interval_labels, warn_of_identifiers
from bayeskit._data.table import open_table
from bayeskit.errors import ColumnError, Incompatible, InfiniteValue, SettingError, SuspectColumn
from bayeskit.extending import Reading
from bayeskit.statistics import Variable
from refusals import refuses, unnamed

Y = Variable("y", "categorical")
FRAME = pd.DataFrame({"s": ["p", "q"], "n": [0, 1], "f": [0.5, 1.5], "t": [True, False]})


def kinds(reading, data=FRAME):
    return "".join(v.kind[0] for v in reading.schema_of(open_table(data), Y).attributes)


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ("from_dtype", "cnnc"),
        ("all", "cccc"),
        (None, "nnnn"),
        ([], "nnnn"),
        (["n"], "ncnn"),
        ("n", "ncnn"),
        ([0, 1], "ccnn"),
        ([-1, np.int64(1)], "ncnc"),
        ([True, True, False, False], "ccnn"),
        (np.array([True, False, False, True]), "cnnc"),
        (("s", 1), "ccnn"),
    ],
    ids=str,
)
def test_categorical_features(spec, wanted):
    assert kinds(Reading(categorical=spec)) == wanted


def test_names_come_before_positions():
    frame = pd.DataFrame({1: ["a"], 0: ["b"]})
    assert kinds(Reading(categorical=[1]), frame) == "cn"
    assert kinds(Reading(categorical=[0]), frame) == "nc"


@pytest.mark.parametrize(
    ("how", "error", "says"),
    [
        ({"categorical": ["z"]}, SettingError, ["categorical_features", "z", "s", "n"]),
        ({"categorical": [4]}, SettingError, ["categorical_features", 4]),
        ({"categorical": [-5]}, SettingError, ["categorical_features", -5]),
        (
            {"categorical": [True, False]},
            SettingError,
            ["categorical_features", 2, 4],
        ),
        ({"categorical": "z"}, SettingError, ["categorical_features", "z"]),
        ({"states": {"z": ["a"]}}, ColumnError, ["z", "s", "n"]),
        ({"kinds": {"z": "numeric"}}, ColumnError, ["z", "s", "n"]),
        ({"states": {"s": []}}, SettingError, ["states['s']", "[]"]),
        ({"states": {"s": "pq"}}, SettingError, ["states['s']", "pq"]),
        ({"states": {"s": ["p", "p"]}}, SettingError, ["states['s']", "('p', 'p')"]),
    ],
)
def test_what_is_no_reading(how, error, says):
    with refuses(error, *says):
        Reading(**how).schema_of(open_table(FRAME), Y)


def test_declared_states_make_a_closed_category():
    schema = Reading(states={"n": np.array([1, 0, 2]), "s": ("q", "p")}).schema_of(open_table(FRAME), Y)
    assert schema["n"] == Variable("n", "categorical", (1, 0, 2), 3, closed=True)
    assert schema["s"] == Variable("s", "categorical", ("q", "p"), 2, closed=True)
    assert all(type(state) is int for state in schema["n"].states)
    assert (schema["f"].kind, schema.target) == ("numeric", Y)


def test_the_kind_that_a_family_asks_for():
    reading = Reading(kinds={"n": "categorical", "t": "numeric"})
    assert kinds(reading) == "ccnn"


def test_binary_columns():
    schema = Reading(kinds={"n": "categorical", "s": "categorical"}, binary=frozenset(["n", "s"])).schema_of(
        open_table(FRAME), Y
    )
    assert schema["n"] == Variable("n", "categorical", (0, 1), 2, closed=True)
    assert schema["s"] == Variable("s", "categorical")


def test_dense_and_block():
    schema = Reading(dense=[2, 3, 0, 1]).schema_of(open_table(FRAME), Y)
    assert [(v.states, v.n_declared, v.dense) for v in schema.attributes] == [
        ((0, 1), 2, True),
        ((0, 1, 2), 3, True),
        ((), 0, True),
        ((0,), 1, True),
    ]
    block = Reading(block=True).schema_of(open_table(FRAME), Y)
    assert [(v.kind, v.width) for v in block.attributes] == [("block", 4)]


N = 30
ROW = np.arange(N)


@pytest.mark.parametrize(
    ("column", "says"),
    [
        (ROW, "numbers"),
        (ROW + 100, "numbers"),
        (ROW[::-1].copy(), "numbers"),
        ([f"id{i}" for i in ROW], "different"),
        (ROW * 2, None),
        (ROW.astype(float), None),
        (np.where(ROW == 7, 8, ROW), None),
        ([f"id{i % 29}" for i in ROW], None),
        (pd.Categorical([f"id{i}" for i in ROW]), None),
        (ROW % 2, None),
    ],
    ids=lambda value: str(value)[:20],
)
def test_columns_that_look_like_identifiers(column, says):
    frame = pd.DataFrame({"id": column, "x": np.ones(N)})
    table = open_table(frame)
    schema = encode(table, Reading().schema_of(table, Y), "grow").schema
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_identifiers(table, schema)
    assert [w.category for w in caught] == ([] if says is None else [SuspectColumn])
    if says is not None:
        assert unnamed(str(caught[0].message), "id", says, "exclude=['id']") == []


@pytest.mark.parametrize("data", [pd.DataFrame({"id": ROW[:9]}), ROW[:, None]], ids=["few rows", "no names"])
def test_few_rows_and_plain_arrays_are_left_alone(data):
    table = open_table(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_identifiers(table, Reading().schema_of(table, Y))


# -- intervals -------------------------------------------------------------------------------------

NUMBERS = pd.DataFrame({"f": [0.5, 1.5, np.nan, 1.0], "s": list("pqpq")})


def test_a_number_read_as_intervals():
    schema = Reading(cuts={"f": [1.0]}).schema_of(open_table(NUMBERS), Y)
    variable = schema["f"]
    assert (variable.kind, variable.cuts, variable.n_declared, variable.closed) == (
        "categorical",
        (1.0,),
        2,
        True,
    )
    assert variable.states == ("(-inf, 1]", "(1, inf)")
    codes = encode(open_table(NUMBERS), schema, "grow").chunk(0, 4).codes
    np.testing.assert_array_equal(codes[:, 0], [0, 1, 2, 0])  # 1 lies in (−∞, 1], NaN is missing


@pytest.mark.parametrize("policy", ["ignore", "smooth", "error", "grow"])
def test_every_number_lies_in_some_interval(policy):
    schema = Reading(cuts={"f": [-1.0, 0.0, 1.0]}).schema_of(open_table(NUMBERS), Y)
    values = np.array([-1e300, -1.0, np.nextafter(-1.0, 0), -0.0, 5e-324, 1.0, 1e300, np.nan])
    rows = pd.DataFrame({"f": values, "s": "p"})
    grown = encode(open_table(NUMBERS), schema, "grow").schema
    codes = encode(open_table(rows), grown, policy).chunk(0, 8).codes
    np.testing.assert_array_equal(codes[:, 0], [0, 0, 1, 1, 2, 2, 3, 4])


def test_whole_numbers_are_cut_like_numbers():
    """A matrix of integers is coded by subtraction, but not where some column is cut."""
    matrix = np.array([[0, 3], [5, 4], [9, 3]])
    schema = Reading(categorical=[1], cuts={"x0": [4.5]}).schema_of(open_table(matrix), Y)
    encoded = encode(open_table(matrix), schema, "grow")
    np.testing.assert_array_equal(encoded.chunk(0, 3).codes, [[0, 0], [1, 1], [1, 0]])
    assert encoded.schema["x0"].size == 2


def test_no_cuts_are_one_interval():
    variable = cut_variable("f", [])
    assert variable.states == ("(-inf, inf)",)
    assert variable.cuts == ()


def test_three_hundred_intervals_do_not_fit_a_byte():
    cuts = np.arange(299) + 0.5
    schema = Reading(cuts={"f": cuts}).schema_of(open_table({"f": np.arange(300.0)}), Y)
    encoded = encode(open_table({"f": np.append(np.arange(300.0), np.nan)}), schema, "grow")
    chunk = encoded.chunk(0, 301)
    assert chunk.codes.dtype == np.uint32
    np.testing.assert_array_equal(chunk.codes[:, 0], np.arange(301))


def test_infinity_lies_in_no_interval():
    schema = Reading(cuts={"f": [1.0]}).schema_of(open_table(NUMBERS), Y)
    for value in (np.inf, -np.inf):
        with refuses(InfiniteValue, "f", value, 1):
            encode(open_table(pd.DataFrame({"f": [0.0, value], "s": ["p", "q"]})), schema, "ignore")


def test_labels_where_numbers_were_cut():
    schema = Reading(cuts={"f": [1.0]}).schema_of(open_table(NUMBERS), Y)
    with refuses(ColumnError, "f", "low"):
        encode(open_table(pd.DataFrame({"f": ["low", "high"], "s": ["p", "q"]})), schema, "ignore")


@pytest.mark.parametrize(
    "cuts", [[2, 1], [1, 1], [np.nan], [np.inf], [[1, 2], [3, 4]], ["a"], [1j], None, [[1], [2, 3]]], ids=str
)
def test_cuts_that_are_no_ascending_numbers(cuts):
    with refuses(SettingError, "f", repr(cuts)):
        cut_variable("f", cuts)


def test_cuts_of_no_column():
    with refuses(ColumnError, "nowhere", "f", "s"):
        Reading(cuts={"nowhere": [1]}).schema_of(open_table(NUMBERS), Y)


@pytest.mark.parametrize(
    ("cuts", "labels"),
    [
        ([0.123456, 7.0], ["(-inf, 0.1235]", "(0.1235, 7]", "(7, inf)"]),
        ([1.00001, 1.00002], ["(-inf, 1.00001]", "(1.00001, 1.00002]", "(1.00002, inf)"]),
        (
            [1.0, np.nextafter(1.0, 2.0)],
            ["(-inf, 1]", "(1, 1.0000000000000002]", "(1.0000000000000002, inf)"],
        ),
        ([-1e300, 1e300], ["(-inf, -1e+300]", "(-1e+300, 1e+300]", "(1e+300, inf)"]),
    ],
    ids=str,
)
def test_intervals_are_written_with_as_few_digits_as_tell_them_apart(cuts, labels):
    assert interval_labels(np.array(cuts)) == labels
    assert len(set(labels)) == len(labels)


def test_intervals_of_other_cuts_are_other_variables():
    a, b = cut_variable("f", [1.0]), cut_variable("f", [2.0])
    with refuses(Incompatible, "f", 1.0, 2.0):
        a.union(b)
    assert a.union(cut_variable("f", [1])) == a
    with refuses(Incompatible, "f", 1.0, None):
        a.union(Variable("f", "numeric"))
