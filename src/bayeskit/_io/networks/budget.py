"""Limits the total number of table cells in one file.

A few words can ask for a table of any size (a default row and forty parents), and ask again for the next node. So every
reader takes the cells of a table from one budget before it makes the table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from bayeskit._messages import Message
from bayeskit.errors import ModelFormatError

# Any file may ask for this many cells (32 MiB), and a longer one for so many for each of its bytes. A number takes at
# least two bytes, itself and a blank, so a file that spells its tables out is never refused.
LEAST_CELLS = 2**22
CELLS_A_BYTE = 64
BYTES_A_CELL = 8
# What every NumPy can hold as an array.
MOST_AXES = 32
_BEYOND_ANY_MEMORY = 2**50


class Budget:
    """Cells that are left to a file.

    Parameters
    ----------
    n_bytes : the size of the file
    max_memory : how many bytes its tables may take, whatever its size

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
        """Take the cells of a table with these axes, and return how many they are; ``error`` knows where it stands."""
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
    """Return how many cells there are, in a few signs: the product of many sizes may have hundreds of digits."""
    return str(cells) if cells < 10**9 else f"≈10^{math.log10(cells):.0f}"
