"""Loops over rows, attributes and classes for the Student density."""

from __future__ import annotations

from math import isfinite, isnan, log1p
from typing import Any

import numpy as np

from bayeskit.estimation.kernels.gaussian import TILE, distance, find_infinite, load_tile
from bayeskit.kernel import fma, kernel

# So many factors 1 + z² are multiplied before a logarithm is taken: a product overflows only where the
# values lie absurdly far out, and such a row is scored again one logarithm at a time.
FACTORS = 64


@kernel
def add_log_density(
    values: Any, place: Any, mean: Any, low: Any, inverse: Any, power: Any, norm: Any, total: Any,
    tile: Any, sums: Any, product: Any, out: Any,
) -> Any:  # fmt: skip
    """Add Σ_j (norm_j − power_j·log(1 + z_j²)) to ``out`` (n, K); return −1, or the place of an infinity.

    Logarithms are what this costs, so attributes of equal power share one: ``product`` (TILE,) holds
    q = Π(1 + z²) − 1, which keeps its digits where z is small, and log1p(q) is taken where the power changes.
    """
    n, m, classes = np.uintp(values.shape[0]), np.uintp(place.shape[0]), np.uintp(mean.shape[0])
    one = np.uintp(1)
    start = np.uintp(0)
    while start < n:
        rows = min(np.uintp(TILE), n - start)
        load_tile(values, place, start, rows, tile)
        for k in range(classes):
            held = 0
            for r in range(rows):
                sums[k, r] = total[k]
                product[r] = 0.0
            for j in range(m):
                centre, rest, scale = mean[k, j], low[k, j], inverse[k, j]
                for r in range(rows):
                    z = ((tile[j, r] - centre) - rest) * scale
                    product[r] += fma(product[r], z * z, z * z)
                held += 1
                if held == FACTORS or j + one == m or power[k, j + one] != power[k, j]:
                    held = 0
                    for r in range(rows):
                        sums[k, r] -= power[k, j] * log1p(product[r])
                        product[r] = 0.0
        for r in range(rows):
            finite = True
            for k in range(classes):
                finite &= isfinite(sums[k, r])
            if not finite:
                column = find_infinite(values, start + r, place)
                if column >= 0:
                    return np.int64(start + r) * np.int64(values.shape[1]) + column
                for k in range(classes):
                    sums[k, r] = 0.0
                    for j in range(m):
                        if not isnan(tile[j, r]):
                            z = distance(tile[j, r], mean[k, j], low[k, j], inverse[k, j])
                            sums[k, r] += norm[k, j] - power[k, j] * log1p(z * z)
            for k in range(classes):
                out[start + r, k] += sums[k, r]
        start += rows
    return np.int64(-1)
