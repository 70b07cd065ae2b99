"""Rows in memory behind one face: every container gives the same cells."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from bayeskit import NaiveBayes
from bayeskit._data.table import Table, column_names, open_table
from bayeskit.errors import BayeskitError, ColumnError, DataError, DataTypeError
from bayeskit.networks import wet_grass
from refusals import refuses, unnamed

WORDS, NUMBERS = ["b", "a", None], [1.5, None, 2.0]
COLUMNS = {"w": WORDS, "n": NUMBERS}
ROWS = [list(pair) for pair in zip(WORDS, NUMBERS, strict=True)]


def words_of(table, j):
    coded = table.factorize(j)
    return [None if code == -1 else coded.labels[code] for code in np.asarray(coded.codes).tolist()]


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (ROWS, False),
        (tuple(map(tuple, ROWS)), False),
        (np.array(ROWS, dtype=object), False),
        (COLUMNS, True),
        ([{"w": "b", "n": 1.5}, {"w": "a"}, {"n": 2.0, "w": None}], True),
        ({"w": np.array(WORDS, object), "n": np.array([1.5, np.nan, 2.0])}, True),
        (pd.DataFrame(COLUMNS), True),
        (pl.DataFrame(COLUMNS), True),
        (pa.table(COLUMNS), True),
    ],
    ids=lambda value: type(value).__name__,
)
def test_mixed_columns_from_anything(data, named):
    table = open_table(data)
    assert (table.n_rows, table.shape, table.named) == (3, (3, 2), named)
    assert table.names == (("w", "n") if named else ("x0", "x1"))
    assert [table.kind(j) for j in (0, 1)] == ["categorical", "numeric"]
    assert words_of(table, 0) == WORDS
    np.testing.assert_array_equal(np.asarray(table.numbers(1), float), [1.5, np.nan, 2.0])
    turned = table.select(tuple(reversed(table.names)))
    assert [turned.kind(j) for j in (0, 1)] == ["numeric", "categorical"]
    assert words_of(turned, 1) == WORDS
    only = table.select(table.names[1:])
    assert (only.shape, only.names, only.named) == ((3, 1), table.names[1:], named)
    assert table.select(table.names) is table


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        (np.array([[1, 2], [3, 4]]), "numeric"),
        (np.array([["a", "b"], ["c", "d"]]), "categorical"),
        (np.ones((2, 2), bool), "categorical"),
        (np.asfortranarray(np.ones((2, 2))), "numeric"),
        (np.matrix([[1.0, 2.0]]), "numeric"),
        (memoryview(np.ones((2, 2))), "numeric"),
    ],
)
def test_arrays_stay_whole(array, kind):
    table = open_table(array)
    assert table.matrix is not None
    assert table.kind(1) == kind
    np.testing.assert_array_equal(table.raw(1), np.asarray(array)[:, 1])


def test_numbers_beside_strings_stay_numbers():
    table = open_table([["a", 1], ["b", 2]])
    assert [table.kind(j) for j in (0, 1)] == ["categorical", "numeric"]
    assert open_table([["a", "1"], ["b", "2"]]).kind(1) == "categorical"


def test_masked_cells_are_missing():
    masked = np.ma.masked_array([[1.0, 99.0], [2.0, 3.0]], mask=[[False, True], [False, False]])
    np.testing.assert_array_equal(np.asarray(open_table(masked).numbers(1), float), [np.nan, 3.0])
    for rows in (list(masked), {"x0": masked[:, 0], "x1": masked[:, 1]}):
        np.testing.assert_array_equal(np.asarray(open_table(rows).numbers(1), float), [np.nan, 3.0])


@pytest.mark.parametrize("cells", [["u", "v", "w"], [True, False, True], [b"u", b"v", b"w"], [1, "v", 2.5]])
def test_a_masked_cell_of_any_kind_is_missing(cells):
    """None and not "?", NumPy's own filling of objects, nor what is behind the mask."""
    column = np.ma.array(np.array(cells, dtype=object) if 2.5 in cells else cells, mask=[0, 1, 0])
    for rows in (column[:, None], {"x0": column}, {"x0": column, "x1": [1, 2, 3]}):
        coded = open_table(rows).factorize(0)
        assert np.asarray(coded.codes).tolist()[1] == -1
        assert {coded.labels[code] for code in np.asarray(coded.codes)[[0, 2]]} == {cells[0], cells[2]}


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array, sparse.csr_matrix])
def test_a_sparse_matrix_is_a_block(make):
    table = open_table(make(np.array([[0, 1, 0], [2, 0, 0]])))
    assert (table.shape, table.kind(0), table.names) == ((2, 3), "block", ("block",))
    np.testing.assert_array_equal(table.block.toarray(), [[0, 1, 0], [2, 0, 0]])


def test_a_malformed_sparse_matrix_is_refused():
    bad = sparse.csr_matrix(np.eye(3))
    bad.indices[1] = 7
    with refuses(DataError, "column", 3):
        open_table(bad)


@pytest.mark.parametrize(
    ("data", "error", "says"),
    [
        (np.ones(3), DataError, ["2D", "1D"]),
        (np.float64(1), BayeskitError, ["2D"]),
        (np.ones((2, 2, 2)), DataError, [3, 2]),
        ([1, 2], DataError, ["2D", "1D"]),
        ([[1, 2], [3]], DataError, ["rows", "lengths"]),
        (np.ones((0, 2)), DataError, [0, "sample", "(0, 2)"]),
        (np.ones((2, 0)), DataError, [0, "feature", "(2, 0)"]),
        ({}, DataError, [0, "(0, 0)"]),
        ({"a": []}, DataError, [0, "(0, 1)"]),
        ({"a": [1], "b": [1, 2]}, DataError, ["columns", "[1, 2]"]),
        (pd.DataFrame({"a": []}), DataError, [0, "(0, 1)"]),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ColumnError, ["a"]),
        (pa.table([[1], [2]], names=["a", "a"]), ColumnError, ["a"]),
        (np.ones((1, 1), complex), ColumnError, ["Complex"]),
        (sparse.csr_matrix(np.eye(2, dtype=complex)), ColumnError, ["Complex"]),
        ("rows.csv", DataTypeError, ["str"]),
        (None, DataTypeError, ["NoneType"]),
        (3, DataTypeError, ["int"]),
        (pl.LazyFrame({"a": [1]}), DataTypeError, ["LazyFrame", "collect()"]),
        (pd.Series([1, 2]), DataError, ["2D", "1D"]),
    ],
    ids=lambda value: repr(value).split(" at 0x")[0][:30] if not isinstance(value, type) else value.__name__,
)
def test_what_is_no_table(data, error, says):
    with refuses(error, *says):
        open_table(data)


def test_names_as_scikit_learn_gives_them():
    assert column_names(2) == ("x0", "x1")
    assert open_table(pd.DataFrame({0: [1], (1, "b"): [2]})).names == (0, (1, "b"))
    assert isinstance(open_table([[1]]), Table)


def test_columns_of_a_mapping_are_made_arrays_when_asked_for():
    """Of many columns few may matter: what nobody asks for costs nothing, and may be anything."""

    class Asked(list):
        def __iter__(self):
            raise AssertionError("it was read")

    table = open_table({"a": ["p", "q"], "b": Asked([1, 2])})
    assert table.n_rows == 2 and words_of(table, 0) == ["p", "q"]
    with pytest.raises(AssertionError):
        table.factorize(1)
    assert words_of(open_table({"a": iter(["p", "q"])}), 0) == ["p", "q"]


def test_a_file_in_place_of_rows_is_refused_with_what_the_object_asked_can_do():
    """Classifiers learn from files and write predictions of them; a network has neither argument."""
    model = NaiveBayes().fit([["a"], ["b"]], ["x", "y"])
    with refuses(DataTypeError, "rows.csv", "sink=", "target="):
        model.predict("rows.csv")
    with refuses(DataTypeError, "rows.csv") as caught:
        wet_grass().predict_proba("rows.csv", "rain")
    assert unnamed(str(caught.value), "sink=", "target=") == ["sink=", "target="]


def test_a_list_of_mappings_is_a_table_everywhere():
    records = [{"w": "b", "n": 1.5}, {"w": "a"}, {"n": 2.0}, {"w": "b", "n": 0.5}]
    labels = ["yes", "no", "no", "yes"]
    with_class = [{**record, "class": label} for record, label in zip(records, labels, strict=True)]
    expected = NaiveBayes().fit(pd.DataFrame(records), labels).predict_proba(pd.DataFrame(records))
    for model in (NaiveBayes().fit(records, labels), NaiveBayes().fit(with_class, target="class")):
        assert (model.predict_proba(records) == expected).all()


def test_rows_of_two_forms_are_refused_by_their_number():
    with refuses(DataTypeError, 1, [2, 3]):
        open_table([{"a": 1}, [2, 3]])


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ({"w": ["b"]}, ("n",)),
        ({"w": ["b"], "n": [1.0], "z": [0]}, ("z",)),
        ({"w": ["b"], "m": [1.0]}, ("n", "m")),
    ],
)
def test_columns_that_are_not_those_of_training_are_named(columns, names):
    model = NaiveBayes().fit(COLUMNS, ["yes", "no", "no"])
    with refuses(ColumnError, *names):
        model.predict(columns)
