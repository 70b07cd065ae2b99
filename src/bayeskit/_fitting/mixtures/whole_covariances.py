"""The E-step with full covariance matrices, one block of rows at a time.

Columns are padded with zeros to a multiple of four, so that four products are added in one pass over the rows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayeskit._fitting.mixtures.components import BLOCK, LANES, STRETCH, gather, share
from bayeskit._intrinsics import fma
from bayeskit._numba import kernel


@kernel
def differ(x: Any, begin: Any, width: Any, mean: Any, order: Any, n_observed: Any, diff: Any) -> None:
    """Set diff to the observed cells of a block minus the mean, and to zero in the padding."""
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
    """Subtract ½ |inverse · diff|² from out. The matrix is lower triangular; two of its rows are used at a time."""
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
    """Set z to the completed rows of a block minus the pivot. Missing cells are replaced by their conditional means."""
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
    # Do not compute this from diff: if the mean is far from the pivot, digits would be lost.
    for c in range(n):
        m = pivot[np.uintp(order[c])]
        for r in range(width):
            z[c, r] = x[c, begin + r] - m


@kernel
def scatter(z: Any, shares: Any, begin: Any, width: Any, d: Any, rz: Any, sums: Any) -> None:
    """Add Σ r, and for each column Σ r z_i and Σ r z_i z_j with j ≤ i, to the partial sums."""
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
    """Add the partial sums to ``first`` and the lower triangle of ``second``, reset them, and return Σ r."""
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


# Rounding may lose the residual variance of a column that the others nearly determine. Keep at least this fraction.
_LEAST = 1e-16


@kernel
def factor(covariance: Any, order: Any, n_observed: Any, lower: Any, inverse: Any, gain: Any) -> Any:
    r"""Factor a covariance with the observed columns first. Return half the log-determinant of their part.

    With :math:`\Sigma = L L^T`, ``inverse`` is :math:`L_{oo}^{-1}`, which whitens differences from the mean. Row j of
    ``gain`` is the row of :math:`L_{mo} L_{oo}^{-1} = \Sigma_{mo} \Sigma_{oo}^{-1}` for the missing column j. It turns
    differences into a conditional mean. The conditional covariance is :math:`L_{mm} L_{mm}^T`. ``inverse`` and
    ``gain`` are padded with zeros.
    """
    d, n = np.uintp(order.shape[0]), np.uintp(n_observed)
    half = 0.0
    for j in range(d):
        column = np.uintp(order[j])
        for i in range(j, d):
            s = covariance[np.uintp(order[i]), column]
            for p in range(j):
                s -= lower[i, p] * lower[j, p]
            if i == j:
                lower[j, j] = math.sqrt(max(s, _LEAST * covariance[column, column]))
            else:
                lower[i, j] = s / lower[j, j]
        if j < n:
            half += math.log(lower[j, j])
    for j in range(np.uintp(inverse.shape[0])):
        for c in range(np.uintp(inverse.shape[1])):
            inverse[j, c] = 0.0
            gain[j, c] = 0.0
    for j in range(n):
        inverse[j, j] = 1.0 / lower[j, j]
        for c in range(j):
            s = 0.0
            for p in range(c, j):
                s -= lower[j, p] * inverse[p, c]
            inverse[j, c] = s * inverse[j, j]
    for j in range(n, d):
        for c in range(n):
            s = 0.0
            for p in range(c, n):
                s += lower[j, p] * inverse[p, c]
            gain[j, c] = s
    return half


@kernel
def add_conditional(lower: Any, order: Any, n_observed: Any, weight: Any, second: Any) -> None:
    """Add the conditional covariance of missing cells to the lower triangle of second sums."""
    d, n = np.uintp(order.shape[0]), np.uintp(n_observed)
    for j in range(n, d):
        for i in range(n, j + np.uintp(1)):
            s = 0.0
            for p in range(n, i + np.uintp(1)):
                s += lower[j, p] * lower[i, p]
            second[np.uintp(order[j]), np.uintp(order[i])] += weight * s


_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


@kernel
def whole_stretch(
    x: Any,
    width: Any,
    order: Any,
    n_observed: Any,
    log_weights: Any,
    halves: Any,
    means: Any,
    inverses: Any,
    diff: Any,
    y: Any,
    logs: Any,
) -> None:
    """Set logs to the log joint densities of a stretch of rows with the same missing cells."""
    for k in range(np.uintp(means.shape[0])):
        c = k if inverses.shape[0] > 1 else np.uintp(0)
        constant = log_weights[k] - n_observed * _HALF_LOG_2PI - halves[c]
        for r in range(width):
            logs[k, r] = constant
        for begin in range(np.uintp(0), width, np.uintp(BLOCK)):
            n = min(np.uintp(BLOCK), width - begin)
            differ(x, begin, n, means[k], order, n_observed, diff)
            take_squares(inverses[c], diff, n_observed, n, y, begin, logs[k])


@kernel
def whole_log_joint(
    X: Any,
    row: Any,
    stop: Any,
    group: Any,
    starts: Any,
    orders: Any,
    observed: Any,
    log_weights: Any,
    means: Any,
    covariances: Any,
    scratch: Any,
    out: Any,
) -> None:
    """Set out[i, k] to the log joint density of row i and component k, over its observed cells."""
    x, diff, _z, y, _rz, logs, _top, _total, lowers, inverses, gains, halves, _sums = scratch
    row, stop, group = np.uintp(row), np.uintp(stop), np.uintp(group)
    ready = False
    while row < stop:
        while np.uintp(starts[group + np.uintp(1)]) <= row:
            group += np.uintp(1)
            ready = False
        order, n_observed = orders[group], observed[group]
        if not ready:
            for c in range(np.uintp(covariances.shape[0])):
                halves[c] = factor(covariances[c], order, n_observed, lowers[c], inverses[c], gains[c])
            ready = True
        n = min(np.uintp(STRETCH), min(stop, np.uintp(starts[group + np.uintp(1)])) - row)
        width = gather(X, row, n, order, n_observed, x)
        whole_stretch(x, width, order, n_observed, log_weights, halves, means, inverses, diff, y, logs)
        for k in range(np.uintp(means.shape[0])):
            for r in range(n):
                out[row + r, k] = logs[k, r]
        row += n


@kernel
def whole_sums(
    X: Any,
    weights: Any,
    row: Any,
    stop: Any,
    group: Any,
    starts: Any,
    orders: Any,
    observed: Any,
    log_weights: Any,
    means: Any,
    covariances: Any,
    pivot: Any,
    hard: Any,
    scratch: Any,
    weight: Any,
    seen: Any,
    first: Any,
    second: Any,
    report: Any,
) -> None:
    """Add the expected sums of some rows. Of the second-order sums, only the lower triangles are computed.

    Rows are sorted into groups with the same missing cells. ``covariances`` has one matrix for each component, or one
    for all.
    """
    x, diff, z, y, rz, logs, top, total, lowers, inverses, gains, halves, sums = scratch
    d = np.uintp(means.shape[1])
    row, stop, group = np.uintp(row), np.uintp(stop), np.uintp(group)
    ready = False
    while row < stop:
        while np.uintp(starts[group + np.uintp(1)]) <= row:
            group += np.uintp(1)
            ready = False
        order, n_observed = orders[group], observed[group]
        if not ready:
            for c in range(np.uintp(covariances.shape[0])):
                halves[c] = factor(covariances[c], order, n_observed, lowers[c], inverses[c], gains[c])
            ready = True
        n = min(np.uintp(STRETCH), min(stop, np.uintp(starts[group + np.uintp(1)])) - row)
        width = gather(X, row, n, order, n_observed, x)
        whole_stretch(x, width, order, n_observed, log_weights, halves, means, inverses, diff, y, logs)
        share(logs, n, width, weights, row, hard, top, total, report)
        for k in range(np.uintp(means.shape[0])):
            if n_observed == 0:
                for r in range(n):
                    weight[k] += logs[k, r]
                continue
            own = k if inverses.shape[0] > 1 else np.uintp(0)
            for begin in range(np.uintp(0), width, np.uintp(BLOCK)):
                m = min(np.uintp(BLOCK), width - begin)
                complete(x, begin, m, means[k], pivot[k], order, n_observed, gains[own], diff, z)
                scatter(z, logs[k], begin, m, d, rz, sums)
            mine = settle(sums, order, first[k], second[k])
            weight[k] += mine
            seen[k] += mine
            add_conditional(lowers[own], order, n_observed, mine, second[k])
        row += n
