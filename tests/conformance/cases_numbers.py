"""Rows whose shape or numbers are odd."""

from __future__ import annotations

import numpy as np
from bad_cases import Given, case, given, put
from estimators import EVERY, small_labels, small_rows

NAN, INF = np.nan, np.inf
MISSING = "contains NaN|holds NaN|missing|infinity"
TOO_LARGE = r"code|beyond 1e\+70|[Nn]egative|too large|overflow"


@case()
def one_class() -> Given:
    return given(y=np.zeros(12, dtype=int))


@case()
def one_row() -> Given:
    return given(small_rows()[1:2], [1])


@case()
def one_row_of_each_class() -> Given:
    return given(small_rows()[:2], [0, 1])


@case()
def one_column() -> Given:
    return given(small_rows(d=1))


@case()
def one_cell() -> Given:
    return given([[1.0]], ["a"])


@case("NGgk", MISSING)
def missing_cell() -> Given:
    return given(put(NAN))


@case("NGgk", MISSING)
def column_all_missing() -> Given:
    return given(put(NAN, slice(None)))


@case("NGgk", MISSING)
def row_all_missing() -> Given:
    return given(put(NAN, 4, slice(None)))


@case("NGgk", MISSING)
def everything_missing() -> Given:
    return given(np.full((12, 3), NAN))


@case("NGgk", MISSING)
def column_missing_in_one_class() -> Given:
    return given(put(NAN, small_labels() == 0))


@case("NGgk", MISSING)
def missing_only_when_predicting() -> Given:
    return given(test=np.full((2, 3), NAN), n_test=2)


@case("NGgk", MISSING)
def no_row_is_complete() -> Given:
    rows = small_rows()
    rows[np.arange(12), np.arange(12) % 3] = NAN
    return given(rows)


@case()
def column_constant() -> Given:
    return given(put(2.0, slice(None)))


@case()
def everything_constant() -> Given:
    return given(np.ones((12, 3)))


@case()
def everything_zero() -> Given:
    return given(np.zeros((12, 3)))


@case()
def constant_in_one_class() -> Given:
    return given(put(1.0, small_labels() == 0))


@case()
def class_told_by_one_column() -> Given:
    return given(put(small_labels(), slice(None)))


@case()
def columns_twice() -> Given:
    return given(np.hstack([small_rows(), small_rows()]))


@case(largest=1_000_000)
def more_columns_than_rows() -> Given:
    return given(small_rows(6, 40), small_labels(6))


@case("Ngbmc", TOO_LARGE)
def one_huge_value() -> Given:
    return given(put(1e300))


@case("Ngbmc", TOO_LARGE)
def all_values_huge() -> Given:
    return given(1e300 * (1 + small_rows()))


@case("Ngb", TOO_LARGE)
def one_hugely_negative_value() -> Given:
    return given(put(-1e300))


@case("Ngb", TOO_LARGE, either="mc")
def values_near_the_largest_float() -> Given:
    return given(1.7e308 * (small_rows() / 2))


@case("Ngb", TOO_LARGE)
def both_ends_of_the_floats() -> Given:
    return given(1.7e308 * (small_rows() - 1))


@case("Ngb", TOO_LARGE)
def huge_and_tiny_values() -> Given:
    rows = small_rows()
    rows[:, 0] = np.resize([1e300, -1e300, 1e-300, 0.0], 12)
    return given(rows)


@case()
def tiny_values() -> Given:
    return given(1e-300 * small_rows())


@case()
def subnormal_values() -> Given:
    return given(5e-324 * small_rows())


@case(largest=10_000_000)
def tiny_differences_far_from_zero() -> Given:
    return given(1e5 + small_rows())


@case("NGgbmc", "code")
def large_whole_numbers() -> Given:
    return given(2.0**53 + 2 * small_rows())


@case("NGgb", "[Nn]egative")
def negative_zero_and_negatives() -> Given:
    return given(np.where(small_rows() == 1, -0.0, small_rows() - 1))


@case("", "infinity|inf ")
def infinity() -> Given:
    return given(put(INF))


@case("", "infinity|inf ")
def minus_infinity() -> Given:
    return given(put(-INF))


@case("", "infinity|inf |NaN")
def infinity_and_missing() -> Given:
    rows = put(INF)
    rows[0, 0] = NAN
    return given(rows)


@case("", "infinity|inf ")
def infinity_only_when_predicting() -> Given:
    return given(test=np.array([[INF, 0.0, 1.0]]), n_test=1)


@case()
def huge_only_when_predicting() -> Given:
    return given(test=np.array([[1e300, 0.0, 1.0]]), n_test=1)


@case()
def negative_only_when_predicting() -> Given:
    return given(test=np.array([[-1.0, 0.0, 1.0]]), n_test=1)


@case("", "0 sample")
def no_rows() -> Given:
    return given(np.empty((0, 3)), np.empty(0))


@case("", "0 sample")
def no_rows_to_predict() -> Given:
    return given(test=np.empty((0, 3)), n_test=0)


@case("", "0 feature|0 sample")
def no_columns() -> Given:
    return given(np.empty((12, 0)))


@case("", "1D array|2-dimensional|different lengths")
def empty_list() -> Given:
    return given([], [])


@case("", "2D array|Rows were expected")
def a_number() -> Given:
    return given(np.float64(3.0), [1])


@case("", "2D array")
def zero_dimensional_array() -> Given:
    return given(np.array(3.0), [1])


@case("", "2D array")
def one_dimensional_array() -> Given:
    return given(np.arange(12.0))


@case("", "dim 3")
def three_dimensional_array() -> Given:
    return given(np.ones((12, 3, 2)))


@case("", "2D array")
def one_dimensional_row_to_predict() -> Given:
    return given(test=np.zeros(3), n_test=1)


@case("", "features")
def too_few_columns_to_predict() -> Given:
    return given(test=small_rows(d=2))


@case("", "features")
def too_many_columns_to_predict() -> Given:
    return given(test=small_rows(d=4))


@case("", "different lengths|rectangular|no number|cannot be")
def ragged_lists() -> Given:
    return given([[1.0, 2.0], [3.0]], [0, 1])


@case("", "[Cc]omplex")
def complex_numbers() -> Given:
    return given(small_rows() + 1j)


@case("", "None|Rows were expected")
def rows_none() -> Given:
    return Given(None, small_labels())


@case("", "Rows were expected|NoneType")
def rows_none_to_predict() -> Given:
    return given(test=object(), n_test=1)


@case(EVERY, largest=10_000_000)
def thousand_classes() -> Given:
    return given(small_rows(3000), small_labels(3000, 1000))


@case("NGgbmc", "code 46")
def one_code_of_two_to_the_sixty_two() -> Given:
    rows = small_rows().astype(np.int64)
    rows[4, 1] = 2**62
    return given(rows)


@case("NGgb", "[Nn]egative")
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


@case("NGgbmc", "code")
def code_beyond_any_table() -> Given:
    return given(put(2.0**40))
