"""The loop that scores texts by complement naive Bayes without their own words."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

from bayeskit.estimation.kernels.left_out import remainder
from bayeskit.kernel import kernel


@kernel
def score_complement(
    indptr: Any, indices: Any, data: Any, target: Any, own: Any, sums: Any, everywhere: Any, alpha: Any, whole: Any,
    weighed: Any, live: Any, eps: float, norm: Any, scores: Any, certain: Any,
) -> Any:  # fmt: skip
    """Write the scores of each row without it to ``scores`` (n, K), what is certain of it to ``certain`` (n, K).

    A row of class c takes part in the complements of all *other* classes, and only in the cells of its words. No cell
    may be stored twice.

    Parameters
    ----------
    sums, everywhere : (V, K) and (V,), the totals of each class and of all
    alpha : (V,)
    whole : (K,), Σ_v of the complement's total + alpha
    weighed, live : (K,), the sum of the weights that are finite, and how many they are
    eps : the share of a total that rounding may leave of a complement
    norm : whether weights are divided by their sum

    Returns the most negative total met.
    """
    one, n_classes, width = np.uintp(1), np.uintp(sums.shape[1]), float(sums.shape[0])
    for i in range(np.uintp(target.shape[0])):
        label, w = np.uintp(target[i]), own[i]
        first, last = np.uintp(indptr[i]), np.uintp(indptr[i + one])
        length = 0.0
        for q in range(first, last):
            length += data[q]
        for c in range(n_classes):
            left = whole[c] - (0.0 if c == label else w * length)
            log_whole = log(left) if left > 0.0 else 0.0
            before = log(whole[c]) if whole[c] > 0.0 else 0.0
            score, sure, endless = 0.0, 0.0, width - live[c]
            total = weighed[c] + live[c] * (log_whole - before)
            for q in range(first, last):
                x = data[q]
                if x == 0.0:
                    continue
                v = np.uintp(indices[q])
                mine = remainder(sums[v, label], w * x)
                if mine < 0.0:
                    return mine
                all_after = everywhere[v] - sums[v, label] + mine
                rest = all_after - (mine if c == label else sums[v, c])
                if rest <= eps * all_after:
                    rest = 0.0
                rest += alpha[v]
                if rest > 0.0:
                    score += x * (log_whole - log(rest))
                else:
                    sure += x
                if norm:
                    held = everywhere[v] - sums[v, c]
                    held = alpha[v] + (held if held > eps * everywhere[v] else 0.0)
                    if rest > 0.0:
                        total += log(held) - log(rest)
                    elif held > 0.0:
                        endless += 1.0
            certain[i, c] = sure
            if norm and endless > 0.0:
                score, certain[i, c] = sure / endless, 0.0
            elif norm and total > 0.0:
                score /= total
            scores[i, c] = score
    return 0.0
