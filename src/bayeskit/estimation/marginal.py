"""Gaussian log densities of rows with gaps: the sub-matrix of what is present."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayeskit.estimation.conditional import Floats
from bayeskit.kernel import kernel

HALF_LOG_TAU = 0.5 * math.log(2.0 * math.pi)


def add_with_gaps(x: Floats, mean: Floats, standard: Floats, unit: Floats, out: Floats) -> None:
    """Add the log density of the values present in each row of ``x``; NaN is a gap.

    ``standard`` are the covariances, one for each class or one for all, columns measured in ``unit``.
    """
    gaps = np.isnan(x)
    # Rows with the same gaps stand together, so each sub-matrix is factorised once.
    order = np.lexsort(np.packbits(gaps, axis=1).T)
    d, groups = len(unit), len(standard)
    factor, log_norm = np.empty((groups, d, d)), np.empty(groups)
    _add(
        x,
        gaps,
        order.astype(np.uintp),
        mean,
        standard,
        unit,
        out,
        factor,
        log_norm,
        np.empty(d, np.uintp),
        np.empty(d),
    )


@kernel
def _add(
    x: Any,
    gaps: Any,
    order: Any,
    mean: Any,
    standard: Any,
    unit: Any,
    out: Any,
    factor: Any,
    log_norm: Any,
    present: Any,
    y: Any,
) -> None:
    m = 0
    for step in range(order.shape[0]):
        row = order[step]
        fresh = step == 0
        if not fresh:
            before = order[step - 1]
            for j in range(unit.shape[0]):
                fresh = fresh or gaps[row, j] != gaps[before, j]
        if fresh:
            m = 0
            for j in range(unit.shape[0]):
                if not gaps[row, j]:
                    present[m] = j
                    m += 1
            for g in range(standard.shape[0]):
                log_norm[g] = m * HALF_LOG_TAU
                for a in range(m):
                    for b in range(a + 1):
                        rest = standard[g, present[a], present[b]]
                        for t in range(b):
                            rest -= factor[g, a, t] * factor[g, b, t]
                        if a == b:
                            # Leaving columns out makes nothing more singular; this bounds rounding alone.
                            rest = math.sqrt(max(rest, 1e-12 * standard[g, present[a], present[a]]))
                            log_norm[g] += math.log(rest) + math.log(unit[present[a]])
                            factor[g, a, a] = rest
                        else:
                            factor[g, a, b] = rest / factor[g, b, b]
        if m == 0:
            continue
        for k in range(mean.shape[0]):
            g = min(k, standard.shape[0] - 1)
            q = 0.0
            for a in range(m):
                j = present[a]
                rest = (x[row, j] - mean[k, j]) / unit[j]
                for b in range(a):
                    rest -= factor[g, a, b] * y[b]
                y[a] = rest / factor[g, a, a]
                q += y[a] * y[a]
            out[row, k] -= 0.5 * q + log_norm[g]
