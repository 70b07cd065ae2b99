"""Rows from memory, a file or batches → the columns of a network, and what each row weighs."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.labels import as_weights
from bayeskit.data.source import Batches, is_path
from bayeskit.data.table import Table, open_table
from bayeskit.errors import ColumnError, DataError, DataTypeError, SourceNote, TooLarge, WeightError
from bayeskit.learning.search.node_batches import NodeBatches
from bayeskit.learning.search.node_columns import NodeColumns, read_nodes
from bayeskit.schema import Name

Floats = NDArray[np.float64]


def in_pieces(data: Any) -> bool:
    """Tell whether rows come in pieces: from a file, batches or an iterator of tables."""
    return is_path(data) or isinstance(data, (Batches, Iterator))


def read_source(
    data: Any,
    states: Mapping[Name, Any] | None = None,
    discretize: Any = None,
    sample_weight: Any = None,
    max_memory: float = math.inf,
) -> tuple[NodeColumns, Floats | None]:
    """Read the columns of a table in memory, or of a file or batches, which are read once and kept as codes.

    Parameters
    ----------
    data : any table in memory, the path of a CSV or Parquet file, Batches of tables, or an iterator of tables
    states, discretize : as in :func:`~bayeskit.learning.search.node_columns.read_nodes`
    sample_weight : one number a row, or the name of the column that holds them
        Such a column is no node.
    max_memory : bytes that the codes of a file or of batches may take

    Examples
    --------
    >>> halves = Batches(lambda: [{"rain": ["no", "yes"], "n": [2, 1]}, {"rain": ["no", "no"], "n": [3, 4]}])
    >>> columns, weights = read_source(halves, sample_weight="n")
    >>> columns.names, columns.codes[0], weights
    (('rain',), array([0, 1, 0, 0], dtype=int8), array([2., 1., 3., 4.]))
    """
    if in_pieces(data):
        return _read_pieces(data, states, discretize, sample_weight, max_memory)
    if isinstance(sample_weight, str):
        table = open_table(data)
        rest, weights = _parted(table, sample_weight)
        columns = read_nodes(data, states, discretize, only=rest.names)
        return columns, as_weights(weights, columns.n_rows)
    columns = read_nodes(data, states, discretize)
    return columns, as_weights(sample_weight, columns.n_rows)


def _read_pieces(
    data: Any, states: Mapping[Name, Any] | None, discretize: Any, sample_weight: Any, max_memory: float
) -> tuple[NodeColumns, Floats | None]:
    rows = NodeBatches(states, discretize)
    weights: list[Any] = []
    batches: Iterable[Any] = _file(data, sample_weight, max_memory) if is_path(data) else data
    names: tuple[Name, ...] = ()
    for batch in batches:
        if isinstance(batch, tuple):
            raise DataTypeError(
                "A batch was a tuple. For a network a batch is one table with a column for each node; name a column of "
                "weights by sample_weight=."
            )
        table = open_table(batch)
        if table.block is not None:
            raise ColumnError(
                "A sparse matrix holds a block of counts, not nodes. Pass its columns as a dense table."
            )
        if isinstance(sample_weight, str):
            table, some = _parted(table, sample_weight)
            weights.append(some)
        names = table.names
        rows.add(table)
        if rows.n_bytes > max_memory:
            raise _too_large(rows.n_bytes, max_memory, names, rows.n_rows)
    if not rows.n_rows:
        raise DataError("The source gave no batch, so there are no rows to learn from.")
    if is_path(data):
        for name in rows.whole_with_gaps():
            warnings.warn(
                f"{name!r} holds whole numbers and gaps, and is read as continuous, as data frames read such a file. "
                f"Pass states={{{name!r}: [...]}} to make states of them, or states={{{name!r}: float}} to say so.",
                SourceNote,
                stacklevel=4,
            )
    given = np.concatenate(weights) if weights else sample_weight
    return rows.columns(), as_weights(given, rows.n_rows)


def _file(data: Any, sample_weight: Any, max_memory: float) -> Iterator[Any]:
    """Open a file; what its codes will take is known before it is read."""
    from bayeskit.data.files import FileSource

    source = FileSource(data)
    nodes = tuple(name for name in source.names if name != sample_weight)
    a_row = sum(8 if source.dtypes[name] == "float64" else 1 for name in nodes)
    if a_row * source.rows > max_memory:
        raise _too_large(a_row * source.rows, max_memory, nodes, source.rows)
    return source.batches()


def _parted(table: Table, weights: str) -> tuple[Table, Any]:
    """Part a table from its column of weights."""
    if weights not in table.names:
        raise ColumnError(
            f"sample_weight names {weights!r}, which is no column. The columns are "
            f"{', '.join(map(repr, table.names[:12]))}."
        )
    rest = tuple(name for name in table.names if name != weights)
    if not rest:
        raise ColumnError("No column is left beside the weights.")
    place = table.names.index(weights)
    if table.kind(place) != "numeric":
        raise WeightError(f"sample_weight names {weights!r}, which does not hold numbers.")
    return table.select(rest), table.numbers(place)


def _too_large(n_bytes: int, max_memory: float, names: tuple[Name, ...], n_rows: int) -> TooLarge:
    return TooLarge(
        n_bytes,
        max_memory,
        names,
        n_rows * len(names),
        way_out="Raise max_memory=, leave columns out, or take a part of the rows.",
    )
