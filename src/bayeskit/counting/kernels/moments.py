"""Loops that sum values about pivots, in double-double."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.kernel import fma, kernel

# The low parts are plain sums of rounding errors. Folding them into the high parts this often keeps
# them, and so their own rounding, small.
FOLD_ROWS = 512


@kernel
def find_pivots(values: Any, target: Any, weights: Any, pivot: Any, found: Any) -> None:
    """Write the first value of each class and attribute; ``found`` (K, d + 1) holds zeros.

    The last column of ``found`` counts what a class has, so that a complete class costs one look a row.
    """
    n, d = np.uintp(values.shape[0]), np.uintp(values.shape[1])
    open_classes = pivot.shape[0]
    for i in range(n):
        c = np.uintp(target[i])
        if found[c, d] == d or weights[i] == 0.0:
            continue
        for j in range(d):
            x = values[i, j]
            if found[c, j] == 0 and x == x:
                pivot[c, j] = x
                found[c, j] = 1
                found[c, d] += 1
        if found[c, d] == d:
            open_classes -= 1
            if open_classes == 0:
                return


@kernel
def fold(high: Any, low: Any) -> None:
    """Carry the low parts into the high ones where they reach."""
    for c in range(np.uintp(high.shape[0])):
        for j in range(np.uintp(high.shape[1])):
            a, b = high[c, j], low[c, j]
            s = a + b
            part = s - a
            high[c, j] = s
            low[c, j] = (a - (s - part)) + (b - part)


@kernel
def sum_plain(
    values: Any, target: Any, count: Any, pivot: Any, first: Any, first_low: Any, second: Any, second_low: Any
) -> None:
    """Sum rows that weigh one each and miss nothing; ``count`` has shape (K,).

    x − p is taken as t + e without error, and each sum as high + low. Two short loops with few arrays
    each, because a loop over all of them has too many possible overlaps for the compiler to vectorise.
    """
    n, d = np.uintp(values.shape[0]), np.uintp(values.shape[1])
    # Folding costs a pass over all cells: with many classes it must be rarer.
    stretch = np.uintp(max(FOLD_ROWS, 8 * pivot.shape[0]))
    start = np.uintp(0)
    while start < n:
        stop = min(n, start + stretch)
        for i in range(start, stop):
            c = np.uintp(target[i])
            count[c] += 1.0
            for j in range(d):
                x, p = values[i, j], pivot[c, j]
                t = x - p
                z = x - t
                e = (x - (t + z)) + (z - p)
                a = first[c, j]
                s = a + t
                b = s - a
                first[c, j] = s
                first_low[c, j] += ((a - (s - b)) + (t - b)) + e
            for j in range(d):
                x, p = values[i, j], pivot[c, j]
                t = x - p
                z = x - t
                e = (x - (t + z)) + (z - p)
                square = t * t
                rest = fma(2.0 * t, e, fma(t, t, -square))
                a = second[c, j]
                s = a + square
                b = s - a
                second[c, j] = s
                second_low[c, j] += ((a - (s - b)) + (square - b)) + rest
        fold(first, first_low)
        fold(second, second_low)
        start = stop


@kernel
def sum_weighted(
    values: Any, target: Any, weights: Any, pivot: Any, weight: Any, weight_low: Any,
    first: Any, first_low: Any, second: Any, second_low: Any,
) -> None:  # fmt: skip
    """Sum rows of any weight whose NaNs are missing values; a row of weight 0 is not looked at."""
    n, d = np.uintp(values.shape[0]), np.uintp(values.shape[1])
    stretch = np.uintp(max(FOLD_ROWS, 8 * pivot.shape[0]))
    start = np.uintp(0)
    while start < n:
        stop = min(n, start + stretch)
        for i in range(start, stop):
            c, row_weight = np.uintp(target[i]), weights[i]
            if row_weight == 0.0:
                continue
            for j in range(d):
                x = values[i, j]
                w = row_weight if x == x else 0.0
                a = weight[c, j]
                s = a + w
                b = s - a
                weight[c, j] = s
                weight_low[c, j] += (a - (s - b)) + (w - b)
            for j in range(d):
                p = pivot[c, j]
                x = values[i, j] if values[i, j] == values[i, j] else p
                t = x - p
                z = x - t
                e = (x - (t + z)) + (z - p)
                product = row_weight * t
                rest = fma(row_weight, e, fma(row_weight, t, -product))
                a = first[c, j]
                s = a + product
                b = s - a
                first[c, j] = s
                first_low[c, j] += ((a - (s - b)) + (product - b)) + rest
            for j in range(d):
                p = pivot[c, j]
                x = values[i, j] if values[i, j] == values[i, j] else p
                t = x - p
                z = x - t
                e = (x - (t + z)) + (z - p)
                square = t * t
                rest = fma(2.0 * t, e, fma(t, t, -square))
                product = row_weight * square
                rest = fma(row_weight, rest, fma(row_weight, square, -product))
                a = second[c, j]
                s = a + product
                b = s - a
                second[c, j] = s
                second_low[c, j] += ((a - (s - b)) + (product - b)) + rest
        fold(weight, weight_low)
        fold(first, first_low)
        fold(second, second_low)
        start = stop


@kernel
def find_largest(values: Any, weights: Any, largest: Any) -> Any:
    """Write the largest magnitude of each column; return the flat place of the first infinity, or −1."""
    n, d = np.uintp(values.shape[0]), np.uintp(values.shape[1])
    for i in range(n):
        if weights[i] == 0.0:
            continue
        for j in range(d):
            largest[j] = max(largest[j], abs(values[i, j]) if values[i, j] == values[i, j] else 0.0)
    if d == np.uintp(0) or largest.max() < np.inf:
        return np.int64(-1)
    for i in range(n):
        for j in range(d):
            if weights[i] != 0.0 and abs(values[i, j]) == np.inf:
                return np.int64(i) * np.int64(values.shape[1]) + np.int64(j)
    return np.int64(-1)
