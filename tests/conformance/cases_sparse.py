"""Sparse matrices: good ones, odd ones, and malformed ones, which must never be followed into memory."""

from __future__ import annotations

from functools import partial

import bad_cases
import numpy as np
from bad_cases import Given, given
from estimators import small_rows
from scipy import sparse

DENSE_ONLY = "Sparse&X.toarray()|sparse"
enter, case = partial(bad_cases.enter, sparse=True), partial(bad_cases.case, sparse=True)

enter("sparse_rows", lambda: given(sparse.csr_matrix(small_rows())), "Nbmc", DENSE_ONLY)
enter("sparse_columns", lambda: given(sparse.csc_matrix(small_rows())), "Nbmc", DENSE_ONLY)
enter("sparse_coordinates", lambda: given(sparse.coo_matrix(small_rows())), "Nbmc", DENSE_ONLY)
enter("sparse_array", lambda: given(sparse.csr_array(small_rows())), "Nbmc", DENSE_ONLY)
enter(
    "sparse_of_one_dimension",
    lambda: given(sparse.coo_array(small_rows()[:, 0])),
    "",
    "2D array|" + DENSE_ONLY,
)
enter("sparse_dictionary_of_keys", lambda: given(sparse.dok_array(small_rows())), "Nbmc", DENSE_ONLY)


@case("Nbmc", DENSE_ONLY)
def sparse_with_long_indices() -> Given:
    matrix = sparse.csr_matrix(small_rows())
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return given(matrix)


@case("Nbmc", DENSE_ONLY)
def sparse_cells_twice() -> Given:
    rows, columns = np.repeat(np.arange(12), 2), np.zeros(24, dtype=int)
    return given(sparse.csr_matrix((np.ones(24), (rows, columns)), shape=(12, 3)))


enter("sparse_booleans", lambda: given(sparse.csr_matrix(small_rows() > 0)), "Nbmc", DENSE_ONLY)
enter("sparse_of_nothing_but_zeros", lambda: given(sparse.csr_matrix((12, 3))), "Nbmc", DENSE_ONLY)
enter(
    "sparse_to_learn_and_dense_to_predict",
    lambda: given(sparse.csr_matrix(small_rows()), test=small_rows()),
    "Nbmc",
    DENSE_ONLY,
)
enter(
    "dense_to_learn_and_sparse_to_predict",
    lambda: given(test=sparse.csr_matrix(small_rows())),
    "bmc",
    DENSE_ONLY,
)
enter(
    "sparse_with_nan",
    lambda: given(sparse.csr_matrix(np.where(small_rows() == 2, np.nan, small_rows()))),
    "",
    DENSE_ONLY + "|NaN",
)
enter(
    "sparse_with_infinity",
    lambda: given(sparse.csr_matrix(np.where(small_rows() == 2, np.inf, small_rows()))),
    "",
    DENSE_ONLY + "|inf",
)
enter(
    "sparse_with_negatives",
    lambda: given(sparse.csr_matrix(small_rows() - 1)),
    "b",
    DENSE_ONLY + "|Negative",
)


@case("", "sparse|X.toarray()")
def sparse_with_a_column_outside() -> Given:
    matrix = sparse.csr_matrix(small_rows())
    matrix.indices[2] = 1_000_000
    return given(matrix)


@case("", "sparse|X.toarray()")
def sparse_with_a_column_below_zero() -> Given:
    matrix = sparse.csr_matrix(small_rows())
    matrix.indices[2] = -5
    return given(matrix)


@case("", "sparse|X.toarray()")
def sparse_with_row_pointers_beyond_the_data() -> Given:
    matrix = sparse.csr_matrix(small_rows())
    matrix.indptr[-1] = 1_000_000
    return given(matrix)


@case("", "sparse|X.toarray()")
def sparse_with_row_pointers_out_of_order() -> Given:
    matrix = sparse.csr_matrix(small_rows())
    matrix.indptr[3], matrix.indptr[5] = matrix.indptr[5], matrix.indptr[3]
    return given(matrix)


@case("", "sparse|X.toarray()")
def sparse_only_to_predict_with_a_column_outside() -> Given:
    matrix = sparse.csr_matrix(small_rows())
    matrix.indices[2] = 1_000_000
    return given(sparse.csr_matrix(small_rows()), test=matrix)


enter("sparse_complex", lambda: given(sparse.csr_matrix(small_rows() + 1j)), "", "Sparse|Complex")
enter("sparse_no_rows", lambda: given(sparse.csr_matrix((0, 3)), []), "", "0&sample|Sparse")
enter(
    "sparse_of_another_width_to_predict",
    lambda: given(sparse.csr_matrix(small_rows()), test=sparse.csr_matrix(small_rows(d=5))),
    "",
    "features|Sparse",
)


@case("Nbmc", DENSE_ONLY, largest=20_000_000)
def sparse_very_wide() -> Given:
    matrix = sparse.csr_matrix((np.ones(12), (np.arange(12), np.arange(12) * 50_000)), shape=(12, 600_000))
    return given(matrix)


@case("", "Sparse|wide|columns|large")
def sparse_absurdly_wide() -> Given:
    matrix = sparse.csr_matrix((np.ones(12), (np.arange(12), np.arange(12) * 2**36)), shape=(12, 2**40))
    return given(matrix)
