"""Loops that prepare a covariance for rows with certain cells missing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayeskit.kernel import kernel

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
