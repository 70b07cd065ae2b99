"""The rows of a table that was read: each a distribution, or refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import ModelFormatError
from bayeskit.graphs.distributions import row_sums, summing_to_one
from bayeskit.schema import Name, Variable

# A row that was printed with a few digits is divided by its sum; beyond that something is wrong.
ROUNDED = 1e-3

Place = tuple[int | None, int | None]


def checked_table(
    values: NDArray[np.float64],
    name: Name,
    parents: Sequence[Variable] = (),
    *,
    path: object = None,
    line: int | None = None,
    column: int | None = None,
    normalize: bool = False,
    place: Callable[[int], Place] | None = None,
) -> NDArray[np.float64]:
    """Return a conditional table whose rows are distributions.

    Parameters
    ----------
    values : array of shape (states of each parent, states of the child)
    name : the child
    parents : their variables, to name the states of a row in errors
    path, line, column : where the table stands
    normalize : bool
        Divide every row by its sum, whatever that is; a row of zeros is refused even then.
    place : callable, optional
        Gives line and column of a row, rows counted as they lie in the array.

    Examples
    --------
    >>> checked_table([0.333, 0.333, 0.333], "wind").round(3)
    array([0.333, 0.333, 0.333])
    >>> checked_table([2, 6], "wind", normalize=True)
    array([0.25, 0.75])
    >>> checked_table([0.5, 0.6], "wind", path="golf.bif", line=3, column=1)
    Traceback (most recent call last):
    ...
    bayeskit.errors.ModelFormatError: golf.bif, line 3, column 1: the probabilities of 'wind' sum to 1.1, not to 1. \
Mend them, or pass normalize=True to divide them by their sum.
    """
    table: NDArray[np.float64] = np.ascontiguousarray(values, dtype=np.float64)
    rows = table.reshape(-1, table.shape[-1])

    def refused(row: int, why: str) -> ModelFormatError:
        at = place(row) if place is not None else (line, column)
        where = _states_of(row, parents)
        return ModelFormatError(
            f"the probabilities of {name!r}{where} {why}", path=path, line=at[0], column=at[1]
        )

    bad = ~(np.isfinite(rows) & (rows >= 0))
    if bad.any():
        row, state = (int(k) for k in np.argwhere(bad)[0])
        raise refused(
            row, f"hold {rows[row, state]!s}. A probability is a number from 0 to 1: mend the file."
        )
    sums = row_sums(rows)
    if not np.isfinite(sums).all():
        raise refused(int(np.argmax(~np.isfinite(sums))), "are too large to be summed. Mend the file.")
    if (sums == 0).any():
        raise refused(int(np.argmax(sums == 0)), "are all zero. Give at least one state a probability.")
    off = np.abs(sums - 1)
    if not normalize and (off > ROUNDED).any():
        row = int(np.argmax(off > ROUNDED))
        raise refused(
            row,
            f"sum to {sums[row]:.6g}, not to 1. Mend them, or pass normalize=True to divide them by their sum.",
        )
    return summing_to_one(rows, sums).reshape(table.shape)


def _states_of(row: int, parents: Sequence[Variable]) -> str:
    """Return which states of the parents a row is for, as words in a sentence."""
    if not parents:
        return ""
    codes = np.unravel_index(row, tuple(parent.size for parent in parents))
    shown = ", ".join(f"{p.name!s} = {p.states[int(code)]!s}" for p, code in zip(parents, codes))
    return f" given {shown}"
