"""The answer to a query as NumPy arrays, a piece at a time: by pyarrow where it is, by rows where not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.formats import Field

Arrays = list[NDArray[Any]]
# Small: a long list of tuples keeps the garbage collector busy (122,880 at a time took 2.3 times as long).
_ROWS_AT_ONCE = 2048


def pieces(connection: Any, query: str, fields: Sequence[Field], size: int) -> Iterator[Arrays]:
    """Run a query and give its columns piece by piece; how long a piece is, is left to DuckDB."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return _by_rows(connection, query, fields)
    return _by_arrow(connection, query, fields, size)


def _by_arrow(connection: Any, query: str, fields: Sequence[Field], size: int) -> Iterator[Arrays]:
    # From a relation, not from execute(): the latter would hold all rows first.
    relation = connection.sql(query)
    # The second name is the older one; DuckDB 2.0 warns that it will go.
    open_reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
    with open_reader(size) as reader:
        for batch in reader:
            arrays = (column.to_numpy(zero_copy_only=False) for column in batch.columns)
            yield [np.array(array, dtype=dtype_of(field)) for field, array in zip(fields, arrays)]


def _by_rows(connection: Any, query: str, fields: Sequence[Field]) -> Iterator[Arrays]:
    result = connection.execute(query)
    while rows := result.fetchmany(_ROWS_AT_ONCE):
        yield [np.array(column, dtype=dtype_of(field)) for field, column in zip(fields, zip(*rows))]


def dtype_of(field: Field) -> Any:
    """The dtype of a column, the same in every batch."""
    if field.kind == "bool" and not field.nulls:
        return np.dtype(np.bool_)
    return np.dtype(field.kind if field.kind in ("int64", "float64") else object)


def rebatched(parts: Iterable[Arrays], size: int) -> Iterator[Arrays]:
    """Cut and join pieces into batches of exactly `size` rows, the last one shorter.

    Examples
    --------
    >>> [batch[0].tolist() for batch in rebatched([[np.arange(3)], [np.arange(3, 5)]], 2)]
    [[0, 1], [2, 3], [4]]
    """
    held: list[Arrays] = []
    count = 0
    for part in parts:
        held.append(part)
        count += len(part[0])
        if count < size:
            continue
        joined = [np.concatenate(column) if len(held) > 1 else column[0] for column in zip(*held)]
        whole = count - count % size
        for start in range(0, whole, size):
            yield [column[start : start + size] for column in joined]
        held, count = [[column[whole:] for column in joined]], count - whole
    if count:
        yield [np.concatenate(column) for column in zip(*held)]
