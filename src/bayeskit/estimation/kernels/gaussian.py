"""Loops over rows, attributes and classes for the Gaussian density."""

from __future__ import annotations

from math import isfinite, isinf, isnan
from typing import Any

import numpy as np

from bayeskit.kernel import fma, kernel

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


@kernel
def add_log_density(
    values: Any,
    place: Any,
    mean: Any,
    low: Any,
    inverse: Any,
    norm: Any,
    total: Any,
    tile: Any,
    sums: Any,
    out: Any,
) -> Any:
    """Add Σ_j log N(x_j; class k) to ``out`` (n, K); return −1, or the flat place of an infinite value.

    ``inverse`` is 1/(σ√2), ``norm`` −log(σ√(2π)) and ``total`` its sum over the attributes. ``tile``
    (m, TILE) and ``sums`` (K, TILE) are scratch: a row reaches ``out`` only when its sums are known to
    be finite, and is otherwise scored again with care, since ``out`` holds the terms of others.
    """
    n, m, classes = np.uintp(values.shape[0]), np.uintp(place.shape[0]), np.uintp(mean.shape[0])
    start = np.uintp(0)
    while start < n:
        rows = min(np.uintp(TILE), n - start)
        load_tile(values, place, start, rows, tile)
        for k in range(classes):
            for r in range(rows):
                sums[k, r] = total[k]
            for j in range(m):
                centre, rest, scale = mean[k, j], low[k, j], inverse[k, j]
                for r in range(rows):
                    z = ((tile[j, r] - centre) - rest) * scale
                    sums[k, r] = fma(-z, z, sums[k, r])
        for r in range(rows):
            finite = True
            for k in range(classes):
                finite &= isfinite(sums[k, r])
            if not finite:
                column = find_infinite(values, start + r, place)
                if column >= 0:
                    return np.int64(start + r) * np.int64(values.shape[1]) + column
                for k in range(classes):
                    sums[k, r] = 0.0
                    for j in range(m):
                        if not isnan(tile[j, r]):
                            z = distance(tile[j, r], mean[k, j], low[k, j], inverse[k, j])
                            sums[k, r] += norm[k, j] - z * z
            for k in range(classes):
                out[start + r, k] += sums[k, r]
        start += rows
    return np.int64(-1)
