"""Rows whose shape or numbers are odd."""

from __future__ import annotations

import numpy as np
from bad_cases import Given, case, enter, given, put
from estimators import EVERY, small_labels, small_rows

NAN, INF = np.nan, np.inf
MISSING = "NaN"
TOO_LARGE = "code|1e+70|1e+100|Negative|1.8e308"
enter("one_class", lambda: given(y=np.zeros(12, dtype=int)))
enter("one_row", lambda: given(small_rows()[1:2], [1]))
enter("one_row_of_each_class", lambda: given(small_rows()[:2], [0, 1]))
enter("one_column", lambda: given(small_rows(d=1)))
enter("one_cell", lambda: given([[1.0]], ["a"]))
enter("missing_cell", lambda: given(put(NAN)), "NGgk", MISSING)
enter("column_all_missing", lambda: given(put(NAN, slice(None))), "NGgk", MISSING)
enter("row_all_missing", lambda: given(put(NAN, 4, slice(None))), "NGgk", MISSING)
enter("everything_missing", lambda: given(np.full((12, 3), NAN)), "NGgk", MISSING)
enter("column_missing_in_one_class", lambda: given(put(NAN, small_labels() == 0)), "NGgk", MISSING)
enter("missing_only_when_predicting", lambda: given(test=np.full((2, 3), NAN), n_test=2), "NGgk", MISSING)


# A search over networks compares scores of the same rows: those without a hole.
@case("NGgk", "NaN|missing", either="B")
def no_row_is_complete() -> Given:
    rows = small_rows()
    rows[np.arange(12), np.arange(12) % 3] = NAN
    return given(rows)


enter("column_constant", lambda: given(put(2.0, slice(None))))
enter("everything_constant", lambda: given(np.ones((12, 3))))
enter("everything_zero", lambda: given(np.zeros((12, 3))))
enter("constant_in_one_class", lambda: given(put(1.0, small_labels() == 0)))
enter("class_told_by_one_column", lambda: given(put(small_labels(), slice(None))))
enter("columns_twice", lambda: given(np.hstack([small_rows(), small_rows()])))
enter("more_columns_than_rows", lambda: given(small_rows(6, 40), small_labels(6)), largest=1_000_000)
# A search sums squares: it refuses numbers beyond 1e+100.
enter("one_huge_value", lambda: given(put(1e300)), "Ngbmc", TOO_LARGE, either="B")
enter("all_values_huge", lambda: given(1e300 * (1 + small_rows())), "Ngbmc", TOO_LARGE, either="B")
enter("one_hugely_negative_value", lambda: given(put(-1e300)), "Ngb", TOO_LARGE, either="B")
enter(
    "values_near_the_largest_float",
    lambda: given(1.7e308 * (small_rows() / 2)),
    "Ngb",
    TOO_LARGE,
    either="mcB",
)
enter("both_ends_of_the_floats", lambda: given(1.7e308 * (small_rows() - 1)), "Ngb", TOO_LARGE, either="B")


@case("Ngb", TOO_LARGE, either="B")
def huge_and_tiny_values() -> Given:
    rows = small_rows()
    rows[:, 0] = np.resize([1e300, -1e300, 1e-300, 0.0], 12)
    return given(rows)


enter("tiny_values", lambda: given(1e-300 * small_rows()))
enter("subnormal_values", lambda: given(5e-324 * small_rows()))
enter("tiny_differences_far_from_zero", lambda: given(1e5 + small_rows()), largest=10_000_000)
enter("large_whole_numbers", lambda: given(2.0**53 + 2 * small_rows()), "NGgbmc", "code")
enter(
    "negative_zero_and_negatives",
    lambda: given(np.where(small_rows() == 1, -0.0, small_rows() - 1)),
    "NGgb",
    "Negative",
)
enter("infinity", lambda: given(put(INF)), "", "infinity|inf|-inf")
enter("minus_infinity", lambda: given(put(-INF)), "", "infinity|inf|-inf")


@case("", "infinity|inf|NaN")
def infinity_and_missing() -> Given:
    rows = put(INF)
    rows[0, 0] = NAN
    return given(rows)


enter(
    "infinity_only_when_predicting",
    lambda: given(test=np.array([[INF, 0.0, 1.0]]), n_test=1),
    "",
    "infinity|inf|-inf",
    either="B",  # a column that its network has left out is not looked at
)
enter("huge_only_when_predicting", lambda: given(test=np.array([[1e300, 0.0, 1.0]]), n_test=1))
enter("negative_only_when_predicting", lambda: given(test=np.array([[-1.0, 0.0, 1.0]]), n_test=1))
enter("no_rows", lambda: given(np.empty((0, 3)), np.empty(0)), "", "0&sample")
enter("no_rows_to_predict", lambda: given(test=np.empty((0, 3)), n_test=0), "", "0&sample")
enter("no_columns", lambda: given(np.empty((12, 0))), "", "0&(12, 0)")
enter("empty_list", lambda: given([], []), "", "2D&1D")
enter("a_number", lambda: given(np.float64(3.0), [1]), "", "2D&0D")
enter("zero_dimensional_array", lambda: given(np.array(3.0), [1]), "", "2D")
enter("one_dimensional_array", lambda: given(np.arange(12.0)), "", "2D")
enter("three_dimensional_array", lambda: given(np.ones((12, 3, 2))), "", "3")
enter("one_dimensional_row_to_predict", lambda: given(test=np.zeros(3), n_test=1), "", "2D")
enter("too_few_columns_to_predict", lambda: given(test=small_rows(d=2)), "", "features")
enter("too_many_columns_to_predict", lambda: given(test=small_rows(d=4)), "", "features")
enter(
    "ragged_lists",
    lambda: given([[1.0, 2.0], [3.0]], [0, 1]),
    "",
    "lengths&rectangular",
)
enter("complex_numbers", lambda: given(small_rows() + 1j), "", "Complex")
enter("rows_none", lambda: Given(None, small_labels()), "", "NoneType")
enter("rows_none_to_predict", lambda: given(test=object(), n_test=1), "", "object")
enter(
    "thousand_classes", lambda: given(small_rows(3000), small_labels(3000, 1000)), EVERY, largest=10_000_000
)


@case("NGgbmc", "x1&4611686018427387904")
def one_code_of_two_to_the_sixty_two() -> Given:
    rows = small_rows().astype(np.int64)
    rows[4, 1] = 2**62
    return given(rows)


@case("NGgb", "Negative")
def one_code_of_minus_two_to_the_sixty_two() -> Given:
    rows = small_rows().astype(np.int64)
    rows[4, 1] = -(2**62)
    return given(rows)


@case("NGgbmc", "code")
def unsigned_codes_above_two_to_the_sixty_three() -> Given:
    rows = small_rows().astype(np.uint64)
    rows[4, 1] = 2**63 + 5
    return given(rows)


@case("NGgbmc", "code")
def whole_numbers_above_sixty_four_bits_in_lists() -> Given:
    rows = small_rows().astype(int).tolist()
    rows[4][1] = 2**70
    return given(rows)


@case("NGgbmc", "code")
def whole_numbers_of_two_to_the_sixty_three_in_objects() -> Given:
    rows = small_rows().astype(int).astype(object)
    rows[4, 1] = 2**63
    return given(rows)


enter("code_beyond_any_table", lambda: given(put(2.0**40)), "NGgbmc", "code")
