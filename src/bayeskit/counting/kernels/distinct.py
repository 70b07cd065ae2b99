"""The loop that finds the rows that differ, and how often each occurs."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.kernel import fibonacci_hash, kernel

_U = np.uintp


@kernel
def hash_rows(columns: Any, hashes: Any) -> None:
    """Write a hash of each row of ``columns``, which are variables × rows."""
    for i in range(hashes.shape[0]):
        hashes[i] = np.uint64(0)
    for v in range(columns.shape[0]):
        column = columns[v]
        for i in range(hashes.shape[0]):
            # The shift brings the upper bits, which all cells so far have stirred, down to where the next one is added.
            mixed = (hashes[i] ^ (hashes[i] >> np.uint64(29))) + np.uint64(column[i]) + np.uint64(1)
            hashes[i] = fibonacci_hash(mixed)


@kernel
def find_distinct(
    columns: Any, hashes: Any, weights: Any, most: int, table: Any, first: Any, sums: Any
) -> int:
    """Add the weight of every row to the first row that is equal to it; return how many differ, −1 beyond ``most``.

    ``table`` holds places in ``first``, −1 where free; its length is a power of two above ``most``. ``first`` and
    ``sums`` are, for each row that differs from those before it, where it stands and the weight of all its equals.
    Without ``weights`` (an empty array) every row weighs one.
    """
    mask = _U(table.shape[0] - 1)
    weighted = weights.shape[0] > 0
    found = 0
    for i in range(hashes.shape[0]):
        place = _U(hashes[i] >> np.uint64(32)) & mask
        while True:
            at = table[place]
            if at < 0:
                if found == most:
                    return -1
                table[place] = found
                first[found] = i
                sums[found] = weights[i] if weighted else 1.0
                found += 1
                break
            other = first[at]
            same = hashes[other] == hashes[i]
            v = 0
            while same and v < columns.shape[0]:
                same = columns[v, other] == columns[v, i]
                v += 1
            if same:
                sums[at] += weights[i] if weighted else 1.0
                break
            place = (place + _U(1)) & mask
    return found
