"""Loops over rows, parents, classes and attributes for Gaussians that have a state for a parent."""

from __future__ import annotations

from math import isinf
from typing import Any

import numpy as np

from bayeskit.estimation.kernels.gaussian import FARTHEST, distance
from bayeskit.kernel import kernel


@kernel
def row_of(codes: Any, i: Any, parent: Any, offsets: Any, limits: Any, last: Any) -> Any:
    """Return the row of the tables for a parent (−1: none) in row i; ``last`` is that of the class alone."""
    if parent < 0:
        return last
    j = np.uintp(parent)
    code = np.uintp(codes[i, j])
    return offsets[j] + code if code < limits[j] else last


@kernel
def add_scores(
    values: Any, codes: Any, offsets: Any, limits: Any, parents: Any, places: Any,
    mean: Any, low: Any, inverse: Any, norm: Any, out: Any,
) -> Any:  # fmt: skip
    """Add Σ_m log N(x_m; c, x_parent) to ``out`` (n, parents, K); return −1, or the flat place of an infinity.

    The tables have shape (T + 1, K, M), the last row for an absent parent; ``inverse`` is 1/(σ√2) and
    ``norm`` −log(σ√(2π)). Missing values add nothing.
    """
    n, last = np.uintp(values.shape[0]), np.uintp(mean.shape[0] - 1)
    for i in range(n):
        for q in range(np.uintp(parents.shape[0])):
            g = row_of(codes, i, parents[q], offsets, limits, last)
            for c in range(np.uintp(mean.shape[1])):
                total = 0.0
                for place in range(np.uintp(places.shape[0])):
                    m = places[place]
                    x = values[i, m]
                    z = ((x - mean[g, c, m]) - low[g, c, m]) * inverse[g, c, m]
                    if abs(z) < FARTHEST:
                        total += norm[g, c, m] - z * z
                    elif isinf(x):
                        return np.int64(i) * np.int64(values.shape[1]) + np.int64(m)
                    elif x == x:
                        z = distance(x, mean[g, c, m], low[g, c, m], inverse[g, c, m])
                        total += norm[g, c, m] - z * z
                out[i, q, c] += total
    return np.int64(-1)
