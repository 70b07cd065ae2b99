"""Batches, files, and arrays in unusual layouts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bad_cases import Given, case, enter, given
from estimators import small_labels, small_rows

from bayeskit import Batches


def in_batches(*sizes: int) -> Iterator[Any]:
    rows, labels, start = small_rows(), small_labels(), 0
    for size in sizes:
        yield rows[start : start + size], labels[start : start + size]
        start += size


def letters() -> Any:
    return np.array(["x", "y", "z"])[small_rows().astype(int)]


def batches(source: Any, test: Any = None) -> Given:
    return Given(source, None, small_rows() if test is None else test, 12)


def written(folder: Path, text: str, name: str = "rows.csv", **fit: Any) -> Given:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return Given(path, None, small_rows(d=2), 12, {"target": "y", **fit})


enter("generator_of_batches", lambda: batches(in_batches(5, 7)), once=True)
enter("batches_again_and_again", lambda: batches(Batches(lambda: in_batches(1, 2, 9))))
enter(
    "batches_with_weights", lambda: batches((X, y, np.ones(len(y))) for X, y in in_batches(6, 6)), once=True
)
enter(
    "batches_of_strings",
    lambda: batches(iter([(letters(), small_labels())]), letters()),
    "N",
    "x0&numeric|search&networks",
    once=True,
)
enter("no_batch", lambda: batches(iter(())), "", "batch", once=True)
# A batch without rows adds nothing, as a part of a file without rows; models that go over rows twice refuse iterators.
enter("empty_batch", lambda: batches(in_batches(5, 0, 7)), "NGgbmck", "Batches", once=True)
enter("batches_without_rows", lambda: batches(in_batches(0, 0)), "", "0&sample", once=True)
enter(
    "batch_of_another_width",
    lambda: batches(iter([(small_rows(), small_labels()), (small_rows(d=2), small_labels())])),
    "",
    "features",
    once=True,
)


@case("", "c&q", once=True)
def batch_with_other_names() -> Given:
    pd = pytest.importorskip("pandas")
    first, second = (pd.DataFrame(small_rows(), columns=list(names)) for names in ("abc", "abq"))
    return batches(iter([(first, small_labels()), (second, small_labels())]))


enter(
    "batch_with_too_few_labels",
    lambda: batches(iter([(small_rows(), small_labels(11))])),
    "",
    "12&11",
    once=True,
)
enter("batch_without_labels", lambda: batches(iter([small_rows()])), "", "batch", once=True)
enter(
    "batches_and_labels_beside_them",
    lambda: Given(in_batches(6, 6), small_labels(), small_rows(), 12),
    "",
    "(X, y)",
    once=True,
)
enter("batch_that_is_none", lambda: batches(iter([None])), "", "batch&NoneType", once=True)
enter("iterator_of_numbers", lambda: batches(iter(range(12))), "", "batch&int", once=True)
enter(
    "batch_of_weight_zero",
    lambda: batches((X, y, np.zeros(len(y))) for X, y in in_batches(6, 6)),
    "",
    "zero",
    once=True,
)
enter(
    "csv_file",
    lambda folder: written(folder, "a,b,y\n" + "0,1,u\n1,0,v\n2,1,u\n" * 3 + "0,1,v\n1,0,u\n2,0,v\n"),
    needs_folder=True,
)
enter(
    "csv_file_with_a_weight_column",
    lambda folder: written(
        folder,
        "a,b,w,y\n" + "0,1,2,u\n1,0,1.5,v\n2,1,1,u\n" * 3 + "0,1,1,v\n1,0,2,u\n2,0,1,v\n",
        sample_weight="w",
    ),
    needs_folder=True,
    says="",
)
enter(
    "file_that_is_not_there",
    lambda folder: Given(folder / "nowhere.csv", None, small_rows(), 12, {"target": "y"}),
    "",
    "nowhere.csv",
    needs_folder=True,
)
enter(
    "file_without_a_target",
    lambda folder: written(folder, "a,b,y\n0,1,u\n", target=None),
    "",
    "target",
    needs_folder=True,
)
enter(
    "file_without_the_target_named",
    lambda folder: written(folder, "a,b,y\n0,1,u\n", target="z"),
    "",
    "target&z",
    needs_folder=True,
)
enter(
    "file_that_is_empty",
    lambda folder: written(folder, ""),
    "",
    "rows.csv&empty",
    needs_folder=True,
)
enter(
    "file_of_a_header_only",
    lambda folder: written(folder, "a,b,y\n"),
    "",
    "rows.csv&rows",
    needs_folder=True,
)
enter(
    "file_with_a_label_missing",
    lambda folder: written(folder, "a,b,y\n0,1,u\n1,0,\n2,1,v\n"),
    "",
    "y&NaN&1",
    needs_folder=True,
)
enter(
    "path_of_a_folder",
    lambda folder: Given(folder, None, small_rows(), 12, {"target": "y"}),
    "",
    "folder&Parquet",
    needs_folder=True,
)
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


enter("masked_array", lambda: given(np.ma.masked_equal(small_rows(), 2.0)), "NGgk", "NaN")


@case("", "2D")
def structured_array() -> Given:
    rows = np.zeros(12, dtype=[("a", "f8"), ("b", "f8")])
    return given(rows)


enter(
    "structured_matrix",
    lambda: given(np.zeros((12, 2), dtype=[("a", "f8"), ("b", "f8")])),
    "",
    "x0",
)
enter(
    "raw_bytes_matrix",
    lambda: given(np.zeros((12, 2), dtype="V8")),
    "",
    "x0",
)
enter(
    "dates_matrix",
    lambda: given(np.zeros((12, 2), dtype="datetime64[D]")),
    "",
    "exclude=['x0']",
)
enter("rows_that_are_a_string", lambda: given("hello"), "", "hello")
enter("rows_that_are_bytes", lambda: given(b"hello"), "", "bytes")
enter("rows_that_are_a_set", lambda: given({1, 2, 3}, [0, 1, 2]), "", "2D&0D")
enter("rows_that_are_a_class", lambda: given(dict), "", "2D&0D")
