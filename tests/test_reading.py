"""How columns are read: kinds from dtypes or from the user, declared states, columns that look like identifiers."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from bayeskit.data.encode import encode
from bayeskit.data.reading import Reading, warn_of_identifiers
from bayeskit.data.table import open_table
from bayeskit.errors import ColumnError, SettingError, SuspectColumn
from bayeskit.schema import Variable

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
        ({"categorical": ["z"]}, SettingError, r"names 'z', which is no column. The columns are 's', 'n'"),
        ({"categorical": [4]}, SettingError, "names 4"),
        ({"categorical": [-5]}, SettingError, "names -5"),
        (
            {"categorical": [True, False]},
            SettingError,
            "mask categorical_features has 2 entries for 4 columns",
        ),
        ({"categorical": "z"}, SettingError, "names 'z'"),
        ({"states": {"z": ["a"]}}, ColumnError, "'z' is no column"),
        ({"kinds": {"z": "numeric"}}, ColumnError, "'z' is no column"),
        ({"states": {"s": []}}, SettingError, r"states\['s'\] is \[\]"),
        ({"states": {"s": "pq"}}, SettingError, r"states\['s'\] is 'pq'"),
        ({"states": {"s": ["p", "p"]}}, SettingError, "lists a state twice"),
    ],
)
def test_what_is_no_reading(how, error, says):
    with pytest.raises(error, match=says):
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
        (ROW, "the row numbers"),
        (ROW + 100, "the row numbers"),
        (ROW[::-1].copy(), "the row numbers"),
        ([f"id{i}" for i in ROW], "a different value in every row"),
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
        assert says in str(caught[0].message)
        assert "exclude=['id']" in str(caught[0].message)


@pytest.mark.parametrize("data", [pd.DataFrame({"id": ROW[:9]}), ROW[:, None]], ids=["few rows", "no names"])
def test_few_rows_and_plain_arrays_are_left_alone(data):
    table = open_table(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_identifiers(table, Reading().schema_of(table, Y))
