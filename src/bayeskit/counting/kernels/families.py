"""Loops that count the cells of a family, by address or by hash."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.kernel import fibonacci_hash, kernel

_U = np.uintp


@kernel
def count_by_address(
    codes: Any, columns: Any, radices: Any, target: Any, weights: Any, n_classes: Any, counts: Any
) -> None:
    """Add every row's weight to the cell of its key; ``counts`` has one for each key there is.

    ``columns`` are the parents and then the child, the most significant first.
    """
    k = _U(n_classes)
    for i in range(_U(codes.shape[0])):
        key = _U(0)
        for j in range(_U(columns.shape[0])):
            key = key * radices[j] + _U(codes[i, columns[j]])
        counts[key * k + _U(target[i])] += weights[i]


@kernel
def count_by_hash(
    codes: Any,
    columns: Any,
    radices: Any,
    target: Any,
    weights: Any,
    n_classes: Any,
    table: Any,
    counts: Any,
    used: Any,
) -> Any:
    """Add every row's weight to the cell of its key in an open table, and return the number of cells.

    ``table`` holds keys, −1 where free; its length is a power of two above the number of rows, so a free
    place is always found. ``used`` are the places taken, in the order of their first row.
    """
    k, mask = _U(n_classes), _U(table.shape[0] - 1)
    shift = np.uint64(64)
    while _U(1) << (np.uint64(64) - shift) < _U(table.shape[0]):
        shift -= np.uint64(1)
    n_used = _U(0)
    for i in range(_U(codes.shape[0])):
        if weights[i] == 0.0:
            continue
        number = _U(0)
        for j in range(_U(columns.shape[0])):
            number = number * radices[j] + _U(codes[i, columns[j]])
        number = number * k + _U(target[i])
        key = np.int64(number)
        place = fibonacci_hash(np.uint64(number)) >> shift
        while table[place] != key:
            if table[place] < 0:
                table[place] = key
                counts[place] = 0.0
                used[n_used] = place
                n_used += _U(1)
                break
            place = (place + _U(1)) & mask
        counts[place] += weights[i]
    return np.int64(n_used)
