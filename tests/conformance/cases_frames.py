"""Rows in frames of any library, and in other containers, with columns of odd kinds."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from bad_cases import Given, arrow, case, enter, given, pandas, polars
from estimators import small_rows

NO_NUMBER = "numeric|number"
DATES = "exclude=['b']|Timestamp|Timedelta|datetime.date|datetime.timedelta"


def pandas_with(column: Any, dtype: Any = None) -> Any:
    values = [column[i % len(column)] for i in range(12)]
    return pandas().DataFrame({"a": small_rows()[:, 0], "b": pandas().Series(values, dtype=dtype)})


def polars_with(column: Any, dtype: Any = None) -> Any:
    values = [column[i % len(column)] for i in range(12)]
    return polars().DataFrame({"a": small_rows()[:, 0], "b": polars().Series(values, dtype=dtype)})


def arrow_with(column: Any) -> Any:
    return arrow().table({"a": small_rows()[:, 0], "b": column})


enter(
    "pandas_numbers",
    lambda: given(pandas().DataFrame(small_rows(), columns=list("abc"), index=range(50, 62))),
)
enter("pandas_names_that_are_numbers", lambda: given(pandas().DataFrame(small_rows())))
enter("pandas_names_of_many_kinds", lambda: given(pandas().DataFrame(small_rows(), columns=["a", "", "名"])))
enter(
    "pandas_names_twice",
    lambda: given(pandas().DataFrame(small_rows(), columns=["a", "b", "a"])),
    "",
    "'a'",
)
enter("pandas_category", lambda: given(pandas_with(["x", "y", "z"], "category")), "N", NO_NUMBER)
enter("pandas_category_with_holes", lambda: given(pandas_with(["x", None, "z"], "category")), "N", NO_NUMBER)
enter("pandas_category_of_numbers", lambda: given(pandas_with([1, 2, 0], "category")))
enter("pandas_strings", lambda: given(pandas_with(["x", "y", "z"], "string")), "N", NO_NUMBER)
enter("pandas_strings_with_holes", lambda: given(pandas_with(["x", None], "string")), "N", NO_NUMBER)
enter("pandas_nullable_whole_numbers", lambda: given(pandas_with([0, 1, 2], "Int64")))
enter(
    "pandas_nullable_whole_numbers_with_holes",
    lambda: given(pandas_with([0, 1, None], "Int64")),
    "NGgk",
    "NaN",
)
enter(
    "pandas_nullable_floats_with_holes",
    lambda: given(pandas_with([0.0, 1.0, None], "Float64")),
    "NGgk",
    "NaN",
)
enter("pandas_nullable_booleans", lambda: given(pandas_with([True, False], "boolean")))
enter(
    "pandas_nullable_booleans_with_holes",
    lambda: given(pandas_with([True, False, None], "boolean")),
    "NGgk",
    "NaN",
)
enter("pandas_booleans", lambda: given(pandas_with([True, False], "bool")))
enter("pandas_objects_mixed", lambda: given(pandas_with([1, "x", None, 2.5, True], object)), "N", NO_NUMBER)


@case("", DATES)
def pandas_dates() -> Given:
    frame = pandas_with([0.0])
    frame["b"] = pandas().date_range("2020-01-01", periods=12)
    return given(frame)


@case("", DATES)
def pandas_time_spans() -> Given:
    frame = pandas_with([0.0])
    frame["b"] = pandas().to_timedelta(np.arange(12), unit="D")
    return given(frame)


enter(
    "pandas_dates_as_objects",
    lambda: given(pandas_with([date(2020, 1, 1), date(2021, 1, 1)], object)),
    "",
    DATES,
    either="N",
)
enter(
    "pandas_decimals", lambda: given(pandas_with([Decimal("1"), Decimal("2")], object)), "NGgbmck", NO_NUMBER
)


@case("", "b")
def pandas_lists_in_cells() -> Given:
    frame = pandas_with([0.0])
    frame["b"] = [[1], [2, 3]] * 6
    return given(frame)


enter("pandas_column_of_none", lambda: given(pandas_with([None], object)), "NGgk", "NaN")
enter("pandas_no_rows", lambda: given(pandas_with([0.0]).iloc[:0], []), "", "0&sample")
enter("pandas_no_columns", lambda: given(pandas().DataFrame(index=range(12))), "", "0&(12, 0)")
enter(
    "pandas_series",
    lambda: given(pandas().Series(small_rows()[:, 0])),
    "",
    "2D&1D",
)
enter(
    "pandas_names_in_two_levels",
    lambda: given(
        pandas().DataFrame(
            small_rows(), columns=pandas().MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)])
        )
    ),
    "",
    "column|name|level|tuple",
    either="NGgbmck",
)
enter("polars_numbers", lambda: given(polars().DataFrame(small_rows(), schema=["a", "b", "c"])))
enter("polars_strings_with_holes", lambda: given(polars_with(["x", "y", None])), "N", NO_NUMBER)
enter(
    "polars_enum",
    lambda: given(polars_with(["x", "y", None], polars().Enum(["y", "x", "never"]))),
    "N",
    NO_NUMBER,
)
enter(
    "polars_categorical", lambda: given(polars_with(["x", "y", None], polars().Categorical)), "N", NO_NUMBER
)
enter("polars_booleans", lambda: given(polars_with([True, False])))
enter("polars_booleans_with_holes", lambda: given(polars_with([True, False, None])), "NGgk", "NaN")
enter("polars_decimals", lambda: given(polars_with([Decimal("1"), Decimal("2")])))
enter("polars_decimals_with_holes", lambda: given(polars_with([Decimal("1"), None])), "NGgk", "NaN")
enter("polars_dates", lambda: given(polars_with([date(2020, 1, 1), date(2021, 1, 1)])), "", DATES)
enter("polars_time_spans", lambda: given(polars_with([timedelta(1), timedelta(2)])), "", DATES)
enter("polars_column_of_null", lambda: given(polars_with([None])), "NGgk", "NaN")
enter("polars_lists_in_cells", lambda: given(polars_with([[1], [2, 3]])), "", NO_NUMBER)
enter("polars_lazy_frame", lambda: given(polars_with([1.0, 2.0]).lazy()), "", "LazyFrame&collect()")
enter("polars_no_rows", lambda: given(polars_with([1.0]).clear(), []), "", "0&sample")
enter("arrow_strings_with_holes", lambda: given(arrow_with(["x", "y", None] * 4)), "N", NO_NUMBER)
enter(
    "arrow_dictionary",
    lambda: given(arrow_with(arrow().array(["x", "y", None] * 4).dictionary_encode())),
    "N",
    NO_NUMBER,
)


@case("N", NO_NUMBER)
def arrow_dictionary_in_chunks() -> Given:
    pa = pytest.importorskip("pyarrow")
    chunks = [pa.array(["x", "y"] * 3).dictionary_encode(), pa.array(["z", None] * 3).dictionary_encode()]
    return given(arrow_with(pa.chunked_array(chunks)))


enter(
    "arrow_numbers_in_chunks",
    lambda: given(arrow_with(arrow().chunked_array([[0, 1, 2] * 2, [1, 1, 0] * 2]))),
)
enter("arrow_numbers_with_holes", lambda: given(arrow_with([0, 1, None] * 4)), "NGgk", "NaN")
enter("arrow_column_of_null", lambda: given(arrow_with(arrow().nulls(12))), "NGgk", "NaN")
enter("arrow_booleans", lambda: given(arrow_with([True, False] * 6)))
enter(
    "arrow_names_twice",
    lambda: given(arrow().Table.from_arrays([arrow().array(np.arange(12) % 3)] * 2, names=["a", "a"])),
    "",
    "'a'",
)
enter("arrow_dates", lambda: given(arrow_with([date(2020, 1, 1), date(2021, 1, 1)] * 6)), "", DATES)
