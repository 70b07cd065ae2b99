"""Loops that sum the values of rows which belong to every class a little, in double-double."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.counting.kernels.moments import FOLD_ROWS, WIDTH
from bayeskit.kernel import fma, kernel

# The room of one class and 32 columns: pivot, then weight, first and second, each as high and low.
PACK = 7 * WIDTH


@kernel
def find_soft_pivots(values: Any, shares: Any, surest: Any, pivot: Any) -> None:
    """Write a value of each class and attribute: that of its surest row, else of the first that has a share.

    All rows have a share in all classes, so the first row of a class, which serves where classes are known, may lie
    far from it.
    """
    n, d = np.uintp(values.shape[0]), np.uintp(values.shape[1])
    for c in range(np.uintp(pivot.shape[0])):
        for j in range(d):
            x = values[surest[c], j]
            i = np.uintp(0)
            while x != x and i < n:
                if shares[i, c] > 0.0:
                    x = values[i, j]
                i += np.uintp(1)
            pivot[c, j] = x if x == x else 0.0


@kernel
def fold_soft(packed: Any) -> None:
    """Carry the low parts into the high ones where they reach."""
    for cell in range(np.uintp(packed.shape[0]) // np.uintp(PACK)):
        for plane in (1, 3, 5):
            for j in range(WIDTH):
                place = cell * np.uintp(PACK) + np.uintp(plane * WIDTH + j)
                a, b = packed[place], packed[place + np.uintp(WIDTH)]
                s = a + b
                part = s - a
                packed[place] = s
                packed[place + np.uintp(WIDTH)] = (a - (s - part)) + (b - part)


@kernel
def sum_shares(values: Any, shares: Any, packed: Any, n_blocks: Any) -> None:
    """Sum rows with a share in every class; NaNs are missing values.

    ``packed`` is flat, of shape (K, blocks, 7, 32), as in ``sum_plain``: with all distances known the compiler
    vectorises the loop over columns. Weights are summed for each column, since cells may be missing.
    """
    n, d, k = np.uintp(values.shape[0]), np.uintp(values.shape[1]), np.uintp(shares.shape[1])
    blocks, width = np.uintp(n_blocks), np.uintp(WIDTH)
    flat = values.reshape(-1)
    start = np.uintp(0)
    while start < n:
        stop = min(n, start + np.uintp(FOLD_ROWS))
        for i in range(start, stop):
            for c in range(k):
                share = shares[i, c]
                if share == 0.0:
                    continue
                for block in range(blocks):
                    base = (c * blocks + block) * np.uintp(PACK)
                    left = block * width
                    at = i * d + left
                    wide = min(width, d - left)
                    # What lies beyond the row is summed into room that nobody reads, see ``sum_plain``.
                    if i + np.uintp(4) < n:
                        wide = (wide + np.uintp(3)) & ~np.uintp(3)
                    for j in range(wide):
                        x, p = flat[at + j], packed[base + j]
                        w = share if x == x else 0.0
                        x = x if x == x else p
                        a = packed[base + np.uintp(WIDTH) + j]
                        s = a + w
                        b = s - a
                        packed[base + np.uintp(WIDTH) + j] = s
                        packed[base + np.uintp(2 * WIDTH) + j] += (a - (s - b)) + (w - b)
                        t = x - p
                        z = x - t
                        e = (x - (t + z)) + (z - p)
                        product = w * t
                        rest = fma(w, e, fma(w, t, -product))
                        a = packed[base + np.uintp(3 * WIDTH) + j]
                        s = a + product
                        b = s - a
                        packed[base + np.uintp(3 * WIDTH) + j] = s
                        packed[base + np.uintp(4 * WIDTH) + j] += ((a - (s - b)) + (product - b)) + rest
                        square = t * t
                        rest = fma(2.0 * t, e, fma(t, t, -square))
                        product = w * square
                        rest = fma(w, rest, fma(w, square, -product))
                        a = packed[base + np.uintp(5 * WIDTH) + j]
                        s = a + product
                        b = s - a
                        packed[base + np.uintp(5 * WIDTH) + j] = s
                        packed[base + np.uintp(6 * WIDTH) + j] += ((a - (s - b)) + (product - b)) + rest
        fold_soft(packed)
        start = stop
