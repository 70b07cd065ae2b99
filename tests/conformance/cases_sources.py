"""Batches, files, sparse matrices and arrays in unusual layouts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bad_cases import Given, case, enter, given
from estimators import small_labels, small_rows
from scipy import sparse

from bayeskit import Batches

DENSE_ONLY = "[Ss]parse"


def in_batches(*sizes: int) -> Iterator[Any]:
    rows, labels, start = small_rows(), small_labels(), 0
    for size in sizes:
        yield rows[start : start + size], labels[start : start + size]
        start += size


def batches(source: Any, test: Any = None) -> Given:
    return Given(source, None, small_rows() if test is None else test, 12)


def written(folder: Path, text: str, name: str = "rows.csv", **fit: Any) -> Given:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return Given(path, None, small_rows(d=2), 12, {"target": "y", **fit})


@case()
def generator_of_batches() -> Given:
    return batches(in_batches(5, 7))


@case()
def batches_again_and_again() -> Given:
    return batches(Batches(lambda: in_batches(1, 2, 9)))


@case()
def batches_with_weights() -> Given:
    return batches((X, y, np.ones(len(y))) for X, y in in_batches(6, 6))


@case("", "no batch|nothing to learn")
def no_batch() -> Given:
    return batches(iter(()))


@case("", "0 sample")
def empty_batch() -> Given:
    return batches(in_batches(5, 0, 7))


@case("", "features")
def batch_of_another_width() -> Given:
    return batches(iter([(small_rows(), small_labels()), (small_rows(d=2), small_labels())]))


@case("", "not those learned.*'q'")
def batch_with_other_names() -> Given:
    pd = pytest.importorskip("pandas")
    first, second = (pd.DataFrame(small_rows(), columns=list(names)) for names in ("abc", "abq"))
    return batches(iter([(first, small_labels()), (second, small_labels())]))


@case("", "row weights|labels")
def batch_with_too_few_labels() -> Given:
    return batches(iter([(small_rows(), small_labels(11))]))


@case("", "batch")
def batch_without_labels() -> Given:
    return batches(iter([small_rows()]))


@case("", "own y")
def batches_and_labels_beside_them() -> Given:
    return Given(in_batches(6, 6), small_labels(), small_rows(), 12)


@case("", "batch|Rows were expected")
def batch_that_is_none() -> Given:
    return batches(iter([None]))


@case("", "batch|expected")
def iterator_of_numbers() -> Given:
    return batches(iter(range(12)))


@case("", "zero")
def batch_of_weight_zero() -> Given:
    return batches((X, y, np.zeros(len(y))) for X, y in in_batches(6, 6))


@case(needs_folder=True)
def csv_file(folder: Path) -> Given:
    return written(folder, "a,b,y\n" + "0,1,u\n1,0,v\n2,1,u\n" * 4)


@case(needs_folder=True, says="")
def csv_file_with_a_weight_column(folder: Path) -> Given:
    return written(folder, "a,b,w,y\n" + "0,1,2,u\n1,0,1.5,v\n2,1,1,u\n" * 4, sample_weight="w")


@case("", "no such|not found|does not exist|[Nn]o file|cannot be", needs_folder=True)
def file_that_is_not_there(folder: Path) -> Given:
    return Given(folder / "nowhere.csv", None, small_rows(), 12, {"target": "y"})


@case("", "target", needs_folder=True)
def file_without_a_target(folder: Path) -> Given:
    return written(folder, "a,b,y\n0,1,u\n", target=None)


@case("", "'z'", needs_folder=True)
def file_without_the_target_named(folder: Path) -> Given:
    return written(folder, "a,b,y\n0,1,u\n", target="z")


@case("", "empty|no rows|no column|0 sample|blank|nothing", needs_folder=True)
def file_that_is_empty(folder: Path) -> Given:
    return written(folder, "")


@case("", "no rows|no batch|0 sample|nothing", needs_folder=True)
def file_of_a_header_only(folder: Path) -> Given:
    return written(folder, "a,b,y\n")


@case("", "y|label|NaN|missing", needs_folder=True)
def file_with_a_label_missing(folder: Path) -> Given:
    return written(folder, "a,b,y\n0,1,u\n1,0,\n2,1,v\n")


@case("", "director|folder|file", needs_folder=True)
def path_of_a_folder(folder: Path) -> Given:
    return Given(folder, None, small_rows(), 12, {"target": "y"})


@case("Nbmc", DENSE_ONLY)
def sparse_rows() -> Given:
    return given(sparse.csr_matrix(small_rows()))


@case("Nbmc", DENSE_ONLY)
def sparse_columns() -> Given:
    return given(sparse.csc_matrix(small_rows()))


@case("Nbmc", DENSE_ONLY)
def sparse_coordinates() -> Given:
    return given(sparse.coo_matrix(small_rows()))


@case("Nbmc", DENSE_ONLY)
def sparse_array() -> Given:
    return given(sparse.csr_array(small_rows()))


@case("Nbmc", DENSE_ONLY)
def sparse_dictionary_of_keys() -> Given:
    return given(sparse.dok_array(small_rows()))


@case("Nbmc", DENSE_ONLY)
def sparse_with_long_indices() -> Given:
    matrix = sparse.csr_matrix(small_rows())
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return given(matrix)


@case("Nbmc", DENSE_ONLY)
def sparse_cells_twice() -> Given:
    rows, columns = np.repeat(np.arange(12), 2), np.zeros(24, dtype=int)
    return given(sparse.csr_matrix((np.ones(24), (rows, columns)), shape=(12, 3)))


@case("Nbmc", DENSE_ONLY)
def sparse_booleans() -> Given:
    return given(sparse.csr_matrix(small_rows() > 0))


@case("Nbmc", DENSE_ONLY)
def sparse_of_nothing_but_zeros() -> Given:
    return given(sparse.csr_matrix((12, 3)))


@case("Nbmc", DENSE_ONLY)
def sparse_to_learn_and_dense_to_predict() -> Given:
    return given(sparse.csr_matrix(small_rows()), test=small_rows())


@case("bmc", DENSE_ONLY)
def dense_to_learn_and_sparse_to_predict() -> Given:
    return given(test=sparse.csr_matrix(small_rows()))


@case("", DENSE_ONLY + "|NaN")
def sparse_with_nan() -> Given:
    return given(sparse.csr_matrix(np.where(small_rows() == 2, np.nan, small_rows())))


@case("", DENSE_ONLY + "|inf")
def sparse_with_infinity() -> Given:
    return given(sparse.csr_matrix(np.where(small_rows() == 2, np.inf, small_rows())))


@case("b", DENSE_ONLY + "|[Nn]egative")
def sparse_with_negatives() -> Given:
    return given(sparse.csr_matrix(small_rows() - 1))


@case("", "[Ss]parse")
def sparse_with_a_column_outside() -> Given:
    matrix = sparse.csr_matrix(small_rows())
    matrix.indices[2] = 1_000_000
    return given(matrix)


@case("", "[Ss]parse")
def sparse_with_a_column_below_zero() -> Given:
    matrix = sparse.csr_matrix(small_rows())
    matrix.indices[2] = -5
    return given(matrix)


@case("", "[Ss]parse")
def sparse_with_row_pointers_beyond_the_data() -> Given:
    matrix = sparse.csr_matrix(small_rows())
    matrix.indptr[-1] = 1_000_000
    return given(matrix)


@case("", "[Ss]parse")
def sparse_with_row_pointers_out_of_order() -> Given:
    matrix = sparse.csr_matrix(small_rows())
    matrix.indptr[3], matrix.indptr[5] = matrix.indptr[5], matrix.indptr[3]
    return given(matrix)


@case("", "[Ss]parse")
def sparse_only_to_predict_with_a_column_outside() -> Given:
    matrix = sparse.csr_matrix(small_rows())
    matrix.indices[2] = 1_000_000
    return given(sparse.csr_matrix(small_rows()), test=matrix)


@case("", "[Ss]parse|[Cc]omplex")
def sparse_complex() -> Given:
    return given(sparse.csr_matrix(small_rows() + 1j))


@case("", "0 sample|[Ss]parse")
def sparse_no_rows() -> Given:
    return given(sparse.csr_matrix((0, 3)), [])


@case("", "features|[Ss]parse")
def sparse_of_another_width_to_predict() -> Given:
    return given(sparse.csr_matrix(small_rows()), test=sparse.csr_matrix(small_rows(d=5)))


@case("Nbmc", DENSE_ONLY, largest=20_000_000)
def sparse_very_wide() -> Given:
    matrix = sparse.csr_matrix((np.ones(12), (np.arange(12), np.arange(12) * 50_000)), shape=(12, 600_000))
    return given(matrix)


@case("", "[Ss]parse|wide|columns|large")
def sparse_absurdly_wide() -> Given:
    matrix = sparse.csr_matrix((np.ones(12), (np.arange(12), np.arange(12) * 2**36)), shape=(12, 2**40))
    return given(matrix)


LAYOUTS = {
    "float32_rows": lambda X: X.astype(np.float32),
    "float16_rows": lambda X: X.astype(np.float16),
    "longdouble_rows": lambda X: X.astype(np.longdouble),
    "big_endian_rows": lambda X: X.astype(">f8"),
    "big_endian_codes": lambda X: X.astype(">i4"),
    "int8_rows": lambda X: X.astype(np.int8),
    "uint8_rows": lambda X: X.astype(np.uint8),
    "uint64_rows": lambda X: X.astype(np.uint64),
    "boolean_rows": lambda X: X > 0,
    "fortran_order": np.asfortranarray,
    "every_second_row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every_second_column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "rows_backwards": lambda X: X[::-1],
    "columns_backwards": lambda X: X[:, ::-1],
    "transposed": lambda X: np.ascontiguousarray(X.T).T,
    "matrix_subclass": np.matrix,
    "memory_view": memoryview,
    "lists": lambda X: X.tolist(),
    "tuples": lambda X: tuple(map(tuple, X.tolist())),
    "list_of_arrays": list,
    "repeated_by_broadcasting": lambda X: np.broadcast_to(X[1], X.shape),
    "whole_numbers_in_lists": lambda X: X.astype(int).tolist(),
}
for name, layout in LAYOUTS.items():
    enter(name, lambda layout=layout: given(layout(small_rows()), n_test=12))


@case()
def read_only_rows() -> Given:
    rows = small_rows()
    rows.flags.writeable = False
    return given(rows)


@case("NGgk", "NaN|missing|mask")
def masked_array() -> Given:
    return given(np.ma.masked_equal(small_rows(), 2.0))


@case("", "structured|dtype|2D|neither|field")
def structured_array() -> Given:
    rows = np.zeros(12, dtype=[("a", "f8"), ("b", "f8")])
    return given(rows)


@case("", "structured|dtype|dim|neither|field|number|cannot")
def structured_matrix() -> Given:
    return given(np.zeros((12, 2), dtype=[("a", "f8"), ("b", "f8")]))


@case("", "dtype|neither|void|number|numeric|cannot")
def raw_bytes_matrix() -> Given:
    return given(np.zeros((12, 2), dtype="V8"))


@case("", "dates or times|number|numeric")
def dates_matrix() -> Given:
    return given(np.zeros((12, 2), dtype="datetime64[D]"))


@case("", "Rows were expected|path|target|file")
def rows_that_are_a_string() -> Given:
    return given("hello")


@case("", "Rows were expected")
def rows_that_are_bytes() -> Given:
    return given(b"hello")


@case("", "Rows were expected|2D|dim")
def rows_that_are_a_set() -> Given:
    return given({1, 2, 3}, [0, 1, 2])


@case("", "Rows were expected|2D|dim")
def rows_that_are_a_class() -> Given:
    return given(dict)
