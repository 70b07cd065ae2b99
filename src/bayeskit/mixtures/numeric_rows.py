"""Rows of numbers, whatever they came in; NaN is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.encode import match_columns
from bayeskit.data.table import Table, open_table
from bayeskit.errors import ColumnError, DataError, DataTypeError, InfiniteValue, SettingError
from bayeskit.schema import Name, Schema, Variable, column_name

Floats = NDArray[np.float64]
# The square of a larger number is no float.
LARGEST = 1e150


@dataclass(frozen=True)
class NumericColumns:
    """The columns a mixture was learned from; ``names`` is None where they had none."""

    width: int
    names: tuple[Name, ...] | None

    def __post_init__(self) -> None:
        for name in self.names or ():
            column_name(name)

    @property
    def labels(self) -> tuple[Name, ...]:
        """Something to call each column by."""
        return tuple(f"x{j}" for j in range(self.width)) if self.names is None else self.names

    @property
    def schema(self) -> Schema:
        """The columns as variables, without a class."""
        return Schema(tuple(Variable(n, "numeric") for n in self.labels), Variable("y", "categorical"))

    def two(self, columns: Any) -> list[int]:
        """Return the places of two columns, given by name or place; None means the first two.

        >>> NumericColumns(3, ("a", "b", "c")).two(["c", 0])
        [2, 0]
        """
        chosen = (0, 1) if columns is None else columns
        if self.width < 2:
            raise SettingError("A picture needs two columns, and this mixture has one.")
        if isinstance(chosen, (str, bytes)) or not hasattr(chosen, "__len__") or len(chosen) != 2:
            raise SettingError(f"columns is {columns!r}; give two of them, by name or place.")
        places = []
        for column in chosen:
            by_place = isinstance(column, (int, np.integer)) and column not in self.labels
            if column not in self.labels and not (by_place and 0 <= column < self.width):
                known = ", ".join(map(repr, self.labels[:12]))
                raise ColumnError(f"There is no column {column!r}. There are {known}.")
            places.append(int(column) if by_place else self.labels.index(column))
        if places[0] == places[1]:
            raise SettingError(f"columns is {columns!r}; give two different ones.")
        return places


def read_numbers(X: Any, who: str, columns: NumericColumns | None = None) -> tuple[Floats, NumericColumns]:
    """Return the rows as an array of shape (n, d) in C order, and what their columns are.

    Parameters
    ----------
    X : array, frame or mapping of columns
    who : str
        The name of the estimator, for messages.
    columns : NumericColumns, optional
        Those learned: other ones are refused, and named ones are brought into their order.

    Examples
    --------
    >>> values, columns = read_numbers({"b": [1, None], "a": [0.5, 2.0]}, "GaussianMixture")
    >>> values.tolist(), columns.names
    ([[1.0, 0.5], [nan, 2.0]], ('b', 'a'))
    """
    table = open_table(X)
    if table.block is not None:
        raise DataTypeError(f"Sparse data was passed for X, but {who} needs dense data. Use X.toarray().")
    if columns is not None:
        table = match_columns(table, columns.schema, columns.names, who)
    else:
        columns = NumericColumns(table.shape[1], table.names if table.named else None)
    if table.matrix is not None and table.matrix.dtype.kind in "iufb":
        values = np.asarray(table.matrix, dtype=np.float64, order="C")
    else:
        values = np.column_stack([_numbers(table, j, who) for j in range(columns.width)])
    # Kernels are compiled for arrays that can be written to.
    values = values if values.flags.writeable and values.flags.c_contiguous else values.copy(order="C")
    # fmax passes over NaN.
    if not np.fmax.reduce(np.abs(values), axis=None, initial=0.0) < LARGEST:
        _refuse_large(values, columns)
    return values, columns


def _refuse_large(values: Floats, columns: NumericColumns) -> None:
    row, column = np.argwhere(np.abs(values) >= LARGEST)[0].tolist()
    name, value = columns.labels[column], float(values[row, column])
    if np.isinf(value):
        raise InfiniteValue(name, row, value)
    raise DataError(
        f"Column {name!r} holds {value:g} in row {row} (the first is 0), too large to be squared. "
        "Divide the column by a constant."
    )


def _numbers(table: Table, j: int, who: str) -> Floats:
    name = table.names[j]
    if table.kind(j) == "categorical":
        cells = table.frame.get_column(name).to_list() if table.frame is not None else table.raw(j).tolist()
        for row, cell in enumerate(cells):
            if isinstance(cell, (str, bytes)):
                raise ColumnError(
                    f"Column {name!r} holds {cell!r} in row {row} (the first is 0), and {who} needs numbers. "
                    "Leave the column out, or use LatentClass, which takes categories."
                )
    return np.asarray(table.numbers(j), dtype=np.float64)


def refuse_empty(values: Floats, columns: NumericColumns) -> None:
    """Refuse a column in which every cell is missing."""
    empty = np.isnan(values).all(axis=0)
    if empty.any():
        name = columns.labels[int(empty.argmax())]
        raise ColumnError(
            f"Column {name!r} holds no value: every cell of it is missing, in the rows that have a weight. "
            "Leave it out."
        )
