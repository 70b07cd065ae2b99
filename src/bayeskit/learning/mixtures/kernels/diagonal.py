"""The E-step where covariances are diagonal."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayeskit.kernel import fma, kernel
from bayeskit.learning.mixtures.kernels.shares import LANES, STRETCH, gather, share

_LOG_2PI = math.log(2.0 * math.pi)


@kernel
def diagonal_stretch(
    x: Any, width: Any, order: Any, n_observed: Any, log_weights: Any, means: Any, variances: Any, logs: Any
) -> None:
    """Set logs to the log joint densities of a stretch of rows that miss the same cells."""
    for k in range(np.uintp(means.shape[0])):
        out = logs[k]
        constant = log_weights[k]
        for c in range(np.uintp(n_observed)):
            constant -= 0.5 * (_LOG_2PI + math.log(variances[k, np.uintp(order[c])]))
        for r in range(width):
            out[r] = constant
        for c in range(np.uintp(n_observed)):
            column = np.uintp(order[c])
            mean, scale = means[k, column], math.sqrt(0.5 / variances[k, column])
            for r in range(width):
                t = (x[c, r] - mean) * scale
                out[r] = fma(-t, t, out[r])


@kernel
def diagonal_scatter(
    x: Any,
    width: Any,
    shares: Any,
    order: Any,
    n_observed: Any,
    pivot: Any,
    sums: Any,
    first: Any,
    second: Any,
) -> Any:
    """Add Σ r z and Σ r z² of the observed cells of a stretch; return Σ r."""
    lanes, l2, l3, l4 = np.uintp(LANES), np.uintp(2 * LANES), np.uintp(3 * LANES), np.uintp(4 * LANES)
    whole = width // l4 * l4
    zero, one, two = sums[0], sums[1], sums[2]
    for r in range(lanes):
        zero[r] = 0.0
    for c in range(np.uintp(0), width, lanes):
        for r in range(lanes):
            zero[r] += shares[c + r]
    for c in range(np.uintp(n_observed)):
        column = np.uintp(order[c])
        middle = pivot[column]
        for r in range(lanes):
            one[r] = 0.0
            two[r] = 0.0
        # Four rows of a lane at a time: the sums are then written a quarter as often.
        for begin in range(np.uintp(0), whole, l4):
            for r in range(lanes):
                r0 = begin + r
                r1, r2, r3 = r0 + lanes, r0 + l2, r0 + l3
                z0, z1, z2, z3 = x[c, r0] - middle, x[c, r1] - middle, x[c, r2] - middle, x[c, r3] - middle
                s0, s1, s2, s3 = shares[r0] * z0, shares[r1] * z1, shares[r2] * z2, shares[r3] * z3
                one[r] += (s0 + s1) + (s2 + s3)
                two[r] = fma(s0, z0, fma(s1, z1, fma(s2, z2, fma(s3, z3, two[r]))))
        for begin in range(whole, width, lanes):
            for r in range(lanes):
                z0 = x[c, begin + r] - middle
                s0 = shares[begin + r] * z0
                one[r] += s0
                two[r] = fma(s0, z0, two[r])
        for r in range(lanes):
            first[column] += one[r]
            second[column] += two[r]
    weight = 0.0
    for r in range(lanes):
        weight += zero[r]
    return weight


@kernel
def diagonal_log_joint(
    X: Any,
    row: Any,
    stop: Any,
    group: Any,
    starts: Any,
    orders: Any,
    observed: Any,
    log_weights: Any,
    means: Any,
    variances: Any,
    scratch: Any,
    out: Any,
) -> None:
    """Set out[i, k] to the log joint density of row i and component k, over its observed cells."""
    x, logs, _top, _total, _sums = scratch
    row, stop, group = np.uintp(row), np.uintp(stop), np.uintp(group)
    while row < stop:
        while np.uintp(starts[group + np.uintp(1)]) <= row:
            group += np.uintp(1)
        n = min(np.uintp(STRETCH), min(stop, np.uintp(starts[group + np.uintp(1)])) - row)
        width = gather(X, row, n, orders[group], observed[group], x)
        diagonal_stretch(x, width, orders[group], observed[group], log_weights, means, variances, logs)
        for k in range(np.uintp(means.shape[0])):
            for r in range(n):
                out[row + r, k] = logs[k, r]
        row += n


@kernel
def diagonal_sums(
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
    variances: Any,
    pivot: Any,
    hard: Any,
    scratch: Any,
    weight: Any,
    seen: Any,
    first: Any,
    second: Any,
    report: Any,
) -> None:
    """Add the expected sums of some rows. Columns are independent: a missing cell is its mean, with its variance."""
    x, logs, top, total, sums = scratch
    row, stop, group = np.uintp(row), np.uintp(stop), np.uintp(group)
    while row < stop:
        while np.uintp(starts[group + np.uintp(1)]) <= row:
            group += np.uintp(1)
        order, n_observed = orders[group], observed[group]
        n = min(np.uintp(STRETCH), min(stop, np.uintp(starts[group + np.uintp(1)])) - row)
        width = gather(X, row, n, order, n_observed, x)
        diagonal_stretch(x, width, order, n_observed, log_weights, means, variances, logs)
        share(logs, n, width, weights, row, hard, top, total, report)
        for k in range(np.uintp(means.shape[0])):
            mine = diagonal_scatter(x, width, logs[k], order, n_observed, pivot[k], sums, first[k], second[k])
            weight[k] += mine
            if n_observed == 0:
                continue
            seen[k] += mine
            for c in range(np.uintp(n_observed), np.uintp(order.shape[0])):
                column = np.uintp(order[c])
                by = means[k, column] - pivot[k, column]
                first[k, column] += mine * by
                second[k, column] += mine * (variances[k, column] + by * by)
        row += n
