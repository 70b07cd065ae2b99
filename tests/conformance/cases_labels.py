"""Labels and weights that are odd."""

from __future__ import annotations

from typing import Any

import numpy as np
from bad_cases import Given, arrow, case, enter, given, pandas, polars
from estimators import EVERY, small_rows


def objects(*labels: Any) -> np.ndarray:
    """Return twelve labels, the given ones in turn, as objects (tuples stay whole)."""
    array = np.empty(12, dtype=object)
    for i in range(12):
        array[i] = labels[i % len(labels)]
    return array


enter("labels_that_cannot_be_compared", lambda: given(y=objects(1, "a")))
enter("labels_that_cannot_be_compared_in_a_list", lambda: given(y=[1, "a"] * 6))
enter("label_none", lambda: given(y=objects("a", "b", None)), "", "y&NaN")
enter("label_none_in_a_list", lambda: given(y=["a", None] * 6), "", "y&NaN")
enter("label_nan", lambda: given(y=np.resize([0.0, 1.0, np.nan], 12)), "", "y&NaN")
enter("label_infinite", lambda: given(y=np.resize([0.0, 1.0, np.inf], 12)), "", "infinity")
enter("labels_continuous", lambda: given(y=np.linspace(0, 1, 12)), "", "continuous")
enter("labels_complex", lambda: given(y=np.resize([1j, 2.0], 12)), "", "Complex")
enter(
    "labels_dates",
    lambda: given(y=np.resize(np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]"), 12)),
    "",
    "exclude=['y']",
)
enter("labels_whole_floats", lambda: given(y=np.resize([0.0, 2.0], 12)))
enter("labels_booleans", lambda: given(y=np.resize([True, False], 12)))
enter("labels_true_and_two", lambda: given(y=objects(True, 2)))
enter("labels_strings", lambda: given(y=np.resize(["good", "bad"], 12)))
enter("labels_bytes", lambda: given(y=np.resize([b"good", b"bad"], 12)))
enter("labels_bytes_as_objects", lambda: given(y=objects(b"good", b"bad")))
enter("labels_bytes_and_strings", lambda: given(y=objects(b"a", "a")))
enter("labels_emoji", lambda: given(y=objects("🍉", "🥒", "西瓜")))
enter("labels_with_nul", lambda: given(y=objects("a\0b", "a\0c", "a")))
enter("labels_that_end_in_nul_as_objects", lambda: given(y=objects("a\0", "a")))
enter("labels_empty_string", lambda: given(y=objects("", " ")))
enter("labels_lone_surrogate", lambda: given(y=objects("\ud800", "a")))
enter("labels_very_long", lambda: given(y=objects("x" * 100_000, "y" * 100_000)))
enter("labels_huge_numbers", lambda: given(y=objects(2**70, -(2**70))))
enter("labels_extreme_int64", lambda: given(y=np.resize(np.array([2**63 - 1, -(2**63)]), 12)))
enter("labels_extreme_uint64", lambda: given(y=np.resize(np.array([2**64 - 1, 0], dtype=np.uint64), 12)))
enter("labels_int8_far_apart", lambda: given(y=np.resize(np.array([127, -128], dtype=np.int8), 12)))
enter("labels_tuples", lambda: given(y=objects((1, 2), (3, 4))))
enter("labels_tuples_of_different_lengths", lambda: given(y=objects((1,), (3, 4))))
enter("labels_lists_inside_objects", lambda: given(y=objects([1], [2])), "", "y&[1]&list")
enter("labels_ragged_lists", lambda: given(y=[[1], [2, 3]] * 6), "", "y&lengths")
enter("labels_numpy_scalars", lambda: given(y=objects(np.int64(1), np.str_("a"), np.float32(2.0))))
enter("labels_in_a_tuple", lambda: given(y=tuple("ab" * 6)))
enter("labels_in_a_range", lambda: given(y=range(12)))
enter("labels_as_a_column", lambda: given(y=np.arange(12).reshape(-1, 1) % 2))
enter("labels_in_two_columns", lambda: given(y=np.zeros((12, 2))), "", "1d")
enter("labels_three_dimensional", lambda: given(y=np.zeros((12, 1, 1))), "", "1d")
enter("labels_too_few", lambda: given(y=np.arange(11) % 2), "", "12&11")
enter("labels_too_many", lambda: given(y=np.arange(13) % 2), "", "12&13")
enter("label_single_number", lambda: given(y=3), "", "1d")
enter("label_single_string", lambda: given(y="target"), "", "1d")
enter("labels_not_given", lambda: Given(small_rows()), "", 'y&target="..."')
enter("labels_in_a_generator", lambda: given(y=(i % 2 for i in range(12))), "", "1d&generator")
enter("labels_in_a_mapping", lambda: given(y={i: i % 2 for i in range(12)}), "", "1d&dict")
enter("labels_pandas_series", lambda: given(y=pandas().Series(["a", "b"] * 6, index=range(100, 112))))
enter(
    "labels_pandas_categorical",
    lambda: given(y=pandas().Categorical(["a", "b"] * 6, categories=["b", "a", "never"])),
)
enter("labels_pandas_categorical_series", lambda: given(y=pandas().Series(["a", "b"] * 6, dtype="category")))
enter("labels_pandas_nullable", lambda: given(y=pandas().Series([1, 2] * 6, dtype="Int64")))
enter(
    "labels_pandas_nullable_with_a_hole",
    lambda: given(y=pandas().Series([1, 2, None] * 4, dtype="Int64")),
    "",
    "y&NaN",
)
enter("labels_pandas_frame_of_one_column", lambda: given(y=pandas().DataFrame({"y": [0, 1] * 6})))
enter("labels_polars_series", lambda: given(y=polars().Series(["a", "b"] * 6)))
enter(
    "labels_polars_enum",
    lambda: given(y=polars().Series(["a", "b"] * 6, dtype=polars().Enum(["b", "a", "never"]))),
)
enter(
    "labels_polars_with_a_hole",
    lambda: given(y=polars().Series(["a", "b", None] * 4)),
    "",
    "y&NaN",
)
enter("labels_arrow_array", lambda: given(y=arrow().array(["a", "b"] * 6)))
enter("labels_arrow_chunked", lambda: given(y=arrow().chunked_array([["a", "b"] * 3, ["a", "c"] * 3])))


@case()
def labels_read_only() -> Given:
    y = np.arange(12) % 2
    y.flags.writeable = False
    return given(y=y)


enter("labels_backwards", lambda: given(y=(np.arange(12) % 2)[::-1]))
enter("weight_negative", lambda: given(sample_weight=[1.0] * 3 + [-1.0] + [1.0] * 8), "", "3&-1.0")
enter("weight_nan", lambda: given(sample_weight=[1.0] * 3 + [np.nan] + [1.0] * 8), "", "3&nan")
enter("weight_infinite", lambda: given(sample_weight=[1.0] * 3 + [np.inf] + [1.0] * 8), "", "3&inf")
enter("weights_all_zero", lambda: given(sample_weight=np.zeros(12)), "", "zero")
enter("weights_too_few", lambda: given(sample_weight=np.ones(11)), "", "11&12")
enter("weights_two_dimensional", lambda: given(sample_weight=np.ones((12, 1))), "", "1D&(12, 1)")
enter("weights_strings", lambda: given(sample_weight=["heavy"] * 12), "", "weights&numbers")
enter("weights_named_without_names", lambda: given(sample_weight="heavy"), "", "sample_weight&heavy")
enter("weights_complex", lambda: given(sample_weight=np.full(12, 1j)), "", "weights&numbers")
enter("weight_scalar", lambda: given(sample_weight=2.5))
enter("weight_scalar_zero", lambda: given(sample_weight=0.0), "", "zero")
enter("weights_whole_numbers", lambda: given(sample_weight=np.arange(12)))
enter("weights_booleans", lambda: given(sample_weight=np.arange(12) % 3 > 0))
enter("weights_tiny", lambda: given(sample_weight=np.full(12, 1e-300)), "", "weights", either=EVERY)
enter("weights_subnormal", lambda: given(sample_weight=np.full(12, 5e-324)), "", "weights", either=EVERY)
enter("weights_huge", lambda: given(sample_weight=np.full(12, 1e300)), "", "weights", either=EVERY)
enter(
    "weights_that_overflow_when_added",
    lambda: given(sample_weight=np.full(12, 1.7e308)),
    "",
    "weights",
    either=EVERY,
)
enter("weights_far_apart", lambda: given(sample_weight=np.logspace(-15, 15, 12)))
enter("weight_only_in_one_class", lambda: given(sample_weight=np.arange(12) % 2))
enter("weight_only_on_one_row", lambda: given(sample_weight=np.eye(12)[3]))
enter("weights_pandas_series", lambda: given(sample_weight=pandas().Series(np.ones(12), index=range(50, 62))))
