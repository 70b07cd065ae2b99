"""When the probabilities of a row sum to one, and what is done where rounding made them miss it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# A row that sums to one as well as rounding allows is kept bit for bit.
AS_GOOD_AS_ONE = 1e-12


def row_sums(values: Floats) -> Floats:
    """Return the sums over the last axis, infinite where they are beyond the largest number."""
    with np.errstate(over="ignore"):
        return np.asarray(values.sum(axis=-1))


def summing_to_one(values: Floats, sums: Floats) -> Floats:
    """Return the rows with sums of one: as they are where they have it, else divided by their sums, once.

    Examples
    --------
    >>> rows = np.array([[0.1, 0.9], [1.0, 3.0]])
    >>> summing_to_one(rows, row_sums(rows))
    array([[0.1 , 0.9 ],
           [0.25, 0.75]])
    """
    off = np.abs(sums - 1.0) > AS_GOOD_AS_ONE
    return np.where(off[..., None], values / sums[..., None], values) if off.any() else values
