"""Discrete rows in memory, ready to be counted: as bits where there are few states, as numbers beyond."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.counting.kernels.bit_families import count_bits, pack_states
from bayeskit.counting.kernels.extensions import family_code

Ints = NDArray[np.int64]

# More configurations than this, and than rows, are numbered anew: those that occur.
SMALL_TABLE = 4096
# With fewer cells in a table, 64 rows at a time by bits are faster than one row at a time.
FEW_CELLS = 150
# A variable of more states has no bits: its planes would take more room than its codes, and be of no use.
MOST_PLANES = 32


class PackedRows:
    """Columns of codes, complete, and the bits of the states of those that have few.

    Parameters
    ----------
    columns : unsigned integer array of shape (variables, rows)
    sizes : int64 array
        The declared states of each variable.
    with_bits : bool
        Without them for rows that have weights: a bit has none.
    """

    def __init__(self, columns: NDArray[Any], sizes: Ints, with_bits: bool = True) -> None:
        self.columns = columns
        self.sizes = np.asarray(sizes, np.int64)
        self.n_rows = int(columns.shape[1])
        self._with_bits = with_bits
        packed = np.where(self.sizes <= (MOST_PLANES if with_bits else 0), self.sizes, 0)
        self._any_wide = bool((packed < self.sizes).any())
        self._first = np.concatenate([[0], np.cumsum(packed)]).astype(np.int64)
        self.planes = np.empty((int(self._first[-1]), (self.n_rows + 63) >> 6), np.uint64)
        pack_states(columns, packed, self._first, self.planes)

    def is_wide(self, some: Ints) -> NDArray[np.bool_]:
        """Tell which variables have no bits."""
        return np.asarray(self.sizes[some] > MOST_PLANES)

    def split(self, more: Ints) -> NDArray[np.bool_] | None:
        """Tell wide variables from others where there are both: one shall not keep the rest from their bits."""
        if not self._any_wide or not self._with_bits:
            return None
        wide = self.is_wide(more)
        return wide if 0 < wide.sum() < len(more) else None

    def suits_bits(self, inside: Ints, more: Ints, configurations: float) -> bool:
        """Tell whether tables of so many configurations with each of ``more`` are best counted by bits."""
        few = self._with_bits and configurations * float(self.sizes[more].mean()) <= FEW_CELLS
        return few and not (self._any_wide and bool(self.is_wide(np.append(inside, more)).any()))

    def tables(self, inside: Ints, more: Ints, configurations: int) -> tuple[Ints, Ints]:
        """Count by bits some variables with each of ``more``; return all cells, and where each table begins."""
        start = np.concatenate([[0], np.cumsum(configurations * self.sizes[more])])
        tables = np.empty(int(start[-1]), np.int64)
        count_bits(
            self.planes,
            self._first,
            self.sizes,
            inside,
            more,
            start,
            np.empty((len(inside), self.planes.shape[1]), np.uint64),
            np.empty(len(inside), np.int64),
            tables,
        )
        return tables, start

    def code(self, some: Ints, declared: float) -> tuple[NDArray[np.uint32], int]:
        """Return the number of each row's configuration of some variables, and how many numbers there are.

        ``declared`` is how many configurations there might be.
        """
        code = np.empty(self.n_rows, np.uint32)
        if declared <= max(SMALL_TABLE, self.n_rows):
            family_code(self.columns, some, self.sizes, code)
            return code, int(declared)
        # Variable by variable, so that no number outgrows its type: at most as many as there are rows.
        code[:], q = 0, 1
        for v in some:
            size = int(self.sizes[v])
            wide = code.astype(np.int64) * size + self.columns[v]
            if q * size <= max(SMALL_TABLE, self.n_rows):
                code, q = wide.astype(np.uint32), q * size
            else:
                seen, numbered = np.unique(wide, return_inverse=True)
                code, q = numbered.astype(np.uint32), len(seen)
        return code, q
