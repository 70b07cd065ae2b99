"""Loops over all subsets of a set of variables; a subset is a whole number whose bits are its members."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.kernel import kernel


@kernel
def best_of_subsets(best: Any, n: int) -> None:
    """Raise the number of every subset of n members to the largest among its own subsets."""
    for bit in range(n):
        step = 1 << bit
        for some in range(1 << n):
            if some & step and best[some ^ step] > best[some]:
                best[some] = best[some ^ step]


@kernel
def best_networks(best_parents: Any, totals: Any, sinks: Any, n: int) -> None:
    """Find for every set of variables the best network over it, and a variable that has no child in it.

    ``best_parents[v, S]`` is the best score of v with parents inside S, in which the bit of v itself is left
    out. The network over S is that over S without its sink v, and v with parents among the rest. Of equally good
    sinks the highest, so that arcs rather lead from low to high.
    """
    totals[0] = 0.0
    for some in range(1, 1 << n):
        largest = -np.inf
        sink = -1
        for v in range(n):
            if not some >> v & 1:
                continue
            rest = some ^ (1 << v)
            low = (1 << v) - 1
            among = (rest & low) | ((rest >> (v + 1)) << v)
            score = totals[rest] + best_parents[v, among]
            if score >= largest:
                largest = score
                sink = v
        totals[some] = largest
        sinks[some] = sink
