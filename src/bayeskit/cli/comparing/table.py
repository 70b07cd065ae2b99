"""The table of a comparison: its rows, its classes, and which columns are used."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.cli.comparing.columns import hint, is_present, reason
from bayeskit.cli.comparing.tried import Columns
from bayeskit.cli.options import Reading
from bayeskit.cli.rows import Rows, opened
from bayeskit.errors import ColumnError, DataError, UsageError
from bayeskit.report.comparison_report.comparison import Table

# A column of more different numbers is measured, not a class.
MOST_CLASSES = 100


@dataclass(frozen=True, eq=False)
class Loaded:
    """The rows that have a class: those learned from first, then those of a file to judge by.

    Attributes
    ----------
    columns : the attributes that are used
    y : the classes
    numbers : the number of each row in its file, from 1
    n_learned : how many rows come from the first file
    left_out : {column: why} of the others
    order : all columns but the target
    hints : {column: (kind, cell)} of those that look measured, and are read as names
    """

    columns: Columns
    y: NDArray[Any]
    numbers: NDArray[np.int64]
    n_learned: int
    table: Table
    test: Table | None
    left_out: dict[str, str]
    order: tuple[str, ...]
    hints: dict[str, tuple[str, str]]

    @property
    def learned(self) -> Columns:
        """The attributes of the first file's rows."""
        return {name: column[: self.n_learned] for name, column in self.columns.items()}


def load(
    data: str,
    target: str,
    drop: Sequence[str],
    keep: Sequence[str],
    test: str | None,
    reading: Reading,
) -> Loaded:
    """Read the table, and decide which columns are used."""
    with opened(data, reading) as rows:
        _check(rows, target, drop, keep)
        order = tuple(name for name in rows.names if name != target)
        why = dict.fromkeys(drop, "dropped")
        # A file of typed columns says itself what is a date; it could not be read as anything else.
        typed = [n for n in order if rows.source.dtypes[n] in ("date", "time") and n not in {*keep, *drop}]
        why |= dict.fromkeys(typed, "date")
        if target in typed:
            raise DataError(f"Column {target!r} of {rows.shown} holds dates. Choose another --target.")
        rows = rows.without(list(why))
        rows.need_two_classes(target)
        columns, y, numbers, table = _read(rows, target, data)
        _check_classes(y, target, rows.shown)
    hints = {name: said for name, column in columns.items() if (said := hint(column)) is not None}
    for name in columns:
        found = None if name in keep else reason(name, columns[name], y)
        why |= {name: found} if found else {}
    columns = {name: column for name, column in columns.items() if name not in why}
    if not columns:
        told = ", ".join(f"{name!r} ({kind})" for name, kind in list(why.items())[:8])
        raise DataError(f"No column is left to learn from: {told}. Name with --keep what should be used.")
    n = len(y)
    judged = None
    if test is not None:
        columns, y, numbers, judged = _with_test(columns, y, numbers, test, target, reading)
    return Loaded(columns, y, numbers, n, table, judged, why, order, hints)


def _check(rows: Rows, target: str, drop: Sequence[str], keep: Sequence[str]) -> None:
    rows.need(target, *drop, *keep)
    both = [name for name in keep if name in drop]
    if both:
        raise UsageError(f"{both[0]!r} is given with --drop and with --keep. Take one of them back.")
    if target in drop:
        raise UsageError(f"{target!r} is the --target: it cannot be dropped. Leave it out of --drop.")
    if len(rows.names) == 1:
        raise ColumnError(f"{rows.shown} has no column beside {target!r}. Check --sep.")


def _check_classes(y: NDArray[Any], target: str, shown: str) -> None:
    labels, counts = np.unique(y, return_counts=True)
    # Whole numbers have become integers by now, so that what is still a float has fractions.
    if y.dtype.kind == "f" or (len(labels) > MOST_CLASSES and len(labels) * 2 > len(y)):
        raise DataError(
            f"Column {target!r} of {shown} has {len(labels):,} different values in {len(y):,} rows: it is measured, or "
            "names the row, and these models predict classes. Choose another --target, or put it into classes first."
        )
    if counts.max() < 2:
        raise DataError(
            f"Every row of {shown} has another value of {target!r}. Choose another --target, or give more rows."
        )


def _read(rows: Rows, target: str, path: str) -> tuple[Columns, NDArray[Any], NDArray[np.int64], Table]:
    columns = rows.columns()
    _refuse_infinite(columns, rows.shown)
    y = columns.pop(target)
    has_class = is_present(y)
    table = Table(
        rows.shown if path == "-" else path, int(has_class.sum()), int((~has_class).sum()), _hash(rows)
    )
    if not has_class.all():
        columns, y = {name: column[has_class] for name, column in columns.items()}, y[has_class]
    if y.dtype.kind == "f" and (y % 1 == 0).all():  # whole numbers, read so because one was missing
        y = y.astype(np.int64)
    if y.dtype.kind == "O" and not isinstance(y[0], str):  # true and false, with holes
        y = y.astype(type(y[0]))
    return columns, y, np.flatnonzero(has_class) + 1, table


def _refuse_infinite(columns: Columns, shown: str) -> None:
    # Here, while a row still has the number that it has in the file.
    for name, column in columns.items():
        if column.dtype.kind == "f" and np.isinf(column).any():
            row = int(np.isinf(column).argmax()) + 1
            raise DataError(
                f"Column {name!r} of {shown} holds an infinite number in row {row:,}. Replace it in the file, or say "
                "with --missing what stands there."
            )


def _with_test(
    columns: Columns,
    y: NDArray[Any],
    numbers: NDArray[np.int64],
    test: str,
    target: str,
    reading: Reading,
) -> tuple[Columns, NDArray[Any], NDArray[np.int64], Table]:
    kinds = {name: "str" for name, column in {**columns, target: y}.items() if _is_text(column)}
    kinds |= {name: "float64" for name, column in columns.items() if column.dtype.kind in "iuf"}
    with opened(test, reading) as rows:
        rows.need(target, *columns)
        chosen = rows.read_as([*columns, target], kinds)
        more, more_y, more_numbers, table = _read(chosen, target, test)
    if not len(more_y):
        raise DataError(f"{test!r} has no row with a value of {target!r}. Give rows whose class is known.")
    if (y.dtype.kind in "iufb") != (more_y.dtype.kind in "iufb"):
        raise DataError(f"{target!r} holds numbers in one of the two files and words in the other.")
    joined = {name: np.concatenate([column, more[name]]) for name, column in columns.items()}
    return joined, np.concatenate([y, more_y]), np.concatenate([numbers, more_numbers]), table


def _is_text(column: NDArray[Any]) -> bool:
    return column.dtype.kind == "O" and any(isinstance(value, str) for value in column.tolist())


def _hash(rows: Rows) -> str:
    with open(rows.source.path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
