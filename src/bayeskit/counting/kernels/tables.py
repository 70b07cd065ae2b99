"""Loops that count codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.kernel import kernel

_U = np.uintp


@kernel
def count_codes(
    codes: Any, target: Any, weights: Any, offsets: Any, n_classes: Any, margin: Any, flat: Any
) -> None:
    """Add every row's weight to n(c) and to n(v, c) of each of its codes.

    Row by row: consecutive increments then never fall on the same cell, which is what makes this run
    at the speed of the store port (2 G increments a second).
    """
    n, d = codes.shape
    k = _U(n_classes)
    for i in range(n):
        c = _U(target[i])
        w = weights[i]
        margin[c] += w
        for j in range(d):
            flat[(offsets[j] + _U(codes[i, j])) * k + c] += w


@kernel
def count_column(own: Any, table: Any, target: Any, weights: Any, n_classes: Any, flat: Any) -> None:
    """Add every row's weight to n(v, c) of one column in its own codes; −1 points at the table's end.

    It saves laying the columns side by side, which costs more than the counting.
    """
    k = _U(n_classes)
    for i in range(own.shape[0]):
        flat[_U(table[own[i]]) * k + _U(target[i])] += weights[i]


@kernel
def count_classes(target: Any, weights: Any, margin: Any) -> None:
    """Add every row's weight to n(c)."""
    for i in range(target.shape[0]):
        margin[_U(target[i])] += weights[i]
