"""Loops that turn joint log-probabilities into posteriors and choices."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.kernel import kernel


@kernel
def normalise(joint: Any, log_prior: Any) -> int:
    """Turn log P(c, x) into P(c | x) in place; return how many rows had no possible class.

    Such rows get the prior (already normalised), so that every answer is finite and sums to one.
    """
    n, k = joint.shape
    impossible = 0
    for i in range(n):
        best = joint[i, 0]
        for c in range(1, k):
            if joint[i, c] > best:
                best = joint[i, c]
        if best == -np.inf:
            impossible += 1
            for c in range(k):
                joint[i, c] = np.exp(log_prior[c])
            continue
        total = 0.0
        for c in range(k):
            e = np.exp(joint[i, c] - best)
            joint[i, c] = e
            total += e
        scale = 1.0 / total
        for c in range(k):
            joint[i, c] *= scale
    return impossible


@kernel
def log_normalise(joint: Any, log_prior: Any) -> int:
    """Turn log P(c, x) into log P(c | x) in place; return how many rows had no possible class."""
    n, k = joint.shape
    impossible = 0
    for i in range(n):
        best = joint[i, 0]
        for c in range(1, k):
            if joint[i, c] > best:
                best = joint[i, c]
        if best == -np.inf:
            impossible += 1
            for c in range(k):
                joint[i, c] = log_prior[c]
            continue
        # The maximum first: added to a large one, log Σ would be rounded away.
        total = 0.0
        for c in range(k):
            joint[i, c] -= best
            total += np.exp(joint[i, c])
        shift = np.log(total)
        for c in range(k):
            joint[i, c] -= shift
    return impossible


@kernel
def choose(joint: Any, log_prior: Any, out: Any) -> int:
    """Write the most probable class of each row, the first of equals; return the impossible rows."""
    n, k = joint.shape
    impossible = 0
    fallback = 0
    for c in range(1, k):
        if log_prior[c] > log_prior[fallback]:
            fallback = c
    for i in range(n):
        place = 0
        best = joint[i, 0]
        for c in range(1, k):
            if joint[i, c] > best:
                best = joint[i, c]
                place = c
        if best == -np.inf:
            impossible += 1
            place = fallback
        out[i] = place
    return impossible
