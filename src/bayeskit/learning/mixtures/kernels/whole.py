"""The E-step where covariances are whole matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayeskit.kernel import kernel
from bayeskit.learning.mixtures.kernels.factor import add_conditional, factor
from bayeskit.learning.mixtures.kernels.shares import BLOCK, STRETCH, gather, share
from bayeskit.learning.mixtures.kernels.whole_block import complete, differ, scatter, settle, take_squares

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
