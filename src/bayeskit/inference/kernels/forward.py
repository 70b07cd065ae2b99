"""The loop that draws every variable after its parents."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.kernel import kernel


@kernel
def draw(values: Any, start: Any, size: Any, uniform: Any) -> Any:
    """Return the state whose share of the total the uniform number falls in; one of weight zero never."""
    total = 0.0
    for k in range(size):
        total += values[start + k]
    left = uniform * total
    chosen = 0
    for k in range(size):
        weight = values[start + k]
        if weight > 0.0:
            chosen = k
            if left < weight:
                break
            left -= weight
    return chosen


@kernel
def forward_rows(
    order: Any,
    factor_of: Any,
    sizes: Any,
    scope: Any,
    scope_start: Any,
    values: Any,
    value_start: Any,
    uniforms: Any,
    codes: Any,
) -> None:
    """Fill codes (rows × variables); uniforms are rows × order. Rows of a table need not sum to one."""
    for row in range(codes.shape[0]):
        for place in range(order.shape[0]):
            v = order[place]
            f = factor_of[v]
            at = np.int64(0)
            for e in range(scope_start[f], scope_start[f + 1] - 1):
                u = scope[e]
                at = at * sizes[u] + codes[row, u]
            codes[row, v] = draw(values, value_start[f] + at * sizes[v], sizes[v], uniforms[row, place])
