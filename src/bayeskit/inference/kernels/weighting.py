"""The loop of likelihood weighting: free variables are drawn after their parents, observed ones weigh the row."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.inference.kernels.forward import draw
from bayeskit.kernel import kernel


@kernel
def weighted_rows(
    order: Any,
    factor_of: Any,
    sizes: Any,
    scope: Any,
    scope_start: Any,
    values: Any,
    value_start: Any,
    observed: Any,
    offsets: Any,
    log_likelihoods: Any,
    uniforms: Any,
    codes: Any,
    log_weights: Any,
) -> None:
    """Fill codes (rows × variables) and add to log_weights.

    ``observed`` holds the code of each observed variable and −1 elsewhere; ``log_likelihoods`` those of every
    state of every variable (from ``offsets``), 0 where nothing soft is known.
    """
    for row in range(codes.shape[0]):
        log_weight = 0.0
        for place in range(order.shape[0]):
            v = order[place]
            f = factor_of[v]
            at = np.int64(0)
            for e in range(scope_start[f], scope_start[f + 1] - 1):
                u = scope[e]
                at = at * sizes[u] + codes[row, u]
            start = value_start[f] + at * sizes[v]
            code = observed[v]
            if code >= 0:
                log_weight += np.log(values[start + code])
            else:
                code = draw(values, start, sizes[v], uniforms[row, place])
            codes[row, v] = code
            log_weight += log_likelihoods[offsets[v] + code]
            if log_weight == -np.inf:
                # What comes after cannot matter; zeros keep the codes within range.
                for rest in range(place + 1, order.shape[0]):
                    codes[row, order[rest]] = 0
                break
        log_weights[row] += log_weight
