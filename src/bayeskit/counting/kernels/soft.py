"""Loops that count rows which belong to every class a little."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.kernel import kernel

_U = np.uintp


@kernel
def share_rows(joint: Any, log_prior: Any, weights: Any, factor: Any, least: Any) -> float:
    """Turn log P(c, x) into w·P(c | x) in place; return Σ w log P(x), w being factor·weight.

    Rows that are impossible in every class are shared by the prior, and make the sum −inf. Shares below ``least`` are
    nothing: their squares could not be told from zero.
    """
    n, k = joint.shape
    value = 0.0
    for i in range(n):
        w = factor * weights[i]
        best = joint[i, 0]
        for c in range(1, k):
            if joint[i, c] > best:
                best = joint[i, c]
        if best == -np.inf:
            if w > 0.0:
                value = -np.inf
            for c in range(k):
                joint[i, c] = w * np.exp(log_prior[c])
            continue
        total = 0.0
        for c in range(k):
            e = np.exp(joint[i, c] - best)
            joint[i, c] = e
            total += e
        if w > 0.0:
            value += w * (best + np.log(total))
        scale = w / total
        for c in range(k):
            share = joint[i, c] * scale
            joint[i, c] = share if share >= least else 0.0
    return value


@kernel
def count_shares(codes: Any, shares: Any, offsets: Any, flat: Any) -> None:
    """Add the shares of every row to n(v, c) of each of its codes, all classes in one pass."""
    n, d = codes.shape
    k = _U(shares.shape[1])
    for i in range(n):
        for j in range(d):
            place = (offsets[j] + _U(codes[i, j])) * k
            for c in range(k):
                flat[place + c] += shares[i, c]


@kernel
def count_two_shares(codes: Any, shares: Any, offsets: Any, flat: Any) -> None:
    """As ``count_shares``, for two classes."""
    n, d = codes.shape
    for i in range(n):
        first = shares[i, 0]
        second = shares[i, 1]
        for j in range(d):
            place = (offsets[j] + _U(codes[i, j])) * _U(2)
            flat[place] += first
            flat[place + _U(1)] += second


@kernel
def total_shares(indptr: Any, indices: Any, data: Any, shares: Any, sums: Any) -> None:
    """Add every entry of sparse rows, times the row's shares, to its column: ``sums`` has shape (V, K)."""
    n, k = shares.shape
    for i in range(n):
        for q in range(_U(indptr[i]), _U(indptr[i + 1])):
            v = _U(indices[q])
            x = data[q]
            for c in range(k):
                sums[v, c] += x * shares[i, c]
