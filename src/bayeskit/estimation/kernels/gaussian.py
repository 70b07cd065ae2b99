"""Loops over rows, attributes and classes for the Gaussian density."""

from __future__ import annotations

from math import isinf
from typing import Any

import numpy as np

from bayeskit.kernel import kernel

# Rows are scored this many at a time, with the rows innermost, where the compiler can vectorise.
TILE = 64
# A distance beyond this many deviations counts as this many, so that a sum of squares stays finite.
FARTHEST = 1e150


@kernel
def distance(x: float, mean: float, low: float, inverse: float) -> float:
    """Return (x − mean)·inverse, bounded; the mean is given as high and low."""
    z = ((x - mean) - low) * inverse
    if isinf(x - mean):
        # The difference of two values near the largest double: halve before, double after.
        z = (0.5 * x - 0.5 * mean) * inverse * 2.0
    return min(max(z, -FARTHEST), FARTHEST)


@kernel
def find_infinite(values: Any, row: Any, place: Any) -> Any:
    """Return the column of the first infinity in a row, or −1."""
    for j in range(np.uintp(place.shape[0])):
        if isinf(values[row, place[j]]):
            return np.int64(place[j])
    return np.int64(-1)


@kernel
def load_tile(values: Any, place: Any, start: Any, rows: Any, tile: Any) -> None:
    """Copy some rows of the columns at ``place`` into a tile of shape (columns, rows)."""
    for r in range(rows):
        for j in range(np.uintp(place.shape[0])):
            tile[j, r] = values[start + r, place[j]]
