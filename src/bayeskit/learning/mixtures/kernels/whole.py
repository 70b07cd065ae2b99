"""The E-step where covariances are whole matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayeskit.kernel import kernel
from bayeskit.learning.mixtures.kernels.shares import BLOCK, STRETCH, gather, share
from bayeskit.learning.mixtures.kernels.whole_block import complete, differ, scatter, settle, take_squares

# A permuted factorisation may lose what is left of a nearly determined column; this share of it stays.
_LEAST = 1e-16


@kernel
def factor(covariance: Any, order: Any, n_observed: Any, lower: Any, inverse: Any, gain: Any) -> Any:
    r"""Factor a covariance with the observed columns first; return half the log-determinant of their part.

    With :math:`\Sigma = L L^T`, ``inverse`` is :math:`L_{oo}^{-1}`, which makes differences independent, and row j of
    ``gain`` is that of :math:`L_{mo} L_{oo}^{-1} = \Sigma_{mo} \Sigma_{oo}^{-1}` for the missing column j, which makes
    them a conditional mean. The conditional covariance is :math:`L_{mm} L_{mm}^T`. Both are padded with zeros.
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
    """Set logs to the log joint densities of a stretch of rows that miss the same cells."""
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
    """Add the expected sums of some rows; of the second ones only the lower triangles.

    Rows lie in groups that miss the same cells. ``covariances`` holds one matrix for each component, or one for all.
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
