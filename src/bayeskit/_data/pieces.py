"""Runs a query of DuckDB and gives its rows as columns, in batches of a length of our own."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit._data.columns import CodedColumn, joined_columns
from bayeskit._data.formats import Column, Field, arrow_column

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Arrays = list[Column]
# Small: a long list of tuples keeps the garbage collector busy (122,880 at a time took 2.3 times as long).
_ROWS_AT_ONCE = 2048


def pieces(
    connection: DuckDBPyConnection, query: str, fields: Sequence[Field], size: int, *, few: bool = False
) -> Iterator[Arrays]:
    """Run a query and yield its columns piece by piece; DuckDB determines the length of a piece.

    A few rows are given one by one unless PyArrow is there already: to import it takes longer.
    """
    if few and "pyarrow" not in sys.modules:
        return _by_rows(connection, query, fields)
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return _by_rows(connection, query, fields)
    return _by_arrow(connection, query, fields, size)


def _by_arrow(
    connection: DuckDBPyConnection, query: str, fields: Sequence[Field], size: int
) -> Iterator[Arrays]:
    # From a relation, not from execute(), which would first hold all rows.
    relation = connection.sql(query)
    # The second name is the older one; DuckDB 2.0 warns that it is deprecated.
    open_reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
    with open_reader(size) as reader:
        for batch in reader:
            yield [arrow_column(field, column) for field, column in zip(fields, batch.columns, strict=True)]


def _by_rows(connection: DuckDBPyConnection, query: str, fields: Sequence[Field]) -> Iterator[Arrays]:
    result = connection.execute(query)
    while rows := result.fetchmany(_ROWS_AT_ONCE):
        yield [
            np.array(column, dtype=field.dtype)
            for field, column in zip(fields, zip(*rows, strict=True), strict=True)
        ]


def rebatched(parts: Iterable[Arrays], size: int) -> Iterator[Arrays]:
    """Split and join pieces into batches of exactly `size` rows, the last one shorter.

    Examples
    --------
    >>> [batch[0].tolist() for batch in rebatched([[np.arange(3)], [np.arange(3, 5)]], 2)]
    [[0, 1], [2, 3], [4]]
    """
    held: list[Arrays] = []
    count = 0
    for part in parts:
        held.append(part)
        count += _length(part[0])
        if count < size:
            continue
        joined = [_joined(column) for column in zip(*held, strict=True)]
        whole = count - count % size
        for start in range(0, whole, size):
            yield [_cut(column, start, start + size) for column in joined]
        held, count = [[_cut(column, whole, count) for column in joined]], count - whole
    if count:
        yield [_joined(column) for column in zip(*held, strict=True)]


def _length(column: Column) -> int:
    return len(column.codes if isinstance(column, CodedColumn) else column)


def _joined(columns: Sequence[Any]) -> Column:
    columns = [column for column in columns if _length(column)] or columns[:1]
    if isinstance(columns[0], CodedColumn):
        return joined_columns(columns)
    return np.concatenate(columns) if len(columns) > 1 else columns[0]


def _cut(column: Column, start: int, stop: int) -> Column:
    if start == 0 and stop == _length(column):
        return column
    return column.part(slice(start, stop)) if isinstance(column, CodedColumn) else column[start:stop]
