"""Loops that tabulate kernel densities and look them up."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayeskit.kernel import kernel

# Rows taken at a time, one attribute after the other, so that the table of one stays in the cache.
_BLOCK = 512
# A query farther out than this many standard deviations counts as lying here: its square is finite.
_FARTHEST = 1e150


@kernel
def spread_cells(
    centres: Any, shares: Any, deviation: Any, reach: Any, left: Any, spacing: Any, density: Any, slope: Any
) -> None:
    """Add Σ p_i N(z; z_i, s²) and its derivative in z at the knots z = left, left + spacing, …

    Along equal steps a Gaussian has a ratio that itself falls by a constant ratio, so each knot costs two
    products in place of an exponential. Cells farther than ``reach`` deviations from a knot are left out.
    """
    n_knots = density.shape[0]
    step = spacing / deviation
    fall = math.exp(-step * step)
    height = 1.0 / (deviation * math.sqrt(2.0 * math.pi))
    for i in range(centres.shape[0]):
        middle = (centres[i] - left) / spacing
        start = max(0, math.ceil(middle - reach / step))
        stop = min(n_knots, math.floor(middle + reach / step) + 1)
        t = (start - middle) * step
        value = shares[i] * height * math.exp(-0.5 * t * t)
        ratio = math.exp(-step * (t + 0.5 * step))
        for k in range(start, stop):
            density[k] += value
            slope[k] -= value * (k - middle) * step / deviation
            value *= ratio
            ratio *= fall


@kernel
def add_log_density(
    values: Any,
    columns: Any,
    mean: Any,
    sd: Any,
    log_share: Any,
    first_segment: Any,
    lefts: Any,
    spacing: Any,
    first_knot: Any,
    knots: Any,
    out: Any,
) -> None:
    """Add the log density of every value present under each class.

    ``knots`` holds log densities and their increments over one spacing; between two of them runs the
    cubic that has both. Outside the segments of a class only the broad density is left.
    """
    n, n_classes = out.shape
    one = np.uintp(1)
    for begin in range(0, n, _BLOCK):
        for j in range(columns.shape[0]):
            if sd[j] == 0.0:
                continue
            column = columns[j]
            for i in range(begin, min(begin + _BLOCK, n)):
                x = values[i, column]
                if math.isnan(x):
                    continue
                z = min(max((x - mean[j]) / sd[j], -_FARTHEST), _FARTHEST)
                broad = np.nan
                for c in range(n_classes):
                    pair = j * n_classes + c
                    low, high = first_segment[pair], first_segment[pair + 1]
                    while high - low > one:
                        middle = (low + high) >> one
                        if lefts[middle] <= z:
                            low = middle
                        else:
                            high = middle
                    t = (z - lefts[low]) / spacing[pair]
                    start = first_knot[low]
                    # Compared as floats: t may be too large for an integer.
                    if t >= 0.0 and t < np.float64(first_knot[low + one] - start - one):
                        k = np.uintp(t)
                        u = t - np.float64(k)
                        k += start
                        y0, m0 = knots[k, 0], knots[k, 1]
                        y1, m1 = knots[k + one, 0], knots[k + one, 1]
                        rise = y1 - y0
                        bend = m0 + m1 - 2.0 * rise
                        out[i, c] += y0 + u * (m0 + u * (rise - m0 - bend + u * bend))
                    else:
                        if math.isnan(broad):
                            broad = log_share[j] - math.log1p(z * z)
                        out[i, c] += broad
