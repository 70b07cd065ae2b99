"""Tables become codes: every way in gives the same codes, and every policy its answer to a new value."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from bayeskit._data.encode import code_column, encode, match_columns
from bayeskit._data.table import open_table
from bayeskit.errors import ColumnError, DataError, UnseenState
from bayeskit.extending import Reading
from bayeskit.statistics import Schema, Variable
from refusals import refuses

Y = Variable("y", "categorical")
GAP = "(missing)"
NEW = "(unseen)"


def schema_of(data, **how):
    return Reading(**how).schema_of(open_table(data), Y)


def values_of(encoded, j=0):
    """The labels of one categorical attribute, with words for its two spare codes."""
    states = encoded.schema.categorical[j].states
    codes = encoded.chunk(0, encoded.n_rows).codes[:, j].tolist()
    return [[*states, GAP, NEW][code] for code in codes]


def check(train, test, policy, wanted, **how):
    learned = encode(open_table(train), schema_of(train, **how), "grow").schema
    again = encode(open_table(test), learned, policy)
    assert values_of(again) == wanted
    if policy != "grow":
        assert again.schema is learned


FRAMES = [
    lambda words: [[w] for w in words],
    lambda words: np.array([[w] for w in words], object),
    lambda words: pd.DataFrame({"x": words}),
    lambda words: pl.DataFrame({"x": words}),
    lambda words: {"x": words},
]


@pytest.mark.parametrize("make", FRAMES)
@pytest.mark.parametrize(
    ("policy", "wanted"),
    [("ignore", ["b", GAP, GAP, "a"]), ("smooth", ["b", NEW, GAP, "a"]), ("grow", ["b", "c", GAP, "a"])],
)
def test_new_and_missing_words(make, policy, wanted):
    check(make(["a", "b", "a"]), make(["b", "c", None, "a"]), policy, wanted)


@pytest.mark.parametrize("make", FRAMES)
def test_new_words_are_refused_by_name(make):
    learned = encode(open_table(make(["a", "b"])), schema_of(make(["a", "b"])), "grow").schema
    with refuses(UnseenState, "c", "a, b", 'unseen="ignore"'):
        encode(open_table(make(["b", None, "c"])), learned, "error")
    assert values_of(encode(open_table(make(["b", None])), learned, "error")) == ["b", GAP]


DTYPES = [np.int8, np.uint8, np.int16, np.int64, np.uint64, np.float64, object]


@pytest.mark.parametrize("train_dtype", DTYPES)
@pytest.mark.parametrize("test_dtype", DTYPES)
@pytest.mark.parametrize(
    ("policy", "wanted"),
    [("ignore", [3, GAP, GAP, 5, GAP]), ("smooth", [3, NEW, NEW, 5, NEW]), ("grow", [3, 4, 120, 5, 0])],
)
def test_new_whole_numbers_in_any_dtype(train_dtype, test_dtype, policy, wanted):
    train, test = (
        np.array([v], dtype).T for v, dtype in (([3, 5, 3, 7], train_dtype), ([3, 4, 120, 5, 0], test_dtype))
    )
    learned = encode(open_table(train), schema_of(train, categorical="all"), "grow").schema
    # A span of whole numbers may hold states without rows: those go after counting.
    learned = learned.with_variables(
        [learned.attributes[0].without_unused(np.isin(learned.attributes[0].states, [3, 5, 7]))]
    )
    assert learned.attributes[0].states == (3, 5, 7)
    again = encode(open_table(test), learned, policy)
    assert values_of(again) == wanted
    if policy == "ignore":
        with refuses(UnseenState, "x0", 3, 5, 7):
            encode(open_table(test), learned, "error")


@settings(max_examples=60)
@given(
    arrays(
        st.sampled_from([np.int8, np.uint8, np.int32, np.uint16, bool]),
        st.tuples(st.integers(1, 70), st.integers(1, 3)),
    )
)
def test_a_matrix_is_coded_as_its_columns_are(matrix):
    whole = encode(open_table(matrix), schema_of(matrix, categorical="all"), "grow")
    columns = {f"x{j}": matrix[:, j] for j in range(matrix.shape[1])}
    apart = encode(open_table(columns), schema_of(columns, categorical="all"), "grow")
    for j in range(matrix.shape[1]):
        assert values_of(whole, j) == matrix[:, j].tolist() == values_of(apart, j)
    # Once more, now that the states are known.
    known = apart.schema
    for policy in ("ignore", "smooth", "error", "grow"):
        again = encode(open_table(matrix), known, policy)
        assert [values_of(again, j) for j in range(matrix.shape[1])] == matrix.T.tolist()


@pytest.mark.parametrize(
    "column",
    [
        [-(2**63), 2**63 - 1, 0],
        [0, 2**40, 5],
        np.array([0, 2**64 - 1, 5], np.uint64),
        np.array([2**63, 2**63 + 1], np.uint64),
        np.arange(300),
        np.arange(-150, 150, dtype=np.int16),
    ],
    ids=lambda value: str(value)[:30],
)
def test_wide_spans(column):
    matrix = np.array(column)[:, None]
    encoded = encode(open_table(matrix), schema_of(matrix, categorical="all"), "grow")
    assert values_of(encoded) == matrix[:, 0].tolist()
    assert encoded.chunk(0, 2).codes.dtype == encoded.schema.code_dtype


@pytest.mark.parametrize("size", [253, 254, 255, 256])
@pytest.mark.parametrize("make", [lambda v: v, lambda v: v.astype(str).astype(object)])
def test_a_byte_has_room_for_both_spare_codes(size, make):
    train = make(np.arange(size)[:, None])
    learned = encode(open_table(train), schema_of(train, categorical="all"), "grow").schema
    assert learned.attributes[0].size == size
    test = make(np.array([[0], [size + 50], [size - 1]]))
    states = learned.attributes[0].states
    assert values_of(encode(open_table(test), learned, "smooth")) == [
        states[states.index(test[0, 0])],
        NEW,
        test[2, 0],
    ]
    assert values_of(encode(open_table(test), learned, "ignore"))[1] == GAP


def test_declared_categories_stay_in_their_order():
    frame = pd.DataFrame({"x": pd.Categorical(["b", "b"], ["c", "b", "a"])})
    variable = encode(open_table(frame), schema_of(frame), "grow").schema.attributes[0]
    assert (variable.states, variable.n_declared) == (("c", "b", "a"), 3)
    more = pd.DataFrame({"x": pd.Categorical(["d"], ["d", "a"])})
    grown = encode(open_table(more), Schema((variable,), Y), "grow").schema.attributes[0]
    assert (grown.states, grown.n_declared) == (("c", "b", "a", "d"), 4)


def test_declared_states_are_closed():
    data = [["a"], ["b"]]
    schema = schema_of(data, states={"x0": ["b", "a", "z"]})
    assert encode(open_table(data), schema, "grow").schema.attributes[0].states == ("b", "a", "z")
    with refuses(UnseenState, "x0", "mauve", "b, a, z"):
        encode(open_table([["mauve"]]), schema, "grow")
    categorical = pd.DataFrame({"x0": pd.Categorical(["a"], ["a", "b", "z"])})
    assert encode(open_table(categorical), schema, "grow").schema.attributes[0].states == ("b", "a", "z")


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.int8, np.float64])
def test_dense_codes(dtype):
    matrix = np.array([[0, 2], [3, 0]], dtype)
    encoded = encode(open_table(matrix), schema_of(matrix, dense=2), "grow")
    assert [v.states for v in encoded.schema.attributes] == [(0, 1, 2, 3), (0, 1, 2)]
    assert encoded.chunk(0, 2).codes.tolist() == matrix.astype(int).tolist()
    if dtype != np.uint8:
        with refuses(DataError, "CategoricalNB", "x0", -1):
            encode(open_table(matrix - dtype(1)), schema_of(matrix, dense=2), "grow")


def test_numbers_stay_where_they_are():
    matrix = np.arange(6.0).reshape(3, 2)
    encoded = encode(open_table(matrix), schema_of(matrix), "ignore")
    assert encoded.values is matrix
    some = encode(open_table(matrix), schema_of(matrix, categorical=[0]), "grow")
    np.testing.assert_array_equal(some.chunk(0, 3).values, matrix[:, 1:])
    assert values_of(some) == [0, 2, 4]


def test_a_mixed_frame():
    frame = pd.DataFrame({"a": ["p", None], "b": [1, 2], "c": ["q", "r"], "d": [0.5, np.nan]})
    encoded = encode(
        open_table(frame), schema_of(frame), "grow", y=["u", "v"], weights=[1, 2], with_target=True
    )
    chunk = encoded.chunk(0, 2)
    assert values_of(encoded, 0) == ["p", GAP]
    assert values_of(encoded, 1) == ["q", "r"]
    np.testing.assert_array_equal(chunk.values, [[1, 0.5], [2, np.nan]])
    assert (chunk.target.tolist(), chunk.weights.tolist()) == ([0, 1], [1.0, 2.0])
    assert encoded.schema.target.states == ("u", "v")


# -- columns ------------------------------------------------------------------------------------

LEARNED = Schema((Variable("a", "numeric"), Variable("b", "numeric")), Y)


def test_named_columns_are_brought_into_order():
    frame = pd.DataFrame({"b": [2.0], "a": [1.0]})
    table = match_columns(open_table(frame), LEARNED, ("a", "b"), "NB")
    assert table.names == ("a", "b")
    assert [table.numbers(j).tolist() for j in (0, 1)] == [[1.0], [2.0]]
    plain = match_columns(open_table([[1.0, 2.0]]), LEARNED, ("a", "b"), "NB")
    assert plain.names == ("x0", "x1")
    assert match_columns(open_table(frame), LEARNED, None, "NB").names == ("b", "a")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (pd.DataFrame({"a": [1], "c": [2]}), ["missing", "b", "c"]),
        (pd.DataFrame({"a": [1]}), ["missing", "b"]),
        (pd.DataFrame({"a": [1], "b": [2], "c": [3]}), ["c"]),
        (np.ones((1, 3)), [3, "NB", 2]),
        (sparse.csr_matrix(np.eye(2)), ["sparse"]),
    ],
)
def test_other_columns_are_refused(data, says):
    with refuses(ColumnError, *says):
        match_columns(open_table(data), LEARNED, ("a", "b"), "NB")


# -- blocks -------------------------------------------------------------------------------------

COUNTS = np.array([[0, 2, 0], [1, 0, 3]])


@pytest.mark.parametrize(
    "data", [COUNTS, COUNTS.astype(float), sparse.csr_matrix(COUNTS), COUNTS.tolist(), pd.DataFrame(COUNTS)]
)
@pytest.mark.parametrize("threshold", [None, 0.0, 1.0])
def test_a_block_of_counts(data, threshold):
    schema = schema_of(data, block=True)
    assert schema.block.width == 3
    encoded = encode(open_table(data), schema, "grow", y=[0, 1], with_target=True, threshold=threshold)
    chunk = encoded.chunk(0, 2)
    block = chunk.block.toarray() if sparse.issparse(chunk.block) else chunk.block
    np.testing.assert_array_equal(block, COUNTS)
    assert chunk.block_above == threshold  # the counting compares, so that no second block is made


# -- one column ---------------------------------------------------------------------------------------

CELLS = st.lists(
    st.sampled_from(["a", "b", "ab", "", "z", 1, 1.0, True, None, float("nan")]), min_size=1, max_size=8
)
STATES = st.lists(st.sampled_from(["a", "b", "ab", "", 1, 2]), min_size=1, max_size=5, unique=True)


@settings(max_examples=200)
@given(CELLS, STATES, st.sampled_from(["ignore", "smooth", "error"]), st.booleans())
def test_the_quick_ways_to_code_a_column_change_nothing(cells, states, policy, as_written):
    """Cells that are states as they stand are looked up or compared; codes kept from before take the long way."""
    variable = Variable("x", "categorical", tuple(states))
    forms = [np.array([*cells, None], object)[:-1]]
    if all(isinstance(cell, str) for cell in cells):
        forms.append(np.array(cells))

    def coded(array, known):
        table = open_table({"x": array})
        if known:
            object.__setattr__(table, "_coded", {"x": table.factorize(0)})
        try:
            return code_column(table, 0, variable, policy, as_written=as_written)[1][:].tolist()
        except UnseenState as error:
            return str(error)

    assert len({str(coded(array, known)) for array in forms for known in (False, True)}) == 1


@pytest.mark.parametrize(
    ("states", "cells", "as_told", "as_written"),
    [
        (("0", "1"), [1, 0, None], [2, 2, 2], [1, 0, 2]),
        (("0.0", "1.0"), np.array([1.0, np.nan, 0.0]), [2, 2, 2], [1, 2, 0]),
        (("false", "true"), [True, False], [2, 2], [1, 0]),
        ((1, 2), ["2", "3"], [2, 2], [1, 2]),
    ],
)
def test_states_as_they_are_written(states, cells, as_told, as_written):
    table, variable = open_table({"x": cells}), Variable("x", "categorical", states)
    for written, wanted in ((False, as_told), (True, as_written)):
        assert code_column(table, 0, variable, "ignore", as_written=written)[1][:].tolist() == wanted


def test_a_value_that_is_no_state_is_named_with_its_row():
    schema = encode(open_table({"s": ["p", "q"]}), schema_of({"s": ["p", "q"]}), "grow").schema
    with refuses(UnseenState, 2, "s", "r"):
        encode(open_table({"s": ["p", None, "r"]}), schema, "error")
    whole = encode(
        open_table(np.array([[0], [1]])), schema_of(np.array([[0], [1]]), categorical="all"), "grow"
    )
    with refuses(UnseenState, 1, "x0", 7):
        encode(open_table(np.array([[1], [7]])), whole.schema, "error")
