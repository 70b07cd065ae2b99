"""Loops over a block of rows, for components whose covariances are whole matrices.

Columns are padded to a multiple of four with zeros, so that four products are added in one pass over the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.kernel import fma, kernel
from bayeskit.learning.mixtures.kernels.shares import BLOCK, LANES


@kernel
def differ(x: Any, begin: Any, width: Any, mean: Any, order: Any, n_observed: Any, diff: Any) -> None:
    """Set diff to the observed cells of a block less the mean, and to zero in the padding."""
    n = np.uintp(n_observed)
    for c in range(n):
        m = mean[np.uintp(order[c])]
        for r in range(width):
            diff[c, r] = x[c, begin + r] - m
    for c in range(n, (n + np.uintp(3)) // np.uintp(4) * np.uintp(4)):
        for r in range(width):
            diff[c, r] = 0.0


@kernel
def take_squares(inverse: Any, diff: Any, n_observed: Any, width: Any, y: Any, begin: Any, out: Any) -> None:
    """Take ½ |inverse · diff|² from out; the matrix is lower triangular. Two of its rows go over a block together."""
    for j in range(np.uintp(0), np.uintp(n_observed), np.uintp(2)):
        i = j + np.uintp(1)
        for c in range(np.uintp(0), j + np.uintp(2), np.uintp(4)):
            c1, c2, c3 = c + np.uintp(1), c + np.uintp(2), c + np.uintp(3)
            a0, a1, a2, a3 = inverse[j, c], inverse[j, c1], inverse[j, c2], inverse[j, c3]
            b0, b1, b2, b3 = inverse[i, c], inverse[i, c1], inverse[i, c2], inverse[i, c3]
            if c == np.uintp(0):
                for r in range(width):
                    d0, d1, d2, d3 = diff[c, r], diff[c1, r], diff[c2, r], diff[c3, r]
                    y[0, r] = fma(a0, d0, fma(a1, d1, fma(a2, d2, a3 * d3)))
                    y[1, r] = fma(b0, d0, fma(b1, d1, fma(b2, d2, b3 * d3)))
            else:
                for r in range(width):
                    d0, d1, d2, d3 = diff[c, r], diff[c1, r], diff[c2, r], diff[c3, r]
                    y[0, r] = fma(a0, d0, fma(a1, d1, fma(a2, d2, fma(a3, d3, y[0, r]))))
                    y[1, r] = fma(b0, d0, fma(b1, d1, fma(b2, d2, fma(b3, d3, y[1, r]))))
        for r in range(width):
            rest = fma(-0.5 * y[0, r], y[0, r], out[begin + r])
            out[begin + r] = fma(-0.5 * y[1, r], y[1, r], rest)


@kernel
def complete(
    x: Any,
    begin: Any,
    width: Any,
    mean: Any,
    pivot: Any,
    order: Any,
    n_observed: Any,
    gain: Any,
    diff: Any,
    z: Any,
) -> None:
    """Set z to the completed rows of a block about the pivot: missing cells are their conditional means."""
    d, n = np.uintp(order.shape[0]), np.uintp(n_observed)
    if n < d:
        differ(x, begin, width, mean, order, n_observed, diff)
    for j in range(n, d):
        column = np.uintp(order[j])
        by = mean[column] - pivot[column]
        for r in range(width):
            z[j, r] = by
        for c in range(np.uintp(0), n, np.uintp(4)):
            c1, c2, c3 = c + np.uintp(1), c + np.uintp(2), c + np.uintp(3)
            a0, a1, a2, a3 = gain[j, c], gain[j, c1], gain[j, c2], gain[j, c3]
            for r in range(width):
                inner = fma(a2, diff[c2, r], fma(a3, diff[c3, r], z[j, r]))
                z[j, r] = fma(a0, diff[c, r], fma(a1, diff[c1, r], inner))
    # Not from diff: a mean far from the pivot would cost digits.
    for c in range(n):
        m = pivot[np.uintp(order[c])]
        for r in range(width):
            z[c, r] = x[c, begin + r] - m


@kernel
def scatter(z: Any, shares: Any, begin: Any, width: Any, d: Any, rz: Any, sums: Any) -> None:
    """Add Σ r, and for each column Σ r z_i and the Σ r z_i z_j up to j = i, to partial sums."""
    lanes = np.uintp(LANES)
    l2, l3 = np.uintp(2 * LANES), np.uintp(3 * LANES)
    for c in range(np.uintp(0), width, lanes):
        for r in range(lanes):
            sums[np.uintp(0), r] += shares[begin + c + r]
    p = np.uintp(1)
    for i in range(d):
        for r in range(width):
            rz[r] = shares[begin + r] * z[i, r]
        for c in range(np.uintp(0), width, lanes):
            for r in range(lanes):
                sums[p, r] += rz[c + r]
        p += np.uintp(1)
        for j in range(i + np.uintp(1)):
            if width == np.uintp(BLOCK):
                for r in range(lanes):
                    inner = fma(rz[l2 + r], z[j, l2 + r], fma(rz[l3 + r], z[j, l3 + r], sums[p, r]))
                    sums[p, r] = fma(rz[r], z[j, r], fma(rz[lanes + r], z[j, lanes + r], inner))
            else:
                for c in range(np.uintp(0), width, lanes):
                    for r in range(lanes):
                        sums[p, r] = fma(rz[c + r], z[j, c + r], sums[p, r])
            p += np.uintp(1)


@kernel
def settle(sums: Any, order: Any, first: Any, second: Any) -> Any:
    """Add partial sums to where they belong, in the lower triangle, and empty them; return Σ r."""
    weight = _emptied(sums, np.uintp(0))
    p = np.uintp(1)
    for i in range(np.uintp(order.shape[0])):
        a = np.uintp(order[i])
        first[a] += _emptied(sums, p)
        p += np.uintp(1)
        for j in range(i + np.uintp(1)):
            b = np.uintp(order[j])
            second[max(a, b), min(a, b)] += _emptied(sums, p)
            p += np.uintp(1)
    return weight


@kernel
def _emptied(sums: Any, p: Any) -> Any:
    total = 0.0
    for r in range(np.uintp(LANES)):
        total += sums[p, r]
        sums[p, r] = 0.0
    return total
