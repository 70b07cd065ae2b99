"""The loop that sums products of numeric columns in each configuration, about a pivot, in double-double."""

from __future__ import annotations

from typing import Any

from bayeskit.kernel import kernel
from bayeskit.statistics.double import add, add_exactly, multiply


@kernel
def sum_products(
    z: Any,
    cell: Any,
    weights: Any,
    pivot: Any,
    n: Any,
    n_low: Any,
    first: Any,
    first_low: Any,
    second: Any,
    second_low: Any,
) -> None:
    """Add w, w·d and w·d·dᵀ of every row, d = z − pivot of its cell, to what is there; only the lower triangles."""
    for i in range(z.shape[0]):
        c = cell[i]
        n[c], n_low[c] = add(n[c], n_low[c], weights[i], 0.0)
        for a in range(z.shape[1]):
            d, d_low = add_exactly(z[i, a], -pivot[c, a])
            w, w_low = multiply(weights[i], 0.0, d, d_low)
            first[c, a], first_low[c, a] = add(first[c, a], first_low[c, a], w, w_low)
            for b in range(a + 1):
                e, e_low = add_exactly(z[i, b], -pivot[c, b])
                p, p_low = multiply(w, w_low, e, e_low)
                high, low = add(second[c, a, b], second_low[c, a, b], p, p_low)
                second[c, a, b], second_low[c, a, b] = high, low
