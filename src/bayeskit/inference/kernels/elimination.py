"""Loops that order variables for elimination. A set of variables is a row of bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.kernel import kernel, lowest_bit, ones

# The rules: what is least goes first; the second number breaks ties.
MIN_FILL, WEIGHTED_MIN_FILL, MIN_WEIGHT, MIN_DEGREE = 0, 1, 2, 3
# A rule says at most so much of a variable: less than what keeps late variables behind all others.
MOST_SAID = 1e280


@kernel
def _score(
    adjacency: Any, sizes: Any, v: int, rule: int, after: Any, favour: Any, first: Any, second: Any
) -> None:
    """Score a variable: arcs that its elimination would add (or their weight), and the cells of its clique."""
    words = adjacency.shape[1]
    weight = sizes[v]
    degree = 0
    missing = 0.0
    for w in range(words):
        bits = adjacency[v, w]
        while bits != np.uint64(0):
            u = w * 64 + lowest_bit(bits)
            bits &= bits - np.uint64(1)
            weight *= sizes[u]
            degree += 1
            if rule == MIN_FILL:
                for x in range(words):
                    missing += ones(adjacency[v, x] & ~adjacency[u, x])
                missing -= 1.0  # u itself is not among its own neighbours
            elif rule == WEIGHTED_MIN_FILL:
                for x in range(words):
                    lacking = adjacency[v, x] & ~adjacency[u, x]
                    while lacking != np.uint64(0):
                        other = x * 64 + lowest_bit(lacking)
                        lacking &= lacking - np.uint64(1)
                        if other != u:
                            missing += sizes[u] * sizes[other]
    weight *= favour[v]
    if rule in (MIN_FILL, WEIGHTED_MIN_FILL):
        first[v] = missing
        second[v] = weight
    elif rule == MIN_WEIGHT:
        first[v] = weight
        second[v] = degree
    else:
        first[v] = degree
        second[v] = weight
    first[v] = min(first[v], MOST_SAID) + after[v]


@kernel
def eliminate(
    adjacency: Any,
    sizes: Any,
    rule: int,
    most: float,
    after: Any,
    favour: Any,
    order: Any,
    cliques: Any,
    first: Any,
    second: Any,
    touched: Any,
) -> Any:
    """Eliminate every variable by a rule; ``adjacency`` is used up.

    ``after`` is added to what the rule says of a variable, ``favour`` multiplies the weight of its clique.

    ``order[k]`` is the k-th variable to go, ``cliques[k]`` it and its neighbours at that time. Returns a bound
    of the cells of all cliques from above, and how many variables went: all, or where the bound passes ``most``
    it is infinity and the last one is whose clique did it.
    """
    n = order.shape[0]
    words = adjacency.shape[1]
    one = np.uint64(1)
    zero = np.uint64(0)
    for v in range(n):
        _score(adjacency, sizes, v, rule, after, favour, first, second)
    total = 0.0
    for k in range(n):
        v = -1
        for u in range(n):
            if first[u] >= 0.0 and (
                v < 0 or first[u] < first[v] or (first[u] == first[v] and second[u] < second[v])
            ):
                v = u
        order[k] = v
        cells = sizes[v]
        for w in range(words):
            cliques[k, w] = adjacency[v, w]
            touched[w] = adjacency[v, w]
            bits = adjacency[v, w]
            while bits != zero:
                cells *= sizes[w * 64 + lowest_bit(bits)]
                bits &= bits - one
        cliques[k, v >> 6] |= one << np.uint64(v & 63)
        total += cells
        if total > most:
            return np.inf, k + 1
        for w in range(words):
            bits = cliques[k, w]
            while bits != zero:
                u = w * 64 + lowest_bit(bits)
                bits &= bits - one
                if u == v:
                    continue
                for x in range(words):
                    new = cliques[k, x] & ~adjacency[u, x]
                    if x == (u >> 6):
                        new &= ~(one << np.uint64(u & 63))
                    if x == (v >> 6):
                        new &= ~(one << np.uint64(v & 63))
                    if rule in (MIN_FILL, WEIGHTED_MIN_FILL):
                        lacking = new
                        while lacking != zero:
                            other = x * 64 + lowest_bit(lacking)
                            lacking &= lacking - one
                            # Whoever knows both ends of a new arc has one less to add.
                            for y in range(words):
                                touched[y] |= adjacency[u, y] & adjacency[other, y]
                    adjacency[u, x] |= new
                adjacency[u, v >> 6] &= ~(one << np.uint64(v & 63))
        first[v] = -1.0
        touched[v >> 6] &= ~(one << np.uint64(v & 63))
        for w in range(words):
            bits = touched[w]
            while bits != zero:
                u = w * 64 + lowest_bit(bits)
                bits &= bits - one
                if first[u] >= 0.0:
                    _score(adjacency, sizes, u, rule, after, favour, first, second)
    return total, n
