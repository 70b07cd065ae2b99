"""Limits the total number of table cells in one file.

A few words can define a table of any size (a default row and forty parents), and do so again for the next
node. So every reader takes the cells of a table from one budget before it allocates the table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from bayeskit._messages import Message
from bayeskit.errors import ModelFormatError

# Any file may have this many cells (32 MiB), and a longer one this many for each of its bytes. A number takes
# at least two bytes, itself and a blank, so a file that writes out its tables is never rejected.
LEAST_CELLS = 2**22
CELLS_A_BYTE = 64
BYTES_A_CELL = 8
# The array size that every NumPy supports.
MOST_AXES = 32
_BEYOND_ANY_MEMORY = 2**50


class Budget:
    """The remaining cells of a file.

    Parameters
    ----------
    n_bytes : the size of the file
    max_memory : the limit in bytes for its tables, whatever its size

    Examples
    --------
    >>> budget = Budget(1_000, max_memory=100)
    >>> budget.take([2, 3], "wet")
    6
    >>> budget.take([2, 2, 2], "slippery")
    Traceback (most recent call last):
    ...
    bayeskit.errors.ModelFormatError: the table of 'slippery' has 8 cells, and with it the tables of this file would \
have 14; 12 are allowed. Give nodes fewer parents. If you trust the file, raise the limit: \
read_network(path, max_memory=112).
    """

    def __init__(self, n_bytes: int, max_memory: float | None = None) -> None:
        self.most: float = max(LEAST_CELLS, CELLS_A_BYTE * n_bytes)
        if max_memory is not None:
            self.most = max_memory if math.isinf(max_memory) else int(max_memory // BYTES_A_CELL)
        self.taken = 0

    def take(
        self,
        sizes: Sequence[int],
        name: object,
        error: Callable[[Message], ModelFormatError] = ModelFormatError,
    ) -> int:
        """Take the cells of a table with these axes, and return their number.

        ``error`` adds the position in the file.
        """
        cells = math.prod(sizes)
        total = self.taken + cells
        if total > self.most:
            raise error(
                Message(
                    "the table of {name!r} has {cells} cells, and with it the tables of this file would have "
                    "{total}; {most} are allowed. Give nodes fewer parents.{way_out}",
                    name=name,
                    cells=many(cells),
                    total=many(total),
                    most=self.most,
                    way_out=_way_out(BYTES_A_CELL * total),
                )
            )
        if len(sizes) > MOST_AXES:
            raise error(
                Message(
                    "the table of {name!r} would be over {n} variables; at most {most_axes} are read. Give it "
                    "fewer parents.",
                    name=name,
                    n=len(sizes),
                    most_axes=MOST_AXES,
                )
            )
        self.taken = total
        return cells


def _way_out(n_bytes: int) -> Message:
    if n_bytes > _BEYOND_ANY_MEMORY:
        return Message("")
    return Message(
        " If you trust the file, raise the limit: read_network(path, max_memory={n_bytes}).", n_bytes=n_bytes
    )


def many(cells: int) -> str:
    """Return the number of cells in a short form: the product of many sizes may have hundreds of digits."""
    return str(cells) if cells < 10**9 else f"≈10^{math.log10(cells):.0f}"
