"""A table after encoding, cut into chunks on demand so that no second copy of the data is made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.chunk import CHUNK_ROWS, Chunk
from bayeskit.schema import Schema

Columns = NDArray[Any] | list[Any]


@dataclass(frozen=True)
class Encoded:
    """Columns in the codes of a schema.

    ``codes`` and ``values`` are whole matrices where the source was one, else one array a column.
    """

    schema: Schema
    n_rows: int
    codes: Columns
    values: Columns
    block: Any = None
    target: NDArray[np.uint32] | None = None
    weights: NDArray[np.float64] | None = None
    block_above: float | None = None

    @property
    def chunk_rows(self) -> int:
        """Rows of a chunk. A wide block gets longer ones, so that tables are not mostly zeros."""
        if self.block is None or not hasattr(self.block, "nnz"):
            return CHUNK_ROWS
        cells = self.block.shape[1] * max(self.schema.n_classes, 1)
        per_row = max(1, self.block.nnz // max(self.n_rows, 1))
        return int(max(CHUNK_ROWS, 16 * cells // per_row))

    def bounds(self) -> list[tuple[int, int]]:
        step = self.chunk_rows
        return [(start, min(start + step, self.n_rows)) for start in range(0, self.n_rows, step)]

    def chunks(self) -> Iterator[Chunk]:
        for start, stop in self.bounds():
            yield self.chunk(start, stop)

    def chunk(self, start: int, stop: int, *, by_column: bool = False) -> Chunk:
        """Return some rows; categorical columns as one matrix, or each in its own codes where that is how
        they are held (counting needs no more, and is spared the copy)."""
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
            start,
            self.block_above,
        )


def _rows_of(columns: Columns, rows: slice, n_rows: int, dtype: Any) -> Any:
    if isinstance(columns, np.ndarray):
        return np.ascontiguousarray(columns[rows], dtype=dtype)
    tile = np.empty((n_rows, len(columns)), dtype=dtype)
    for j, column in enumerate(columns):
        tile[:, j] = column[rows]
    return tile
