"""The loop that sums the conditional log-likelihood and its slope over rows."""

from __future__ import annotations

from math import exp, log
from typing import Any

import numpy as np

from bayeskit.estimation.kernels.gaussian import distance
from bayeskit.kernel import kernel

_U = np.uintp
# The logarithm of the least double: where an attribute of weight 0 would rule a class out, its slope is −∞.
LEAST = -745.0


@kernel
def add_loss(
    codes: Any, values: Any, target: Any, rows: Any, log_prior: Any, places: Any, log_table: Any,
    mean: Any, low: Any, inverse: Any, norm: Any, missing: Any, weights: Any, terms: Any, scores: Any, slope: Any,
    curvature: Any,
) -> Any:  # fmt: skip
    r"""Return −Σ_i r_i log P(y_i | x_i); add its derivatives in the weights to ``slope`` and ``curvature``.

    .. math:: \frac{\partial}{\partial w_j} = \sum_i r_i \left(\sum_c P(c \mid x_i) t_{jc} - t_{j y_i}\right)

    with t = log P(x_j | c): of the categorical attributes by look-up, then of the numeric ones, where ``norm`` is of a
    value that is present and ``missing`` of one that is not. ``rows`` (n,) are the weights r of the rows, ``terms``
    (numeric, K) and ``scores`` (K,) scratch. A row whose own class is impossible has no say. The second derivative of
    each weight, Σ_i r_i Var_c(t_jc), is wanted where ``curvature`` has a place for it.
    """
    d, m, k = _U(codes.shape[1]), _U(mean.shape[0]), _U(scores.shape[0])
    loss = 0.0
    for i in range(_U(codes.shape[0])):
        r = rows[i]
        if r == 0.0:
            continue
        for c in range(k):
            scores[c] = log_prior[c]
        for j in range(d):
            w = weights[j]
            if w > 0.0:
                g = places[j] + _U(codes[i, j])
                for c in range(k):
                    scores[c] += w * log_table[g, c]
        for j in range(m):
            x, w = values[i, j], weights[d + j]
            for c in range(k):
                if x == x:
                    z = distance(x, mean[j, c], low[j, c], inverse[j, c])
                    terms[j, c] = norm[j, c] - z * z
                else:
                    terms[j, c] = missing[j, c]
                if w > 0.0:
                    scores[c] += w * terms[j, c]
        label = _U(target[i])
        if scores[label] == -np.inf:
            continue
        best = scores[label]
        for c in range(k):
            best = max(best, scores[c])
        total = 0.0
        mine = scores[label] - best
        for c in range(k):
            scores[c] = exp(scores[c] - best)
            total += scores[c]
        loss += r * (log(total) - mine)
        for c in range(k):
            scores[c] /= total
        for j in range(_U(curvature.shape[0])):
            first, second = 0.0, 0.0
            for c in range(k):
                t = max(log_table[places[j] + _U(codes[i, j]), c], LEAST) if j < d else terms[j - d, c]
                first += scores[c] * t
                second += scores[c] * t * t
            curvature[j] += r * max(second - first * first, 0.0)
        for c in range(k):
            share = r * (scores[c] - 1.0) if c == label else r * scores[c]
            if share != 0.0:
                for j in range(d):
                    slope[j] += share * max(log_table[places[j] + _U(codes[i, j]), c], LEAST)
                for j in range(m):
                    slope[d + j] += share * terms[j, c]
    return loss
