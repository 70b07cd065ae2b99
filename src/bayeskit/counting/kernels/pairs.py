"""Loops that count pairs of codes, row by row and with weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.kernel import kernel

_U = np.uintp


@kernel
def count_codes_by_pairs(
    codes: Any, target: Any, weights: Any, offsets: Any, wanted: Any, places: Any, base: Any, counts: Any
) -> None:
    """Add every row's weight to n(v_i, v_j, c), i ≤ j, of the pairs wanted: the upper half of a table of pairs.

    ``places`` of shape (attributes, rows at a time) holds where the second code of a pair points, ``base``
    where the first code and the class do: an address is then one addition. One pair after the other over a
    block of rows, so that the cells of a pair stay in the nearest cache.
    """
    d, t, k = _U(codes.shape[1]), _U(counts.shape[1]), _U(counts.shape[2])
    n, step = _U(codes.shape[0]), _U(places.shape[1])
    cells, place, flat = codes.reshape(-1), places.reshape(-1), counts.reshape(-1)
    for begin in range(_U(0), n, step):
        taken = min(step, n - begin)
        for j in range(d):
            for r in range(taken):
                place[j * step + r] = (offsets[j] + _U(cells[(begin + r) * d + j])) * k
        for i in range(d):
            for r in range(taken):
                base[r] = _U(place[i * step + r]) * t + _U(target[begin + r])
            for j in range(i, d):
                if wanted[i, j]:
                    second = j * step
                    for r in range(taken):
                        flat[_U(base[r]) + _U(place[second + r])] += weights[begin + r]


@kernel
def mirror(offsets: Any, counts: Any) -> None:
    """Copy the upper half of a table of pairs, n(v_i, v_j, c) with i < j, to the lower one."""
    t, k = _U(counts.shape[1]), _U(counts.shape[2])
    flat = counts.reshape(-1)
    for i in range(_U(offsets.shape[0] - 1)):
        # Attribute by attribute: a block read along its rows stays in the cache while it is written down.
        for j in range(i + _U(1), _U(offsets.shape[0] - 1)):
            for h in range(offsets[j], offsets[j + _U(1)]):
                for g in range(offsets[i], offsets[i + _U(1)]):
                    for c in range(k):
                        flat[(h * t + g) * k + c] = flat[(g * t + h) * k + c]
