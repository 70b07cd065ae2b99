"""Labels and weights that are odd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from bad_cases import Given, case, given
from estimators import EVERY, small_rows


def objects(*labels: Any) -> np.ndarray:
    """Return twelve labels, the given ones in turn, as objects (tuples stay whole)."""
    array = np.empty(12, dtype=object)
    for i in range(12):
        array[i] = labels[i % len(labels)]
    return array


@case()
def labels_that_cannot_be_compared() -> Given:
    return given(y=objects(1, "a"))


@case()
def labels_that_cannot_be_compared_in_a_list() -> Given:
    return given(y=[1, "a"] * 6)


@case("", "y contains NaN|missing")
def label_none() -> Given:
    return given(y=objects("a", "b", None))


@case("", "y contains NaN|missing")
def label_none_in_a_list() -> Given:
    return given(y=["a", None] * 6)


@case("", "y contains NaN|missing")
def label_nan() -> Given:
    return given(y=np.resize([0.0, 1.0, np.nan], 12))


@case("", "infinity")
def label_infinite() -> Given:
    return given(y=np.resize([0.0, 1.0, np.inf], 12))


@case("", "continuous")
def labels_continuous() -> Given:
    return given(y=np.linspace(0, 1, 12))


@case("", "[Cc]omplex")
def labels_complex() -> Given:
    return given(y=np.resize([1j, 2.0], 12))


@case("", "date|time")
def labels_dates() -> Given:
    return given(y=np.resize(np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]"), 12))


@case()
def labels_whole_floats() -> Given:
    return given(y=np.resize([0.0, 2.0], 12))


@case()
def labels_booleans() -> Given:
    return given(y=np.resize([True, False], 12))


@case()
def labels_true_and_two() -> Given:
    return given(y=objects(True, 2))


@case()
def labels_strings() -> Given:
    return given(y=np.resize(["good", "bad"], 12))


@case()
def labels_bytes() -> Given:
    return given(y=np.resize([b"good", b"bad"], 12))


@case()
def labels_bytes_as_objects() -> Given:
    return given(y=objects(b"good", b"bad"))


@case()
def labels_bytes_and_strings() -> Given:
    return given(y=objects(b"a", "a"))


@case()
def labels_emoji() -> Given:
    return given(y=objects("🍉", "🥒", "西瓜"))


@case()
def labels_with_nul() -> Given:
    return given(y=objects("a\0b", "a\0c", "a"))


@case()
def labels_that_end_in_nul_as_objects() -> Given:
    return given(y=objects("a\0", "a"))


@case()
def labels_empty_string() -> Given:
    return given(y=objects("", " "))


@case()
def labels_lone_surrogate() -> Given:
    return given(y=objects("\ud800", "a"))


@case()
def labels_very_long() -> Given:
    return given(y=objects("x" * 100_000, "y" * 100_000))


@case()
def labels_huge_numbers() -> Given:
    return given(y=objects(2**70, -(2**70)))


@case()
def labels_extreme_int64() -> Given:
    return given(y=np.resize(np.array([2**63 - 1, -(2**63)]), 12))


@case()
def labels_extreme_uint64() -> Given:
    return given(y=np.resize(np.array([2**64 - 1, 0], dtype=np.uint64), 12))


@case()
def labels_int8_far_apart() -> Given:
    return given(y=np.resize(np.array([127, -128], dtype=np.int8), 12))


@case()
def labels_tuples() -> Given:
    return given(y=objects((1, 2), (3, 4)))


@case()
def labels_tuples_of_different_lengths() -> Given:
    return given(y=objects((1,), (3, 4)))


@case("", "cannot be|list")
def labels_lists_inside_objects() -> Given:
    return given(y=objects([1], [2]))


@case("", "1d array|shape|different lengths")
def labels_ragged_lists() -> Given:
    return given(y=[[1], [2, 3]] * 6)


@case()
def labels_numpy_scalars() -> Given:
    return given(y=objects(np.int64(1), np.str_("a"), np.float32(2.0)))


@case()
def labels_in_a_tuple() -> Given:
    return given(y=tuple("ab" * 6))


@case()
def labels_in_a_range() -> Given:
    return given(y=range(12))


@case()
def labels_as_a_column() -> Given:
    return given(y=np.arange(12).reshape(-1, 1) % 2)


@case("", "1d array")
def labels_in_two_columns() -> Given:
    return given(y=np.zeros((12, 2)))


@case("", "1d array")
def labels_three_dimensional() -> Given:
    return given(y=np.zeros((12, 1, 1)))


@case("", "11 labels")
def labels_too_few() -> Given:
    return given(y=np.arange(11) % 2)


@case("", "13 labels")
def labels_too_many() -> Given:
    return given(y=np.arange(13) % 2)


@case("", "1d array")
def label_single_number() -> Given:
    return given(y=3)


@case("", "1d array")
def label_single_string() -> Given:
    return given(y="target")


@case("", "requires y|y is None")
def labels_not_given() -> Given:
    return Given(small_rows())


@case("", "1d array|labels")
def labels_in_a_generator() -> Given:
    return given(y=(i % 2 for i in range(12)))


@case("", "1d array|labels|dict")
def labels_in_a_mapping() -> Given:
    return given(y={i: i % 2 for i in range(12)})


@case()
def labels_pandas_series() -> Given:
    pd = pytest.importorskip("pandas")
    return given(y=pd.Series(["a", "b"] * 6, index=range(100, 112)))


@case()
def labels_pandas_categorical() -> Given:
    pd = pytest.importorskip("pandas")
    return given(y=pd.Categorical(["a", "b"] * 6, categories=["b", "a", "never"]))


@case()
def labels_pandas_categorical_series() -> Given:
    pd = pytest.importorskip("pandas")
    return given(y=pd.Series(["a", "b"] * 6, dtype="category"))


@case()
def labels_pandas_nullable() -> Given:
    pd = pytest.importorskip("pandas")
    return given(y=pd.Series([1, 2] * 6, dtype="Int64"))


@case("", "y contains NaN|missing")
def labels_pandas_nullable_with_a_hole() -> Given:
    pd = pytest.importorskip("pandas")
    return given(y=pd.Series([1, 2, None] * 4, dtype="Int64"))


@case()
def labels_pandas_frame_of_one_column() -> Given:
    pd = pytest.importorskip("pandas")
    return given(y=pd.DataFrame({"y": [0, 1] * 6}))


@case()
def labels_polars_series() -> Given:
    pl = pytest.importorskip("polars")
    return given(y=pl.Series(["a", "b"] * 6))


@case()
def labels_polars_enum() -> Given:
    pl = pytest.importorskip("polars")
    return given(y=pl.Series(["a", "b"] * 6, dtype=pl.Enum(["b", "a", "never"])))


@case("", "y contains NaN|missing")
def labels_polars_with_a_hole() -> Given:
    pl = pytest.importorskip("polars")
    return given(y=pl.Series(["a", "b", None] * 4))


@case()
def labels_arrow_array() -> Given:
    pa = pytest.importorskip("pyarrow")
    return given(y=pa.array(["a", "b"] * 6))


@case()
def labels_arrow_chunked() -> Given:
    pa = pytest.importorskip("pyarrow")
    return given(y=pa.chunked_array([["a", "b"] * 3, ["a", "c"] * 3]))


@case()
def labels_read_only() -> Given:
    y = np.arange(12) % 2
    y.flags.writeable = False
    return given(y=y)


@case()
def labels_backwards() -> Given:
    return given(y=(np.arange(12) % 2)[::-1])


@case("", "row 3 is -1")
def weight_negative() -> Given:
    return given(sample_weight=[1.0] * 3 + [-1.0] + [1.0] * 8)


@case("", "row 3 is nan")
def weight_nan() -> Given:
    return given(sample_weight=[1.0] * 3 + [np.nan] + [1.0] * 8)


@case("", "row 3 is inf")
def weight_infinite() -> Given:
    return given(sample_weight=[1.0] * 3 + [np.inf] + [1.0] * 8)


@case("", "zero")
def weights_all_zero() -> Given:
    return given(sample_weight=np.zeros(12))


@case("", "11 row weights")
def weights_too_few() -> Given:
    return given(sample_weight=np.ones(11))


@case("", "1D array")
def weights_two_dimensional() -> Given:
    return given(sample_weight=np.ones((12, 1)))


@case("", "not numbers")
def weights_strings() -> Given:
    return given(sample_weight=["heavy"] * 12)


@case("", "no column")
def weights_named_without_names() -> Given:
    return given(sample_weight="heavy")


@case("", "not numbers")
def weights_complex() -> Given:
    return given(sample_weight=np.full(12, 1j))


@case()
def weight_scalar() -> Given:
    return given(sample_weight=2.5)


@case("", "zero")
def weight_scalar_zero() -> Given:
    return given(sample_weight=0.0)


@case()
def weights_whole_numbers() -> Given:
    return given(sample_weight=np.arange(12))


@case()
def weights_booleans() -> Given:
    return given(sample_weight=np.arange(12) % 3 > 0)


@case(EVERY)
def weights_tiny() -> Given:
    return given(sample_weight=np.full(12, 1e-300))


@case(EVERY)
def weights_subnormal() -> Given:
    return given(sample_weight=np.full(12, 5e-324))


@case("", "weight|large", either=EVERY)
def weights_huge() -> Given:
    return given(sample_weight=np.full(12, 1e300))


@case("", "weight|large", either=EVERY)
def weights_that_overflow_when_added() -> Given:
    return given(sample_weight=np.full(12, 1.7e308))


@case()
def weights_far_apart() -> Given:
    return given(sample_weight=np.logspace(-15, 15, 12))


@case()
def weight_only_in_one_class() -> Given:
    return given(sample_weight=np.arange(12) % 2)


@case()
def weight_only_on_one_row() -> Given:
    return given(sample_weight=np.eye(12)[3])


@case()
def weights_pandas_series() -> Given:
    pd = pytest.importorskip("pandas")
    return given(sample_weight=pd.Series(np.ones(12), index=range(50, 62)))
