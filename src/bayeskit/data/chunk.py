"""A run of rows after encoding: codes, values, a block, the class, the weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The rows of one task. Chunk bounds never depend on the number of threads, so results repeat.
CHUNK_ROWS = 65_536

_ONES = np.ones(CHUNK_ROWS)
_ONES.flags.writeable = False


@dataclass(frozen=True)
class Chunk:
    """Rows ready to be counted or scored.

    Attributes
    ----------
    codes : uint8 or uint32 array of shape (n, categorical attributes), C order; or a CodeColumn each
        The code after the last state of a column means missing, the one after that unseen
        (only when predicting with ``unseen="smooth"``).
    values : float64 array of shape (n, numeric attributes), C order
        NaN means missing.
    block : scipy.sparse.csr_array or float64 array of shape (n, width), or None
    target : uint32 array of shape (n,), or None when predicting
    weights : float64 array of shape (n,), or None where every row weighs one
    block_above : float, optional
        Take the block's values above this for 1 and the others for 0.
    first_row : int
        Where the chunk begins in its table, for messages.
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
        """Return some rows, in one piece; all of them as they are."""
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

    @property
    def row_weights(self) -> NDArray[np.float64]:
        """The weights as an array: ones where none were given."""
        if self.weights is not None:
            return self.weights
        return _ONES[: self.n_rows] if self.n_rows <= CHUNK_ROWS else np.ones(self.n_rows)
