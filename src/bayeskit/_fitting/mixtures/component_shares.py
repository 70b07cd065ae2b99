"""Kernels over a range of rows: transpose cells, and convert log densities to responsibilities.

Rows are the innermost axis, so that loops over rows are vectorised. Sums over rows use ``LANES`` partial sums, because
a single sum would have to be computed one row at a time. exp is written as arithmetic, so that loops over it are
vectorised too, which is five times as fast as calls.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayeskit._intrinsics import fma
from bayeskit._numba import kernel

_LOG2_E = 1.4426950408889634
# ln 2 in two parts. n·_LN2_HIGH is exact for all integers n that occur.
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
# 1.5·2^52. Adding a number to it rounds the number to an integer, which is then in the last bits.
_ROUND = 6755399441055744.0
# For smaller arguments the result would be denormal.
_LEAST = -708.0
_EXPONENT = 52


@kernel
def exp(x: Any) -> Any:
    """Return exp(x) for x ≤ 0, accurate to the last digit; 0 if x is below −708 or NaN.

    With x = n ln 2 + r and |r| ≤ ln 2 / 2, this is a Taylor polynomial of degree 12 in r, with n added to its exponent.
    """
    rounded = fma(x, _LOG2_E, _ROUND)
    n = rounded - _ROUND
    r = fma(-n, _LN2_LOW, fma(-n, _LN2_HIGH, x))
    p = 1.0 / 479001600.0
    p = fma(p, r, 1.0 / 39916800.0)
    p = fma(p, r, 1.0 / 3628800.0)
    p = fma(p, r, 1.0 / 362880.0)
    p = fma(p, r, 1.0 / 40320.0)
    p = fma(p, r, 1.0 / 5040.0)
    p = fma(p, r, 1.0 / 720.0)
    p = fma(p, r, 1.0 / 120.0)
    p = fma(p, r, 1.0 / 24.0)
    p = fma(p, r, 1.0 / 6.0)
    p = fma(p, r, 0.5)
    p = fma(p, r, 1.0)
    p = fma(p, r, 1.0)
    power = np.int64(np.float64(rounded).view(np.int64) << np.int64(_EXPONENT))
    value = np.int64(np.float64(p).view(np.int64) + power).view(np.float64)
    return value if x > _LEAST else 0.0


# The number of rows whose responsibilities are computed together; a multiple of BLOCK.
STRETCH = 512
# The number of rows whose differences from a mean fit into the L1 cache.
BLOCK = 64
# The number of partial sums of a sum over rows: two or four vectors, whose additions are independent.
LANES = 16


@kernel
def gather(X: Any, row: Any, n_rows: Any, order: Any, n_observed: Any, x: Any) -> Any:
    """Copy the observed cells of some rows into columns. Return the width, which is a multiple of ``LANES``.

    Copies of the last row fill the rest of the last lanes. They are finite and get weight zero.
    """
    width = (n_rows + np.uintp(LANES - 1)) // np.uintp(LANES) * np.uintp(LANES)
    for c in range(np.uintp(n_observed)):
        column = np.uintp(order[c])
        for r in range(n_rows):
            x[c, r] = X[row + r, column]
        for r in range(n_rows, width):
            x[c, r] = x[c, n_rows - np.uintp(1)]
    return width


@kernel
def share(
    logs: Any, n_rows: Any, width: Any, weights: Any, row: Any, hard: Any, top: Any, total: Any, report: Any
) -> None:
    """Turn log joint densities (K, rows) into the weights of the rows in each component, in place.

    ``report`` is (value so far, first impossible row or −1).
    """
    n_components = np.uintp(logs.shape[0])
    for r in range(width):
        top[r] = -np.inf
        total[r] = 0.0
    for k in range(n_components):
        for r in range(width):
            top[r] = max(top[r], logs[k, r])
    for r in range(width):
        top[r] = top[r] if np.isfinite(top[r]) else 0.0
    for k in range(n_components):
        for r in range(width):
            logs[k, r] = exp(logs[k, r] - top[r])
            total[r] += logs[k, r]
    value = 0.0
    for r in range(n_rows):
        weight = weights[row + r] if weights.shape[0] else 1.0
        if total[r] > 0.0:
            value += weight * (top[r] if hard else top[r] + math.log(total[r]))
            if hard:
                _give_to_first(logs, r, weight)
                total[r] = 1.0
            else:
                total[r] = weight / total[r]
        else:
            total[r] = 0.0
            for k in range(n_components):
                logs[k, r] = 0.0
            if weight > 0.0 and report[1] < 0.0:
                report[1] = row + r
    for r in range(n_rows, width):
        total[r] = 0.0
    for k in range(n_components):
        for r in range(width):
            logs[k, r] *= total[r]
    report[0] += value


@kernel
def _give_to_first(logs: Any, r: Any, weight: Any) -> None:
    """Assign a row to its most likely component, the first in a tie: the one whose share is exp(0)."""
    found = False
    for k in range(np.uintp(logs.shape[0])):
        mine = logs[k, r] == 1.0 and not found
        found = found or mine
        logs[k, r] = weight if mine else 0.0
