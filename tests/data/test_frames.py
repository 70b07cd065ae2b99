"""Columns of pandas, Polars and PyArrow say the same as the arrays they hold."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from bayeskit import NaiveBayes
from bayeskit._data.frames import factorize_series, is_frame, numbers_of_series, open_frame, series_kind
from bayeskit.errors import ColumnError, DataTypeError
from refusals import refuses

NAN = float("nan")
CATEGORIES = ["c", "a", "b"]


def column(native):
    """One column of any library as the narwhals series that the table would give."""
    if isinstance(native, pa.ChunkedArray | pa.Array):
        frame = pa.table({"x": native})
    elif isinstance(native, pl.Series):
        frame = pl.DataFrame({"x": native})
    else:
        frame = pd.DataFrame({"x": native})
    return open_frame(frame).get_column("x")


def decoded(coded):
    codes = np.asarray(coded.codes).tolist()
    assert all(-1 <= code < len(coded.labels) for code in codes)
    return [None if code == -1 else coded.labels[code] for code in codes]


def check(native, kind, values=None, *, declared=None, numbers=None):
    """A column has this kind, these values as categories (None is missing), and these numbers."""
    series = column(native)
    assert series_kind(series, "x") == kind
    if values is not None:
        coded = factorize_series(series, "x")
        assert decoded(coded) == values
        assert coded.declared is (declared is not None)
        if declared is not None:
            assert list(coded.labels) == declared
        assert not any(isinstance(label, np.generic) for label in coded.labels)
    if numbers is not None:
        got = numbers_of_series(series, "x")
        assert got.dtype.kind in "iuf"
        np.testing.assert_array_equal(np.asarray(got, dtype=float), numbers)


WORDS, GAPS = ["b", "a", "b"], ["b", None, "a", "b"]


@pytest.mark.parametrize(
    ("native", "values", "declared"),
    [
        (pd.Series(WORDS), WORDS, None),
        (pd.Series(GAPS), GAPS, None),
        (pd.Series(GAPS, dtype=object), GAPS, None),
        (pd.Series(GAPS, dtype="string"), GAPS, None),
        (pd.Series(GAPS, dtype="string[pyarrow]"), GAPS, None),
        (pd.Series(pd.Categorical(GAPS, CATEGORIES)), GAPS, CATEGORIES),
        (pd.Series(pd.Categorical(GAPS, CATEGORIES, ordered=True)), GAPS, CATEGORIES),
        (pd.Series(pd.Categorical([2, 1, None], [3, 2, 1])), [2, 1, None], [3, 2, 1]),
        (pd.Series([True, False, True]), [True, False, True], None),
        (pd.Series([True, None, False], dtype="boolean"), [True, None, False], None),
        (pd.Series([True, None, "a"], dtype=object), [True, None, "a"], None),
        (pl.Series(WORDS), WORDS, None),
        (pl.Series(GAPS), GAPS, None),
        (pl.Series(["x", "y", *GAPS], dtype=pl.Categorical)[2:], GAPS, None),
        (pl.Series(GAPS, dtype=pl.Enum(CATEGORIES)), GAPS, CATEGORIES),
        (pl.Series([None, None], dtype=pl.String), [None, None], None),
        (pl.Series([True, None, False]), [True, None, False], None),
        (pa.array(WORDS), WORDS, None),
        (pa.array(GAPS), GAPS, None),
        (pa.array(GAPS, pa.large_string()), GAPS, None),
        (pa.array(GAPS).dictionary_encode(), GAPS, None),
        (pa.chunked_array([["b", None], ["a", "b"]]), GAPS, None),
        (
            pa.chunked_array(
                [pa.array(["b", None]).dictionary_encode(), pa.array(["a", "b"]).dictionary_encode()]
            ),
            GAPS,
            None,
        ),
        (
            pa.DictionaryArray.from_arrays(pa.array([2, 1, 0, 2]), pa.array(["a", None, "b"])),
            ["b", None, "a", "b"],
            None,
        ),
        (pa.array([True, None, False]), [True, None, False], None),
    ],
    ids=lambda value: str(getattr(value, "dtype", getattr(value, "type", ""))),
)
def test_categories(native, values, declared):
    check(native, "categorical", values, declared=declared)


@pytest.mark.parametrize(
    ("native", "values", "numbers"),
    [
        (pd.Series([3, 1, 3]), [3, 1, 3], [3, 1, 3]),
        (pd.Series([3.0, NAN, 0.5]), [3, None, 0.5], [3, NAN, 0.5]),
        (pd.Series([3, None, 1], dtype="Int64"), [3, None, 1], [3, NAN, 1]),
        (pd.Series([3, None, 1], dtype="UInt8"), [3, None, 1], [3, NAN, 1]),
        (pd.Series([0.5, None], dtype="Float64"), [0.5, None], [0.5, NAN]),
        (pd.Series([3, None, 1], dtype=pd.ArrowDtype(pa.int64())), [3, None, 1], [3, NAN, 1]),
        (pd.Series([0.5, None], dtype=object), [0.5, None], [0.5, NAN]),
        (pl.Series([3, 1, 3]), [3, 1, 3], [3, 1, 3]),
        (pl.Series([3, None, 1]), [3, None, 1], [3, NAN, 1]),
        (pl.Series([0.5, NAN, None]), [0.5, None, None], [0.5, NAN, NAN]),
        (pl.Series([200, None], dtype=pl.UInt8), [200, None], [200, NAN]),
        (pl.Series([Decimal("0.5"), None]), None, [0.5, NAN]),
        (pl.Series([None, None]), None, [NAN, NAN]),
        (pa.array([3, 1, 3]), [3, 1, 3], [3, 1, 3]),
        (pa.array([3, None, 1]), [3, None, 1], [3, NAN, 1]),
        (pa.array([0.5, NAN, None]), [0.5, None, None], [0.5, NAN, NAN]),
        (pa.array([Decimal("0.5"), None]), None, [0.5, NAN]),
        (pa.array([None, None]), None, [NAN, NAN]),
    ],
    ids=lambda value: str(getattr(value, "dtype", getattr(value, "type", ""))),
)
def test_numbers_also_as_categories(native, values, numbers):
    check(native, "numeric", values, numbers=numbers)


@pytest.mark.parametrize(
    "native", [pd.Series([1.0, np.inf]), pl.Series([1.0, np.inf]), pa.array([1.0, np.inf])], ids=type
)
def test_infinity_is_no_category(native):
    with refuses(ColumnError, "x", 1):
        factorize_series(column(native), "x")


@pytest.mark.parametrize(
    "native", [pd.Series([True, False]), pl.Series([True, False]), pa.array([True, False])], ids=type
)
def test_booleans_are_numbers_where_asked(native):
    np.testing.assert_array_equal(numbers_of_series(column(native), "x").astype(float), [1, 0])


@pytest.mark.parametrize(
    "native",
    [
        pd.Series(pd.to_datetime(["2020-01-01"])),
        pd.Series(pd.to_timedelta(["1s"])),
        pl.Series([datetime.date(2020, 1, 1)]),
        pl.Series([datetime.time(1)]),
        pa.array([datetime.datetime(2020, 1, 1)]),
    ],
    ids=lambda value: str(getattr(value, "dtype", getattr(value, "type", ""))),
)
def test_dates_are_refused_by_name(native):
    with refuses(ColumnError, "x", "exclude=['x']"):
        series_kind(column(native), "x")


@pytest.mark.parametrize(
    "native", [pl.Series([[1], [2]]), pa.array([[1], [2]]), pl.Series([{"a": 1}])], ids=str
)
def test_nested_columns_are_refused_by_name(native):
    with refuses(ColumnError, "x", "dtype"):
        series_kind(column(native), "x")


@pytest.mark.parametrize(
    ("data", "frame"),
    [
        (pd.DataFrame({"x": [1]}), True),
        (pl.DataFrame({"x": [1]}), True),
        (pa.table({"x": [1]}), True),
        (open_frame(pl.DataFrame({"x": [1]})), True),
        (np.ones((1, 1)), False),
        (np.ones(1, dtype=[("x", float)]), False),
        ([[1]], False),
        ({"x": [1]}, False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_frames_are_told_from_arrays(data, frame):
    assert is_frame(data) is frame


def test_what_is_not_in_memory_says_what_to_call():
    with refuses(DataTypeError, "polars", "LazyFrame", "collect()"):
        open_frame(pl.LazyFrame({"x": [1]}))


def test_categoricals_of_one_process_do_not_share_codes():
    pl.Series(["w1", "w2", "w3", "w4"], dtype=pl.Categorical)
    coded = factorize_series(column(pl.Series(["w4", "w2", None], dtype=pl.Categorical)), "x")
    assert decoded(coded) == ["w4", "w2", None]
    assert not coded.complete


@pytest.mark.parametrize("dtype", ["object", "str", "string", "category", "boolean", "bool"])
def test_one_row_is_read_as_it_is_among_others(dtype: str) -> None:
    cells: list[object] = [True, False, True, True] if dtype == "bool" else ["u", "v", None, "u"]
    if dtype == "boolean":
        cells = [True, False, None, True]
    values = pd.Series(cells, dtype=dtype)
    model = NaiveBayes().fit(pd.DataFrame({"c": values}), ["p", "q", "q", "p"])
    together = model.predict_proba(pd.DataFrame({"c": values}))
    alone = [model.predict_proba(pd.DataFrame({"c": values[i : i + 1]}))[0] for i in range(4)]
    assert np.array_equal(together, alone)


def test_record_batches_of_arrow_are_rows() -> None:
    """What a reader of a stream gives, one after the other, and one alone."""
    table = pa.table(
        {"x": [1.0, 2.0, None, 5.0], "word": ["a", "b", "a", None], "class": ["n", "n", "p", "p"]}
    )
    wanted = NaiveBayes().fit(table, target="class")
    streamed = NaiveBayes().fit(table.to_reader(max_chunksize=2), target="class")
    (batch,) = table.to_batches()
    asked = batch.drop_columns(["class"])
    for model in (streamed, NaiveBayes().fit(batch, target="class")):
        np.testing.assert_array_equal(
            model.predict_proba(asked), wanted.predict_proba(table.drop_columns("class"))
        )
