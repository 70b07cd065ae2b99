"""Reads rows of numbers from any container, with NaN for missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit._data.columns import refuse_beyond
from bayeskit._data.encode import encode, match_columns
from bayeskit._data.table import Table, open_dense
from bayeskit._messages import Joined, RowNumber
from bayeskit._schema import Name, Schema, Variable, column_name
from bayeskit.errors import ColumnError, SettingError
from bayeskit.typing import Floats, TableLike

# The square of a larger number overflows.
LARGEST = 1e150


@dataclass(frozen=True)
class NumericColumns:
    """The columns of a mixture's training rows; ``names`` is None if they had no names."""

    width: int
    names: tuple[Name, ...] | None

    def __post_init__(self) -> None:
        for name in self.names or ():
            column_name(name)

    @property
    def labels(self) -> tuple[Name, ...]:
        """A label for each column."""
        return tuple(f"x{j}" for j in range(self.width)) if self.names is None else self.names

    @property
    def schema(self) -> Schema:
        """The columns as variables, without a class."""
        return Schema(tuple(Variable(n, "numeric") for n in self.labels), Variable("y", "categorical"))

    def two(self, columns: Sequence[Any] | None) -> list[int]:
        """Return the positions of two columns, given by name or position; None means the first two.

        >>> NumericColumns(3, ("a", "b", "c")).two(["c", 0])
        [2, 0]
        """
        chosen = (0, 1) if columns is None else columns
        if self.width < 2:
            raise SettingError("A picture needs two columns, and this mixture has one.")
        if isinstance(chosen, (str, bytes)) or not hasattr(chosen, "__len__") or len(chosen) != 2:
            raise SettingError(
                "columns is {columns!r}; give two of them, by name or position.", columns=columns
            )
        places = []
        for column in chosen:
            by_place = isinstance(column, (int, np.integer)) and column not in self.labels
            if column not in self.labels and not (by_place and 0 <= column < self.width):
                known = Joined(map(repr, self.labels[:12]))
                raise ColumnError(
                    "There is no column {column!r}. There are {known}.", column=column, known=known
                )
            places.append(int(column) if by_place else self.labels.index(column))
        if places[0] == places[1]:
            raise SettingError("columns is {columns!r}; give two different ones.", columns=columns)
        return places


def read_numbers(
    X: TableLike, who: str, columns: NumericColumns | None = None
) -> tuple[Floats, NumericColumns]:
    """Return the rows as an array of shape (n, d) in C order, and what their columns are.

    Parameters
    ----------
    X : array, frame or mapping of columns
    who : str
        The name of the estimator, for messages.
    columns : NumericColumns, optional
        The columns of the training rows. Other columns are an error, and named columns are reordered.

    Examples
    --------
    >>> values, columns = read_numbers({"b": [1, None], "a": [0.5, 2.0]}, "GaussianMixture")
    >>> values.tolist(), columns.names
    ([[1.0, 0.5], [nan, 2.0]], ('b', 'a'))
    """
    table = open_dense(X, who)
    if columns is None:
        columns = NumericColumns(table.shape[1], table.names if table.named else None)
    table = match_columns(table, columns.schema, columns.names, who)
    _refuse_text(table, who)
    values = encode(table, columns.schema, "error").chunk(0, table.n_rows).values
    # Kernels are compiled for writable arrays.
    values = values if values.flags.writeable else values.copy()
    refuse_beyond(values, columns.labels, LARGEST)
    return values, columns


def _refuse_text(table: Table, who: str) -> None:
    """Raise an error for text, even if it looks like numbers: converting it is the user's decision."""
    for j, name in enumerate(table.names):
        found = table.first_text(j)
        if found is not None:
            raise ColumnError(
                "Column {name!r} contains {found!r} in {place}, and {who} needs numbers. Leave the column out, "
                "or use LatentClass, which accepts categories.",
                name=name,
                found=found[1],
                place=RowNumber(found[0]),
                who=who,
            )


def refuse_empty(values: Floats, columns: NumericColumns) -> None:
    """Raise an error for a column in which every cell is missing."""
    empty = np.isnan(values).all(axis=0)
    if empty.any():
        name = columns.labels[int(empty.argmax())]
        raise ColumnError(
            "Column {name!r} is missing in every row that has a weight. Leave it out.",
            name=name,
        )
