"""Rows in frames of any library, and in other containers, with columns of odd kinds."""

from __future__ import annotations

from collections import OrderedDict
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from bad_cases import Given, case, given
from estimators import small_rows

NO_NUMBER = "numeric|number|categor|neither"
DATES = "dates or times|neither number|no number|numeric|cannot be"


def pandas_with(column: Any, dtype: Any = None) -> Any:
    pd = pytest.importorskip("pandas")
    rows = small_rows()
    return pd.DataFrame({"a": rows[:, 0], "b": pd.Series(np.resize(np.array(column, dtype=object), 12).tolist(), dtype=dtype)})


def polars_with(column: Any, dtype: Any = None) -> Any:
    pl = pytest.importorskip("polars")
    values = [column[i % len(column)] for i in range(12)]
    return pl.DataFrame({"a": small_rows()[:, 0], "b": pl.Series(values, dtype=dtype)})


def arrow_with(column: Any) -> Any:
    pa = pytest.importorskip("pyarrow")
    return pa.table({"a": small_rows()[:, 0], "b": column})


@case()
def pandas_numbers() -> Given:
    pd = pytest.importorskip("pandas")
    return given(pd.DataFrame(small_rows(), columns=list("abc"), index=range(50, 62)))


@case()
def pandas_names_that_are_numbers() -> Given:
    pd = pytest.importorskip("pandas")
    return given(pd.DataFrame(small_rows()))


@case()
def pandas_names_of_many_kinds() -> Given:
    pd = pytest.importorskip("pandas")
    return given(pd.DataFrame(small_rows(), columns=["a", "", "名"]))


@case("", "named 'a'")
def pandas_names_twice() -> Given:
    pd = pytest.importorskip("pandas")
    return given(pd.DataFrame(small_rows(), columns=["a", "b", "a"]))


@case("N", NO_NUMBER)
def pandas_category() -> Given:
    return given(pandas_with(["x", "y", "z"], "category"))


@case("N", NO_NUMBER)
def pandas_category_with_holes() -> Given:
    return given(pandas_with(["x", None, "z"], "category"))


@case("NGgbmck", NO_NUMBER, either="Ggbmck")
def pandas_category_of_numbers() -> Given:
    return given(pandas_with([1, 2, 0], "category"))


@case("N", NO_NUMBER)
def pandas_strings() -> Given:
    return given(pandas_with(["x", "y", "z"], "string"))


@case("N", NO_NUMBER)
def pandas_strings_with_holes() -> Given:
    return given(pandas_with(["x", None], "string"))


@case()
def pandas_nullable_whole_numbers() -> Given:
    return given(pandas_with([0, 1, 2], "Int64"))


@case("NGgk", "NaN|missing")
def pandas_nullable_whole_numbers_with_holes() -> Given:
    return given(pandas_with([0, 1, None], "Int64"))


@case("NGgk", "NaN|missing")
def pandas_nullable_floats_with_holes() -> Given:
    return given(pandas_with([0.0, 1.0, None], "Float64"))


@case()
def pandas_nullable_booleans() -> Given:
    return given(pandas_with([True, False], "boolean"))


@case("NGgk", "NaN|missing")
def pandas_nullable_booleans_with_holes() -> Given:
    return given(pandas_with([True, False, None], "boolean"))


@case()
def pandas_booleans() -> Given:
    return given(pandas_with([True, False], "bool"))


@case("N", NO_NUMBER)
def pandas_objects_mixed() -> Given:
    return given(pandas_with([1, "x", None, 2.5, True], object))


@case("", DATES)
def pandas_dates() -> Given:
    pd = pytest.importorskip("pandas")
    frame = pandas_with([0.0])
    frame["b"] = pd.date_range("2020-01-01", periods=12)
    return given(frame)


@case("", DATES)
def pandas_time_spans() -> Given:
    pd = pytest.importorskip("pandas")
    frame = pandas_with([0.0])
    frame["b"] = pd.to_timedelta(np.arange(12), unit="D")
    return given(frame)


@case("", DATES, either="N")
def pandas_dates_as_objects() -> Given:
    return given(pandas_with([date(2020, 1, 1), date(2021, 1, 1)], object))


@case("NGgbmck", NO_NUMBER)
def pandas_decimals() -> Given:
    return given(pandas_with([Decimal("1"), Decimal("2")], object))


@case("", "cannot be|number|numeric")
def pandas_lists_in_cells() -> Given:
    frame = pandas_with([0.0])
    frame["b"] = [[1], [2, 3]] * 6
    return given(frame)


@case("NGgk", "NaN|missing")
def pandas_column_of_none() -> Given:
    return given(pandas_with([None], object))


@case("", "0 sample")
def pandas_no_rows() -> Given:
    return given(pandas_with([0.0]).iloc[:0], [])


@case("", "0 feature|0 sample")
def pandas_no_columns() -> Given:
    pd = pytest.importorskip("pandas")
    return given(pd.DataFrame(index=range(12)))


@case("", "2D array|Rows were expected|Series")
def pandas_series() -> Given:
    pd = pytest.importorskip("pandas")
    return given(pd.Series(small_rows()[:, 0]))


@case("", "column|name|level|tuple", either="NGgbmck")
def pandas_names_in_two_levels() -> Given:
    pd = pytest.importorskip("pandas")
    return given(pd.DataFrame(small_rows(), columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)])))


@case()
def polars_numbers() -> Given:
    pl = pytest.importorskip("polars")
    return given(pl.DataFrame(small_rows(), schema=["a", "b", "c"]))


@case("N", NO_NUMBER)
def polars_strings_with_holes() -> Given:
    return given(polars_with(["x", "y", None]))


@case("N", NO_NUMBER)
def polars_enum() -> Given:
    pl = pytest.importorskip("polars")
    return given(polars_with(["x", "y", None], pl.Enum(["y", "x", "never"])))


@case("N", NO_NUMBER)
def polars_categorical() -> Given:
    pl = pytest.importorskip("polars")
    return given(polars_with(["x", "y", None], pl.Categorical))


@case()
def polars_booleans() -> Given:
    return given(polars_with([True, False]))


@case("NGgk", "NaN|missing")
def polars_booleans_with_holes() -> Given:
    return given(polars_with([True, False, None]))


@case()
def polars_decimals() -> Given:
    return given(polars_with([Decimal("1"), Decimal("2")]))


@case("NGgk", "NaN|missing")
def polars_decimals_with_holes() -> Given:
    return given(polars_with([Decimal("1"), None]))


@case("", DATES)
def polars_dates() -> Given:
    return given(polars_with([date(2020, 1, 1), date(2021, 1, 1)]))


@case("", DATES)
def polars_time_spans() -> Given:
    return given(polars_with([timedelta(1), timedelta(2)]))


@case("NGgk", "NaN|missing")
def polars_column_of_null() -> Given:
    return given(polars_with([None]))


@case("", NO_NUMBER)
def polars_lists_in_cells() -> Given:
    return given(polars_with([[1], [2, 3]]))


@case("", "collect|rows in memory")
def polars_lazy_frame() -> Given:
    return given(polars_with([1.0, 2.0]).lazy())


@case("", "0 sample")
def polars_no_rows() -> Given:
    return given(polars_with([1.0]).clear(), [])


@case("N", NO_NUMBER)
def arrow_strings_with_holes() -> Given:
    return given(arrow_with(["x", "y", None] * 4))


@case("N", NO_NUMBER)
def arrow_dictionary() -> Given:
    pa = pytest.importorskip("pyarrow")
    return given(arrow_with(pa.array(["x", "y", None] * 4).dictionary_encode()))


@case("N", NO_NUMBER)
def arrow_dictionary_in_chunks() -> Given:
    pa = pytest.importorskip("pyarrow")
    chunks = [pa.array(["x", "y"] * 3).dictionary_encode(), pa.array(["z", None] * 3).dictionary_encode()]
    return given(arrow_with(pa.chunked_array(chunks)))


@case()
def arrow_numbers_in_chunks() -> Given:
    pa = pytest.importorskip("pyarrow")
    return given(arrow_with(pa.chunked_array([[0, 1, 2] * 2, [1, 1, 0] * 2])))


@case("NGgk", "NaN|missing")
def arrow_numbers_with_holes() -> Given:
    return given(arrow_with([0, 1, None] * 4))


@case("NGgk", "NaN|missing")
def arrow_column_of_null() -> Given:
    pa = pytest.importorskip("pyarrow")
    return given(arrow_with(pa.nulls(12)))


@case()
def arrow_booleans() -> Given:
    return given(arrow_with([True, False] * 6))


@case("", "named 'a'")
def arrow_names_twice() -> Given:
    pa = pytest.importorskip("pyarrow")
    return given(pa.Table.from_arrays([pa.array(np.arange(12) % 3)] * 2, names=["a", "a"]))


@case("", DATES)
def arrow_dates() -> Given:
    return given(arrow_with([date(2020, 1, 1), date(2021, 1, 1)] * 6))


@case()
def mapping_of_columns() -> Given:
    return given(OrderedDict(a=small_rows()[:, 0], b=[0, 1] * 6), n_test=12)


@case("", "different lengths")
def mapping_of_unequal_columns() -> Given:
    return given({"a": np.arange(12), "b": np.arange(11)})


@case("", "0 sample|0 feature")
def mapping_of_nothing() -> Given:
    return given({}, [])


@case("", "column|length|dim|scalar|number")
def mapping_of_numbers() -> Given:
    return given({"a": 1.0, "b": 2.0}, [0])


@case("N", NO_NUMBER)
def lists_of_strings_and_numbers() -> Given:
    return given([["x", 1.0], ["y", 2.0], ["x", None], [None, 0.5]] * 3)


@case("N", NO_NUMBER)
def strings() -> Given:
    return given(np.resize(np.array(["x", "y", "z"]), (12, 2)))


@case("", NO_NUMBER, either="N")
def bytes_in_cells() -> Given:
    return given(np.resize(np.array([b"x", b"y", b"z"]), (12, 2)))


@case("NGgbmck", NO_NUMBER, either="gGbmck")
def strings_that_are_numbers() -> Given:
    return given(np.resize(np.array(["1", "2", "0"]), (12, 2)))


@case()
def objects_that_are_numbers() -> Given:
    return given(small_rows().astype(object))


@case("NGgk", "NaN|missing")
def objects_with_none() -> Given:
    rows = small_rows().astype(object)
    rows[3, 1] = None
    return given(rows)


@case("NGgbmck", NO_NUMBER)
def fractions_and_decimals_in_objects() -> Given:
    rows = small_rows().astype(object)
    rows[:, 1] = [Fraction(1), Decimal(2)] * 6
    return given(rows)


@case("", "cannot be|number")
def sets_in_cells() -> Given:
    rows = small_rows().astype(object)
    for i in range(12):
        rows[i, 1] = {i}
    return given(rows)


@case("N", NO_NUMBER)
def tuples_in_cells() -> Given:
    rows = small_rows().astype(object)
    for i in range(12):
        rows[i, 1] = (i % 2, "x")
    return given(rows)
