"""Columns as nodes: which kind each is, its states, and an order of them that names cannot change."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from bayeskit._fitting.search.node_columns import read_nodes
from bayeskit.errors import ColumnError, DataError, InfiniteValue, SettingError, UnseenState
from learning_twin import as_columns, discrete_rows
from refusals import refuses

Int64 = pd.array([3, None, 7, 3], dtype="Int64")


@pytest.mark.parametrize(
    ("column", "states", "codes"),
    [
        (["b", "a", None, "b"], ("a", "b"), [1, 0, 2, 1]),
        ([True, False, True, True], (False, True), [1, 0, 1, 1]),
        (pd.Series([True, None, False, True], dtype="boolean"), (False, True), [1, 2, 0, 1]),
        (pd.Series([True, None, False, True], dtype=object), (False, True), [1, 2, 0, 1]),
        ([10, 9, 10, 2], (2, 9, 10), [2, 1, 2, 0]),
        (pd.Series(Int64), (3, 7), [0, 2, 1, 0]),
        # Category order is kept, and so are levels that do not occur.
        (pd.Categorical(["x", None, "y", "x"], categories=["z", "y", "x"]), ("z", "y", "x"), [2, 3, 1, 2]),
    ],
)
def test_discrete_columns(column, states, codes):
    found = read_nodes(pd.DataFrame({"c": column}))
    assert found.variables[0].states == states
    assert found.codes[0].tolist() == codes
    assert found.numbers == (None,) and found.sizes.tolist() == [len(states)]


@pytest.mark.parametrize(
    "column",
    [
        [0.5, np.nan, 2.0, 1.0],
        np.float32([1, 2, 3, 4]),
        pd.Series([1.0, None, 2.0, 3.0], dtype="Float64"),
        [np.nan] * 4,
    ],
)
def test_continuous_columns(column):
    found = read_nodes(pd.DataFrame({"c": column}))
    assert found.codes == (None,) and found.variables[0].kind == "numeric"
    assert found.numbers[0] == pytest.approx(np.asarray(column, float), nan_ok=True)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [([0, 1, 0, 2], "categorical"), ([0, None, np.int8(2), 2], "categorical"), ([0, 1.0, 0, 2], "numeric")],
)
def test_a_list_of_whole_numbers_is_discrete(cells, kind):
    """Lists have no dtype: what their cells are decides, as it would in a frame."""
    assert read_nodes({"c": cells}).variables[0].kind == kind


def test_whole_numbers_of_many_values():
    """30 are states, 31 are not; a missing cell changes nothing; the error tells the ways out, and they work."""
    assert read_nodes({"c": np.arange(30)}).sizes.tolist() == [30]
    for column in (np.arange(31), pd.array([*range(31), None], dtype="Int64")):
        data = pd.DataFrame({"c": column})
        with refuses(ColumnError, "c", "discretize={'c': 5}"):
            read_nodes(data)
        assert read_nodes(data, discretize={"c": 5}).sizes.tolist() == [5]
        assert read_nodes(data.astype("Float64")).codes == (None,)
        assert read_nodes(data.astype(str)).sizes[0] >= 31
        assert read_nodes(data, states={"c": float}).codes == (None,)


def test_declared_states():
    found = read_nodes({"c": ["a", "b", None]}, states={"c": ["z", "b", "a"]})
    assert found.variables[0].states == ("z", "b", "a") and found.codes[0].tolist() == [2, 1, 3]
    assert read_nodes({"c": [0.0, 1.0]}, states={"c": [0, 1, 2]}).codes[0].tolist() == [0, 1]
    assert read_nodes({"c": [None, None]}, states={"c": ["u", "v"]}).codes[0].tolist() == [2, 2]


@pytest.mark.parametrize(
    ("data", "settings", "error", "says"),
    [
        ({"c": ["a"]}, {"states": {"c": ["b"]}}, UnseenState, ["c", "a"]),
        ({"c": ["a"]}, {"states": {"d": ["b"]}}, ColumnError, ["states", "d"]),
        ({"c": ["a"]}, {"states": {"c": []}}, SettingError, ["states", "c"]),
        ({"c": ["a"]}, {"states": {"c": ["a", "a"]}}, SettingError, ["c", "a", "twice"]),
        ({"c": ["a"]}, {"states": {"c": "ab"}}, SettingError, ["c", "ab"]),
        ({"c": ["a"]}, {"states": ["a"]}, SettingError, ["states", "['a']"]),
        ({"c": [1.0, np.inf]}, {}, InfiniteValue, ["c", "inf", 1]),
        ({"c": [1.0, -1e200]}, {}, DataError, ["c", -1e200, 1]),
        ({"c": []}, {}, DataError, [0, "(0, 1)", 1]),
        ({}, {}, DataError, [0, "(0, 0)", 1]),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), {}, ColumnError, ["a"]),
        (pd.DataFrame({"c": pd.Series([None, None], dtype="category")}), {}, ColumnError, ["c", "cell"]),
        (sparse.csr_matrix(np.eye(2)), {}, ColumnError, ["sparse"]),
        ({"c": ["a"]}, {"only": ["d"]}, ColumnError, ["d", "c"]),
        ({"c": [0.5, 1.5]}, {"discretize": 1}, SettingError, ["discretize", 1]),
        ({"c": [0.5, 1.5]}, {"discretize": True}, SettingError, ["discretize", True]),
        ({"c": [0.5, 1.5]}, {"discretize": {"c": 1}}, SettingError, ["discretize", 1]),
        ({"c": [0.5, 1.5]}, {"discretize": {"c": [2, 1]}}, SettingError, ["c", "[2, 1]"]),
        ({"c": [0.5, 1.5]}, {"discretize": {"d": 2}}, ColumnError, ["d", "c"]),
        ({"c": ["a", "b"]}, {"discretize": {"c": 2}}, ColumnError, ["c", "intervals"]),
    ],
)
def test_what_cannot_be(data, settings, error, says):
    with refuses(error, *says):
        read_nodes(data, **settings)


def test_cutting():
    """Floats are cut, whole numbers only by name; a missing cell stays missing."""
    data = pd.DataFrame({"x": [1.0, 2.0, 3.0, np.nan, 4.0], "k": [1, 2, 3, 1, 2], "t": list("abcab")})
    found = read_nodes(data, discretize=2)
    assert found.codes[0].tolist() == [0, 0, 1, 2, 1] and found.sizes.tolist() == [2, 3, 3]
    data["m"] = pd.array([1, 2, None, 1, 3], dtype="Int64")
    assert read_nodes(data, discretize=2).variables[3].states == (1, 2, 3)
    assert read_nodes(data, discretize={"k": [1.5]}).codes[1].tolist() == [0, 1, 1, 0, 1]
    assert read_nodes(data, discretize={"x": np.int64(2)}).codes[0].tolist() == [0, 0, 1, 2, 1]


def test_complete_rows():
    data = pd.DataFrame({"a": ["u", None, "v", "u"], "x": [1.0, 2.0, np.nan, 4.0], "b": [1, 2, 2, 1]})
    found = read_nodes(data)
    assert found.complete.tolist() == [True, False, False, True]
    assert found.n_missing.tolist() == [1, 1, 0]
    assert found.code_matrix().tolist() == [[0, 0], [0, 0]]
    assert found.number_matrix().tolist() == [[1.0, 4.0]]
    assert found.is_discrete.tolist() == [True, False, True]
    only = read_nodes(data, only=["b", "a"])
    assert only.names == ("b", "a") and only.complete.tolist() == [True, False, True, True]


@pytest.mark.parametrize(("n", "dtype"), [(256, np.uint8), (257, np.uint32)])
def test_codes_fit_their_type(n, dtype):
    """The largest code is one less than the number of states."""
    found = read_nodes({"c": [f"{k:03}" for k in range(n)]}).code_matrix()
    assert found.dtype == dtype and found[0].tolist() == list(range(n))


@given(rows=discrete_rows(most_rows=12), data=st.data())
def test_the_order_depends_on_cells_alone(rows, data):
    columns, sizes = rows
    n = len(sizes)
    named = data.draw(st.permutations([f"n{v}" for v in range(n)]))
    shuffle = data.draw(st.permutations(range(n)))
    one = as_columns(columns, sizes)
    other = as_columns(columns[shuffle], sizes[shuffle], named)
    first = [columns[v].tolist() for v in one.canonical_order()]
    second = [columns[shuffle[v]].tolist() for v in other.canonical_order()]
    assert first == second
    # Columns that are equal cell by cell, too, while they keep their names.
    same = as_columns(columns[shuffle], sizes[shuffle], [f"x{v}" for v in shuffle])
    again = [shuffle[v] for v in same.canonical_order()]
    assert again == one.canonical_order().tolist()


def test_the_order_of_numbers_depends_on_cells_alone():
    rng = np.random.default_rng(0)
    data = {
        "p": rng.normal(size=9),
        "q": rng.normal(size=9),
        "t": ["u", "v", "w"] * 3,
        "r": rng.normal(size=9),
    }
    one = read_nodes(data)
    renamed = {f"z{name}": data[name] for name in ("r", "t", "q", "p")}
    order = [one.names[v] for v in one.canonical_order()]
    other = read_nodes(renamed)
    assert [other.names[v][1:] for v in other.canonical_order()] == order
    assert order[0] == "t"
    assert other.reordered(np.array([1, 0, 3, 2])).names == ("zt", "zr", "zp", "zq")
