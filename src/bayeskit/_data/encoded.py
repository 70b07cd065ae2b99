"""An encoded table, which is cut into chunks on demand without a second copy of the data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bayeskit._schema import LARGEST_BYTE_TABLE, Schema, Variable

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    # Many columns that belong together: the words of a text.
    Block: TypeAlias = NDArray[np.float64] | csr_array

# The rows of one task. Chunk bounds never depend on the number of threads, so results are reproducible.
CHUNK_ROWS = 65_536

_ONES = np.ones(CHUNK_ROWS)
_ONES.flags.writeable = False


@dataclass(frozen=True)
class Chunk:
    """Encoded rows, ready to be counted or scored.

    Attributes
    ----------
    codes : uint8 or uint32 array of shape (n, categorical attributes), C order; or a CodeColumn each
        The code after the last state of a column means missing, the one after that unseen
        (only when predicting with ``unseen="smooth"``).
    values : float64 array of shape (n, numeric attributes), C order
        NaN means missing.
    block : scipy.sparse.csr_array or float64 array of shape (n, width), or None
    target : uint32 array of shape (n,), or None when predicting
    weights : float64 array of shape (n,), or None if every weight is one
    block_above : float, optional
        Read values of the block above this as 1 and the others as 0.
    first_row : int
        The position of the first row in its table, for messages.
    """

    n_rows: int
    codes: Any
    values: NDArray[np.float64]
    block: Any = None
    target: NDArray[np.uint32] | None = None
    weights: NDArray[np.float64] | None = None
    first_row: int = 0
    block_above: float | None = None

    def take(self, rows: slice | NDArray[np.intp]) -> Chunk:
        """Return some rows as one chunk; all rows are returned unchanged."""
        first = 0
        if isinstance(rows, slice):
            if (rows.start, rows.stop) == (0, self.n_rows):
                return self
            first = int(rows.start)
        return replace(
            self,
            n_rows=len(self.values[rows]),
            codes=np.ascontiguousarray(self.codes[rows]),
            values=np.ascontiguousarray(self.values[rows]),
            block=None if self.block is None else self.block[rows],
            target=None if self.target is None else self.target[rows],
            weights=None if self.weights is None else self.weights[rows],
            first_row=self.first_row + first,
        )

    def column(self, j: int) -> NDArray[Any]:
        """Return the codes of one categorical attribute."""
        codes: NDArray[Any] = self.codes[j][:] if isinstance(self.codes, tuple) else self.codes[:, j]
        return codes

    @property
    def row_weights(self) -> NDArray[np.float64]:
        """The weights as an array; ones if none were given."""
        if self.weights is not None:
            return self.weights
        return _ONES[: self.n_rows] if self.n_rows <= CHUNK_ROWS else np.ones(self.n_rows)


Columns = NDArray[Any] | list[Any]


@dataclass(frozen=True)
class CodeColumn:
    """A column in its own codes.

    Attributes
    ----------
    own : integer array of shape (n,)
        −1 means missing.
    table : uint8 or uint32 array
        ``table[own]`` are the codes of the schema; its last entry is for −1.
    may_be_idle : bool
        Whether it may have brought states into the schema that occur in no row.
    """

    own: NDArray[Any]
    table: NDArray[Any]
    may_be_idle: bool = False

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        """Return the schema's codes of some rows."""
        return self.table.take(self.own[rows], mode="wrap")

    def part(self, rows: slice) -> CodeColumn:
        return CodeColumn(self.own[rows], self.table)


@dataclass(frozen=True)
class EncodedTable:
    """Columns in the codes of a schema.

    ``codes`` and ``values`` are whole matrices if the source was one, otherwise one array per column.
    ``first_row`` is the number of the first row in the source.
    """

    schema: Schema
    n_rows: int
    codes: Columns
    values: Columns
    block: Any = None
    target: NDArray[np.uint32] | None = None
    weights: NDArray[np.float64] | None = None
    block_above: float | None = None
    first_row: int = 0

    @property
    def chunk_rows(self) -> int:
        """The rows of a chunk. A wide block gets longer chunks, so that its tables are not mostly zeros."""
        if self.block is None or not hasattr(self.block, "nnz"):
            return CHUNK_ROWS
        cells = self.block.shape[1] * max(self.schema.n_classes, 1)
        per_row = max(1, self.block.nnz // max(self.n_rows, 1))
        return int(max(CHUNK_ROWS, 16 * cells // per_row))

    def moved_to(self, schema: Schema) -> EncodedTable:
        """Return the rows in the codes of another schema of the same columns; states that it lacks become missing.

        Rows of a class that it lacks must have weight zero.
        """
        if schema is self.schema:
            return self
        tables = [code_moves(a, b) for a, b in zip(self.schema.categorical, schema.categorical, strict=True)]
        if isinstance(self.codes, np.ndarray):
            matrix = np.empty(self.codes.shape, dtype=schema.code_dtype)
            for j, table in enumerate(tables):
                matrix[:, j] = table[self.codes[:, j]]
            codes: Columns = matrix
        else:
            codes = [
                CodeColumn(column.own, table[column.table])
                for column, table in zip(self.codes, tables, strict=True)
            ]
        target = self.target
        if target is not None and schema.target is not self.schema.target:
            classes = code_moves(self.schema.target, schema.target)
            target = np.minimum(classes[target], max(schema.n_classes - 1, 0)).astype(np.uint32)
        return replace(self, schema=schema, codes=codes, target=target)

    def bounds(self, step: int = 0) -> list[tuple[int, int]]:
        step = max(step, self.chunk_rows)
        return [(start, min(start + step, self.n_rows)) for start in range(0, self.n_rows, step)]

    def chunks(self) -> Iterator[Chunk]:
        for start, stop in self.bounds():
            yield self.chunk(start, stop)

    def chunk(self, start: int, stop: int, *, by_column: bool = False) -> Chunk:
        """Return some rows. Categorical columns are one matrix, or each in its own codes if stored that way.

        Counting does not need the matrix, so the copy is avoided."""
        rows = slice(start, stop)
        block = self.block
        if block is not None and (start, stop) != (0, self.n_rows):
            block = block[rows]
        if block is not None and not hasattr(block, "nnz"):
            block = np.ascontiguousarray(block, dtype=np.float64)
        return Chunk(
            stop - start,
            tuple(column.part(rows) for column in self.codes)
            if by_column and not isinstance(self.codes, np.ndarray)
            else _rows_of(self.codes, rows, stop - start, self.schema.code_dtype),
            _rows_of(self.values, rows, stop - start, np.float64),
            block,
            None if self.target is None else self.target[rows],
            None if self.weights is None else self.weights[rows],
            self.first_row + start,
            self.block_above,
        )


def code_moves(before: Variable, after: Variable) -> NDArray[Any]:
    """The new code of each old code of a variable, missing last."""
    dtype = np.uint8 if after.size <= LARGEST_BYTE_TABLE else np.uint32
    return np.array([*(after.codes.get(s, after.size) for s in before.states), after.size], dtype=dtype)


def _rows_of(columns: Columns, rows: slice, n_rows: int, dtype: DTypeLike) -> Any:
    if isinstance(columns, np.ndarray):
        return np.ascontiguousarray(columns[rows], dtype=dtype)
    tile = np.empty((n_rows, len(columns)), dtype=dtype)
    for j, column in enumerate(columns):
        tile[:, j] = column[rows]
    return tile
