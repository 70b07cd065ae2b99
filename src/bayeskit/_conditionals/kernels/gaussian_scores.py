"""Kernels for Gaussian log densities, also given a parent's state, and leave-one-out.

Removing the weight w of a value x from n values with mean m and centred sum S gives, with δ = x − m,

    n' = n − w,    m' = m − wδ/n',    S' = S − wδ²·n/n'.

If this leaves little of S, the remaining digits are in the low parts, and the sums are computed in double-double.
"""

from __future__ import annotations

from math import isinf, log, pi, sqrt
from typing import Any

import numpy as np

from bayeskit._numba import kernel
from bayeskit._statistics.double import (
    FIRST,
    FIRST_LOW,
    NO_SPREAD,
    NO_WEIGHT,
    PIVOT,
    SECOND,
    SECOND_LOW,
    WEIGHT,
    WEIGHT_LOW,
    add,
    add_exactly,
    centre,
    divide,
    multiply,
)

# Rows are scored this many at a time, with the rows innermost, where the compiler can vectorise.
TILE = 64
# Distances are clipped at this many deviations, so that a sum of squares stays finite.
FARTHEST = 1e150
HALF_LOG_TAU = 0.5 * log(2.0 * pi)


@kernel
def distance(x: float, mean: float, low: float, inverse: float) -> float:
    """Return (x − mean)·inverse, bounded; the mean is given as high and low."""
    z = ((x - mean) - low) * inverse
    if isinf(x - mean):
        # The difference of two values near the largest double may overflow: halve before, double after.
        z = (0.5 * x - 0.5 * mean) * inverse * 2.0
    return min(max(z, -FARTHEST), FARTHEST)


@kernel
def find_infinite(values: Any, row: Any, place: Any) -> Any:
    """Return the column of the first infinity in a row, or −1."""
    for j in range(np.uintp(place.shape[0])):
        if isinf(values[row, place[j]]):
            return np.int64(place[j])
    return np.int64(-1)


@kernel
def load_tile(values: Any, place: Any, start: Any, rows: Any, tile: Any) -> None:
    """Copy some rows of the columns at ``place`` into a tile of shape (columns, rows)."""
    for r in range(rows):
        for j in range(np.uintp(place.shape[0])):
            tile[j, r] = values[start + r, place[j]]


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


# The fraction of S that may be removed before the closed form loses more than two digits.
MOST_GONE = 0.99
# If a weight is negative by more than this fraction, the row was never counted.
DUST = 1e-9
# The smallest variance, as a fraction of the variance over all classes.
FLOOR = 1e-9
# Results other than the flat index of an infinite value.
FINE, NEVER_COUNTED = -1, -2

HIGH, LOW, SPREAD, SHRUNK = range(4)


@kernel
def remaining(cells: Any, known: Any, c: Any, m: Any, x: float, own: float) -> Any:
    """Return n, mean (high and low) and centred sum of a cell without ``own`` of the value x.

    ``known`` holds the mean and the centred sum of all of it. A negative n means that x was never counted.
    """
    w, high, low, spread = cells[WEIGHT, c, m], known[HIGH, c, m], known[LOW, c, m], known[SPREAD, c, m]
    n = (w - own) + cells[WEIGHT_LOW, c, m]
    if own == 0.0:
        return n, high, low, spread
    if n <= NO_WEIGHT * w:
        return (0.0 if n >= -DUST * w else n), 0.0, 0.0, 0.0
    away = (x - high) - low
    gone = own * away * away * (w / n)
    if gone <= MOST_GONE * spread:
        return n, high, low - own * away / n, spread - gone
    pivot, second = cells[PIVOT, c, m], cells[SECOND, c, m]
    n, n_low = add(w, cells[WEIGHT_LOW, c, m], -own, 0.0)
    by, by_low = add_exactly(x, -pivot)
    change, change_low = multiply(by, by_low, own, 0.0)
    f, f_low = add(cells[FIRST, c, m], cells[FIRST_LOW, c, m], -change, -change_low)
    change, change_low = multiply(change, change_low, by, by_low)
    s, s_low = add(second, cells[SECOND_LOW, c, m], -change, -change_low)
    left, _ = centre(n, n_low, f, f_low, s, s_low)
    held = abs(second) + change
    if not left >= -DUST * held:
        return -own, 0.0, 0.0, 0.0
    offset, offset_low = divide(f, f_low, n, n_low)
    high, low = add(pivot, 0.0, offset, offset_low)
    return n, high, low, (left if left > NO_SPREAD * held else 0.0)


@kernel
def variance_of(n: float, spread: float, unbiased: Any) -> float:
    """Return the variance, or −1 if there are too few values."""
    divisor = n - 1.0 if unbiased else n
    return spread / divisor if divisor > 0.0 else -1.0


@kernel
def shrunk(
    n: float, high: float, low: float, spread: float, mean: float, mean_low: float, variance: float, alpha: float
) -> Any:  # fmt: skip
    """Return mean (high and low) and variance after adding ``alpha`` rows with the mean and variance of the class."""
    if n <= 0.0:
        return mean, mean_low, variance
    away = (mean - high) + (mean_low - low)
    share = alpha / (n + alpha)
    inner = (spread / (n + alpha)) + (n / (n + alpha)) * share * away * away
    return high, low + share * away, inner + share * variance


@kernel
def log_density(x: float, high: float, low: float, variance: float, least: float, unit: float) -> Any:
    deviation = max(sqrt(variance), least)
    z = distance(x, high, low, sqrt(0.5) / deviation)
    return unit - log(deviation) - z * z


@kernel
def leave_classes(
    x: float, m: Any, label: Any, own: float, classes: Any, of_classes: Any, pooled: Any, of_pooled: Any,
    before: float, unbiased: Any, after: Any, fresh: Any,
) -> Any:  # fmt: skip
    """Write the mean and variance of x_m in each class without the row to ``after`` (3, K).

    ``fresh`` marks those that differ from the tables, whose floor is ``before``. Returned is the
    floor without the row: 0 if the attribute is then constant, negative if the row was never counted.
    """
    n, high, low, spread = remaining(pooled, of_pooled, np.uintp(0), m, x, own)
    if n < 0.0:
        return n
    overall = spread / n if n > 0.0 else 0.0
    floor = FLOOR * overall
    for c in range(np.uintp(classes.shape[1])):
        mine = own if c == label else 0.0
        n_c, mean, mean_low, spread_c = remaining(classes, of_classes, c, m, x, mine)
        if n_c < 0.0:
            return n_c
        variance = variance_of(n_c, spread_c, unbiased)
        fresh[c] = mine > 0.0 or variance < max(floor, before)
        if n_c <= 0.0:
            mean, mean_low = high, low
        if variance < 0.0:
            variance = max(variance_of(n, spread, unbiased), 0.0)
        after[0, c], after[1, c], after[2, c] = mean, mean_low, max(variance, floor)
    return floor


@kernel
def add_scores_left_out(
    values: Any, codes: Any, target: Any, own: Any, offsets: Any, limits: Any, parents: Any, places: Any,
    mean: Any, low: Any, inverse: Any, norm: Any, cells: Any, of_cells: Any, classes: Any, of_classes: Any,
    pooled: Any, of_pooled: Any, least: Any, unit: Any, alpha: float, unbiased: Any,
    after: Any, fresh: Any, floors: Any, negative: Any, out: Any,
) -> Any:  # fmt: skip
    """Add the leave-one-out values of ``add_scores``, with the weight ``own`` of each row removed.

    ``after`` (places, 3, K), ``fresh`` (places, K) and ``floors`` (2, places) are scratch. If a row was never counted,
    the negative remainder is written to ``negative``, and NEVER_COUNTED is returned.
    """
    last, k = np.uintp(mean.shape[0] - 1), np.uintp(mean.shape[1])
    for i in range(np.uintp(values.shape[0])):
        label, w = np.uintp(target[i]), own[i]
        for place in range(np.uintp(places.shape[0])):
            m = places[place]
            x = values[i, m]
            if isinf(x):
                return np.int64(i) * np.int64(values.shape[1]) + np.int64(m)
            floor, before = 0.0, FLOOR * of_pooled[SPREAD, 0, m] / pooled[WEIGHT, 0, m]
            if x == x:
                floor = leave_classes(
                    x, m, label, w, classes, of_classes, pooled, of_pooled,
                    before, unbiased, after[place], fresh[place],
                )  # fmt: skip
            if floor < 0.0:
                negative[0] = floor
                return np.int64(NEVER_COUNTED)
            floors[0, place], floors[1, place] = floor, max(floor, before)
        for q in range(np.uintp(parents.shape[0])):
            g = row_of(codes, i, parents[q], offsets, limits, last)
            for c in range(k):
                total = 0.0
                for place in range(np.uintp(places.shape[0])):
                    m, floor = places[place], floors[0, place]
                    if floor == 0.0:
                        continue
                    x, high, rest = values[i, m], mean[g, c, m], low[g, c, m]
                    z = ((x - high) - rest) * inverse[g, c, m]
                    if not fresh[place, c]:
                        variance = after[place, 2, c] if g == last else of_cells[SHRUNK, g * k + c, m]
                        if variance >= floors[1, place] and abs(z) < FARTHEST:
                            total += norm[g, c, m] - z * z
                            continue
                    elif g == last:
                        high, rest, variance = after[place, 0, c], after[place, 1, c], after[place, 2, c]
                    else:
                        mine = w if c == label else 0.0
                        n, high, rest, spread = remaining(cells, of_cells, g * k + c, m, x, mine)
                        if n < 0.0:
                            negative[0] = n
                            return np.int64(NEVER_COUNTED)
                        high, rest, variance = shrunk(
                            n, high, rest, spread,
                            after[place, 0, c], after[place, 1, c], after[place, 2, c], alpha,
                        )  # fmt: skip
                    total += log_density(x, high, rest, max(variance, floor), least[m], unit[m])
                out[i, q, c] += total
    return np.int64(FINE)
