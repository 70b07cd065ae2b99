"""Loops that count a family with each of many further parents by bits: 64 rows at a time, one plane a state."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.kernel import kernel, ones

_U = np.uintp


@kernel
def pack_states(columns: Any, sizes: Any, first: Any, planes: Any) -> None:
    """Set, for every variable v and state s, the bits of the rows in that state in planes[first[v] + s].

    A variable whose size is given as 0 has no planes.
    """
    n = columns.shape[1]
    for p in range(planes.shape[0]):
        for w in range(planes.shape[1]):
            planes[p, w] = np.uint64(0)
    for v in range(columns.shape[0]):
        if sizes[v] == 0:
            continue
        for i in range(n):
            planes[first[v] + columns[v, i], i >> 6] |= np.uint64(1) << np.uint64(i & 63)


@kernel
def count_bits(
    planes: Any,
    first: Any,
    sizes: Any,
    inside: Any,
    more: Any,
    start: Any,
    partial: Any,
    digits: Any,
    tables: Any,
) -> None:
    """Count every configuration of the columns ``inside`` (the first slowest) with every state of each of ``more``.

    The table of more[m] begins at start[m]: configurations × states. ``partial[l]`` holds the rows that agree
    with the first l + 1 digits, so that only the planes of digits that changed are looked at again.
    """
    words = _U(planes.shape[1])
    depth = inside.shape[0]
    configurations = 1
    for level in range(depth):
        configurations *= sizes[inside[level]]
        digits[level] = 0
    changed = 0
    for j in range(configurations):
        for level in range(changed, depth):
            plane = planes[first[inside[level]] + digits[level]]
            if level == 0:
                for w in range(words):
                    partial[0, w] = plane[w]
            else:
                for w in range(words):
                    partial[level, w] = partial[level - 1, w] & plane[w]
        rows = partial[depth - 1]
        here = 0
        for w in range(words):
            here += ones(rows[w])
        for m in range(more.shape[0]):
            size = sizes[more[m]]
            at = start[m] + j * size
            left = here
            for s in range(size - 1):
                seen = 0
                if left > 0:
                    plane = planes[first[more[m]] + s]
                    for w in range(words):
                        seen += ones(rows[w] & plane[w])
                tables[at + s] = seen
                left -= seen
            tables[at + size - 1] = left
        changed = depth - 1
        while changed >= 0:
            digits[changed] += 1
            if digits[changed] < sizes[inside[changed]]:
                break
            digits[changed] = 0
            changed -= 1
